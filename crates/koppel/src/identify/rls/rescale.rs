//! Parameters at another step. H̃ = q H, for N = M = 1:
//!
//!   ã = a^q,     b̃ = b Σ_{i<q} a^i,     c̃ = c Σ_{i<q} a^i                                        (1)
//!
//! and (1 - a^q) / (1 - a) for the sum where q is no whole number; for M = N and M = N + 1 by `realization`. Genser 2020, (4.13),
//! (4.14), which interpolates between whole numbers: poles of oscillations come out wrong there, so it is not done.

use super::super::realization::{at_any_multiple, at_multiple, realize};
use super::{Rls, RlsConfig};
use crate::error::{Result, bad};
use crate::linalg::Matrix;

impl RlsConfig {
    /// Whether the parameters can be carried to another step with the same N and M.
    pub(crate) fn can_rescale(&self) -> bool {
        self.outputs > 0 && (self.inputs == self.outputs || self.inputs == self.outputs + 1)
    }
}

impl Rls {
    /// Carries the parameters to another step.
    ///
    /// # Errors
    ///
    /// A step that is no whole multiple of the old one, if the model has no form between.
    pub(crate) fn rescale(&mut self, step: f64) -> Result<()> {
        let (q, first_order) = (step / self.learned.step, self.is_first_order());
        let refused = || {
            let reason = format!(
                "its poles do not belong to one model in continuous time, so it has no form at {step} s; learn it at that step or at a whole part of it"
            );
            bad("learned model", self.learned.step, &reason)
        };
        let at = |p: &Vec<f64>| match first_order {
            true => Ok(first_order_at(p, q)),
            false => higher_order_at(p, &self.config, self.inputs, q),
        };
        let all: Result<Vec<Option<Vec<f64>>>> = self.learned.parameters.iter().map(at).collect();
        self.learned.parameters = all?.into_iter().collect::<Option<_>>().ok_or_else(refused)?;
        self.learned.step = step;
        if !first_order {
            // The past has been seen at another step.
            self.seen = 0;
        }
        Ok(())
    }
}

/// How near to a whole number a multiple counts as one.
const WHOLE: f64 = 1e-9;

/// q, if it is a whole number of steps.
fn whole(q: f64) -> Option<u32> {
    (q >= 0.5 && (q - q.round()).abs() <= WHOLE * q).then_some(q.round() as u32)
}

/// Equation (1); nothing if a pole that is not positive stands between whole numbers.
fn first_order_at(p: &[f64], q: f64) -> Option<Vec<f64>> {
    let a = p[0];
    let (power, sum) = match whole(q) {
        Some(count) => (a.powi(count as i32), (0..count).fold(0.0, |sum, _| 1.0 + a * sum)),
        None if a == 1.0 => (1.0, q),
        None if a > 0.0 => (a.powf(q), (1.0 - a.powf(q)) / (1.0 - a)),
        None if a == 0.0 => (0.0, 1.0),
        None => return None,
    };
    Some(std::iter::once(power).chain(p[1..].iter().map(|b| b * sum)).collect())
}

/// The same for any order, by the state-space form; the constant counts as an input that is always 1.
fn higher_order_at(p: &[f64], config: &RlsConfig, inputs: usize, q: f64) -> Result<Option<Vec<f64>>> {
    let (n, m) = (config.outputs, config.inputs);
    let (a, rest) = p.split_at(n);
    let b = Matrix::from_fn(inputs + 1, m, |input, j| match input {
        _ if input < inputs => rest[input * m + j],
        _ if j == 0 => rest[inputs * m],
        _ => 0.0,
    });
    let model = realize(a, &b)?;
    let (a, b) = match whole(q) {
        Some(count) => at_multiple(&model, count),
        None => match at_any_multiple(&model, q) {
            Some(found) => found,
            None if p.iter().all(|p| *p == 0.0) => return Ok(Some(p.to_vec())),
            None => return Ok(None),
        },
    };
    let given = (0..inputs).flat_map(|input| b.row(input)[..m].iter().copied());
    let constant = b.row(inputs).iter().sum();
    Ok(Some(a[..n].iter().copied().chain(given).chain([constant]).collect()))
}
