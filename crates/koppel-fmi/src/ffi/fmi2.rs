//! FMI 2.0.

use super::fmi3::StepInfo;
use super::log::Environment;
use super::plain::{self, PlainStep};
use super::twins::{call, function, lists, simple, twins};
use super::{CallError, Instantiation, Kind, Life, Log, Owned, StepCall, c_string, trace};
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

const LAST_SUCCESSFUL_TIME: c_int = 2;
const TERMINATED: c_int = 3;

/// What the FMU keeps pointers to while the instance lives.
struct Context {
    environment: Environment,
    callbacks: Callbacks,
}

/// An instance.
pub struct Instance {
    functions: Arc<Functions>,
    pointer: Owned<c_void>,
    context: Owned<Context>,
    log: Arc<Log>,
    plain: Option<PlainStep<PlainCalls>>,
    life: Cell<Life>,
}

/// What plain steps call.
struct PlainCalls {
    set: unsafe extern "C" fn(Component, *const Reference, usize, *const f64) -> StatusCode,
    step: unsafe extern "C" fn(Component, f64, f64, Boolean) -> StatusCode,
    get: unsafe extern "C" fn(Component, *const Reference, usize, *mut f64) -> StatusCode,
}

impl PlainCalls {
    fn of(functions: &Functions) -> Option<PlainCalls> {
        Some(PlainCalls { set: functions.set_real, step: functions.do_step?, get: functions.get_real })
    }
}

impl plain::PlainCalls for PlainCalls {
    const NAMES: [&'static str; 3] = ["fmi2SetReal", "fmi2DoStep", "fmi2GetReal"];

    #[inline(always)]
    unsafe fn set(&self, instance: *mut c_void, references: &[u32], values: *const f64) -> c_int {
        // SAFETY: promised by the caller.
        unsafe { (self.set)(instance, references.as_ptr(), references.len(), values) }
    }

    #[inline(always)]
    unsafe fn step(&self, instance: *mut c_void, step: StepCall) -> (c_int, Option<StepInfo>) {
        // SAFETY: promised by the caller.
        (unsafe { (self.step)(instance, step.time, step.size, step.never_back.into()) }, None)
    }

    #[inline(always)]
    unsafe fn get(&self, instance: *mut c_void, references: &[u32], values: *mut f64) -> c_int {
        // SAFETY: promised by the caller.
        unsafe { (self.get)(instance, references.as_ptr(), references.len(), values) }
    }
}

/// Getter and setter of one type: enumerations are integers, the Boolean 0 is false.
macro_rules! accessors {
    ($($type:ty: $get:ident $get_symbol:literal $set:ident $set_symbol:literal;)*) => {$(
        #[doc = concat!("`", $get_symbol, "`.")]
        #[inline]
        pub fn $get(&self, references: &[u32], values: &mut [$type]) -> Result<(), CallError> {
            assert_eq!(references.len(), values.len(), "one value per reference");
            let get = self.functions.$get;
            call!(self, $get_symbol, get, references.as_ptr(), references.len(), values.as_mut_ptr())
        }

        #[doc = concat!("`", $set_symbol, "`.")]
        #[inline]
        pub fn $set(&self, references: &[u32], values: &[$type]) -> Result<(), CallError> {
            assert_eq!(references.len(), values.len(), "one value per reference");
            let set = self.functions.$set;
            call!(self, $set_symbol, set, references.as_ptr(), references.len(), values.as_ptr())
        }
    )*};
}

mod exchange;
mod functions;

pub use functions::Functions;

twins!("fmi2", "FMUstate", "fmi2DeSerializeFMUstate", get_derivatives "fmi2GetDerivatives");

impl Instance {
    /// `fmi2Instantiate`.
    pub(crate) fn new(functions: &Arc<Functions>, with: &Instantiation<'_>) -> Result<Instance, CallError> {
        const CALL: &str = "fmi2Instantiate";
        let [name, token, resources] = with.texts(CALL)?;
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
        trace::announce(0, with.log.instance());
        trace::enter(const { trace::number(CALL) }, 0);
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
        Instance::made(CALL, functions, &with.log, component, context)
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

    accessors! {
        f64: get_real "fmi2GetReal" set_real "fmi2SetReal";
        i32: get_integer "fmi2GetInteger" set_integer "fmi2SetInteger";
        i32: get_boolean "fmi2GetBoolean" set_boolean "fmi2SetBoolean";
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

    /// `fmi2DoStep`.
    #[inline]
    pub fn do_step(&self, step: StepCall) -> Result<(), CallError> {
        let call = function!(self, do_step, "fmi2DoStep");
        call!(self, "fmi2DoStep", call, step.time, step.size, step.never_back.into())
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
