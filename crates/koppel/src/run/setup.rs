//! From a system and its settings to a run that stands at its start.

use super::adaptive;
use super::board::{Board, Deliveries};
use super::change;
use super::config::RunConfig;
use super::consistent::{Consistency, Instant};
use super::failure::non_finite;
use super::iterate::{self, IterationKind, StepIteration};
use super::late_start::LateStart;
use super::messages::Messages;
use super::preparation::Preparation;
use super::probing::Bench;
use super::retreat::LastPoint;
use super::row::Row;
use super::schedule::Schedule;
use super::simulation::{Simulation, Stage, view};
use super::slot::Slot;
use super::statistics::Extremes;
use super::step_sizes;
use crate::coupling::{self, Coupling, Needs};
use crate::error::{Error, Result, Subject};
use crate::record::{Column, Columns, Condition};
use crate::signal::{Clock, Request};
use crate::system::{Reach, SubsystemId, System, SystemGraph, algebraic_loops};

impl Simulation {
    /// Wires, initialises and finds the consistent start.
    pub fn new(system: System, config: &RunConfig) -> Result<Self> {
        Self::prepared(system, config, Preparation::default())
    }

    /// The same with what is there to prepare it by.
    pub fn prepared(system: System, config: &RunConfig, by: Preparation<'_>) -> Result<Self> {
        Self::assemble(system, config, by, |graph| coupling::build(&config.coupling, config.hold, graph))
    }

    /// The same with a method of one's own in place of `config.coupling`.
    pub fn with_coupling(system: System, config: &RunConfig, coupling: Box<dyn Coupling>) -> Result<Self> {
        Self::assemble(system, config, Preparation::default(), |_| Ok(coupling))
    }

    fn assemble(
        system: System,
        config: &RunConfig,
        by: Preparation<'_>,
        build: impl FnOnce(&SystemGraph) -> Result<Box<dyn Coupling>>,
    ) -> Result<Self> {
        config.check()?;
        let schedule = Schedule::new(config, &system.graph)?;
        let loops = iterated_loops(config, &system.graph, &schedule);
        let order: Vec<SubsystemId> = schedule.stages.concat();
        let System { graph, subsystems } = system.reordered(&order);
        let coupling = build(&graph)?;
        let columns =
            Columns::select(&config.record, &graph, &coupling.channels(&graph), own_columns(config, loops))?
                .in_order_of_definition(&order);
        let needs = coupling.needs();
        if needs.reduced_start && schedule.is_multi_rate() {
            return Err(Error::Unsupported {
                what: Subject::named("reduced", "start = \"reduced\""),
                reason: "subsystems with different rates have no common small first steps; use start = \"constant\""
                    .into(),
            }
            .into());
        }
        if needs.one_rate && schedule.is_multi_rate() {
            return Err(Error::Unsupported {
                what: Subject::named(
                    config.coupling.name(),
                    format!("`{}` with several rates", config.coupling.name()),
                ),
                reason: "it predicts all outputs over one common step; remove `every`, or use `foh` or `soh`"
                    .into(),
            }
            .into());
        }
        let slot = |(id, subsystem)| {
            Slot::new(id, subsystem, schedule.every[order[id]], &graph, needs, config.largest_step())
        };
        check_externals(&graph, &schedule, &order, config.largest_step())?;
        let control = adaptive::control(config, &graph, (&schedule, &order), &needs)?;
        let changes = change::resolve(config, &graph)?;
        step_sizes::check(&graph, (&schedule, &order), config, &needs, &changes)?;
        let slots: Vec<Slot> = subsystems.into_iter().enumerate().map(slot).collect();
        let condition = config.stop_when.as_deref().map(|text| Condition::new(text, &graph)).transpose()?;
        let widest = slots.iter().map(|slot| slot.inputs.len()).max().unwrap_or(0);
        let most_outputs = slots.iter().map(|slot| slot.outputs.len()).max().unwrap_or(0);
        let stages = stages(&graph, &schedule, needs);
        let iteration = config.iteration.as_ref();
        let mut simulation = Simulation {
            steps: iteration.map_or_else(StepIteration::default, |settings| {
                StepIteration::new(&graph, &stages, &schedule.loops, settings)
            }),
            halving: iterate::room(iteration, schedule.is_multi_rate())?,
            halvings: 0,
            repetition: None,
            board: Board::new(&graph, needs, config.reading),
            messages: Messages::new(&graph),
            stages,
            consistency: Consistency::new(
                &graph,
                iteration.filter(|settings| settings.kind == IterationKind::Outputs),
            ),
            outputs_before: vec![0.0; graph.outputs()],
            inputs: vec![0.0; widest],
            rates: vec![0.0; most_outputs],
            reading: config.reading,
            clock: Clock::new(config.start, config.stop, config.step),
            index: 0,
            control,
            inside: None,
            is_multi_rate: schedule.is_multi_rate(),
            is_usually_plain: false,
            is_simple: false,
            plain_until: 0,
            changes,
            changes_done: 0,
            are_models_old: true,
            parts: Vec::new(),
            parts_done: 0,
            outputs_after: vec![0.0; graph.outputs()],
            probing: Vec::new(),
            are_copies: false,
            surrogates: Vec::new(),
            row: Row::new(&columns, config.record_events),
            columns,
            record_every: config.record_every,
            condition,
            termination: None,
            ended_trial: None,
            retreat: None,
            last_point: LastPoint::default(),
            moved: 0,
            standing: None,
            unwritten: None,
            wide: Vec::new(),
            state_size: 0,
            extremes: Extremes::new(graph.inputs()),
            threads: config.threads,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            pool: None,
            graph,
            slots,
            coupling,
            needs,
        };
        simulation.wide = simulation.wide_outputs(&config.record);
        simulation.is_usually_plain = simulation.is_usually_plain();
        simulation.is_simple = simulation.is_simple();
        match simulation.initialize(by, &order) {
            Ok(()) => {
                simulation.watch_events();
                Ok(simulation)
            }
            Err(error) => Err(simulation.with_inputs(error)),
        }
    }

