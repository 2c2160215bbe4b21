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

use super::change::{self, Assignment, Target};
use super::config::{Parallel, Reading, RunConfig};
use super::consistent::{Consistency, publish};
use super::schedule::Schedule;
use super::slot::Slot;
use super::state::RunState;
use super::statistics::{Defect, Extremes, Share, Statistics};
use crate::coupling::{self, Coupling, Needs, View};
use crate::error::{Error, Result};
use crate::record::{Column, Columns, Condition, Recorder};
use crate::signal::{Clock, History, Step};
use crate::solver::SolverError;
use crate::system::{SubsystemId, System, SystemGraph};
use rayon::prelude::*;
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

/// A system in the middle of its run.
pub struct Simulation {
    graph: SystemGraph,
    slots: Vec<Slot>,
    stages: Vec<Stage>,
    /// Where each subsystem's slot is.
    place: Vec<usize>,
    history: History,
    applied: Vec<f64>,
    coupling: Box<dyn Coupling>,
    needs: Needs,
    consistency: Consistency,
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
    extremes: Vec<Extremes>,
    threads: Parallel,
    pool: Option<rayon::ThreadPool>,
}

struct Stage {
    slots: Range<usize>,
    is_parallel: bool,
}

/// Steps that are all timed at the start, before deciding about threads.
const CALIBRATION: u64 = 16;
/// Later one step in this many is timed.
const TIMED: u64 = 64;
/// Seconds a parallel stage must save to pay for waking the threads.
const WAKE_UP: f64 = 15e-6;
/// A `reduced` start cuts the first macro step into parts that double: H/1024, H/1024, H/512, ...
const CASCADE: u32 = 10;

