//! A run: a network, the scheme that advances it, and the schedule of events.

use super::adaptive::{Control, StepSizes};
use super::changes::Changes;
use super::parts::{Parts, Span};
use super::recording::Recording;
use super::scheme::Scheme;
use super::signal_jumps::SignalJumps;
use super::state::RunState;
use crate::error::{Error, Result};
use crate::identify::{GivenModel, Learned};
use crate::iteration::LoopWork;
use crate::network::{Network, Termination, with_inputs};
use crate::record::{Column, MessageColumn};
use crate::signal::{Clock, Step};
use crate::system::{InputId, Message, SubsystemId, SystemGraph, VariableId};
use crate::tape::{StateData, Tape};
use crate::workbench::{Findings, ProbeReport, Workbench};
use std::collections::BTreeMap;

/// A system during its run. Its subsystems are numbered in the order in which they advance.
pub struct Run {
    pub(super) network: Network,
    pub(super) scheme: Box<dyn Scheme>,
    pub(super) clock: Clock,
    /// Ticks of the clock done: macro steps, unless the step adapts.
    pub(super) index: u64,
    /// The time reached inside a macro step that is split.
    pub(super) inside: Option<f64>,
    /// Parts of a macro step that is split by changes or a cascade of first steps.
    pub(super) parts: Parts,
    /// Up to this macro step, steps only exchange values.
    pub(super) plain_until: u64,
    /// Chooses how many ticks a step spans; none if it is always one.
    pub(super) control: Option<Box<Control>>,
    pub(super) changes: Changes,
    pub(super) signal_jumps: SignalJumps,
    pub(super) recording: Recording,
    /// Why steps are not repeated although the coupling asks for it.
    pub(super) not_repeated: Option<String>,
    /// Results of probing before the run.
    pub(super) probing: Vec<ProbeReport>,
    pub(super) findings: Findings,
    /// Reals and counts in a saved state.
    pub(super) state_size: (usize, usize),
}

impl Run {
    /// Takes one macro step; at the stop time, none.
    ///
    /// # Errors
    ///
    /// If a subsystem, the coupling or a loop fails. Subsystems may then stand at different times, although [`Run::time`] is still that of
    /// the last communication point: after an error the run must be restored ([`Run::restore`]) before it advances again.
    pub fn advance(&mut self) -> Result<()> {
        self.advance_by(1)
    }

    /// Goes to the next exchange of values: by a whole macro step, or by a part of one that is cut.
    pub fn advance_part(&mut self) -> Result<()> {
        if self.index < self.plain_until {
            return self.advance();
        }
        self.take_step().map_err(|error| with_inputs(&self.network, error))
    }

    /// Takes so many macro steps, or fewer to the stop time; of steps that adapt, those that begin within so many ticks.
    pub fn advance_by(&mut self, steps: u64) -> Result<()> {
        self.take_steps(steps).map_err(|error| with_inputs(&self.network, error))
    }