    /// True if neither the system nor the coupling wants anything beside the exchange of values.
    fn is_usually_plain(&self) -> bool {
        let Needs { samples, models, after_steps, no_preparation, small_steps, .. } = self.needs;
        let is_coupling_plain = samples == Request::Nothing
            && models.is_none()
            && !after_steps
            && no_preparation
            && small_steps.is_none();
        is_coupling_plain
            && self.control.is_none()
            && !self.consistency.is_due(self.reading)
            && !self.is_iterated_somewhere()
            && self.halving.is_none()
            && !self.is_multi_rate
            && self.messages.is_empty()
            && self.graph.maps().is_empty()
            && self.wide.is_empty()
    }

    /// Start values, then all outputs of the start time.
    fn initialize(&mut self, by: Preparation<'_>, order: &[SubsystemId]) -> Result<()> {
        let time = self.clock.time(0);
        for (id, slot) in self.slots.iter_mut().enumerate() {
            let failed = |source| Error::Subsystem { subsystem: self.graph.name(id).into(), time, source };
            slot.subsystem.initialize(time).map_err(failed)?;
        }
        while self.changes.get(self.changes_done).is_some_and(|change| change.time <= time) {
            self.apply_next_change()?;
        }
        self.find_consistent_start(time)?;
        if !self.messages.is_empty() {
            self.carry_messages(0..self.slots.len(), time)?;
            // Once more: outputs may follow what was received.
            self.find_consistent_start(time)?;
        }
        self.leave_initialization(time)?;
        let Simulation { graph, board, .. } = self;
        board.check_maps(graph, &(0..graph.inputs()), time)?;
        self.check_exact(time)?;
        let Simulation { graph, board, .. } = self;
        if let Some(output) = board.non_finite(0..graph.outputs()) {
            return Err(non_finite(graph, &board.outputs, output, time));
        }
        for input in 0..graph.inputs() {
            board.applied[input] = board.history.arrivals()[input];
            board.note_read(input, board.applied[input]);
            board.planned.hold(input, board.applied[input]);
        }
        if !self.needs.reduced_start {
            board.history.assume_constant_past(self.clock.size());
        }
        for (number, stage) in self.stages.iter().enumerate() {
            board.stages.extend(stage.members.clone().map(|_| number));
        }
        if let Some(needs) = self.needs.probe {
            let copies = by.copies.map(|make| make()).transpose()?;
            self.probe_all(needs, by.store, copies.map(|system| Bench(system.reordered(order).subsystems)))?;
        }
        let step = self.clock.step(0, 1);
        self.take_models(step)?;
        let wired: Vec<_> = self.stages.iter().flat_map(|stage| stage.wired.iter().copied()).collect();
        self.coupling.start(&view(&self.graph, &self.board, step), &wired)?;
        self.check_roll_back(step.start)?;
        self.prepare_repetition();
        self.prepare_retreat();
        let mut numbers = Vec::new();
        self.save_numbers(&mut numbers);
        self.state_size = numbers.len();
        self.slots.iter_mut().for_each(Slot::begin_run);
        Ok(())
    }

