//! What a step matrix says: its modes, who sees them, and how far it is from instability.
//!
//!   ρ = max |λ|,     r = min_ω σ_min(e^{jω} I - S⁻¹ Φ S)                                       (1)
//!
//! | symbol | meaning                                                                        |
//! | ρ      | spectral radius, without modes that no output sees and integrators (λ = 1)       |
//! | r      | unstructured complex stability radius: the smallest change of Φ that makes ρ = 1 |
//! | S      | typical sizes of the state                                                       |
//!
//! An eigenvalue of exactly 1 is a number that stays where it is: a position that is the integral of an exchanged velocity.
//! Glumac & Kovacic 2018, (60)-(62); differs in: r itself in place of the bound 1 - ρ, which can be several times too large.

use super::hessenberg::Hessenberg;
use super::step_matrix::StepMatrix;
use crate::error::{Error, Result};
use crate::linalg::{Complex, LinalgError, Lu, Matrix, balance, eigenvalues};
use serde::Serialize;

/// How near to 1 counts as 1 for the modulus.
pub(super) const ON_CIRCLE: f64 = 1e-8;
/// How far round-off may drive several integrators apart; their mean stays.
const APART: f64 = 1e-5;
/// Round-off in a step matrix, relative to its size: what is left out as a combination of other numbers is so to this part.
const NOISE: f64 = 1e-11;
/// How far an eigenvalue of a block may lie beyond those of the whole by round-off alone.
const BEYOND: f64 = 1e-4;
/// What of a mode an output must show, relative to the largest number in it.
const SEEN: f64 = 1e-9;
/// Modes that are reported.
const TOLD: usize = 6;

/// One eigenvalue of Φ, or a conjugate pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mode {
    /// Real part.
    pub re: f64,
    /// Imaginary part, not below zero.
    pub im: f64,
    /// Growth per macro step.
    pub modulus: f64,
    /// Frequency, in Hz, up to half of the exchange's own.
    pub frequency: f64,
    /// Outputs that see it, the one that shows it most first.
    pub outputs: Vec<String>,
}

/// In which units the state was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// By declared nominal values.
    Nominal,
    /// So that rows and columns of Φ are alike: not all nominal values are declared.
    Balanced,
}

/// The judged modes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spectrum {
    /// ρ per macro step.
    pub radius: f64,
    /// The largest modes.
    pub modes: Vec<Mode>,
    /// Integrators left out.
    pub integrators: usize,
    /// Critical modes left out because no output sees them.
    pub unseen: usize,
    /// Φ without what was left out, in scaled units.
    #[serde(skip)]
    rest: Matrix,
}

impl Spectrum {
    /// True if nothing grows.
    pub fn is_bounded(&self) -> bool {
        self.radius <= 1.0 + ON_CIRCLE
    }

    /// True if something neither grows nor dies out.
    pub fn is_marginal(&self) -> bool {
        (self.radius - 1.0).abs() <= ON_CIRCLE
    }

    /// r; 0 if the run is not stable.
    pub fn stability_radius(&self) -> Result<f64> {
        if self.radius >= 1.0 - ON_CIRCLE {
            return Ok(0.0);
        }
        if self.rest.rows() == 0 {
            return Ok(1.0);
        }
        let hessenberg = Hessenberg::new(&self.rest);
        let at = |angle: f64| hessenberg.smallest_singular_value(Complex::imaginary(angle).exp());
        let mut angles: Vec<f64> =
            (0..=COARSE).map(|k| std::f64::consts::PI * f64::from(k) / f64::from(COARSE)).collect();
        let critical = eigenvalues(&self.rest).map_err(linalg)?;
        angles.extend(critical.iter().take(CRITICAL).map(|z| z.angle().abs()));
        let tried = angles.into_iter().map(|angle| (at(angle), angle));
        let best = tried.fold((f64::INFINITY, 0.0), |best, new| if new.0 < best.0 { new } else { best });
        let width = std::f64::consts::PI / f64::from(COARSE);
        let (mut low, mut high) = (best.1 - width, best.1 + width);
        for _ in 0..40 {
            let (left, right) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
            if at(left) < at(right) { high = right } else { low = left }
        }
        Ok(at(0.5 * (low + high)).min(best.0))
    }
}

/// Eigenvalues, the largest first, whose angles are tried.
const CRITICAL: usize = 24;

