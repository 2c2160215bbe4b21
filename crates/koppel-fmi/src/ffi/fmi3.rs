//! FMI 3.0.

use super::log::{Environment, record};
use super::plain::PlainStep;
use super::twins::{call, function, lists, simple, twins};
use super::{CallError, Instantiation, Kind, Life, Log, Owned, trace};
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
    plain: Option<PlainStep<PlainCalls>>,
    life: Cell<Life>,
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

mod derivatives;
mod events;
mod exchange;
mod functions;
mod stepping;
mod words;

pub use events::IntervalQualifier;
pub use functions::Functions;
use stepping::{PlainCalls, Running, intermediate_update};

twins!(
    "fmi3",
    "FMUState",
    "fmi3DeserializeFMUState",
    get_continuous_state_derivatives "fmi3GetContinuousStateDerivatives"
);

impl Instance {
    /// `fmi3InstantiateCoSimulation`, or `fmi3InstantiateModelExchange`.
    pub(crate) fn new(functions: &Arc<Functions>, with: &Instantiation<'_>) -> Result<Instance, CallError> {
        if with.kind == Kind::ModelExchange {
            return Instance::exchange(functions, with);
        }
        const CALL: &str = "fmi3InstantiateCoSimulation";
        let instantiate = functions.instantiate_co_simulation.ok_or(CallError::Missing { call: CALL })?;
        let [name, token, resources] = with.texts(CALL)?;
        let context = Instance::context(with);
        let references = with.intermediate.unwrap_or(&[]);
        trace::announce(0, with.log.instance());
        trace::enter(const { trace::number(CALL) }, 0);
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
        Instance::made(CALL, functions, &with.log, pointer, context)
    }

    /// What the FMU gets to call back with.
    fn context(with: &Instantiation<'_>) -> Owned<Context> {
        let environment = Environment::new(with.log.clone());
        let context = Context { environment, running: Cell::new(std::ptr::null_mut()) };
        Owned(NonNull::from(Box::leak(Box::new(context))))
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
