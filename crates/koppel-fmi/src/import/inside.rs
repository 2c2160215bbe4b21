//! What an FMU of FMI 3.0 shows inside a step: outputs at the ends of its own solver's steps.

use super::CoSimulation;
use super::access::{Access, Backend};
use super::ports::Slot;
use super::route::Route;
use super::stepping::choose;
use crate::description::{CoSimulation as Section, Description, FmiVersion, ValueType};
use crate::error::{Error, Result};
use crate::ffi::{CallError, Status, fmi3};
use koppel::signal::{Part, Piece, Request, Samples};

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
    fn take(
        &self,
        fmu: &fmi3::Instance,
        moment: fmi3::Moment,
        values: &mut Vec<f64>,
        samples: &mut Samples,
    ) -> Result<(), CallError> {
        let is_later = samples.times().last().is_none_or(|last| moment.time > *last);
        if !(moment.get_allowed && moment.step_finished && is_later) {
            return Ok(());
        }
        values.resize(self.places.len(), 0.0);
        fmu.get_float64(&self.references, values)?;
        let row = samples.push(moment.time);
        self.places.iter().zip(values).for_each(|(place, value)| row[*place] = *value);
        Ok(())
    }
}

impl CoSimulation {
    /// Moves over a part with samples wherever the FMU shows its outputs.
    pub(super) fn advance_sampling(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        let piece = part.piece;
        let is_plain = piece.terms == 1 || self.varies_steps && part.is_constant(self.next.len());
        let parts =
            if is_plain || self.route == Route::Intermediate { 1 } else { self.options.substeps.max(1) };
        for k in 0..parts {
            let sub = part.divided(k, parts);
            if is_plain || self.route == Route::Intermediate {
                piece.values(sub.offset, &mut self.next);
            } else {
                sub.mean(&mut self.next);
            }
            self.set_inputs()?;
            let asked = (!is_plain && self.route == Route::Intermediate).then_some(piece);
            if asked.is_some() {
                self.knows_inputs = false;
            }
            let (time, end) = (piece.start + sub.offset, piece.start + sub.offset + sub.size);
            let info = self.do_step_for_info(time, sub.size, asked, samples)?;
            if info.early_return && info.last_successful_time < end - 1e-9 * sub.size {
                let (instance, reached) = (self.base.name.clone(), info.last_successful_time);
                let messages = self.backend.said();
                return Err(Error::EndedEarly { instance, reached, end, messages }.into());
            }
        }
        // The end belongs to the caller, who sets the inputs first where outputs follow them at once.
        samples.forget_after(piece.start + part.offset + part.size - 1e-9 * part.size);
        Ok(())
    }

    /// One step of FMI 3.0: the FMU may ask for inputs and show outputs on the way, and may end early.
    pub(super) fn do_step_for_info(
        &mut self,
        time: f64,
        size: f64,
        piece: Option<Piece<'_>>,
        samples: &mut Samples,
    ) -> Result<fmi3::StepInfo> {
        self.check_size(time, size)?;
        self.capabilities.step_calls += 1;
        self.base.backend.set_log_time(time);
        let step = self.step_call(time, size);
        let Backend::Three(fmu) = &self.base.backend else {
            unreachable!("only FMUs of FMI 3.0 have events and intermediate updates");
        };
        let inside = self.inside.as_ref().filter(|_| samples.request() == Request::SolverPoints);
        let (smooth, next, chosen) = (&self.smooth, &mut self.next, &mut self.chosen);
        let (asked, taken) = (&mut self.asked, &mut self.taken);
        let mut update = |fmu: &fmi3::Instance, moment: fmi3::Moment| {
            *asked += u64::from(moment.set_requested);
            if let (Some(piece), Some((references, places))) =
                (piece.filter(|_| moment.set_requested && !taken.is_refused()), smooth.reals())
            {
                piece.values((moment.time - piece.start).clamp(0.0, piece.size), next);
                choose(next, places, chosen);
                taken.note(1, fmu.set_float64(references, chosen))?;
            }
            match inside {
                Some(inside) => inside.take(fmu, moment, chosen, samples),
                None => Ok(()),
            }
        };
        let done = fmu.do_step(step, &mut update);
        self.do_without(time);
        let (instance, end) = (self.base.name.clone(), time + size);
        match done {
            Ok(info) if info.terminate_simulation => Err(self.ended(info.last_successful_time)),
            Ok(info) => Ok(info),
            Err(source @ CallError::Status { status: Status::Discard, .. }) => {
                Err(Error::Discarded { instance, time, end, reached: None, source }.into())
            }
            Err(source) => self.called(Err(source)),
        }
    }
}
