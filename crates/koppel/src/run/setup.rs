//! From a system and its settings to a run that stands at its start.

use super::adaptive;
use super::changes::{self, Changes};
use super::config::RunConfig;
use super::parts::Parts;
use super::recording::Recording;
use super::run::Run;
use super::schedule::Schedule;
use super::scheme::{self, Stage, Staged};
use super::signal_jumps::SignalJumps;
use super::step_sizes;
use crate::coupling::{self, Coupling, Needs, StepNeeds, Work};
use crate::diagnostic::Remark;
use crate::error::{Error, Result, Subject};
use crate::iteration::{self, IterationKind};
use crate::network::{Network, NetworkConfig, Slot, WideOutputs, with_inputs};
use crate::record::{Column, Columns, Condition};
use crate::signal::Clock;
use crate::system::{InputId, Reach, SubsystemId, System, SystemGraph, algebraic_loops};
use crate::tape::{StateData, Tape};
use crate::workbench::{Findings, Preparation, probe};

impl Run {
    /// Wires, initialises and finds the consistent start.
    pub fn new(system: System, config: &RunConfig) -> Result<Self> {
        Self::prepared(system, config, Preparation::default())
    }

    /// The same with what is there to prepare it by.
    pub fn prepared(system: System, config: &RunConfig, by: Preparation<'_>) -> Result<Self> {
        assemble(system, config, by, |graph| coupling::build(&config.coupling, config.hold, graph))
    }

    /// The same with a method of one's own in place of `config.coupling`.
    pub fn with_coupling(system: System, config: &RunConfig, coupling: Box<dyn Coupling>) -> Result<Self> {
        assemble(system, config, Preparation::default(), |_| Ok(coupling))
    }

    /// What the user should know before the run, of the wiring and of the coupling.
    pub fn remarks(&self) -> Vec<Remark> {
        remarks(&self.network, self.not_repeated.as_deref())
    }
}

/// Wires, initialises and finds the consistent start.
fn assemble(
    system: System,
    config: &RunConfig,
    by: Preparation<'_>,
    build: impl FnOnce(&SystemGraph) -> Result<Box<dyn Coupling>>,
) -> Result<Run> {
    config.check()?;
    let schedule = Schedule::new(config, &system.graph)?;
    let loops = iterated_loops(config, &system.graph, &schedule);
    let order: Vec<SubsystemId> = schedule.stages.concat();
    let System { graph, subsystems } = system.reordered(&order);
    let coupling = build(&graph)?;
    let columns = Columns::select(
        &config.record,
        &graph,
        &coupling.report().channels(&graph),
        own_columns(config, loops),
    )?
    .in_order_of_definition(&order);
    let needs = coupling.needs();
    check_rates(config, &schedule, &needs)?;
    check_sizes(config, &graph, &needs)?;
    check_externals(&graph, &schedule, &order, config.largest_step())?;
    let control = adaptive::control(config, &graph, (&schedule, &order), &needs)?;
    let assignments = changes::resolve(config, &graph)?;
    step_sizes::check(&graph, (&schedule, &order), config, &needs, &assignments)?;
    let condition = config.stop_when.as_deref().map(|text| Condition::new(text, &graph)).transpose()?;
    scheme::check_rates(config.iteration.as_ref(), schedule.is_multi_rate())?;

    let clock = Clock::new(config.start, config.stop, config.step);
    let stages = scheme::stages(&graph, &schedule, needs);
    let changes = Changes::new(assignments, 1e-9 * clock.size(), graph.outputs());
    let every: Vec<u32> = order.iter().map(|id| schedule.every[*id]).collect();
    let evaluated = NetworkConfig {
        reading: config.reading,
        iteration: config.iteration.as_ref().filter(|settings| settings.kind == IterationKind::Outputs),
        every: &every,
        step: config.largest_step(),
    };
    let signal_jumps = SignalJumps::new(&graph, &needs, config.reading);
    let wide = WideOutputs::new(&graph, &config.record, &columns, condition.as_ref());
    let mut network = Network::new(graph, subsystems, coupling, &evaluated);
    network.wide = wide;
    let mut start = StartFinder { clock, changes, stages: &stages, probing: Vec::new() };
    start.find(&mut network, config, by, &order).map_err(|error| with_inputs(&network, error))?;
    let StartFinder { changes, probing, .. } = start;
    let settings = changes.settings(network.len());

    let staged = Staged::new(stages, clock, schedule.is_multi_rate(), config.threads, network.graph.inputs());
    let (scheme, not_repeated) =
        scheme::choose(staged, &mut network, config.iteration.as_ref(), &schedule.loops, clock.time(0))?;
    let recording =
        Recording::new(columns, config.record_every, condition, config.record_events, &mut network);
    let mut run = Run {
        network,
        scheme,
        clock,
        index: 0,
        inside: None,
        parts: Parts::default(),
        plain_until: 0,
        control,
        changes,
        signal_jumps,
        recording,
        not_repeated,
        probing,
        findings: Findings::new(clock, settings, config.threads.is_allowed()),
        state_size: (0, 0),
    };
    prepare_early_end(&mut run);
    let mut numbers = StateData::default();
    run.state(&mut Tape::write(&mut numbers));
    run.state_size = numbers.size();
    run.network.slots.iter_mut().for_each(Slot::begin_run);
    Ok(run)
}

