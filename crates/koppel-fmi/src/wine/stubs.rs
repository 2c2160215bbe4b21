//! Every function of FMI as one that calls the library of another process.
//!
//! A stub has the type that the standard gives the function. What koppel takes for the instance is a [`Remote`]; the worker
//! gets its own instance instead. States are pointers of the worker, which nobody here follows.

use super::library::Library;
use super::remote::Argument::{Callback, In, InOut, Out, Word};
use super::remote::{Argument, GONE, Gone, Remote, Update};
use super::setup::windows_path;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;

type Instance = *mut c_void;
type Text = *const c_char;
type References = *const u32;

thread_local! {
    /// The process for the instance that is being made.
    static NEXT: Cell<*mut Remote> = const { Cell::new(null_mut()) };
}

/// Makes an instance in this process: `make` calls a stub that makes one, which owns the process if it returns an instance.
pub(crate) fn with_remote<T>(remote: Box<Remote>, make: impl FnOnce() -> T) -> T {
    NEXT.set(Box::into_raw(remote));
    let made = make();
    let unused = NEXT.replace(null_mut());
    if !unused.is_null() {
        // SAFETY: it comes from a box, and no stub has taken it.
        drop(unsafe { Box::from_raw(unused) });
    }
    made
}

/// The stub of a function that the library exports.
pub(crate) fn stub(library: &Library, symbol: &str) -> Option<*const c_void> {
    let place = place(symbol)?;
    library.exports(symbol).then(|| POINTERS[place]())
}

fn flag(flag: bool) -> Argument {
    Word(flag.into())
}

/// A number for a register of integers, sign and all.
fn code(number: c_int) -> Argument {
    Word(u64::from(number.cast_unsigned()))
}

fn real(number: f64) -> Argument {
    Word(number.to_bits())
}

fn count(number: usize) -> Argument {
    Word(number as u64)
}

fn input<T>(from: *const T, count: usize) -> Argument {
    In(from.cast(), count * size_of::<T>())
}

fn output<T>(to: *mut T, count: usize) -> Argument {
    Out(to.cast(), count * size_of::<T>())
}

/// A pointer to a pointer of the worker.
fn handle(place: *mut *mut c_void) -> Argument {
    InOut(place.cast(), size_of::<u64>())
}

fn own(pointer: *mut c_void) -> Argument {
    Word(pointer as u64)
}

/// A text that ends with a zero, or none.
unsafe fn text(text: Text) -> Argument {
    if text.is_null() {
        return Word(0);
    }
    // SAFETY: promised by the caller.
    In(text.cast(), unsafe { CStr::from_ptr(text) }.count_bytes() + 1)
}

/// Calls the function at this place of the list.
///
/// # Safety
///
/// `instance` comes from a stub that makes instances; the arguments are those of the function.
unsafe fn invoke(instance: Instance, function: Function, arguments: &[Argument]) -> c_int {
    // SAFETY: promised by the caller: it is a process of ours that is alive, and nobody has a mutable reference to it.
    let remote = unsafe { &*instance.cast::<Remote>() };
    let mut all = [Word(0); 13];
    all[0] = Word(remote.instance.get());
    all[1..=arguments.len()].copy_from_slice(arguments);
    // SAFETY: promised by the caller.
    let done = unsafe { remote.call(function as usize, &all[..=arguments.len()]) };
    done.map_or(GONE, |result| result as c_int)
}

/// Declares stubs, each with the words it passes after the instance; the special ones are written out below.
macro_rules! stubs {
    (
        special { $($own_name:ident $own_symbol:literal;)* }
        $($name:ident $symbol:literal ($($argument:ident: $type:ty),*) [$($pass:expr),*];)*
    ) => {
        #[expect(non_camel_case_types, reason = "named like the functions")]
        #[expect(dead_code, reason = "nobody asks for versions")]
        #[derive(Clone, Copy)]
        enum Function { $($name,)* $($own_name,)* }

        /// The names of all functions.
        pub(super) const NAMES: &[&str] = &[$($symbol,)* $($own_symbol,)*];

        /// Their stubs.
        static POINTERS: &[fn() -> *const c_void] =
            &[$(|| $name as *const c_void,)* $(|| $own_name as *const c_void,)*];

        $(unsafe extern "C" fn $name(instance: Instance, $($argument: $type),*) -> c_int {
            // SAFETY: the arguments are what the standard asks for.
            unsafe { invoke(instance, Function::$name, &[$($pass),*]) }
        })*
    };
}