    fn take_steps(&mut self, steps: u64) -> Result<()> {
        let stop = self.index.saturating_add(steps);
        while self.index < stop && !self.is_ended() {
            if self.index < self.plain_until {
                let until = stop.min(self.plain_until);
                self.scheme.plain_steps(&mut self.network, &mut self.index, until)?;
            } else {
                self.take_step()?;
                if self.is_done() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// One macro step, or the next part of one that is cut.
    #[inline(never)]
    fn take_step(&mut self) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        let ticks = self.next_ticks();
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
        if let Some(control) = &mut self.control {
            control.end_step(ticks, self.network.outputs(), self.network.arrivals(), self.network.applied());
        }
        let is_quiet = self.control.is_none() && self.changes.are_done() && self.signal_jumps.are_none();
        self.plain_until =
            if is_quiet { self.scheme.plain_until(self.index).min(self.steps() - 1) } else { 0 };
        Ok(())
    }

    /// One exchange of values: changes that are due, then every subsystem that is due advances over `step`, to the communication point `end`.
    fn exchange(&mut self, step: Step, end: f64) -> Result<()> {
        self.changes.apply_due(&mut self.network, step.start)?;
        self.signal_jumps.apply(&mut self.network, step, self.clock.time(0));
        let done = self.scheme.step(&mut self.network, step, end);
        let start = self.scheme.staged().outcome.start;
        if done.is_err() && start > step.start {
            // The second half of a step that was halved has failed.
            (self.inside, self.recording.unwritten) = (Some(start), None);
        }
        self.changes.forget_jumps(&mut self.network);
        if !self.signal_jumps.are_none() {
            self.network.board.has_jumped.fill(false);
        }
        done
    }

    /// Ticks of the clock that the coming step spans: one, unless the step adapts.
    #[inline]
    fn next_ticks(&mut self) -> u64 {
        let before = self.clock.time(self.index) - self.margin();
        let Some(control) = self.control.as_mut().filter(|_| self.inside.is_none()) else { return 1 };
        let signals = self.network.graph.externals().iter();
        let jump = signals.filter_map(|(_, signal)| signal.next_event(before));
        let jump = jump.fold(self.changes.next_time(), f64::min);
        control.next_ticks(&self.clock, self.index, self.recording.ticks_to_row(self.index), jump)
    }

    fn span(&self, start: f64, end: f64) -> Span {
        Span {
            start,
            end,
            index: self.index,
            is_inside: self.inside.is_some(),
            run_start: self.clock.time(0),
        }
    }

    /// Where the next part of the step from `start` to `end` ends, if it is walked in parts.
    #[inline]
    fn next_part(&mut self, start: f64, end: f64) -> Option<f64> {
        if self.parts.are_done() && !self.is_cut(start, end) { None } else { self.parts.next() }
    }

    /// True if the step from `start` to `end` is walked in parts.
    #[inline]
    fn is_cut(&mut self, start: f64, end: f64) -> bool {
        let span = self.span(start, end);
        let changes = if self.scheme.staged().is_multi_rate { &[] } else { self.changes.coming() };
        self.parts.cut(&span, &self.network.needs, changes)
    }

    /// Advances to `time`. A macro step that reaches beyond is cut there, as a timed change would cut it, and completed by the
    /// next call: at multiples of the communication step the numbers are those of [`Run::advance`].
    pub fn advance_to(&mut self, time: f64) -> Result<()> {
        let margin = self.margin();
        self.limit_steps(((time + margin - self.clock.time(0)) / self.clock.size()).max(0.0) as u64);
        let mut advanced = Ok(());
        while advanced.is_ok() && !self.is_done() && self.clock.time(self.index + 1) <= time + margin {
            advanced = self.advance();
        }
        self.limit_steps(u64::MAX);
        advanced?;
        let start = self.time();
        if self.is_done() || time - start <= margin {
            return Ok(());
        }
        if self.scheme.staged().is_multi_rate {
            return Err(Error::Unsupported {
                what: format!("a step that ends at {time} s").into(),
                reason: format!(
                    "subsystems have different rates, so communication points are multiples of {} s",
                    self.clock.size()
                ),
            }
            .into());
        }
        if self.is_cut(start, time) {
            self.advance_parts(start)?;
        } else {
            self.exchange(Step { index: self.steps_taken(), start, size: time - start }, time)?;
        }
        self.inside = Some(self.ended_before(time).unwrap_or(time));
        self.plain_until = 0;
        Ok(())
    }

    /// Walks all parts of a step that is cut.
    fn advance_parts(&mut self, mut start: f64) -> Result<()> {
        while let Some(end) = self.parts.next() {
            self.exchange(Step { index: self.steps_taken(), start, size: end - start }, end)?;
            if self.scheme.staged().outcome.termination.is_some() {
                return Ok(());
            }
            (start, self.inside) = (end, Some(end));
        }
        Ok(())
    }

    /// No step goes beyond this point of the grid.
    fn limit_steps(&mut self, index: u64) {
        if let Some(control) = &mut self.control {
            control.limit = index;
        }
    }

    /// Gives an open input (see [`SystemGraph::open_inputs`]) the polynomial Σ_j c_j (t - now)^j, from now on.
    /// Outputs follow with [`Run::follow_inputs`].
    pub fn give(&mut self, input: InputId, coefficients: &[f64]) {
        let time = self.time();
        if let Some(signal) = self.network.graph.live_mut(input) {
            signal.give(time, coefficients);
        }
    }

    /// Makes outputs follow the inputs given now, if they are read fresh.
    pub fn follow_inputs(&mut self) -> Result<()> {
        let time = self.time();
        if self.network.is_evaluated() {
            self.network.evaluate(time)?;
            self.network.check_finite(0..self.network.graph.outputs(), time)?;
        }
        Ok(())
    }

    /// How all outputs, in the order in which subsystems advance, follow an open input at this instant, read fresh: by central
    /// differences of this size. The run is left as it was.
    pub fn slopes(&mut self, input: InputId, size: f64, slopes: &mut [f64]) -> Result<()> {
        let mut before = StateData::default();
        self.state(&mut Tape::write(&mut before));
        let time = self.time();
        let now = self.network.graph.live_mut(input).map_or(0.0, |signal| signal.value(time));
        let (low, high) = (now - size, now + size);
        let done = self.outputs_with(input, high, slopes).and_then(|()| {
            let mut lower = vec![0.0; slopes.len()];
            self.outputs_with(input, low, &mut lower)?;
            slopes.iter_mut().zip(lower).for_each(|(slope, low_y)| *slope = (*slope - low_y) / (high - low));
            Ok(())
        });
        self.restore_numbers(&before)?;
        // Subsystems remember the inputs they were read with last.
        done.and(self.follow_inputs())?;
        self.restore_numbers(&before)
    }

    fn outputs_with(&mut self, input: InputId, value: f64, outputs: &mut [f64]) -> Result<()> {
        self.give(input, &[value]);
        self.follow_inputs()?;
        outputs.copy_from_slice(self.network.outputs());
        Ok(())
    }

    /// Its subsystems and the numbers between them.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The same, to be changed.
    pub(crate) fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Takes subsystems apart where they stand: linear models, feed-through, identification.
    pub fn workbench(&mut self) -> Workbench<'_> {
        let time = self.time();
        let step = self.clock.step(self.index.min(self.clock.steps().saturating_sub(1)), 1);
        Workbench::new(&mut self.network, &mut self.findings, time, step)
    }

    /// The wiring.
    pub fn graph(&self) -> &SystemGraph {
        &self.network.graph
    }

    /// Timed changes.
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Time of the communication point that has been reached.
    pub fn time(&self) -> f64 {
        self.inside.unwrap_or_else(|| self.clock.time(self.index))
    }

    /// True between the parts of a macro step that is cut.
    pub fn is_inside_step(&self) -> bool {
        self.inside.is_some()
    }

    /// Begin of the part of a cut step that was done last, if it has just been done.
    pub(crate) fn part_start(&self) -> Option<f64> {
        self.parts.start_of_last(self.time())
    }

    /// Ticks of the clock done: macro steps, unless the step adapts (see [`Run::steps_taken`]).
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Ticks of the whole run: macro steps, unless the step adapts.
    pub fn steps(&self) -> u64 {
        self.clock.steps()
    }

    /// Communication steps taken so far.
    pub fn steps_taken(&self) -> u64 {
        self.control.as_ref().map_or(self.index, |control| control.taken())
    }

    /// Communication step, in s; the smallest, if it adapts.
    pub fn step_size(&self) -> f64 {
        self.clock.step(0, 1).size
    }

    /// The lengths of the steps so far, if they change.
    pub fn step_sizes(&self) -> Option<StepSizes> {
        Some(self.control.as_ref()?.sizes(self.time() - self.clock.time(0)))
    }

    /// The largest communication step of the run, in s.
    pub fn largest_step(&self) -> f64 {
        self.clock.size() * self.control.as_ref().map_or(1, |control| control.most()) as f64
    }

    /// The largest communication step so far, in s.
    pub(crate) fn largest_step_taken(&self) -> f64 {
        self.step_sizes().map_or(self.clock.size(), |sizes| sizes.largest)
    }

    /// Whether all subsystems advance in every macro step.
    pub(crate) fn has_one_rate(&self) -> bool {
        !self.scheme.staged().is_multi_rate
    }

    /// True at the stop time, and where a subsystem has asked to end the run.
    pub fn is_done(&self) -> bool {
        self.index >= self.clock.steps() || self.is_ended()
    }

    /// True where a subsystem has asked to end the run and all have come there.
    pub(super) fn is_ended(&self) -> bool {
        self.termination().is_some_and(|request| self.time() >= request.time - self.margin())
    }

    /// Where the run has ended, if that is before this end of a step.
    fn ended_before(&self, end: f64) -> Option<f64> {
        self.termination().map(|request| request.time).filter(|time| *time < end - self.margin())
    }

    /// Times closer than this are equal.
    pub(super) fn margin(&self) -> f64 {
        1e-9 * self.clock.size()
    }

    /// The subsystem that has asked to end the run, if one has.
    pub fn termination(&self) -> Option<&Termination> {
        self.scheme.staged().outcome.termination.as_ref()
    }

    /// Outputs of a subsystem now.
    pub fn outputs(&self, id: SubsystemId) -> &[f64] {
        &self.network.outputs()[self.network.graph.outputs_of(id)]
    }

    /// Present value of any variable of a subsystem, which is numbered in the order in which they advance.
    pub fn value(&mut self, id: SubsystemId, variable: VariableId) -> Result<f64> {
        let time = self.time();
        self.network.value(id, variable, time)
    }

    /// The present message of an output, by its full name: as it was last carried, or if nothing is connected, as its
    /// subsystem gives it now.
    pub fn message(&mut self, name: &str) -> Result<Message> {
        let time = self.time();
        self.network.message(name, time)
    }

    /// The recorded texts and bytes.
    pub fn message_columns(&self) -> &[MessageColumn] {
        self.recording.columns.messages()
    }

    /// The recorded numbers, without time.
    pub fn columns(&self) -> &[Column] {
        self.recording.columns.list()
    }

    /// The work on each iterated loop so far.
    pub fn loop_works(&self) -> impl Iterator<Item = &LoopWork> {
        self.network.loop_works().chain((0..).map_while(|number| self.scheme.loop_work(number)))
    }

    /// How often a step was halved because a loop did not converge.
    pub fn halvings(&self) -> u64 {
        self.scheme.halvings()
    }

    /// How often a step was repeated because the coupling saw that its inputs had been wrong.
    pub fn repetitions(&self) -> u64 {
        self.scheme.repetitions()
    }

    /// What exciting each subsystem before the run has shown; empty if the coupling did not ask for it.
    pub fn probing(&self) -> &[ProbeReport] {
        &self.probing
    }

    /// Nodes per step with which they were excited; 0 if they were not.
    pub fn probing_nodes(&self) -> usize {
        self.network.needs.probe.map_or(0, |needs| needs.nodes)
    }

    /// How well the coupling's model of each subsystem has predicted the last step (see
    /// [`crate::coupling::Report::quality`]), in the order in which subsystems advance.
    pub fn model_quality(&self) -> &[f64] {
        self.network.coupling.report().quality()
    }

    /// What the coupling has learned of the subsystems, by name: another run can start from it.
    pub fn learned(&self) -> BTreeMap<String, Learned> {
        self.network.coupling.report().learned(&self.network.view(self.clock.step(0, 1)))
    }

    /// Models of the subsystems as the coupling sees them now, by name; none if it asks for none.
    pub fn models(&self) -> BTreeMap<String, GivenModel> {
        let Network { graph, board, .. } = &self.network;
        let known = (0..graph.len()).filter(|id| board.models.is_known(*id));
        known.map(|id| (graph.name(id).to_owned(), board.models.of(id).into())).collect()
    }

    /// Writes everything the next step depends on into `state`, for as long as its horizon says.
    pub fn save(&mut self, state: &mut RunState) -> Result<()> {
        state.index = self.index;
        state.changes_done = self.changes.made();
        state.inside = self.inside;
        self.state(&mut Tape::write(&mut state.numbers));
        self.network.messages.save(&mut state.messages);
        state.subsystems.resize_with(self.network.len(), Default::default);
        self.network.slots.iter_mut().zip(&mut state.subsystems).try_for_each(|(slot, snapshot)| {
            snapshot.horizon = state.horizon;
            slot.subsystem.save(snapshot)
        })
    }

    /// Shows `tape` everything but messages and the subsystems' own states.
    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        self.network.state(tape);
        self.scheme.state(tape);
        if let Some(control) = &mut self.control {
            control.state(tape);
        }
    }

