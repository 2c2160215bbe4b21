//! The macro step.
//!
//! One call of [`Simulation::advance`] takes all subsystems from T^k to T^{k+1}:
//!
//! ```text
//! timed changes due at T^k
//! coupling.prepare                            nobody has moved
//! for each stage:
//!     for each member, side by side:
//!         coupling.input -> segment           predict its inputs over the step
//!         subsystem.step, subsystem.read
//!     publish outputs at their time           later stages see them
//! fresh reading                               outputs of one instant, loops solved
//! ```
//!
//! Nothing is allocated after the first step. Members of a stage write only to their own slot and are published in
//! order, so the result is the same, bit for bit, on one thread or many.

use super::board::{Board, Deliveries};
use super::change::{self, Assignment, Target};
use super::config::{Parallel, Reading, RunConfig};
use super::consistent::{Consistency, Instant};
use super::schedule::Schedule;
use super::slot::{Plan, Slot};
use super::state::RunState;
use super::statistics::{Defect, Extremes, Share, Statistics};
use crate::coupling::{self, Coupling, Needs, Polynomials, View};
use crate::error::{Error, Result};
use crate::record::{Column, Columns, Condition, Recorder};
use crate::signal::{Clock, Request, Step};
use crate::solver::SolverError;
use crate::system::{InputId, SubsystemId, System, SystemGraph, VariableId, VariableKind};
use std::ops::Range;

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// At the stop time.
    Reached,
    /// Because the stop condition became true.
    Condition {
        /// When.
        time: f64,
    },
    /// Because the watcher said so.
    Interrupted {
        /// When.
        time: f64,
    },
}

/// What the watcher of a run wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// End here.
    Stop,
}

/// A system in the middle of its run. Its subsystems are numbered in the order in which they move.
pub struct Simulation {
    graph: SystemGraph,
    slots: Vec<Slot>,
    stages: Vec<Stage>,
    board: Board,
    coupling: Box<dyn Coupling>,
    needs: Needs,
    consistency: Consistency,
    /// Room for the inputs of any one subsystem.
    inputs: Vec<f64>,
    reading: Reading,
    clock: Clock,
    index: u64,
    is_multi_rate: bool,
    changes: Vec<Assignment>,
    changes_done: usize,
    /// Ends of the parts of a macro step that is cut by changes or a cascade of first steps.
    parts: Vec<f64>,
    columns: Columns,
    row: Vec<f64>,
    record_every: u64,
    condition: Option<Condition>,
    extremes: Extremes,
    threads: Parallel,
    pool: Option<rayon::ThreadPool>,
}

struct Stage {
    members: Range<SubsystemId>,
    /// All inputs of the members.
    inputs: Range<InputId>,
    /// Those that are connected.
    wired: Vec<InputId>,
    deliveries: Deliveries,
    is_parallel: bool,
}

/// Steps that are all timed at the start, before deciding about threads.
const CALIBRATION: u64 = 16;
/// Later one step in this many is timed.
const TIMED: u64 = 256;
/// Seconds a parallel stage must save to pay for waking the threads.
const WAKE_UP: f64 = 15e-6;
/// A `reduced` start cuts the first macro step into parts that double: H/1024, H/1024, H/512, ...
const CASCADE: u32 = 10;

