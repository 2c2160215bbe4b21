//! An instance of an FMU with its name and its description: calls whose failures name it, and its variables one by one.

use super::access::{Access, AccessError, LARGEST, Scratch};
use super::ports::Slot;
use crate::description::{Description, ValueType};
use crate::error::{Error, Result};
use crate::ffi::{CallError, Instance};
use crate::fmu::Fmu;
use std::sync::Arc;

/// An instance and what its description says of it.
pub struct Binding {
    pub(super) name: String,
    pub(super) backend: Instance,
    /// The description with other sizes of arrays, if they were set.
    pub(super) resized: Option<Box<Description>>,
    pub(super) fmu: Arc<Fmu>,
}

impl Binding {
    pub(crate) fn description(&self) -> &Description {
        self.resized.as_deref().unwrap_or(self.fmu.description())
    }

    #[inline]
    pub(super) fn called<T>(&self, result: Result<T, CallError>) -> Result<T> {
        match result {
            Ok(value) => Ok(value),
            Err(source) => Err(self.failed(source)),
        }
    }

    #[cold]
    pub(super) fn failed(&self, source: CallError) -> Box<Error> {
        Box::new(Error::Call { instance: self.name.clone(), source })
    }

    pub(super) fn write_one(&self, slot: Slot, value: f64) -> Result<()> {
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

    /// Present value of a scalar variable, by its place in the description.
    pub(crate) fn value_of(&self, variable: usize) -> Result<f64> {
        self.read_one(Slot { variable, element: 0 })
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

    /// The FMU wants to end the simulation where it stands now.
    #[cold]
    pub(super) fn ended(&self, time: f64) -> Box<Error> {
        let (instance, messages) = (self.name.clone(), self.backend.log().take());
        Box::new(Error::Terminated { instance, time, has_outputs: false, messages })
    }

    #[cold]
    pub(super) fn not_offered(&self, what: &str) -> Box<Error> {
        Error::NotOffered { instance: self.name.clone(), what: what.into() }.into()
    }

    #[inline]
    pub(super) fn accessed<T>(&self, result: Result<T, AccessError>, slots: &[Slot]) -> Result<T> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => Err(self.explain(error, slots)),
        }
    }

    #[cold]
    pub(super) fn explain(&self, error: AccessError, slots: &[Slot]) -> Box<Error> {
        let name = |place: usize| self.description().variables[slots[place].variable].name.clone();
        let instance = self.name.clone();
        Box::new(match error {
            AccessError::Call(source) => Error::Call { instance, source },
            AccessError::NotExact { place, value } => Error::NotExact { instance, name: name(place), value },
            AccessError::WrongType { place, expected, value } => {
                Error::WrongArrival { instance, name: name(place), expected, value }
            }
        })
    }
}
