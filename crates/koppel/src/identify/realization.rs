//! A difference equation as a state-space model, and at another step.
//!
//!   y^k = Σ_{j=1..N} a_j y^{k-j} + Σ_i Σ_{j=0..M-1} b_ij u_i^{k-j}   ->   x^{k+1} = A x^k + B u^k,  y = C x + D u      (1)
//!
//! With distinct poles z_p it is Gilbert's realisation, one state for each pole, a real 2x2 block for each complex pair:
//!
//!   H(z) = D + Σ_p R_p / (z - z_p),     R_p = β(z_p) / α'(z_p)                                      (2)
//!
//! α and β are denominator and numerator of the strictly proper part. Poles that (nearly) coincide have no such expansion: then
//! the companion form takes its place. Genser 2020, (2.88) to (2.91). The input of a step is labelled by its end.
//!
//! At q times the step, with inputs that are held:
//!
//!   Ã = A^q,     D̃ = D + C S B,     B̃ = (Ã S + A^{q-1}) B,     S = Σ_{i<q-1} A^i                          (3)
//!
//! and back to a difference equation by the characteristic polynomial of Ã and the first responses. N and M stay if M is N or
//! N + 1. For N = M = 1 this is Genser 2020, (4.13) and (4.14).

use crate::error::{Error, Result};
use crate::linalg::{Complex, LinalgError, Matrix, eigenvalues, expm, logm};
use crate::system::StateSpace;

/// Poles closer than this, relative to the largest, count as repeated.
const APART: f64 = 1e-4;

/// Equation (1): `a` holds a_1 .. a_N, row i of `b` the coefficients b_i0 .. of input i.
pub fn realize(a: &[f64], b: &Matrix) -> Result<StateSpace> {
    let n = a.len().max(b.cols().saturating_sub(1));
    let companion = companion(a, b, n);
    let failed = |source: LinalgError| -> Box<Error> {
        Error::Linalg { what: "the poles of a learned model".into(), source }.into()
    };
    let poles = eigenvalues(&companion.a).map_err(failed)?;
    Ok(gilbert(&companion, &poles).unwrap_or(companion))
}

/// x_1 is the output without the direct part, x_2 .. what is still to come of past values.
fn companion(a: &[f64], b: &Matrix, n: usize) -> StateSpace {
    let at = |list: &[f64], j: usize| list.get(j).copied().unwrap_or(0.0);
    let step = Matrix::from_fn(n, n, |i, j| match j {
        0 => at(a, i),
        _ if j == i + 1 => 1.0,
        _ => 0.0,
    });
    // With feed-through b_0 the output that comes back is x_1 + b_0 u.
    let given = Matrix::from_fn(n, b.rows(), |i, j| at(b.row(j), i + 1) + at(a, i) * at(b.row(j), 0));
    StateSpace {
        a: step,
        b: given,
        c: Matrix::from_fn(1, n, |_, j| f64::from(u8::from(j == 0))),
        d: Matrix::from_fn(1, b.rows(), |_, j| at(b.row(j), 0)),
    }
}

