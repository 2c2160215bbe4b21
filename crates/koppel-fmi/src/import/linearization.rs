//! The linear model of a co-simulation FMU where it stands, best first:
//!
//! 1. directional derivatives of its outputs and of the state derivatives its description lists, if those with respect to
//!    inputs agree with differences (states cannot be moved);
//! 2. trial steps from a saved state under moved inputs ([`RollBack`]), if it can save its state and repeats a step from
//!    it; the states of that model are the outputs.
//!
//! An FMU with neither has no model, and says why. Afterwards its inputs, and its state, are what they were.

use super::CoSimulation;
use super::matrices::{Difference, NEARER, Trust, Unknowns, disagreement, distance, lasting_disagreement};
use crate::error::Result;
use koppel::identify::{RollBack, Window};
use koppel::linalg::Matrix;
use koppel::system::StateSpace;

/// Where the models of an instance come from.
pub(super) struct Linearization {
    unknowns: Option<Unknowns>,
    trust: Trust,
    trials: RollBack,
    /// In words, once a model was asked for.
    source: Option<Result<String, String>>,
}

impl Linearization {
    pub(super) fn new(unknowns: Option<Unknowns>, is_offered: bool) -> Linearization {
        let unknowns = unknowns.filter(|unknowns| unknowns.states() > 0);
        let trust = Trust::new(is_offered && unknowns.is_some());
        Linearization { unknowns, trust, trials: RollBack::default(), source: None }
    }

    /// Words for the summary.
    pub(super) fn source(&self) -> String {
        match &self.source {
            Some(Ok(source)) => format!("; linear model by {source}"),
            _ => String::new(),
        }
    }

    /// Why there is no model.
    pub(super) fn lack(&self) -> Option<String> {
        self.source.clone()?.err()
    }
}

impl CoSimulation {
    pub(super) fn matrices(&mut self, inputs: &[f64]) -> koppel::Result<Option<StateSpace>> {
        if self.has_derivatives(inputs)? {
            self.linearization.source = Some(Ok("directional derivatives".into()));
            return Ok(Some(self.under(inputs, |fmu| match &fmu.linearization.unknowns {
                Some(unknowns) => unknowns.directional(&fmu.base),
                None => Err(fmu.not_offered("directional derivatives")),
            })?));
        }
        let complaint = self.linearization.trust.complaint();
        let found = self.with_trials(|trials, fmu, window| trials.model(fmu, window, inputs))?;
        self.linearization.source = Some(match &found {
            Ok(_) => Ok(format!("trial steps from saved states{complaint}")),
            Err(why) => Err(format!(
                "offers no derivatives that could be used{complaint} and cannot be tried by roll-back ({why})"
            )),
        });
        Ok(found.ok())
    }

    /// D by directional derivatives, if they have stood their test.
    pub(super) fn given_feed_through(&mut self, inputs: &[f64]) -> koppel::Result<Option<Matrix>> {
        if !self.has_derivatives(inputs)? {
            return Ok(None);
        }
        Ok(self.under(inputs, |fmu| match &fmu.linearization.unknowns {
            Some(unknowns) => Ok(Some(unknowns.directional(&fmu.base)?.d)),
            None => Ok(None),
        })?)
    }

    /// True if it offers directional derivatives that agree with differences, which are taken once.
    fn has_derivatives(&mut self, inputs: &[f64]) -> Result<bool> {
        if self.linearization.trust == Trust::Unknown {
            let judged = self.under(inputs, |fmu| fmu.judge(inputs))?;
            self.linearization.trust = judged.map_or_else(Trust::Failed, |()| Trust::Held);
        }
        Ok(self.linearization.trust == Trust::Held)
    }

