//! A co-simulation FMU as a subsystem.
//!
//! How the input polynomial reaches the FMU, best first:
//!
//! 1. FMI 3.0 intermediate update, if every continuous input takes part: the FMU asks inside the step, and gets the
//!    polynomial's value at that time;
//! 2. FMI 2.0 input derivatives, if it can interpolate inputs: values and derivatives at the begin of each piece, up to
//!    [`Options::input_order`];
//! 3. sub-steps: each sloped piece is walked in [`Options::substeps`] equal parts, with the input's mean over the part.
//!
//! [`koppel::system::Subsystem::solver`] says which was taken.

mod access;
mod ports;
mod route;
mod state;
mod stepping;
mod values;

use crate::description::Description;
use crate::error::{Error, Result};
use crate::ffi::{CallError, Log, LogSink, fmi2, fmi3};
use crate::fmu::{Fmu, Library, OnlyInstance};
use access::{Access, AccessError, Backend, Scratch};
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{Dependencies, Ports, Snapshot, Subsystem, VariableId};
use ports::{Slot, Slots};
use route::Route;
use serde::{Deserialize, Serialize};
use state::SavedStates;
use std::cell::RefCell;
use std::sync::Arc;

/// A value for a variable, as a user gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A number, for floats, integers, Booleans (0 or 1) and enumerations.
    Number(f64),
    /// A text, for strings.
    Text(String),
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.into())
    }
}

/// How an instance is made and driven.
#[derive(Clone, Serialize, Deserialize)]
pub struct Options {
    /// Its name.
    pub name: String,
    /// Parameters and other start values, by variable name.
    pub start_values: Vec<(String, Value)>,
    /// Parts a sloped piece of input is walked in, where sub-steps are needed.
    pub substeps: u32,
    /// Highest order of input derivatives an FMI 2.0 FMU is given; the standard does not let it say what it takes.
    pub input_order: usize,
    /// Relative tolerance of its solver; `None`: its own choice.
    pub tolerance: Option<f64>,
    /// End of the simulation, if it is to know it.
    pub stop: Option<f64>,
    /// Ask the FMU for its debug messages.
    pub debug_logging: bool,
    /// Receives its messages.
    #[serde(skip)]
    pub log: Option<LogSink>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: "fmu".into(),
            start_values: Vec::new(),
            substeps: 4,
            input_order: 1,
            tolerance: None,
            stop: None,
            debug_logging: false,
            log: None,
        }
    }
}

/// An instance of an FMU as a subsystem, of whichever kind it is: the one place where they are made.
pub fn instantiate_any(fmu: &Arc<Fmu>, options: &Options) -> Result<Box<dyn Subsystem>> {
    Ok(Box::new(CoSimulation::new(fmu, options)?))
}

/// What the instance may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Instantiated,
    Initializing,
    Stepping,
    /// A step has failed: only a saved state or a new start leads on.
    Failed,
}

/// A co-simulation instance of FMI 2.0 or 3.0.
pub struct CoSimulation {
    name: String,
    options: Options,
    backend: Backend,
    ports: Ports,
    slots: Slots,
    inputs: Access,
    /// Those inputs that follow a polynomial inside steps.
    smooth: Access,
    outputs: Access,
    route: Route,
    /// The FMU takes steps of different sizes.
    varies_steps: bool,
    phase: Phase,
    /// Inputs the FMU has; not a number where unknown.
    applied: Vec<f64>,
    /// Inputs to be set next.
    next: Vec<f64>,
    /// Values and orders for calls about some of the inputs.
    chosen: Vec<f64>,
    orders: Vec<i32>,
    scratch: RefCell<Scratch>,
    states: SavedStates,
    /// Some output may depend on an input directly.
    has_feed_through: bool,
    fmu: Arc<Fmu>,
    _only: Option<OnlyInstance>,
}

impl CoSimulation {
    /// Makes an instance.
    pub fn new(fmu: &Arc<Fmu>, options: &Options) -> Result<CoSimulation> {
        let description = fmu.description();
        let not_one = || Error::NotCoSimulation { path: fmu.path().into() };
        let section = description.co_simulation.as_ref().ok_or_else(not_one)?;
        let library = fmu.library(&section.interface)?;
        let only = fmu.take(&section.interface)?;
        let (ports, slots) = ports::of(description);
        let smooth = Access::some(description, &slots.inputs, route::is_smooth);
        let route = Route::choose(description, section, &slots.inputs, options);
        let backend = instantiate(fmu, &library, options, &smooth, route)?;
        let instance = CoSimulation {
            name: options.name.clone(),
            options: options.clone(),
            backend,
            outputs: Access::new(description, &slots.outputs),
            inputs: Access::new(description, &slots.inputs),
            smooth,
            route,
            varies_steps: section.can_handle_variable_communication_step_size,
            phase: Phase::Instantiated,
            applied: vec![f64::NAN; slots.inputs.len()],
            next: vec![0.0; slots.inputs.len()],
            chosen: Vec::with_capacity(slots.inputs.len()),
            orders: Vec::with_capacity(slots.inputs.len()),
            scratch: RefCell::default(),
            states: SavedStates::new(&section.interface),
            has_feed_through: ports.outputs.iter().any(|output| output.depends != Dependencies::None),
            ports,
            slots,
            fmu: fmu.clone(),
            _only: only,
        };
        instance.check_start_values()?;
        Ok(instance)
    }