/// Equation (2); nothing if poles coincide.
fn gilbert(companion: &StateSpace, poles: &[Complex]) -> Option<StateSpace> {
    let (n, m) = (poles.len(), companion.b.cols());
    let largest = poles.first().map_or(0.0, |z| z.abs());
    let is_apart = |i: usize| {
        poles[..i].iter().all(|z| minus(poles[i], *z).abs() > APART * largest.max(f64::MIN_POSITIVE))
    };
    if !(0..n).all(is_apart) {
        return None;
    }
    let mut model = StateSpace {
        a: Matrix::zeros(n, n),
        b: Matrix::zeros(n, m),
        c: Matrix::zeros(1, n),
        d: companion.d.clone(),
    };
    let mut row = 0;
    for (p, pole) in poles.iter().enumerate() {
        if pole.im < 0.0 {
            continue;
        }
        // α'(z_p) is the product of the distances to the other poles.
        let others = poles.iter().enumerate().filter(|(q, _)| *q != p);
        let slope =
            others.fold(Complex { re: 1.0, im: 0.0 }, |product, (_, z)| times(product, minus(*pole, *z)));
        model.c[(0, row)] = 1.0;
        model.a[(row, row)] = pole.re;
        for input in 0..m {
            let coefficients = (0..n).map(|i| companion.b[(i, input)]);
            let zero = Complex { re: 0.0, im: 0.0 };
            let value = coefficients.fold(zero, |sum, c| {
                let product = times(sum, *pole);
                Complex { re: product.re + c, ..product }
            });
            let residue = over(value, slope);
            if pole.im == 0.0 {
                model.b[(row, input)] = residue.re;
            } else {
                model.b[(row, input)] = 2.0 * residue.re;
                model.b[(row + 1, input)] = -2.0 * residue.im;
            }
        }
        if pole.im > 0.0 {
            model.a[(row, row + 1)] = pole.im;
            model.a[(row + 1, row)] = -pole.im;
            model.a[(row + 1, row + 1)] = pole.re;
            row += 1;
        }
        row += 1;
    }
    // A pair that round-off has torn apart is no pair.
    (row == n).then_some(model)
}

/// Equation (3) for any q: powers and sums by the logarithm,
///
///   [A^{q-1}, S; 0, I] = exp((q - 1) log [A, I; 0, I])                                              (4)
///
/// Nothing if there is no real logarithm: a real pole that is not positive has no form between whole numbers.
pub(super) fn at_any_multiple(model: &StateSpace, q: f64) -> Option<(Vec<f64>, Matrix)> {
    let n = model.states();
    let mut step = Matrix::identity(2 * n);
    step.set_block(0, 0, &model.a);
    step.set_block(0, n, &Matrix::identity(n));
    let powers = expm(&(&logm(&step).ok()? * (q - 1.0))).ok()?;
    Some(at_power(model, &powers.block(0, 0, n, n), &powers.block(0, n, n, n)))
}

/// Equation (3) for a whole number q: a and b of the difference equation at q times the step, n and n + 1 of them.
pub(super) fn at_multiple(model: &StateSpace, q: u32) -> (Vec<f64>, Matrix) {
    let n = model.states();
    let (mut power, mut sum) = (Matrix::identity(n), Matrix::zeros(n, n));
    for _ in 1..q {
        sum += &power;
        power = &model.a * &power;
    }
    at_power(model, &power, &sum)
}

/// Equation (3) with A^{q-1} and S, as a difference equation.
fn at_power(model: &StateSpace, power: &Matrix, sum: &Matrix) -> (Vec<f64>, Matrix) {
    let n = model.states();
    let a = &model.a * power;
    let b = &(&(&a * sum) + power) * &model.b;
    let d = &model.d + &(&(&model.c * sum) * &model.b);
    let coefficients = characteristic(&a);
    let mut responses = vec![d];
    let mut forward = b;
    for _ in 0..n {
        responses.push(&model.c * &forward);
        forward = &a * &forward;
    }
    let given = Matrix::from_fn(model.inputs(), n + 1, |input, j| {
        let past: f64 = (1..=j).map(|i| coefficients[i - 1] * responses[j - i][(0, input)]).sum();
        responses[j][(0, input)] - past
    });
    (coefficients, given)
}

/// a_1 .. a_n with zⁿ - a_1 zⁿ⁻¹ - ... the characteristic polynomial (Faddeev and LeVerrier).
fn characteristic(a: &Matrix) -> Vec<f64> {
    let n = a.rows();
    let mut product = a.clone();
    let mut coefficients = Vec::with_capacity(n);
    for k in 1..=n {
        let coefficient = (0..n).map(|i| product[(i, i)]).sum::<f64>() / k as f64;
        coefficients.push(coefficient);
        let rest = &product - &(&Matrix::identity(n) * coefficient);
        product = a * &rest;
    }
    coefficients
}

fn minus(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re - b.re, im: a.im - b.im }
}

fn times(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
}

