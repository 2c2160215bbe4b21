//! FMI 2.0.

use super::log::{Log, Logger, Logger2};
use super::memory::{folder, given, put, text, wanted};
use super::{Component, DISCARD, OK, call, free, instantiate};
use crate::error::{Error, Result};
use crate::instance::{Instance, Kind, Past, Phase, State};
use std::ffi::{CString, c_char, c_int, c_void};

type Pointer = *mut c_void;
type Text = *const c_char;
type Refs = *const u32;

/// `fmi2CallbackFunctions`.
#[repr(C)]
struct Callbacks {
    logger: Option<Logger2>,
    allocate_memory: *mut c_void,
    free_memory: *mut c_void,
    step_finished: *mut c_void,
    environment: *mut c_void,
}

/// `fmi2EventInfo`.
#[repr(C)]
struct EventInfo {
    new_discrete_states_needed: c_int,
    terminate_simulation: c_int,
    nominals_changed: c_int,
    values_changed: c_int,
    next_event_time_defined: c_int,
    next_event_time: f64,
}

const CO_SIMULATION: c_int = 1;
const LAST_SUCCESSFUL_TIME: c_int = 2;
const TERMINATED: c_int = 3;

/// Functions of the standard that take an instance first: `call` does what all have in common.
macro_rules! functions {
    ($($name:ident ($($argument:ident: $type:ty),*) $component:ident => $work:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(pointer: Pointer, $($argument: $type),*) -> c_int {
            // SAFETY: promised by the importer, as the module says; this covers the memory the arguments point to.
            unsafe { call(pointer, |$component: &mut Component| -> Result<()> { $work }) }
        }
    )*};
}

