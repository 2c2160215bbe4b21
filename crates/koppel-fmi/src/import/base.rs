//! What every kind of instance has: the FMU's functions behind it, its variables, its options.

use super::access::{Access, Scratch};
use super::binding::Binding;
use super::clockwork::Clockwork;
use super::messages::Mail;
use super::past::Past;
use super::ports::{Slot, Slots};
use super::start_values::StartValues;
use super::state::SavedStates;
use super::{Options, Phase, Value, capabilities, read_back, starts};
use crate::description::{Description, FmiVersion, Initial, Variability};
use crate::error::{Error, Result};
use crate::ffi::{
    EventInfo, Experiment, Functions, Instance, Instantiation, Kind, Log, LogMessage, Status, Surroundings,
    announce,
};
use crate::fmu::{Fmu, OnlyInstance};
use crate::percent;
use koppel::system::{Capabilities, Event, EventLog, ModelSource, Ports, VariableId, VariableKind};
use std::ops::Deref;
use std::sync::Arc;

/// The base of an instance.
pub struct Base {
    pub(super) binding: Binding,
    pub(super) options: Options,
    pub(super) ports: Ports,
    pub(super) slots: Slots,
    pub(super) inputs: Access,
    pub(super) outputs: Access,
    pub(super) phase: Phase,
    pub(super) scratch: Scratch,
    pub(super) states: SavedStates,
    pub(super) past: Past,
    pub(super) capabilities: Capabilities,
    /// How it is driven, for the summary.
    driven: String,
    /// Parameters were compared with what was given.
    has_read_back: bool,
    /// It was told that an output is rounded.
    has_warned: bool,
    /// Events, for whoever watches them.
    pub(super) event_log: EventLog,
    /// Texts, bytes and ticks.
    pub(super) mail: Mail,
    pub(super) clockwork: Clockwork,
    making: Construction,
    only: Option<OnlyInstance>,
    is_plain: bool,
}

/// How instances are made.
struct Construction {
    library: Arc<Functions>,
    kind: Kind,
    /// Variables set inside steps, if there are intermediate updates.
    intermediate: Option<Box<[u32]>>,
}

impl Deref for Base {
    type Target = Binding;

    #[inline]
    fn deref(&self) -> &Binding {
        &self.binding
    }
}

impl Base {
    /// With the variables set inside steps, if there are intermediate updates.
    pub(super) fn new(
        fmu: &Arc<Fmu>,
        resized: Option<Box<Description>>,
        options: &Options,
        (ports, slots, inputs): (Ports, Slots, Access),
        kind: Kind,
        intermediate: Option<Vec<u32>>,
    ) -> Result<Base> {
        let description = resized.as_deref().unwrap_or(fmu.description());
        let interface = description.interface(kind).ok_or_else(|| fmu.lacks(kind))?;
        announce(0, &options.name, options.call_limit);
        let library = keeping_surroundings(|| fmu.library(interface))?;
        let only = fmu.take(interface)?;
        let making = Construction { library, kind, intermediate: intermediate.map(Into::into) };
        let backend = making.instance(fmu, description, options)?;
        let base = Base {
            making,
            is_plain: false,
            options: options.clone(),
            outputs: Access::new(description, &slots.outputs).rounding(),
            inputs,
            phase: Phase::Instantiated,
            scratch: Scratch::default(),
            states: SavedStates::new(interface),
            past: Past::default(),
            capabilities: capabilities(fmu, options),
            driven: String::new(),
            has_read_back: false,
            has_warned: false,
            event_log: EventLog::default(),
            mail: Mail::new(description, &slots),
            clockwork: Clockwork::new(description, &slots),
            ports,
            slots,
            binding: Binding { name: options.name.clone(), backend, resized, fmu: fmu.clone() },
            only,
        };
        base.start_values().check()?;
        Ok(base)
    }

    /// Says by which version and tool it is driven, and how.
    pub(super) fn describe(&mut self, before: &str, kind: &str, how: &str) {
        let Description { fmi_version_text: version, generation_tool: tool, .. } = self.description();
        let tool = tool.as_deref().unwrap_or("unknown tool");
        self.driven = format!("{before}FMI {version} {kind} by {tool}; {how}");
        self.name_solver();
    }

    /// Notes where the last linear model came from.
    pub(super) fn note_model(&mut self, source: ModelSource) {
        if self.capabilities.model != source {
            self.capabilities.model = source;
            self.name_solver();
        }
    }

    fn name_solver(&mut self) {
        self.capabilities.solver = match &self.capabilities.model {
            ModelSource::Found(source) => format!("{}; linear model by {source}", self.driven).into(),
            _ => self.driven.clone().into(),
        };
    }

