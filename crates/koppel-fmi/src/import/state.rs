//! Saved states of an instance.
//!
//! To roll back, the FMU keeps the state in its own memory, and a snapshot holds a ticket: the slot, and a serial number that tells
//! whether the slot has been used for a newer state since. Such snapshots end with the instance. For a checkpoint, an FMU that can
//! serializes, and the snapshot holds bytes that are good in another process, too.

use super::Options;
use crate::description::Interface;
use crate::error::{Error, Result};
use crate::ffi::{CallError, Instance, State};
use koppel::system::Horizon;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most states kept in the FMU's memory; then the oldest is overwritten.
const MAX_SLOTS: usize = 64;

/// What an FMU can do with its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ability {
    Nothing,
    Keep,
    Serialize,
}

/// The states of one instance.
pub(super) struct SavedStates {
    ability: Ability,
    /// Tells tickets of this instance from those of others.
    instance: u64,
    slots: Vec<(Option<State>, u64)>,
    /// The state that was serialized last.
    serialized: Option<State>,
}

/// Why a state was not saved or restored.
pub(super) enum StateError {
    Unable,
    Call(CallError),
    Restore(&'static str),
}

impl From<CallError> for StateError {
    fn from(error: CallError) -> Self {
        StateError::Call(error)
    }
}

/// Adds the name of the instance, and why it has no state to give.
pub(super) fn explain<T>(result: Result<T, StateError>, of: &Options) -> Result<T> {
    result.map_err(|error| {
        let instance = of.name.clone();
        Box::new(match error {
            StateError::Unable => cannot_save(of),
            StateError::Call(source) => Error::Call { instance, source },
            StateError::Restore(reason) => Error::CannotRestore { instance, reason },
        })
    })
}

/// Why an instance has no state to give.
pub(crate) fn cannot_save(of: &Options) -> Error {
    Error::CannotSave { instance: of.name.clone(), reason: lack(of) }
}

/// The end of a sentence that begins with the FMU.
pub(super) fn lack(of: &Options) -> String {
    of.without.states.clone().unwrap_or_else(|| "does not declare canGetAndSetFMUState".into())
}

const TICKET: &[u8; 8] = b"koppel#1";

impl SavedStates {
    pub(super) fn new(interface: &Interface) -> SavedStates {
        let ability = match (interface.can_get_and_set_fmu_state, interface.can_serialize_fmu_state) {
            (false, _) => Ability::Nothing,
            (true, false) => Ability::Keep,
            (true, true) => Ability::Serialize,
        };
        SavedStates::with(ability)
    }

    fn with(ability: Ability) -> SavedStates {
        static INSTANCES: AtomicU64 = AtomicU64::new(0);
        // Processes count from different numbers: a ticket of one that has ended means nothing here.
        static FIRST: OnceLock<u64> = OnceLock::new();
        let first = *FIRST.get_or_init(|| RandomState::new().build_hasher().finish());
        let instance = first.wrapping_add(INSTANCES.fetch_add(1, Ordering::Relaxed));
        SavedStates { ability, instance, slots: Vec::new(), serialized: None }
    }

    /// The states of an instance in place of this one.
    pub(super) fn renewed(&self) -> SavedStates {
        SavedStates::with(self.ability)
    }

    /// True if the FMU can give and take its state.
    pub(super) fn is_able(&self) -> bool {
        self.ability != Ability::Nothing
    }

    pub(super) fn save(
        &mut self,
        backend: &Instance,
        horizon: Horizon,
        bytes: &mut Vec<u8>,
    ) -> Result<(), StateError> {
        match (self.ability, horizon) {
            (Ability::Nothing, _) => Err(StateError::Unable),
            (Ability::Serialize, Horizon::Elsewhere | Horizon::Anywhere) => {
                let place = &mut self.serialized;
                backend.get_state(place)?;
                bytes.clear();
                Ok(place.as_ref().map_or(Ok(()), |state| backend.serialize(state, bytes))?)
            }
            (Ability::Keep, _) | (Ability::Serialize, Horizon::Run | Horizon::Step) => {
                let slot = self.slot_for(bytes);
                let slots = &mut self.slots;
                let serial = slots.iter().map(|(_, serial)| *serial).max().unwrap_or(0) + 1;
                // Whatever comes of it, the old state is gone.
                slots[slot].1 = serial;
                backend.get_state(&mut slots[slot].0)?;
                bytes.clear();
                bytes.extend_from_slice(TICKET);
                for number in [self.instance, slot as u64, serial] {
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
                Ok(())
            }
        }
    }

    /// The slot this snapshot used before if nobody else has it, a free one, or the oldest.
    fn slot_for(&mut self, bytes: &[u8]) -> usize {
        let ticket = self.ticket(bytes);
        let slots = &mut self.slots;
        if let Some((slot, serial)) = ticket
            && slots.get(slot).is_some_and(|(_, current)| *current == serial)
        {
            return slot;
        }
        if slots.len() < MAX_SLOTS {
            slots.push((None, 0));
            return slots.len() - 1;
        }
        slots.iter().enumerate().min_by_key(|(_, (_, serial))| *serial).map_or(0, |(slot, _)| slot)
    }

    /// Slot and serial number of a ticket of this instance.
    fn ticket(&self, bytes: &[u8]) -> Option<(usize, u64)> {
        let numbers = bytes.strip_prefix(TICKET).filter(|numbers| numbers.len() == 24)?;
        let number = |k: usize| Some(u64::from_le_bytes(numbers[8 * k..][..8].try_into().ok()?));
        (number(0)? == self.instance).then_some((number(1)? as usize, number(2)?))
    }

    pub(super) fn restore(&self, backend: &Instance, bytes: &[u8]) -> Result<(), StateError> {
        match self.ability {
            Ability::Nothing => Err(StateError::Unable),
            Ability::Serialize if !bytes.starts_with(TICKET) => {
                let state = backend.deserialize(bytes)?;
                let restored = backend.set_state(&state);
                backend.free_state(state)?;
                Ok(restored?)
            }
            Ability::Keep | Ability::Serialize => {
                let Some((slot, serial)) = self.ticket(bytes) else {
                    return Err(StateError::Restore(
                        "the FMU kept it in memory, in another instance or process",
                    ));
                };
                match self.slots.get(slot) {
                    Some((Some(state), current)) if *current == serial => Ok(backend.set_state(state)?),
                    _ => Err(StateError::Restore("the FMU's memory of it was used for a newer state")),
                }
            }
        }
    }

    /// Gives all states back to the FMU.
    pub(super) fn free(&mut self, backend: &Instance) {
        let kept = self.slots.drain(..).map(|(state, _)| state);
        for state in kept.chain([self.serialized.take()]).flatten() {
            let _ = backend.free_state(state);
        }
    }
}
