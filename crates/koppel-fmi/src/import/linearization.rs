//! The linear model of a co-simulation FMU where it stands, best first:
//!
//! 1. directional derivatives of its outputs and of the state derivatives its description lists, if they hold
//!    (`judging.rs`);
//! 2. trial steps from a saved state under moved inputs ([`RollBack`]), if it can save its state and repeats a step from
//!    it; the states of that model are the outputs.
//!
//! An FMU with neither has no model, and says why. Derivatives are asked for where steps are taken: initialization, in which
//! other rules hold, is brought to its end first, as the first step would. Afterwards its inputs, and its state, are what
//! they were.

use super::matrices::{Trust, Unknowns};
use super::stepping::Stepper;
use super::{CoSimulation, Phase};
use crate::error::Result;
use koppel::identify::{RollBack, Window};
use koppel::linalg::Matrix;
use koppel::system::{ModelSource, StateSpace};

/// Where the models of an instance come from.
pub(super) struct Linearization {
    pub(super) unknowns: Option<Unknowns>,
    trust: Trust,
    /// Why derivatives by states could not be compared with anything.
    unchecked: Option<String>,
    trials: RollBack,
    workspace: Workspace,
}

/// Buffers, so that asking at every step allocates nothing.
#[derive(Default)]
struct Workspace {
    inputs: Vec<f64>,
    derivatives: Vec<f64>,
    change: Vec<f64>,
}

impl Linearization {
    pub(super) fn new(unknowns: Option<Unknowns>, is_offered: bool) -> Linearization {
        let unknowns = unknowns.filter(|unknowns| unknowns.states() > 0);
        let trust = Trust::new(is_offered && unknowns.is_some());
        let (trials, workspace) = (RollBack::default(), Workspace::default());
        Linearization { unknowns, trust, unchecked: None, trials, workspace }
    }

    /// Whether a model takes trial steps.
    pub(super) fn needs_trials(&self) -> bool {
        matches!(self.trust, Trust::NotOffered | Trust::Failed(_))
    }
}

impl CoSimulation {
    pub(super) fn matrices(&mut self, inputs: &[f64]) -> koppel::Result<Option<StateSpace>> {
        self.settle_trust(inputs)?;
        if self.linearization.trust == Trust::Held {
            self.leave_initialization(inputs)?;
            let unchecked = self.linearization.unchecked.as_ref();
            let believed =
                unchecked.map_or_else(String::new, |why| format!(" (those by states unchecked: {why})"));
            self.note_model(ModelSource::Found(format!("directional derivatives{believed}")));
            return Ok(Some(self.under(inputs, |fmu| match &fmu.linearization.unknowns {
                Some(unknowns) => unknowns.directional(&fmu.stepper.base),
                None => Err(fmu.not_offered("directional derivatives")),
            })?));
        }
        let complaint = self.linearization.trust.complaint();
        let found = self.with_trials(|trials, fmu, window| trials.model(fmu, window, inputs))?;
        self.note_model(match &found {
            Ok(_) => ModelSource::Found(format!("trial steps from saved states{complaint}")),
            Err(why) => ModelSource::Missing(format!(
                "offers no derivatives that could be used{complaint} and cannot be tried by roll-back ({why})"
            )),
        });
        Ok(found.ok())
    }

    /// Finds out, the first time, whether directional derivatives hold.
    fn settle_trust(&mut self, inputs: &[f64]) -> koppel::Result<()> {
        if self.linearization.trust != Trust::Unknown {
            return Ok(());
        }
        self.leave_initialization(inputs)?;
        let mut judged = self.under(inputs, |fmu| fmu.judge_by_inputs(inputs))?;
        if judged.is_ok() {
            match self.with_window(|fmu, window| fmu.judge_by_states(window, inputs))? {
                Ok(by_states) => judged = by_states,
                Err(why) => self.linearization.unchecked = Some(why),
            }
        }
        self.linearization.trust = judged.map_or_else(Trust::Failed, |()| Trust::Held);
        self.capabilities.needs_trials = self.linearization.needs_trials();
        Ok(())
    }

    fn leave_initialization(&mut self, inputs: &[f64]) -> Result<()> {
        if self.phase != Phase::Initializing {
            return Ok(());
        }
        self.stepper.feed.next.copy_from_slice(inputs);
        self.stepper.begin_step(self.stepper.time, 0.0)
    }

