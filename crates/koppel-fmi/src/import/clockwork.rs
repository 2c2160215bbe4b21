//! Clocks of an instance in event mode: which tick now, what goes in and comes out with them, and when they tick next.
//!
//! Common to co-simulation and model exchange of FMI 3.0. Without clocks, and in FMI 2.0, all of it does nothing.

use super::access::Access;
use super::binding::Binding;
use super::clocks::TimedClock;
use super::messages::{self, Mail};
use super::ports::Slots;
use crate::description::{Causality, Description, IntervalVariability, ValueType, Variable};
use crate::error::{Error, Result};
use crate::ffi::EventInfo;
use koppel::system::Message;

/// Most rounds of one event.
const MOST_ROUNDS: usize = 1000;

/// The clocks of an instance.
#[derive(Default)]
pub(super) struct Clockwork {
    timed: Vec<TimedClock>,
    /// Triggered clocks that go out: their references, and their places among the message outputs.
    outputs: Vec<(u32, usize)>,
    /// Inputs governed by clocks: the clocks' variables, and the inputs.
    clocked: Vec<(Vec<usize>, Access)>,
}

impl Clockwork {
    pub(super) fn new(description: &Description, slots: &Slots) -> Clockwork {
        let timed = |(place, variable): (usize, &Variable)| {
            let clock = variable.attributes.clock?;
            let is_timed = clock.interval_variability != IntervalVariability::Triggered;
            let is_input = variable.causality == Causality::Input;
            (is_input && is_timed).then(|| TimedClock::new(place, variable, clock))
        };
        let outputs = slots.message_outputs.iter().enumerate().filter_map(|(output, slot)| {
            let variable = &description.variables[slot.variable];
            (variable.value_type == ValueType::Clock).then_some((variable.value_reference, output))
        });
        let mut governed: Vec<Vec<usize>> = Vec::new();
        for slot in &slots.inputs {
            let clocks = &description.variables[slot.variable].clocks;
            if !clocks.is_empty() && !governed.contains(clocks) {
                governed.push(clocks.clone());
            }
        }
        let clocked = governed.into_iter().map(|clocks| {
            let access = Access::some(description, &slots.inputs, |variable| variable.clocks == clocks);
            (clocks, access)
        });
        Clockwork {
            timed: description.variables.iter().enumerate().filter_map(timed).collect(),
            outputs: outputs.collect(),
            clocked: clocked.collect(),
        }
    }

    /// When the first of them ticks next.
    pub(super) fn next(&self) -> Option<f64> {
        self.timed.iter().filter_map(TimedClock::next).min_by(f64::total_cmp)
    }

    /// How many numbers `save` writes.
    pub(super) fn state_size(&self) -> usize {
        5 * self.timed.len()
    }

    /// Numbers that tell where they stand.
    pub(super) fn save(&self, reals: &mut Vec<f64>) {
        self.timed.iter().for_each(|clock| reals.extend(clock.state()));
    }

    /// Takes back what `save` wrote.
    pub(super) fn restore(&mut self, reals: &[f64]) {
        self.timed.iter_mut().zip(reals.chunks(5)).for_each(|(clock, state)| clock.restore(state));
    }

    /// Clocks begin to count at `time`.
    pub(super) fn start(&mut self, of: &Binding, time: f64) -> Result<()> {
        let fmu = &of.backend;
        let started = self.timed.iter_mut().try_for_each(|clock| clock.start(fmu, time));
        of.called(started)?;
        let mut silent = self.timed.iter().filter(|clock| clock.lacks_interval());
        match silent.next() {
            None => Ok(()),
            Some(clock) => {
                let name = &of.description().variables[clock.variable].name;
                Err(of.not_offered(&format!("an interval of its clock `{name}`")))
            }
        }
    }

    /// Lets the clocks tick that are due, or were told to; the variables of these.
    pub(super) fn tick(&self, of: &Binding, mail: &mut Mail, time: f64, margin: f64) -> Result<Vec<usize>> {
        let due = |clock: &&TimedClock| clock.next().is_some_and(|next| next <= time + margin);
        let mut active: Vec<usize> = self.timed.iter().filter(due).map(|clock| clock.variable).collect();
        for (received, slot) in mail.arrived() {
            if let (true, Message::Tick(tick)) = (received.is_pending, &mut received.value) {
                active.push(slot.variable);
                (*tick, received.is_pending) = (false, false);
            }
        }
        let references: Vec<u32> =
            active.iter().map(|place| of.fmu.description().variables[*place].value_reference).collect();
        if !references.is_empty() {
            of.called(of.backend.set_clock(&references, &vec![1; references.len()]))?;
        }
        Ok(active)
    }

    /// Which clocks tick now; what they govern is taken now.
    fn listen(&self, of: &Binding, mail: &mut Mail) -> Result<()> {
        if self.outputs.is_empty() {
            return Ok(());
        }
        let references: Vec<u32> = self.outputs.iter().map(|(reference, _)| *reference).collect();
        let mut states = vec![0; references.len()];
        of.called(of.backend.get_clock(&references, &mut states))?;
        let pairs = self.outputs.iter().zip(&states);
        let ticking: Vec<usize> =
            pairs.filter(|(_, state)| **state != 0).map(|((_, output), _)| *output).collect();
        let clocks: Vec<usize> = ticking.iter().map(|output| mail.outputs[*output].variable).collect();
        for output in ticking {
            let sent = &mut mail.sent[output];
            (sent.value, sent.is_told) = (Some(Message::Tick(true)), false);
        }
        for output in 0..mail.outputs.len() {
            let slot = mail.outputs[output];
            let variable = &of.description().variables[slot.variable];
            if variable.clocks.iter().any(|clock| clocks.contains(clock)) {
                let mut value = mail.sent[output].value.take().unwrap_or(Message::Tick(false));
                of.called(messages::get_message(&of.backend, of.description(), slot, &mut value))?;
                mail.sent[output].value = Some(value);
            }
        }
        Ok(())
    }

    /// Updates the discrete states until they rest, and listens to the clocks before every round.
    pub(super) fn iterate(&self, of: &Binding, mail: &mut Mail, time: f64) -> Result<EventInfo> {
        let mut all = EventInfo::default();
        for _ in 0..MOST_ROUNDS {
            self.listen(of, mail)?;
            let info = of.called(of.backend.update_discrete_states())?;
            let values_changed = all.values_changed || info.values_changed;
            let nominals_changed = all.nominals_changed || info.nominals_changed;
            all = EventInfo { values_changed, nominals_changed, ..info };
            if info.terminate {
                return Err(of.ended(time));
            }
            if !info.needs_update {
                return Ok(all);
            }
        }
        Err(Error::EndlessEvent { instance: of.name.clone(), time, rounds: MOST_ROUNDS }.into())
    }

    /// After an event: when the clocks tick next.
    pub(super) fn follow(&mut self, of: &Binding, active: &[usize], time: f64) -> Result<()> {
        let fmu = &of.backend;
        let follow = |clock: &mut TimedClock| {
            let ticked = active.contains(&clock.variable);
            clock.follow(fmu, time, ticked)
        };
        let followed = self.timed.iter_mut().try_for_each(follow);
        of.called(followed)
    }

    /// Inputs that go in with these clocks.
    pub(super) fn governed(&self, active: &[usize]) -> impl Iterator<Item = &Access> {
        let ticks = |clocks: &[usize]| clocks.iter().any(|clock| active.contains(clock));
        self.clocked.iter().filter(move |(clocks, _)| ticks(clocks)).map(|(_, access)| access)
    }
}
