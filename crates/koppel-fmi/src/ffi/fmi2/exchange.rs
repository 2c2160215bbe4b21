//! Model exchange in FMI 2.0.

use super::{Instance, RawEventInfo};
use crate::ffi::twins::{call, function};
use crate::ffi::{CallError, CompletedStep, EventInfo};

impl Instance {
    /// `fmi2NewDiscreteStates`.
    pub fn new_discrete_states(&self) -> Result<EventInfo, CallError> {
        let update = function!(self, new_discrete_states, "fmi2NewDiscreteStates");
        let mut raw = RawEventInfo::default();
        call!(self, "fmi2NewDiscreteStates", update, &mut raw)?;
        Ok(EventInfo {
            needs_update: raw.new_discrete_states_needed != 0,
            terminate: raw.terminate_simulation != 0,
            nominals_changed: raw.nominals_of_continuous_states_changed != 0,
            values_changed: raw.values_of_continuous_states_changed != 0,
            next_event: (raw.next_event_time_defined != 0).then_some(raw.next_event_time),
        })
    }

    /// `fmi2CompletedIntegratorStep`.
    pub fn completed_integrator_step(&self, never_back: bool) -> Result<CompletedStep, CallError> {
        let complete = function!(self, completed_integrator_step, "fmi2CompletedIntegratorStep");
        let (mut event, mut terminate) = (0, 0);
        let never_back = never_back.into();
        call!(self, "fmi2CompletedIntegratorStep", complete, never_back, &mut event, &mut terminate)?;
        Ok(CompletedStep { enter_event_mode: event != 0, terminate: terminate != 0 })
    }
}