impl Simulation {
    /// Wires, initialises and finds the consistent start.
    pub fn new(system: System, config: &RunConfig) -> Result<Self> {
        config.check()?;
        let System { graph, subsystems } = system;
        let schedule = Schedule::new(config, &graph)?;
        let coupling = coupling::build(&config.coupling, config.hold, &graph)?;
        let needs = coupling.needs();
        if needs.reduced_start && schedule.is_multi_rate() {
            return Err(Error::Unsupported {
                what: "start = \"reduced\"".into(),
                reason: "subsystems with different rates have no common small first steps; use start = \"constant\"".into(),
            }
            .into());
        }
        let (slots, stages, place) = arrange(&graph, subsystems, &schedule);
        let columns = Columns::select(&config.record, &graph)?;
        let condition = config.stop_when.as_deref().map(|text| Condition::new(text, &graph)).transpose()?;
        let mut simulation = Simulation {
            history: History::new(graph.wires().len(), graph.len(), needs.depth),
            applied: vec![0.0; graph.inputs()],
            consistency: Consistency::new(&graph, &place),
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
            extremes: vec![Extremes::default(); graph.inputs()],
            threads: config.threads,
            pool: None,
            graph,
            slots,
            stages,
            place,
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
        &self.slots[self.place[id]].outputs
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
        let view = View { step, graph: &self.graph, history: &self.history, applied: &self.applied };
        self.coupling.prepare(&view)?;
        for stage in 0..self.stages.len() {
            self.move_stage(stage, step)?;
            self.publish_stage(stage, step.index, end)?;
        }
        if self.reading == Reading::Fresh && !self.consistency.is_empty() {
            self.consistency.refresh(&self.graph, &mut self.slots, &mut self.history, end)?;
        }
        self.note_defects(end);
        Ok(())
    }

    /// Members of a stage predict their inputs and move, side by side where that pays.
    fn move_stage(&mut self, stage: usize, step: Step) -> Result<()> {
        if step.index == CALIBRATION || step.index.is_multiple_of(TIMED * 64) {
            self.decide_threads(stage, step.index);
        }
        let Stage { slots, is_parallel } = &self.stages[stage];
        let view = View { step, graph: &self.graph, history: &self.history, applied: &self.applied };
        let (coupling, terms, clock) = (self.coupling.as_ref(), self.needs.terms, &self.clock);
        let members = &mut self.slots[slots.clone()];
        let is_timed = step.index < CALIBRATION || step.index.is_multiple_of(TIMED);
        let work = |slot: &mut Slot| {
            if slot.is_due(step.index) {
                let view = View { step: slot.own_step(step, clock), ..view };
                slot.advance_timed(coupling, terms, &view);
            }
        };
        match &self.pool {
            Some(pool) if *is_parallel => {
                pool.install(|| members.par_iter_mut().with_max_len(1).for_each(work));
            }
            _ if is_timed => members.iter_mut().for_each(work),
            _ => {
                for slot in members.iter_mut().filter(|slot| slot.is_due(step.index)) {
                    let view = View { step: slot.own_step(step, clock), ..view };
                    if let Err(failure) = slot.advance(coupling, terms, &view) {
                        slot.failure = Some(failure);
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends the outputs of a stage on their way, in order.
    fn publish_stage(&mut self, stage: usize, index: u64, end: f64) -> Result<()> {
        for place in self.stages[stage].slots.clone() {
            let slot = &mut self.slots[place];
            if !slot.is_due(index) {
                continue;
            }
            let time = if slot.every == 1 { end } else { self.clock.time(index + u64::from(slot.every)) };
            if let Some(source) = slot.failure.take() {
                return Err(failed(source, slot, &self.graph, time));
            }
            if let Some(output) = slot.non_finite() {
                return Err(non_finite(slot, &self.graph, output, time));
            }
            slot.reached = time;
            self.applied[slot.first_input..][..slot.applied.len()].copy_from_slice(&slot.applied);
            publish(slot, &self.graph, &mut self.history);
            if self.needs.samples != crate::signal::Request::Nothing {
                let step = self.clock.step(index, 1);
                let view = View { step, graph: &self.graph, history: &self.history, applied: &self.applied };
                self.coupling.moved(&view, slot.id, &slot.samples)?;
            }
        }
        Ok(())
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
        let Simulation { columns, slots, place, row, clock, index, .. } = self;
        columns.fill(row, |id, variable| slots[place[id]].value(variable))?;
        recorder.row(clock.time(*index), row)
    }

    /// Rows recorded so far, from the number of steps.
    pub fn rows(&self) -> u64 {
        let last_is_extra = self.is_done() && !self.index.is_multiple_of(self.record_every);
        self.index / self.record_every + 1 + u64::from(last_is_extra)
    }

    fn stop_condition(&mut self) -> Result<bool> {
        let time = self.time();
        let Simulation { condition, slots, place, .. } = self;
        match condition {
            Some(condition) => condition.holds(time, |id, variable| slots[place[id]].value(variable)),
            None => Ok(false),
        }
    }

    /// Start values, then all outputs of the start time.
    fn initialize(&mut self) -> Result<()> {
        let start = self.clock.time(0);
        for slot in &mut self.slots {
            slot.reserve(&self.graph, self.needs, self.clock.size());
            let subsystem = self.graph.name(slot.id);
            slot.subsystem.initialize(start).map_err(|source| Error::Subsystem {
                subsystem: subsystem.into(),
                time: start,
                source,
            })?;
        }
        while self.changes.get(self.changes_done).is_some_and(|change| change.time <= start) {
            self.apply_next_change()?;
        }
        self.consistency.initialize(&self.graph, &mut self.slots, &mut self.history, start)?;
        let step = self.clock.step(0, 1);
        for slot in &mut self.slots {
            if let Some(output) = slot.non_finite() {
                return Err(non_finite(slot, &self.graph, output, start));
            }
            slot.segment.begin(&step, 1);
            for (i, applied) in slot.applied.iter_mut().enumerate() {
                let id = slot.first_input + i;
                let wires = self.graph.wires_into(id);
                *applied = self.graph.offset(id) + wires.map(|w| self.history.newest(w)).sum::<f64>();
                self.applied[id] = *applied;
                slot.segment.of_mut(i)[0] = *applied;
            }
            for &e in &slot.externals {
                let (input, signal) = &self.graph.externals()[e];
                slot.segment.of_mut(input - slot.first_input)[0] += signal.value(start);
            }
        }
        if !self.needs.reduced_start {
            self.history.assume_constant_past(self.clock.size());
        }
        let view = View { step, graph: &self.graph, history: &self.history, applied: &self.applied };
        self.coupling.start(&view)
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
                let slot = &mut self.slots[self.place[id]];
                slot.subsystem.read(None, &mut slot.outputs)?;
                publish(slot, &self.graph, &mut self.history);
            }
            any = true;
        }
        if any && self.reading == Reading::Fresh {
            self.consistency.refresh(&self.graph, &mut self.slots, &mut self.history, time)?;
        }
        Ok(())
    }

    fn apply_next_change(&mut self) -> Result<()> {
        let Assignment { target, value, time } = self.changes[self.changes_done];
        self.changes_done += 1;
        match target {
            Target::FreeInput(input) => self.graph.set_offset(input, value),
            Target::Variable(id, variable) => {
                self.slots[self.place[id]].subsystem.set(variable, value).map_err(|source| {
                    Error::Subsystem { subsystem: self.graph.name(id).into(), time, source }
                })?;
            }
        }
        Ok(())
    }

    /// How far each input was, at the end of its step, from what it should have been.
    fn note_defects(&mut self, end: f64) {
        let view = View {
            step: Step { index: self.index, start: end, size: 0.0 },
            graph: &self.graph,
            history: &self.history,
            applied: &self.applied,
        };
        for slot in self.slots.iter().filter(|slot| slot.reached == end) {
            for &id in &slot.wired {
                let arrival = view.arrival(id);
                self.extremes[id].note(arrival, (arrival - self.applied[id]).abs(), end);
            }
        }
    }

    /// Side by side only where the measured step times say that it saves more than waking the threads costs.
    fn decide_threads(&mut self, stage: usize, index: u64) {
        let threads = rayon::current_num_threads();
        let members = &self.slots[self.stages[stage].slots.clone()];
        let is_parallel = match self.threads {
            Parallel::Never => false,
            Parallel::Always => members.len() > 1,
            Parallel::Auto if index == 0 || threads < 2 => false,
            Parallel::Auto => {
                let seconds = |slot: &Slot| slot.nanoseconds as f64 * 1e-9 / slot.timed_steps.max(1) as f64;
                let sum: f64 = members.iter().map(seconds).sum();
                let longest = members.iter().map(seconds).fold(0.0, f64::max);
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
            let each = slot.nanoseconds as f64 * 1e-9 / slot.timed_steps.max(1) as f64;
            let seconds = slot.first_nanoseconds as f64 * 1e-9 + each * steps.saturating_sub(1) as f64;
            let (subsystem, solver) = (self.graph.name(slot.id).into(), slot.subsystem.solver());
            Share { subsystem, solver, seconds, seconds_per_step: each, steps }
        };
        let defect = |input: usize| {
            let Extremes { largest, time, low, high } = self.extremes[input];
            let unit = self.graph.input_variable(input).unit.clone();
            Defect {
                connection: self.graph.connection_name(input),
                unit,
                largest,
                time,
                range: (high - low).max(0.0),
            }
        };
        Statistics {
            steps: self.index,
            shares: self.place.iter().map(|place| share(&self.slots[*place])).collect(),
            defects: (0..self.graph.inputs()).filter(|i| !self.graph.is_free(*i)).map(defect).collect(),
            parallel_stages: self.stages.iter().filter(|stage| stage.is_parallel).count(),
        }
    }

    /// Writes everything the next step depends on into `state`.
    pub fn save(&self, state: &mut RunState) -> Result<()> {
        state.index = self.index;
        state.changes_done = self.changes_done;
        state.numbers.clear();
        state.numbers.extend_from_slice(self.graph.offsets());
        state.numbers.extend_from_slice(&self.applied);
        for slot in self.place.iter().map(|place| &self.slots[*place]) {
            state.numbers.extend_from_slice(&slot.outputs);
            state.numbers.extend((0..slot.applied.len()).map(|input| slot.segment.end_value(input)));
        }
        self.history.save(&mut state.numbers);
        self.coupling.save(&mut state.numbers);
        self.consistency.save(&mut state.numbers);
        state.subsystems.resize_with(self.slots.len(), Default::default);
        state.reached.clear();
        for (place, snapshot) in self.place.iter().zip(&mut state.subsystems) {
            let slot = &self.slots[*place];
            state.reached.push(slot.reached);
            slot.subsystem.save(snapshot)?;
        }
        Ok(())
    }

    /// Goes back (or forward) to a saved state of the same run; what follows is bit for bit what followed then.
    pub fn restore(&mut self, state: &RunState) -> Result<()> {
        self.index = state.index;
        self.changes_done = state.changes_done;
        let (offsets, rest) = state.numbers.split_at(self.graph.inputs());
        offsets.iter().enumerate().for_each(|(input, value)| self.graph.set_offset(input, *value));
        let (applied, mut rest) = rest.split_at(self.applied.len());
        self.applied.copy_from_slice(applied);
        for id in 0..self.place.len() {
            let slot = &mut self.slots[self.place[id]];
            let (outputs, others) = rest.split_at(slot.outputs.len());
            let (inputs, others) = others.split_at(slot.applied.len());
            slot.outputs.copy_from_slice(outputs);
            slot.segment.begin(&self.clock.step(self.index, 1), 1);
            inputs.iter().enumerate().for_each(|(i, value)| slot.segment.of_mut(i)[0] = *value);
            slot.reached = state.reached[id];
            slot.subsystem.restore(&state.subsystems[id])?;
            rest = others;
        }
        let rest = self.history.restore(rest);
        let rest = self.coupling.restore(rest);
        let rest = self.consistency.restore(rest);
        assert!(rest.is_empty(), "a saved run state belongs to the system it was saved from");
        Ok(())
    }
}

/// A subsystem's failure with its name; a state that is not finite gets its own.
fn failed(source: Box<Error>, slot: &Slot, graph: &SystemGraph, time: f64) -> Box<Error> {
    let subsystem = graph.name(slot.id).to_owned();
    match *source {
        Error::Solver(SolverError::NonFinite { time, index, .. }) => {
            let variable =
                graph.ports(slot.id).locals.get(index).map_or_else(String::new, |v| v.name.clone());
            Error::BecameNonFinite { subsystem, variable, value: f64::NAN, time }.into()
        }
        _ => Error::Subsystem { subsystem, time, source }.into(),
    }
}

fn non_finite(slot: &Slot, graph: &SystemGraph, output: usize, time: f64) -> Box<Error> {
    Error::BecameNonFinite {
        subsystem: graph.name(slot.id).into(),
        variable: graph.ports(slot.id).outputs[output].name.clone(),
        value: slot.outputs[output],
        time,
    }
    .into()
}

/// Slots in the order in which they move, so that a stage is a range.
fn arrange(
    graph: &SystemGraph,
    subsystems: Vec<Box<dyn crate::system::Subsystem>>,
    schedule: &Schedule,
) -> (Vec<Slot>, Vec<Stage>, Vec<usize>) {
    let mut waiting: Vec<_> = subsystems.into_iter().map(Some).collect();
    let mut place = vec![0; graph.len()];
    let (mut slots, mut stages) = (Vec::new(), Vec::new());
    for members in &schedule.stages {
        let first = slots.len();
        for &id in members {
            if let Some(subsystem) = waiting[id].take() {
                place[id] = slots.len();
                slots.push(Slot::new(id, subsystem, schedule.every[id], graph));
            }
        }
        stages.push(Stage { slots: first..slots.len(), is_parallel: false });
    }
    (slots, stages, place)
}