    /// The FMU it is an instance of.
    pub fn fmu(&self) -> &Arc<Fmu> {
        &self.fmu
    }

    fn description(&self) -> &Description {
        self.fmu.description()
    }

    #[inline]
    fn called<T>(&self, result: Result<T, CallError>) -> Result<T> {
        match result {
            Ok(value) => Ok(value),
            Err(source) => Err(self.failed(source)),
        }
    }

    #[cold]
    fn failed(&self, source: CallError) -> Box<Error> {
        Box::new(Error::Call { instance: self.name.clone(), source })
    }

    #[inline]
    fn accessed<T>(&self, result: Result<T, AccessError>, slots: &[Slot]) -> Result<T> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => Err(self.explain(error, slots)),
        }
    }

    #[cold]
    fn explain(&self, error: AccessError, slots: &[Slot]) -> Box<Error> {
        let name = |place: usize| self.description().variables[slots[place].variable].name.clone();
        let instance = self.name.clone();
        Box::new(match error {
            AccessError::Call(source) => Error::Call { instance, source },
            AccessError::NotExact { place, value } => Error::NotExact { instance, name: name(place), value },
            AccessError::WrongType { place, expected, value } => {
                Error::WrongType { instance, name: name(place), expected, value: value.to_string() }
            }
        })
    }
}

impl Subsystem for CoSimulation {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn initialize(&mut self, start: f64) -> koppel::Result<()> {
        if self.phase != Phase::Instantiated {
            self.called(self.backend.reset())?;
            self.phase = Phase::Instantiated;
        }
        self.backend.set_log_time(start);
        self.applied.fill(f64::NAN);
        self.apply_start_values()?;
        self.called(self.backend.enter_initialization(self.options.tolerance, start, self.options.stop))?;
        self.phase = Phase::Initializing;
        Ok(())
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        if let Some(inputs) = inputs {
            self.next.copy_from_slice(inputs);
            self.set_inputs()?;
        }
        Ok(self.get_outputs(outputs)?)
    }

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> koppel::Result<()> {
        let done = self.go(step, input, outputs, samples);
        if done.is_err() {
            self.phase = Phase::Failed;
        }
        Ok(done?)
    }

    fn get(&mut self, variable: VariableId) -> koppel::Result<f64> {
        Ok(self.read_one(self.slot(variable))?)
    }

    fn set(&mut self, variable: VariableId, value: f64) -> koppel::Result<()> {
        Ok(self.change(variable, value)?)
    }

    fn solver(&self) -> String {
        let version = &self.description().fmi_version_text;
        let tool = self.description().generation_tool.as_deref().unwrap_or("unknown tool");
        let inputs = match self.route {
            Route::Intermediate => "intermediate update".into(),
            Route::Derivatives { order } => format!("derivatives up to order {order}"),
            Route::Substeps => format!("{} sub-steps with equal mean", self.options.substeps.max(1)),
        };
        format!("FMI {version} co-simulation by {tool}; inputs by {inputs}")
    }

    fn save(&self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        let saved = self.states.save(&self.backend, &mut snapshot.bytes);
        state::explain(saved, &self.name)?;
        snapshot.reals.clear();
        snapshot.reals.push(if self.phase == Phase::Stepping { 1.0 } else { 0.0 });
        snapshot.reals.extend_from_slice(&self.applied);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        let restored = match snapshot.reals.split_first() {
            Some((phase, applied)) if applied.len() == self.applied.len() => {
                self.phase = if *phase == 1.0 { Phase::Stepping } else { Phase::Initializing };
                self.applied.copy_from_slice(applied);
                self.states.restore(&self.backend, &snapshot.bytes)
            }
            _ => Err(state::StateError::Restore("it is not one of this FMU")),
        };
        Ok(state::explain(restored, &self.name)?)
    }
}

impl Drop for CoSimulation {
    fn drop(&mut self) {
        // Nobody is left to hear about failures; freeing follows in any case.
        self.states.free(&self.backend);
        if self.phase == Phase::Stepping {
            let _ = self.backend.terminate();
        }
    }
}

fn instantiate(
    fmu: &Arc<Fmu>,
    library: &Library,
    options: &Options,
    smooth: &Access,
    route: Route,
) -> Result<Backend> {
    let name = &options.name;
    let token = &fmu.description().instantiation_token;
    let log = Arc::new(Log::new(name, options.log.clone()));
    let debug_logging = options.debug_logging;
    let folder = fmu.folder().join("resources");
    let backend = match library {
        Library::Two(functions) => {
            let resources = &file_uri(&folder);
            let with = fmi2::Instantiation { name, token, resources, debug_logging, log };
            fmi2::Instance::new(functions, &with).map(Backend::Two)
        }
        Library::Three(functions) => {
            let resources = &format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR);
            let references = smooth.reals().map_or(&[][..], |(references, _)| references);
            let intermediate = (route == Route::Intermediate).then_some(references);
            let with = fmi3::Instantiation { name, token, resources, debug_logging, log, intermediate };
            fmi3::Instance::new(functions, &with).map(Backend::Three)
        }
    };
    backend.map_err(|source| Error::Call { instance: name.clone(), source }.into())
}

/// A path as URI: bytes outside the unreserved set are escaped.
fn file_uri(path: &std::path::Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let escaped: String = text
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b':' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect();
    if escaped.starts_with('/') { format!("file://{escaped}") } else { format!("file:///{escaped}") }
}
