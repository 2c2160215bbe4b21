//! FMI 3.0.

use super::log::{Environment, record};
use super::table::table;
use super::{CallError, Interruption, Kind, Log, Owned, State, Status, c_string, trace};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

type InstancePointer = *mut c_void;
type StatusCode = c_int;
type Reference = u32;
type Text = *const c_char;
type Bytes = *const u8;
type LogCallback = unsafe extern "C" fn(*mut c_void, StatusCode, Text, Text);
type IntermediateCallback =
    unsafe extern "C" fn(*mut c_void, f64, bool, bool, bool, bool, *mut bool, *mut f64);
type ClockCallback = unsafe extern "C" fn(*mut c_void);
type PreemptionCallback = unsafe extern "C" fn();

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

/// What an instance is made with.
pub(crate) struct Instantiation<'a> {
    pub(crate) kind: Kind,
    pub(crate) name: &'a str,
    pub(crate) token: &'a str,
    /// A path that ends with a separator.
    pub(crate) resources: &'a str,
    pub(crate) debug_logging: bool,
    pub(crate) log: Arc<Log>,
    /// Variables set or read inside steps; `None` for an FMU without intermediate updates.
    pub(crate) intermediate: Option<&'a [u32]>,
    /// The importer handles events.
    pub(crate) event_mode: bool,
    /// Steps may end early.
    pub(crate) early_return: bool,
}

/// A moment inside a step at which the FMU asks back.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Simulated time.
    pub time: f64,
    /// Inputs may be set.
    pub set_requested: bool,
    /// Outputs may be read.
    pub get_allowed: bool,
    /// A step of the FMU's own solver ends here.
    pub step_finished: bool,
}

/// What a step ended with.
#[derive(Clone, Copy, Debug)]
pub struct StepInfo {
    /// The FMU wants an event at the time it came to.
    pub event_needed: bool,
    /// The FMU wants to end the simulation.
    pub terminate_simulation: bool,
    /// It stopped before the end of the step.
    pub early_return: bool,
    /// How far it came.
    pub last_successful_time: f64,
}

/// What is called back inside a step.
pub type Update<'a> = dyn FnMut(&Instance, Moment) -> Result<(), CallError> + 'a;

/// The callback of the running step, and what went wrong in it.
struct Running {
    instance: *const Instance,
    update: *mut Update<'static>,
    failure: Option<CallError>,
}

/// What the FMU keeps a pointer to while the instance lives. The environment comes first: loggers look for it there.
#[repr(C)]
struct Context {
    environment: Environment,
    running: Cell<*mut Running>,
}

/// An instance.
pub struct Instance {
    functions: Arc<Functions>,
    pointer: Owned<c_void>,
    context: Owned<Context>,
    log: Arc<Log>,
    is_dead: Cell<bool>,
}

/// Calls a function of the table and turns its status into a result.
macro_rules! call {
    ($self:ident, $name:literal, $function:expr $(, $argument:expr)*) => {{
        $self.alive($name)?;
        $crate::ffi::trace::enter(const { $crate::ffi::trace::number($name) });
        // SAFETY: the instance is alive, and the arguments are what the standard asks for: buffers of the lengths given.
        let code = unsafe { ($function)($self.pointer.as_ptr() $(, $argument)*) };
        $self.check($name, code)
    }};
}

/// An optional function, or the complaint that it is missing.
macro_rules! function {
    ($self:ident, $field:ident, $name:literal) => {
        $self.functions.$field.ok_or(CallError::Missing { call: $name })?
    };
}

/// Getter and setter of one type. Arrays pass all their elements: `values` is as long as all variables together.
macro_rules! accessors {
    ($($type:ty: $get:ident $get_symbol:literal $set:ident $set_symbol:literal;)*) => {$(
        #[doc = concat!("`", $get_symbol, "`. The values of arrays lie side by side.")]
        pub fn $get(&self, references: &[u32], values: &mut [$type]) -> Result<(), CallError> {
            let get = function!(self, $get, $get_symbol);
            call!(self, $get_symbol, get, references.as_ptr(), references.len(), values.as_mut_ptr(), values.len())
        }

        #[doc = concat!("`", $set_symbol, "`. The values of arrays lie side by side.")]
        pub fn $set(&self, references: &[u32], values: &[$type]) -> Result<(), CallError> {
            let set = function!(self, $set, $set_symbol);
            call!(self, $set_symbol, set, references.as_ptr(), references.len(), values.as_ptr(), values.len())
        }
    )*};
}

mod events;
mod exchange;
mod words;

pub use events::IntervalQualifier;

