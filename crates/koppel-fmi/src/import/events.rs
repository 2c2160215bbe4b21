//! Event mode and clocks of FMI 3.0.
//!
//! A step is walked until its end (`walking.rs`). Events at the end of the step belong to it, so that what they bring reaches the others at that
//! communication point; they see the inputs as the step ends with. What has arrived since, discrete inputs, texts, bytes
//! and ticks, is an event at the begin of the next step.

use super::access::{Access, Backend};
use super::clocks::TimedClock;
use super::ports::Slots;
use super::{CoSimulation, Phase};
use crate::description::{Causality, CoSimulation as Section, Description, ValueType, Variability, Variable};
use crate::error::{Error, Result};
use koppel::system::Message;

/// Most rounds of one event.
const MAX_ROUNDS: usize = 1000;

/// What an instance with events or early return needs.
pub(super) struct Events {
    /// The FMU lets the importer handle its events.
    pub(super) has_event_mode: bool,
    /// The instance is in event mode: after initialisation, and while an event is handled.
    is_in_event_mode: bool,
    clocks: Vec<TimedClock>,
    /// Triggered clocks that go out: their references, and their places among the message outputs.
    output_clocks: Vec<(u32, usize)>,
    /// When the FMU wants its next event.
    next_event: Option<f64>,
    /// Inputs that are set in event mode only.
    discrete: Access,
    discrete_places: Vec<usize>,
    /// Inputs governed by clocks: the clocks' variables, and the inputs.
    clocked: Vec<(Vec<usize>, Access)>,
    /// Discrete inputs the FMU has; not a number where unknown.
    given: Vec<f64>,
    /// How far the instance came.
    pub(super) time: f64,
}

impl Events {
    /// What is needed, if anything.
    pub(super) fn new(description: &Description, section: &Section, slots: &Slots) -> Option<Events> {
        if !section.has_event_mode && !section.might_return_early_from_do_step {
            return None;
        }
        let has_event_mode = section.has_event_mode;
        let timed = |(place, variable): (usize, &Variable)| {
            let clock = variable.attributes.clock?;
            let is_input = variable.causality == Causality::Input;
            let is_timed = clock.interval_variability != crate::description::IntervalVariability::Triggered;
            (is_input && is_timed && has_event_mode).then(|| TimedClock::new(place, variable, clock))
        };
        let clocks = description.variables.iter().enumerate().filter_map(timed).collect();
        let variable_of = |place: usize| &description.variables[place];
        let output_clocks = slots.message_outputs.iter().enumerate().filter_map(|(output, slot)| {
            let variable = variable_of(slot.variable);
            (variable.value_type == ValueType::Clock).then_some((variable.value_reference, output))
        });
        let is_discrete = |v: &Variable| has_event_mode && is_discrete(v) && v.clocks.is_empty();
        let places = slots.inputs.iter().enumerate();
        let discrete_places = places.filter(|(_, slot)| is_discrete(variable_of(slot.variable)));
        let mut governed: Vec<Vec<usize>> = Vec::new();
        for slot in &slots.inputs {
            let clocks = &variable_of(slot.variable).clocks;
            if has_event_mode && !clocks.is_empty() && !governed.contains(clocks) {
                governed.push(clocks.clone());
            }
        }
        let clocked = governed.into_iter().map(|clocks| {
            let access = Access::some(description, &slots.inputs, |variable| variable.clocks == clocks);
            (clocks, access)
        });
        Some(Events {
            has_event_mode,
            is_in_event_mode: false,
            clocks,
            output_clocks: output_clocks.collect(),
            next_event: None,
            discrete: Access::some(description, &slots.inputs, is_discrete),
            discrete_places: discrete_places.map(|(place, _)| place).collect(),
            clocked: clocked.collect(),
            given: vec![f64::NAN; slots.inputs.len()],
            time: 0.0,
        })
    }

    /// Forgets the last simulation.
    pub(super) fn reset(&mut self) {
        (self.is_in_event_mode, self.next_event) = (false, None);
        self.given.fill(f64::NAN);
    }

    pub(super) fn has_new_discrete(&self, next: &[f64]) -> bool {
        self.discrete_places.iter().any(|place| self.given[*place] != next[*place])
    }