/// Angles of the coarse search.
const COARSE: u32 = 90;

impl StepMatrix {
    /// In which units [`Spectrum::stability_radius`] is measured.
    pub fn scaling(&self) -> Scaling {
        match self.nominals {
            Some(_) => Scaling::Nominal,
            None => Scaling::Balanced,
        }
    }

    /// The eigenvalues of Φ, the largest first. Blocks that act on themselves have the accurate ones, unless one of them is beyond the
    /// largest eigenvalue of the whole: that belongs to no state that the run comes to.
    fn eigenvalues(&self) -> Result<Vec<Complex>> {
        let of_whole = eigenvalues(&self.core).map_err(linalg)?;
        let largest = |all: &[Complex]| all.first().map_or(0.0, |z| z.abs());
        let of_blocks = self.of_blocks.as_ref();
        let reached = of_blocks.filter(|all| largest(all) <= largest(&of_whole) * (1.0 + BEYOND));
        Ok(reached.cloned().unwrap_or(of_whole))
    }

    /// Its modes and ρ.
    pub fn spectrum(&self) -> Result<Spectrum> {
        let balanced = balance(&self.matrix).map_err(linalg)?;
        let sizes = self.nominals.as_ref().unwrap_or(&balanced.scales);
        let n = sizes.len();
        let mut rest = Matrix::from_fn(n, n, |i, j| self.matrix[(i, j)] * sizes[j] / sizes[i]);
        let outputs = Matrix::from_fn(self.outputs.rows(), n, |i, j| self.outputs[(i, j)] * sizes[j]);
        let row_sizes: Vec<f64> = (0..outputs.rows())
            .map(|i| outputs.row(i).iter().fold(f64::MIN_POSITIVE, |most, entry| most.max(entry.abs())))
            .collect();
        let mut found =
            Spectrum { radius: 0.0, modes: Vec::new(), integrators: 0, unseen: 0, rest: Matrix::zeros(0, 0) };
        let values = self.eigenvalues()?;
        for value in values.iter().copied().filter(|z| z.im >= 0.0) {
            let is_critical = value.abs() >= 1.0 - 1e-3;
            if found.modes.len() == TOLD
                || (!is_critical && !found.modes.is_empty() && value.abs() < 0.5 * found.radius)
            {
                break;
            }
            if is_integrator(value, &values) || is_integrator_in_noise(&rest, value)? {
                found.integrators += 1;
                deflate(&mut rest, value)?;
                continue;
            }
            // Many equal modes in a row have no vector that could be found.
            let vector = eigenvector(&rest, value).ok();
            let size = |i: usize, vector: &[Complex]| show(outputs.row(i), vector) / row_sizes[i];
            let sizes = vector.as_ref().map(|vector| (0..outputs.rows()).map(|i| (i, size(i, vector))));
            let mut shown: Vec<(usize, f64)> =
                sizes.into_iter().flatten().filter(|(_, size)| *size > SEEN).collect();
            if shown.is_empty() && is_critical && vector.is_some() {
                found.unseen += if value.im == 0.0 { 1 } else { 2 };
                if value.im == 0.0 {
                    deflate(&mut rest, value)?;
                }
                continue;
            }
            crate::sort::sort_by(&mut shown, |a, b| b.1.total_cmp(&a.1));
            let modulus = value.abs().powf(1.0 / self.steps as f64);
            found.radius = found.radius.max(modulus);
            found.modes.push(Mode {
                re: value.re,
                im: value.im,
                modulus,
                frequency: value.angle() / (std::f64::consts::TAU * self.step * self.steps as f64),
                outputs: shown.into_iter().map(|(i, _)| self.output_names[i].clone()).collect(),
            });
        }
        found.rest = rest;
        Ok(found)
    }
}

/// Whether an eigenvalue is 1, or one of several that are 1 together.
fn is_integrator(value: Complex, all: &[Complex]) -> bool {
    let distance = |z: &Complex| (*z - Complex::ONE).abs();
    let near: Vec<&Complex> = all.iter().filter(|z| distance(z) < APART).collect();
    let mean = near.iter().fold(Complex::ZERO, |sum, z| sum + **z) * (1.0 / near.len().max(1) as f64);
    distance(&value) < ON_CIRCLE || (distance(&value) < APART && distance(&mean) < ON_CIRCLE)
}