    /// Goes back (or forward) to a saved state of the same run; what follows is bit for bit what followed then.
    ///
    /// The stop time may differ, unless a step was shortened to reach the old one.
    pub fn restore(&mut self, state: &RunState) -> Result<()> {
        let is_same_size =
            state.numbers.size() == self.state_size && state.subsystems.len() == self.network.len();
        let is_same_run = is_same_size && state.changes_done <= self.changes.count();
        if !is_same_run || !self.network.messages.fit(&state.messages) {
            return Err(foreign());
        }
        self.parts.clear();
        self.index = state.index;
        self.changes.set_made(state.changes_done);
        self.inside = state.inside;
        self.scheme.staged_mut().outcome.forget_requests();
        self.recording.unwritten = None;
        self.plain_until = 0;
        self.network.messages.restore(&state.messages);
        self.restore_numbers(&state.numbers)?;
        self.check_grid()?;
        let pairs = self.network.slots.iter_mut().zip(&state.subsystems);
        pairs.into_iter().try_for_each(|(slot, snapshot)| slot.subsystem.restore(snapshot))
    }

    /// Reads back what [`Run::state`] wrote.
    fn restore_numbers(&mut self, numbers: &StateData) -> Result<()> {
        let mut tape = Tape::read(numbers);
        self.state(&mut tape);
        if tape.is_at_end() { Ok(()) } else { Err(foreign()) }
    }