    /// The next time at which something is to happen.
    pub(super) fn next_stop(&self) -> Option<f64> {
        let ticks = self.clocks.iter().filter_map(TimedClock::next);
        ticks.chain(self.next_event).min_by(f64::total_cmp)
    }

    /// Numbers that tell where it stands.
    pub(super) fn save(&self, reals: &mut Vec<f64>) {
        reals.extend([self.next_event.unwrap_or(f64::NAN), self.time]);
        reals.extend_from_slice(&self.given);
        self.clocks.iter().for_each(|clock| reals.extend(clock.state()));
    }

    /// How many numbers `save` writes.
    pub(super) fn state_size(&self) -> usize {
        2 + self.given.len() + 5 * self.clocks.len()
    }

    /// Takes back what `save` wrote.
    pub(super) fn restore(&mut self, reals: &[f64]) {
        self.next_event = (!reals[0].is_nan()).then_some(reals[0]);
        self.time = reals[1];
        let (given, clocks) = reals[2..].split_at(self.given.len());
        self.given.copy_from_slice(given);
        self.clocks.iter_mut().zip(clocks.chunks(5)).for_each(|(clock, state)| clock.restore(state));
        self.is_in_event_mode = false;
    }
}

/// Inputs that jump.
pub(super) fn is_discrete(variable: &Variable) -> bool {
    variable.variability != Variability::Continuous
}

impl CoSimulation {
    pub(super) fn has_event_mode(&self) -> bool {
        self.events.as_ref().is_some_and(|events| events.has_event_mode)
    }

    /// Leaves initialisation, and handles what has arrived at the communication point.
    pub(super) fn begin_step(&mut self, time: f64, margin: f64) -> Result<()> {
        let is_first = self.phase == Phase::Initializing;
        if is_first {
            self.called(self.base.backend.exit_initialization())?;
            self.phase = Phase::Stepping;
        }
        let Some(events) = &mut self.events else { return Ok(()) };
        events.time = time;
        if !events.has_event_mode {
            return Ok(());
        }
        if is_first {
            events.is_in_event_mode = true;
            let Backend::Three(fmu) = &self.base.backend else { return Ok(()) };
            let started = events.clocks.iter_mut().try_for_each(|clock| clock.start(fmu, time));
            self.called(started)?;
            return self.event(time, margin);
        }
        let is_due = events.next_stop().is_some_and(|stop| stop <= time + margin);
        if is_due || events.has_new_discrete(&self.next) || self.mail.has_pending() {
            return self.event(time, margin);
        }
        Ok(())
    }

    /// Sets `next` as inputs for reading outputs: an event if discrete ones among them are new.
    pub(super) fn set_inputs_and_events(&mut self) -> Result<()> {
        let Some(events) = &self.events else { return self.set_inputs() };
        let is_new = events.has_new_discrete(&self.next);
        match self.phase {
            Phase::Stepping if is_new && events.has_event_mode => self.event(events.time, 0.0),
            Phase::Stepping => self.set_inputs(),
            _ => {
                if is_new {
                    self.write_discrete()?;
                }
                self.set_inputs()
            }
        }
    }

    fn write_discrete(&mut self) -> Result<()> {
        let Some(events) = &mut self.events else { return Ok(()) };
        let written =
            events.discrete.write(&self.base.backend, &mut self.base.scratch.borrow_mut(), &self.next);
        events.given.copy_from_slice(&self.next);
        self.accessed(written, &self.base.slots.inputs)
    }

    pub(super) fn enter_event_mode(&mut self) -> Result<()> {
        let (Backend::Three(fmu), Some(events)) = (&self.base.backend, &mut self.events) else {
            return Ok(());
        };
        if events.is_in_event_mode {
            return Ok(());
        }
        events.is_in_event_mode = true;
        let entered = fmu.enter_event_mode();
        self.base.called(entered)
    }

