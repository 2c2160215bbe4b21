//! FMI 2.0.

use super::log::{Log, Logger, Logger2};
use super::memory::{folder, given, put, text, wanted};
use super::{Component, DISCARD, OK, Pointer, Refs, Text, call, functions, instantiate};
use crate::body::EventEffect;
use crate::error::{Error, Result};
use crate::instance::{Instance, Kind, Past, Phase};
use std::ffi::{CString, c_int, c_void};

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

functions! {
    fmi2SetDebugLogging(_on: c_int, _count: usize, _categories: *const Text) _c => Ok(());
    fmi2SetupExperiment(_has_tolerance: c_int, _tolerance: f64, start: f64, _has_stop: c_int, _stop: f64) c => {
        c.instance.expect(CALL, &[Phase::Instantiated])?;
        c.instance.set_start_time(start)
    };
    fmi2EnterInitializationMode() c => c.instance.enter_initialization();

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

    fmi2GetDirectionalDerivative(
        unknowns: Refs, n_unknowns: usize, knowns: Refs, n_knowns: usize, seed: *const f64, change: *mut f64
    ) c => {
        let (unknowns, knowns) = (given(unknowns, n_unknowns)?, given(knowns, n_knowns)?);
        let (seed, change) = (given(seed, n_knowns)?, wanted(change, n_unknowns)?);
        c.instance.derivative_along(unknowns, knowns, seed, change)
    };

    fmi2NewDiscreteStates(info: *mut EventInfo) c => {
        c.instance.expect(CALL, &[Phase::Event])?;
        let EventEffect { has_changed, next } = c.instance.act()?;
        put(info, EventInfo {
            new_discrete_states_needed: 0,
            terminate_simulation: 0,
            nominals_changed: 0,
            values_changed: c_int::from(has_changed),
            next_event_time_defined: c_int::from(next.is_some()),
            next_event_time: next.unwrap_or_default(),
        });
        Ok(())
    };
    fmi2CompletedIntegratorStep(_no_set: c_int, event: *mut c_int, terminate: *mut c_int) c => {
        c.instance.expect(CALL, &[Phase::Continuous])?;
        put(event, 0);
        put(terminate, 0);
        Ok(())
    };
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