impl Simulation {
    /// Wires, initialises and finds the consistent start.
    pub fn new(system: System, config: &RunConfig) -> Result<Self> {
        config.check()?;
        let schedule = Schedule::new(config, &system.graph)?;
        let columns = Columns::select(&config.record, &system.graph)?;
        let order: Vec<SubsystemId> = schedule.stages.concat();
        let System { graph, subsystems } = system.reordered(&order);
        let coupling = coupling::build(&config.coupling, config.hold, &graph)?;
        let needs = coupling.needs();
        if needs.reduced_start && schedule.is_multi_rate() {
            return Err(Error::Unsupported {
                what: "start = \"reduced\"".into(),
                reason: "subsystems with different rates have no common small first steps; use start = \"constant\""
                    .into(),
            }
            .into());
        }
        let slot =
            |(id, subsystem)| Slot::new(id, subsystem, schedule.every[order[id]], &graph, needs, config.step);
        let slots: Vec<Slot> = subsystems.into_iter().enumerate().map(slot).collect();
        let condition = config.stop_when.as_deref().map(|text| Condition::new(text, &graph)).transpose()?;
        let widest = slots.iter().map(|slot| slot.inputs.len()).max().unwrap_or(0);
        let columns = columns.renumbered(&order);
        let mut simulation = Simulation {
            board: Board::new(&graph, needs.terms, needs.depth),
            stages: stages(&graph, &schedule),
            consistency: Consistency::new(&graph),
            inputs: vec![0.0; widest],
            reading: config.reading,
            clock: Clock::new(config.start, config.stop, config.step),
            index: 0,
            is_multi_rate: schedule.is_multi_rate(),
            changes: change::resolve(&config.at, &graph)?,
            changes_done: 0,
            parts: Vec::new(),
            row: vec![0.0; columns.len()],
            columns,
            record_every: config.record_every,
            condition,
            extremes: Extremes::new(graph.inputs()),
            threads: config.threads,
            pool: None,
            graph,
            slots,
            coupling,
            needs,
        };
        simulation.initialize()?;
        Ok(simulation)
    }

    /// The wiring.
    pub fn graph(&self) -> &SystemGraph {
        &self.graph
    }

    /// Time of the communication point that has been reached.
    pub fn time(&self) -> f64 {
        self.clock.time(self.index)
    }

    /// Macro steps done.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Macro steps of the whole run.
    pub fn steps(&self) -> u64 {
        self.clock.steps()
    }

    /// True at the stop time.
    pub fn is_done(&self) -> bool {
        self.index >= self.clock.steps()
    }

    /// The recorded columns, without time.
    pub fn columns(&self) -> &[Column] {
        self.columns.list()
    }

    /// Outputs of a subsystem now.
    pub fn outputs(&self, id: SubsystemId) -> &[f64] {
        &self.board.outputs[self.slots[id].outputs.clone()]
    }

    /// Takes one macro step.
    pub fn advance(&mut self) -> Result<()> {
        self.cut_step();
        if self.parts.is_empty() {
            let step = self.clock.step(self.index, 1);
            self.exchange(step, self.clock.time(self.index + 1))?;
        } else {
            self.advance_in_parts()?;
        }
        self.index += 1;
        Ok(())
    }

    /// One exchange of values: everybody who is due moves over `step`, to the communication point `end`.
    fn exchange(&mut self, step: Step, end: f64) -> Result<()> {
        self.apply_changes(step.start)?;
        let view = view(&self.graph, &self.board, step);
        self.coupling.prepare(&view)?;
        for stage in 0..self.stages.len() {
            self.predict(stage, step)?;
            self.move_stage(stage, step)?;
            self.deliver(stage, step, end)?;
        }
        if self.reading == Reading::Fresh && !self.consistency.is_empty() {
            self.refresh(end)?;
        }
        self.note_defects(end);
        Ok(())
    }

    /// The coupling writes the inputs of a stage, now that earlier stages have moved.
    fn predict(&mut self, stage: usize, step: Step) -> Result<()> {
        let Simulation { coupling, graph, board, clock, slots, .. } = self;
        let Stage { wired, members, .. } = &self.stages[stage];
        let mut planned = std::mem::take(&mut board.planned);
        let mut out = Polynomials { terms: board.terms, coefficients: &mut planned };
        let result = if self.is_multi_rate {
            members.clone().filter(|id| slots[*id].is_due(&step)).try_for_each(|id| {
                let own = clock.step(step.index, u64::from(slots[id].every));
                let inputs = &slots[id].inputs;
                let from = wired.partition_point(|i| *i < inputs.start);
                let to = wired.partition_point(|i| *i < inputs.end);
                coupling.input(&view(graph, board, own), &wired[from..to], &mut out)
            })
        } else {
            coupling.input(&view(graph, board, step), wired, &mut out)
        };
        board.planned = planned;
        result
    }