impl Instance {
    /// `fmi3InstantiateCoSimulation`, or `fmi3InstantiateModelExchange`.
    pub(crate) fn new(functions: &Arc<Functions>, with: &Instantiation<'_>) -> Result<Instance, CallError> {
        if with.kind == Kind::ModelExchange {
            return Instance::exchange(functions, with);
        }
        const CALL: &str = "fmi3InstantiateCoSimulation";
        let instantiate = functions.instantiate_co_simulation.ok_or(CallError::Missing { call: CALL })?;
        let name = c_string(CALL, "the instance name", with.name)?;
        let token = c_string(CALL, "the instantiation token", with.token)?;
        let resources = c_string(CALL, "the resource path", with.resources)?;
        let context = Instance::context(with);
        let references = with.intermediate.unwrap_or(&[]);
        trace::enter(const { trace::number(CALL) });
        let update: Option<IntermediateCallback> = with.intermediate.map(|_| intermediate_update as _);
        // SAFETY: the context is alive until the instance is dropped; texts and references live during the call.
        let pointer = unsafe {
            instantiate(
                name.as_ptr(),
                token.as_ptr(),
                resources.as_ptr(),
                false,
                with.debug_logging,
                with.event_mode,
                with.early_return,
                references.as_ptr(),
                references.len(),
                context.as_ptr().cast(),
                log_message,
                update,
            )
        };
        Instance::made(CALL, functions, with, pointer, context)
    }

    /// What the FMU gets to call back with.
    fn context(with: &Instantiation<'_>) -> Owned<Context> {
        let environment = Environment::new(with.log.clone());
        let context = Context { environment, running: Cell::new(std::ptr::null_mut()) };
        Owned(NonNull::from(Box::leak(Box::new(context))))
    }

    /// The instance, if there is one.
    fn made(
        call: &'static str,
        functions: &Arc<Functions>,
        with: &Instantiation<'_>,
        pointer: InstancePointer,
        context: Owned<Context>,
    ) -> Result<Instance, CallError> {
        let Some(pointer) = NonNull::new(pointer) else {
            // SAFETY: no instance was made that could use it.
            drop(unsafe { Box::from_raw(context.as_ptr()) });
            return Err(CallError::NoInstance { call, messages: with.log.take() });
        };
        Ok(Instance {
            functions: functions.clone(),
            pointer: Owned(pointer),
            context,
            log: with.log.clone(),
            is_dead: Cell::new(false),
        })
    }

    /// Its log.
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    fn alive(&self, call: &'static str) -> Result<(), CallError> {
        if self.is_dead.get() { Err(CallError::Dead { call }) } else { Ok(()) }
    }

    #[inline]
    fn check(&self, call: &'static str, code: StatusCode) -> Result<(), CallError> {
        if (0..=1).contains(&code) { Ok(()) } else { Err(self.failed(call, code.into())) }
    }

    #[cold]
    fn failed(&self, call: &'static str, status: Status) -> CallError {
        if status == Status::Fatal {
            self.is_dead.set(true);
        }
        CallError::Status { call, status, messages: self.log.take() }
    }

    /// `fmi3EnterInitializationMode`.
    pub fn enter_initialization_mode(
        &self,
        tolerance: Option<f64>,
        start: f64,
        stop: Option<f64>,
    ) -> Result<(), CallError> {
        let (has_tolerance, tolerance) = (tolerance.is_some(), tolerance.unwrap_or(0.0));
        let (has_stop, stop) = (stop.is_some(), stop.unwrap_or(0.0));
        let enter = self.functions.enter_initialization_mode;
        call!(self, "fmi3EnterInitializationMode", enter, has_tolerance, tolerance, start, has_stop, stop)
    }

    /// `fmi3ExitInitializationMode`.
    pub fn exit_initialization_mode(&self) -> Result<(), CallError> {
        call!(self, "fmi3ExitInitializationMode", self.functions.exit_initialization_mode)
    }

    /// `fmi3Terminate`.
    pub fn terminate(&self) -> Result<(), CallError> {
        call!(self, "fmi3Terminate", self.functions.terminate)
    }

    /// `fmi3Reset`.
    pub fn reset(&self) -> Result<(), CallError> {
        call!(self, "fmi3Reset", self.functions.reset)
    }

    /// `fmi3GetFloat64`. The values of arrays lie side by side.
    #[inline]
    pub fn get_float64(&self, references: &[u32], values: &mut [f64]) -> Result<(), CallError> {
        let get = self.functions.get_float64;
        call!(
            self,
            "fmi3GetFloat64",
            get,
            references.as_ptr(),
            references.len(),
            values.as_mut_ptr(),
            values.len()
        )
    }

    /// `fmi3SetFloat64`. The values of arrays lie side by side.
    #[inline]
    pub fn set_float64(&self, references: &[u32], values: &[f64]) -> Result<(), CallError> {
        let set = self.functions.set_float64;
        call!(
            self,
            "fmi3SetFloat64",
            set,
            references.as_ptr(),
            references.len(),
            values.as_ptr(),
            values.len()
        )
    }