    /// Goes into initialization mode at `start`, from wherever it is. Parameters and start values are set before, but after
    /// FMI 2.0 has heard of the experiment, with which some FMUs restart; inputs are set in that mode.
    pub(super) fn start(&mut self, start: f64) -> Result<()> {
        if self.phase != Phase::Instantiated {
            self.renew()?;
            self.phase = Phase::Instantiated;
        }
        self.mail = Mail::new(self.description(), &self.slots);
        self.backend.log().set_time(start);
        let (tolerance, stop) = (self.options.tolerance, self.options.stop);
        let experiment = Experiment { tolerance, start, stop };
        self.called(keeping_surroundings(|| self.backend.set_up(experiment)))?;
        let (inputs, others) = self.start_values().given()?;
        starts::apply_all(&self.binding, &others)?;
        self.called(keeping_surroundings(|| self.backend.enter_initialization(experiment)))?;
        starts::apply_all(&self.binding, &inputs)?;
        self.phase = Phase::Initializing;
        Ok(())
    }

    /// Makes a new instance in the place of this one: what a reset leaves behind, or does, differs from tool to tool. Only an FMU
    /// that can be instantiated once per process is reset.
    fn renew(&mut self) -> Result<()> {
        if self.only.is_some() {
            return self.reset();
        }
        self.release();
        self.phase = Phase::Failed;
        self.binding.backend.free();
        self.binding.backend = self.making.instance(&self.fmu, self.description(), &self.options)?;
        // Tickets of the old instance are void.
        self.states = self.states.renewed();
        if self.is_plain {
            self.prepare_plain_steps();
        }
        Ok(())
    }

