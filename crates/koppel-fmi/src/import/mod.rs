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

use crate::description::{Causality, Description, Initial, ValueType, Variability};
use crate::error::{Error, Result};
use crate::ffi::{CallError, Log, LogSink, Status, fmi2, fmi3};
use crate::fmu::{Fmu, Library, OnlyInstance};
use access::{Access, AccessError, Backend, Scratch};
use koppel::signal::{Piece, Request, Samples, Segment, Step};
use koppel::system::{Dependencies, Ports, Snapshot, Subsystem, VariableId, VariableKind};
use ports::{Slot, Slots};
use route::{Part, Route, each_part};
use state::SavedStates;
use std::cell::RefCell;
use std::sync::Arc;

/// A value for a variable, as a user gives it.
#[derive(Clone, Debug, PartialEq)]
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

    /// Start values must name variables that can be set before the start, and have their type.
    fn check_start_values(&self) -> Result<()> {
        for (name, value) in &self.options.start_values {
            let place = self.find(name)?;
            let variable = &self.description().variables[place];
            let refuse = |reason: &str| {
                let (instance, name) = (self.name.clone(), name.clone());
                Err(Box::new(Error::NotSettable { instance, name, reason: reason.into() }))
            };
            let is_start = matches!(variable.initial, Some(Initial::Exact | Initial::Approx));
            if variable.variability == Variability::Constant
                || !(is_start || variable.causality == Causality::Input)
            {
                return refuse("it is neither a parameter, nor an input, nor does it have a start value");
            }
            if variable.causality == Causality::StructuralParameter || variable.is_array() {
                return refuse("arrays and structural parameters keep their start values");
            }
            let is_text = variable.value_type == ValueType::String;
            if is_text != matches!(value, Value::Text(_)) {
                let (instance, name) = (self.name.clone(), name.clone());
                let (expected, value) = (variable.value_type.name(), format!("{value:?}"));
                return Err(Error::WrongType { instance, name, expected, value }.into());
            }
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.description().find(name).ok_or_else(|| {
            let known: Vec<String> = self.description().variables.iter().map(|v| v.name.clone()).collect();
            let close = koppel::error::closest(name, &known).map(str::to_owned);
            Error::UnknownVariable { instance: self.name.clone(), name: name.into(), close }.into()
        })
    }

    fn apply_start_values(&self) -> Result<()> {
        for (name, value) in &self.options.start_values {
            let variable = self.find(name)?;
            match value {
                Value::Number(number) => self.write_one(Slot { variable, element: 0 }, *number)?,
                Value::Text(text) => {
                    let reference = self.description().variables[variable].value_reference;
                    self.called(self.backend.set_string(reference, text))?;
                }
            }
        }
        Ok(())
    }

    fn write_one(&self, slot: Slot, value: f64) -> Result<()> {
        let access = Access::new(self.description(), &[slot]);
        self.accessed(access.write(&self.backend, &mut self.scratch.borrow_mut(), &[value]), &[slot])
    }

    fn read_one(&self, slot: Slot) -> Result<f64> {
        let variable = &self.description().variables[slot.variable];
        if variable.value_type == ValueType::Float64 && !variable.is_array() {
            let mut value = [0.0];
            self.called(self.backend.get_real(&[variable.value_reference], &mut value))?;
            return Ok(value[0]);
        }
        let elements = self.description().elements(variable) as usize;
        let all: Vec<Slot> = (0..elements).map(|element| Slot { element, ..slot }).collect();
        let mut values = vec![0.0; elements];
        let access = Access::new(self.description(), &all);
        self.accessed(access.read(&self.backend, &mut self.scratch.borrow_mut(), &mut values), &all)?;
        Ok(values[slot.element])
    }

    /// Sets `next` as inputs, unless the FMU has them.
    #[inline]
    fn set_inputs(&mut self) -> Result<()> {
        if self.next == self.applied {
            return Ok(());
        }
        let written = self.inputs.write(&self.backend, &mut self.scratch.borrow_mut(), &self.next);
        self.accessed(written, &self.slots.inputs)?;
        self.applied.copy_from_slice(&self.next);
        Ok(())
    }

    #[inline]
    fn get_outputs(&self, outputs: &mut [f64]) -> Result<()> {
        let read = self.outputs.read(&self.backend, &mut self.scratch.borrow_mut(), outputs);
        self.accessed(read, &self.slots.outputs)
    }

    /// One call of `doStep` under the inputs set, or with those of `piece` wherever the FMU asks.
    #[inline]
    fn do_step(&mut self, time: f64, size: f64, piece: Option<Piece<'_>>) -> Result<()> {
        self.backend.set_log_time(time);
        match &self.backend {
            Backend::Two(instance) => match instance.do_step(time, size) {
                Ok(()) => Ok(()),
                Err(source) => Err(self.step_failed(instance, source, time, size)),
            },
            Backend::Three(_) => self.do_step_asking(time, size, piece),
        }
    }

    /// Why a step of FMI 2.0 failed.
    #[cold]
    fn step_failed(&self, of: &fmi2::Instance, source: CallError, time: f64, size: f64) -> Box<Error> {
        if !matches!(source, CallError::Status { status: Status::Discard, .. }) {
            return self.failed(source);
        }
        let (instance, end, reached) = (self.name.clone(), time + size, of.last_successful_time());
        Box::new(if of.is_terminated() {
            Error::Terminated { instance, time: reached.unwrap_or(time), source: Some(source) }
        } else {
            Error::Discarded { instance, time, end, reached, source }
        })
    }

    /// A step of FMI 3.0, which may ask for inputs on the way.
    fn do_step_asking(&mut self, time: f64, size: f64, piece: Option<Piece<'_>>) -> Result<()> {
        let Backend::Three(instance) = &self.backend else { return Ok(()) };
        let (smooth, next, chosen) = (&self.smooth, &mut self.next, &mut self.chosen);
        let mut update = |instance: &fmi3::Instance, moment: fmi3::Moment| {
            let Some(piece) = piece.filter(|_| moment.set_requested) else { return Ok(()) };
            let Some((references, places)) = smooth.reals() else { return Ok(()) };
            piece.values((moment.time - piece.start).clamp(0.0, piece.size), next);
            choose(next, places, chosen);
            instance.set_float64(references, chosen)
        };
        let info = instance.do_step(time, size, &mut update);
        self.finish_step(info, time, size)
    }

    fn finish_step(&self, info: Result<fmi3::StepInfo, CallError>, time: f64, size: f64) -> Result<()> {
        let (instance, end) = (self.name.clone(), time + size);
        match info {
            Ok(info) if info.terminate_simulation => {
                Err(Error::Terminated { instance, time: info.last_successful_time, source: None }.into())
            }
            Ok(info) if info.early_return && info.last_successful_time < end - 1e-9 * size => {
                Err(Error::EndedEarly { instance, reached: info.last_successful_time, end }.into())
            }
            Ok(_) => Ok(()),
            Err(source @ CallError::Status { status: Status::Discard, .. }) => {
                Err(Error::Discarded { instance, time, end, reached: None, source }.into())
            }
            Err(source) => self.called(Err(source)),
        }
    }

    /// Moves over a part of a piece of the inputs, the way the FMU can follow it best.
    fn advance(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        let piece = part.piece;
        let time = piece.start + part.offset;
        // An FMU with steps of one size gets them, whatever the slopes happen to be.
        if piece.terms == 1 || self.varies_steps && part.is_constant(self.next.len()) {
            piece.values(part.offset, &mut self.next);
            self.set_inputs()?;
            return self.do_step(time, part.size, None);
        }
        match self.route {
            Route::Intermediate => {
                piece.values(part.offset, &mut self.next);
                self.set_inputs()?;
                self.applied.fill(f64::NAN);
                self.do_step(time, part.size, Some(piece))
            }
            Route::Derivatives { order } if piece.terms <= order + 1 => {
                self.set_derivatives(part)?;
                self.do_step(time, part.size, None)
            }
            Route::Derivatives { .. } | Route::Substeps => {
                let parts = self.options.substeps.max(1);
                for k in 0..parts {
                    let sub = part.divided(k, parts);
                    match self.route {
                        Route::Derivatives { .. } => self.set_chord(sub)?,
                        _ => {
                            sub.mean(&mut self.next);
                            self.set_inputs()?;
                        }
                    }
                    self.do_step(piece.start + sub.offset, sub.size, None)?;
                    if samples.request() == Request::SolverPoints && k + 1 < parts {
                        self.sample(sub, samples)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Values and derivatives at the begin of a part.
    fn set_derivatives(&mut self, part: Part<'_>) -> Result<()> {
        part.piece.values(part.offset, &mut self.next);
        self.set_inputs()?;
        for order in 1..part.piece.terms {
            part.derivative(order, &mut self.next);
            self.send_derivatives(order)?;
        }
        self.applied.fill(f64::NAN);
        Ok(())
    }

    /// The line with the mean and the rise of a part.
    fn set_chord(&mut self, part: Part<'_>) -> Result<()> {
        part.chord_start(&mut self.next);
        self.set_inputs()?;
        part.chord_slope(&mut self.next);
        self.send_derivatives(1)?;
        self.applied.fill(f64::NAN);
        Ok(())
    }

    fn send_derivatives(&mut self, order: usize) -> Result<()> {
        let (Backend::Two(instance), Some((references, places))) = (&self.backend, self.smooth.reals())
        else {
            return Ok(());
        };
        choose(&self.next, places, &mut self.chosen);
        self.orders.clear();
        self.orders.resize(references.len(), order as i32);
        self.called(instance.set_real_input_derivatives(references, &self.orders, &self.chosen))
    }

    /// Adds the outputs at the end of a part.
    fn sample(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        if self.has_feed_through {
            part.piece.values(part.offset + part.size, &mut self.next);
            self.set_inputs()?;
        }
        self.get_outputs(samples.push(part.piece.start + part.offset + part.size))
    }

    fn slot(&self, variable: VariableId) -> Slot {
        match variable.kind {
            VariableKind::Input => self.slots.inputs[variable.index],
            VariableKind::Output => self.slots.outputs[variable.index],
            VariableKind::Parameter => self.slots.parameters[variable.index],
            VariableKind::Local => self.slots.locals[variable.index],
        }
    }

    /// Changes a parameter, or a start value before the first step.
    fn change(&mut self, variable: VariableId, value: f64) -> Result<()> {
        let slot = self.slot(variable);
        let (name, is_tunable, is_start, is_array) = {
            let v = &self.description().variables[slot.variable];
            let is_start = matches!(v.initial, Some(Initial::Exact | Initial::Approx));
            (v.name.clone(), v.variability == Variability::Tunable, is_start, v.is_array())
        };
        let is_allowed = match (variable.kind, self.phase) {
            (VariableKind::Parameter, Phase::Stepping | Phase::Failed) => is_tunable,
            (VariableKind::Parameter, _) => true,
            (VariableKind::Local, Phase::Initializing | Phase::Instantiated) => is_start,
            _ => false,
        };
        if !is_allowed || is_array {
            let reason = match variable.kind {
                _ if is_array => "elements of arrays are not set one by one",
                VariableKind::Parameter => "it is fixed once the simulation runs",
                VariableKind::Local => "only start values are set, before the first step",
                VariableKind::Input | VariableKind::Output => "only parameters are set; inputs are wired",
            };
            return Err(
                Error::NotSettable { instance: self.name.clone(), name, reason: reason.into() }.into()
            );
        }
        self.write_one(slot, value)?;
        self.options.start_values.retain(|(known, _)| *known != name);
        if variable.kind == VariableKind::Parameter {
            self.options.start_values.push((name, Value::Number(value)));
        }
        Ok(())
    }

    fn go(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> Result<()> {
        if self.phase == Phase::Initializing {
            self.called(self.backend.exit_initialization())?;
            self.phase = Phase::Stepping;
        }
        samples.clear();
        let is_sampled = samples.request() != Request::Nothing;
        if !is_sampled && input.terms() == 1 && input.len() == 1 {
            input.end_values(&mut self.next);
            self.set_inputs()?;
            self.do_step(step.start, step.size, None)?;
            return self.get_outputs(outputs);
        }
        if is_sampled {
            let begin = Part { piece: input.piece(0), offset: 0.0, size: 0.0, ends_at_node: true };
            self.sample(begin, samples)?;
        }
        let nodes = if let Request::Nodes(nodes) = samples.request() { nodes } else { 1 };
        each_part(step.size, input, nodes, |part| {
            self.advance(part, samples)?;
            if is_sampled && part.ends_at_node { self.sample(part, samples) } else { Ok(()) }
        })?;
        if self.has_feed_through {
            input.end_values(&mut self.next);
            self.set_inputs()?;
        }
        self.get_outputs(outputs)
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

/// The values at some places.
fn choose(values: &[f64], places: &[usize], chosen: &mut Vec<f64>) {
    chosen.clear();
    chosen.extend(places.iter().map(|place| values[*place]));
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
