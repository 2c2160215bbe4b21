//! Configuration mode, event mode and clocks.

use super::Instance;
use crate::ffi::CallError;
use crate::ffi::twins::{call, function, simple};

/// What an FMU says about the interval of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalQualifier {
    /// There is none yet.
    NotYetKnown,
    /// It is the one told before.
    Unchanged,
    /// It is new.
    Changed,
}

impl IntervalQualifier {
    fn from_code(code: std::ffi::c_int) -> IntervalQualifier {
        match code {
            1 => IntervalQualifier::Unchanged,
            2 => IntervalQualifier::Changed,
            _ => IntervalQualifier::NotYetKnown,
        }
    }
}

impl Instance {
    simple! {
        enter_configuration_mode "fmi3EnterConfigurationMode";
        exit_configuration_mode "fmi3ExitConfigurationMode";
        enter_step_mode "fmi3EnterStepMode";
        evaluate_discrete_states "fmi3EvaluateDiscreteStates";
    }

    /// `fmi3GetClock`: 1 where the clock is active.
    pub fn get_clock(&self, references: &[u32], active: &mut [u8]) -> Result<(), CallError> {
        assert_eq!(references.len(), active.len(), "one value per reference");
        let get = function!(self, get_clock, "fmi3GetClock");
        call!(self, "fmi3GetClock", get, references.as_ptr(), references.len(), active.as_mut_ptr())
    }

    /// `fmi3SetClock`: 1 activates the clock.
    pub fn set_clock(&self, references: &[u32], active: &[u8]) -> Result<(), CallError> {
        assert_eq!(references.len(), active.len(), "one value per reference");
        let set = function!(self, set_clock, "fmi3SetClock");
        call!(self, "fmi3SetClock", set, references.as_ptr(), references.len(), active.as_ptr())
    }

    /// `fmi3GetIntervalDecimal` of one clock, in seconds.
    pub fn interval_decimal(&self, reference: u32) -> Result<(f64, IntervalQualifier), CallError> {
        let get = function!(self, get_interval_decimal, "fmi3GetIntervalDecimal");
        let (mut interval, mut code) = (0.0, 0);
        call!(self, "fmi3GetIntervalDecimal", get, &reference, 1, &mut interval, &mut code)?;
        Ok((interval, IntervalQualifier::from_code(code)))
    }

    /// `fmi3GetIntervalFraction` of one clock: counter and resolution, whose quotient are seconds.
    pub fn interval_fraction(&self, reference: u32) -> Result<(u64, u64, IntervalQualifier), CallError> {
        let get = function!(self, get_interval_fraction, "fmi3GetIntervalFraction");
        let (mut counter, mut resolution, mut code) = (0, 1, 0);
        call!(self, "fmi3GetIntervalFraction", get, &reference, 1, &mut counter, &mut resolution, &mut code)?;
        Ok((counter, resolution, IntervalQualifier::from_code(code)))
    }

    /// `fmi3GetShiftDecimal` of one clock, in seconds.
    pub fn shift_decimal(&self, reference: u32) -> Result<f64, CallError> {
        let get = function!(self, get_shift_decimal, "fmi3GetShiftDecimal");
        let mut shift = 0.0;
        call!(self, "fmi3GetShiftDecimal", get, &reference, 1, &mut shift)?;
        Ok(shift)
    }
}
