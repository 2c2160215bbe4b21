//! FMI 3.0.

use super::fmi2::none_of;
use super::log::{Log, Logger, Logger3};
use super::memory::{folder, given, put, text, wanted};
use super::{Component, OK, Pointer, Refs, Text, call, functions, instantiate};
use crate::body::EventEffect;
use crate::error::{Error, Result};
use crate::instance::{Instance, Kind, Past, Phase};
use crate::polynomial::NODES;
use std::ffi::{CString, c_int, c_void};

type IntermediateCallback =
    unsafe extern "C" fn(*mut c_void, f64, bool, bool, bool, bool, *mut bool, *mut f64);

/// Who is asked for inputs inside a step.
#[derive(Clone, Copy)]
pub(super) struct IntermediateUpdate {
    callback: IntermediateCallback,
    environment: *mut c_void,
}

/// Getters and setters of types this FMU has no variables of.
macro_rules! absent {
    ($($get:ident $set:ident $what:literal;)*) => { functions! {$(
        $get(_references: Refs, count: usize, _values: *mut c_void, _size: usize) _c => none_of($what, count);
        $set(_references: Refs, count: usize, _values: *const c_void, _size: usize) _c => none_of($what, count);
    )*} };
}

#[unsafe(no_mangle)]
extern "C" fn fmi3GetVersion() -> Text {
    c"3.0".as_ptr()
}