    /// All leave their initialization, with inputs that belong to what the others then tell.
    pub(super) fn leave_initialization(&mut self, time: f64) -> Result<()> {
        // Who is started anew forgets what it has received.
        let has_messages = !self.messages.is_empty();
        let may_start = |id: usize| !has_messages && self.refusal(id).is_none();
        let all = 0..self.slots.len();
        let settings = all.clone().map(|id| self.set_at_start(id)).collect();
        let mut late = LateStart::new(settings, all.map(may_start).collect());
        let Simulation { graph, slots, board, inputs, consistency, .. } = self;
        let mut now = Instant { graph, slots, board, inputs, time, late: None };
        consistency.leave_initialization(&mut now, &mut late)
    }

    pub(super) fn find_consistent_start(&mut self, time: f64) -> Result<()> {
        let Simulation { graph, slots, board, inputs, consistency, .. } = self;
        consistency.initialize(&mut Instant { graph, slots, board, inputs, time, late: None })
    }
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
        let all = [self.check().err(), schedule.err(), change::resolve(self, graph).err(), condition.err()];
        all.into_iter().flatten().flat_map(|error| error.each()).collect()
    }

    /// Columns that tell of the run itself: of loops that are iterated, and of steps that adapt.
    pub fn own_columns(&self, graph: &SystemGraph) -> Result<Vec<Column>> {
        let schedule = Schedule::new(self, graph)?;
        Ok(own_columns(self, iterated_loops(self, graph, &schedule)))
    }
}

fn own_columns(config: &RunConfig, loops: usize) -> Vec<Column> {
    let mut columns = iterate::columns(loops);
    columns.extend(adaptive::column(config));
    columns
}

/// Stages as ranges: subsystems are numbered in the order in which they move.
fn stages(graph: &SystemGraph, schedule: &Schedule, needs: Needs) -> Vec<Stage> {
    // A slow subsystem's inputs are held from the begin of its own step, which the coupling is told of.
    let all_held = needs.only_holds && !schedule.is_multi_rate();
    let mut first = 0;
    let mut stage = |size: usize| {
        let members = first..first + size;
        first += size;
        let inputs = graph.inputs_of(members.start).start..graph.inputs_of(members.end - 1).end;
        let connected = inputs.clone().filter(|input| !graph.is_free(*input));
        let is_held =
            |input: &usize| all_held || graph.input_variable(*input).is_held || graph.map(*input).is_some();
        let (held, wired) = connected.partition(is_held);
        let deliveries = Deliveries::new(graph, members.clone());
        let outputs = graph.outputs_of(members.start).start..graph.outputs_of(members.end - 1).end;
        Stage { members, inputs, wired, held, outputs, deliveries, is_parallel: false }
    };
    schedule.stages.iter().filter(|members| !members.is_empty()).map(|members| stage(members.len())).collect()
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
