//! Parameters at another step. H̃ = q H, for N = M = 1:
//!
//!   ã = a^q,     b̃ = b Σ_{i<q} a^i,     c̃ = c Σ_{i<q} a^i                                        (1)
//!
//! interpolated between the whole numbers around q; for M = N and M = N + 1 by `realization`. Genser 2020, (4.13), (4.14).

use super::super::realization::{at_multiple, realize};
use super::{Rls, RlsConfig};
use crate::error::Result;
use crate::linalg::Matrix;

impl RlsConfig {
    /// Whether the parameters can be carried to another step with the same N and M.
    pub(crate) fn can_rescale(&self) -> bool {
        self.outputs > 0 && (self.inputs == self.outputs || self.inputs == self.outputs + 1)
    }
}

impl Rls {
    /// Carries the parameters to another step, interpolated between the whole multiples of the old one around it.
    pub(crate) fn rescale(&mut self, step: f64) -> Result<()> {
        let q = step / self.learned.step;
        let (low, first_order) = (q.floor(), self.is_first_order());
        for p in &mut self.learned.parameters {
            let (below, above) = if first_order {
                (first_order_at(p, low), first_order_at(p, low + 1.0))
            } else {
                let at = |q: f64| higher_order_at(p, &self.config, self.inputs, q);
                (at(low)?, at(low + 1.0)?)
            };
            for (p, (below, above)) in p.iter_mut().zip(below.iter().zip(&above)) {
                *p = below + (q - low) * (above - below);
            }
        }
        self.learned.step = step;
        if !first_order {
            // The past has been seen at another step.
            self.seen = 0;
        }
        Ok(())
    }
}

/// Equation (1) for a whole number q; below the old step nothing moves.
fn first_order_at(p: &[f64], q: f64) -> Vec<f64> {
    let (a, count) = (p[0], q as i32);
    let sum = (0..count).fold(0.0, |sum, _| 1.0 + a * sum);
    std::iter::once(a.powi(count)).chain(p[1..].iter().map(|b| b * sum)).collect()
}

/// The same for any order, by the state-space form; the constant counts as an input that is always 1.
fn higher_order_at(p: &[f64], config: &RlsConfig, inputs: usize, q: f64) -> Result<Vec<f64>> {
    let (n, m) = (config.outputs, config.inputs);
    if q < 1.0 {
        return Ok((0..p.len()).map(|j| f64::from(u8::from(j == 0))).collect());
    }
    let (a, rest) = p.split_at(n);
    let b = Matrix::from_fn(inputs + 1, m, |input, j| match input {
        _ if input < inputs => rest[input * m + j],
        _ if j == 0 => rest[inputs * m],
        _ => 0.0,
    });
    let (a, b) = at_multiple(&realize(a, &b)?, q as u32);
    let given = (0..inputs).flat_map(|input| b.row(input)[..m].iter().copied());
    let constant = b.row(inputs).iter().sum();
    Ok(a[..n].iter().copied().chain(given).chain([constant]).collect())
}
