//! Model exchange in FMI 2.0.

use super::{Instance, RawEventInfo};
use crate::ffi::{CallError, CompletedStep, EventInfo};

impl Instance {
    /// `fmi2SetTime`.
    #[inline]
    pub fn set_time(&self, time: f64) -> Result<(), CallError> {
        let set = function!(self, set_time, "fmi2SetTime");
        call!(self, "fmi2SetTime", set, time)
    }

    /// `fmi2SetContinuousStates`.
    #[inline]
    pub fn set_continuous_states(&self, x: &[f64]) -> Result<(), CallError> {
        let set = function!(self, set_continuous_states, "fmi2SetContinuousStates");
        call!(self, "fmi2SetContinuousStates", set, x.as_ptr(), x.len())
    }

    /// `fmi2GetContinuousStates`.
    pub fn get_continuous_states(&self, x: &mut [f64]) -> Result<(), CallError> {
        let get = function!(self, get_continuous_states, "fmi2GetContinuousStates");
        call!(self, "fmi2GetContinuousStates", get, x.as_mut_ptr(), x.len())
    }

    /// `fmi2GetNominalsOfContinuousStates`.
    pub fn get_nominals_of_continuous_states(&self, nominals: &mut [f64]) -> Result<(), CallError> {
        let get = function!(self, get_nominals_of_continuous_states, "fmi2GetNominalsOfContinuousStates");
        call!(self, "fmi2GetNominalsOfContinuousStates", get, nominals.as_mut_ptr(), nominals.len())
    }

    /// `fmi2GetDerivatives`.
    #[inline]
    pub fn get_derivatives(&self, dx: &mut [f64]) -> Result<(), CallError> {
        let get = function!(self, get_derivatives, "fmi2GetDerivatives");
        call!(self, "fmi2GetDerivatives", get, dx.as_mut_ptr(), dx.len())
    }

    /// `fmi2GetEventIndicators`.
    pub fn get_event_indicators(&self, z: &mut [f64]) -> Result<(), CallError> {
        let get = function!(self, get_event_indicators, "fmi2GetEventIndicators");
        call!(self, "fmi2GetEventIndicators", get, z.as_mut_ptr(), z.len())
    }

    /// `fmi2EnterEventMode`.
    pub fn enter_event_mode(&self) -> Result<(), CallError> {
        let enter = function!(self, enter_event_mode, "fmi2EnterEventMode");
        call!(self, "fmi2EnterEventMode", enter)
    }

    /// `fmi2EnterContinuousTimeMode`.
    pub fn enter_continuous_time_mode(&self) -> Result<(), CallError> {
        let enter = function!(self, enter_continuous_time_mode, "fmi2EnterContinuousTimeMode");
        call!(self, "fmi2EnterContinuousTimeMode", enter)
    }

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
