//! A signal given while the run goes on: a polynomial that whoever drives the run replaces before a step.

use super::{COEFFICIENTS, External, Shape, horner, shift_polynomial};
use crate::tape::Tape;

/// u(t) = Σ_j c_j (t - time)^j from `time` on; just before, what it was until then.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Live {
    time: f64,
    before: f64,
    /// When it jumped last before `time`.
    jumped: f64,
    coefficients: [f64; COEFFICIENTS],
}

impl Live {
    /// Whether it jumped last in (`after`, `until`].
    pub(super) fn jumps_within(&self, after: f64, until: f64) -> bool {
        let is_within = |time: f64| after < time && time <= until;
        self.jumps() && is_within(self.time) || is_within(self.jumped)
    }

    /// Whether what was given last differs from what was before by more than round-off.
    fn jumps(&self) -> bool {
        let (before, now) = (self.before, self.coefficients[0]);
        (now - before).abs() > 1e-9 * now.abs().max(before.abs())
    }

    pub(super) fn value(&self, t: f64) -> f64 {
        let tau = t - self.time;
        // A time that is the same but for round-off is not before.
        if tau < -f64::EPSILON * self.time.abs() {
            return self.before;
        }
        horner(&self.coefficients[..=self.degree()], tau)
    }

    pub(super) fn degree(&self) -> usize {
        self.coefficients.iter().rposition(|c| *c != 0.0).unwrap_or(0)
    }

    pub(super) fn piece(&self, start: f64, out: &mut [f64; COEFFICIENTS]) {
        *out = self.coefficients;
        if self.degree() > 0 && start != self.time {
            shift_polynomial(out, start - self.time);
        }
    }
}

impl External {
    /// A signal to be given while the run goes on; until then a constant.
    pub fn live(value: f64) -> External {
        let mut coefficients = [0.0; COEFFICIENTS];
        coefficients[0] = value;
        External {
            shape: Shape::Live(Live { time: 0.0, before: value, jumped: f64::NEG_INFINITY, coefficients }),
            scale: None,
        }
    }

    /// True if it is given while the run goes on.
    pub fn is_live(&self) -> bool {
        matches!(self.shape, Shape::Live(_))
    }

    /// Makes a live signal Σ_j c_j (t - time)^j; the first eight coefficients count. Others stay as they are.
    pub fn give(&mut self, time: f64, coefficients: &[f64]) {
        if let Shape::Live(live) = &mut self.shape {
            let count = coefficients.len().min(COEFFICIENTS);
            // What is given again at the same instant has never acted.
            if time != live.time {
                if live.jumps() {
                    live.jumped = live.time;
                }
                live.before = live.value(time);
            }
            live.time = time;
            live.coefficients = [0.0; COEFFICIENTS];
            live.coefficients[..count].copy_from_slice(&coefficients[..count]);
        }
    }

    /// Shows `tape` what a live signal was given.
    pub(crate) fn state(&mut self, tape: &mut Tape<'_>) {
        if let Shape::Live(live) = &mut self.shape {
            tape.number(&mut live.time);
            tape.number(&mut live.before);
            tape.number(&mut live.jumped);
            tape.numbers(&mut live.coefficients);
        }
    }
}
