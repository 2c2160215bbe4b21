//! Aitken's relaxation for vectors.
//!
//!   z ← z + ω r,     ω ← -ω_old r_old · (r - r_old) / ‖r - r_old‖²
//!
//! Irons & Tuck 1969. One number for all unknowns: exact for one unknown, slow where unknowns differ in gain. The first guess at a
//! communication point takes the last ω.

use super::{Acceleration, Next, dot};
use crate::tape::Tape;

const FIRST: f64 = 0.5;
const MOST: f64 = 1e3;

pub(super) struct Aitken {
    omega: f64,
    last: Vec<f64>,
    change: Vec<f64>,
    has_last: bool,
    reuse: bool,
}

impl Aitken {
    pub(super) fn new(unknowns: usize, reuse: bool) -> Self {
        let zeros = || vec![0.0; unknowns];
        Aitken { omega: FIRST, last: zeros(), change: zeros(), has_last: false, reuse }
    }
}

impl Acceleration for Aitken {
    fn begin(&mut self) {
        self.has_last = false;
        if !self.reuse {
            self.omega = FIRST;
        }
    }

    fn next(&mut self, weight: &[f64], z: &mut [f64], residual: &[f64]) -> Next {
        if self.has_last {
            for ((d, r), old) in self.change.iter_mut().zip(residual).zip(&self.last) {
                *d = r - old;
            }
            let length = dot(weight, &self.change, &self.change);
            let omega = -self.omega * dot(weight, &self.last, &self.change) / length;
            if omega.is_finite() && omega != 0.0 {
                self.omega = omega.clamp(-MOST, MOST);
            }
        }
        self.last.copy_from_slice(residual);
        self.has_last = true;
        z.iter_mut().zip(residual).for_each(|(z, r)| *z += self.omega * r);
        Next::Try
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        tape.number(&mut self.omega);
    }
}
