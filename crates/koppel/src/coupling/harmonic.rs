//! A harmonic signal, as couplings see it.
//!
//! With x = s H, m = (1 - e^{-x})/x the mean over a step and e^{-x} its delay, a value that is given at T^k becomes
//!
//!   held: m,     a line from the last one: m²                                              (1)

use super::Hold;
use crate::hinf::HoldOrder;
use crate::linalg::Complex;

/// e^{st} that is exchanged every `step` seconds.
#[derive(Clone, Copy, Debug)]
pub struct Harmonic {
    /// s, in 1/s.
    pub s: Complex,
    /// The communication step H, in s.
    pub step: f64,
    /// How values are held over a step.
    pub hold: Hold,
}

impl Harmonic {
    /// m: its mean over a step.
    pub fn mean(&self) -> Complex {
        self.through(HoldOrder::Zoh)
    }

    /// e^{-x}: the delay by one step.
    pub fn delay(&self) -> Complex {
        (self.s * -self.step).exp()
    }

    /// Equation (1): a value at T^k, held over the step.
    pub fn held(&self) -> Complex {
        let mean = self.mean();
        match self.hold {
            Hold::Constant => mean,
            Hold::Continuous => mean * mean,
        }
    }

    /// A polynomial hold of what has arrived.
    pub fn through(&self, order: HoldOrder) -> Complex {
        order.transfer(self.step, self.s)
    }
}
