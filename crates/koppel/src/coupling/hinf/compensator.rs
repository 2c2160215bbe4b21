//! K1 of every wire: x' = A x + B y, w = C x + D y, on the samples of one step.
//!
//!   x(T^{k+1}) = Φ x(T^k) + Σ_i g_i y_i                                                    (1)
//!
//! exactly, if y is the cubic through the four samples around each part of the step. All of y counts as a difference to
//! what it was at the start, so that rest is kept to the last bit.

use super::BySize;
use crate::coupling::View;
use crate::error::Result;
use crate::hinf::Design;
use crate::linalg::{Matrix, solve};
use crate::signal::Samples;
use crate::system::{StateSpace, SubsystemId, Wire};
use crate::tape::Tape;

/// Steps, beside the one that has ended, that count as recent.
const RECENT: usize = 4;

/// The compensators of all wires.
pub(super) struct Compensators {
    /// Scaled so that constants pass.
    matrices: StateSpace,
    parts: usize,
    limit: f64,
    discrete: BySize<Discrete>,
    /// Per wire.
    wires: Vec<Compensator>,
    /// States of all wires.
    states: Vec<f64>,
    /// Room for the samples of one signal, and for a new state.
    resampled: Vec<f64>,
    next: Vec<f64>,
}

/// (1) for one size of step.
struct Discrete {
    transition: Matrix,
    /// Columns g_i.
    weights: Matrix,
}

#[derive(Clone, Copy)]
struct Compensator {
    /// y at the start, from which all else counts.
    reference: f64,
    /// w: what the source has sent last.
    sent: f64,
    /// y at the end of the last step.
    last: f64,
    /// Smallest and largest value in each of the recent steps, newest first.
    range: [[f64; 2]; RECENT + 1],
}

impl Compensator {
    fn at(value: f64) -> Self {
        Compensator { reference: value, sent: value, last: value, range: [[value; 2]; RECENT + 1] }
    }
}

impl Compensators {
    pub(super) fn new(design: &Design, parts: u32, limit: f64, view: &View<'_>) -> Self {
        let mut matrices = design.compensator_matrices();
        let gain = 1.0 / design.static_gain();
        matrices.c = &matrices.c * gain;
        matrices.d = &matrices.d * gain;
        let order = matrices.states();
        let wires: Vec<_> =
            (0..view.graph.wires().len()).map(|wire| Compensator::at(view.history.newest(wire))).collect();
        Compensators {
            matrices,
            parts: parts as usize,
            limit,
            discrete: BySize::NONE,
            states: vec![0.0; order * wires.len()],
            wires,
            resampled: vec![0.0; parts as usize + 1],
            next: vec![0.0; order],
        }
    }

    /// What a wire has brought last.
    pub(super) fn sent(&self, wire: usize) -> f64 {
        self.wires[wire].sent
    }

    /// Has (1) for a step of this size.
    pub(super) fn get_ready(&mut self, size: f64) -> Result<()> {
        let (matrices, parts) = (&self.matrices, self.parts);
        self.discrete.get_ready(size, || Discrete::new(matrices, parts, size))
    }

    /// A source has moved: its compensators follow.
    pub(super) fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) {
        let first = view.graph.outputs_of(subsystem).start;
        for &wire in view.graph.wires_from(subsystem) {
            let Wire { source, gain, target, .. } = view.graph.wires()[wire];
            let map = view.graph.map(target);
            let carried = |y: f64| map.map_or(gain * y, |map| map.value(y));
            let value = |k: usize| carried(samples.at(k)[source - first]);
            match samples.times().len() {
                // Nothing was seen: a line from the last end to this one.
                0 | 1 => {
                    let ends = [self.wires[wire].last, view.history.newest(wire)];
                    resample(&[0.0, 1.0], |k| ends[k], &mut self.resampled);
                }
                count if count == self.resampled.len() => {
                    self.resampled.iter_mut().enumerate().for_each(|(k, slot)| *slot = value(k));
                }
                // Another method wanted other points.
                _ => resample(samples.times(), value, &mut self.resampled),
            }
            self.follow(wire);
        }
    }

    /// One step of one compensator on `resampled`.
    fn follow(&mut self, wire: usize) {
        let Discrete { transition, weights } = self.discrete.now();
        let compensator = &mut self.wires[wire];
        let state = &mut self.states[wire * self.next.len()..][..self.next.len()];
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in &mut self.resampled {
            (low, high) = (low.min(*value), high.max(*value));
            *value -= compensator.reference;
        }
        transition.mul_vec_into(state, &mut self.next);
        weights.mul_vec_add(&self.resampled, &mut self.next);
        state.copy_from_slice(&self.next);
        compensator.range.rotate_right(1);
        compensator.range[0] = [low, high];

        let StateSpace { c, d, .. } = &self.matrices;
        let now = self.resampled[self.parts];
        let wanted = c.row(0).iter().zip(&*state).map(|(c, x)| c * x).sum::<f64>() + d[(0, 0)] * now;
        let low = compensator.range.iter().map(|range| range[0]).fold(f64::INFINITY, f64::min);
        let high = compensator.range.iter().map(|range| range[1]).fold(f64::NEG_INFINITY, f64::max);
        let most = self.limit * (high - low);
        let added = if most.is_finite() { (wanted - now).clamp(-most, most) } else { wanted - now };
        compensator.last = compensator.reference + now;
        compensator.sent = compensator.last + added;
    }

    /// The outputs of a source have jumped: its compensators rest at the new values.
    pub(super) fn restart(&mut self, view: &View<'_>, subsystem: SubsystemId) {
        let order = self.next.len();
        for &wire in view.graph.wires_from(subsystem) {
            self.wires[wire] = Compensator::at(view.history.newest(wire));
            self.states[wire * order..][..order].fill(0.0);
        }
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.values(&mut self.states);
        for Compensator { reference, sent, last, range } in &mut self.wires {
            [reference, sent, last].into_iter().for_each(|value| tape.value(value));
            tape.values(range.as_flattened_mut());
        }
    }
}

