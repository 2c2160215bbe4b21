//! An instance of an FMU of either version: its life, its saved states, and model exchange.

use super::log::Environment;
use super::stepping::{Plain, Running};
use super::table::{Function, Opened, Optional, Source, shared};
use super::{
    CallError, Instantiation, LoadError, Log, OK, Owned, State, Status, float_mode, fmi2, fmi3, open, trace,
};
use crate::description::FmiVersion;
#[cfg(target_os = "linux")]
use crate::wine;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

type Call = unsafe extern "C" fn(*mut c_void) -> c_int;
type SetList = unsafe extern "C" fn(*mut c_void, *const f64, usize) -> c_int;
type GetList = unsafe extern "C" fn(*mut c_void, *mut f64, usize) -> c_int;

shared! {
    /// Functions that the versions have with the same arguments.
    Shared {
        free_instance: Function<unsafe extern "C" fn(*mut c_void)>,
        exit_initialization_mode: Function<Call>,
        terminate: Function<Call>,
        reset: Function<Call>,
        get_state: Optional<unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int>,
        set_state: Optional<unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int>,
        free_state: Optional<unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int>,
        serialized_size: Optional<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut usize) -> c_int>,
        serialize: Optional<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut u8, usize) -> c_int>,
        deserialize: Optional<unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut *mut c_void) -> c_int>,
        enter_event_mode: Optional<Call>,
        enter_continuous_time_mode: Optional<Call>,
        set_time: Optional<unsafe extern "C" fn(*mut c_void, f64) -> c_int>,
        set_continuous_states: Optional<SetList>,
        get_continuous_states: Optional<GetList>,
        get_nominals_of_continuous_states: Optional<GetList>,
        get_derivatives: Optional<GetList>,
        get_event_indicators: Optional<GetList>,
    }
}

/// The call that loads a library.
const LOADING: &str = "dlopen";

/// The functions of a loaded library.
pub struct Functions {
    pub(super) shared: Shared,
    pub(super) version: Version,
    /// The library, if it is one for Windows.
    #[cfg(target_os = "linux")]
    pub(super) windows: Option<wine::Library>,
}

/// Those that one version has.
#[expect(clippy::large_enum_variant, reason = "there is one of a library")]
pub(super) enum Version {
    Two(fmi2::Functions),
    Three(fmi3::Functions),
}

impl Functions {
    /// Opens the library for good and finds its functions.
    pub fn load(path: &Path, version: FmiVersion) -> Result<Functions, LoadError> {
        trace::enter(trace::number(LOADING), 0);
        let library = open(path);
        trace::leave();
        let library = library?;
        let functions = Functions::of(&Opened { source: Source::Native(&library), path }, version)?;
        std::mem::forget(library);
        Ok(functions)
    }

    /// The functions of a Windows library, which run under Wine.
    #[cfg(target_os = "linux")]
    pub(crate) fn load_for_wine(path: &Path, version: FmiVersion) -> Result<Functions, LoadError> {
        let failed = |reason| LoadError::Open { path: path.into(), reason };
        let library = wine::Library::read(path).map_err(failed)?;
        let functions = Functions::of(&Opened { source: Source::Wine(&library), path }, version)?;
        Ok(Functions { windows: Some(library), ..functions })
    }

    fn of(opened: &Opened<'_>, version: FmiVersion) -> Result<Functions, LoadError> {
        let (version, names) = match version {
            FmiVersion::Fmi2 => (Version::Two(fmi2::Functions::load(opened)?), fmi2::SHARED),
            FmiVersion::Fmi3 => (Version::Three(fmi3::Functions::load(opened)?), fmi3::SHARED),
        };
        Ok(Functions {
            shared: Shared::load(opened, &names)?,
            version,
            #[cfg(target_os = "linux")]
            windows: None,
        })
    }

