//! Model exchange: states and their derivatives; and derivatives of everything, for both kinds.

use super::{Instance, Phase};
use crate::body::EventEffect;
use crate::error::{Error, Result};
use crate::interface::Role;

impl Instance {
    pub(crate) fn states(&self) -> usize {
        self.body.interface().states.len()
    }

    pub(crate) fn set_time(&mut self, time: f64) {
        self.time = time;
        self.body.set_time(time);
        self.needs_outputs = true;
    }

    /// What happens at an event: states that have changed, and when the next event comes that is known before.
    pub(crate) fn act(&mut self) -> Result<EventEffect> {
        self.settle()?;
        let acted = self.body.act()?;
        self.needs_outputs |= acted.has_changed;
        Ok(acted)
    }

    pub(crate) fn indicators(&self) -> usize {
        self.body.interface().places(|role| matches!(role, Role::Indicator(_))).len()
    }

    pub(crate) fn get_indicators(&mut self, values: &mut [f64]) -> Result<()> {
        let own = self.indicators();
        if values.len() != own {
            return Err(Error::misuse(format!("there are {own} event indicators, not {}", values.len())));
        }
        self.settle()?;
        values.iter_mut().enumerate().try_for_each(|(index, value)| {
            *value = self.body.get(Role::Indicator(index))?;
            Ok(())
        })
    }

    pub(crate) fn set_states(&mut self, states: &[f64]) -> Result<()> {
        self.check_count(states.len())?;
        self.settle()?;
        states.iter().enumerate().try_for_each(|(index, value)| self.body.set_state(index, *value))?;
        self.needs_outputs = true;
        Ok(())
    }

    pub(crate) fn get_states(&mut self, states: &mut [f64]) -> Result<()> {
        self.check_count(states.len())?;
        self.settle()?;
        states.iter_mut().enumerate().try_for_each(|(index, value)| {
            *value = self.body.get(Role::Local(index))?;
            Ok(())
        })
    }

    pub(crate) fn get_derivatives(&mut self, derivatives: &mut [f64]) -> Result<()> {
        self.check_count(derivatives.len())?;
        self.settle()?;
        derivatives.iter_mut().enumerate().try_for_each(|(index, value)| {
            *value = self.body.get(Role::Derivative(index))?;
            Ok(())
        })
    }

    pub(crate) fn get_nominals(&self, nominals: &mut [f64]) -> Result<()> {
        self.check_count(nominals.len())?;
        let interface = self.body.interface();
        for (nominal, place) in nominals.iter_mut().zip(&interface.states) {
            *nominal = interface.variables[*place].nominal.unwrap_or(1.0);
        }
        Ok(())
    }

    fn check_count(&self, given: usize) -> Result<()> {
        let own = self.states();
        if given == own {
            return Ok(());
        }
        Err(Error::misuse(format!("there are {own} continuous states, not {given}")))
    }

    /// The change of the unknowns along a direction of the knowns.
    pub(crate) fn derivative_along(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        change: &mut [f64],
    ) -> Result<()> {
        let jacobian = self.jacobian(unknowns, knowns)?;
        for (row, change) in change.iter_mut().enumerate() {
            let row = &jacobian[row * knowns.len()..][..knowns.len()];
            *change = row.iter().zip(seed).map(|(slope, seed)| slope * seed).sum();
        }
        Ok(())
    }

    /// ∂unknowns/∂knowns, row by row.
    pub(crate) fn jacobian(&mut self, unknowns: &[u32], knowns: &[u32]) -> Result<Vec<f64>> {
        if !self.plan.abilities.derivatives {
            return Err(Error::misuse("this FMU gives no directional derivatives"));
        }
        if matches!(self.phase, Phase::Instantiated | Phase::Terminated | Phase::Failed) {
            self.expect("a directional derivative", &[Phase::Stepping])?;
        }
        self.settle()?;
        let mut rows = Vec::with_capacity(unknowns.len());
        for &reference in unknowns {
            let variable = self.variable(reference)?;
            match variable.role {
                Role::Output(_) | Role::Derivative(_) => rows.push(variable.role),
                _ => return Err(Error::misuse(format!("`{}` is no unknown of derivatives", variable.name))),
            }
        }
        let mut jacobian = vec![0.0; unknowns.len() * knowns.len()];
        for (place, &reference) in knowns.iter().enumerate() {
            let variable = self.variable(reference)?;
            let known = match (variable.role, variable.state) {
                (Role::Input(index), _) => Role::Input(index),
                (_, Some(state)) => Role::Local(state),
                _ => return Err(Error::misuse(format!("`{}` is neither input nor state", variable.name))),
            };
            let column = self.body.column(known)?;
            for (row, unknown) in rows.iter().enumerate() {
                jacobian[row * knowns.len() + place] = match unknown {
                    Role::Output(index) => column.outputs[*index],
                    Role::Derivative(index) => column.derivatives[*index],
                    _ => 0.0,
                };
            }
        }
        Ok(jacobian)
    }
}
