//! The plain step of both versions: reals in, constant over the step, reals out, and nothing asked in between.
//!
//! Most steps of most runs are plain, and a cheap FMU computes for less time than a careful layer spends around it: so what
//! such a step needs lies side by side, and it is three calls with as few decisions as possible.

use super::trace::{self, Notes};
use super::{Interruption, OK, StepInfo};
use std::ffi::{c_int, c_void};

/// One call of `doStep`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepCall {
    /// Its start.
    pub(crate) time: f64,
    /// Its length.
    pub(crate) size: f64,
    /// No state from before its start will be restored: `noSetFMUStatePriorToCurrentPoint`.
    pub(crate) never_back: bool,
}

/// The three functions, and how they are called.
pub(super) trait PlainCalls {
    /// Their names: set, step, get.
    const NAMES: [&'static str; 3];

    /// # Safety
    ///
    /// As for all three: the instance is alive, and there is a value for every reference.
    unsafe fn set(&self, instance: *mut c_void, references: &[u32], values: *const f64) -> c_int;

    /// With what ended the step, if something else did than its end.
    ///
    /// # Safety
    ///
    /// As above.
    unsafe fn step(&self, instance: *mut c_void, step: StepCall) -> (c_int, Option<StepInfo>);

    /// # Safety
    ///
    /// As above.
    unsafe fn get(&self, instance: *mut c_void, references: &[u32], values: *mut f64) -> c_int;
}

/// The functions with the variables of an instance.
pub(super) struct PlainStep<C> {
    calls: C,
    inputs: Box<[u32]>,
    outputs: Box<[u32]>,
}

impl<C: PlainCalls> PlainStep<C> {
    pub(super) fn new(calls: C, inputs: &[u32], outputs: &[u32]) -> Self {
        PlainStep { calls, inputs: inputs.into(), outputs: outputs.into() }
    }

    /// Sets the inputs, steps and gets the outputs.
    ///
    /// # Safety
    ///
    /// The instance is alive.
    #[inline(always)]
    pub(super) unsafe fn run(
        &self,
        instance: *mut c_void,
        step: StepCall,
        values: &[f64],
        results: &mut [f64],
        notes: Notes,
        failed: impl Fn(&'static str, c_int) -> Box<Interruption>,
    ) -> Result<(), Box<Interruption>> {
        let PlainStep { calls, inputs, outputs } = self;
        assert!(inputs.len() == values.len() && outputs.len() == results.len(), "one value per reference");
        if !inputs.is_empty() {
            notes.call(const { trace::number(C::NAMES[0]) });
            // SAFETY: promised by the caller; lengths were compared.
            let code = unsafe { calls.set(instance, inputs, values.as_ptr()) };
            if !OK.contains(&code) {
                return Err(failed(C::NAMES[0], code));
            }
        }
        notes.call(const { trace::number(C::NAMES[1]) });
        // SAFETY: promised by the caller.
        let (code, stopped) = unsafe { calls.step(instance, step) };
        if !OK.contains(&code) {
            return Err(failed(C::NAMES[1], code));
        }
        if let Some(info) = stopped {
            return Err(Box::new(Interruption::Stopped(info)));
        }
        if outputs.is_empty() {
            notes.call(0);
            return Ok(());
        }
        notes.call(const { trace::number(C::NAMES[2]) });
        // SAFETY: promised by the caller; lengths were compared.
        let code = unsafe { calls.get(instance, outputs, results.as_mut_ptr()) };
        notes.call(0);
        if OK.contains(&code) { Ok(()) } else { Err(failed(C::NAMES[2], code)) }
    }
}
