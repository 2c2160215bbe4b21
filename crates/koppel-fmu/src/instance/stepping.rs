//! Co-simulation: inputs that move inside a step, and the step itself.

use super::{Instance, Phase};
use crate::body::Ended;
use crate::error::{Error, Result};
use crate::interface::Role;
use crate::polynomial::{Polynomial, TERMS};

/// What the importer says of states it has saved before a step (`noSetFMUStatePriorToCurrentPoint`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Past {
    /// They may still be set.
    Open,
    /// They will not be set any more.
    Over,
}

impl Instance {
    /// Derivative of an input over the step to come.
    pub(crate) fn set_input_derivative(&mut self, reference: u32, order: i32, value: f64) -> Result<()> {
        let variable = self.variable(reference)?;
        let Role::Input(index) = variable.role else {
            return Err(Error::misuse(format!("`{}` is no input", variable.name)));
        };
        match usize::try_from(order) {
            Ok(order) if (1..TERMS).contains(&order) && value.is_finite() => {
                self.inputs[index].set_derivative(order, value);
                Ok(())
            }
            _ => Err(Error::misuse(format!(
                "derivative of order {order} of `{}`: orders 1 to {} and finite values are taken, not {value}",
                variable.name,
                TERMS - 1
            ))),
        }
    }

    /// True if the variable is an input.
    pub(crate) fn is_input(&self, reference: u32) -> bool {
        self.variable(reference).is_ok_and(|variable| matches!(variable.role, Role::Input(_)))
    }

    /// Notes the inputs as the importer gives them at point `k` of the step to come.
    pub(crate) fn note_node(&mut self, k: usize) {
        for (node, input) in self.nodes.iter_mut().zip(&self.inputs) {
            node[k] = input.now();
        }
    }

    /// Takes the inputs noted as those of the step to come.
    pub(crate) fn take_nodes(&mut self, size: f64) {
        for (node, input) in self.nodes.iter().zip(&mut self.inputs) {
            *input = Polynomial::through(*node, size);
        }
    }

    pub(crate) fn check_step(&self, call: &str, time: f64, size: f64) -> Result<()> {
        self.expect(call, &[Phase::Stepping])?;
        if !(size.is_finite() && size > 0.0 && time.is_finite()) {
            return Err(Error::misuse(format!("a step from {time} s over {size} s cannot be taken")));
        }
        let round_off = 1e-6 * size + 1e3 * f64::EPSILON * time.abs();
        if (time - self.time).abs() > round_off {
            let own = self.time;
            return Err(Error::misuse(format!(
                "the step begins at {time} s, but this FMU stands at {own} s"
            )));
        }
        Ok(())
    }

    /// Moves over a step; afterwards inputs keep the values they ended with. What runs inside may end the simulation on the way, and
    /// says so.
    pub(crate) fn step(&mut self, call: &str, time: f64, size: f64, past: Past) -> Result<Option<String>> {
        self.check_step(call, time, size)?;
        if past == Past::Over {
            self.forget_past();
        }
        self.forget_dropped();
        let ended = match self.settle().and_then(|()| self.body.step(time, size, &self.inputs)) {
            Ok(ended) => ended,
            Err(error) => {
                self.phase = Phase::Failed;
                return Err(error);
            }
        };
        let done = ended.as_ref().map_or(size, |Ended { done, .. }| *done);
        self.time = time + done;
        for input in &mut self.inputs {
            *input = Polynomial::constant(input.value(done));
        }
        Ok(ended.map(|ended| {
            self.phase = Phase::Ended;
            ended.text
        }))
    }

    /// True if what runs inside has asked to end the simulation.
    pub(crate) fn is_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// The time it has reached.
    pub(crate) fn reached(&self) -> f64 {
        self.time
    }
}
