//! Single variables by port.

use super::access::{Access, LARGEST, Scratch};
use super::base::Base;
use super::ports::Slot;
use super::{Phase, Value};
use crate::description::{Initial, ValueType, Variability};
use crate::error::{Error, Result};
use koppel::system::{VariableId, VariableKind};

impl Base {
    fn write_one(&self, slot: Slot, value: f64) -> Result<()> {
        let variable = &self.description().variables[slot.variable];
        let elements = self.description().elements(variable) as usize;
        let all: Vec<Slot> = (0..elements).map(|element| Slot { element, ..slot }).collect();
        let access = Access::new(self.description(), &all);
        let mut values = vec![0.0; elements];
        if variable.is_array() {
            // The others keep their values.
            let read = access.read(&self.backend, &mut Scratch::default(), &mut values);
            self.accessed(read, &all)?;
        }
        values[slot.element] = value;
        self.accessed(access.write(&self.backend, &mut Scratch::default(), &values), &all)
    }

    pub(super) fn read_one(&self, slot: Slot) -> Result<f64> {
        let variable = &self.description().variables[slot.variable];
        if variable.value_type == ValueType::Float64 && !variable.is_array() {
            let mut value = [0.0];
            self.called(self.backend.get_reals(&[variable.value_reference], &mut value))?;
            return Ok(value[0]);
        }
        let elements = self.description().elements(variable) as usize;
        let all: Vec<Slot> = (0..elements).map(|element| Slot { element, ..slot }).collect();
        let mut values = vec![0.0; elements];
        let access = Access::new(self.description(), &all).rounding();
        let mut scratch = Scratch::default();
        self.accessed(access.read(&self.backend, &mut scratch, &mut values), &all)?;
        let value = values[slot.element];
        // Others in an array may have more digits than are exact, this one may not.
        if scratch.rounded.is_some() && value.abs() >= LARGEST {
            let (instance, name) = (self.name.clone(), variable.name.clone());
            return Err(Error::NotExact { instance, name, value: value.to_string() }.into());
        }
        Ok(value)
    }

    pub(super) fn slot(&self, variable: VariableId) -> Slot {
        match variable.kind {
            VariableKind::Input => self.slots.inputs[variable.index],
            VariableKind::Output => self.slots.outputs[variable.index],
            VariableKind::Parameter => self.slots.parameters[variable.index],
            VariableKind::Local => self.slots.locals[variable.index],
        }
    }

    /// Changes a parameter, or a start value before the first step.
    pub(super) fn change(&mut self, variable: VariableId, value: f64) -> Result<()> {
        let slot = self.slot(variable);
        let (is_tunable, is_start) = {
            let v = &self.description().variables[slot.variable];
            let is_start = matches!(v.initial, Some(Initial::Exact | Initial::Approx));
            (v.variability == Variability::Tunable, is_start)
        };
        let name = self.ports.variable(variable).name.clone();
        let is_allowed = match (variable.kind, self.phase) {
            (VariableKind::Parameter, Phase::Stepping | Phase::Over | Phase::Failed) => is_tunable,
            (VariableKind::Parameter, _) => true,
            (VariableKind::Local, Phase::Initializing | Phase::Instantiated) => is_start,
            _ => false,
        };
        if !is_allowed {
            let reason = match variable.kind {
                VariableKind::Parameter => "it cannot change during the simulation",
                VariableKind::Local => "only start values are set, before the first step",
                VariableKind::Input | VariableKind::Output => {
                    "only parameters can be set; inputs are connected"
                }
            };
            return Err(
                Error::NotSettable { instance: self.name.clone(), name, reason: reason.into() }.into()
            );
        }
        self.write_one(slot, value)?;
        self.options.start_values.retain(|(known, _)| *known != name);
        if variable.kind == VariableKind::Parameter {
            self.options.start_values.push((name, Value::Number(value)));
        }
        Ok(())
    }
}