    /// Members of a stage move, side by side where that pays.
    fn move_stage(&mut self, stage: usize, step: Step) -> Result<()> {
        if step.index == CALIBRATION || step.index.is_multiple_of(TIMED * 16) {
            self.decide_threads(stage, step.index);
        }
        let Simulation { slots, graph, board, clock, pool, .. } = self;
        let Stage { members, is_parallel, .. } = &self.stages[stage];
        let is_timed = step.index < CALIBRATION || step.index.is_multiple_of(TIMED);
        let plan = Plan { terms: board.terms, coefficients: &board.planned };
        let slots = &mut slots[members.clone()];
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else { return Ok(()) };
        let outputs = &mut board.outputs[first.outputs.start..last.outputs.end];
        if !is_timed && !is_parallel && !self.is_multi_rate {
            let base = first.outputs.start;
            for slot in slots {
                let outputs = &mut outputs[slot.outputs.start - base..slot.outputs.end - base];
                slot.advance(graph, &step, plan, outputs)
                    .map_err(|source| failed(graph, slot, step, source))?;
            }
            return Ok(());
        }
        let work = |slot: &mut Slot, outputs: &mut [f64]| {
            if slot.is_due(&step) {
                let own = clock.step(step.index, u64::from(slot.every));
                let step = if slot.every == 1 { step } else { own };
                slot.advance_timed(graph, &step, plan, outputs);
            }
        };
        match pool {
            Some(pool) if *is_parallel => pool.install(|| side_by_side(slots, outputs, &work)),
            _ => one_by_one(slots, outputs, &work),
        }
        for slot in slots {
            if let Some(source) = slot.failure.take() {
                return Err(failed(graph, slot, step, source));
            }
        }
        Ok(())
    }

    /// Sends the outputs of a stage on their way.
    fn deliver(&mut self, stage: usize, step: Step, end: f64) -> Result<()> {
        let Stage { members, inputs, deliveries, .. } = &self.stages[stage];
        let outputs = self.slots[members.start].outputs.start..self.slots[members.end - 1].outputs.end;
        if let Some(output) = self.board.non_finite(outputs) {
            return Err(non_finite(&self.graph, &self.board, output, end));
        }
        if self.is_multi_rate {
            for id in members.clone().filter(|id| self.slots[*id].is_due(&step)) {
                let slot = &self.slots[id];
                let own = self.clock.step(step.index, u64::from(slot.every));
                let reached = self.clock.time(step.index + u64::from(slot.every));
                self.board.note_applied(slot.inputs.clone(), own.size);
                self.board.deliver_one(&self.graph, id, reached);
            }
        } else {
            self.board.note_applied(inputs.clone(), step.size);
            self.board.deliver(&self.graph, members.clone(), deliveries, end);
        }
        if self.needs.samples != Request::Nothing {
            let view = view(&self.graph, &self.board, step);
            for id in members.clone().filter(|id| self.slots[*id].is_due(&step)) {
                self.coupling.moved(&view, id, &self.slots[id].samples)?;
            }
        }
        Ok(())
    }

    /// Outputs of one instant.
    fn refresh(&mut self, time: f64) -> Result<()> {
        let Simulation { graph, slots, board, inputs, consistency, .. } = self;
        consistency.refresh(&mut Instant { graph, slots, board, inputs, time })
    }

    /// Runs to the end, recording rows; `watch` is asked after every macro step.
    pub fn run(
        &mut self,
        recorder: &mut dyn Recorder,
        watch: &mut (dyn FnMut(&Simulation) -> Result<Flow> + Send),
    ) -> Result<Ending> {
        if self.index == 0 {
            self.record(recorder)?;
        }
        while !self.is_done() {
            self.advance()?;
            let stop = self.stop_condition()?;
            if self.index.is_multiple_of(self.record_every) || self.is_done() || stop {
                self.record(recorder)?;
            }
            if stop {
                return Ok(Ending::Condition { time: self.time() });
            }
            if watch(self)? == Flow::Stop && !self.is_done() {
                return Ok(Ending::Interrupted { time: self.time() });
            }
        }
        Ok(Ending::Reached)
    }