/// Finds the consistent start of a run.
struct StartFinder<'a> {
    clock: Clock,
    changes: Changes,
    stages: &'a [Stage],
    probing: Vec<crate::workbench::ProbeReport>,
}

impl StartFinder<'_> {
    /// Start values, then all outputs of the start time, then what the coupling prepares.
    fn find(
        &mut self,
        network: &mut Network,
        config: &RunConfig,
        by: Preparation<'_>,
        order: &[SubsystemId],
    ) -> Result<()> {
        let time = self.clock.time(0);
        network.initialize(time)?;
        self.changes.apply_initial(network, time)?;
        let settings = self.changes.settings(network.len());
        network.start(time, settings.clone())?;
        if !network.needs.reduced_start {
            network.board.history.assume_constant_past(self.clock.size());
        }
        for (number, stage) in self.stages.iter().enumerate() {
            network.board.stages.extend(stage.members.clone().map(|_| number));
        }
        if network.needs.probe.is_some() {
            self.probing = probe(network, self.clock, settings, config.threads.is_allowed(), by, order)?;
        }
        let step = self.clock.step(0, 1);
        network.update_models(step)?;
        let wired: Vec<InputId> = self.stages.iter().flat_map(|stage| stage.wired.iter().copied()).collect();
        let Network { coupling, graph, board, .. } = network;
        coupling.start(&board.view(graph, step), &wired)
    }
}

/// Keeps what a run needs that a subsystem may end inside a step.
fn prepare_early_end(run: &mut Run) {
    let Run { network, scheme, recording, .. } = run;
    let may_end = (0..network.len()).any(|id| network.subsystem(id).capabilities().may_end_run);
    if may_end && recording.skips_points() && recording.is_on_board() {
        let staged = scheme.staged_mut();
        match staged.stages.len() == 1 && !staged.is_multi_rate {
            true => staged.step_start.request_outputs(network.graph.outputs()),
            false => recording.keeps_all = true,
        }
    }
    if scheme::can_end_early(&**scheme, network) {
        scheme.staged_mut().step_start.request_states(network, !recording.columns.is_empty());
    }
}

/// Refuses several rates where the method cannot have them.
fn check_rates(config: &RunConfig, schedule: &Schedule, needs: &Needs) -> Result<()> {
    if !schedule.is_multi_rate() {
        return Ok(());
    }
    if needs.reduced_start {
        return Err(Error::Unsupported {
            what: Subject::named("reduced", "start = \"reduced\""),
            reason:
                "subsystems with different rates have no common small first steps; use start = \"constant\""
                    .into(),
        }
        .into());
    }
    if needs.steps != StepNeeds::Any {
        let name = config.coupling.name();
        return Err(Error::Unsupported {
            what: Subject::named(name, format!("`{name}` with several rates")),
            reason: "it predicts all outputs over one common step; remove `every`, or use `foh` or `soh`"
                .into(),
        }
        .into());
    }
    Ok(())
}

/// Most bytes of one matrix: 4 GB.
const MOST_BYTES: usize = 4 << 30;

/// Refuses a method with models where a model would fill the memory: it has as many numbers as the subsystem has outputs squared.
fn check_sizes(config: &RunConfig, graph: &SystemGraph, needs: &Needs) -> Result<()> {
    if needs.models.is_none() && needs.probe.is_none() {
        return Ok(());
    }
    for id in 0..graph.len() {
        let (name, outputs) = (graph.name(id), graph.outputs_of(id).len());
        let bytes = outputs.saturating_mul(outputs).saturating_mul(size_of::<f64>());
        if bytes > MOST_BYTES {
            let method = config.coupling.name();
            return Err(Error::Unsupported {
                what: Subject::named(name, format!("`{method}` with a model of `{name}`")),
                reason: format!(
                    "with its {outputs} outputs it takes {} GB of memory; use a method without models, such as `foh`",
                    bytes >> 30
                ),
            }
            .into());
        }
    }
    Ok(())
}

