//! The state of an instance: kept, taken back, written as bytes.

use super::{Instance, Phase};
use crate::body::BodyState;
use crate::error::{Error, Result};
use crate::interface::Role;
use crate::polynomial::Polynomial;
use koppel::system::Hold;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Weak};

/// How states are written as bytes; it stands between the token and the state. Raise it when [`State`] changes.
const FORMAT: &[u8] = b" state 4\n";

/// Everything the future of an instance depends on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    phase: Phase,
    start: f64,
    time: f64,
    inputs: Vec<Polynomial>,
    parameters: Vec<f64>,
    starts: Vec<Option<f64>>,
    needs_outputs: bool,
    body: BodyState,
    /// As long as it lives, the subsystems must keep theirs; those that were read from bytes hold nothing.
    #[serde(skip)]
    hold: Option<Arc<()>>,
}

/// The subsystems' part of a state that the importer may set.
pub(super) struct Held {
    state: Weak<()>,
    time: f64,
    _holds: Vec<Hold>,
}

impl State {
    /// It is not going to be set any more.
    pub(crate) fn release(&mut self) {
        self.hold = None;
    }
}

impl Instance {
    pub(crate) fn save(&mut self) -> Result<State> {
        self.needs(self.plan.abilities.state, "keeps no states")?;
        let parameters = self.body.interface().places(|role| matches!(role, Role::Parameter(_)));
        self.forget_dropped();
        let mut body = if self.needs_start { BodyState::Fresh } else { self.body.save()? };
        let hold = if let BodyState::Container(state) = &mut body {
            let hold = Arc::new(());
            let (state, holds) = (Arc::downgrade(&hold), state.take_holds());
            self.held.push(Held { state, time: self.time, _holds: holds });
            Some(hold)
        } else {
            None
        };
        Ok(State {
            phase: self.phase,
            start: self.start,
            time: self.time,
            inputs: self.inputs.to_vec(),
            parameters: parameters.into_iter().map(|at| self.get(at as u32)).collect::<Result<_>>()?,
            starts: self.starts.clone(),
            needs_outputs: self.needs_outputs,
            body,
            hold,
        })
    }

    pub(crate) fn restore(&mut self, state: &State) -> Result<()> {
        self.needs(self.plan.abilities.state, "keeps no states")?;
        if state.inputs.len() != self.inputs.len() || state.starts.len() != self.starts.len() {
            return Err(Error::misuse("the state given is not one of this FMU"));
        }
        for (index, value) in state.parameters.iter().enumerate() {
            if self.body.get(Role::Parameter(index))? != *value {
                self.body.set_parameter(index, *value)?;
            }
        }
        self.body.restore(&state.body, state.start)?;
        self.needs_start = matches!(state.body, BodyState::Fresh);
        self.needs_outputs = state.needs_outputs;
        self.phase = state.phase;
        (self.start, self.time) = (state.start, state.time);
        self.inputs.copy_from_slice(&state.inputs);
        self.starts.copy_from_slice(&state.starts);
        Ok(())
    }

    /// Forgets states that the importer has freed, or saved another one in their place.
    pub(super) fn forget_dropped(&mut self) {
        self.held.retain(|held| held.state.strong_count() > 0);
    }

    /// No state from before this point will be set any more.
    pub(super) fn forget_past(&mut self) {
        let now = self.time - 8.0 * f64::EPSILON * self.time.abs();
        self.held.retain(|held| held.time >= now);
    }

    /// The state as bytes, with the token and the format before it.
    pub(crate) fn serialize(&self, state: &State) -> Result<Vec<u8>> {
        self.needs(self.plan.abilities.serialize, "writes no states as bytes")?;
        let mut bytes = self.plan.token.clone().into_bytes();
        let failed = |error: postcard::Error| Error::misuse(format!("the state cannot be written: {error}"));
        bytes.extend_from_slice(FORMAT);
        bytes.extend(postcard::to_stdvec(state).map_err(failed)?);
        Ok(bytes)
    }

    pub(crate) fn deserialize(&self, bytes: &[u8]) -> Result<State> {
        self.needs(self.plan.abilities.serialize, "reads no states from bytes")?;
        let foreign = || Error::misuse("these bytes are no state of this FMU");
        let bytes = bytes.strip_prefix(self.plan.token.as_bytes()).ok_or_else(foreign)?;
        let other = || Error::misuse("this state was written by another version of koppel");
        postcard::from_bytes(bytes.strip_prefix(FORMAT).ok_or_else(other)?).map_err(|_| foreign())
    }

    fn needs(&self, has: bool, lack: &str) -> Result<()> {
        if has { Ok(()) } else { Err(Error::misuse(format!("this FMU {lack}"))) }
    }
}