    /// Gives the present row to `recorder`.
    pub fn record(&mut self, recorder: &mut dyn Recorder) -> Result<()> {
        let time = self.time();
        let Simulation { columns, slots, row, graph, board, .. } = self;
        columns.fill(row, |id, variable| value(&mut slots[id], variable, graph, board, time))?;
        recorder.row(time, row)
    }

    /// Rows recorded so far, from the number of steps.
    pub fn rows(&self) -> u64 {
        let last_is_extra = self.is_done() && !self.index.is_multiple_of(self.record_every);
        self.index / self.record_every + 1 + u64::from(last_is_extra)
    }

    fn stop_condition(&mut self) -> Result<bool> {
        let time = self.time();
        let Simulation { condition, slots, graph, board, .. } = self;
        let Some(condition) = condition else { return Ok(false) };
        condition.holds(time, |id, variable| value(&mut slots[id], variable, graph, board, time))
    }

    /// Start values, then all outputs of the start time.
    fn initialize(&mut self) -> Result<()> {
        let time = self.clock.time(0);
        for (id, slot) in self.slots.iter_mut().enumerate() {
            let failed = |source| Error::Subsystem { subsystem: self.graph.name(id).into(), time, source };
            slot.subsystem.initialize(time).map_err(failed)?;
        }
        while self.changes.get(self.changes_done).is_some_and(|change| change.time <= time) {
            self.apply_next_change()?;
        }
        let Simulation { graph, slots, board, inputs, consistency, .. } = self;
        consistency.initialize(Instant { graph, slots, board, inputs, time })?;
        if let Some(output) = board.non_finite(0..graph.outputs()) {
            return Err(non_finite(graph, board, output, time));
        }
        for input in 0..graph.inputs() {
            board.applied[input] = board.history.arrivals()[input];
            board.planned[input * board.terms] = board.applied[input];
        }
        if !self.needs.reduced_start {
            board.history.assume_constant_past(self.clock.size());
        }
        self.coupling.start(&view(graph, board, self.clock.step(0, 1)))
    }

    /// Ends of the parts of this step: none usually; more for the first one of a `reduced` start, and for changes inside.
    fn cut_step(&mut self) {
        self.parts.clear();
        let (start, end) = (self.clock.time(self.index), self.clock.time(self.index + 1));
        let size = end - start;
        if self.index == 0 && self.needs.reduced_start {
            self.parts
                .extend((0..CASCADE).rev().map(|halvings| start + size * 0.5_f64.powi(halvings as i32 + 1)));
        }
        if !self.is_multi_rate {
            let margin = 1e-9 * size;
            let inside = |change: &&Assignment| change.time > start + margin && change.time < end - margin;
            let due = self.changes[self.changes_done..].iter().take_while(|c| c.time < end);
            self.parts.extend(due.filter(inside).map(|change| change.time));
        }
        if !self.parts.is_empty() {
            self.parts.sort_by(f64::total_cmp);
            self.parts.dedup();
            self.parts.push(end);
        }
    }

    fn advance_in_parts(&mut self) -> Result<()> {
        let mut start = self.clock.time(self.index);
        for part in 0..self.parts.len() {
            let end = self.parts[part];
            self.exchange(Step { index: self.index, start, size: end - start }, end)?;
            start = end;
        }
        Ok(())
    }

    /// Sets what is due, then makes the outputs follow.
    fn apply_changes(&mut self, time: f64) -> Result<()> {
        let margin = 1e-9 * self.clock.size();
        let mut any = false;
        while self.changes.get(self.changes_done).is_some_and(|change| change.time <= time + margin) {
            let Assignment { target, .. } = self.changes[self.changes_done];
            self.apply_next_change()?;
            if let Target::Variable(id, _) = target {
                let slot = &mut self.slots[id];
                slot.subsystem.read(None, &mut self.board.outputs[slot.outputs.clone()])?;
                self.board.deliver_one(&self.graph, id, self.board.history.reached(id));
            }
            any = true;
        }
        if any && self.reading == Reading::Fresh {
            self.refresh(time)?;
        }
        Ok(())
    }

