//! Steps of co-simulation, and what the FMU asks inside them.

use super::{Context, Instance, Moment, StepInfo, Update};
use crate::ffi::twins::{call, function};
use crate::ffi::{CallError, Interruption, OK, trace};
use std::ffi::{c_int, c_void};

/// The callback of the running step, and what went wrong in it.
pub(super) struct Running {
    instance: *const Instance,
    update: *mut Update<'static>,
    failure: Option<CallError>,
}

impl Instance {
    /// `fmi3DoStep`; states saved before may be restored later. `update` answers the FMU's questions inside the step.
    pub fn do_step(&self, time: f64, size: f64, update: &mut Update<'_>) -> Result<StepInfo, CallError> {
        let step = function!(self, do_step, "fmi3DoStep");
        let update: *mut Update<'_> = update;
        // SAFETY: only the lifetime changes; the pointer is taken back before this function returns.
        let update = unsafe { std::mem::transmute::<*mut Update<'_>, *mut Update<'static>>(update) };
        let mut running = Running { instance: self, update, failure: None };
        let context = self.context.as_ptr();
        // SAFETY: the context lives as long as the instance, and only this thread uses it.
        unsafe { (*context).running.set(&raw mut running) };
        let (mut event, mut terminate, mut early, mut reached) = (0_u8, 0_u8, 0_u8, time + size);
        let mut run = || {
            call!(
                self,
                "fmi3DoStep",
                step,
                time,
                size,
                false,
                &mut event,
                &mut terminate,
                &mut early,
                &mut reached
            )
        };
        let done = run();
        // SAFETY: as above.
        unsafe { (*context).running.set(std::ptr::null_mut()) };
        if let Some(failure) = running.failure {
            return Err(failure);
        }
        done?;
        Ok(StepInfo {
            event_needed: event != 0,
            terminate_simulation: terminate != 0,
            early_return: early != 0,
            last_successful_time: reached,
        })
    }

    /// Sets reals, steps and gets reals, with nothing between the calls and no answer to questions inside the step.
    #[inline]
    pub(crate) fn plain_step(
        &self,
        time: f64,
        size: f64,
        (inputs, values): (&[u32], &[f64]),
        (outputs, results): (&[u32], &mut [f64]),
    ) -> Result<(), Box<Interruption>> {
        assert!(inputs.len() == values.len(), "one value per reference");
        assert!(outputs.len() == results.len(), "one value per reference");
        let (Some(step), false) = (self.functions.do_step, self.is_dead.get()) else {
            return Err(Interruption::of(CallError::Dead { call: "fmi3DoStep" }));
        };
        self.log.set_time(time);
        let (pointer, calls) = (self.pointer.as_ptr(), trace::Place::now());
        let failed = |call, code: c_int| Err(Interruption::of(self.failed(call, code.into())));
        if !inputs.is_empty() {
            let (set, count) = (self.functions.set_float64, inputs.len());
            calls.enter(const { trace::number("fmi3SetFloat64") });
            // SAFETY: the instance is alive, and the buffers have the lengths given.
            let code = unsafe { set(pointer, inputs.as_ptr(), count, values.as_ptr(), count) };
            if !OK.contains(&code) {
                return failed("fmi3SetFloat64", code);
            }
        }
        let (mut event, mut terminate, mut early, mut reached) = (0_u8, 0_u8, 0_u8, time + size);
        calls.enter(const { trace::number("fmi3DoStep") });
        // SAFETY: the instance is alive, and the places to write to are those of the standard.
        let code =
            unsafe { step(pointer, time, size, false, &mut event, &mut terminate, &mut early, &mut reached) };
        if !OK.contains(&code) {
            return failed("fmi3DoStep", code);
        }
        if terminate | early != 0 {
            let info = StepInfo {
                event_needed: event != 0,
                terminate_simulation: terminate != 0,
                early_return: early != 0,
                last_successful_time: reached,
            };
            return Err(Box::new(Interruption::Stopped(info)));
        }
        if outputs.is_empty() {
            return Ok(());
        }
        let (get, count) = (self.functions.get_float64, outputs.len());
        calls.enter(const { trace::number("fmi3GetFloat64") });
        // SAFETY: the instance is alive, and the buffers have the lengths given.
        let code = unsafe { get(pointer, outputs.as_ptr(), count, results.as_mut_ptr(), count) };
        if OK.contains(&code) { Ok(()) } else { failed("fmi3GetFloat64", code) }
    }
}

/// Called by the FMU inside a step.
///
/// # Safety
///
/// `environment` is the context of an instance, and the calling thread is inside `fmi3DoStep` of that instance.
pub(super) unsafe extern "C" fn intermediate_update(
    environment: *mut c_void,
    time: f64,
    set_requested: bool,
    get_allowed: bool,
    step_finished: bool,
    _can_return_early: bool,
    early_return_requested: *mut bool,
    _early_return_time: *mut f64,
) {
    // SAFETY: promised by the caller: the context is alive, and what runs was put there by `do_step`, further up this
    // thread's stack; nothing else uses it meanwhile.
    unsafe {
        if let Some(flag) = early_return_requested.as_mut() {
            *flag = false;
        }
        let Some(context) = environment.cast::<Context>().as_ref() else { return };
        let Some(running) = context.running.get().as_mut() else { return };
        if running.failure.is_none() {
            let moment = Moment { time, set_requested, get_allowed, step_finished };
            running.failure = (*running.update)(&*running.instance, moment).err();
            trace::enter(const { trace::number("fmi3DoStep") });
        }
    }
}