    /// One event at `time`: inputs, due clocks and what was received go in; what ticks comes out.
    pub(super) fn event(&mut self, time: f64, margin: f64) -> Result<()> {
        self.base.backend.set_log_time(time);
        self.enter_event_mode()?;
        let Some(events) = &mut self.events else { return Ok(()) };
        events.time = time;
        let due = |clock: &&TimedClock| clock.next().is_some_and(|next| next <= time + margin);
        let mut active: Vec<usize> = events.clocks.iter().filter(due).map(|clock| clock.variable).collect();
        for (received, slot) in self.mail.received.iter_mut().zip(&self.base.slots.message_inputs) {
            if let (true, Message::Tick(tick)) = (received.is_pending, &mut received.value) {
                active.push(slot.variable);
                (*tick, received.is_pending) = (false, false);
            }
        }
        let references: Vec<u32> =
            active.iter().map(|place| self.fmu.description().variables[*place].value_reference).collect();
        if let (Backend::Three(fmu), false) = (&self.base.backend, references.is_empty()) {
            self.called(fmu.set_clock(&references, &vec![1; references.len()]))?;
        }
        self.write_discrete()?;
        self.knows_inputs = false;
        self.set_inputs()?;
        self.write_clocked(&active)?;
        self.write_messages(|variable| {
            variable.clocks.is_empty() || variable.clocks.iter().any(|clock| active.contains(clock))
        })?;
        self.finish_event(&active)
    }

    /// Numbers governed by clocks that tick now.
    fn write_clocked(&mut self, active: &[usize]) -> Result<()> {
        let Some(events) = &self.events else { return Ok(()) };
        for (clocks, access) in &events.clocked {
            if clocks.iter().any(|clock| active.contains(clock)) {
                let written =
                    access.write(&self.base.backend, &mut self.base.scratch.borrow_mut(), &self.next);
                self.accessed(written, &self.base.slots.inputs)?;
            }
        }
        Ok(())
    }

    /// Updates discrete states until they rest, listens to clocks, and goes back to stepping.
    pub(super) fn finish_event(&mut self, active: &[usize]) -> Result<()> {
        let mut rounds = 0;
        loop {
            self.listen_to_clocks()?;
            let Backend::Three(fmu) = &self.base.backend else { return Ok(()) };
            let update = self.called(fmu.update_discrete_states())?;
            let Some(events) = &mut self.events else { return Ok(()) };
            events.next_event = update.next_event;
            let (instance, time) = (self.base.name.clone(), events.time);
            if update.terminate {
                return Err(Error::Terminated { instance, time, source: None }.into());
            }
            rounds += 1;
            if rounds > MAX_ROUNDS {
                return Err(Error::EndlessEvent { instance, time, rounds: MAX_ROUNDS }.into());
            }
            if !update.needs_update {
                break;
            }
        }
        let (Backend::Three(fmu), Some(events)) = (&self.base.backend, &mut self.events) else {
            return Ok(());
        };
        let time = events.time;
        let follow = |clock: &mut TimedClock| {
            let ticked = active.contains(&clock.variable);
            clock.follow(fmu, time, ticked)
        };
        let followed = events.clocks.iter_mut().try_for_each(follow).and_then(|()| fmu.enter_step_mode());
        events.is_in_event_mode = false;
        self.called(followed)
    }

    /// Which clocks tick now; what they govern is taken now.
    fn listen_to_clocks(&mut self) -> Result<()> {
        let (Backend::Three(fmu), Some(events)) = (&self.base.backend, &self.events) else { return Ok(()) };
        if events.output_clocks.is_empty() {
            return Ok(());
        }
        let references: Vec<u32> = events.output_clocks.iter().map(|(reference, _)| *reference).collect();
        let mut states = vec![0; references.len()];
        self.called(fmu.get_clock(&references, &mut states))?;
        let ticking: Vec<usize> = events
            .output_clocks
            .iter()
            .zip(&states)
            .filter(|(_, state)| **state != 0)
            .map(|((_, output), _)| *output)
            .collect();
        let clocks: Vec<usize> =
            ticking.iter().map(|output| self.base.slots.message_outputs[*output].variable).collect();
        for output in ticking {
            let sent = &mut self.mail.sent[output];
            (sent.value, sent.is_told) = (Some(Message::Tick(true)), false);
        }
        for output in 0..self.base.slots.message_outputs.len() {
            let slot = self.base.slots.message_outputs[output];
            let variable = &self.description().variables[slot.variable];
            if variable.clocks.iter().any(|clock| clocks.contains(clock)) {
                let mut value = self.mail.sent[output].value.take().unwrap_or(Message::Tick(false));
                self.called(self.base.backend.get_message(self.description(), slot, &mut value))?;
                self.mail.sent[output].value = Some(value);
            }
        }
        Ok(())
    }
}
