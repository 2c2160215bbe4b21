//! FMI 2.0: what only this version has.

use super::instance::Context;
use super::plain::PlainCalls;
use super::table::{Function, table};
use super::{Instantiation, Kind, StepCall, StepInfo};
use crate::description::ValueType;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};

type Component = *mut c_void;
type StatusCode = c_int;
type Boolean = c_int;
type Integer = c_int;
type Reference = c_uint;
type Text = *const c_char;

/// A function that gets numbers of some type.
type Get = unsafe extern "C" fn(Component, *const Reference, usize, *mut c_void) -> StatusCode;
/// A function that sets numbers of some type.
type Set = unsafe extern "C" fn(Component, *const Reference, usize, *const c_void) -> StatusCode;

/// `fmi2CallbackFunctions`.
#[repr(C)]
pub(super) struct Callbacks {
    logger: unsafe extern "C" fn(*mut c_void, Text, StatusCode, Text, Text, ...),
    allocate_memory: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    free_memory: unsafe extern "C" fn(*mut c_void),
    step_finished: Option<unsafe extern "C" fn(*mut c_void, StatusCode)>,
    component_environment: *mut c_void,
}

impl Default for Callbacks {
    fn default() -> Callbacks {
        Callbacks {
            logger: koppel_fmi2_logger,
            allocate_memory: calloc,
            free_memory: free,
            step_finished: None,
            component_environment: std::ptr::null_mut(),
        }
    }
}

