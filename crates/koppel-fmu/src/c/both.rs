//! Functions that are the same in FMI 2.0 and 3.0 but for their names.

use super::memory::{given, put, wanted};
use super::state::{fill, forget, hand_out, keep, no_state, release};
use super::{Component, Pointer, call, free, functions};
use crate::error::Result;
use crate::instance::{Phase, State};
use std::ffi::c_int;

/// One function under two names.
macro_rules! both {
    ($($two:ident $three:ident $arguments:tt $component:ident => $work:expr;)*) => {
        functions! { $(
            $two $arguments $component => $work;
            $three $arguments $component => $work;
        )* }
    };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2FreeInstance(pointer: Pointer) {
    // SAFETY: promised by the importer.
    unsafe { free(pointer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3FreeInstance(pointer: Pointer) {
    // SAFETY: promised by the importer.
    unsafe { free(pointer) }
}

both! {
    fmi2ExitInitializationMode fmi3ExitInitializationMode() c => c.instance.exit_initialization();
    fmi2Terminate fmi3Terminate() c => c.instance.terminate();
    fmi2Reset fmi3Reset() c => c.instance.reset();

    fmi2GetFMUstate fmi3GetFMUState(state: *mut *mut State) c => {
        release(state);
        let saved = c.instance.save()?;
        keep(state, saved)
    };
    fmi2SetFMUstate fmi3SetFMUState(state: *const State) c => {
        c.instance.restore(state.as_ref().ok_or_else(no_state)?)
    };
    fmi2FreeFMUstate fmi3FreeFMUState(state: *mut *mut State) _c => {
        forget(state);
        Ok(())
    };
    fmi2SerializedFMUstateSize fmi3SerializedFMUStateSize(state: *const State, size: *mut usize) c => {
        put(size, c.instance.serialize(state.as_ref().ok_or_else(no_state)?)?.len());
        Ok(())
    };
    fmi2SerializeFMUstate fmi3SerializeFMUState(state: *const State, bytes: *mut u8, size: usize) c => {
        let own = c.instance.serialize(state.as_ref().ok_or_else(no_state)?)?;
        fill(wanted(bytes, size)?, &own)
    };
    fmi2DeSerializeFMUstate fmi3DeserializeFMUState(bytes: *const u8, size: usize, state: *mut *mut State) c => {
        let read = c.instance.deserialize(given(bytes, size)?)?;
        hand_out(state, read)
    };

    fmi2EnterEventMode fmi3EnterEventMode() c => {
        c.instance.change_phase(CALL, &[Phase::Continuous, Phase::Event], Phase::Event)
    };
    fmi2EnterContinuousTimeMode fmi3EnterContinuousTimeMode() c => {
        c.instance.change_phase(CALL, &[Phase::Event], Phase::Continuous)
    };
    fmi2SetTime fmi3SetTime(time: f64) c => {
        c.instance.expect(CALL, &[Phase::Event, Phase::Continuous])?;
        c.instance.set_time(time);
        Ok(())
    };
    fmi2SetContinuousStates fmi3SetContinuousStates(x: *const f64, count: usize) c => {
        c.instance.expect(CALL, &[Phase::Continuous, Phase::Event])?;
        c.instance.set_states(given(x, count)?)
    };
    fmi2GetContinuousStates fmi3GetContinuousStates(x: *mut f64, count: usize) c => {
        c.instance.get_states(wanted(x, count)?)
    };
    fmi2GetNominalsOfContinuousStates fmi3GetNominalsOfContinuousStates(x: *mut f64, count: usize) c => {
        c.instance.get_nominals(wanted(x, count)?)
    };
    fmi2GetDerivatives fmi3GetContinuousStateDerivatives(dx: *mut f64, count: usize) c => {
        c.instance.get_derivatives(wanted(dx, count)?)
    };
    fmi2GetEventIndicators fmi3GetEventIndicators(z: *mut f64, count: usize) c => {
        c.instance.get_indicators(wanted(z, count)?)
    };
}