/// The importer's logger.
///
/// # Safety
///
/// The texts end with a zero byte.
unsafe fn log_of(name: Text, environment: *mut c_void, logger: Option<Logger3>) -> Log {
    // SAFETY: promised by the caller.
    let name = CString::new(unsafe { text(name) }).unwrap_or_default();
    Log { name, environment, logger: logger.map_or(Logger::None, Logger::Three) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3InstantiateModelExchange(
    name: Text,
    token: Text,
    resources: Text,
    _visible: bool,
    _logging: bool,
    environment: *mut c_void,
    logger: Option<Logger3>,
) -> Pointer {
    // SAFETY: promised by the importer: texts end with a zero byte.
    let (log, token, resources) =
        unsafe { (log_of(name, environment, logger), text(token), text(resources)) };
    instantiate(log, || Instance::new(&folder(&resources), &token, Kind::ModelExchange))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3InstantiateCoSimulation(
    name: Text,
    token: Text,
    resources: Text,
    _visible: bool,
    _logging: bool,
    _event_mode: bool,
    _early_return: bool,
    intermediate: Refs,
    intermediate_count: usize,
    environment: *mut c_void,
    logger: Option<Logger3>,
    update: Option<IntermediateCallback>,
) -> Pointer {
    // SAFETY: promised by the importer: texts end with a zero byte.
    let (log, token, resources) =
        unsafe { (log_of(name, environment, logger), text(token), text(resources)) };
    let pointer = instantiate(log, || Instance::new(&folder(&resources), &token, Kind::CoSimulation));
    let ask = |component: &mut Component| {
        // SAFETY: promised by the importer: as many references as it says.
        let intermediate = unsafe { given(intermediate, intermediate_count)? };
        let is_wanted = intermediate.iter().any(|reference| component.instance.is_input(*reference));
        if is_wanted && component.instance.abilities().moving_inputs {
            component.asked = update.map(|callback| IntermediateUpdate { callback, environment });
        }
        Ok(())
    };
    // SAFETY: the pointer is null or was made just now.
    unsafe { call(pointer, ask) };
    pointer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3InstantiateScheduledExecution(
    name: Text,
    _token: Text,
    _resources: Text,
    _visible: bool,
    _logging: bool,
    environment: *mut c_void,
    logger: Option<Logger3>,
    _clock: *const c_void,
    _lock: *const c_void,
    _unlock: *const c_void,
) -> Pointer {
    // SAFETY: promised by the importer: texts end with a zero byte.
    let log = unsafe { log_of(name, environment, logger) };
    instantiate(log, || Err(Error::misuse("this FMU is not for scheduled execution")))
}

/// Moves over a step. First the importer is asked for inputs at points inside it, if it wants to be: it answers with
/// `fmi3SetFloat64`, so the instance is not borrowed meanwhile.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3DoStep(
    pointer: Pointer,
    time: f64,
    size: f64,
    no_set: bool,
    event: *mut bool,
    terminate: *mut bool,
    early: *mut bool,
    reached: *mut f64,
) -> c_int {
    const CALL: &str = "fmi3DoStep";
    // SAFETY: promised by the importer: these may be written to.
    unsafe {
        put(event, false);
        put(terminate, false);
        put(early, false);
        put(reached, time);
    }
    let mut asked = None;
    let begin = |c: &mut Component| {
        c.instance.check_step(CALL, time, size)?;
        asked = c.asked;
        Ok(())
    };
    // SAFETY: promised by the importer.
    let status = unsafe { call(pointer, begin) };
    if status != OK {
        return status;
    }
    if let Some(IntermediateUpdate { callback, environment }) = asked {
        for k in 0..NODES {
            let at = time + size * k as f64 / (NODES - 1) as f64;
            let (mut wants_return, mut return_time) = (false, at);
            // SAFETY: the importer gave the callback and its environment; nothing of the instance is borrowed.
            unsafe {
                callback(environment, at, true, false, false, false, &mut wants_return, &mut return_time);
            }
            let note = |c: &mut Component| {
                c.instance.inputs.note_node(k);
                Ok(())
            };
            // SAFETY: promised by the importer.
            unsafe { call(pointer, note) };
        }
    }
    let go = |c: &mut Component| {
        if asked.is_some() {
            c.instance.inputs.take_nodes(size);
        }
        let past = if no_set { Past::Over } else { Past::Open };
        let ended = c.instance.step(CALL, time, size, past)?;
        if let Some(text) = &ended {
            c.log.write(OK, text);
        }
        // SAFETY: promised by the importer: these may be written to.
        unsafe {
            put(terminate, ended.is_some());
            put(reached, c.instance.reached());
        }
        Ok(())
    };
    // SAFETY: promised by the importer.
    unsafe { call(pointer, go) }
}

functions! {
    fmi3SetDebugLogging(_on: bool, _count: usize, _categories: *const Text) _c => Ok(());
    fmi3EnterInitializationMode(_has_tolerance: bool, _tolerance: f64, start: f64, _has_stop: bool, _stop: f64) c => {
        c.instance.expect(CALL, &[Phase::Instantiated])?;
        c.instance.set_start_time(start)?;
        c.instance.enter_initialization()
    };
    fmi3GetFloat64(references: Refs, count: usize, values: *mut f64, size: usize) c => {
        same_size(count, size)?;
        let (references, values) = (given(references, count)?, wanted(values, size)?);
        for (reference, value) in references.iter().zip(values) {
            *value = c.instance.get(*reference)?;
        }
        Ok(())
    };
    fmi3SetFloat64(references: Refs, count: usize, values: *const f64, size: usize) c => {
        same_size(count, size)?;
        let (references, values) = (given(references, count)?, given(values, size)?);
        references.iter().zip(values).try_for_each(|(reference, value)| c.instance.set(*reference, *value))
    };
    fmi3GetBinary(_references: Refs, count: usize, _sizes: *mut usize, _values: *mut *const u8, _n: usize) _c => {
        none_of("binary", count)
    };
    fmi3SetBinary(_references: Refs, count: usize, _sizes: *const usize, _values: *const *const u8, _n: usize) _c => {
        none_of("binary", count)
    };
    fmi3GetClock(_references: Refs, count: usize, _values: *mut bool) _c => none_of("clock", count);
    fmi3SetClock(_references: Refs, count: usize, _values: *const bool) _c => none_of("clock", count);
    fmi3GetIntervalDecimal(_references: Refs, count: usize, _values: *mut f64, _q: *mut c_int) _c => {
        none_of("clock", count)
    };
    fmi3GetIntervalFraction(_references: Refs, count: usize, _a: *mut u64, _b: *mut u64, _q: *mut c_int) _c => {
        none_of("clock", count)
    };
    fmi3GetShiftDecimal(_references: Refs, count: usize, _values: *mut f64) _c => none_of("clock", count);
    fmi3GetShiftFraction(_references: Refs, count: usize, _a: *mut u64, _b: *mut u64) _c => none_of("clock", count);
    fmi3SetIntervalDecimal(_references: Refs, count: usize, _values: *const f64) _c => none_of("clock", count);
    fmi3SetIntervalFraction(_references: Refs, count: usize, _a: *const u64, _b: *const u64) _c => {
        none_of("clock", count)
    };
    fmi3SetShiftDecimal(_references: Refs, count: usize, _values: *const f64) _c => none_of("clock", count);
    fmi3SetShiftFraction(_references: Refs, count: usize, _a: *const u64, _b: *const u64) _c => none_of("clock", count);

    fmi3GetNumberOfVariableDependencies(_reference: u32, _count: *mut usize) _c => {
        Err(Error::misuse("dependencies do not change: they are those of the model description"))
    };
    fmi3GetVariableDependencies(
        _reference: u32, _dependent: *mut usize, _independents: *mut u32, _elements: *mut usize, _kinds: *mut c_int,
        _count: usize
    ) _c => Err(Error::misuse("dependencies do not change: they are those of the model description"));

    fmi3GetDirectionalDerivative(
        unknowns: Refs, n_unknowns: usize, knowns: Refs, n_knowns: usize, seed: *const f64, n_seed: usize,
        change: *mut f64, n_change: usize
    ) c => {
        same_size(n_knowns, n_seed)?;
        same_size(n_unknowns, n_change)?;
        let (unknowns, knowns) = (given(unknowns, n_unknowns)?, given(knowns, n_knowns)?);
        let (seed, change) = (given(seed, n_seed)?, wanted(change, n_change)?);
        c.instance.derivative_along(unknowns, knowns, seed, change)
    };
    fmi3GetAdjointDerivative(
        unknowns: Refs, n_unknowns: usize, knowns: Refs, n_knowns: usize, seed: *const f64, n_seed: usize,
        change: *mut f64, n_change: usize
    ) c => {
        same_size(n_unknowns, n_seed)?;
        same_size(n_knowns, n_change)?;
        let (unknowns, knowns) = (given(unknowns, n_unknowns)?, given(knowns, n_knowns)?);
        let (seed, change) = (given(seed, n_seed)?, wanted(change, n_change)?);
        let jacobian = c.instance.jacobian(unknowns, knowns)?;
        for (column, change) in change.iter_mut().enumerate() {
            *change = seed.iter().enumerate().map(|(row, seed)| jacobian[row * n_knowns + column] * seed).sum();
        }
        Ok(())
    };

    fmi3EnterConfigurationMode() _c => Err(Error::misuse("this FMU has no structural parameters"));
    fmi3ExitConfigurationMode() _c => Err(Error::misuse("this FMU has no structural parameters"));
    fmi3EvaluateDiscreteStates() _c => Ok(());
    fmi3UpdateDiscreteStates(
        again: *mut bool, terminate: *mut bool, nominals: *mut bool, values: *mut bool, defined: *mut bool,
        time: *mut f64
    ) c => {
        c.instance.expect(CALL, &[Phase::Event])?;
        let EventEffect { has_changed, next } = c.instance.act()?;
        for flag in [again, terminate, nominals] {
            put(flag, false);
        }
        put(values, has_changed);
        put(defined, next.is_some());
        put(time, next.unwrap_or_default());
        Ok(())
    };
    fmi3CompletedIntegratorStep(_no_set: bool, event: *mut bool, terminate: *mut bool) c => {
        c.instance.expect(CALL, &[Phase::Continuous])?;
        put(event, false);
        put(terminate, false);
        Ok(())
    };
    fmi3GetNumberOfEventIndicators(count: *mut usize) c => {
        put(count, c.instance.indicators());
        Ok(())
    };
    fmi3GetNumberOfContinuousStates(count: *mut usize) c => {
        put(count, c.instance.states());
        Ok(())
    };
    fmi3EnterStepMode() _c => Err(Error::misuse("this FMU has no event mode in co-simulation"));
    fmi3GetOutputDerivatives(
        _references: Refs, _count: usize, _orders: *const i32, _values: *mut f64, _size: usize
    ) _c => Err(Error::misuse("this FMU gives no output derivatives"));
    fmi3ActivateModelPartition(_clock: u32, _time: f64) _c => Err(Error::misuse("this FMU has no clocks"));
}

absent! {
    fmi3GetFloat32 fmi3SetFloat32 "Float32";
    fmi3GetInt8 fmi3SetInt8 "Int8";
    fmi3GetUInt8 fmi3SetUInt8 "UInt8";
    fmi3GetInt16 fmi3SetInt16 "Int16";
    fmi3GetUInt16 fmi3SetUInt16 "UInt16";
    fmi3GetInt32 fmi3SetInt32 "Int32";
    fmi3GetUInt32 fmi3SetUInt32 "UInt32";
    fmi3GetInt64 fmi3SetInt64 "Int64";
    fmi3GetUInt64 fmi3SetUInt64 "UInt64";
    fmi3GetBoolean fmi3SetBoolean "Boolean";
    fmi3GetString fmi3SetString "String";
}

/// All variables are scalars.
fn same_size(count: usize, size: usize) -> Result<()> {
    if count == size {
        return Ok(());
    }
    Err(Error::misuse(format!("{count} scalar variables have as many values, not {size}")))
}
