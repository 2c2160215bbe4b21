//! FMI 3.0: what only this version has.

use super::instance::Context;
use super::log::record;
use super::plain::PlainCalls;
use super::table::{Function, table};
use super::{CallError, Instantiation, Kind, Moment, StepCall, StepInfo, trace};
use crate::description::ValueType;
use std::ffi::{CString, c_char, c_int, c_void};

type InstancePointer = *mut c_void;
type StatusCode = c_int;
type Reference = u32;
type Text = *const c_char;
type Bytes = *const u8;
type LogCallback = unsafe extern "C" fn(*mut c_void, StatusCode, Text, Text);
type IntermediateCallback =
    unsafe extern "C" fn(*mut c_void, f64, bool, bool, bool, bool, *mut bool, *mut f64);

/// A function that gets numbers of some type. Arrays pass all their elements.
type Get = unsafe extern "C" fn(InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
/// A function that sets numbers of some type.
type Set = unsafe extern "C" fn(InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
type DoStep =
    unsafe extern "C" fn(InstancePointer, f64, f64, bool, *mut u8, *mut u8, *mut u8, *mut f64) -> StatusCode;

/// The names of the functions that the versions share.
pub(super) const SHARED: [&str; 18] = [
    "fmi3FreeInstance",
    "fmi3ExitInitializationMode",
    "fmi3Terminate",
    "fmi3Reset",
    "fmi3GetFMUState",
    "fmi3SetFMUState",
    "fmi3FreeFMUState",
    "fmi3SerializedFMUStateSize",
    "fmi3SerializeFMUState",
    "fmi3DeserializeFMUState",
    "fmi3EnterEventMode",
    "fmi3EnterContinuousTimeMode",
    "fmi3SetTime",
    "fmi3SetContinuousStates",
    "fmi3GetContinuousStates",
    "fmi3GetNominalsOfContinuousStates",
    "fmi3GetContinuousStateDerivatives",
    "fmi3GetEventIndicators",
];

table! {
    /// Functions of FMI 3.0. Required are those every FMU of any kind must have.
    Functions {
        _get_version "fmi3GetVersion" () -> Text;
        enter_initialization_mode "fmi3EnterInitializationMode" (InstancePointer, bool, f64, f64, bool, f64) -> StatusCode;
        get_float64 "fmi3GetFloat64" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        set_float64 "fmi3SetFloat64" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
    } optional {
        instantiate_model_exchange "fmi3InstantiateModelExchange" (Text, Text, Text, bool, bool, *mut c_void, LogCallback) -> InstancePointer;
        instantiate_co_simulation "fmi3InstantiateCoSimulation" (Text, Text, Text, bool, bool, bool, bool, *const Reference, usize, *mut c_void, LogCallback, Option<IntermediateCallback>) -> InstancePointer;
        get_float32 "fmi3GetFloat32" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        get_int8 "fmi3GetInt8" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        get_uint8 "fmi3GetUInt8" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        get_int16 "fmi3GetInt16" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        get_uint16 "fmi3GetUInt16" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        get_int32 "fmi3GetInt32" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        get_uint32 "fmi3GetUInt32" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        get_int64 "fmi3GetInt64" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        get_uint64 "fmi3GetUInt64" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        get_boolean "fmi3GetBoolean" (InstancePointer, *const Reference, usize, *mut c_void, usize) -> StatusCode;
        get_string "fmi3GetString" (InstancePointer, *const Reference, usize, *mut Text, usize) -> StatusCode;
        get_binary "fmi3GetBinary" (InstancePointer, *const Reference, usize, *mut usize, *mut Bytes, usize) -> StatusCode;
        get_clock "fmi3GetClock" (InstancePointer, *const Reference, usize, *mut u8) -> StatusCode;
        set_float32 "fmi3SetFloat32" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
        set_int8 "fmi3SetInt8" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
        set_uint8 "fmi3SetUInt8" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
        set_int16 "fmi3SetInt16" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
        set_uint16 "fmi3SetUInt16" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
        set_int32 "fmi3SetInt32" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
        set_uint32 "fmi3SetUInt32" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
        set_int64 "fmi3SetInt64" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
        set_uint64 "fmi3SetUInt64" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
        set_boolean "fmi3SetBoolean" (InstancePointer, *const Reference, usize, *const c_void, usize) -> StatusCode;
        set_string "fmi3SetString" (InstancePointer, *const Reference, usize, *const Text, usize) -> StatusCode;
        set_binary "fmi3SetBinary" (InstancePointer, *const Reference, usize, *const usize, *const Bytes, usize) -> StatusCode;
        set_clock "fmi3SetClock" (InstancePointer, *const Reference, usize, *const u8) -> StatusCode;
        get_directional_derivative "fmi3GetDirectionalDerivative" (InstancePointer, *const Reference, usize, *const Reference, usize, *const f64, usize, *mut f64, usize) -> StatusCode;
        get_adjoint_derivative "fmi3GetAdjointDerivative" (InstancePointer, *const Reference, usize, *const Reference, usize, *const f64, usize, *mut f64, usize) -> StatusCode;
        enter_configuration_mode "fmi3EnterConfigurationMode" (InstancePointer) -> StatusCode;
        exit_configuration_mode "fmi3ExitConfigurationMode" (InstancePointer) -> StatusCode;
        get_interval_decimal "fmi3GetIntervalDecimal" (InstancePointer, *const Reference, usize, *mut f64, *mut c_int) -> StatusCode;
        get_interval_fraction "fmi3GetIntervalFraction" (InstancePointer, *const Reference, usize, *mut u64, *mut u64, *mut c_int) -> StatusCode;
        update_discrete_states "fmi3UpdateDiscreteStates" (InstancePointer, *mut u8, *mut u8, *mut u8, *mut u8, *mut u8, *mut f64) -> StatusCode;
        completed_integrator_step "fmi3CompletedIntegratorStep" (InstancePointer, bool, *mut u8, *mut u8) -> StatusCode;
        enter_step_mode "fmi3EnterStepMode" (InstancePointer) -> StatusCode;
        do_step "fmi3DoStep" (InstancePointer, f64, f64, bool, *mut u8, *mut u8, *mut u8, *mut f64) -> StatusCode;
    }
}

impl Functions {
    /// The name of the function that makes such an instance.
    pub(super) fn instantiation(kind: Kind) -> &'static str {
        match kind {
            Kind::CoSimulation => "fmi3InstantiateCoSimulation",
            Kind::ModelExchange => "fmi3InstantiateModelExchange",
        }
    }

    /// `fmi3InstantiateCoSimulation`, or `fmi3InstantiateModelExchange`.
    ///
    /// # Safety
    ///
    /// The context lives as long as the instance.
    pub(super) unsafe fn instantiate(
        &self,
        with: &Instantiation<'_>,
        [name, token, resources]: &[CString; 3],
        context: *mut Context,
    ) -> Result<InstancePointer, CallError> {
        let (name, token, resources) = (name.as_ptr(), token.as_ptr(), resources.as_ptr());
        let (logging, context) = (with.debug_logging, context.cast());
        let references = with.intermediate.unwrap_or(&[]);
        let update: Option<IntermediateCallback> = with.intermediate.map(|_| intermediate_update as _);
        // SAFETY: promised by the caller; texts and references live during the call.
        Ok(unsafe {
            match with.kind {
                Kind::ModelExchange => {
                    let make = self.instantiate_model_exchange.get()?.pointer;
                    make(name, token, resources, false, logging, context, log_message)
                }
                Kind::CoSimulation => (self.instantiate_co_simulation.get()?.pointer)(
                    name,
                    token,
                    resources,
                    false,
                    logging,
                    with.event_mode,
                    with.early_return,
                    references.as_ptr(),
                    references.len(),
                    context,
                    log_message,
                    update,
                ),
            }
        })
    }

    /// What gets numbers of a type.
    pub(super) fn getter(&self, value_type: ValueType) -> Result<&Function<Get>, CallError> {
        match value_type {
            ValueType::Float32 => self.get_float32.get(),
            ValueType::Int8 => self.get_int8.get(),
            ValueType::UInt8 => self.get_uint8.get(),
            ValueType::Int16 => self.get_int16.get(),
            ValueType::UInt16 => self.get_uint16.get(),
            ValueType::Int32 => self.get_int32.get(),
            ValueType::UInt32 => self.get_uint32.get(),
            ValueType::Int64 | ValueType::Enumeration => self.get_int64.get(),
            ValueType::UInt64 => self.get_uint64.get(),
            ValueType::Boolean => self.get_boolean.get(),
            _ => Ok(&self.get_float64),
        }
    }

    /// What sets numbers of a type.
    pub(super) fn setter(&self, value_type: ValueType) -> Result<&Function<Set>, CallError> {
        match value_type {
            ValueType::Float32 => self.set_float32.get(),
            ValueType::Int8 => self.set_int8.get(),
            ValueType::UInt8 => self.set_uint8.get(),
            ValueType::Int16 => self.set_int16.get(),
            ValueType::UInt16 => self.set_uint16.get(),
            ValueType::Int32 => self.set_int32.get(),
            ValueType::UInt32 => self.set_uint32.get(),
            ValueType::Int64 | ValueType::Enumeration => self.set_int64.get(),
            ValueType::UInt64 => self.set_uint64.get(),
            ValueType::Boolean => self.set_boolean.get(),
            _ => Ok(&self.set_float64),
        }
    }
}

/// Called by the FMU to say something.
///
/// # Safety
///
/// `environment` is the context of an instance; the texts are null or end with a zero byte.
unsafe extern "C" fn log_message(environment: *mut c_void, status: StatusCode, category: Text, text: Text) {
    // SAFETY: promised by the caller; the context begins with its environment.
    unsafe { record(environment, status, category, text) }
}

/// Called by the FMU inside a step.
///
/// # Safety
///
/// `environment` is the context of an instance, and the calling thread is inside `fmi3DoStep` of that instance.
unsafe extern "C" fn intermediate_update(
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
        running.answer(Moment { time, set_requested, get_allowed, step_finished });
        let instance = running.instance();
        trace::enter(const { trace::number("fmi3DoStep") }, instance);
    }
}