/// Values at evenly spaced times, on lines between those that are known.
fn resample(times: &[f64], value: impl Fn(usize) -> f64, out: &mut [f64]) {
    let (begin, end) = (times[0], times[times.len() - 1]);
    let parts = (out.len() - 1) as f64;
    let mut left = 0;
    for (k, slot) in out.iter_mut().enumerate() {
        let t = begin + (end - begin) * k as f64 / parts;
        while left + 2 < times.len() && times[left + 1] <= t {
            left += 1;
        }
        let (from, to) = (value(left), value(left + 1));
        *slot = from + (to - from) * (t - times[left]) / (times[left + 1] - times[left]);
    }
}

impl Discrete {
    fn new(matrices: &StateSpace, parts: usize, size: f64) -> Result<Self> {
        let degree = parts.min(3);
        let part = matrices.discretize(size / parts as f64, degree + 1)?;
        let order = matrices.states();
        let mut transition = Matrix::identity(order);
        let mut weights = Matrix::zeros(order, parts + 1);
        for k in 0..parts {
            transition = &part.transition * &transition;
            weights = &part.transition * &weights;
            // The part [k, k + 1] lies in the middle of its samples where there are enough on both sides.
            let first = k.saturating_sub(1).min(parts - degree);
            let cubic = interpolation(degree, first as f64 - k as f64, size / parts as f64)?;
            for (power, gamma) in part.inputs.iter().enumerate() {
                for sample in 0..=degree {
                    for row in 0..order {
                        weights[(row, first + sample)] += gamma[(row, 0)] * cubic[(power, sample)];
                    }
                }
            }
        }
        Ok(Discrete { transition, weights })
    }
}

/// Coefficients of the polynomial through samples at (first, first + 1, ...) · spacing: one row per power.
fn interpolation(degree: usize, first: f64, spacing: f64) -> Result<Matrix> {
    let count = degree + 1;
    let nodes = Matrix::from_fn(count, count, |i, j| (first + i as f64).powi(j as i32));
    let inverse = solve(&nodes, &Matrix::identity(count))
        .map_err(|source| crate::Error::Linalg { what: "interpolation of samples".into(), source })?;
    Ok(Matrix::from_fn(count, count, |power, sample| inverse[(power, sample)] / spacing.powi(power as i32)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hinf::{Specification, designed};

    #[test]
    fn lines_between_known_points() {
        let (times, values) = ([1.0, 1.1, 1.5, 2.0], [0.0, 1.0, 5.0, 0.0]);
        let mut out = [0.0; 5];
        resample(&times, |k| values[k], &mut out);
        for (found, expected) in out.iter().zip([0.0, 2.5, 5.0, 2.5, 0.0]) {
            assert!((found - expected).abs() < 1e-12, "{out:?}");
        }
    }

    /// A cubic is followed exactly, whatever the number of samples.
    #[test]
    fn cubics_are_followed_exactly() {
        let design = designed(&Specification::new(0.1, 1)).unwrap();
        let matrices = design.compensator_matrices();
        let c = [0.3, -2.0, 5.0, 40.0];
        let exact = matrices.discretize(0.1, 4).unwrap();
        let start = Matrix::from_fn(matrices.states(), 1, |i, _| 0.1 * i as f64 - 0.2);
        let mut end = &exact.transition * &start;
        for (gamma, c) in exact.inputs.iter().zip(c) {
            end = &end + &(gamma * c);
        }
        for parts in [3, 4, 10, 37] {
            let discrete = Discrete::new(&matrices, parts, 0.1).unwrap();
            let y = |k: usize| {
                let t = 0.1 * k as f64 / parts as f64;
                c.iter().rev().fold(0.0, |sum, c| sum * t + c)
            };
            let samples = Matrix::from_fn(parts + 1, 1, |k, _| y(k));
            let found = &(&discrete.transition * &start) + &(&discrete.weights * &samples);
            assert!((&found - &end).max_abs() < 1e-11 * end.max_abs(), "{parts} parts");
        }
    }
}
