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
//!
//! Integers, Booleans and enumerations are numbers that are held over a step; strings, binaries and triggered clocks are
//! messages (`messages.rs`). Where the FMU has an event mode, its events are handled inside the step (`events.rs`).

mod access;
mod clocks;
mod derivatives;
mod events;
mod inside;
mod memory;
mod messages;
mod plain;
mod ports;
mod route;
mod starts;
mod state;
mod stepping;
mod terminals;
mod value;
mod values;
mod walking;

pub use ports::ports;

use crate::description::{CoSimulation as Section, Description};
use crate::error::{Error, Result};
use crate::ffi::{CallError, Log, LogSink, fmi2, fmi3};
use crate::fmu::{Fmu, Library, OnlyInstance};
use access::{Access, AccessError, Backend, Scratch};
use events::Events;
use inside::Inside;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::{Dependencies, Message, Ports, Snapshot, Subsystem, VariableId};
use messages::Mail;
use plain::Plain;
use ports::{Slot, Slots};
use route::Route;
use state::SavedStates;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
pub use value::Value;

/// How an instance is made and driven.
#[derive(Clone)]
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

/// What the instance may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Instantiated,
    Initializing,
    Stepping,
    /// A step has failed: only a saved state or a new start leads on.
    Failed,
}

/// A co-simulation instance of FMI 2.0 or 3.0. Laid out as written: what a plain step touches comes first.
#[repr(C)]
pub struct CoSimulation {
    backend: Backend,
    /// How plain steps go, if they can.
    plain: Option<Plain>,
    phase: Phase,
    /// `applied` is what the FMU has.
    knows_inputs: bool,
    name: String,
    options: Options,
    ports: Ports,
    slots: Slots,
    inputs: Access,
    /// Those inputs that follow a polynomial inside steps.
    smooth: Access,
    outputs: Access,
    route: Route,
    /// The FMU takes steps of different sizes.
    varies_steps: bool,
    /// Inputs as set last.
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
    /// Texts, bytes and ticks.
    mail: Mail,
    /// If there are events to be handled.
    events: Option<Events>,
    /// If outputs can be read inside a step.
    inside: Option<Inside>,
    /// The description with other sizes of arrays, if they were set.
    resized: Option<Box<Description>>,
    fmu: Arc<Fmu>,
    _only: Option<OnlyInstance>,
}

