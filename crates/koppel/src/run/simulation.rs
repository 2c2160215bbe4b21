//! The macro step.
//!
//! One call of [`Simulation::advance`] takes all subsystems from T^k to T^{k+1}:
//!
//! ```text
//! timed changes due at T^k
//! models of the subsystems                    only if the coupling asks for them
//! coupling.prepare                            nobody has moved
//! for each stage:
//!     for each member, side by side:
//!         coupling.input -> segment           predict its inputs over the step
//!         subsystem.step, subsystem.read
//!     publish outputs at their time           later stages see them; so do messages
//! all stages once more, from T^k              only if the coupling sees that its inputs were wrong
//! fresh reading                               outputs of one instant, loops solved
//! ```
//!
//! Most steps of most runs are plain: nothing changes, nothing is timed, and the coupling wants neither models nor samples.
//! What such a step leaves out is left out when it is compiled, not asked again each time.
//!
//! Nothing is allocated once a run is under way, but for exact models that meet a new length of step. Members of a stage write only to their own slot and are published in
//! order, so the result is the same, bit for bit, on one thread or many.

use super::adaptive::Control;
use super::board::{Board, Deliveries};
use super::change::Assignment;
use super::config::{Parallel, Reading};
use super::consistent::{Consistency, Instant};
use super::drive::Termination;
use super::failure::{non_finite, unpredicted};
use super::iterate::{Halving, StepIteration};
use super::messages::Messages;
use super::probe_report::ProbeReport;
use super::repeat::Repetition;
use super::retreat::{LastPoint, Retreat, Standing};
use super::row::Row;
use super::slot::Slot;
use super::stage::next_timed;
use super::statistics::Extremes;
use super::surrogates::Finding;
use super::wide::WideOutput;
use crate::coupling::{Coupling, Needs, View, Work};
use crate::diagnostic::Remark;
use crate::error::{Error, Result};
use crate::identify::{GivenModel, Learned};
use crate::record::{Column, Columns, Condition, MessageColumn};
use crate::signal::{Clock, Step};
use crate::system::{InputId, OutputId, SubsystemId, SystemGraph};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A system in the middle of its run. Its subsystems are numbered in the order in which they move.
pub struct Simulation {
    pub(super) graph: SystemGraph,
    pub(super) slots: Vec<Slot>,
    pub(super) stages: Vec<Stage>,
    pub(super) board: Board,
    pub(super) messages: Messages,
    pub(super) coupling: Box<dyn Coupling>,
    pub(super) needs: Needs,
    pub(super) consistency: Consistency,
    /// Loops whose steps are repeated.
    pub(super) steps: StepIteration,
    /// The state before the step, if steps are halved where a loop does not converge.
    pub(super) halving: Option<Box<Halving>>,
    pub(super) halvings: u64,
    /// Room to take steps again, if the coupling does so.
    pub(super) repetition: Option<Box<Repetition>>,
    /// Outputs before timed changes, to see which of them jump.
    pub(super) outputs_before: Vec<f64>,
    /// Room for the inputs of any one subsystem.
    pub(super) inputs: Vec<f64>,
    /// Room for the outputs of any one subsystem.
    pub(super) rates: Vec<f64>,
    pub(super) reading: Reading,
    pub(super) clock: Clock,
    /// Ticks of the clock done: macro steps, unless the step adapts.
    pub(super) index: u64,
    /// Chooses how many ticks a step spans; none if it is always one.
    pub(super) control: Option<Box<Control>>,
    /// Where the macro step under way was cut, if it was.
    pub(super) inside: Option<f64>,
    pub(super) is_multi_rate: bool,
    /// True if its steps are plain unless something happens at their time.
    pub(super) is_usually_plain: bool,
    /// True if plain steps are those of `held.rs`.
    pub(super) is_simple: bool,
    /// In steps from now until this one, nothing happens but that values are exchanged and everybody moves.
    pub(super) plain_until: u64,
    pub(super) changes: Vec<Assignment>,
    pub(super) changes_done: usize,
    /// True if a change may have made the models wrong.
    pub(super) are_models_old: bool,
    /// What exciting the subsystems before the run has shown.
    pub(super) probing: Vec<ProbeReport>,
    /// True while copies stand in the place of the subsystems.
    pub(super) are_copies: bool,
    /// Models of subsystems that tell nothing of themselves, where they were asked for.
    pub(super) surrogates: Vec<Finding>,
    /// Ends of the parts of a macro step that is cut by changes or a cascade of first steps, and how many are done.
    pub(super) parts: Vec<f64>,
    pub(super) parts_done: usize,
    /// Outputs after the last timed changes.
    pub(super) outputs_after: Vec<f64>,
    pub(super) columns: Columns,
    pub(super) row: Row,
    pub(super) record_every: u64,
    pub(super) condition: Option<Condition>,
    /// Outputs with integers of many digits that somebody uses.
    pub(super) wide: Vec<WideOutput>,
    /// A subsystem that has asked to end the run, at a time all others can reach.
    pub(super) termination: Option<Termination>,
    /// The same inside of its step, in a trial of a loop that is iterated.
    pub(super) ended_trial: Option<Box<Error>>,
    /// The way back, if a subsystem may end the run inside of a step.
    pub(super) retreat: Option<Box<Retreat>>,
    pub(super) last_point: LastPoint,
    /// After a failure: so many subsystems have moved, or may have; members of a stage all together, whatever threads do.
    pub(super) moved: usize,
    /// One that has ended the run on the way and is not moved any more.
    pub(super) standing: Option<Standing>,
    /// Time of the row in `row`, if it was not written.
    pub(super) unwritten: Option<f64>,
    /// Reals and counts in a saved state.
    pub(super) state_size: (usize, usize),
    pub(super) extremes: Extremes,
    pub(super) threads: Parallel,
    /// Processors of this machine.
    pub(super) cores: usize,
    pub(super) pool: Option<Arc<rayon::ThreadPool>>,
}

