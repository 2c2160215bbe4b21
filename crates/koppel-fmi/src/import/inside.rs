//! What an FMU of FMI 3.0 shows inside a step: outputs at the ends of its own solver's steps.

use super::access::Access;
use super::ports::Slot;
use crate::description::{CoSimulation as Section, Description, FmiVersion, ValueType};
use crate::ffi::{CallError, Instance, Moment};
use koppel::signal::Samples;

/// Outputs that can be read inside a step: references, and where the values go.
pub(super) struct Inside {
    references: Vec<u32>,
    places: Vec<usize>,
}

impl Inside {
    /// If every output takes part in intermediate updates.
    pub(super) fn new(description: &Description, section: &Section, outputs: &[Slot]) -> Option<Inside> {
        let takes_part = |slot: &Slot| {
            let variable = &description.variables[slot.variable];
            variable.intermediate_update && variable.value_type == ValueType::Float64
        };
        let is_offered = description.fmi_version == FmiVersion::Fmi3
            && section.provides_intermediate_update
            && !outputs.is_empty()
            && outputs.iter().all(takes_part);
        let access = Access::new(description, outputs);
        let (references, places) = access.reals().filter(|_| is_offered)?;
        Some(Inside { references: references.into(), places: places.into() })
    }

    pub(super) fn references(&self) -> &[u32] {
        &self.references
    }

    /// Adds the outputs at a moment at which the FMU shows them.
    pub(super) fn take(
        &self,
        fmu: &Instance,
        moment: Moment,
        values: &mut Vec<f64>,
        samples: &mut Samples,
    ) -> Result<(), CallError> {
        let is_later = samples.times().last().is_none_or(|last| moment.time > *last);
        if !(moment.get_allowed && moment.step_finished && is_later) {
            return Ok(());
        }
        values.resize(self.places.len(), 0.0);
        fmu.get_reals(&self.references, values)?;
        let row = samples.push(moment.time);
        self.places.iter().zip(values).for_each(|(place, value)| row[*place] = *value);
        Ok(())
    }
}
