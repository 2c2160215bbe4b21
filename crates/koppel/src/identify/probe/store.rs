//! What probing found, kept between runs.
//!
//! Everything probing does with a subsystem answers one of four questions. The answers depend on nothing but what stands
//! in the question, so one that is kept is as good as one that is found, bit for bit.

use super::{Place, Probed};
use crate::fnv;
use crate::identify::Surrogate;
use serde::{Deserialize, Serialize};

/// What is asked of a subsystem that stands at its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// What the subsystem is, see [`crate::system::Subsystem::identity`].
    pub identity: String,
    /// Of the code that probes: other code, other answers.
    pub revision: u64,
    /// What was set before the start: number of the variable and value.
    pub settings: Vec<(String, f64)>,
    /// The start of the run.
    pub start: f64,
    /// The communication step.
    pub size: f64,
    /// Nodes per step.
    pub nodes: usize,
    /// All its inputs at the start.
    pub rest: Vec<f64>,
    /// Its outputs at the start.
    pub outputs: Vec<f64>,
    /// Which of the inputs are excited.
    pub inputs: Vec<usize>,
    /// What is wanted.
    pub asked: QuestionKind,
}

/// What a question asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum QuestionKind {
    /// What its outputs do with inputs at rest.
    AtRest,
    /// How far its outputs move when inputs move by these ranges.
    Moves(Vec<f64>),
    /// Its models, with these ranges of inputs and of outputs.
    Models(Vec<f64>, Vec<f64>),
    /// Its linear model in continuous time, with these ranges, of these outputs.
    Linear(Vec<f64>, Vec<f64>, Vec<usize>),
}

/// The answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Outputs at all nodes.
    AtRest(Vec<f64>),
    /// Per output.
    Moves(Vec<f64>),
    /// The models.
    Models(Box<Probed>),
    /// The linear model.
    Linear(Box<Surrogate>),
}

/// Keeps answers, on a disk for example.
pub trait ProbeStore: Send + Sync {
    /// An answer that was kept.
    fn recall(&self, question: &Question) -> Option<Answer>;
    /// Keeps an answer; one that cannot be kept is found again the next time.
    fn keep(&self, question: &Question, answer: &Answer);
}

/// A store, for a subsystem that says what it is.
pub struct Memory<'a> {
    /// Where answers are kept.
    pub store: &'a dyn ProbeStore,
    /// What the subsystem is.
    pub identity: String,
}

impl Memory<'_> {
    pub(super) fn question(&self, place: &Place<'_>, asked: QuestionKind) -> Question {
        Question {
            identity: self.identity.clone(),
            revision: REVISION,
            settings: place.settings.iter().map(|(id, value)| (format!("{id:?}"), *value)).collect(),
            start: place.start,
            size: place.size,
            nodes: place.nodes,
            rest: place.rest.to_vec(),
            outputs: place.outputs.to_vec(),
            inputs: place.inputs.clone(),
            asked,
        }
    }
}

/// A number that changes with the text of the code that probes.
const REVISION: u64 = fnv(&[
    include_bytes!("../probe.rs"),
    include_bytes!("excitation.rs"),
    include_bytes!("held.rs"),
    include_bytes!("past.rs"),
    include_bytes!("ranges.rs"),
    include_bytes!("subject.rs"),
    include_bytes!("../node_fit.rs"),
    include_bytes!("../../workbench/excitation.rs"),
    include_bytes!("../../workbench/probing.rs"),
    include_bytes!("../../signal/part.rs"),
    include_bytes!("../node_model.rs"),
    include_bytes!("../surrogate.rs"),
]);