/// How many there are.
pub(super) const COUNT: usize = NAMES.len();

/// The place of the function of this name.
pub(super) fn place(symbol: &str) -> Option<usize> {
    NAMES.iter().position(|name| *name == symbol)
}

stubs! {
    special {
        fmi2_get_version "fmi2GetVersion";
        fmi2_instantiate "fmi2Instantiate";
        fmi2_free_instance "fmi2FreeInstance";
        fmi2_get_string "fmi2GetString";
        fmi2_set_string "fmi2SetString";
        fmi3_get_version "fmi3GetVersion";
        fmi3_instantiate_model_exchange "fmi3InstantiateModelExchange";
        fmi3_instantiate_co_simulation "fmi3InstantiateCoSimulation";
        fmi3_free_instance "fmi3FreeInstance";
        fmi3_get_string "fmi3GetString";
        fmi3_set_string "fmi3SetString";
        fmi3_get_binary "fmi3GetBinary";
        fmi3_set_binary "fmi3SetBinary";
    }
    fmi2_setup_experiment "fmi2SetupExperiment" (has_tolerance: c_int, tolerance: f64, start: f64, has_stop: c_int, stop: f64) [code(has_tolerance), real(tolerance), real(start), code(has_stop), real(stop)];
    fmi2_enter_initialization_mode "fmi2EnterInitializationMode" () [];
    fmi2_exit_initialization_mode "fmi2ExitInitializationMode" () [];
    fmi2_terminate "fmi2Terminate" () [];
    fmi2_reset "fmi2Reset" () [];
    fmi2_get_real "fmi2GetReal" (of: References, n: usize, to: *mut f64) [input(of, n), count(n), output(to, n)];
    fmi2_get_integer "fmi2GetInteger" (of: References, n: usize, to: *mut c_int) [input(of, n), count(n), output(to, n)];
    fmi2_get_boolean "fmi2GetBoolean" (of: References, n: usize, to: *mut c_int) [input(of, n), count(n), output(to, n)];
    fmi2_set_real "fmi2SetReal" (of: References, n: usize, from: *const f64) [input(of, n), count(n), input(from, n)];
    fmi2_set_integer "fmi2SetInteger" (of: References, n: usize, from: *const c_int) [input(of, n), count(n), input(from, n)];
    fmi2_set_boolean "fmi2SetBoolean" (of: References, n: usize, from: *const c_int) [input(of, n), count(n), input(from, n)];
    fmi2_get_state "fmi2GetFMUstate" (state: *mut *mut c_void) [handle(state)];
    fmi2_set_state "fmi2SetFMUstate" (state: *mut c_void) [own(state)];
    fmi2_free_state "fmi2FreeFMUstate" (state: *mut *mut c_void) [handle(state)];
    fmi2_serialized_size "fmi2SerializedFMUstateSize" (state: *mut c_void, size: *mut usize) [own(state), output(size, 1)];
    fmi2_serialize "fmi2SerializeFMUstate" (state: *mut c_void, to: *mut u8, n: usize) [own(state), output(to, n), count(n)];
    fmi2_deserialize "fmi2DeSerializeFMUstate" (from: *const u8, n: usize, state: *mut *mut c_void) [input(from, n), count(n), handle(state)];
    fmi2_enter_event_mode "fmi2EnterEventMode" () [];
    fmi2_enter_continuous_time_mode "fmi2EnterContinuousTimeMode" () [];
    fmi2_set_time "fmi2SetTime" (time: f64) [real(time)];
    fmi2_set_states "fmi2SetContinuousStates" (from: *const f64, n: usize) [input(from, n), count(n)];
    fmi2_get_states "fmi2GetContinuousStates" (to: *mut f64, n: usize) [output(to, n), count(n)];
    fmi2_get_nominals "fmi2GetNominalsOfContinuousStates" (to: *mut f64, n: usize) [output(to, n), count(n)];
    fmi2_get_derivatives "fmi2GetDerivatives" (to: *mut f64, n: usize) [output(to, n), count(n)];
    fmi2_get_indicators "fmi2GetEventIndicators" (to: *mut f64, n: usize) [output(to, n), count(n)];
    fmi2_directional "fmi2GetDirectionalDerivative" (of: References, n: usize, by: References, m: usize, seed: *const f64, to: *mut f64) [input(of, n), count(n), input(by, m), count(m), input(seed, m), output(to, n)];
    fmi2_new_discrete_states "fmi2NewDiscreteStates" (info: *mut [u64; 4]) [InOut(info.cast(), 32)];
    fmi2_completed_step "fmi2CompletedIntegratorStep" (never_back: c_int, event: *mut c_int, end: *mut c_int) [code(never_back), output(event, 1), output(end, 1)];
    fmi2_set_input_derivatives "fmi2SetRealInputDerivatives" (of: References, n: usize, orders: *const c_int, from: *const f64) [input(of, n), count(n), input(orders, n), input(from, n)];
    fmi2_do_step "fmi2DoStep" (time: f64, size: f64, never_back: c_int) [real(time), real(size), code(never_back)];
    fmi2_get_real_status "fmi2GetRealStatus" (kind: c_int, to: *mut f64) [code(kind), output(to, 1)];
    fmi2_get_boolean_status "fmi2GetBooleanStatus" (kind: c_int, to: *mut c_int) [code(kind), output(to, 1)];

    fmi3_enter_initialization_mode "fmi3EnterInitializationMode" (has_tolerance: bool, tolerance: f64, start: f64, has_stop: bool, stop: f64) [flag(has_tolerance), real(tolerance), real(start), flag(has_stop), real(stop)];
    fmi3_exit_initialization_mode "fmi3ExitInitializationMode" () [];
    fmi3_terminate "fmi3Terminate" () [];
    fmi3_reset "fmi3Reset" () [];
    fmi3_get_state "fmi3GetFMUState" (state: *mut *mut c_void) [handle(state)];
    fmi3_set_state "fmi3SetFMUState" (state: *mut c_void) [own(state)];
    fmi3_free_state "fmi3FreeFMUState" (state: *mut *mut c_void) [handle(state)];
    fmi3_serialized_size "fmi3SerializedFMUStateSize" (state: *mut c_void, size: *mut usize) [own(state), output(size, 1)];
    fmi3_serialize "fmi3SerializeFMUState" (state: *mut c_void, to: *mut u8, n: usize) [own(state), output(to, n), count(n)];
    fmi3_deserialize "fmi3DeserializeFMUState" (from: *const u8, n: usize, state: *mut *mut c_void) [input(from, n), count(n), handle(state)];
    fmi3_enter_event_mode "fmi3EnterEventMode" () [];
    fmi3_enter_continuous_time_mode "fmi3EnterContinuousTimeMode" () [];
    fmi3_set_time "fmi3SetTime" (time: f64) [real(time)];
    fmi3_set_states "fmi3SetContinuousStates" (from: *const f64, n: usize) [input(from, n), count(n)];
    fmi3_get_states "fmi3GetContinuousStates" (to: *mut f64, n: usize) [output(to, n), count(n)];
    fmi3_get_nominals "fmi3GetNominalsOfContinuousStates" (to: *mut f64, n: usize) [output(to, n), count(n)];
    fmi3_get_derivatives "fmi3GetContinuousStateDerivatives" (to: *mut f64, n: usize) [output(to, n), count(n)];
    fmi3_get_indicators "fmi3GetEventIndicators" (to: *mut f64, n: usize) [output(to, n), count(n)];
    fmi3_get_float64 "fmi3GetFloat64" (of: References, n: usize, to: *mut f64, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_float32 "fmi3GetFloat32" (of: References, n: usize, to: *mut f32, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_int8 "fmi3GetInt8" (of: References, n: usize, to: *mut u8, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_uint8 "fmi3GetUInt8" (of: References, n: usize, to: *mut u8, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_int16 "fmi3GetInt16" (of: References, n: usize, to: *mut u16, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_uint16 "fmi3GetUInt16" (of: References, n: usize, to: *mut u16, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_int32 "fmi3GetInt32" (of: References, n: usize, to: *mut u32, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_uint32 "fmi3GetUInt32" (of: References, n: usize, to: *mut u32, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_int64 "fmi3GetInt64" (of: References, n: usize, to: *mut u64, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_uint64 "fmi3GetUInt64" (of: References, n: usize, to: *mut u64, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_boolean "fmi3GetBoolean" (of: References, n: usize, to: *mut u8, m: usize) [input(of, n), count(n), output(to, m), count(m)];
    fmi3_get_clock "fmi3GetClock" (of: References, n: usize, to: *mut u8) [input(of, n), count(n), output(to, n)];
    fmi3_set_float64 "fmi3SetFloat64" (of: References, n: usize, from: *const f64, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_float32 "fmi3SetFloat32" (of: References, n: usize, from: *const f32, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_int8 "fmi3SetInt8" (of: References, n: usize, from: *const u8, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_uint8 "fmi3SetUInt8" (of: References, n: usize, from: *const u8, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_int16 "fmi3SetInt16" (of: References, n: usize, from: *const u16, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_uint16 "fmi3SetUInt16" (of: References, n: usize, from: *const u16, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_int32 "fmi3SetInt32" (of: References, n: usize, from: *const u32, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_uint32 "fmi3SetUInt32" (of: References, n: usize, from: *const u32, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_int64 "fmi3SetInt64" (of: References, n: usize, from: *const u64, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_uint64 "fmi3SetUInt64" (of: References, n: usize, from: *const u64, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_boolean "fmi3SetBoolean" (of: References, n: usize, from: *const u8, m: usize) [input(of, n), count(n), input(from, m), count(m)];
    fmi3_set_clock "fmi3SetClock" (of: References, n: usize, from: *const u8) [input(of, n), count(n), input(from, n)];
    fmi3_directional "fmi3GetDirectionalDerivative" (of: References, n: usize, by: References, m: usize, seed: *const f64, seeds: usize, to: *mut f64, size: usize) [input(of, n), count(n), input(by, m), count(m), input(seed, seeds), count(seeds), output(to, size), count(size)];
    fmi3_adjoint "fmi3GetAdjointDerivative" (of: References, n: usize, by: References, m: usize, seed: *const f64, seeds: usize, to: *mut f64, size: usize) [input(of, n), count(n), input(by, m), count(m), input(seed, seeds), count(seeds), output(to, size), count(size)];
    fmi3_enter_configuration_mode "fmi3EnterConfigurationMode" () [];
    fmi3_exit_configuration_mode "fmi3ExitConfigurationMode" () [];
    fmi3_interval_decimal "fmi3GetIntervalDecimal" (of: References, n: usize, to: *mut f64, qualifiers: *mut c_int) [input(of, n), count(n), output(to, n), output(qualifiers, n)];
    fmi3_interval_fraction "fmi3GetIntervalFraction" (of: References, n: usize, counters: *mut u64, resolutions: *mut u64, qualifiers: *mut c_int) [input(of, n), count(n), output(counters, n), output(resolutions, n), output(qualifiers, n)];
    fmi3_update_discrete_states "fmi3UpdateDiscreteStates" (needs: *mut u8, end: *mut u8, nominals: *mut u8, values: *mut u8, has_next: *mut u8, next: *mut f64) [output(needs, 1), output(end, 1), output(nominals, 1), output(values, 1), output(has_next, 1), InOut(next.cast(), 8)];
    fmi3_completed_step "fmi3CompletedIntegratorStep" (never_back: bool, event: *mut u8, end: *mut u8) [flag(never_back), output(event, 1), output(end, 1)];
    fmi3_enter_step_mode "fmi3EnterStepMode" () [];
    fmi3_do_step "fmi3DoStep" (time: f64, size: f64, never_back: bool, event: *mut u8, end: *mut u8, early: *mut u8, reached: *mut f64) [real(time), real(size), flag(never_back), output(event, 1), output(end, 1), output(early, 1), InOut(reached.cast(), 8)];
}

/// Nobody asks.
unsafe extern "C" fn fmi2_get_version() -> Text {
    c"2.0".as_ptr()
}

/// Nobody asks.
unsafe extern "C" fn fmi3_get_version() -> Text {
    c"3.0".as_ptr()
}

/// Makes the instance of the process that waits for one.
///
/// # Safety
///
/// The arguments are those of the function.
unsafe fn make(
    function: Function,
    arguments: &[Argument],
    update: Option<Update>,
    environment: *mut c_void,
) -> Instance {
    let next = NEXT.replace(null_mut());
    if next.is_null() {
        return null_mut();
    }
    // SAFETY: `with_remote` has put it there, and nobody else has it.
    let remote = unsafe { Box::from_raw(next) };
    remote.update.set(update.map(|update| (update, environment)));
    // SAFETY: promised by the caller.
    match unsafe { remote.call(function as usize, arguments) } {
        Ok(instance) if instance != 0 => {
            remote.instance.set(instance);
            Box::into_raw(remote).cast()
        }
        Ok(_) => null_mut(),
        Err(Gone) => {
            remote.complain();
            null_mut()
        }
    }
}

unsafe extern "C" fn fmi2_instantiate(
    name: Text,
    kind: c_int,
    token: Text,
    resources: Text,
    _callbacks: *const c_void,
    visible: c_int,
    logging: c_int,
) -> Instance {
    // SAFETY: the texts are what the standard asks for, and live during the call.
    unsafe {
        let resources = for_windows(resources);
        let arguments = [
            text(name),
            code(kind),
            text(token),
            text(resources.as_ptr()),
            Callback(0),
            code(visible),
            code(logging),
        ];
        make(Function::fmi2_instantiate, &arguments, None, null_mut())
    }
}

unsafe extern "C" fn fmi3_instantiate_model_exchange(
    name: Text,
    token: Text,
    resources: Text,
    visible: bool,
    logging: bool,
    environment: *mut c_void,
    _log: *const c_void,
) -> Instance {
    // SAFETY: as above.
    unsafe {
        let resources = for_windows(resources);
        let arguments = [
            text(name),
            text(token),
            text(resources.as_ptr()),
            flag(visible),
            flag(logging),
            Word(0),
            Callback(1),
        ];
        make(Function::fmi3_instantiate_model_exchange, &arguments, None, environment)
    }
}

unsafe extern "C" fn fmi3_instantiate_co_simulation(
    name: Text,
    token: Text,
    resources: Text,
    visible: bool,
    logging: bool,
    event_mode: bool,
    early_return: bool,
    references: References,
    n: usize,
    environment: *mut c_void,
    _log: *const c_void,
    update: Option<Update>,
) -> Instance {
    // SAFETY: as above.
    unsafe {
        let resources = for_windows(resources);
        let arguments = [
            text(name),
            text(token),
            text(resources.as_ptr()),
            flag(visible),
            flag(logging),
            flag(event_mode),
            flag(early_return),
            input(references, n),
            count(n),
            Word(0),
            Callback(1),
            if update.is_some() { Callback(2) } else { Word(0) },
        ];
        make(Function::fmi3_instantiate_co_simulation, &arguments, update, environment)
    }
}

unsafe extern "C" fn fmi2_free_instance(instance: Instance) {
    // SAFETY: the instance is alive and never used again.
    unsafe { free(instance, Function::fmi2_free_instance) }
}

unsafe extern "C" fn fmi3_free_instance(instance: Instance) {
    // SAFETY: as above.
    unsafe { free(instance, Function::fmi3_free_instance) }
}

/// # Safety
///
/// The instance comes from `make` and is never used again.
unsafe fn free(instance: Instance, function: Function) {
    // SAFETY: promised by the caller.
    unsafe {
        let remote = &*instance.cast::<Remote>();
        if !remote.is_gone() && invoke(instance, function, &[]) == GONE {
            remote.complain();
        }
        drop(Box::from_raw(instance.cast::<Remote>()));
    }
}

unsafe extern "C" fn fmi2_get_string(instance: Instance, of: References, n: usize, to: *mut Text) -> c_int {
    // SAFETY: the arguments are what the standard asks for.
    unsafe { get_texts(instance, Function::fmi2_get_string, &[input(of, n), count(n), output(to, n)], to, n) }
}

unsafe extern "C" fn fmi3_get_string(
    instance: Instance,
    of: References,
    n: usize,
    to: *mut Text,
    m: usize,
) -> c_int {
    let arguments = [input(of, n), count(n), output(to, m), count(m)];
    // SAFETY: as above.
    unsafe { get_texts(instance, Function::fmi3_get_string, &arguments, to, m) }
}

/// Gets texts: the function gives addresses in the worker, whose texts are copied and kept until the next call.
unsafe fn get_texts(
    instance: Instance,
    function: Function,
    arguments: &[Argument],
    to: *mut Text,
    count: usize,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        let code = invoke(instance, function, arguments);
        let remote = &*instance.cast::<Remote>();
        if code != 0 && code != 1 {
            return code;
        }
        let mut texts = remote.texts.borrow_mut();
        texts.clear();
        for place in std::slice::from_raw_parts_mut(to, count) {
            if place.is_null() {
                continue;
            }
            let Ok(bytes) = remote.peek(*place as u64, None) else { return GONE };
            // A text has no zero inside.
            texts.push(CString::new(bytes).unwrap_or_default());
            *place = texts.last().map_or(std::ptr::null(), |text| text.as_ptr());
        }
        code
    }
}

unsafe extern "C" fn fmi3_get_binary(
    instance: Instance,
    of: References,
    n: usize,
    sizes: *mut usize,
    to: *mut *const u8,
    m: usize,
) -> c_int {
    let arguments = [input(of, n), count(n), output(sizes, m), output(to, m), count(m)];
    // SAFETY: the arguments are what the standard asks for.
    unsafe {
        let code = invoke(instance, Function::fmi3_get_binary, &arguments);
        let remote = &*instance.cast::<Remote>();
        if code != 0 && code != 1 {
            return code;
        }
        let mut kept = remote.binaries.borrow_mut();
        kept.clear();
        let places = std::slice::from_raw_parts_mut(to, m);
        for (place, size) in places.iter_mut().zip(std::slice::from_raw_parts(sizes, m)) {
            if place.is_null() {
                continue;
            }
            let Ok(bytes) = remote.peek(*place as u64, Some(*size)) else { return GONE };
            kept.push(bytes);
            *place = kept.last().map_or(std::ptr::null(), |bytes| bytes.as_ptr());
        }
        code
    }
}

unsafe extern "C" fn fmi2_set_string(
    instance: Instance,
    of: References,
    n: usize,
    from: *const Text,
) -> c_int {
    // SAFETY: the arguments are what the standard asks for.
    unsafe {
        let texts: Vec<&[u8]> = texts(from, n).collect();
        set_blocks(instance, Function::fmi2_set_string, &texts, |list| vec![input(of, n), count(n), list])
    }
}

unsafe extern "C" fn fmi3_set_string(
    instance: Instance,
    of: References,
    n: usize,
    from: *const Text,
    m: usize,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let texts: Vec<&[u8]> = texts(from, m).collect();
        let arguments = |list| vec![input(of, n), count(n), list, count(m)];
        set_blocks(instance, Function::fmi3_set_string, &texts, arguments)
    }
}

unsafe extern "C" fn fmi3_set_binary(
    instance: Instance,
    of: References,
    n: usize,
    sizes: *const usize,
    from: *const *const u8,
    m: usize,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let blocks: Vec<&[u8]> = std::slice::from_raw_parts(from, m)
            .iter()
            .zip(std::slice::from_raw_parts(sizes, m))
            .map(|(block, size)| if *size == 0 { &[][..] } else { std::slice::from_raw_parts(*block, *size) })
            .collect();
        let arguments = |list| vec![input(of, n), count(n), input(sizes, m), list, count(m)];
        set_blocks(instance, Function::fmi3_set_binary, &blocks, arguments)
    }
}

/// Texts with the zeros at their ends.
unsafe fn texts<'a>(from: *const Text, count: usize) -> impl Iterator<Item = &'a [u8]> {
    // SAFETY: promised by the caller: so many texts that live during the call.
    unsafe { std::slice::from_raw_parts(from, count) }
        .iter()
        .map(|text| unsafe { CStr::from_ptr(*text) }.to_bytes_with_nul())
}

/// Calls a function with a list of addresses of blocks in the worker.
unsafe fn set_blocks(
    instance: Instance,
    function: Function,
    blocks: &[&[u8]],
    arguments: impl FnOnce(Argument) -> Vec<Argument>,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        let remote = &*instance.cast::<Remote>();
        remote.with_blocks(blocks, |addresses| {
            let list = input(addresses.as_ptr(), addresses.len());
            invoke(instance, function, &arguments(list))
        })
    }
}

/// A path or an address of a file, as Windows programs know it.
unsafe fn for_windows(text: Text) -> CString {
    if text.is_null() {
        return CString::default();
    }
    // SAFETY: promised by the caller.
    let path = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let path = match path.strip_prefix("file://") {
        Some(rest) => format!("file:///Z:{rest}"),
        None => windows_path(Path::new(&*path)),
    };
    CString::new(path).unwrap_or_default()
}