    fn apply_next_change(&mut self) -> Result<()> {
        let Assignment { target, value, time } = self.changes[self.changes_done];
        self.changes_done += 1;
        match target {
            Target::FreeInput(input) => {
                self.graph.set_offset(input, value);
                self.board.planned[input * self.board.terms] = value;
                self.board.history.set_arrival(input, value);
            }
            Target::Variable(id, variable) => {
                self.slots[id].subsystem.set(variable, value).map_err(|source| Error::Subsystem {
                    subsystem: self.graph.name(id).into(),
                    time,
                    source,
                })?;
            }
        }
        Ok(())
    }

    /// How far each input was, at the end of its step, from what it should have been.
    fn note_defects(&mut self, end: f64) {
        let Simulation { extremes, graph, board, slots, .. } = self;
        let mut note = |inputs| extremes.note(inputs, board.history.arrivals(), &board.applied, end);
        if self.is_multi_rate {
            let here = slots.iter().enumerate().filter(|(id, _)| board.history.reached(*id) == end);
            here.for_each(|(_, slot)| note(slot.inputs.clone()));
        } else {
            note(0..graph.inputs());
        }
    }

    /// Side by side only where the measured step times say that it saves more than waking the threads costs.
    fn decide_threads(&mut self, stage: usize, index: u64) {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let members = &self.slots[self.stages[stage].members.clone()];
        let is_parallel = match self.threads {
            Parallel::Never => false,
            Parallel::Always => members.len() > 1,
            Parallel::Auto if index == 0 || threads < 2 => false,
            Parallel::Auto => {
                let sum: f64 = members.iter().map(Slot::seconds_per_step).sum();
                let longest = members.iter().map(Slot::seconds_per_step).fold(0.0, f64::max);
                sum - (sum / threads as f64).max(longest) > WAKE_UP
            }
        };
        self.stages[stage].is_parallel = is_parallel;
        if is_parallel && self.pool.is_none() {
            self.pool = rayon::ThreadPoolBuilder::new().build().ok();
        }
    }

    /// Numbers of the run so far.
    pub fn statistics(&self) -> Statistics {
        let share = |slot: &Slot| {
            let steps = self.index.div_ceil(u64::from(slot.every));
            let (seconds, seconds_per_step) = (slot.seconds(steps), slot.seconds_per_step());
            let (subsystem, solver) = (self.graph.name(slot.id).into(), slot.subsystem.solver());
            Share { subsystem, solver, seconds, seconds_per_step, steps }
        };
        let defect = |input: usize| {
            let unit = self.graph.input_variable(input).unit.clone();
            Defect { connection: self.graph.connection_name(input), unit, ..self.extremes.defect(input) }
        };
        Statistics {
            steps: self.index,
            shares: self.slots.iter().map(share).collect(),
            defects: (0..self.graph.inputs()).filter(|i| !self.graph.is_free(*i)).map(defect).collect(),
            parallel_stages: self.stages.iter().filter(|stage| stage.is_parallel).count(),
        }
    }

    /// Writes everything the next step depends on into `state`.
    pub fn save(&self, state: &mut RunState) -> Result<()> {
        state.index = self.index;
        state.changes_done = self.changes_done;
        state.numbers.clear();
        for list in [self.graph.offsets(), &self.board.applied, &self.board.planned, &self.board.outputs] {
            state.numbers.extend_from_slice(list);
        }
        self.board.history.save(&mut state.numbers);
        self.coupling.save(&mut state.numbers);
        self.consistency.save(&mut state.numbers);
        state.subsystems.resize_with(self.slots.len(), Default::default);
        self.slots
            .iter()
            .zip(&mut state.subsystems)
            .try_for_each(|(slot, snapshot)| slot.subsystem.save(snapshot))
    }