impl CoSimulation {
    /// Makes an instance.
    pub fn new(fmu: &Arc<Fmu>, options: &Options) -> Result<CoSimulation> {
        let resized = starts::resized(fmu.description(), &options.name, &options.start_values)?.map(Box::new);
        let description = resized.as_deref().unwrap_or(fmu.description());
        let not_one = || Error::NotCoSimulation { path: fmu.path().into() };
        let section = description.co_simulation.as_ref().ok_or_else(not_one)?;
        let library = fmu.library(&section.interface)?;
        let only = fmu.take(&section.interface)?;
        let (mut ports, slots) = ports::of(description);
        starts::start_inputs(&mut ports.inputs, &options.start_values);
        let smooth = Access::some(description, &slots.inputs, route::is_smooth);
        let route = Route::choose(description, section, &slots.inputs, options);
        let events = Events::new(description, section, &slots);
        let inside = Inside::new(description, section, &slots.outputs);
        // Where events are handled, discrete inputs are set in event mode only.
        let inputs = Access::some(description, &slots.inputs, |variable| {
            !section.has_event_mode || !events::is_discrete(variable)
        });
        let mut asked: Vec<u32> = Vec::new();
        if route == Route::Intermediate {
            asked.extend(smooth.reals().map_or(&[][..], |(references, _)| references));
        }
        asked.extend(inside.as_ref().map_or(&[][..], Inside::references));
        let is_asked = (route == Route::Intermediate || inside.is_some()).then_some(asked.as_slice());
        let backend = instantiate(fmu, &library, options, section, is_asked)?;
        let outputs = Access::new(description, &slots.outputs);
        let instance = CoSimulation {
            backend,
            plain: if events.is_none() { Plain::new(&inputs, &outputs) } else { None },
            phase: Phase::Instantiated,
            knows_inputs: false,
            name: options.name.clone(),
            options: options.clone(),
            outputs,
            inputs,
            smooth,
            route,
            varies_steps: section.can_handle_variable_communication_step_size,
            applied: vec![0.0; slots.inputs.len()],
            next: vec![0.0; slots.inputs.len()],
            chosen: Vec::with_capacity(slots.inputs.len()),
            orders: Vec::with_capacity(slots.inputs.len()),
            scratch: RefCell::default(),
            states: SavedStates::new(&section.interface),
            has_feed_through: ports.outputs.iter().any(|output| output.depends != Dependencies::None),
            mail: Mail::new(description, &slots),
            events,
            inside,
            ports,
            slots,
            resized,
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
        self.resized.as_deref().unwrap_or(self.fmu.description())
    }

    /// What it declares as a co-simulation FMU.
    fn section(&self) -> &Section {
        static NOTHING: OnceLock<Section> = OnceLock::new();
        self.fmu.description().co_simulation.as_ref().unwrap_or_else(|| NOTHING.get_or_init(Section::default))
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
        self.knows_inputs = false;
        self.mail = Mail::new(self.description(), &self.slots);
        self.events.iter_mut().for_each(Events::reset);
        self.apply_start_values()?;
        self.called(self.backend.enter_initialization(self.options.tolerance, start, self.options.stop))?;
        self.phase = Phase::Initializing;
        Ok(())
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        if let Some(inputs) = inputs {
            self.next.copy_from_slice(inputs);
            if self.events.is_none() {
                self.set_inputs()?;
            } else {
                self.set_inputs_and_events()?;
            }
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
        if let (Some(plain), Phase::Stepping, Request::Nothing, Some(inputs)) =
            (&self.plain, self.phase, samples.request(), input.constant())
        {
            self.knows_inputs = false;
            return match plain.step(&self.backend, step.start, step.size, inputs, outputs) {
                Ok(()) => Ok(()),
                Err(interruption) => Ok(self.interrupted(*interruption, step, outputs)?),
            };
        }
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

    fn send(&mut self, output: usize, message: &mut Message) -> koppel::Result<()> {
        Ok(self.read_message(output, message)?)
    }

    fn receive(&mut self, input: usize, message: &Message) -> koppel::Result<()> {
        Ok(self.take_message(input, message)?)
    }

    fn solver(&self) -> String {
        let version = &self.description().fmi_version_text;
        let tool = self.description().generation_tool.as_deref().unwrap_or("unknown tool");
        let inputs = match self.route {
            Route::Intermediate => "intermediate update".into(),
            Route::Derivatives { order } => format!("derivatives up to order {order}"),
            Route::Substeps => format!("{} sub-steps with equal mean", self.options.substeps.max(1)),
        };
        let events = if self.has_event_mode() { "; events handled" } else { "" };
        format!("FMI {version} co-simulation by {tool}; inputs by {inputs}{events}")
    }

    fn save(&self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        self.cut_memory(snapshot);
        let saved = self.states.save(&self.backend, &mut snapshot.bytes);
        state::explain(saved, &self.name)?;
        snapshot.reals.clear();
        snapshot.reals.push(if self.phase == Phase::Stepping { 1.0 } else { 0.0 });
        snapshot.reals.push(if self.knows_inputs { 1.0 } else { 0.0 });
        snapshot.reals.extend_from_slice(&self.applied);
        self.save_memory(snapshot);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        let size = self.applied.len();
        let not_ours = || Err(state::StateError::Restore("it is not one of this FMU"));
        let restored = match &snapshot.reals[..] {
            [phase, knows_inputs, numbers @ ..] if numbers.len() == size + self.memory_size() => {
                self.phase = if *phase == 1.0 { Phase::Stepping } else { Phase::Initializing };
                self.knows_inputs = *knows_inputs == 1.0;
                self.applied.copy_from_slice(&numbers[..size]);
                match self.restore_memory(&numbers[size..], &snapshot.bytes) {
                    Some(own) => self.states.restore(&self.backend, own),
                    None => not_ours(),
                }
            }
            _ => not_ours(),
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
    section: &Section,
    intermediate: Option<&[u32]>,
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
            let event_mode = section.has_event_mode;
            let early_return = section.might_return_early_from_do_step;
            let with = fmi3::Instantiation {
                name,
                token,
                resources,
                debug_logging,
                log,
                intermediate,
                event_mode,
                early_return,
            };
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