    /// Writes how fast outputs change; false if nobody can tell.
    pub(super) fn output_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        if self.linearization.trust != Trust::Held {
            return Ok(self
                .with_trials(|trials, fmu, window| trials.rates(fmu, window, inputs, rates))?
                .is_ok());
        }
        self.under(inputs, |fmu| {
            let Some(unknowns) = &fmu.linearization.unknowns else { return Ok(()) };
            let dx = fmu.state_derivatives(unknowns)?;
            unknowns.rates(&fmu.base, &dx, rates)
        })?;
        Ok(true)
    }

    /// Trials within the next communication step, taken to be as long as the last.
    fn with_trials<T>(
        &mut self,
        ask: impl FnOnce(&mut RollBack, &mut CoSimulation, Window) -> koppel::Result<Result<T, String>>,
    ) -> koppel::Result<Result<T, String>> {
        if !self.base.states.is_able() {
            return Ok(Err("it does not declare canGetAndSetFMUState".into()));
        }
        let Some(size) = self.only_size.or(self.last_size).or(self.options.step) else {
            return Ok(Err("its communication step is not known before the first".into()));
        };
        let window = Window { start: self.time, size, is_divisible: self.varies_steps };
        // The moves of the trials are no part of the run.
        let (time, last_size, only_size) = (self.time, self.last_size, self.only_size);
        let mut trials = std::mem::take(&mut self.linearization.trials);
        let answer = ask(&mut trials, self, window);
        self.linearization.trials = trials;
        (self.time, self.last_size, self.only_size) = (time, last_size, only_size);
        answer
    }

    /// Does something under these inputs, those that are not continuous excepted, and puts back what the FMU had.
    fn under<T>(&mut self, inputs: &[f64], ask: impl FnOnce(&mut CoSimulation) -> Result<T>) -> Result<T> {
        let mut before = vec![0.0; inputs.len()];
        let read = self.base.inputs.read(&self.base.backend, &mut self.scratch.borrow_mut(), &mut before);
        self.accessed(read, &self.slots.inputs)?;
        let answer = self.write_smooth(inputs).and_then(|()| ask(self));
        let back = self.write_smooth(&before);
        let answer = answer?;
        back.map(|()| answer)
    }

    fn write_smooth(&mut self, inputs: &[f64]) -> Result<()> {
        let written = self.smooth.write(&self.base.backend, &mut self.base.scratch.borrow_mut(), inputs);
        self.accessed(written, &self.slots.inputs)
    }

    fn state_derivatives(&self, unknowns: &Unknowns) -> Result<Vec<f64>> {
        let mut dx = vec![0.0; unknowns.states()];
        self.called(self.backend.get_real(unknowns.derivatives(), &mut dx))?;
        Ok(dx)
    }

    /// Compares B and D with differences over the inputs; the inner result says where they part.
    fn judge(&mut self, inputs: &[f64]) -> Result<Result<(), String>> {
        let Some(unknowns) = &self.linearization.unknowns else { return Ok(Err("none are listed".into())) };
        let given = match unknowns.directional(&self.base) {
            Ok(given) => given,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let (n, p, moved) = (unknowns.states(), self.ports.outputs.len(), unknowns.inputs().to_vec());
        for input in moved {
            let delta = distance(inputs[input], self.ports.inputs[input].nominal);
            let mut at = |value: f64| {
                let mut u = inputs.to_vec();
                u[input] = value;
                self.write_smooth(&u)?;
                self.seen()
            };
            let column = |list: &[f64]| Matrix::from_slice(n + p, 1, list);
            let mut over = |delta: f64| {
                let (up, down) = (inputs[input] + delta, inputs[input] - delta);
                let Difference { slope, noise } = Difference::new(&at(up)?, &at(down)?, up - down);
                Result::<_>::Ok((column(&slope), column(&noise)))
            };
            let told = Matrix::from_fn(n + p, 1, |row, _| {
                if row < n { given.b[(row, input)] } else { given.d[(row - n, input)] }
            });
            let (slope, noise) = over(delta)?;
            if disagreement(&told, &slope, &noise).is_none() {
                continue;
            }
            let (nearer, nearer_noise) = over(delta / NEARER)?;
            if let Some((row, _)) = lasting_disagreement(&told, (&slope, &noise), (&nearer, &nearer_noise)) {
                let (by, told, found) = (&self.ports.inputs[input].name, told[(row, 0)], nearer[(row, 0)]);
                let of = if row < n {
                    format!("derivative {} of the states", row + 1)
                } else {
                    format!("`{}`", self.ports.outputs[row - n].name)
                };
                return Ok(Err(format!(
                    "that of {of} by `{by}` is given as {told:.5e}, differences say {found:.5e}"
                )));
            }
        }
        self.write_smooth(inputs)?;
        Ok(Ok(()))
    }

    /// Derivatives of the states, then outputs; what is not continuous counts as zero.
    fn seen(&self) -> Result<Vec<f64>> {
        let Some(unknowns) = &self.linearization.unknowns else { return Ok(Vec::new()) };
        let mut values = self.state_derivatives(unknowns)?;
        let mut outputs = vec![0.0; self.ports.outputs.len()];
        self.get_outputs(&mut outputs)?;
        let held = self.ports.outputs.iter().map(|output| output.is_held);
        values.extend(outputs.iter().zip(held).map(|(value, held)| if held { 0.0 } else { *value }));
        Ok(values)
    }
}