pub(super) struct Stage {
    pub(super) members: Range<SubsystemId>,
    /// All inputs of the members.
    pub(super) inputs: Range<InputId>,
    /// Those that are connected and predicted.
    pub(super) wired: Vec<InputId>,
    /// Those that are connected and held, whatever the coupling, or because it does nothing else.
    pub(super) held: Vec<InputId>,
    /// All outputs of the members.
    pub(super) outputs: Range<OutputId>,
    pub(super) deliveries: Deliveries,
    pub(super) is_parallel: bool,
}

/// Most inputs that one remark names.
const MOST_NAMED: usize = 10;

impl Simulation {
    /// Takes one macro step; at the stop time, none.
    pub fn advance(&mut self) -> Result<()> {
        self.advance_by(1)
    }

    /// Goes to the next exchange of values: by a whole macro step, or by a part of one that is cut.
    pub fn advance_part(&mut self) -> Result<()> {
        if self.index < self.plain_until {
            return self.advance();
        }
        self.advance_slowly().map_err(|error| self.with_inputs(error))
    }

    /// Takes so many macro steps, or fewer to the stop time; of steps that adapt, those that begin within so many ticks.
    pub fn advance_by(&mut self, steps: u64) -> Result<()> {
        self.take_steps(steps).map_err(|error| self.with_inputs(error))
    }

    fn take_steps(&mut self, steps: u64) -> Result<()> {
        let stop = self.index.saturating_add(steps);
        while self.index < stop && !self.is_ended() {
            if self.index >= self.plain_until {
                self.advance_slowly()?;
                if self.is_done() {
                    break;
                }
            } else if self.is_simple {
                self.advance_simply(stop.min(self.plain_until))?;
            } else {
                self.advance_plainly()?;
            }
        }
        Ok(())
    }