    accessors! {
        f32: get_float32 "fmi3GetFloat32" set_float32 "fmi3SetFloat32";
        i8: get_int8 "fmi3GetInt8" set_int8 "fmi3SetInt8";
        u8: get_uint8 "fmi3GetUInt8" set_uint8 "fmi3SetUInt8";
        i16: get_int16 "fmi3GetInt16" set_int16 "fmi3SetInt16";
        u16: get_uint16 "fmi3GetUInt16" set_uint16 "fmi3SetUInt16";
        i32: get_int32 "fmi3GetInt32" set_int32 "fmi3SetInt32";
        u32: get_uint32 "fmi3GetUInt32" set_uint32 "fmi3SetUInt32";
        i64: get_int64 "fmi3GetInt64" set_int64 "fmi3SetInt64";
        u64: get_uint64 "fmi3GetUInt64" set_uint64 "fmi3SetUInt64";
        u8: get_boolean "fmi3GetBoolean" set_boolean "fmi3SetBoolean";
    }

    /// `fmi3DoStep`; states saved before may be restored later. `update` answers the FMU's questions inside the step.
    pub fn do_step(&self, time: f64, size: f64, update: &mut Update<'_>) -> Result<StepInfo, CallError> {
        let step = function!(self, do_step, "fmi3DoStep");
        let update: *mut Update<'_> = update;
        // SAFETY: only the lifetime changes; the pointer is taken back before this function returns.
        let update = unsafe { std::mem::transmute::<*mut Update<'_>, *mut Update<'static>>(update) };
        let mut running = Running { instance: self, update, failure: None };
        let context = self.context.as_ptr();
        // SAFETY: the context lives as long as the instance, and only this thread uses it.
        unsafe { (*context).running.set(&raw mut running) };
        let (mut event, mut terminate, mut early, mut reached) = (0_u8, 0_u8, 0_u8, time + size);
        let mut run = || {
            call!(
                self,
                "fmi3DoStep",
                step,
                time,
                size,
                false,
                &mut event,
                &mut terminate,
                &mut early,
                &mut reached
            )
        };
        let done = run();
        // SAFETY: as above.
        unsafe { (*context).running.set(std::ptr::null_mut()) };
        if let Some(failure) = running.failure {
            return Err(failure);
        }
        done?;
        Ok(StepInfo {
            event_needed: event != 0,
            terminate_simulation: terminate != 0,
            early_return: early != 0,
            last_successful_time: reached,
        })
    }

    /// Sets reals, steps and gets reals, with nothing between the calls and no answer to questions inside the step.
    #[inline]
    pub(crate) fn plain_step(
        &self,
        time: f64,
        size: f64,
        (inputs, values): (&[u32], &[f64]),
        (outputs, results): (&[u32], &mut [f64]),
    ) -> Result<(), Box<Interruption>> {
        assert!(inputs.len() == values.len() && outputs.len() == results.len(), "one value per reference");
        let (Some(step), false) = (self.functions.do_step, self.is_dead.get()) else {
            return Err(Interruption::of(CallError::Dead { call: "fmi3DoStep" }));
        };
        self.log.set_time(time);
        let (functions, pointer, ok) = (&self.functions, self.pointer.as_ptr(), 0..=1);
        if !inputs.is_empty() {
            let count = inputs.len();
            trace::enter(const { trace::number("fmi3SetFloat64") });
            // SAFETY: the instance is alive, and the buffers have the lengths given.
            let code =
                unsafe { (functions.set_float64)(pointer, inputs.as_ptr(), count, values.as_ptr(), count) };
            if !ok.contains(&code) {
                return Err(Interruption::of(self.failed("fmi3SetFloat64", code.into())));
            }
        }
        let (mut event, mut terminate, mut early, mut reached) = (0_u8, 0_u8, 0_u8, time + size);
        trace::enter(const { trace::number("fmi3DoStep") });
        // SAFETY: the instance is alive, and the places to write to are those of the standard.
        let code =
            unsafe { step(pointer, time, size, false, &mut event, &mut terminate, &mut early, &mut reached) };
        if !ok.contains(&code) {
            return Err(Interruption::of(self.failed("fmi3DoStep", code.into())));
        }
        if terminate | early != 0 {
            let info = StepInfo {
                event_needed: event != 0,
                terminate_simulation: terminate != 0,
                early_return: early != 0,
                last_successful_time: reached,
            };
            return Err(Box::new(Interruption::Stopped(info)));
        }
        if outputs.is_empty() {
            return Ok(());
        }
        let (count, results) = (outputs.len(), results.as_mut_ptr());
        trace::enter(const { trace::number("fmi3GetFloat64") });
        // SAFETY: the instance is alive, and the buffers have the lengths given.
        let code = unsafe { (functions.get_float64)(pointer, outputs.as_ptr(), count, results, count) };
        if !ok.contains(&code) {
            return Err(Interruption::of(self.failed("fmi3GetFloat64", code.into())));
        }
        Ok(())
    }