fn over(a: Complex, b: Complex) -> Complex {
    let size = b.re * b.re + b.im * b.im;
    let product = times(a, Complex { re: b.re, im: -b.im });
    Complex { re: product.re / size, im: product.im / size }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Responses of the difference equation and of the model to the same inputs.
    fn largest_gap(a: &[f64], b: &Matrix, model: &StateSpace) -> f64 {
        let (mut y, mut u) = (vec![0.0; a.len()], vec![vec![0.0; b.cols()]; b.rows()]);
        let mut x = vec![0.0; model.states()];
        let mut gap = 0.0_f64;
        for k in 0..40 {
            let given: Vec<f64> = (0..b.rows()).map(|i| (1.3 * f64::from(k) + i as f64).sin()).collect();
            for (past, given) in u.iter_mut().zip(&given) {
                past.rotate_right(1);
                past[0] = *given;
            }
            let mut next: f64 = a.iter().zip(&y).map(|(a, y)| a * y).sum();
            for (i, past) in u.iter().enumerate() {
                next += b.row(i).iter().zip(past).map(|(b, u)| b * u).sum::<f64>();
            }
            if !y.is_empty() {
                y.rotate_right(1);
                y[0] = next;
            }
            let mut seen = model.c.mul_vec(&x);
            model.d.mul_vec_add(&given, &mut seen);
            gap = gap.max((seen[0] - next).abs());
            let mut forward = model.a.mul_vec(&x);
            model.b.mul_vec_add(&given, &mut forward);
            x = forward;
        }
        gap
    }

    #[test]
    fn gilbert_and_its_fallback_say_what_the_equation_says() {
        let b = Matrix::from_slice(2, 3, &[1.0, -0.5, 0.2, 0.3, 0.7, -0.1]);
        // Real poles 0.9 and 0.5; a complex pair; 0.8 twice; three poles, one at zero; no past output at all.
        let cases: [&[f64]; 5] = [&[1.4, -0.45], &[1.2, -0.85], &[1.6, -0.64], &[0.3, 0.1, 0.0], &[]];
        for a in cases {
            let model = realize(a, &b).unwrap();
            assert!(largest_gap(a, &b, &model) < 1e-12, "{a:?}: {}", largest_gap(a, &b, &model));
            let is_gilbert = model.c.as_slice().iter().filter(|c| **c != 0.0).count() > 1
                || model.a[(0, 0)] == model.a[(1, 1)] && model.a[(0, 1)] == -model.a[(1, 0)];
            let is_repeated = a == [1.6, -0.64] || a.is_empty();
            assert_eq!(is_gilbert, !is_repeated, "{a:?}: {model:?}");
        }
    }

    /// Three steps at once under a held input end where three single steps end.
    #[test]
    fn a_multiple_of_the_step() {
        let b = Matrix::from_slice(1, 3, &[1.0, -0.5, 0.2]);
        for a in [[1.2, -0.85], [1.6, -0.64]] {
            let model = realize(&a, &b).unwrap();
            let (slow_a, slow_b) = at_multiple(&model, 3);
            let slow = realize(&slow_a, &slow_b).unwrap();
            let (mut x, mut z) = (vec![0.0; 2], vec![0.0; 2]);
            let mut last = 0.0;
            for k in 0..20 {
                let u = [(0.9 * f64::from(k)).cos()];
                for _ in 0..3 {
                    let mut y = model.c.mul_vec(&x);
                    model.d.mul_vec_add(&u, &mut y);
                    last = y[0];
                    let mut forward = model.a.mul_vec(&x);
                    model.b.mul_vec_add(&u, &mut forward);
                    x = forward;
                }
                let mut y = slow.c.mul_vec(&z);
                slow.d.mul_vec_add(&u, &mut y);
                assert!((y[0] - last).abs() < 1e-11, "{k}: {} {last}", y[0]);
                let mut forward = slow.a.mul_vec(&z);
                slow.b.mul_vec_add(&u, &mut forward);
                z = forward;
            }
        }
    }
}