/// What plain steps call.
pub(super) struct Plain {
    set: Set,
    step: DoStep,
    get: Get,
}

impl Plain {
    pub(super) fn of(functions: &Functions) -> Option<Plain> {
        let step = functions.do_step.get().ok()?.pointer;
        Some(Plain { set: functions.set_float64.pointer, step, get: functions.get_float64.pointer })
    }
}

impl PlainCalls for Plain {
    const NAMES: [&'static str; 3] = ["fmi3SetFloat64", "fmi3DoStep", "fmi3GetFloat64"];

    #[inline(always)]
    unsafe fn set(&self, instance: *mut c_void, references: &[u32], values: *const f64) -> c_int {
        let count = references.len();
        // SAFETY: promised by the caller.
        unsafe { (self.set)(instance, references.as_ptr(), count, values.cast(), count) }
    }

    #[inline(always)]
    unsafe fn step(&self, instance: *mut c_void, step: StepCall) -> (c_int, Option<StepInfo>) {
        let StepCall { time, size, never_back } = step;
        let (mut event, mut terminate, mut early, mut reached) = (0_u8, 0_u8, 0_u8, time + size);
        let (to_event, to_end) = (&raw mut event, &raw mut terminate);
        // SAFETY: promised by the caller; the places to write to are those of the standard.
        let code = unsafe {
            (self.step)(instance, time, size, never_back, to_event, to_end, &mut early, &mut reached)
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
        unsafe { (self.get)(instance, references.as_ptr(), count, values.cast(), count) }
    }
}