    /// `fmi3GetOutputDerivatives`.
    pub fn get_output_derivatives(
        &self,
        references: &[u32],
        orders: &[i32],
        values: &mut [f64],
    ) -> Result<(), CallError> {
        assert_eq!(references.len(), orders.len(), "one order per reference");
        let get = function!(self, get_output_derivatives, "fmi3GetOutputDerivatives");
        let (count, orders) = (references.len(), orders.as_ptr());
        call!(
            self,
            "fmi3GetOutputDerivatives",
            get,
            references.as_ptr(),
            count,
            orders,
            values.as_mut_ptr(),
            values.len()
        )
    }

    /// `fmi3GetFMUState`, into `state`, whose memory is used again if there is some.
    pub fn get_state(&self, state: &mut Option<State>) -> Result<(), CallError> {
        const CALL: &str = "fmi3GetFMUState";
        let get = function!(self, get_fmu_state, "fmi3GetFMUState");
        let mut raw = state.as_ref().map_or(std::ptr::null_mut(), |state| state.0.as_ptr());
        call!(self, "fmi3GetFMUState", get, &mut raw)?;
        *state = NonNull::new(raw).map(|raw| State(Owned(raw)));
        if state.is_some() { Ok(()) } else { Err(CallError::NoState { call: CALL }) }
    }

    /// `fmi3SetFMUState`.
    pub fn set_state(&self, state: &State) -> Result<(), CallError> {
        let set = function!(self, set_fmu_state, "fmi3SetFMUState");
        call!(self, "fmi3SetFMUState", set, state.0.as_ptr())
    }

    /// `fmi3FreeFMUState`.
    pub fn free_state(&self, state: State) -> Result<(), CallError> {
        let free = function!(self, free_fmu_state, "fmi3FreeFMUState");
        let mut raw = state.0.as_ptr();
        call!(self, "fmi3FreeFMUState", free, &mut raw)
    }

    /// `fmi3SerializeFMUState`, appended to `bytes`.
    pub fn serialize(&self, state: &State, bytes: &mut Vec<u8>) -> Result<(), CallError> {
        let get_size = function!(self, serialized_fmu_state_size, "fmi3SerializedFMUStateSize");
        let write = function!(self, serialize_fmu_state, "fmi3SerializeFMUState");
        let mut size = 0;
        call!(self, "fmi3SerializedFMUStateSize", get_size, state.0.as_ptr(), &mut size)?;
        let at = bytes.len();
        bytes.resize(at + size, 0);
        call!(self, "fmi3SerializeFMUState", write, state.0.as_ptr(), bytes[at..].as_mut_ptr(), size)
    }

    /// `fmi3DeserializeFMUState`.
    pub fn deserialize(&self, bytes: &[u8]) -> Result<State, CallError> {
        let read = function!(self, deserialize_fmu_state, "fmi3DeserializeFMUState");
        let mut raw = std::ptr::null_mut();
        call!(self, "fmi3DeserializeFMUState", read, bytes.as_ptr(), bytes.len(), &mut raw)?;
        NonNull::new(raw)
            .map(|raw| State(Owned(raw)))
            .ok_or(CallError::NoState { call: "fmi3DeserializeFMUState" })
    }

    /// `fmi3GetDirectionalDerivative`: `change` of the unknowns for a change `seed` of the knowns.
    pub fn directional_derivative(
        &self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        change: &mut [f64],
    ) -> Result<(), CallError> {
        let get = function!(self, get_directional_derivative, "fmi3GetDirectionalDerivative");
        let (of, by) = (unknowns.as_ptr(), knowns.as_ptr());
        let (seeds, changes) = (seed.len(), change.len());
        call!(
            self,
            "fmi3GetDirectionalDerivative",
            get,
            of,
            unknowns.len(),
            by,
            knowns.len(),
            seed.as_ptr(),
            seeds,
            change.as_mut_ptr(),
            changes
        )
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.is_dead.get() {
            // After a fatal status not even freeing is allowed; the context stays, as the FMU may still use it.
            return;
        }
        // SAFETY: the instance is alive and never used again; then nobody knows the context any more.
        unsafe {
            trace::enter(const { trace::number("fmi3FreeInstance") });
            (self.functions.free_instance)(self.pointer.as_ptr());
            drop(Box::from_raw(self.context.as_ptr()));
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
        if running.failure.is_none() {
            let moment = Moment { time, set_requested, get_allowed, step_finished };
            running.failure = (*running.update)(&*running.instance, moment).err();
            trace::enter(const { trace::number("fmi3DoStep") });
        }
    }
}
