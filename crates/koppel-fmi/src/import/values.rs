//! Start values, and single variables by name or port.

use super::access::Access;
use super::base::Base;
use super::ports::Slot;
use super::{Phase, Value};
use crate::description::{Causality, Initial, ValueType, Variability};
use crate::error::{Error, Result};
use koppel::system::{VariableId, VariableKind};

impl Base {
    /// Start values must name variables that can be set before the start, and have their type.
    pub(super) fn check_start_values(&self) -> Result<()> {
        for (name, value) in &self.options.start_values {
            let place = self.find(name)?;
            let variable = &self.description().variables[place];
            let refuse = |reason: &str| {
                let (instance, name) = (self.name.clone(), name.clone());
                Err(Box::new(Error::NotSettable { instance, name, reason: reason.into() }))
            };
            let is_start = matches!(variable.initial, Some(Initial::Exact | Initial::Approx));
            if variable.variability == Variability::Constant
                || !(is_start || variable.causality == Causality::Input)
            {
                return refuse("it is neither a parameter, nor an input, nor does it have a start value");
            }
            if variable.causality == Causality::StructuralParameter || variable.is_array() {
                return refuse("arrays and structural parameters keep their start values");
            }
            let is_text = variable.value_type == ValueType::String;
            if is_text != matches!(value, Value::Text(_)) {
                let (instance, name) = (self.name.clone(), name.clone());
                let (expected, value) = (variable.value_type.name(), format!("{value:?}"));
                return Err(Error::WrongType { instance, name, expected, value }.into());
            }
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.description().find(name).ok_or_else(|| {
            let known: Vec<String> = self.description().variables.iter().map(|v| v.name.clone()).collect();
            let close = koppel::error::closest(name, &known).map(str::to_owned);
            Error::UnknownVariable { instance: self.name.clone(), name: name.into(), close }.into()
        })
    }

    pub(super) fn apply_start_values(&self) -> Result<()> {
        for (name, value) in &self.options.start_values {
            let variable = self.find(name)?;
            match value {
                Value::Number(number) => self.write_one(Slot { variable, element: 0 }, *number)?,
                Value::Text(text) => {
                    let reference = self.description().variables[variable].value_reference;
                    self.called(self.backend.set_string(reference, text))?;
                }
            }
        }
        Ok(())
    }

    fn write_one(&self, slot: Slot, value: f64) -> Result<()> {
        let access = Access::new(self.description(), &[slot]);
        self.accessed(access.write(&self.backend, &mut self.scratch.borrow_mut(), &[value]), &[slot])
    }

    pub(super) fn read_one(&self, slot: Slot) -> Result<f64> {
        let variable = &self.description().variables[slot.variable];
        if variable.value_type == ValueType::Float64 && !variable.is_array() {
            let mut value = [0.0];
            self.called(self.backend.get_real(&[variable.value_reference], &mut value))?;
            return Ok(value[0]);
        }
        let elements = self.description().elements(variable) as usize;
        let all: Vec<Slot> = (0..elements).map(|element| Slot { element, ..slot }).collect();
        let mut values = vec![0.0; elements];
        let access = Access::new(self.description(), &all);
        self.accessed(access.read(&self.backend, &mut self.scratch.borrow_mut(), &mut values), &all)?;
        Ok(values[slot.element])
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
        let (name, is_tunable, is_start, is_array) = {
            let v = &self.description().variables[slot.variable];
            let is_start = matches!(v.initial, Some(Initial::Exact | Initial::Approx));
            (v.name.clone(), v.variability == Variability::Tunable, is_start, v.is_array())
        };
        let is_allowed = match (variable.kind, self.phase) {
            (VariableKind::Parameter, Phase::Stepping | Phase::Failed) => is_tunable,
            (VariableKind::Parameter, _) => true,
            (VariableKind::Local, Phase::Initializing | Phase::Instantiated) => is_start,
            _ => false,
        };
        if !is_allowed || is_array {
            let reason = match variable.kind {
                _ if is_array => "elements of arrays are not set one by one",
                VariableKind::Parameter => "it is fixed once the simulation runs",
                VariableKind::Local => "only start values are set, before the first step",
                VariableKind::Input | VariableKind::Output => "only parameters are set; inputs are wired",
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
