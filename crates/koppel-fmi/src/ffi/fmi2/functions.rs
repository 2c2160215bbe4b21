//! The functions of FMI 2.0.

use super::{Boolean, Callbacks, Component, Integer, RawEventInfo, Reference, StatusCode, Text};
use crate::ffi::table::table;
use std::ffi::{c_int, c_void};

table! {
    /// All functions of FMI 2.0. Required are those every FMU of either kind must have.
    Functions {
        get_version "fmi2GetVersion" () -> Text;
        instantiate "fmi2Instantiate" (Text, c_int, Text, Text, *const Callbacks, Boolean, Boolean) -> Component;
        free_instance "fmi2FreeInstance" (Component);
        setup_experiment "fmi2SetupExperiment" (Component, Boolean, f64, f64, Boolean, f64) -> StatusCode;
        enter_initialization_mode "fmi2EnterInitializationMode" (Component) -> StatusCode;
        exit_initialization_mode "fmi2ExitInitializationMode" (Component) -> StatusCode;
        terminate "fmi2Terminate" (Component) -> StatusCode;
        reset "fmi2Reset" (Component) -> StatusCode;
        get_real "fmi2GetReal" (Component, *const Reference, usize, *mut f64) -> StatusCode;
        get_integer "fmi2GetInteger" (Component, *const Reference, usize, *mut Integer) -> StatusCode;
        get_boolean "fmi2GetBoolean" (Component, *const Reference, usize, *mut Boolean) -> StatusCode;
        get_string "fmi2GetString" (Component, *const Reference, usize, *mut Text) -> StatusCode;
        set_real "fmi2SetReal" (Component, *const Reference, usize, *const f64) -> StatusCode;
        set_integer "fmi2SetInteger" (Component, *const Reference, usize, *const Integer) -> StatusCode;
        set_boolean "fmi2SetBoolean" (Component, *const Reference, usize, *const Boolean) -> StatusCode;
        set_string "fmi2SetString" (Component, *const Reference, usize, *const Text) -> StatusCode;
    } optional {
        get_types_platform "fmi2GetTypesPlatform" () -> Text;
        set_debug_logging "fmi2SetDebugLogging" (Component, Boolean, usize, *const Text) -> StatusCode;
        get_fmu_state "fmi2GetFMUstate" (Component, *mut *mut c_void) -> StatusCode;
        set_fmu_state "fmi2SetFMUstate" (Component, *mut c_void) -> StatusCode;
        free_fmu_state "fmi2FreeFMUstate" (Component, *mut *mut c_void) -> StatusCode;
        serialized_fmu_state_size "fmi2SerializedFMUstateSize" (Component, *mut c_void, *mut usize) -> StatusCode;
        serialize_fmu_state "fmi2SerializeFMUstate" (Component, *mut c_void, *mut u8, usize) -> StatusCode;
        deserialize_fmu_state "fmi2DeSerializeFMUstate" (Component, *const u8, usize, *mut *mut c_void) -> StatusCode;
        get_directional_derivative "fmi2GetDirectionalDerivative" (Component, *const Reference, usize, *const Reference, usize, *const f64, *mut f64) -> StatusCode;
        enter_event_mode "fmi2EnterEventMode" (Component) -> StatusCode;
        new_discrete_states "fmi2NewDiscreteStates" (Component, *mut RawEventInfo) -> StatusCode;
        enter_continuous_time_mode "fmi2EnterContinuousTimeMode" (Component) -> StatusCode;
        completed_integrator_step "fmi2CompletedIntegratorStep" (Component, Boolean, *mut Boolean, *mut Boolean) -> StatusCode;
        set_time "fmi2SetTime" (Component, f64) -> StatusCode;
        set_continuous_states "fmi2SetContinuousStates" (Component, *const f64, usize) -> StatusCode;
        get_derivatives "fmi2GetDerivatives" (Component, *mut f64, usize) -> StatusCode;
        get_event_indicators "fmi2GetEventIndicators" (Component, *mut f64, usize) -> StatusCode;
        get_continuous_states "fmi2GetContinuousStates" (Component, *mut f64, usize) -> StatusCode;
        get_nominals_of_continuous_states "fmi2GetNominalsOfContinuousStates" (Component, *mut f64, usize) -> StatusCode;
        set_real_input_derivatives "fmi2SetRealInputDerivatives" (Component, *const Reference, usize, *const Integer, *const f64) -> StatusCode;
        get_real_output_derivatives "fmi2GetRealOutputDerivatives" (Component, *const Reference, usize, *const Integer, *mut f64) -> StatusCode;
        do_step "fmi2DoStep" (Component, f64, f64, Boolean) -> StatusCode;
        cancel_step "fmi2CancelStep" (Component) -> StatusCode;
        get_status "fmi2GetStatus" (Component, c_int, *mut StatusCode) -> StatusCode;
        get_real_status "fmi2GetRealStatus" (Component, c_int, *mut f64) -> StatusCode;
        get_integer_status "fmi2GetIntegerStatus" (Component, c_int, *mut Integer) -> StatusCode;
        get_boolean_status "fmi2GetBooleanStatus" (Component, c_int, *mut Boolean) -> StatusCode;
        get_string_status "fmi2GetStringStatus" (Component, c_int, *mut Text) -> StatusCode;
    }
}