#[unsafe(no_mangle)]
extern "C" fn fmi2GetTypesPlatform() -> Text {
    c"default".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn fmi2GetVersion() -> Text {
    c"2.0".as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2Instantiate(
    name: Text,
    kind: c_int,
    guid: Text,
    location: Text,
    callbacks: *const Callbacks,
    _visible: c_int,
    _logging: c_int,
) -> Pointer {
    // SAFETY: promised by the importer: texts end with a zero byte, the callbacks live as long as the instance.
    let (name, guid, location, callbacks) =
        unsafe { (text(name), text(guid), text(location), callbacks.as_ref()) };
    let log = Log {
        name: CString::new(name).unwrap_or_default(),
        environment: callbacks.map_or(std::ptr::null_mut(), |callbacks| callbacks.environment),
        logger: callbacks.and_then(|callbacks| callbacks.logger).map_or(Logger::None, Logger::Two),
    };
    let kind = if kind == CO_SIMULATION { Kind::CoSimulation } else { Kind::ModelExchange };
    instantiate(log, || Instance::new(&folder(&location), &guid, kind))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2FreeInstance(pointer: Pointer) {
    // SAFETY: promised by the importer.
    unsafe { free(pointer) }
}

functions! {
    fmi2SetDebugLogging(_on: c_int, _count: usize, _categories: *const Text) _c => Ok(());
    fmi2SetupExperiment(_has_tolerance: c_int, _tolerance: f64, start: f64, _has_stop: c_int, _stop: f64) c => {
        c.instance.expect("fmi2SetupExperiment", &[Phase::Instantiated])?;
        c.instance.set_start_time(start)
    };
    fmi2EnterInitializationMode() c => c.instance.enter_initialization();
    fmi2ExitInitializationMode() c => c.instance.exit_initialization();
    fmi2Terminate() c => c.instance.terminate();
    fmi2Reset() c => c.instance.reset();

    fmi2GetReal(references: Refs, count: usize, values: *mut f64) c => {
        let (references, values) = (given(references, count)?, wanted(values, count)?);
        for (reference, value) in references.iter().zip(values) {
            *value = c.instance.get(*reference)?;
        }
        Ok(())
    };
    fmi2SetReal(references: Refs, count: usize, values: *const f64) c => {
        let (references, values) = (given(references, count)?, given(values, count)?);
        references.iter().zip(values).try_for_each(|(reference, value)| c.instance.set(*reference, *value))
    };
    fmi2GetInteger(_references: Refs, count: usize, _values: *mut c_int) _c => none_of("integer", count);
    fmi2GetBoolean(_references: Refs, count: usize, _values: *mut c_int) _c => none_of("Boolean", count);
    fmi2GetString(_references: Refs, count: usize, _values: *mut Text) _c => none_of("string", count);
    fmi2SetInteger(_references: Refs, count: usize, _values: *const c_int) _c => none_of("integer", count);
    fmi2SetBoolean(_references: Refs, count: usize, _values: *const c_int) _c => none_of("Boolean", count);
    fmi2SetString(_references: Refs, count: usize, _values: *const Text) _c => none_of("string", count);

    fmi2GetFMUstate(state: *mut *mut State) c => {
        release(state);
        let saved = c.instance.save()?;
        keep(state, saved)
    };
    fmi2SetFMUstate(state: *const State) c => c.instance.restore(state.as_ref().ok_or_else(no_state)?);
    fmi2FreeFMUstate(state: *mut *mut State) _c => {
        forget(state);
        Ok(())
    };
    fmi2SerializedFMUstateSize(state: *const State, size: *mut usize) c => {
        put(size, c.instance.serialize(state.as_ref().ok_or_else(no_state)?)?.len());
        Ok(())
    };
    fmi2SerializeFMUstate(state: *const State, bytes: *mut u8, size: usize) c => {
        let own = c.instance.serialize(state.as_ref().ok_or_else(no_state)?)?;
        fill(wanted(bytes, size)?, &own)
    };
    fmi2DeSerializeFMUstate(bytes: *const u8, size: usize, state: *mut *mut State) c => {
        let read = c.instance.deserialize(given(bytes, size)?)?;
        hand_out(state, read)
    };

    fmi2GetDirectionalDerivative(
        unknowns: Refs, n_unknowns: usize, knowns: Refs, n_knowns: usize, seed: *const f64, change: *mut f64
    ) c => {
        let (unknowns, knowns) = (given(unknowns, n_unknowns)?, given(knowns, n_knowns)?);
        let (seed, change) = (given(seed, n_knowns)?, wanted(change, n_unknowns)?);
        let jacobian = c.instance.jacobian(unknowns, knowns)?;
        for (row, change) in change.iter_mut().enumerate() {
            let row = &jacobian[row * n_knowns..][..n_knowns];
            *change = row.iter().zip(seed).map(|(slope, seed)| slope * seed).sum();
        }
        Ok(())
    };

    fmi2EnterEventMode() c => {
        c.instance.change_phase("fmi2EnterEventMode", &[Phase::Continuous, Phase::Event], Phase::Event)
    };
    fmi2NewDiscreteStates(info: *mut EventInfo) c => {
        c.instance.expect("fmi2NewDiscreteStates", &[Phase::Event])?;
        put(info, EventInfo {
            new_discrete_states_needed: 0,
            terminate_simulation: 0,
            nominals_changed: 0,
            values_changed: 0,
            next_event_time_defined: 0,
            next_event_time: 0.0,
        });
        Ok(())
    };
    fmi2EnterContinuousTimeMode() c => {
        c.instance.change_phase("fmi2EnterContinuousTimeMode", &[Phase::Event], Phase::Continuous)
    };
    fmi2CompletedIntegratorStep(_no_set: c_int, event: *mut c_int, terminate: *mut c_int) c => {
        c.instance.expect("fmi2CompletedIntegratorStep", &[Phase::Continuous])?;
        put(event, 0);
        put(terminate, 0);
        Ok(())
    };
    fmi2SetTime(time: f64) c => {
        c.instance.expect("fmi2SetTime", &[Phase::Event, Phase::Continuous])?;
        c.instance.set_time(time);
        Ok(())
    };
    fmi2SetContinuousStates(x: *const f64, count: usize) c => {
        c.instance.expect("fmi2SetContinuousStates", &[Phase::Continuous, Phase::Event])?;
        c.instance.set_states(given(x, count)?)
    };
    fmi2GetDerivatives(dx: *mut f64, count: usize) c => c.instance.get_derivatives(wanted(dx, count)?);
    fmi2GetEventIndicators(_z: *mut f64, count: usize) _c => none_of("event indicator", count);
    fmi2GetContinuousStates(x: *mut f64, count: usize) c => c.instance.get_states(wanted(x, count)?);
    fmi2GetNominalsOfContinuousStates(x: *mut f64, count: usize) c => c.instance.get_nominals(wanted(x, count)?);

    fmi2SetRealInputDerivatives(references: Refs, count: usize, orders: *const c_int, values: *const f64) c => {
        if !c.instance.abilities().moving_inputs {
            return Err(Error::misuse("this FMU takes no input derivatives"));
        }
        let (references, orders, values) = (given(references, count)?, given(orders, count)?, given(values, count)?);
        for ((reference, order), value) in references.iter().zip(orders).zip(values) {
            c.instance.set_input_derivative(*reference, *order, *value)?;
        }
        Ok(())
    };
    fmi2GetRealOutputDerivatives(_references: Refs, _count: usize, _orders: *const c_int, _values: *mut f64) _c => {
        Err(Error::misuse("this FMU gives no output derivatives"))
    };
    fmi2CancelStep() _c => Err(Error::misuse("there is no step to cancel"));
    fmi2GetStatus(_kind: c_int, status: *mut c_int) _c => {
        put(status, OK);
        Ok(())
    };
    fmi2GetRealStatus(kind: c_int, value: *mut f64) c => {
        if kind != LAST_SUCCESSFUL_TIME {
            return Err(Error::misuse("there is no such status"));
        }
        put(value, c.instance.reached());
        Ok(())
    };
    fmi2GetIntegerStatus(_kind: c_int, _value: *mut c_int) _c => Err(Error::misuse("there is no such status"));
    fmi2GetBooleanStatus(kind: c_int, value: *mut c_int) c => {
        if kind != TERMINATED {
            return Err(Error::misuse("there is no such status"));
        }
        put(value, c_int::from(c.instance.is_ended()));
        Ok(())
    };
    fmi2GetStringStatus(_kind: c_int, _value: *mut Text) _c => Err(Error::misuse("there is no such status"));
}

/// A step; one on which the simulation is to end is discarded from where that is.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2DoStep(pointer: Pointer, time: f64, size: f64, no_set: c_int) -> c_int {
    let mut is_ended = false;
    let go = |c: &mut Component| {
        let past = if no_set == 0 { Past::Open } else { Past::Over };
        if let Some(text) = c.instance.step("fmi2DoStep", time, size, past)? {
            is_ended = true;
            c.log.write(DISCARD, &text);
        }
        Ok(())
    };
    // SAFETY: promised by the importer.
    let status = unsafe { call(pointer, go) };
    if status == OK && is_ended { DISCARD } else { status }
}

/// All variables are real numbers.
pub(super) fn none_of(what: &str, count: usize) -> Result<()> {
    if count == 0 { Ok(()) } else { Err(Error::misuse(format!("this FMU has no {what}"))) }
}

pub(super) fn no_state() -> Box<Error> {
    Error::misuse("the state is null")
}

/// Hands a state to the importer, in place of the one it has.
///
/// # Safety
///
/// `place` is null or may be written to; what it points to is null or a state of this library.
pub(super) unsafe fn keep(place: *mut *mut State, state: State) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe {
        let place = place.as_mut().ok_or_else(no_state)?;
        match place.as_mut() {
            Some(old) => *old = state,
            None => *place = Box::into_raw(Box::new(state)),
        }
    }
    Ok(())
}

/// The state that is in a place is not going to be set any more.
///
/// # Safety
///
/// As for [`keep`].
pub(super) unsafe fn release(place: *mut *mut State) {
    // SAFETY: promised by the caller.
    if let Some(state) = unsafe { place.as_mut().and_then(|state| state.as_mut()) } {
        state.release();
    }
}

/// Hands a new state to the importer; what was in its place may never have been set.
///
/// # Safety
///
/// `place` is null or may be written to.
pub(super) unsafe fn hand_out(place: *mut *mut State, state: State) -> Result<()> {
    if place.is_null() {
        return Err(no_state());
    }
    // SAFETY: promised by the caller.
    unsafe { place.write(Box::into_raw(Box::new(state))) };
    Ok(())
}

/// Takes a state back from the importer.
///
/// # Safety
///
/// As for [`keep`].
pub(super) unsafe fn forget(place: *mut *mut State) {
    // SAFETY: promised by the caller: it came from `Box::into_raw`.
    unsafe {
        if let Some(place) = place.as_mut()
            && !place.is_null()
        {
            drop(Box::from_raw(*place));
            *place = std::ptr::null_mut();
        }
    }
}

/// Copies bytes where there is room for exactly them.
pub(super) fn fill(room: &mut [u8], bytes: &[u8]) -> Result<()> {
    if room.len() < bytes.len() {
        return Err(Error::misuse(format!(
            "the state has {} bytes, there is room for {}",
            bytes.len(),
            room.len()
        )));
    }
    room[..bytes.len()].copy_from_slice(bytes);
    Ok(())
}