    /// True if they run under Wine.
    pub(super) fn are_remote(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.windows.is_some();
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Runs what makes an instance, in a new process if the library is for Windows.
    fn starting<T>(
        &self,
        with: &Instantiation<'_>,
        call: &'static str,
        make: impl FnOnce() -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        #[cfg(target_os = "linux")]
        if let Some(library) = &self.windows {
            let remote = wine::Remote::start(library, with.log.clone(), with.limit);
            let remote = remote.map_err(|reason| CallError::Remote { call, reason })?;
            return wine::with_remote(Box::new(remote), make);
        }
        make()
    }

    /// The names of all functions of all versions.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        let lists = [fmi2::Functions::SYMBOLS, &fmi2::SHARED, fmi3::Functions::SYMBOLS, &fmi3::SHARED];
        lists.into_iter().flatten().copied().chain([LOADING])
    }
}

/// What the FMU keeps pointers to while the instance lives. The environment comes first: loggers look for it there.
#[repr(C)]
pub(super) struct Context {
    environment: Environment,
    pub(super) callbacks: fmi2::Callbacks,
    pub(super) running: Cell<*mut Running>,
}

/// What an FMU is told of the simulation to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Experiment {
    pub(crate) tolerance: Option<f64>,
    pub(crate) start: f64,
    pub(crate) stop: Option<f64>,
}

/// Whether calls reach an instance.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InstanceStatus {
    Alive,
    /// They do, and are noted for another process.
    Noted,
    /// It was freed, or a status was fatal.
    Dead,
}

/// An instance.
pub(crate) struct Instance {
    pub(super) functions: Arc<Functions>,
    pub(super) pointer: Owned<c_void>,
    pub(super) context: Owned<Context>,
    pub(super) log: Arc<Log>,
    pub(super) plain: Plain,
    pub(super) life: Cell<InstanceStatus>,
}

/// Calls a function of the table and turns its status into a result.
macro_rules! call {
    ($instance:expr, $function:expr $(, $argument:expr)*) => {{
        let function = $function;
        $instance.enter(function)?;
        // SAFETY: the instance is alive, and the arguments are what the standard asks for: buffers of the lengths given.
        let code = unsafe { (function.pointer)($instance.pointer.as_ptr() $(, $argument)*) };
        $instance.check(function.name, code)
    }};
}
pub(super) use call;

