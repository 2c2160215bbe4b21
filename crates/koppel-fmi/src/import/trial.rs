//! What probes ask of an instance beyond the subsystem it is.

use super::CoSimulation;
use super::base::Base;
use super::model_exchange::ModelExchange;
use super::ports::Slot;
use crate::error::Result;

impl Base {
    /// Present value of a scalar variable, by its place in the description.
    pub(crate) fn value_of(&self, variable: usize) -> Result<f64> {
        self.read_one(Slot { variable, element: 0 })
    }

    /// The variable behind an input.
    pub(crate) fn input_variable(&self, input: usize) -> usize {
        self.slots.inputs[input].variable
    }

    /// Change of the unknowns for a change `seed` of the knowns.
    pub(crate) fn directional(
        &self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        change: &mut [f64],
    ) -> Result<()> {
        self.called(self.backend.directional_derivative(unknowns, knowns, seed, change))
    }

    /// Change of the knowns for weights `seed` on the unknowns; FMI 3.0 only.
    pub(crate) fn adjoint(
        &self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        change: &mut [f64],
    ) -> Result<()> {
        self.called(self.backend.adjoint_derivative(unknowns, knowns, seed, change))
    }
}

impl CoSimulation {
    /// How often the FMU has asked for inputs inside steps.
    pub(crate) fn asked(&self) -> u64 {
        self.asked
    }
}

impl ModelExchange {
    /// Its states in the FMU's units.
    pub(crate) fn plain_states(&self) -> Vec<f64> {
        self.x.iter().zip(&self.scales).map(|(x, scale)| x * scale).collect()
    }

    /// Sets states for a look at what depends on them; to be set back before the next step.
    pub(crate) fn try_states(&self, plain: &[f64]) -> Result<()> {
        self.base.called(self.base.backend.set_states(plain))
    }
}
