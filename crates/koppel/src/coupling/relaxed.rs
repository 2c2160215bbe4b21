//! Relaxed hold: a first-order filter on every arrival.
//!
//!   w^k = α w^{k-1} + (1 - α) (L y)^k,     û = w^k
//!
//! | symbol | meaning                        | here      |
//! | w      | value the input had last       | `applied` |
//! | α      | 0 is ZOH, towards 1 is slower  | `alpha`   |
//!
//! Glumac & Kovacic 2018, (45), there called NEPCE.

use super::{Coupling, Hold, Needs, Polynomials, View, terms_of, write_value};
use crate::error::Result;
use crate::system::InputId;

/// The filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct RelaxedHold {
    /// α in [0, 1).
    pub(super) alpha: f64,
    /// The run's communication step H; another length counts as that many of it: α^(length/H).
    pub(super) size: f64,
    /// Shape over the step.
    pub(super) hold: Hold,
}

impl Coupling for RelaxedHold {
    fn needs(&self) -> Needs {
        Needs { depth: 1, terms: terms_of(self.hold), no_preparation: true, ..Needs::default() }
    }

    fn start(&mut self, view: &View<'_>, _inputs: &[InputId]) -> Result<()> {
        self.size = view.step.size;
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let is_other = view.step.size != self.size;
        let alpha = if is_other { self.alpha.powf(view.step.size / self.size) } else { self.alpha };
        for &id in inputs {
            let value = alpha * view.applied[id] + (1.0 - alpha) * view.arrival(id);
            write_value(self.hold, view, id, value, out.of(id));
        }
        Ok(())
    }
}
