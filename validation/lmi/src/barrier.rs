//! Least γ of the matrix inequalities by a barrier method.
//!
//!   minimise  τ γ - ln det F1(θ) - ln det F2(θ),     θ = (X, Y, L, γ),     τ → ∞                       (1)
//!
//! where F1 and F2 are the negatives of the two matrices of the crate's (1). Each minimum is found by Newton's method, and then γ exceeds
//! the least one by no more than (rows of F1 and F2) / τ. Before each, coordinates are changed so that X = I, |B2| = 1 and γ = 1: the
//! numbers in X differ by many powers of ten else. It begins without K1, where the plant is stable; the
//! disc is then tightened to ρ from one minimum to the next.
//!
//! Boyd & Vandenberghe 2004, 11.3 and 11.6.

use crate::cholesky::{factor, invert, log_det, solve as cholesky_solve};
use crate::failed;
use crate::plant::Plant;
use koppel::linalg::{Matrix, spectral_radius, svd};
use koppel::{Error, Result};

/// How much the least γ may be missed by, relative.
const TOLERANCE: f64 = 1e-6;
/// From one minimum to the next τ grows by this.
const GROWTH: f64 = 8.0;
/// Newton's decrement, squared, at which a minimum counts as found.
const NEAR: f64 = 1e-2;
const MOST_STEPS: usize = 100;
const MOST_MINIMA: usize = 200;

/// v = K x + L u, and the γ it was proven for.
pub(crate) struct Solved {
    pub(crate) k: Matrix,
    pub(crate) l: f64,
    pub(crate) gamma: f64,
}

/// A point of the search with the coordinates it is told in.
struct Point {
    plant: Plant,
    x: Matrix,
    y: Matrix,
    l: f64,
    gamma: f64,
    /// Old coordinates = `back` · new ones.
    back: Matrix,
    /// By what v and γ were divided.
    output_scale: f64,
    gamma_scale: f64,
}

/// γ and K1 in the coordinates of the plant; K1's poles obey |1 + λ| < `target` there.
pub(crate) fn solve(plant: &Plant, target: f64) -> Result<Solved> {
    let mut point = Point::start(plant)?;
    let rows = (3 * plant.a.rows() + 2) as f64;
    let (mut radius, mut tau) = (1.0, 1.0);
    for _ in 0..MOST_MINIMA {
        tau *= point.normalise()?;
        let program = Program::new(&point.plant, radius);
        point = program.minimum(point, tau)?;
        let tighter = if radius > target { (0.5 * (radius + point.radius()?)).max(target) } else { radius };
        if tighter < radius {
            radius = tighter;
        } else if radius > target {
            return Err(no_point(target));
        } else if rows / tau < TOLERANCE * point.gamma {
            return point.solved();
        } else {
            tau *= GROWTH;
        }
    }
    Err(no_point(target))
}

fn no_point(radius: f64) -> Box<Error> {
    Error::Unsupported {
        what: "H∞ synthesis by matrix inequalities".into(),
        reason: format!(
            "no compensator was found with its poles within {radius} of the disc; lower the margin"
        ),
    }
    .into()
}

impl Point {
    /// K1 = 0: X from (I + A) X (I + A)ᵀ = r² (X - I), r between the largest pole and the circle, scaled for the smallest γ.
    fn start(plant: &Plant) -> Result<Point> {
        let (n, a) = (plant.a.rows(), &plant.a);
        let moved = &Matrix::identity(n) + a;
        let square = (0.5 * (1.0 + spectral_radius(&moved).map_err(failed)?)).powi(2);
        let mut power = &moved * (1.0 / square.sqrt());
        let mut x = Matrix::identity(n);
        // The sum of all powers, by doubling.
        for _ in 0..60 {
            let more = &(&power * &x) * &power.transpose();
            x += &more;
            power = &power * &power;
        }
        // -(A X + X Aᵀ), as a sum of what is positive.
        let own = &(&x * (1.0 - square)) + &(&Matrix::identity(n) * square);
        let decay = &own + &(&(a * &x) * &a.transpose());
        let lower = factor(&decay).ok_or_else(|| no_point(1.0))?;
        let size = |column: &Matrix| -> f64 {
            let solved = cholesky_solve(&lower, column.as_slice());
            column.as_slice().iter().zip(solved).map(|(a, b)| a * b).sum()
        };
        // γ > b/κ + κ c is enough for the scaled matrix κ X.
        let (b, c) = (size(&plant.b1), size(&(&x * &plant.c.transpose())));
        let scale = (b / c).sqrt();
        Ok(Point {
            plant: plant.clone(),
            x: &x * scale,
            y: Matrix::zeros(1, n),
            l: 0.0,
            gamma: 1.5 * (b / scale + scale * c),
            back: Matrix::identity(n),
            output_scale: 1.0,
            gamma_scale: 1.0,
        })
    }