    /// Its start values and what they are for.
    fn start_values(&self) -> StartValues<'_> {
        let Base { binding, options, .. } = self;
        StartValues {
            instance: &binding.name,
            description: binding.description(),
            values: &options.start_values,
        }
    }

    /// `fmi2Reset` or `fmi3Reset`.
    pub(crate) fn reset(&mut self) -> Result<()> {
        self.called(self.backend.reset())?;
        self.phase = Phase::Instantiated;
        Ok(())
    }

    /// Gives back all states, and ends a run that is under way.
    fn release(&mut self) {
        self.states.free(&self.binding.backend);
        let is_running = matches!(self.phase, Phase::Stepping | Phase::Over);
        if let Some(Err(error)) = is_running.then(|| self.backend.terminate()) {
            self.warn(self.backend.log().time(), error.to_string());
        }
    }

    /// True if inputs and outputs are scalar reals, and steps can be plain.
    pub(super) fn prepare_plain_steps(&mut self) -> bool {
        let Base { inputs, outputs, binding, .. } = self;
        let (Some(inputs), Some(outputs)) = (inputs.only_reals(), outputs.only_reals()) else { return false };
        self.is_plain = binding.backend.prepare_plain_steps(inputs, outputs);
        self.is_plain
    }

    /// Leaves initialization.
    pub(super) fn exit_initialization(&mut self) -> Result<()> {
        self.called(self.backend.exit_initialization())?;
        self.phase = Phase::Stepping;
        if !self.has_read_back {
            self.has_read_back = true;
            self.warn_of_lost_parameters();
        }
        Ok(())
    }

    #[inline]
    pub(super) fn get_outputs(&mut self, outputs: &mut [f64]) -> Result<()> {
        let read = self.outputs.read(&self.binding.backend, &mut self.scratch, outputs);
        if let Some((place, value)) = self.scratch.rounded.take() {
            self.warn_of_rounding(place, value);
        }
        self.accessed(read, &self.slots.outputs)
    }

    /// Says once that an output has too many digits.
    #[cold]
    fn warn_of_rounding(&mut self, place: usize, value: i128) {
        if std::mem::replace(&mut self.has_warned, true) {
            return;
        }
        let text = format!(
            "`{}` is {value}, more than a floating-point number holds exactly: where nothing uses it, it is rounded",
            self.ports.outputs[place].name
        );
        self.warn(self.backend.log().time(), text);
    }

    /// Says which parameters the FMU does not have as they were given.
    #[cold]
    fn warn_of_lost_parameters(&self) {
        let (Some(_), Ok((_, given))) = (&self.options.log, self.start_values().given()) else { return };
        for text in read_back::lost(&self.binding, &given) {
            self.warn(self.backend.log().time(), text);
        }
    }

    /// Tells whoever listens.
    #[cold]
    pub(super) fn warn(&self, time: f64, text: String) {
        if let Some(log) = &self.options.log {
            log(&LogMessage::of_koppel(&self.name, time, Status::Warning, text));
        }
    }

    /// After a step that failed: an FMU that asks to end the simulation still shows its outputs, any other failure leaves
    /// nothing to ask for.
    #[cold]
    pub(super) fn close_failed(&mut self, error: &mut Error, outputs: &mut [f64]) {
        self.phase = Phase::Failed;
        if let Error::Terminated { has_outputs, .. } = error {
            *has_outputs = self.get_outputs(outputs).is_ok();
            self.phase = Phase::Over;
        }
    }

    pub(super) fn slot(&self, variable: VariableId) -> Slot {
        match variable.kind {
            VariableKind::Input => self.slots.inputs[variable.index],
            VariableKind::Output => self.slots.outputs[variable.index],
            VariableKind::Parameter => self.slots.parameters[variable.index],
            VariableKind::Local => self.slots.locals[variable.index],
        }
    }

    /// Changes a parameter, or a start value before the first step.
    pub(super) fn change(&mut self, variable: VariableId, value: f64) -> Result<()> {
        let slot = self.slot(variable);
        let (is_tunable, is_start) = {
            let v = &self.description().variables[slot.variable];
            let is_start = matches!(v.initial, Some(Initial::Exact | Initial::Approx));
            (v.variability == Variability::Tunable, is_start)
        };
        let name = self.ports.variable(variable).name.clone();
        let is_allowed = match (variable.kind, self.phase) {
            (VariableKind::Parameter, Phase::Stepping | Phase::Over | Phase::Failed) => is_tunable,
            (VariableKind::Parameter, _) => true,
            (VariableKind::Local, Phase::Initializing | Phase::Instantiated) => is_start,
            _ => false,
        };
        if !is_allowed {
            let reason = match variable.kind {
                VariableKind::Parameter => "it cannot change during the simulation",
                VariableKind::Local => "only start values are set, before the first step",
                VariableKind::Input | VariableKind::Output => {
                    "only parameters can be set; inputs are connected"
                }
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

    /// Lets the clocks tick that are due, or were told to; the variables of these.
    pub(super) fn tick(&mut self, time: f64, margin: f64) -> Result<Vec<usize>> {
        self.clockwork.tick(&self.binding, &mut self.mail, time, margin)
    }

    /// Updates the discrete states until they rest, and listens to the clocks before every round.
    pub(super) fn iterate_event(&mut self, time: f64) -> Result<EventInfo> {
        self.clockwork.iterate(&self.binding, &mut self.mail, time)
    }

    /// Gives what goes in with these clocks, and texts and bytes that wait for no clock.
    pub(super) fn write_clocked(&mut self, active: &[usize], inputs: &[f64]) -> Result<()> {
        let Base { binding, clockwork, mail, scratch, slots, .. } = self;
        for access in clockwork.governed(active) {
            binding.accessed(access.write(&binding.backend, scratch, inputs), &slots.inputs)?;
        }
        mail.write(binding, |variable| {
            variable.clocks.is_empty() || variable.clocks.iter().any(|clock| active.contains(clock))
        })
    }

    /// The variable behind an input.
    pub(crate) fn input_variable(&self, input: usize) -> usize {
        self.slots.inputs[input].variable
    }

    /// The watched variables as they are now; nothing if nobody watches events.
    pub(super) fn watched(&self) -> Result<Option<Vec<f64>>> {
        let Some(variables) = self.event_log.variables() else { return Ok(None) };
        variables.iter().map(|variable| self.read_one(self.slot(*variable))).collect::<Result<_>>().map(Some)
    }

    /// Notes an event at `time`, of which these were the watched variables before.
    pub(super) fn note_event(&mut self, time: f64, before: Option<Vec<f64>>) -> Result<()> {
        if let (Some(before), Some(after)) = (before, self.watched()?) {
            self.event_log.note(Event { time, before, after });
        }
        Ok(())
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        self.release();
    }
}

/// What the program shares with the FMU is afterwards as before, whatever the FMU needs for itself during the call: relative paths mean the same, for
/// instance.
fn keeping_surroundings<T>(call: impl FnOnce() -> T) -> T {
    let before = Surroundings::now();
    let done = call();
    before.restore();
    done
}

impl Construction {
    fn instance(&self, fmu: &Fmu, description: &Description, options: &Options) -> Result<Instance> {
        let folder = fmu.folder().join("resources");
        let resources = match description.fmi_version {
            FmiVersion::Fmi2 => file_uri(&folder),
            FmiVersion::Fmi3 => format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR),
        };
        let section = description.co_simulation.as_ref().filter(|_| self.kind == Kind::CoSimulation);
        let with = Instantiation {
            kind: self.kind,
            name: &options.name,
            token: &description.instantiation_token,
            resources: &resources,
            debug_logging: options.debug_logging,
            log: Arc::new(Log::new(&options.name, options.log.clone())),
            intermediate: self.intermediate.as_deref(),
            event_mode: section.is_some_and(|section| section.has_event_mode),
            early_return: section.is_some_and(|section| section.might_return_early_from_do_step),
            limit: options.call_limit,
        };
        let made = keeping_surroundings(|| Instance::new(&self.library, &with));
        made.map_err(|source| Error::Call { instance: options.name.clone(), source }.into())
    }
}

/// A path as URI: bytes outside the unreserved set are escaped.
fn file_uri(path: &std::path::Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let escaped = percent::encode(&text, b"/:");
    if escaped.starts_with('/') { format!("file://{escaped}") } else { format!("file:///{escaped}") }
}
