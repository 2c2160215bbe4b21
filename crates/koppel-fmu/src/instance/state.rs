//! The state of an instance: kept, taken back, written as bytes.

use super::{Instance, Phase};
use crate::body::BodyState;
use crate::error::{Error, Result};
use crate::interface::Role;
use crate::polynomial::Polynomial;
use serde::{Deserialize, Serialize};

/// How states are written as bytes; it stands between the token and the state. Raise it when [`State`] changes.
const FORMAT: &[u8] = b" state 2\n";

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
    /// Under which it is held; of one that was read from bytes, none.
    #[serde(skip)]
    ticket: Option<u64>,
}

impl Instance {
    pub(crate) fn save(&mut self) -> Result<State> {
        self.needs(self.plan.abilities.state, "keeps no states")?;
        let parameters = self.body.interface().places(|role| matches!(role, Role::Parameter(_)));
        let body = if self.needs_start { BodyState::Fresh } else { self.body.save()? };
        let ticket = matches!(body, BodyState::Container(_)).then(|| {
            self.tickets += 1;
            self.held.push((self.tickets, self.time));
            self.tickets
        });
        Ok(State {
            phase: self.phase,
            start: self.start,
            time: self.time,
            inputs: self.inputs.clone(),
            parameters: parameters.into_iter().map(|at| self.get(at as u32)).collect::<Result<_>>()?,
            starts: self.starts.clone(),
            needs_outputs: self.needs_outputs,
            body,
            ticket,
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

    /// A state that the importer has freed, or saved another one in its place.
    pub(crate) fn discard(&mut self, state: &State) -> Result<()> {
        let place = self.held.iter().position(|(ticket, _)| Some(*ticket) == state.ticket);
        match place {
            Some(place) => {
                self.held.swap_remove(place);
                self.body.discard()
            }
            None => Ok(()),
        }
    }

    /// No state from before this point will be set any more.
    pub(super) fn discard_past(&mut self) -> Result<()> {
        let now = self.time - 8.0 * f64::EPSILON * self.time.abs();
        let before = self.held.len();
        self.held.retain(|(_, time)| *time >= now);
        (self.held.len()..before).try_for_each(|_| self.body.discard())
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
