//! What is asked and answered.
//!
//! Steps, readings and single values are words with a fixed layout; everything else is rare and goes as bytes.
//!
//! | request | words                                                                                              |
//! | ------- | -------------------------------------------------------------------------------------------------- |
//! | `STEP`  | index, start, size, kind and number of samples wanted, inputs, terms, pieces, offsets, coefficients |
//! | `READ`  | 0, or 1 and the inputs                                                                              |
//! | `GET`   | kind and index of the variable                                                                      |
//! | `RATES` | the inputs                                                                                          |
//! | `CALL`  | bytes of a [`Call`]                                                                                 |
//!
//! | reply    | words                                                                                             |
//! | -------- | ------------------------------------------------------------------------------------------------- |
//! | `DONE`   | to a step: calls of `doStep` so far, outputs, number of samples, their times, their values; to a reading: outputs; a value; to `RATES`: 1 and the rates, or 0 |
//! | `ANSWER` | bytes of an [`Answer`]                                                                             |
//! | `FAILED` | bytes of a [`Trouble`]                                                                             |

use crate::error::Error;
use crate::import::Options;
use koppel::Error as Engine;
use koppel::linalg::Matrix;
use koppel::signal::Request;
use koppel::solver::SolverError;
use koppel::system::{
    Capabilities, Event, Horizon, Message, Ports, Snapshot, StateSpace, VariableId, VariableKind,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub(super) const STEP: u64 = 1;
pub(super) const READ: u64 = 2;
pub(super) const GET: u64 = 3;
pub(super) const CALL: u64 = 4;
pub(super) const DONE: u64 = 5;
pub(super) const ANSWER: u64 = 6;
pub(super) const FAILED: u64 = 7;
pub(super) const RATES: u64 = 8;

/// An FMU that the parent has unpacked, and what it may take.
#[derive(Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) memory: Option<u64>,
}

/// Rare requests.
#[derive(Serialize, Deserialize)]
pub(super) enum Call {
    Open(Place),
    Host(Box<Options>),
    Initialize(f64),
    LeaveInitialization,
    Set(VariableId, f64),
    Send(usize, Message),
    Receive(usize, Message),
    /// From now on, notes these at every event.
    Watch(Vec<VariableId>),
    /// The events up to this time.
    Events(f64),
    Save(Snapshot, Horizon),
    Restore(Snapshot),
    /// No snapshot that it was asked for is going to be restored any more.
    Release,
    Linearize(Vec<f64>),
    FeedThrough(Vec<f64>),
    /// Under these inputs, of so many states.
    StateRates(Vec<f64>, usize),
    Job(String, Vec<u8>),
    Quit,
}

/// Their answers.
#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    Nothing,
    Left(bool),
    Hosted { ports: Ports, capabilities: Capabilities },
    Saved(Snapshot),
    Sent(Message),
    Events(Vec<Event>),
    Linear { model: Option<StateSpace>, capabilities: Capabilities },
    FeedThrough(Option<Matrix>),
    Rates(Option<Vec<f64>>),
    Result(Vec<u8>),
}

/// A failure that reads the same on the other side.
#[derive(Serialize, Deserialize)]
pub(super) enum Trouble {
    /// A state that is not finite: the engine looks up its name.
    NonFinite {
        time: f64,
        index: usize,
        hint: String,
    },
    /// The FMU asks to end the simulation.
    Terminated {
        reached: Option<f64>,
        text: String,
    },
    Words {
        text: String,
        hint: Option<String>,
    },
}

impl From<Box<Engine>> for Trouble {
    fn from(error: Box<Engine>) -> Self {
        match *error {
            Engine::Solver(SolverError::NonFinite { time, index, hint }) => {
                Trouble::NonFinite { time, index, hint: hint.to_owned() }
            }
            Engine::Terminated { reached, text } => Trouble::Terminated { reached, text },
            other => Trouble::Words { text: other.to_string(), hint: other.hint() },
        }
    }
}

impl From<Box<Error>> for Trouble {
    fn from(error: Box<Error>) -> Self {
        Trouble::Words { text: error.to_string(), hint: error.hint() }
    }
}

impl Trouble {
    /// As the engine's own error.
    pub(super) fn into_engine(self) -> Box<Engine> {
        match self {
            Trouble::NonFinite { time, index, hint } => {
                // Lives for ever, but there is hardly more than one in a run.
                let hint = String::leak(hint);
                Box::new(Engine::Solver(SolverError::NonFinite { time, index, hint }))
            }
            Trouble::Terminated { reached, text } => Box::new(Engine::Terminated { reached, text }),
            Trouble::Words { text, hint } => Box::new(Error::Remote { text, hint }).into(),
        }
    }

    /// As an error about an FMU.
    pub(super) fn into_error(self) -> Box<Error> {
        Box::new(match self {
            Trouble::Words { text, hint } => Error::Remote { text, hint },
            other => {
                let error = other.into_engine();
                Error::Remote { text: error.to_string(), hint: error.hint() }
            }
        })
    }
}

/// A request for samples as two words.
pub(super) fn request_words(request: Request) -> [u64; 2] {
    match request {
        Request::Nothing => [0, 0],
        Request::SolverPoints => [1, 0],
        Request::Nodes(nodes) => [2, nodes.into()],
    }
}

/// And back.
pub(super) fn request_from([kind, nodes]: [u64; 2]) -> Request {
    match kind {
        1 => Request::SolverPoints,
        2 => Request::Nodes(nodes as u32),
        _ => Request::Nothing,
    }
}

const KINDS: [VariableKind; 4] =
    [VariableKind::Input, VariableKind::Output, VariableKind::Parameter, VariableKind::Local];

/// A variable as two words.
pub(super) fn variable_words(variable: VariableId) -> [u64; 2] {
    let kind = KINDS.iter().position(|kind| *kind == variable.kind).unwrap_or(0);
    [kind as u64, variable.index as u64]
}

/// And back.
pub(super) fn variable_from([kind, index]: [u64; 2]) -> VariableId {
    VariableId { kind: KINDS[kind as usize % KINDS.len()], index: index as usize }
}