/// How many loops are iterated.
fn iterated_loops(config: &RunConfig, graph: &SystemGraph, schedule: &Schedule) -> usize {
    match config.iteration.as_ref().map(|settings| settings.kind) {
        None => 0,
        Some(IterationKind::Step) => schedule.loops.len(),
        Some(IterationKind::Outputs) => algebraic_loops(graph, Reach::ToFilters).len(),
    }
}

impl RunConfig {
    /// What is wrong with the settings of a run of this system, as far as can be seen before its start.
    pub fn mistakes(&self, graph: &SystemGraph) -> Vec<Error> {
        let condition = self.stop_when.as_deref().map(|text| Condition::new(text, graph)).transpose();
        let schedule = Schedule::new(self, graph);
        let all = [self.check().err(), schedule.err(), changes::resolve(self, graph).err(), condition.err()];
        all.into_iter().flatten().flat_map(|error| error.each()).collect()
    }

    /// Columns that tell of the run itself: of loops that are iterated, and of steps that adapt.
    pub fn own_columns(&self, graph: &SystemGraph) -> Result<Vec<Column>> {
        let schedule = Schedule::new(self, graph)?;
        Ok(own_columns(self, iterated_loops(self, graph, &schedule)))
    }
}

fn own_columns(config: &RunConfig, loops: usize) -> Vec<Column> {
    let mut columns = iteration::columns(loops);
    columns.extend(adaptive::column(config));
    columns
}

/// Most pieces of one external signal within one step.
const MOST_PIECES: usize = 100_000;

/// Refuses signals that change more often within a step than could be followed.
fn check_externals(graph: &SystemGraph, schedule: &Schedule, order: &[SubsystemId], step: f64) -> Result<()> {
    for (input, signal) in graph.externals() {
        let every = schedule.every[order[graph.subsystem_of_input(*input)]];
        let pieces = signal.max_breaks(step * f64::from(every));
        if pieces > MOST_PIECES {
            let name = graph.input_name(*input);
            return Err(Error::Unsupported {
                what: Subject::named(&name, format!("the external signal of `{name}`")),
                reason: format!(
                    "it changes about {pieces:e} times within one communication step of {step} s"
                ),
            }
            .into());
        }
    }
    Ok(())
}

/// What the user should know before the run, of the wiring and of the coupling.
fn remarks(network: &Network, not_repeated: Option<&str>) -> Vec<Remark> {
    let of_coupling = network.coupling.report().remarks(&network.graph).into_iter();
    let of_coupling = of_coupling.chain(not_repeated.map(coupling::not_repeated)).map(Remark::from);
    let of_wiring = network.graph.remarks().iter().cloned();
    of_wiring.chain(remark_on_discrete_reals(network)).chain(of_coupling).collect()
}

/// Most inputs that one remark names.
const MOST_NAMED: usize = 10;

/// Names the real numbers that the coupling would predict, were they not declared discrete.
fn remark_on_discrete_reals(network: &Network) -> Option<Remark> {
    let graph = &network.graph;
    let is_one = |input: &InputId| {
        graph.input_variable(*input).is_discrete_real && !graph.is_free(*input) && graph.map(*input).is_none()
    };
    let inputs: Vec<InputId> = (0..graph.inputs()).filter(is_one).collect();
    let first = *inputs.first().filter(|_| network.needs.work != Work::Hold)?;
    let mut names: Vec<String> =
        inputs.iter().take(MOST_NAMED).map(|input| format!("`{}`", graph.input_name(*input))).collect();
    if inputs.len() > MOST_NAMED {
        names.push(format!("and {} others", inputs.len() - MOST_NAMED));
    }
    let (subsystem, name) = (graph.name(graph.subsystem_of_input(first)), &graph.input_variable(first).name);
    Some(Remark::new(
        format!(
            "held over each step, whatever the coupling, because their FMUs declare them discrete: {}",
            names.join(", ")
        ),
        format!(
            "if they are continuous signals, write continuous = [\"{name}\"] below [subsystems.{subsystem}]"
        ),
    ))
}