/// Whether round-off in the matrix is enough to bring an eigenvalue from 1 to where it is: a change of size ε moves it by
/// up to ε / |wᵀ v|, with its left and right vectors of length 1.
fn is_integrator_in_noise(a: &Matrix, value: Complex) -> Result<bool> {
    let distance = (value - Complex::ONE).abs();
    if value.im != 0.0 || distance >= APART {
        return Ok(false);
    }
    let (right, left) = (real(&eigenvector(a, value)?), real(&eigenvector(&a.transpose(), value)?));
    let size = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let product: f64 = right.iter().zip(&left).map(|(v, w)| v * w).sum();
    let sensitivity = size(&right) * size(&left) / product.abs().max(f64::MIN_POSITIVE);
    Ok(distance <= NOISE * a.norm_frobenius() * sensitivity)
}

/// |c v|.
fn show(row: &[f64], vector: &[Complex]) -> f64 {
    let sum = row.iter().zip(vector).fold(Complex::ZERO, |sum, (c, v)| sum + *v * *c);
    sum.abs()
}

/// [[A - a I, b I], [-b I, A - a I]]: A - (a + j b) I in real numbers.
fn shifted(a: &Matrix, value: Complex) -> Matrix {
    let n = a.rows();
    Matrix::from_fn(2 * n, 2 * n, |i, j| {
        let (row, col) = (i % n, j % n);
        match (i < n, j < n) {
            (true, true) | (false, false) => a[(row, col)] - if row == col { value.re } else { 0.0 },
            (true, false) => {
                if row == col {
                    value.im
                } else {
                    0.0
                }
            }
            (false, true) => {
                if row == col {
                    -value.im
                } else {
                    0.0
                }
            }
        }
    })
}

/// The eigenvector of length 1, by inverse iteration.
fn eigenvector(a: &Matrix, value: Complex) -> Result<Vec<Complex>> {
    let n = a.rows();
    // Not quite the eigenvalue, so that the matrix can be factored.
    let factors = factor(|off| shifted(a, value * (1.0 + off) + Complex::from(off)))?;
    let mut x = start(2 * n);
    for _ in 0..4 {
        factors.solve_in_place(&mut x);
        normalize(&mut x);
    }
    Ok((0..n).map(|i| Complex::new(x[i], x[n + i])).collect())
}

/// Moves a real eigenvalue to zero: A - λ v wᵀ / (wᵀ v) with its right and left vectors.
fn deflate(a: &mut Matrix, value: Complex) -> Result<()> {
    let right: Vec<f64> = real(&eigenvector(a, value)?);
    let left: Vec<f64> = real(&eigenvector(&a.transpose(), value)?);
    let product: f64 = right.iter().zip(&left).map(|(v, w)| v * w).sum();
    // Where both are at right angles the eigenvalue is not simple; it stays.
    if product.abs() > 1e-9 {
        for i in 0..a.rows() {
            for j in 0..a.cols() {
                a[(i, j)] -= value.re * right[i] * left[j] / product;
            }
        }
    }
    Ok(())
}

/// A real vector of a real eigenvalue, which came with any phase.
fn real(vector: &[Complex]) -> Vec<f64> {
    let largest = vector.iter().fold(Complex::ZERO, |most, v| if v.abs() > most.abs() { *v } else { most });
    vector.iter().map(|v| (*v / largest).re).collect()
}

/// Factors of a matrix that may be singular as it stands.
fn factor(matrix: impl Fn(f64) -> Matrix) -> Result<Lu> {
    let mut last = LinalgError::NonFinite { what: "a step matrix" };
    // Several equal eigenvalues with one vector are singular to a power of the distance.
    for off in [0.0, 1e-14, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6] {
        match Lu::new(&matrix(off)) {
            Ok(factors) => return Ok(factors),
            Err(error) => last = error,
        }
    }
    Err(linalg(last))
}

/// Not at right angles to anything in particular.
fn start(size: usize) -> Vec<f64> {
    let mut x: Vec<f64> = (0..size).map(|i| 1.0 + 0.5 * (1.3 * i as f64).sin()).collect();
    normalize(&mut x);
    x
}

fn normalize(x: &mut [f64]) -> f64 {
    let size = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter_mut().for_each(|x| *x /= size);
    size
}

fn linalg(source: LinalgError) -> Box<Error> {
    Error::Linalg { what: "modes of the step matrix".into(), source }.into()
}
