//! Model-exchange calls both versions have.

use crate::ffi::{CallError, CompletedStep, EventInfo};
use crate::import::access::Backend;

/// The same call of either version.
macro_rules! both {
    ($self:ident, $instance:ident => $two:expr, $three:expr) => {
        match $self {
            Backend::Two($instance) => $two,
            Backend::Three($instance) => $three,
        }
    };
    ($self:ident, $instance:ident => $call:expr) => {
        both!($self, $instance => $call, $call)
    };
}

impl Backend {
    #[inline]
    pub(super) fn set_time(&self, time: f64) -> Result<(), CallError> {
        both!(self, i => i.set_time(time))
    }

    /// Without states there is nothing to be said, and some FMUs then leave the functions out.
    #[inline]
    pub(in crate::import) fn set_states(&self, x: &[f64]) -> Result<(), CallError> {
        if x.is_empty() {
            return Ok(());
        }
        both!(self, i => i.set_continuous_states(x))
    }

    pub(super) fn get_states(&self, x: &mut [f64]) -> Result<(), CallError> {
        if x.is_empty() {
            return Ok(());
        }
        both!(self, i => i.get_continuous_states(x))
    }

    pub(super) fn get_nominals(&self, nominals: &mut [f64]) -> Result<(), CallError> {
        if nominals.is_empty() {
            return Ok(());
        }
        both!(self, i => i.get_nominals_of_continuous_states(nominals))
    }

    #[inline]
    pub(super) fn get_derivatives(&self, dx: &mut [f64]) -> Result<(), CallError> {
        if dx.is_empty() {
            return Ok(());
        }
        both!(self, i => i.get_derivatives(dx))
    }

    #[inline]
    pub(super) fn get_indicators(&self, z: &mut [f64]) -> Result<(), CallError> {
        if z.is_empty() {
            return Ok(());
        }
        both!(self, i => i.get_event_indicators(z))
    }

    pub(super) fn enter_event_mode(&self) -> Result<(), CallError> {
        both!(self, i => i.enter_event_mode())
    }

    pub(super) fn enter_continuous_time_mode(&self) -> Result<(), CallError> {
        both!(self, i => i.enter_continuous_time_mode())
    }

    pub(super) fn update_discrete_states(&self) -> Result<EventInfo, CallError> {
        both!(self, i => i.new_discrete_states(), i.update_discrete_states())
    }

    pub(super) fn completed_step(&self, never_back: bool) -> Result<CompletedStep, CallError> {
        both!(self, i => i.completed_integrator_step(never_back))
    }

    pub(in crate::import) fn directional_derivative(
        &self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        change: &mut [f64],
    ) -> Result<(), CallError> {
        both!(self, i => i.directional_derivative(unknowns, knowns, seed, change))
    }
}