    /// A step in which nothing happens but that values are exchanged and everybody moves.
    #[inline(never)]
    fn advance_plainly(&mut self) -> Result<()> {
        self.exchange_once::<true>(self.clock.step(self.index, 1), self.clock.time(self.index + 1))?;
        self.index += 1;
        Ok(())
    }

    #[inline(never)]
    fn advance_slowly(&mut self) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        let ticks = self.stride();
        let (start, end) = (self.time(), self.clock.time(self.index + ticks));
        let index = self.steps_taken();
        let part = self.next_part(start, end);
        let step = match part {
            None if self.inside.is_none() => Step { index, ..self.clock.step(self.index, ticks) },
            _ => Step { index, start, size: part.unwrap_or(end) - start },
        };
        self.exchange(step, part.unwrap_or(end))?;
        self.inside = self.ended_before(end).or(part.filter(|part| *part < end));
        if self.inside.is_some() {
            return Ok(());
        }
        self.index += ticks;
        self.control_step(ticks);
        let has_changes = self.changes_done < self.changes.len();
        let is_plain = self.is_usually_plain && !has_changes && self.pool.is_none();
        self.plain_until = if is_plain { next_timed(self.index).min(self.steps() - 1) } else { 0 };
        Ok(())
    }

    /// One exchange of values: everybody who is due moves over `step`, to the communication point `end`.
    #[inline(always)]
    pub(super) fn exchange_once<const PLAIN: bool>(&mut self, step: Step, end: f64) -> Result<()> {
        if !PLAIN {
            self.apply_changes(step.start)?;
            self.refresh_models(step)?;
        }
        self.keep_begin();
        self.move_from_begin::<PLAIN>(step, end)
    }

    /// The same once what is due at the begin of the step has happened.
    #[inline(always)]
    pub(super) fn move_from_begin<const PLAIN: bool>(&mut self, step: Step, end: f64) -> Result<()> {
        if !PLAIN {
            let view = view(&self.graph, &self.board, step);
            self.coupling.prepare(&view).map_err(|source| unpredicted(step, source))?;
        }
        if !PLAIN && self.repetition.is_some() {
            self.move_repeatedly(&step, end)?;
        } else {
            self.move_all::<PLAIN>(&step, end)?;
        }
        self.moved = self.slots.len();
        if !PLAIN && self.consistency.is_due(self.reading) {
            self.refresh(end)?;
            self.check_finite(end)?;
        }
        if !PLAIN {
            self.board.check_maps(&self.graph, &(0..self.graph.inputs()), end)?;
            self.check_exact(end)?;
        }
        self.note_defects::<PLAIN>(end);
        Ok(())
    }

    /// All stages move, one after the other.
    #[inline(always)]
    pub(super) fn move_all<const PLAIN: bool>(&mut self, step: &Step, end: f64) -> Result<()> {
        let mut stage = if PLAIN { 0 } else { self.enter_stage(0, step, end)? };
        while stage < self.stages.len() {
            self.predict::<PLAIN>(stage, step)?;
            self.move_stage::<PLAIN>(stage, step)?;
            self.deliver::<PLAIN>(stage, step, end)?;
            if !PLAIN && !self.messages.is_empty() && !self.is_iterated(stage) {
                self.carry_messages(self.stages[stage].members.clone(), end)?;
            }
            stage = if PLAIN { stage + 1 } else { self.next_stage(stage, step, end)? };
        }
        Ok(())
    }

    /// The coupling writes the inputs of a stage, now that earlier stages have moved.
    #[inline(always)]
    fn predict<const PLAIN: bool>(&mut self, stage: usize, step: &Step) -> Result<()> {
        // What a table makes of a guess is looked at when the loop has come to its end.
        let is_iterated = !PLAIN && self.is_iterated(stage);
        let Simulation { coupling, graph, board, clock, slots, .. } = self;
        let Stage { wired, held, members, inputs, .. } = &self.stages[stage];
        if !PLAIN && !is_iterated {
            board.check_maps(graph, inputs, step.start)?;
        }
        if !PLAIN && self.is_multi_rate {
            for slot in slots[members.clone()].iter_mut().filter(|slot| slot.is_due(step)) {
                slot.remember(&board.outputs, &board.applied);
                let step = clock.step(step.index, u64::from(slot.every));
                let from = wired.partition_point(|i| *i < slot.inputs.start);
                let to = wired.partition_point(|i| *i < slot.inputs.end);
                let (view, mut out) = board.plan(graph, step);
                coupling.input(&view, &wired[from..to], &mut out)?;
            }
        } else if !wired.is_empty() {
            let (view, mut out) = board.plan(graph, *step);
            coupling.input(&view, wired, &mut out)?;
        }
        board.hold(held);
        if is_iterated {
            board.hold_unmapped(graph, inputs);
        }
        Ok(())
    }

    /// Sends the outputs of a stage on their way.
    #[inline(always)]
    fn deliver<const PLAIN: bool>(&mut self, stage: usize, step: &Step, end: f64) -> Result<()> {
        let Stage { members, inputs, outputs, deliveries, .. } = &self.stages[stage];
        let is_iterated = !PLAIN && self.is_iterated(stage);
        // A guess may lead anywhere; what a loop has come to in the end is looked at then.
        if !is_iterated && let Some(output) = self.board.non_finite(outputs.clone()) {
            return Err(non_finite(&self.graph, &self.board.outputs, output, end));
        }
        if !PLAIN && self.is_multi_rate {
            self.deliver_due(stage, step);
        } else if is_iterated {
            self.board.note_applied(inputs.clone(), step.size);
            members.clone().for_each(|id| self.board.deliver_one(&self.graph, id, end));
        } else {
            self.board.note_applied(inputs.clone(), step.size);
            self.board.deliver(&self.graph, members.clone(), deliveries, end);
        }
        if PLAIN || self.needs.samples.is_none() {
            return Ok(());
        }
        self.show_samples(stage, step)
    }

    /// Sends the outputs of those members of a stage that have moved, each at the time it has reached.
    fn deliver_due(&mut self, stage: usize, step: &Step) {
        for id in self.stages[stage].members.clone().filter(|id| self.slots[*id].is_due(step)) {
            let slot = &self.slots[id];
            let own = self.clock.step(step.index, u64::from(slot.every));
            let reached = self.clock.time(step.index + u64::from(slot.every));
            self.board.note_applied(slot.inputs.clone(), own.size);
            self.board.deliver_one(&self.graph, id, reached);
        }
    }

    /// Shows the coupling what was seen inside the step.
    fn show_samples(&mut self, stage: usize, step: &Step) -> Result<()> {
        let view = view(&self.graph, &self.board, *step);
        for id in self.stages[stage].members.clone().filter(|id| self.slots[*id].is_due(step)) {
            self.coupling.moved(&view, id, &self.slots[id].samples)?;
        }
        Ok(())
    }

    /// Refuses outputs that are not numbers.
    pub(super) fn check_finite(&self, time: f64) -> Result<()> {
        match self.board.non_finite(0..self.graph.outputs()) {
            Some(output) => Err(non_finite(&self.graph, &self.board.outputs, output, time)),
            None => Ok(()),
        }
    }

    /// Outputs of one instant.
    pub(super) fn refresh(&mut self, time: f64) -> Result<()> {
        let Simulation { graph, slots, board, inputs, consistency, reading, .. } = self;
        consistency.refresh(&mut Instant { graph, slots, board, inputs, time, late: None }, *reading)
    }

    /// How well the coupling's model of each subsystem has predicted the last step (see
    /// [`crate::coupling::Coupling::quality`]), in the order in which subsystems move.
    pub fn model_quality(&self) -> &[f64] {
        self.coupling.report().quality()
    }

    /// What the coupling has learned of the subsystems, by name: another run can start from it.
    pub fn learned(&self) -> BTreeMap<String, Learned> {
        self.coupling.report().learned(&view(&self.graph, &self.board, self.clock.step(0, 1)))
    }

    /// Models of the subsystems as the coupling sees them now, by name; none if it asks for none.
    pub fn models(&self) -> BTreeMap<String, GivenModel> {
        let known = (0..self.graph.len()).filter(|id| self.board.models.is_known(*id));
        known.map(|id| (self.graph.name(id).to_owned(), self.board.models.of(id).into())).collect()
    }

    /// What the user should know before the run, of the wiring and of the coupling.
    pub fn remarks(&self) -> Vec<Remark> {
        let of_coupling = self.coupling.report().remarks(&self.graph).into_iter();
        let of_coupling = of_coupling.chain(self.remark_on_repetition()).map(Remark::from);
        let of_wiring = self.graph.remarks().iter().cloned();
        of_wiring.chain(self.remark_on_discrete_reals()).chain(of_coupling).collect()
    }

    /// Names the real numbers that the coupling would predict, were they not declared discrete.
    fn remark_on_discrete_reals(&self) -> Option<Remark> {
        let graph = &self.graph;
        let is_one = |input: &InputId| {
            graph.input_variable(*input).is_discrete_real
                && !graph.is_free(*input)
                && graph.map(*input).is_none()
        };
        let inputs: Vec<InputId> = (0..graph.inputs()).filter(is_one).collect();
        let first = *inputs.first().filter(|_| self.needs.work != Work::Hold)?;
        let mut names: Vec<String> =
            inputs.iter().take(MOST_NAMED).map(|input| format!("`{}`", graph.input_name(*input))).collect();
        if inputs.len() > MOST_NAMED {
            names.push(format!("and {} others", inputs.len() - MOST_NAMED));
        }
        let (subsystem, name) =
            (graph.name(graph.subsystem_of_input(first)), &graph.input_variable(first).name);
        Some(Remark::new(
            format!(
                "held over each step, whatever the coupling, because their FMUs declare them discrete: {}",
                names.join(", ")
            ),
            format!(
                "if they are signals like any other, write continuous = [\"{name}\"] below [subsystems.{subsystem}]"
            ),
        ))
    }

    /// The wiring.
    pub fn graph(&self) -> &SystemGraph {
        &self.graph
    }

    /// Time of the communication point that has been reached.
    pub fn time(&self) -> f64 {
        self.inside.unwrap_or_else(|| self.clock.time(self.index))
    }

    /// Ticks of the clock done: macro steps, unless the step adapts (see [`Simulation::steps_taken`]).
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Ticks of the whole run: macro steps, unless the step adapts.
    pub fn steps(&self) -> u64 {
        self.clock.steps()
    }

    /// True at the stop time, and where a subsystem has asked to end the run.
    pub fn is_done(&self) -> bool {
        self.index >= self.clock.steps() || self.is_ended()
    }

    /// The recorded texts and bytes.
    pub fn message_columns(&self) -> &[MessageColumn] {
        self.columns.messages()
    }

    /// The recorded numbers, without time.
    pub fn columns(&self) -> &[Column] {
        self.columns.list()
    }

    /// Outputs of a subsystem now.
    pub fn outputs(&self, id: SubsystemId) -> &[f64] {
        &self.board.outputs[self.slots[id].outputs.clone()]
    }
}

/// What the coupling is shown.
pub(super) fn view<'a>(graph: &'a SystemGraph, board: &'a Board, step: Step) -> View<'a> {
    View {
        step,
        graph,
        history: &board.history,
        applied: &board.applied,
        outputs: &board.outputs,
        read_with: board.read_with(),
        is_fresh: board.reading == Reading::Fresh,
        planned: &board.planned,
        models: &board.models,
        stages: &board.stages,
        has_jumped: &board.has_jumped,
    }
}
