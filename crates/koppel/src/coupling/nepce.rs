//! NEPCE, the nearly energy-preserving coupling element.
//!
//!   u^k = L y^k + α (1/H) ∫_{T^{k-1}}^{T^k} (L y - u_ex) dt
//!
//! | symbol | meaning                                                | here                 |
//! | u_ex   | the last extrapolation, without or with its correction | `Against`            |
//! | α      | gain in [0, 1]                                         | `gain`               |
//!
//! The integral is taken on intermediate outputs; of a subsystem that gives none, on both ends of the step. With
//! anti-aliasing y^k is replaced by its mean over the last step. Benedikt et al. 2013 as used in Genser 2020, 3.3, and
//! Genser & Benedikt 2018, 3. Against the uncorrected extrapolation its loop has the non-zero eigenvalues of first-order
//! hold. What Glumac & Kovacic call NEPCE is the relaxed hold.

use super::deferred::{Against, Deferred};
use super::{Coupling, Hold, Needs, Polynomials, View, terms_of, write_value};
use crate::error::Result;
use crate::signal::{Request, Samples};
use crate::system::{InputId, SubsystemId};

/// The method.
#[derive(Debug)]
pub(super) struct Nepce {
    deferred: Deferred,
    anti_aliasing: bool,
    hold: Hold,
    /// Size of the last step.
    size: f64,
}

impl Nepce {
    pub(super) fn new(gain: f64, against: Against, anti_aliasing: bool, hold: Hold) -> Self {
        Nepce { deferred: Deferred::new(against, gain), anti_aliasing, hold, size: 0.0 }
    }
}

impl Coupling for Nepce {
    fn needs(&self) -> Needs {
        Needs {
            depth: 1,
            terms: terms_of(self.hold),
            samples: Request::SolverPoints,
            one_rate: true,
            ..Needs::default()
        }
    }

    fn start(&mut self, view: &View<'_>, _inputs: &[InputId]) -> Result<()> {
        self.size = view.step.size;
        self.deferred.start(view)
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        let means = std::mem::take(&mut self.deferred.means);
        self.deferred.prepare(view, self.size, |wire| wire.gain * means[wire.source]);
        self.deferred.means = means;
        self.size = view.step.size;
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        for &input in inputs {
            let newest = if self.anti_aliasing {
                let wires = &view.graph.wires()[view.graph.wires_into(input)];
                let means = wires.iter().map(|wire| wire.gain * self.deferred.means[wire.source]);
                view.graph.offset(input) + means.sum::<f64>()
            } else {
                view.arrival(input)
            };
            let value = newest + self.deferred.correction[input];
            write_value(self.hold, view, input, value, out.of(input));
        }
        Ok(())
    }

    fn moved(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.deferred.note(view, subsystem, samples);
        Ok(())
    }

    fn jumped(&mut self, view: &View<'_>, subsystem: SubsystemId) {
        self.deferred.jump(view, subsystem);
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.push(self.size);
        self.deferred.save(memory);
    }

    fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.size = memory[0];
        self.deferred.restore(&memory[1..])
    }
}