    /// Every subsystem must stand where it advances next.
    fn check_grid(&self) -> Result<()> {
        if self.is_done() || self.inside.is_some() {
            return Ok(());
        }
        for (id, slot) in self.network.slots.iter().enumerate() {
            let next = self.index.next_multiple_of(u64::from(slot.every));
            let (stands, starts) = (self.network.board.history.reached(id), self.clock.time(next));
            if (stands - starts).abs() > self.margin() {
                return Err(Error::Unsupported {
                    what: "continuing to another stop time".into(),
                    reason: format!(
                        "`{}` is at {stands} s, where a step was shortened to reach the old stop time, not at {starts} s",
                        self.network.graph.name(id)
                    ),
                }
                .into());
            }
        }
        Ok(())
    }
}

fn foreign() -> Box<Error> {
    let reason = "it was saved from another system or with other settings".into();
    Error::Unsupported { what: "restoring this state".into(), reason }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{case, cases};
    use crate::coupling::{CouplingConfig, StartUp};
    use crate::run::{Reading, RunConfig, ScheduleConfig};

    /// States after every 100 macro steps, to the end or a failure; and whether the fast path took any.
    fn states(name: &str, config: &RunConfig, is_general: bool) -> (Vec<RunState>, bool) {
        let mut run = Run::new(case(name).unwrap().system().unwrap(), config).unwrap();
        let (mut states, mut is_fast) = (Vec::new(), false);
        while !run.is_done() {
            let stop = run.index() + 100;
            let mut done = Ok(());
            while done.is_ok() && run.index() < stop && !run.is_done() {
                done = if is_general { run.take_step() } else { run.advance_by(stop - run.index()) };
            }
            is_fast |= run.plain_until > 0;
            let mut state = RunState::default();
            if done.is_err() || run.save(&mut state).is_err() {
                break;
            }
            states.push(state);
        }
        (states, is_fast)
    }

    /// Every case, as it is and with couplings and schedules that take the fast path where they can: the same bits by
    /// the general path.
    #[test]
    fn the_fast_path_gives_the_bits_of_the_general_one() {
        let mut fast = 0;
        for name in cases() {
            let own = case(name).unwrap().run;
            let own = RunConfig { stop: own.stop.min(own.start + 1200.0 * own.step), ..own };
            let couplings = [CouplingConfig::zoh(), CouplingConfig::foh(StartUp::Constant)];
            let with = |coupling: &CouplingConfig, schedule| RunConfig {
                coupling: coupling.clone(),
                schedule,
                reading: Reading::Stale,
                iteration: None,
                every: std::collections::BTreeMap::new(),
                ..own.clone()
            };
            let mut runs = vec![own.clone()];
            for coupling in &couplings {
                runs.push(with(coupling, ScheduleConfig::PARALLEL));
                runs.push(with(coupling, ScheduleConfig::SEQUENCE));
            }
            for config in runs {
                let (general, _) = states(name, &config, true);
                let (usual, is_fast) = states(name, &config, false);
                assert!(general == usual, "{name} with {}", config.coupling.name());
                fast += usize::from(is_fast && !usual.is_empty());
            }
        }
        assert!(fast >= 40, "only {fast} runs took the fast path");
    }
}