    /// D by directional derivatives, if they have stood their test. While loops are solved at the start nothing is asked:
    /// initialization goes on.
    pub(super) fn given_feed_through(&mut self, inputs: &[f64]) -> koppel::Result<Option<Matrix>> {
        if self.phase == Phase::Initializing {
            return Ok(None);
        }
        self.settle_trust(inputs)?;
        if self.linearization.trust != Trust::Held {
            return Ok(None);
        }
        Ok(self.under(inputs, |fmu| match &fmu.linearization.unknowns {
            Some(unknowns) => Ok(Some(unknowns.directional(&fmu.stepper.base)?.d)),
            None => Ok(None),
        })?)
    }

    /// Writes how fast outputs change; false if nobody can tell.
    pub(super) fn output_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        if self.linearization.trust != Trust::Held {
            return Ok(self
                .with_trials(|trials, fmu, window| trials.rates(fmu, window, inputs, rates))?
                .is_ok());
        }
        self.leave_initialization(inputs)?;
        self.under(inputs, |fmu| {
            let CoSimulation { stepper: Stepper { base, .. }, linearization } = fmu;
            let Linearization { unknowns: Some(unknowns), workspace, .. } = linearization else {
                return Ok(());
            };
            let Workspace { derivatives, change, .. } = workspace;
            derivatives.resize(unknowns.states(), 0.0);
            base.called(base.backend.get_reals(unknowns.derivatives(), derivatives))?;
            unknowns.rates(base, derivatives, change, rates)
        })?;
        Ok(true)
    }

    /// Writes how fast the states of its model change; false if they are not its own.
    pub(super) fn rates_of_states(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        if self.linearization.trust != Trust::Held {
            return Ok(false);
        }
        let fits = self.linearization.unknowns.as_ref().is_some_and(|u| u.states() == rates.len());
        if fits {
            self.leave_initialization(inputs)?;
            self.under(inputs, |fmu| match &fmu.linearization.unknowns {
                Some(unknowns) => {
                    fmu.stepper.base.called(fmu.stepper.base.backend.get_reals(unknowns.derivatives(), rates))
                }
                None => Ok(()),
            })?;
        }
        Ok(fits)
    }

    /// Trials within the next communication step.
    fn with_trials<T>(
        &mut self,
        ask: impl FnOnce(&mut RollBack, &mut CoSimulation, Window) -> koppel::Result<Result<T, String>>,
    ) -> koppel::Result<Result<T, String>> {
        self.with_window(|fmu, window| {
            let mut trials = std::mem::take(&mut fmu.linearization.trials);
            let answer = ask(&mut trials, fmu, window);
            fmu.linearization.trials = trials;
            answer
        })
    }

    /// Tries something within the next communication step, taken to be as long as the last.
    fn with_window<T>(
        &mut self,
        ask: impl FnOnce(&mut CoSimulation, Window) -> koppel::Result<Result<T, String>>,
    ) -> koppel::Result<Result<T, String>> {
        if !self.stepper.base.states.is_able() {
            let lack = self.options.without.states.as_deref();
            return Ok(Err(format!("it {}", lack.unwrap_or("does not declare canGetAndSetFMUState"))));
        }
        let Some(size) = self.stepper.only_size.or(self.stepper.last_size).or(self.options.step) else {
            return Ok(Err("its communication step is not known before the first".into()));
        };
        let window = Window { start: self.stepper.time, size, is_divisible: self.stepper.varies_steps };
        // The moves of the trials are no part of the run.
        let (time, last_size, only_size) =
            (self.stepper.time, self.stepper.last_size, self.stepper.only_size);
        let answer = ask(self, window);
        (self.stepper.time, self.stepper.last_size, self.stepper.only_size) = (time, last_size, only_size);
        answer
    }

    /// Does something under these inputs, those that are not continuous excepted, and puts back what the FMU had.
    fn under<T>(&mut self, inputs: &[f64], ask: impl FnOnce(&mut CoSimulation) -> Result<T>) -> Result<T> {
        let mut before = std::mem::take(&mut self.linearization.workspace.inputs);
        before.resize(inputs.len(), 0.0);
        let base = &mut self.stepper.base;
        let read = base.inputs.read(&base.binding.backend, &mut base.scratch, &mut before);
        self.accessed(read, &self.slots.inputs)?;
        let answer = self.write_smooth(inputs).and_then(|()| ask(self));
        let back = self.write_smooth(&before);
        self.linearization.workspace.inputs = before;
        let answer = answer?;
        back.map(|()| answer)
    }

    pub(super) fn write_smooth(&mut self, inputs: &[f64]) -> Result<()> {
        let Stepper { base, feed, .. } = &mut self.stepper;
        let written = feed.smooth.write(&base.binding.backend, &mut base.scratch, inputs);
        self.accessed(written, &self.slots.inputs)
    }
}
