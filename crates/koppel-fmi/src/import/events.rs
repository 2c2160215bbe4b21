//! Event mode and clocks of FMI 3.0.
//!
//! A step is walked until its end (`walking.rs`). Events at the end of the step belong to it, so that what they bring reaches the others at that
//! communication point; they see the inputs as the step ends with. What has arrived since, discrete inputs, texts, bytes
//! and ticks, is an event at the start of the next step.

use super::access::Access;
use super::ports::Slots;
use super::stepping::Stepper;
use super::{Base, Phase};
use crate::description::{CoSimulation as Section, Description, Variability, Variable};
use crate::error::Result;

/// What an instance with events or early return needs.
pub(super) struct Events {
    /// The FMU lets the importer handle its events.
    pub(super) has_event_mode: bool,
    /// The instance is in event mode: after initialisation, and while an event is handled.
    is_in_event_mode: bool,
    /// When the FMU wants its next event.
    next_event: Option<f64>,
    /// Inputs that are set in event mode only.
    discrete: Access,
    discrete_places: Vec<usize>,
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
        let variable_of = |place: usize| &description.variables[place];
        let is_discrete = |v: &Variable| has_event_mode && is_discrete(v) && v.clocks.is_empty();
        let places = slots.inputs.iter().enumerate();
        let discrete_places = places.filter(|(_, slot)| is_discrete(variable_of(slot.variable)));
        Some(Events {
            has_event_mode,
            is_in_event_mode: false,
            next_event: None,
            discrete: Access::some(description, &slots.inputs, is_discrete),
            discrete_places: discrete_places.map(|(place, _)| place).collect(),
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

    /// Numbers that tell where it stands.
    pub(super) fn save(&self, reals: &mut Vec<f64>) {
        reals.extend([self.next_event.unwrap_or(f64::NAN), self.time]);
        reals.extend_from_slice(&self.given);
    }

    /// How many numbers `save` writes.
    pub(super) fn state_size(&self) -> usize {
        2 + self.given.len()
    }

    /// Takes back what `save` wrote.
    pub(super) fn restore(&mut self, reals: &[f64]) {
        self.next_event = (!reals[0].is_nan()).then_some(reals[0]);
        self.time = reals[1];
        self.given.copy_from_slice(&reals[2..]);
        self.is_in_event_mode = false;
    }
}

/// Inputs that jump.
pub(super) fn is_discrete(variable: &Variable) -> bool {
    variable.variability != Variability::Continuous
}

impl Stepper {
    /// The next time at which something is to happen.
    pub(super) fn next_stop(&self) -> Option<f64> {
        let events = self.events.as_ref()?;
        let ticks = self.base.clockwork.next().filter(|_| events.has_event_mode);
        ticks.into_iter().chain(events.next_event).min_by(f64::total_cmp)
    }

    pub(super) fn has_event_mode(&self) -> bool {
        self.events.as_ref().is_some_and(|events| events.has_event_mode)
    }

    /// Leaves initialisation, and handles what has arrived at the communication point.
    pub(super) fn begin_step(&mut self, time: f64, margin: f64) -> Result<()> {
        let is_first = self.phase == Phase::Initializing;
        if is_first {
            self.exit_initialization()?;
        }
        let Some(events) = &mut self.events else { return Ok(()) };
        events.time = time;
        if !events.has_event_mode {
            return Ok(());
        }
        if is_first {
            events.is_in_event_mode = true;
            self.base.clockwork.start(&self.base.binding, time)?;
            return self.event(time, margin);
        }
        let is_new = events.has_new_discrete(&self.feed.next);
        let is_due = self.next_stop().is_some_and(|stop| stop <= time + margin);
        if is_due || is_new || self.base.mail.has_pending() {
            return self.event(time, margin);
        }
        Ok(())
    }

    /// Sets `next` as inputs for reading outputs: an event if discrete ones among them are new.
    pub(super) fn set_inputs_and_events(&mut self) -> Result<()> {
        let Some(events) = &self.events else { return self.feed.set(&mut self.base) };
        let is_new = events.has_new_discrete(&self.feed.next);
        match self.phase {
            Phase::Stepping if is_new && events.has_event_mode => self.event(events.time, 0.0),
            Phase::Stepping => self.feed.set(&mut self.base),
            _ => {
                if is_new {
                    self.write_discrete()?;
                }
                self.feed.set(&mut self.base)
            }
        }
    }

    fn write_discrete(&mut self) -> Result<()> {
        let Some(events) = &mut self.events else { return Ok(()) };
        let Base { binding, scratch, slots, .. } = &mut self.base;
        let written = events.discrete.write(&binding.backend, scratch, &self.feed.next);
        events.given.copy_from_slice(&self.feed.next);
        binding.accessed(written, &slots.inputs)
    }

    pub(super) fn enter_event_mode(&mut self) -> Result<()> {
        let Some(events) = &mut self.events else { return Ok(()) };
        if events.is_in_event_mode {
            return Ok(());
        }
        events.is_in_event_mode = true;
        self.base.called(self.base.backend.enter_event_mode())
    }

    /// One event at `time`: inputs, due clocks and what was received go in; what ticks comes out.
    pub(super) fn event(&mut self, time: f64, margin: f64) -> Result<()> {
        // The first one belongs to the start.
        let is_first = self.events.as_ref().is_some_and(|events| events.is_in_event_mode);
        let before = if is_first { None } else { self.base.watched()? };
        self.handle_event(time, margin)?;
        self.base.note_event(time, before)
    }

    fn handle_event(&mut self, time: f64, margin: f64) -> Result<()> {
        self.base.backend.log().set_time(time);
        self.enter_event_mode()?;
        let Some(events) = &mut self.events else { return Ok(()) };
        events.time = time;
        let active = self.base.tick(time, margin)?;
        self.write_discrete()?;
        self.feed.is_known = false;
        self.feed.set(&mut self.base)?;
        self.base.write_clocked(&active, &self.feed.next)?;
        self.finish_event(&active)
    }

    /// Updates discrete states until they rest, listens to clocks, and returns to step mode.
    pub(super) fn finish_event(&mut self, active: &[usize]) -> Result<()> {
        let Some(time) = self.events.as_ref().map(|events| events.time) else { return Ok(()) };
        let info = self.iterate_event(time)?;
        let Some(events) = &mut self.events else { return Ok(()) };
        (events.is_in_event_mode, events.next_event) = (false, info.next_event);
        self.base.clockwork.follow(&self.base.binding, active, time)?;
        self.called(self.backend.enter_step_mode())
    }
}
