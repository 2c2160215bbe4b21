//! Model exchange in FMI 3.0.

use super::{Functions, Instance, Instantiation, log_message};
use crate::ffi::twins::{call, function};
use crate::ffi::{CallError, CompletedStep, EventInfo};
use std::sync::Arc;

/// A flag the FMU writes: any byte, to be read as C does.
#[derive(Default)]
struct Flag(u8);

impl Flag {
    fn pointer(&mut self) -> *mut bool {
        (&raw mut self.0).cast()
    }

    fn is_set(&self) -> bool {
        self.0 != 0
    }
}

impl Instance {
    /// `fmi3InstantiateModelExchange`.
    pub(super) fn exchange(
        functions: &Arc<Functions>,
        with: &Instantiation<'_>,
    ) -> Result<Instance, CallError> {
        const CALL: &str = "fmi3InstantiateModelExchange";
        let instantiate = functions.instantiate_model_exchange.ok_or(CallError::Missing { call: CALL })?;
        let [name, token, resources] = with.texts(CALL)?;
        let context = Instance::context(with);
        crate::ffi::trace::announce(0, with.log.instance());
        crate::ffi::trace::enter(const { crate::ffi::trace::number(CALL) }, 0);
        // SAFETY: the context is alive until the instance is dropped; texts live during the call.
        let pointer = unsafe {
            instantiate(
                name.as_ptr(),
                token.as_ptr(),
                resources.as_ptr(),
                false,
                with.debug_logging,
                context.as_ptr().cast(),
                log_message,
            )
        };
        Instance::made(CALL, functions, &with.log, pointer, context)
    }

    /// `fmi3UpdateDiscreteStates`.
    pub fn update_discrete_states(&self) -> Result<EventInfo, CallError> {
        let update = function!(self, update_discrete_states, "fmi3UpdateDiscreteStates");
        let mut flags: [Flag; 5] = std::array::from_fn(|_| Flag::default());
        let mut next = 0.0;
        let [needs, terminate, nominals, values, has_next] = &mut flags;
        call!(
            self,
            "fmi3UpdateDiscreteStates",
            update,
            needs.pointer(),
            terminate.pointer(),
            nominals.pointer(),
            values.pointer(),
            has_next.pointer(),
            &mut next
        )?;
        Ok(EventInfo {
            needs_update: flags[0].is_set(),
            terminate: flags[1].is_set(),
            nominals_changed: flags[2].is_set(),
            values_changed: flags[3].is_set(),
            next_event: flags[4].is_set().then_some(next),
        })
    }

    /// `fmi3CompletedIntegratorStep`.
    pub fn completed_integrator_step(&self, never_back: bool) -> Result<CompletedStep, CallError> {
        let complete = function!(self, completed_integrator_step, "fmi3CompletedIntegratorStep");
        let (mut event, mut terminate) = (Flag::default(), Flag::default());
        let (to_event, to_end) = (event.pointer(), terminate.pointer());
        call!(self, "fmi3CompletedIntegratorStep", complete, never_back, to_event, to_end)?;
        Ok(CompletedStep { enter_event_mode: event.is_set(), terminate: terminate.is_set() })
    }
}