unsafe extern "C" {
    fn koppel_fmi2_logger(
        environment: *mut c_void,
        instance: Text,
        status: c_int,
        category: Text,
        text: Text,
        ...
    );
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

/// `fmi2EventInfo`.
#[repr(C)]
#[derive(Default)]
pub(super) struct EventInfo {
    pub(super) new_discrete_states_needed: c_int,
    pub(super) terminate_simulation: c_int,
    pub(super) nominals_of_continuous_states_changed: c_int,
    pub(super) values_of_continuous_states_changed: c_int,
    pub(super) next_event_time_defined: c_int,
    pub(super) next_event_time: f64,
}

pub(super) const LAST_SUCCESSFUL_TIME: c_int = 2;
pub(super) const TERMINATED: c_int = 3;

/// The names of the functions that the versions share.
pub(super) const SHARED: [&str; 18] = [
    "fmi2FreeInstance",
    "fmi2ExitInitializationMode",
    "fmi2Terminate",
    "fmi2Reset",
    "fmi2GetFMUstate",
    "fmi2SetFMUstate",
    "fmi2FreeFMUstate",
    "fmi2SerializedFMUstateSize",
    "fmi2SerializeFMUstate",
    "fmi2DeSerializeFMUstate",
    "fmi2EnterEventMode",
    "fmi2EnterContinuousTimeMode",
    "fmi2SetTime",
    "fmi2SetContinuousStates",
    "fmi2GetContinuousStates",
    "fmi2GetNominalsOfContinuousStates",
    "fmi2GetDerivatives",
    "fmi2GetEventIndicators",
];

table! {
    /// Functions of FMI 2.0. Required are those every FMU of either kind must have.
    Functions {
        _get_version "fmi2GetVersion" () -> Text;
        instantiate "fmi2Instantiate" (Text, c_int, Text, Text, *const Callbacks, Boolean, Boolean) -> Component;
        setup_experiment "fmi2SetupExperiment" (Component, Boolean, f64, f64, Boolean, f64) -> StatusCode;
        enter_initialization_mode "fmi2EnterInitializationMode" (Component) -> StatusCode;
        get_real "fmi2GetReal" (Component, *const Reference, usize, *mut c_void) -> StatusCode;
        get_integer "fmi2GetInteger" (Component, *const Reference, usize, *mut c_void) -> StatusCode;
        get_boolean "fmi2GetBoolean" (Component, *const Reference, usize, *mut c_void) -> StatusCode;
        get_string "fmi2GetString" (Component, *const Reference, usize, *mut Text) -> StatusCode;
        set_real "fmi2SetReal" (Component, *const Reference, usize, *const c_void) -> StatusCode;
        set_integer "fmi2SetInteger" (Component, *const Reference, usize, *const c_void) -> StatusCode;
        set_boolean "fmi2SetBoolean" (Component, *const Reference, usize, *const c_void) -> StatusCode;
        set_string "fmi2SetString" (Component, *const Reference, usize, *const Text) -> StatusCode;
    } optional {
        get_directional_derivative "fmi2GetDirectionalDerivative" (Component, *const Reference, usize, *const Reference, usize, *const f64, *mut f64) -> StatusCode;
        new_discrete_states "fmi2NewDiscreteStates" (Component, *mut EventInfo) -> StatusCode;
        completed_integrator_step "fmi2CompletedIntegratorStep" (Component, Boolean, *mut Boolean, *mut Boolean) -> StatusCode;
        set_real_input_derivatives "fmi2SetRealInputDerivatives" (Component, *const Reference, usize, *const Integer, *const f64) -> StatusCode;
        do_step "fmi2DoStep" (Component, f64, f64, Boolean) -> StatusCode;
        get_real_status "fmi2GetRealStatus" (Component, c_int, *mut f64) -> StatusCode;
        get_boolean_status "fmi2GetBooleanStatus" (Component, c_int, *mut Boolean) -> StatusCode;
    }
}

impl Functions {
    /// `fmi2Instantiate`.
    ///
    /// # Safety
    ///
    /// The context lives as long as the instance.
    pub(super) unsafe fn instantiate(
        &self,
        with: &Instantiation<'_>,
        [name, token, resources]: &[CString; 3],
        context: *mut Context,
    ) -> Component {
        let kind = match with.kind {
            Kind::ModelExchange => 0,
            Kind::CoSimulation => 1,
        };
        // SAFETY: promised by the caller; the texts live during the call.
        unsafe {
            (*context).callbacks.component_environment = context.cast();
            (self.instantiate.pointer)(
                name.as_ptr(),
                kind,
                token.as_ptr(),
                resources.as_ptr(),
                &raw const (*context).callbacks,
                0,
                with.debug_logging.into(),
            )
        }
    }

    /// What gets numbers of a type: enumerations are integers.
    pub(super) fn getter(&self, value_type: ValueType) -> &Function<Get> {
        match value_type {
            ValueType::Boolean => &self.get_boolean,
            ValueType::Int32 | ValueType::Enumeration => &self.get_integer,
            _ => &self.get_real,
        }
    }

    /// What sets numbers of a type.
    pub(super) fn setter(&self, value_type: ValueType) -> &Function<Set> {
        match value_type {
            ValueType::Boolean => &self.set_boolean,
            ValueType::Int32 | ValueType::Enumeration => &self.set_integer,
            _ => &self.set_real,
        }
    }
}

/// What plain steps call.
pub(super) struct Plain {
    set: Set,
    step: unsafe extern "C" fn(Component, f64, f64, Boolean) -> StatusCode,
    get: Get,
}

impl Plain {
    pub(super) fn of(functions: &Functions) -> Option<Plain> {
        let step = functions.do_step.get().ok()?.pointer;
        Some(Plain { set: functions.set_real.pointer, step, get: functions.get_real.pointer })
    }
}

impl PlainCalls for Plain {
    const NAMES: [&'static str; 3] = ["fmi2SetReal", "fmi2DoStep", "fmi2GetReal"];

    #[inline(always)]
    unsafe fn set(&self, instance: *mut c_void, references: &[u32], values: *const f64) -> c_int {
        // SAFETY: promised by the caller.
        unsafe { (self.set)(instance, references.as_ptr(), references.len(), values.cast()) }
    }

    #[inline(always)]
    unsafe fn step(&self, instance: *mut c_void, step: StepCall) -> (c_int, Option<StepInfo>) {
        // SAFETY: promised by the caller.
        (unsafe { (self.step)(instance, step.time, step.size, step.never_back.into()) }, None)
    }

    #[inline(always)]
    unsafe fn get(&self, instance: *mut c_void, references: &[u32], values: *mut f64) -> c_int {
        // SAFETY: promised by the caller.
        unsafe { (self.get)(instance, references.as_ptr(), references.len(), values.cast()) }
    }
}
