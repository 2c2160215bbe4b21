//! The model-based corrector on learned models.
//!
//!   u^k = L ỹ^k + α [(1/H) ∫ (L y - u_ex) dt + L (δ^{k-1} + δ^k) / 2],     ỹ = y + δ
//!
//! δ comes from the error equation in discrete time, Genser 2020, (2.57); its mean over the step is taken from both ends.
//! While models are being learned or not trusted, inputs are signal-based. During the switch the correction counts with the share of the method.

use super::super::deferred::Deferred;
use super::super::learned_models::{LearnedModels, LearnedSettings};
use super::super::{Coupling, Needs, Polynomials, Report, View, write_value};
use super::CorrectorConfig;
use crate::coupling::Hold;
use crate::error::Result;
use crate::identify::IdentifyConfig;
use crate::signal::{Request, Samples};
use crate::system::{InputId, SubsystemId};
use crate::tape::Tape;

/// The method.
pub(super) struct LearnedCorrector {
    /// Learns, decides and finds δ.
    models: LearnedModels,
    deferred: Deferred,
    /// δ at the last communication point.
    before: Vec<f64>,
    hold: Hold,
    size: f64,
}

impl LearnedCorrector {
    pub(super) fn new(config: &CorrectorConfig, identify: IdentifyConfig, hold: Hold) -> Result<Self> {
        let settings = LearnedSettings {
            source: config.model,
            identify,
            learning: config.learning.unwrap_or_default(),
            error_equation: config.error_equation,
            intermediate: config.intermediate,
            modified: false,
            learned: config.learned.clone(),
            hold,
        };
        Ok(LearnedCorrector {
            models: LearnedModels::new(settings)?,
            deferred: Deferred::new(config.against, config.gain),
            before: Vec::new(),
            hold,
            size: 0.0,
        })
    }
}

impl Coupling for LearnedCorrector {
    fn needs(&self) -> Needs {
        Needs { samples: Some(Request::SolverPoints), ..self.models.needs() }
    }

    fn start(&mut self, view: &View<'_>, _inputs: &[InputId]) -> Result<()> {
        self.models.start(view)?;
        self.deferred.start(view)?;
        self.before = vec![0.0; view.graph.outputs()];
        self.size = view.step.size;
        Ok(())
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.before.copy_from_slice(self.models.delta());
        self.models.prepare(view)?;
        // It has no step 3 that could be left out.
        self.models.phase.ignore_step_three();
        self.models.conclude(view);
        let delta = self.models.delta();
        self.deferred.follow_jumps(view);
        let means = std::mem::take(&mut self.deferred.means);
        let mean = |output: usize| means[output] + 0.5 * (self.before[output] + delta[output]);
        self.deferred.prepare(view, self.size, |wire| wire.gain * mean(wire.source));
        self.deferred.means = means;
        // What is not given cannot be taken off again after the step.
        let share = self.models.phase.share;
        self.deferred.correction.iter_mut().for_each(|correction| *correction *= share);
        self.size = view.step.size;
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let share = self.models.phase.share;
        for &input in inputs {
            let own = view.stages[view.graph.subsystem_of_input(input)];
            let wires = &view.graph.wires()[view.graph.wires_into(input)];
            let standing = || wires.iter().filter(|wire| view.stages[wire.from] >= own);
            let value = if standing().next().is_none() {
                view.arrival(input)
            } else if share == 0.0 {
                self.models.signal_based[input]
            } else {
                let distance: f64 = standing().map(|wire| wire.gain * self.models.delta()[wire.source]).sum();
                let followed = share * (view.arrival(input) + distance);
                let held = (1.0 - share) * self.models.signal_based[input];
                followed + self.deferred.correction[input] + held
            };
            write_value(self.hold, view, input, value, out.of(input));
        }
        Ok(())
    }

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.deferred.note(view, subsystem, samples);
        self.models.observe(view, subsystem, samples);
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        tape.number(&mut self.size);
        tape.values(&mut self.before);
        self.deferred.state(tape);
        self.models.state(tape);
    }

    fn report(&self) -> &dyn Report {
        &self.models
    }
}
