//! FMI 2.0.

use super::log::Environment;
use super::table::table;
use super::{CallError, Interruption, Kind, Log, Owned, State, Status, c_string, trace};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

type Component = *mut c_void;
type StatusCode = c_int;
type Boolean = c_int;
type Integer = c_int;
type Reference = c_uint;
type Text = *const c_char;

/// `fmi2CallbackFunctions`.
#[repr(C)]
pub struct Callbacks {
    logger: unsafe extern "C" fn(*mut c_void, Text, StatusCode, Text, Text, ...),
    allocate_memory: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    free_memory: unsafe extern "C" fn(*mut c_void),
    step_finished: Option<unsafe extern "C" fn(*mut c_void, StatusCode)>,
    component_environment: *mut c_void,
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
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "names of the standard")]
pub struct RawEventInfo {
    pub new_discrete_states_needed: c_int,
    pub terminate_simulation: c_int,
    pub nominals_of_continuous_states_changed: c_int,
    pub values_of_continuous_states_changed: c_int,
    pub next_event_time_defined: c_int,
    pub next_event_time: f64,
}

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

const LAST_SUCCESSFUL_TIME: c_int = 2;
const TERMINATED: c_int = 3;

/// What an instance is made with.
pub(crate) struct Instantiation<'a> {
    pub(crate) kind: Kind,
    pub(crate) name: &'a str,
    pub(crate) token: &'a str,
    /// A `file:` URI.
    pub(crate) resources: &'a str,
    pub(crate) debug_logging: bool,
    pub(crate) log: Arc<Log>,
}

/// What the FMU keeps pointers to while the instance lives.
struct Context {
    environment: Environment,
    callbacks: Callbacks,
}

/// An instance.
pub struct Instance {
    functions: Arc<Functions>,
    component: Owned<c_void>,
    context: Owned<Context>,
    log: Arc<Log>,
    is_dead: Cell<bool>,
}

/// Calls a function of the table and turns its status into a result.
macro_rules! call {
    ($self:ident, $name:literal, $function:expr $(, $argument:expr)*) => {{
        $self.alive($name)?;
        $crate::ffi::trace::enter(const { $crate::ffi::trace::number($name) });
        // SAFETY: the component is alive, and the arguments are what the standard asks for: buffers of the lengths given.
        let code = unsafe { ($function)($self.component.as_ptr() $(, $argument)*) };
        $self.check($name, code)
    }};
}

/// An optional function, or the complaint that it is missing.
macro_rules! function {
    ($self:ident, $field:ident, $name:literal) => {
        $self.functions.$field.ok_or(CallError::Missing { call: $name })?
    };
}

mod exchange;

