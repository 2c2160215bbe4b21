//! Saved states: the FMU's own, with what the solver and the events need besides.
//!
//! An FMU that cannot give its state can still be put back if it has nothing but continuous states: no events and no
//! discrete variables. Then these, the inputs and the tunable parameters are its state.

use super::stepping::{Integrator, Mode};
use crate::description::{Causality, Description, ValueType, Variability};
use crate::error::{Error, Result};
use crate::import::state;
use crate::import::{Base, Phase};
use koppel::system::Snapshot;

/// How far an instance was when it was saved.
const INITIALIZING: f64 = 0.0;
const AT_EVENT: f64 = 1.0;
const CONTINUOUS: f64 = 2.0;

/// Nothing but continuous states: no events, no discrete variables, no clocks.
pub(super) fn is_smooth(description: &Description) -> bool {
    let is_discrete = |v: &crate::description::Variable| {
        v.variability == Variability::Discrete && matches!(v.causality, Causality::Output | Causality::Local)
            || v.value_type == ValueType::Clock
    };
    description.number_of_event_indicators == 0 && !description.variables.iter().any(is_discrete)
}

impl Integrator {
    pub(super) fn write(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        self.base.cut_memory(snapshot);
        let reals = &mut snapshot.reals;
        reals.clear();
        reals.push(match (self.base.phase, self.mode) {
            (Phase::Stepping, Mode::Event) => AT_EVENT,
            (Phase::Stepping, Mode::Continuous) => CONTINUOUS,
            _ => INITIALIZING,
        });
        reals.extend([self.time, self.next_event.unwrap_or(f64::NAN)]);
        for list in [&self.x, &self.scales, &self.settled, &self.applied, &self.at.z] {
            reals.extend_from_slice(list);
        }
        reals.extend_from_slice(self.solver.memory());
        if self.base.states.is_able() {
            let Base { states, binding, options, .. } = &mut self.base;
            let saved = states.save(&binding.backend, snapshot.horizon, &mut snapshot.bytes);
            state::explain(saved, options)?;
        } else {
            self.check_smooth()?;
            snapshot.bytes.clear();
            let at = reals.len();
            reals.resize(at + self.tunables.len(), 0.0);
            let (backend, scratch) = (&self.base.binding.backend, &mut self.base.scratch);
            let read = self.tunable.read(backend, scratch, &mut reals[at..]);
            self.base.accessed(read, &self.tunables)?;
        }
        self.base.save_memory(snapshot);
        self.base.past.note(snapshot, self.time);
        Ok(())
    }

    pub(super) fn check_smooth(&self) -> Result<()> {
        if self.is_smooth && self.next_event.is_none() {
            return Ok(());
        }
        let (instance, reason) = (self.base.name.clone(), state::lack(&self.base.options));
        Err(Error::CannotSaveEvents { instance, reason }.into())
    }

    pub(super) fn take_back(&mut self, snapshot: &Snapshot) -> Result<()> {
        let (n, m, events) = (self.x.len(), self.applied.len(), self.at.z.len());
        let memory = self.solver.memory().len();
        let is_able = self.base.states.is_able();
        let tunables = if is_able { 0 } else { self.tunables.len() };
        let count = 3 + 2 * n + 2 * m + events + memory + tunables;
        let not_ours = |name: &str| {
            Box::new(Error::CannotRestore { instance: name.to_owned(), reason: "it is not one of this FMU" })
        };
        if snapshot.reals.len() != count + self.base.memory_size() {
            return Err(not_ours(&self.base.name));
        }
        let mut rest = &snapshot.reals[3..];
        let mut next = |count: usize| {
            let (list, others) = rest.split_at(count);
            rest = others;
            list
        };
        let (x, scales, settled, applied) = (next(n), next(n), next(m), next(m));
        let (z, memory, tunables) = (next(events), next(memory), next(tunables));
        let (phase, time) = (snapshot.reals[0], snapshot.reals[1]);
        let own = self.base.restore_memory(&snapshot.reals[count..], &snapshot.bytes);
        let own = own.ok_or_else(|| not_ours(&self.base.name))?;
        if is_able {
            let restored = self.base.states.restore(&self.base.backend, own);
            state::explain(restored, &self.base.options)?;
            self.base.phase = if phase == INITIALIZING { Phase::Initializing } else { Phase::Stepping };
            self.mode = if phase == CONTINUOUS { Mode::Continuous } else { Mode::Event };
        } else {
            self.check_smooth()?;
            self.restart(phase, time, tunables, applied)?;
        }
        self.time = time;
        self.set_next_event(Some(snapshot.reals[2]).filter(|time| !time.is_nan()));
        self.is_fresh = phase == INITIALIZING;
        self.x.copy_from_slice(x);
        self.scales.copy_from_slice(scales);
        self.settled.copy_from_slice(settled);
        self.applied.copy_from_slice(applied);
        self.at.z.copy_from_slice(z);
        self.solver.set_memory(memory);
        if !is_able && phase != INITIALIZING {
            for ((plain, x), scale) in self.at.plain.iter_mut().zip(x).zip(scales) {
                *plain = x * scale;
            }
            self.base.called(self.base.backend.set_time(time))?;
            self.base.called(self.base.backend.set_states(&self.at.plain))?;
        }
        if phase == AT_EVENT {
            self.enter_event_mode()?;
        }
        Ok(())
    }

    /// Brings an FMU without states of its own to where its continuous states can be set.
    fn restart(&mut self, phase: f64, time: f64, tunables: &[f64], applied: &[f64]) -> Result<()> {
        if phase == INITIALIZING || self.base.phase != Phase::Stepping {
            self.base.start(time)?;
            self.mode = Mode::Event;
        }
        if phase != INITIALIZING && self.base.phase == Phase::Initializing {
            self.base.exit_initialization()?;
        }
        if phase != INITIALIZING {
            self.enter_event_mode()?;
            let (backend, scratch) = (&self.base.binding.backend, &mut self.base.scratch);
            let written = self.tunable.write(backend, scratch, tunables);
            self.base.accessed(written, &self.tunables)?;
        }
        self.next.copy_from_slice(applied);
        if !self.next.iter().any(|value| value.is_nan()) {
            self.applied.fill(f64::NAN);
            self.write_inputs()?;
        }
        if phase == INITIALIZING { Ok(()) } else { self.event() }
    }
}