    /// Goes back (or forward) to a saved state of the same run; what follows is bit for bit what followed then.
    pub fn restore(&mut self, state: &RunState) -> Result<()> {
        self.index = state.index;
        self.changes_done = state.changes_done;
        let (offsets, mut rest) = state.numbers.split_at(self.graph.inputs());
        offsets.iter().enumerate().for_each(|(input, value)| self.graph.set_offset(input, *value));
        for list in [&mut self.board.applied, &mut self.board.planned, &mut self.board.outputs] {
            let (mine, others) = rest.split_at(list.len());
            list.copy_from_slice(mine);
            rest = others;
        }
        let rest = self.board.history.restore(rest);
        let rest = self.coupling.restore(rest);
        let rest = self.consistency.restore(rest);
        assert!(rest.is_empty(), "a saved run state belongs to the system it was saved from");
        let pairs = self.slots.iter_mut().zip(&state.subsystems);
        pairs.into_iter().try_for_each(|(slot, snapshot)| slot.subsystem.restore(snapshot))
    }
}

fn view<'a>(graph: &'a SystemGraph, board: &'a Board, step: Step) -> View<'a> {
    View { step, graph, history: &board.history, applied: &board.applied }
}

/// Present value of any variable; of an input, what it was given at the end of its last step.
fn value(
    slot: &mut Slot,
    variable: VariableId,
    graph: &SystemGraph,
    board: &Board,
    time: f64,
) -> Result<f64> {
    let VariableId { kind, index } = variable;
    let input = slot.inputs.start + index;
    match kind {
        VariableKind::Output => Ok(board.outputs[slot.outputs.start + index]),
        VariableKind::Input => Ok(board.applied[input] + slot.external(graph, input, time)),
        VariableKind::Parameter | VariableKind::Local => slot.subsystem.get(variable),
    }
}

/// A subsystem's failure with its name; a state that is not finite gets its own.
fn failed(graph: &SystemGraph, slot: &Slot, step: Step, source: Box<Error>) -> Box<Error> {
    let subsystem = graph.name(slot.id).to_owned();
    match *source {
        Error::Solver(SolverError::NonFinite { time, index, .. }) => {
            let variable =
                graph.ports(slot.id).locals.get(index).map_or_else(String::new, |v| v.name.clone());
            Error::BecameNonFinite { subsystem, variable, value: f64::NAN, time }.into()
        }
        _ => Error::Subsystem { subsystem, time: step.start, source }.into(),
    }
}

fn non_finite(graph: &SystemGraph, board: &Board, output: usize, time: f64) -> Box<Error> {
    let id = graph.subsystem_of_output(output);
    let variable = graph.ports(id).outputs[output - graph.outputs_of(id).start].name.clone();
    let (subsystem, value) = (graph.name(id).into(), board.outputs[output]);
    Error::BecameNonFinite { subsystem, variable, value, time }.into()
}

/// Stages as ranges: subsystems are numbered in the order in which they move.
fn stages(graph: &SystemGraph, schedule: &Schedule) -> Vec<Stage> {
    let mut first = 0;
    let mut stage = |size: usize| {
        let members = first..first + size;
        first += size;
        let inputs = graph.inputs_of(members.start).start..graph.inputs_of(members.end - 1).end;
        let wired = inputs.clone().filter(|input| !graph.is_free(*input)).collect();
        let deliveries = Deliveries::new(graph, members.clone());
        Stage { members, inputs, wired, deliveries, is_parallel: false }
    };
    schedule.stages.iter().filter(|members| !members.is_empty()).map(|members| stage(members.len())).collect()
}

fn one_by_one(slots: &mut [Slot], outputs: &mut [f64], work: &impl Fn(&mut Slot, &mut [f64])) {
    let mut rest = outputs;
    for slot in slots {
        let (mine, others) = rest.split_at_mut(slot.outputs.len());
        work(slot, mine);
        rest = others;
    }
}

/// Halves the list until single subsystems are left, which run wherever a thread is free.
fn side_by_side(slots: &mut [Slot], outputs: &mut [f64], work: &(impl Fn(&mut Slot, &mut [f64]) + Sync)) {
    if slots.len() < 2 {
        one_by_one(slots, outputs, work);
        return;
    }
    let (left, right) = slots.split_at_mut(slots.len() / 2);
    let width = left.iter().map(|slot| slot.outputs.len()).sum();
    let (for_left, for_right) = outputs.split_at_mut(width);
    rayon::join(|| side_by_side(left, for_left, work), || side_by_side(right, for_right, work));
}
