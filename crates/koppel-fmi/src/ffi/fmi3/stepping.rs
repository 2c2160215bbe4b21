//! Steps of co-simulation, and what the FMU asks inside them.

use super::{Context, Functions, Instance, InstancePointer, Moment, Reference, StatusCode, StepInfo, Update};
use crate::ffi::twins::{call, function};
use crate::ffi::{CallError, StepCall, plain, trace};
use std::ffi::{c_int, c_void};

/// The callback of the running step, and what went wrong in it.
pub(super) struct Running {
    instance: *const Instance,
    update: *mut Update<'static>,
    failure: Option<CallError>,
}

impl Instance {
    /// `fmi3DoStep`. `update` answers the FMU's questions inside the step.
    pub fn do_step(&self, step: StepCall, update: &mut Update<'_>) -> Result<StepInfo, CallError> {
        let StepCall { time, size, never_back } = step;
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
                never_back,
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
}

/// What plain steps call.
pub(super) struct PlainCalls {
    set: unsafe extern "C" fn(InstancePointer, *const Reference, usize, *const f64, usize) -> StatusCode,
    step: DoStep,
    get: unsafe extern "C" fn(InstancePointer, *const Reference, usize, *mut f64, usize) -> StatusCode,
}

type DoStep =
    unsafe extern "C" fn(InstancePointer, f64, f64, bool, *mut u8, *mut u8, *mut u8, *mut f64) -> StatusCode;

impl PlainCalls {
    pub(super) fn of(functions: &Functions) -> Option<PlainCalls> {
        Some(PlainCalls { set: functions.set_float64, step: functions.do_step?, get: functions.get_float64 })
    }
}

impl plain::PlainCalls for PlainCalls {
    const NAMES: [&'static str; 3] = ["fmi3SetFloat64", "fmi3DoStep", "fmi3GetFloat64"];

    #[inline(always)]
    unsafe fn set(&self, instance: *mut c_void, references: &[u32], values: *const f64) -> c_int {
        let count = references.len();
        // SAFETY: promised by the caller.
        unsafe { (self.set)(instance, references.as_ptr(), count, values, count) }
    }

    #[inline(always)]
    unsafe fn step(&self, instance: *mut c_void, step: StepCall) -> (c_int, Option<StepInfo>) {
        let StepCall { time, size, never_back } = step;
        let (mut event, mut terminate, mut early, mut reached) = (0_u8, 0_u8, 0_u8, time + size);
        // SAFETY: promised by the caller; the places to write to are those of the standard.
        let code = unsafe {
            (self.step)(
                instance,
                time,
                size,
                never_back,
                &mut event,
                &mut terminate,
                &mut early,
                &mut reached,
            )
        };
        let stopped = (terminate | early != 0).then_some(StepInfo {
            event_needed: event != 0,
            terminate_simulation: terminate != 0,
            early_return: early != 0,
            last_successful_time: reached,
        });
        (code, stopped)
    }

    #[inline(always)]
    unsafe fn get(&self, instance: *mut c_void, references: &[u32], values: *mut f64) -> c_int {
        let count = references.len();
        // SAFETY: promised by the caller.
        unsafe { (self.get)(instance, references.as_ptr(), count, values, count) }
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
            let instance = (*running.instance).pointer.as_ptr() as u64;
            trace::enter(const { trace::number("fmi3DoStep") }, instance);
        }
    }
}