impl Instance {
    /// `fmi2Instantiate`.
    pub(crate) fn new(functions: &Arc<Functions>, with: &Instantiation<'_>) -> Result<Instance, CallError> {
        const CALL: &str = "fmi2Instantiate";
        let name = c_string(CALL, "the instance name", with.name)?;
        let token = c_string(CALL, "the guid", with.token)?;
        let resources = c_string(CALL, "the resource location", with.resources)?;
        let kind = match with.kind {
            Kind::ModelExchange => 0,
            Kind::CoSimulation => 1,
        };
        let environment = Environment::new(with.log.clone());
        let callbacks = Callbacks {
            logger: koppel_fmi2_logger,
            allocate_memory: calloc,
            free_memory: free,
            step_finished: None,
            component_environment: std::ptr::null_mut(),
        };
        let context = Owned(NonNull::from(Box::leak(Box::new(Context { environment, callbacks }))));
        let raw = context.as_ptr();
        trace::enter(const { trace::number(CALL) });
        // SAFETY: `raw` is the box just made, alive until the instance is dropped; the texts live during the call.
        let component = unsafe {
            (*raw).callbacks.component_environment = (&raw mut (*raw).environment).cast();
            (functions.instantiate)(
                name.as_ptr(),
                kind,
                token.as_ptr(),
                resources.as_ptr(),
                &raw const (*raw).callbacks,
                0,
                with.debug_logging.into(),
            )
        };
        let Some(component) = NonNull::new(component) else {
            // SAFETY: no instance was made that could use it.
            drop(unsafe { Box::from_raw(raw) });
            return Err(CallError::NoInstance { call: CALL, messages: with.log.take() });
        };
        Ok(Instance {
            functions: functions.clone(),
            component: Owned(component),
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

    /// `fmi2SetupExperiment`.
    pub fn setup_experiment(
        &self,
        tolerance: Option<f64>,
        start: f64,
        stop: Option<f64>,
    ) -> Result<(), CallError> {
        let (has_tolerance, tolerance) = (tolerance.is_some().into(), tolerance.unwrap_or(0.0));
        let (has_stop, stop) = (stop.is_some().into(), stop.unwrap_or(0.0));
        let setup = self.functions.setup_experiment;
        call!(self, "fmi2SetupExperiment", setup, has_tolerance, tolerance, start, has_stop, stop)
    }

    /// `fmi2EnterInitializationMode`.
    pub fn enter_initialization_mode(&self) -> Result<(), CallError> {
        call!(self, "fmi2EnterInitializationMode", self.functions.enter_initialization_mode)
    }

    /// `fmi2ExitInitializationMode`.
    pub fn exit_initialization_mode(&self) -> Result<(), CallError> {
        call!(self, "fmi2ExitInitializationMode", self.functions.exit_initialization_mode)
    }

    /// `fmi2Terminate`.
    pub fn terminate(&self) -> Result<(), CallError> {
        call!(self, "fmi2Terminate", self.functions.terminate)
    }

    /// `fmi2Reset`.
    pub fn reset(&self) -> Result<(), CallError> {
        call!(self, "fmi2Reset", self.functions.reset)
    }

    /// `fmi2GetReal`.
    #[inline]
    pub fn get_real(&self, references: &[u32], values: &mut [f64]) -> Result<(), CallError> {
        assert_eq!(references.len(), values.len(), "one value per reference");
        let get = self.functions.get_real;
        call!(self, "fmi2GetReal", get, references.as_ptr(), references.len(), values.as_mut_ptr())
    }

    /// `fmi2SetReal`.
    #[inline]
    pub fn set_real(&self, references: &[u32], values: &[f64]) -> Result<(), CallError> {
        assert_eq!(references.len(), values.len(), "one value per reference");
        call!(
            self,
            "fmi2SetReal",
            self.functions.set_real,
            references.as_ptr(),
            references.len(),
            values.as_ptr()
        )
    }

    /// `fmi2GetInteger`, also for enumerations.
    pub fn get_integer(&self, references: &[u32], values: &mut [i32]) -> Result<(), CallError> {
        assert_eq!(references.len(), values.len(), "one value per reference");
        let get = self.functions.get_integer;
        call!(self, "fmi2GetInteger", get, references.as_ptr(), references.len(), values.as_mut_ptr())
    }

    /// `fmi2SetInteger`, also for enumerations.
    pub fn set_integer(&self, references: &[u32], values: &[i32]) -> Result<(), CallError> {
        assert_eq!(references.len(), values.len(), "one value per reference");
        let set = self.functions.set_integer;
        call!(self, "fmi2SetInteger", set, references.as_ptr(), references.len(), values.as_ptr())
    }

    /// `fmi2GetBoolean`; 0 is false.
    pub fn get_boolean(&self, references: &[u32], values: &mut [i32]) -> Result<(), CallError> {
        assert_eq!(references.len(), values.len(), "one value per reference");
        let get = self.functions.get_boolean;
        call!(self, "fmi2GetBoolean", get, references.as_ptr(), references.len(), values.as_mut_ptr())
    }

    /// `fmi2SetBoolean`; 0 is false.
    pub fn set_boolean(&self, references: &[u32], values: &[i32]) -> Result<(), CallError> {
        assert_eq!(references.len(), values.len(), "one value per reference");
        let set = self.functions.set_boolean;
        call!(self, "fmi2SetBoolean", set, references.as_ptr(), references.len(), values.as_ptr())
    }

    /// `fmi2GetString` for one variable.
    pub fn get_string(&self, reference: u32) -> Result<String, CallError> {
        let mut text: Text = std::ptr::null();
        call!(self, "fmi2GetString", self.functions.get_string, &reference, 1, &mut text)?;
        // SAFETY: the text belongs to the FMU and lives until the next call.
        Ok(unsafe { super::text_from(text) })
    }

    /// `fmi2SetString` for one variable.
    pub fn set_string(&self, reference: u32, text: &str) -> Result<(), CallError> {
        let text = c_string("fmi2SetString", "the text", text)?;
        call!(self, "fmi2SetString", self.functions.set_string, &reference, 1, &text.as_ptr())
    }

    /// `fmi2SetRealInputDerivatives`.
    pub fn set_real_input_derivatives(
        &self,
        references: &[u32],
        orders: &[i32],
        values: &[f64],
    ) -> Result<(), CallError> {
        assert!(
            references.len() == orders.len() && orders.len() == values.len(),
            "one order and value per reference"
        );
        let set = function!(self, set_real_input_derivatives, "fmi2SetRealInputDerivatives");
        let (count, orders) = (references.len(), orders.as_ptr());
        call!(self, "fmi2SetRealInputDerivatives", set, references.as_ptr(), count, orders, values.as_ptr())
    }

    /// `fmi2GetRealOutputDerivatives`.
    pub fn get_real_output_derivatives(
        &self,
        references: &[u32],
        orders: &[i32],
        values: &mut [f64],
    ) -> Result<(), CallError> {
        assert!(
            references.len() == orders.len() && orders.len() == values.len(),
            "one order and value per reference"
        );
        let get = function!(self, get_real_output_derivatives, "fmi2GetRealOutputDerivatives");
        let (count, orders) = (references.len(), orders.as_ptr());
        call!(
            self,
            "fmi2GetRealOutputDerivatives",
            get,
            references.as_ptr(),
            count,
            orders,
            values.as_mut_ptr()
        )
    }

    /// `fmi2DoStep`; states saved before may be restored later.
    #[inline]
    pub fn do_step(&self, time: f64, size: f64) -> Result<(), CallError> {
        let step = function!(self, do_step, "fmi2DoStep");
        call!(self, "fmi2DoStep", step, time, size, 0)
    }

    /// Sets reals, steps and gets reals, with nothing between the calls.
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
            return Err(Interruption::of(CallError::Dead { call: "fmi2DoStep" }));
        };
        self.log.set_time(time);
        let component = self.component.as_ptr();
        let ok = 0..=1;
        if !inputs.is_empty() {
            trace::enter(const { trace::number("fmi2SetReal") });
            // SAFETY: the component is alive, and the buffers have the lengths given.
            let code = unsafe {
                (self.functions.set_real)(component, inputs.as_ptr(), inputs.len(), values.as_ptr())
            };
            if !ok.contains(&code) {
                return Err(Interruption::of(self.failed("fmi2SetReal", code.into())));
            }
        }
        trace::enter(const { trace::number("fmi2DoStep") });
        // SAFETY: the component is alive.
        let code = unsafe { step(component, time, size, 0) };
        if !ok.contains(&code) {
            return Err(Interruption::of(self.failed("fmi2DoStep", code.into())));
        }
        if outputs.is_empty() {
            return Ok(());
        }
        let (count, results) = (outputs.len(), results.as_mut_ptr());
        trace::enter(const { trace::number("fmi2GetReal") });
        // SAFETY: the component is alive, and the buffers have the lengths given.
        let code = unsafe { (self.functions.get_real)(component, outputs.as_ptr(), count, results) };
        if !ok.contains(&code) {
            return Err(Interruption::of(self.failed("fmi2GetReal", code.into())));
        }
        Ok(())
    }

    /// After a discarded step: how far it came, if the FMU says.
    pub fn last_successful_time(&self) -> Option<f64> {
        let mut time = f64::NAN;
        let get = self.functions.get_real_status?;
        let mut read = || call!(self, "fmi2GetRealStatus", get, LAST_SUCCESSFUL_TIME, &mut time);
        read().ok().map(|()| time).filter(|time| time.is_finite())
    }

    /// After a discarded step: whether the FMU wants to end the simulation.
    pub fn is_terminated(&self) -> bool {
        let mut flag = 0;
        let Some(get) = self.functions.get_boolean_status else { return false };
        let mut read = || call!(self, "fmi2GetBooleanStatus", get, TERMINATED, &mut flag);
        read().is_ok_and(|()| flag != 0)
    }

    /// `fmi2GetFMUstate`, into `state`, whose memory is used again if there is some.
    pub fn get_state(&self, state: &mut Option<State>) -> Result<(), CallError> {
        const CALL: &str = "fmi2GetFMUstate";
        let get = function!(self, get_fmu_state, "fmi2GetFMUstate");
        let mut raw = state.as_ref().map_or(std::ptr::null_mut(), |state| state.0.as_ptr());
        call!(self, "fmi2GetFMUstate", get, &mut raw)?;
        *state = NonNull::new(raw).map(|raw| State(Owned(raw)));
        if state.is_some() { Ok(()) } else { Err(CallError::NoState { call: CALL }) }
    }

    /// `fmi2SetFMUstate`.
    pub fn set_state(&self, state: &State) -> Result<(), CallError> {
        let set = function!(self, set_fmu_state, "fmi2SetFMUstate");
        call!(self, "fmi2SetFMUstate", set, state.0.as_ptr())
    }

    /// `fmi2FreeFMUstate`.
    pub fn free_state(&self, state: State) -> Result<(), CallError> {
        let free = function!(self, free_fmu_state, "fmi2FreeFMUstate");
        let mut raw = state.0.as_ptr();
        call!(self, "fmi2FreeFMUstate", free, &mut raw)
    }

    /// `fmi2SerializeFMUstate`, appended to `bytes`.
    pub fn serialize(&self, state: &State, bytes: &mut Vec<u8>) -> Result<(), CallError> {
        let get_size = function!(self, serialized_fmu_state_size, "fmi2SerializedFMUstateSize");
        let write = function!(self, serialize_fmu_state, "fmi2SerializeFMUstate");
        let mut size = 0;
        call!(self, "fmi2SerializedFMUstateSize", get_size, state.0.as_ptr(), &mut size)?;
        let at = bytes.len();
        bytes.resize(at + size, 0);
        call!(self, "fmi2SerializeFMUstate", write, state.0.as_ptr(), bytes[at..].as_mut_ptr(), size)
    }

    /// `fmi2DeSerializeFMUstate`.
    pub fn deserialize(&self, bytes: &[u8]) -> Result<State, CallError> {
        let read = function!(self, deserialize_fmu_state, "fmi2DeSerializeFMUstate");
        let mut raw = std::ptr::null_mut();
        call!(self, "fmi2DeSerializeFMUstate", read, bytes.as_ptr(), bytes.len(), &mut raw)?;
        NonNull::new(raw)
            .map(|raw| State(Owned(raw)))
            .ok_or(CallError::NoState { call: "fmi2DeSerializeFMUstate" })
    }

    /// `fmi2GetDirectionalDerivative`: `change` of the unknowns for a change `seed` of the knowns.
    pub fn directional_derivative(
        &self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        change: &mut [f64],
    ) -> Result<(), CallError> {
        assert!(knowns.len() == seed.len() && unknowns.len() == change.len(), "one value per reference");
        let get = function!(self, get_directional_derivative, "fmi2GetDirectionalDerivative");
        let (of, by) = (unknowns.as_ptr(), knowns.as_ptr());
        call!(
            self,
            "fmi2GetDirectionalDerivative",
            get,
            of,
            unknowns.len(),
            by,
            knowns.len(),
            seed.as_ptr(),
            change.as_mut_ptr()
        )
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.is_dead.get() {
            // After a fatal status not even freeing is allowed; the context stays, as the FMU may still use it.
            return;
        }
        // SAFETY: the component is alive and never used again; then nobody knows the context any more.
        unsafe {
            trace::enter(const { trace::number("fmi2FreeInstance") });
            (self.functions.free_instance)(self.component.as_ptr());
            drop(Box::from_raw(self.context.as_ptr()));
        }
    }
}