    /// Changes coordinates so that X = I, |B2| = 1, γ = 1; returns by what γ was divided.
    fn normalise(&mut self) -> Result<f64> {
        let gamma = self.gamma;
        let plant = &mut self.plant;
        plant.c = &plant.c * (1.0 / gamma);
        let (x, y) = (&self.x * gamma, &self.y * gamma);
        let lower = factor(&x).ok_or_else(|| no_point(1.0))?;
        let inverse = invert(&lower);
        plant.a = &(&inverse * &plant.a) * &lower;
        plant.b1 = &inverse * &plant.b1;
        plant.b2 = &inverse * &plant.b2;
        plant.c = &plant.c * &lower;
        let size = plant.b2.norm_frobenius();
        plant.b2 = &plant.b2 * (1.0 / size);
        self.x = Matrix::identity(x.rows());
        self.y = &(&y * &inverse.transpose()) * size;
        self.l *= size;
        self.back = &self.back * &lower;
        self.output_scale *= size;
        self.gamma_scale *= gamma;
        self.gamma = 1.0;
        Ok(gamma)
    }

    /// The smallest radius with which the second inequality holds.
    fn radius(&self) -> Result<f64> {
        let inverse = invert(&factor(&self.x).ok_or_else(|| no_point(1.0))?);
        let Plant { a, b2, .. } = &self.plant;
        let moved = &(&self.x + &(a * &self.x)) + &(b2 * &self.y);
        let similar = &(&inverse * &moved) * &inverse.transpose();
        Ok(svd(&similar).map_err(failed)?.largest())
    }

    fn solved(&self) -> Result<Solved> {
        let inverse = koppel::linalg::inverse(&self.x).map_err(failed)?;
        let back = koppel::linalg::inverse(&self.back).map_err(failed)?;
        let k = &(&(&self.y * &inverse) * &back) * (1.0 / self.output_scale);
        Ok(Solved { k, l: self.l / self.output_scale, gamma: self.gamma * self.gamma_scale })
    }
}

/// F1 and F2 as affine functions of θ.
struct Program {
    order: usize,
    constant: [Matrix; 2],
    terms: Vec<[Matrix; 2]>,
}

impl Program {
    fn new(plant: &Plant, radius: f64) -> Program {
        let n = plant.a.rows();
        let zero = || Matrix::zeros(n, n);
        let linear = |x: &Matrix, y: &Matrix, l: f64, gamma: f64| {
            parts(plant, radius, (x, y, &(&plant.b2 * l), gamma))
        };
        let mut terms = Vec::new();
        for i in 0..n {
            for j in i..n {
                let mut x = zero();
                (x[(i, j)], x[(j, i)]) = (1.0, 1.0);
                terms.push(linear(&x, &Matrix::zeros(1, n), 0.0, 0.0));
            }
        }
        for i in 0..n {
            let mut y = Matrix::zeros(1, n);
            y[(0, i)] = 1.0;
            terms.push(linear(&zero(), &y, 0.0, 0.0));
        }
        terms.push(linear(&zero(), &Matrix::zeros(1, n), 1.0, 0.0));
        terms.push(linear(&zero(), &Matrix::zeros(1, n), 0.0, 1.0));
        let constant = parts(plant, radius, (&zero(), &Matrix::zeros(1, n), &plant.b1, 0.0));
        Program { order: n, constant, terms }
    }

    fn at(&self, theta: &[f64]) -> [Matrix; 2] {
        let mut sum = self.constant.clone();
        for (value, term) in theta.iter().zip(&self.terms) {
            for (sum, term) in sum.iter_mut().zip(term) {
                let entries = sum.as_mut_slice().iter_mut().zip(term.as_slice());
                entries.for_each(|(sum, entry)| *sum += value * entry);
            }
        }
        sum
    }

    /// (1); infinite where F1 or F2 is not positive definite.
    fn value(&self, theta: &[f64], tau: f64) -> f64 {
        let gamma = theta[theta.len() - 1];
        let barrier = self.at(theta).into_iter().map(|f| factor(&f).map_or(f64::INFINITY, |l| -log_det(&l)));
        tau * gamma + barrier.sum::<f64>()
    }

