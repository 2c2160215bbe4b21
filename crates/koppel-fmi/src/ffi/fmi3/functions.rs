//! The functions of FMI 3.0.

use super::{
    Bytes, ClockCallback, InstancePointer, IntermediateCallback, LogCallback, PreemptionCallback, Reference,
    StatusCode, Text,
};
use crate::ffi::table::table;
use std::ffi::{c_int, c_void};

table! {
    /// All functions of FMI 3.0. Required are those every FMU of any kind must have.
    Functions {
        get_version "fmi3GetVersion" () -> Text;
        free_instance "fmi3FreeInstance" (InstancePointer);
        enter_initialization_mode "fmi3EnterInitializationMode" (InstancePointer, bool, f64, f64, bool, f64) -> StatusCode;
        exit_initialization_mode "fmi3ExitInitializationMode" (InstancePointer) -> StatusCode;
        terminate "fmi3Terminate" (InstancePointer) -> StatusCode;
        reset "fmi3Reset" (InstancePointer) -> StatusCode;
        get_float64 "fmi3GetFloat64" (InstancePointer, *const Reference, usize, *mut f64, usize) -> StatusCode;
        set_float64 "fmi3SetFloat64" (InstancePointer, *const Reference, usize, *const f64, usize) -> StatusCode;
    } optional {
        instantiate_model_exchange "fmi3InstantiateModelExchange" (Text, Text, Text, bool, bool, *mut c_void, LogCallback) -> InstancePointer;
        instantiate_co_simulation "fmi3InstantiateCoSimulation" (Text, Text, Text, bool, bool, bool, bool, *const Reference, usize, *mut c_void, LogCallback, Option<IntermediateCallback>) -> InstancePointer;
        instantiate_scheduled_execution "fmi3InstantiateScheduledExecution" (Text, Text, Text, bool, bool, *mut c_void, LogCallback, ClockCallback, PreemptionCallback, PreemptionCallback) -> InstancePointer;
        set_debug_logging "fmi3SetDebugLogging" (InstancePointer, bool, usize, *const Text) -> StatusCode;
        enter_event_mode "fmi3EnterEventMode" (InstancePointer) -> StatusCode;
        get_float32 "fmi3GetFloat32" (InstancePointer, *const Reference, usize, *mut f32, usize) -> StatusCode;
        get_int8 "fmi3GetInt8" (InstancePointer, *const Reference, usize, *mut i8, usize) -> StatusCode;
        get_uint8 "fmi3GetUInt8" (InstancePointer, *const Reference, usize, *mut u8, usize) -> StatusCode;
        get_int16 "fmi3GetInt16" (InstancePointer, *const Reference, usize, *mut i16, usize) -> StatusCode;
        get_uint16 "fmi3GetUInt16" (InstancePointer, *const Reference, usize, *mut u16, usize) -> StatusCode;
        get_int32 "fmi3GetInt32" (InstancePointer, *const Reference, usize, *mut i32, usize) -> StatusCode;
        get_uint32 "fmi3GetUInt32" (InstancePointer, *const Reference, usize, *mut u32, usize) -> StatusCode;
        get_int64 "fmi3GetInt64" (InstancePointer, *const Reference, usize, *mut i64, usize) -> StatusCode;
        get_uint64 "fmi3GetUInt64" (InstancePointer, *const Reference, usize, *mut u64, usize) -> StatusCode;
        get_boolean "fmi3GetBoolean" (InstancePointer, *const Reference, usize, *mut u8, usize) -> StatusCode;
        get_string "fmi3GetString" (InstancePointer, *const Reference, usize, *mut Text, usize) -> StatusCode;
        get_binary "fmi3GetBinary" (InstancePointer, *const Reference, usize, *mut usize, *mut Bytes, usize) -> StatusCode;
        get_clock "fmi3GetClock" (InstancePointer, *const Reference, usize, *mut u8) -> StatusCode;
        set_float32 "fmi3SetFloat32" (InstancePointer, *const Reference, usize, *const f32, usize) -> StatusCode;
        set_int8 "fmi3SetInt8" (InstancePointer, *const Reference, usize, *const i8, usize) -> StatusCode;
        set_uint8 "fmi3SetUInt8" (InstancePointer, *const Reference, usize, *const u8, usize) -> StatusCode;
        set_int16 "fmi3SetInt16" (InstancePointer, *const Reference, usize, *const i16, usize) -> StatusCode;
        set_uint16 "fmi3SetUInt16" (InstancePointer, *const Reference, usize, *const u16, usize) -> StatusCode;
        set_int32 "fmi3SetInt32" (InstancePointer, *const Reference, usize, *const i32, usize) -> StatusCode;
        set_uint32 "fmi3SetUInt32" (InstancePointer, *const Reference, usize, *const u32, usize) -> StatusCode;
        set_int64 "fmi3SetInt64" (InstancePointer, *const Reference, usize, *const i64, usize) -> StatusCode;
        set_uint64 "fmi3SetUInt64" (InstancePointer, *const Reference, usize, *const u64, usize) -> StatusCode;
        set_boolean "fmi3SetBoolean" (InstancePointer, *const Reference, usize, *const u8, usize) -> StatusCode;
        set_string "fmi3SetString" (InstancePointer, *const Reference, usize, *const Text, usize) -> StatusCode;
        set_binary "fmi3SetBinary" (InstancePointer, *const Reference, usize, *const usize, *const Bytes, usize) -> StatusCode;
        set_clock "fmi3SetClock" (InstancePointer, *const Reference, usize, *const u8) -> StatusCode;
        get_number_of_variable_dependencies "fmi3GetNumberOfVariableDependencies" (InstancePointer, Reference, *mut usize) -> StatusCode;
        get_variable_dependencies "fmi3GetVariableDependencies" (InstancePointer, Reference, *mut usize, *mut Reference, *mut usize, *mut c_int, usize) -> StatusCode;
        get_fmu_state "fmi3GetFMUState" (InstancePointer, *mut *mut c_void) -> StatusCode;
        set_fmu_state "fmi3SetFMUState" (InstancePointer, *mut c_void) -> StatusCode;
        free_fmu_state "fmi3FreeFMUState" (InstancePointer, *mut *mut c_void) -> StatusCode;
        serialized_fmu_state_size "fmi3SerializedFMUStateSize" (InstancePointer, *mut c_void, *mut usize) -> StatusCode;
        serialize_fmu_state "fmi3SerializeFMUState" (InstancePointer, *mut c_void, *mut u8, usize) -> StatusCode;
        deserialize_fmu_state "fmi3DeserializeFMUState" (InstancePointer, *const u8, usize, *mut *mut c_void) -> StatusCode;
        get_directional_derivative "fmi3GetDirectionalDerivative" (InstancePointer, *const Reference, usize, *const Reference, usize, *const f64, usize, *mut f64, usize) -> StatusCode;
        get_adjoint_derivative "fmi3GetAdjointDerivative" (InstancePointer, *const Reference, usize, *const Reference, usize, *const f64, usize, *mut f64, usize) -> StatusCode;
        enter_configuration_mode "fmi3EnterConfigurationMode" (InstancePointer) -> StatusCode;
        exit_configuration_mode "fmi3ExitConfigurationMode" (InstancePointer) -> StatusCode;
        get_interval_decimal "fmi3GetIntervalDecimal" (InstancePointer, *const Reference, usize, *mut f64, *mut c_int) -> StatusCode;
        get_interval_fraction "fmi3GetIntervalFraction" (InstancePointer, *const Reference, usize, *mut u64, *mut u64, *mut c_int) -> StatusCode;
        get_shift_decimal "fmi3GetShiftDecimal" (InstancePointer, *const Reference, usize, *mut f64) -> StatusCode;
        get_shift_fraction "fmi3GetShiftFraction" (InstancePointer, *const Reference, usize, *mut u64, *mut u64) -> StatusCode;
        set_interval_decimal "fmi3SetIntervalDecimal" (InstancePointer, *const Reference, usize, *const f64) -> StatusCode;
        set_interval_fraction "fmi3SetIntervalFraction" (InstancePointer, *const Reference, usize, *const u64, *const u64) -> StatusCode;
        set_shift_decimal "fmi3SetShiftDecimal" (InstancePointer, *const Reference, usize, *const f64) -> StatusCode;
        set_shift_fraction "fmi3SetShiftFraction" (InstancePointer, *const Reference, usize, *const u64, *const u64) -> StatusCode;
        evaluate_discrete_states "fmi3EvaluateDiscreteStates" (InstancePointer) -> StatusCode;
        update_discrete_states "fmi3UpdateDiscreteStates" (InstancePointer, *mut bool, *mut bool, *mut bool, *mut bool, *mut bool, *mut f64) -> StatusCode;
        enter_continuous_time_mode "fmi3EnterContinuousTimeMode" (InstancePointer) -> StatusCode;
        completed_integrator_step "fmi3CompletedIntegratorStep" (InstancePointer, bool, *mut bool, *mut bool) -> StatusCode;
        set_time "fmi3SetTime" (InstancePointer, f64) -> StatusCode;
        set_continuous_states "fmi3SetContinuousStates" (InstancePointer, *const f64, usize) -> StatusCode;
        get_continuous_state_derivatives "fmi3GetContinuousStateDerivatives" (InstancePointer, *mut f64, usize) -> StatusCode;
        get_event_indicators "fmi3GetEventIndicators" (InstancePointer, *mut f64, usize) -> StatusCode;
        get_continuous_states "fmi3GetContinuousStates" (InstancePointer, *mut f64, usize) -> StatusCode;
        get_nominals_of_continuous_states "fmi3GetNominalsOfContinuousStates" (InstancePointer, *mut f64, usize) -> StatusCode;
        get_number_of_event_indicators "fmi3GetNumberOfEventIndicators" (InstancePointer, *mut usize) -> StatusCode;
        get_number_of_continuous_states "fmi3GetNumberOfContinuousStates" (InstancePointer, *mut usize) -> StatusCode;
        enter_step_mode "fmi3EnterStepMode" (InstancePointer) -> StatusCode;
        get_output_derivatives "fmi3GetOutputDerivatives" (InstancePointer, *const Reference, usize, *const i32, *mut f64, usize) -> StatusCode;
        do_step "fmi3DoStep" (InstancePointer, f64, f64, bool, *mut u8, *mut u8, *mut u8, *mut f64) -> StatusCode;
        activate_model_partition "fmi3ActivateModelPartition" (InstancePointer, Reference, f64) -> StatusCode;
    }
}