/// Calls that pass a list of numbers. Without numbers there is nothing to be said, and some FMUs then leave the functions out.
macro_rules! lists {
    ($($(#[$about:meta])* $method:ident $field:ident $type:ty, $pointer:ident;)*) => {$(
        $(#[$about])*
        #[inline]
        pub(crate) fn $method(&self, list: $type) -> Result<(), CallError> {
            if list.is_empty() {
                return Ok(());
            }
            call!(self, self.functions.shared.$field.get()?, list.$pointer(), list.len())
        }
    )*};
}

impl Instance {
    /// `fmi2Instantiate`, `fmi3InstantiateCoSimulation` or `fmi3InstantiateModelExchange`.
    pub(crate) fn new(functions: &Arc<Functions>, with: &Instantiation<'_>) -> Result<Instance, CallError> {
        let call = match &functions.version {
            Version::Two(_) => "fmi2Instantiate",
            Version::Three(_) => fmi3::Functions::instantiation(with.kind),
        };
        let texts = with.texts(call)?;
        let context = Context {
            environment: Environment::new(with.log.clone()),
            callbacks: fmi2::Callbacks::default(),
            running: Cell::new(std::ptr::null_mut()),
        };
        let context = Owned(NonNull::from(Box::leak(Box::new(context))));
        trace::announce(0, with.log.instance(), with.limit);
        trace::enter(trace::number(call), 0);
        // SAFETY: the context is alive until the instance is dropped.
        let make = || unsafe {
            match &functions.version {
                Version::Two(own) => Ok(own.instantiate(with, &texts, context.as_ptr())),
                Version::Three(own) => own.instantiate(with, &texts, context.as_ptr()),
            }
        };
        let made = functions.starting(with, call, make);
        trace::leave();
        restore_float_mode(&with.log, call);
        let Some(pointer) = made.as_ref().ok().copied().and_then(NonNull::new) else {
            // SAFETY: no instance was made that could use it.
            drop(unsafe { Box::from_raw(context.as_ptr()) });
            return Err(made
                .err()
                .unwrap_or_else(|| CallError::NoInstance { call, messages: with.log.take() }));
        };
        trace::announce(pointer.as_ptr() as u64, with.log.instance(), with.limit);
        Ok(Instance {
            functions: functions.clone(),
            pointer: Owned(pointer),
            context,
            log: with.log.clone(),
            plain: Plain::None,
            life: Cell::new(if trace::is_on() { InstanceStatus::Noted } else { InstanceStatus::Alive }),
        })
    }

    /// The process that it lives in, if it has one of its own.
    #[cfg(target_os = "linux")]
    pub(super) fn remote(&self) -> Option<&wine::Remote> {
        // SAFETY: stubs that make instances of Windows libraries give such a process, which lives until the instance is freed.
        self.functions.are_remote().then(|| unsafe { &*self.pointer.as_ptr().cast::<wine::Remote>() })
    }

    /// Its log.
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// The functions of FMI 2.0, if it has them; `call` is the one that is missing otherwise.
    #[inline]
    pub(super) fn two(&self, call: &'static str) -> Result<&fmi2::Functions, CallError> {
        match &self.functions.version {
            Version::Two(own) => Ok(own),
            Version::Three(_) => Err(CallError::Missing { call }),
        }
    }

    /// The functions of FMI 3.0, if it has them; `call` is the one that is missing otherwise.
    #[inline]
    pub(super) fn three(&self, call: &'static str) -> Result<&fmi3::Functions, CallError> {
        match &self.functions.version {
            Version::Two(_) => Err(CallError::Missing { call }),
            Version::Three(own) => Ok(own),
        }
    }

    /// What it is called where calls are noted.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        self.pointer.as_ptr() as u64
    }

    /// Before a call.
    #[inline]
    pub(super) fn enter<F>(&self, function: &Function<F>) -> Result<(), CallError> {
        if self.life.get() == InstanceStatus::Dead {
            return Err(CallError::Dead { call: function.name });
        }
        trace::enter(function.number, self.number());
        Ok(())
    }

    /// After a call.
    #[inline]
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<(), CallError> {
        trace::leave();
        restore_float_mode(&self.log, call);
        if OK.contains(&code) { Ok(()) } else { Err(self.failed(call, code.into())) }
    }

    #[cold]
    pub(super) fn failed(&self, call: &'static str, status: Status) -> CallError {
        if status == Status::Fatal {
            self.life.set(InstanceStatus::Dead);
        }
        #[cfg(target_os = "linux")]
        if let (Status::Unknown(wine::GONE), Some(remote)) = (status, self.remote()) {
            return CallError::Remote { call, reason: remote.last_words() };
        }
        CallError::Status { call, status, messages: self.log.take() }
    }

    /// What FMI 2.0 is told before anything is set; FMI 3.0 learns it when initialization begins.
    pub(crate) fn set_up(&self, experiment: Experiment) -> Result<(), CallError> {
        let Version::Two(own) = &self.functions.version else { return Ok(()) };
        let Experiment { tolerance, start, stop } = experiment;
        let (has_tolerance, tolerance) = (tolerance.is_some().into(), tolerance.unwrap_or(0.0));
        let (has_stop, stop) = (stop.is_some().into(), stop.unwrap_or(0.0));
        call!(self, &own.setup_experiment, has_tolerance, tolerance, start, has_stop, stop)
    }

    /// Begins the initialization.
    pub(crate) fn enter_initialization(&self, experiment: Experiment) -> Result<(), CallError> {
        let Experiment { tolerance, start, stop } = experiment;
        let (has_tolerance, tolerance) = (tolerance.is_some(), tolerance.unwrap_or(0.0));
        let (has_stop, stop) = (stop.is_some(), stop.unwrap_or(0.0));
        match &self.functions.version {
            Version::Two(own) => call!(self, &own.enter_initialization_mode),
            Version::Three(own) => {
                let enter = &own.enter_initialization_mode;
                call!(self, enter, has_tolerance, tolerance, start, has_stop, stop)
            }
        }
    }

    /// Into `state`, whose memory is used again if there is some.
    pub(crate) fn get_state(&self, state: &mut Option<State>) -> Result<(), CallError> {
        let get = self.functions.shared.get_state.get()?;
        let mut raw = state.as_ref().map_or(std::ptr::null_mut(), |state| state.0.as_ptr());
        call!(self, get, &mut raw)?;
        *state = State::of(raw);
        if state.is_some() { Ok(()) } else { Err(CallError::NoState { call: get.name }) }
    }

    /// Goes back to a state.
    pub(crate) fn set_state(&self, state: &State) -> Result<(), CallError> {
        call!(self, self.functions.shared.set_state.get()?, state.0.as_ptr())
    }

    /// Gives a state back.
    pub(crate) fn free_state(&self, state: State) -> Result<(), CallError> {
        let mut raw = state.0.as_ptr();
        call!(self, self.functions.shared.free_state.get()?, &mut raw)
    }

    /// A state as bytes, appended to `bytes`.
    pub(crate) fn serialize(&self, state: &State, bytes: &mut Vec<u8>) -> Result<(), CallError> {
        let get_size = self.functions.shared.serialized_size.get()?;
        let write = self.functions.shared.serialize.get()?;
        let mut size = 0;
        call!(self, get_size, state.0.as_ptr(), &mut size)?;
        let at = bytes.len();
        bytes.resize(at + size, 0);
        call!(self, write, state.0.as_ptr(), bytes[at..].as_mut_ptr(), size)
    }

    /// A state from bytes.
    pub(crate) fn deserialize(&self, bytes: &[u8]) -> Result<State, CallError> {
        let read = self.functions.shared.deserialize.get()?;
        let mut raw = std::ptr::null_mut();
        call!(self, read, bytes.as_ptr(), bytes.len(), &mut raw)?;
        State::of(raw).ok_or(CallError::NoState { call: read.name })
    }

    /// Puts the independent variable of model exchange to a time.
    #[inline]
    pub(crate) fn set_time(&self, time: f64) -> Result<(), CallError> {
        call!(self, self.functions.shared.set_time.get()?, time)
    }

    /// Ends the initialization.
    pub(crate) fn exit_initialization(&self) -> Result<(), CallError> {
        call!(self, &self.functions.shared.exit_initialization_mode)
    }

    /// Ends the simulation.
    pub(crate) fn terminate(&self) -> Result<(), CallError> {
        call!(self, &self.functions.shared.terminate)
    }

    /// Goes back to where it was when it was made.
    pub(crate) fn reset(&self) -> Result<(), CallError> {
        call!(self, &self.functions.shared.reset)
    }

    /// Begins an event.
    pub(crate) fn enter_event_mode(&self) -> Result<(), CallError> {
        call!(self, self.functions.shared.enter_event_mode.get()?)
    }

    /// Ends an event of model exchange.
    pub(crate) fn enter_continuous_time_mode(&self) -> Result<(), CallError> {
        call!(self, self.functions.shared.enter_continuous_time_mode.get()?)
    }

    lists! {
        /// Sets the continuous states.
        set_states set_continuous_states &[f64], as_ptr;
        /// Gets the continuous states.
        get_states get_continuous_states &mut [f64], as_mut_ptr;
        /// Gets the nominal values of the continuous states.
        get_nominals get_nominals_of_continuous_states &mut [f64], as_mut_ptr;
        /// Gets the derivatives of the continuous states.
        get_derivatives get_derivatives &mut [f64], as_mut_ptr;
        /// Gets the event indicators.
        get_indicators get_event_indicators &mut [f64], as_mut_ptr;
    }

    /// Frees the instance; nothing can be called any more.
    pub(crate) fn free(&mut self) {
        self.plain = Plain::None;
        if self.life.replace(InstanceStatus::Dead) == InstanceStatus::Dead {
            // After a fatal status not even freeing is allowed; the context stays, as the FMU may still use it.
            return;
        }
        let free = &self.functions.shared.free_instance;
        trace::enter(free.number, self.number());
        // SAFETY: the instance is alive and never used again; then nobody knows the context any more.
        unsafe {
            (free.pointer)(self.pointer.as_ptr());
            trace::leave();
            restore_float_mode(&self.log, free.name);
            drop(Box::from_raw(self.context.as_ptr()));
        }
    }
}

/// Sets the floating-point mode back if a call has changed it.
#[inline]
pub(super) fn restore_float_mode(log: &Log, call: &str) {
    if !float_mode::is_standard() {
        float_mode::restore();
        log.warn_of_float_mode(call);
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.free();
    }
}