    /// Gradient and Hessian of (1).
    fn slopes(&self, theta: &[f64], tau: f64) -> Option<(Vec<f64>, Matrix)> {
        let count = theta.len();
        let (mut gradient, mut hessian) = (vec![0.0; count], Matrix::zeros(count, count));
        gradient[count - 1] = tau;
        for (which, f) in self.at(theta).iter().enumerate() {
            let inverse = invert(&factor(f)?);
            let transposed = inverse.transpose();
            let scaled: Vec<Matrix> =
                self.terms.iter().map(|term| &(&inverse * &term[which]) * &transposed).collect();
            for i in 0..count {
                gradient[i] -= (0..f.rows()).map(|k| scaled[i][(k, k)]).sum::<f64>();
                for j in 0..=i {
                    let pairs = scaled[i].as_slice().iter().zip(scaled[j].as_slice());
                    let product: f64 = pairs.map(|(a, b)| a * b).sum();
                    hessian[(i, j)] += product;
                    if i != j {
                        hessian[(j, i)] += product;
                    }
                }
            }
        }
        Some((gradient, hessian))
    }

    /// The minimum of (1) by Newton's method with backtracking.
    fn minimum(&self, point: Point, tau: f64) -> Result<Point> {
        let mut theta = self.pack(&point);
        for _ in 0..MOST_STEPS {
            let (gradient, hessian) = self.slopes(&theta, tau).ok_or_else(|| no_point(1.0))?;
            let Some(step) = newton_step(&gradient, &hessian) else { break };
            let decrement: f64 = -gradient.iter().zip(&step).map(|(g, s)| g * s).sum::<f64>();
            let now = self.value(&theta, tau);
            let moved =
                |part: f64| -> Vec<f64> { theta.iter().zip(&step).map(|(t, s)| t + part * s).collect() };
            let parts = std::iter::successors(Some(1.0_f64), |part| (*part > 1e-10).then_some(0.5 * part));
            let better = |part: &f64| self.value(&moved(*part), tau) <= now - 0.1 * part * decrement;
            // Where round-off hides any progress the minimum has been found as well as it can.
            let Some(part) = parts.into_iter().find(better) else { break };
            theta = moved(part);
            if decrement < NEAR {
                break;
            }
        }
        Ok(self.unpack(&theta, point))
    }

    fn pack(&self, point: &Point) -> Vec<f64> {
        let n = self.order;
        let upper = (0..n).flat_map(|i| (i..n).map(move |j| (i, j)));
        let mut theta: Vec<f64> = upper.map(|place| point.x[place]).collect();
        theta.extend_from_slice(point.y.as_slice());
        theta.extend([point.l, point.gamma]);
        theta
    }

    fn unpack(&self, theta: &[f64], mut point: Point) -> Point {
        let n = self.order;
        let places = (0..n).flat_map(|i| (i..n).map(move |j| (i, j)));
        for ((i, j), value) in places.zip(theta) {
            (point.x[(i, j)], point.x[(j, i)]) = (*value, *value);
        }
        let rest = &theta[n * (n + 1) / 2..];
        point.y = Matrix::from_slice(1, n, &rest[..n]);
        (point.l, point.gamma) = (rest[n], rest[n + 1]);
        point
    }
}

/// F1 and F2 for X, Y, B and γ.
fn parts(plant: &Plant, radius: f64, (x, y, b, gamma): (&Matrix, &Matrix, &Matrix, f64)) -> [Matrix; 2] {
    let n = x.rows();
    let flow = &(&plant.a * x) + &(&plant.b2 * y);
    let seen = &plant.c * x;
    let mut norm = Matrix::zeros(n + 2, n + 2);
    norm.set_block(0, 0, &-&(&flow + &flow.transpose()));
    norm.set_block(0, n, &-b);
    norm.set_block(n, 0, &-&b.transpose());
    norm.set_block(0, n + 1, &-&seen.transpose());
    norm.set_block(n + 1, 0, &-&seen);
    (norm[(n, n)], norm[(n + 1, n + 1)]) = (gamma, gamma);
    let moved = x + &flow;
    let mut disc = Matrix::zeros(2 * n, 2 * n);
    disc.set_block(0, 0, &(x * radius));
    disc.set_block(n, n, &(x * radius));
    disc.set_block(0, n, &-&moved);
    disc.set_block(n, 0, &-&moved.transpose());
    [norm, disc]
}

/// -H⁻¹ g, with unknowns scaled to a diagonal of ones.
fn newton_step(gradient: &[f64], hessian: &Matrix) -> Option<Vec<f64>> {
    let n = gradient.len();
    let scale: Vec<f64> = (0..n).map(|i| 1.0 / hessian[(i, i)].sqrt()).collect();
    let scaled = Matrix::from_fn(n, n, |i, j| hessian[(i, j)] * scale[i] * scale[j]);
    let right: Vec<f64> = gradient.iter().zip(&scale).map(|(g, s)| -g * s).collect();
    let step = cholesky_solve(&factor(&scaled)?, &right);
    Some(step.iter().zip(&scale).map(|(x, s)| x * s).collect())
}
