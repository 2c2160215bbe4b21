//! The trait every simulated thing implements, native model or black box.
//!
//! Call order: `initialize`, `read` until the start is consistent, `leave_initialization`, then `step` and `read` in turn. `get`, `set`,
//! `save` and `restore` may come between any two calls after `initialize`.

use super::events::EventLog;
use super::message::Message;
use super::ports::{Ports, VariableId};
use super::state_space::StateSpace;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::signal::{Samples, Segment, Step};
use crate::solver::SolverConfig;
use serde::{Deserialize, Serialize};

/// Everything a subsystem's future depends on; reused as a buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Numbers.
    pub reals: Vec<f64>,
    /// Opaque state of a black box.
    pub bytes: Vec<u8>,
    /// How long it may be restored: to be set before it is written.
    #[serde(skip)]
    pub horizon: Horizon,
}

impl Snapshot {
    /// Room for a state that may be restored so long.
    pub fn new(horizon: Horizon) -> Self {
        Snapshot { horizon, ..Snapshot::default() }
    }
}

/// How long a snapshot may be restored. Black boxes are told whether they may forget what was before a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Horizon {
    /// At any later time of the run, until it is discarded: a black box may keep its state in its own memory.
    #[default]
    Run,
    /// Until the step is done that begins where it was saved.
    Step,
    /// Never by this subsystem, but by one in another process: a black box that can writes its state as bytes.
    Elsewhere,
    /// At any later time, by this subsystem or another one: bytes, as far as a black box can.
    Anywhere,
}

/// One model with its own solver, seen from outside.
pub trait Subsystem: Send {
    /// Its variables.
    fn ports(&self) -> &Ports;

    /// Goes to the start state at time `start`.
    fn initialize(&mut self, start: f64) -> Result<()>;

    /// The start is consistent and the inputs are set: the run begins. True if outputs may be other ones from now on.
    fn leave_initialization(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// Outputs now. `Some(inputs)`: with these inputs set first (fresh); `None`: as left by the last step (stale).
    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()>;

    /// Moves over one communication step under the given inputs and writes the outputs at its end, with the inputs as they
    /// end (stale); adds intermediate outputs to `samples` as requested.
    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> Result<()>;

    /// The same with inputs that are held over the step, and nothing to be sampled: what most steps of most runs are.
    fn step_held(&mut self, step: &Step, inputs: &[f64], outputs: &mut [f64]) -> Result<()> {
        let segment = Segment::new(step, inputs.len(), 1, inputs);
        self.step(step, &segment, outputs, &mut Samples::default())
    }

    /// The present value of any variable.
    fn get(&mut self, variable: VariableId) -> Result<f64>;

    /// Changes a parameter.
    fn set(&mut self, variable: VariableId, value: f64) -> Result<()>;

    /// Writes the present value of a message output into `message`, reusing its buffer. Asked twice, it answers the same.
    fn send(&mut self, output: usize, message: &mut Message) -> Result<()> {
        let _ = (output, message);
        Ok(())
    }

    /// Takes the value of a message input, to be used from now on. A tick is remembered until the next step has seen it.
    fn receive(&mut self, input: usize, message: &Message) -> Result<()> {
        let _ = (input, message);
        Ok(())
    }

    /// Where it notes its events, if it has any.
    fn events(&mut self) -> Option<&mut EventLog> {
        None
    }

    /// The linear model it is, if it is one exactly.
    fn linear(&self) -> Option<StateSpace> {
        None
    }

    /// The linear model it is where it stands under these inputs, by derivatives of its equations, if it can tell.
    fn linearize(&mut self, _inputs: &[f64]) -> Result<Option<StateSpace>> {
        Ok(self.linear())
    }

    /// The same into matrices that are there, which spares those who can the allocation of new ones at every step; false
    /// if it cannot tell.
    fn linearize_into(&mut self, inputs: &[f64], out: &mut StateSpace) -> Result<bool> {
        let matrices = self.linearize(inputs)?;
        Ok(matrices.map(|matrices| *out = matrices).is_some())
    }

    /// Writes D, how outputs follow inputs at once under these inputs, if it is known by derivatives, not by differences; false if
    /// not.
    fn feed_through(&mut self, _inputs: &[f64], out: &mut Matrix) -> Result<bool> {
        Ok(self.linear().map(|matrices| *out = matrices.d).is_some())
    }

    /// Why `linearize` gave nothing when it was asked last: the end of a sentence that begins with its name.
    fn lack_of_model(&self) -> Option<String> {
        None
    }

    /// True if its linear model or its feed-through takes trials: whoever has no need of them lets it be.
    fn needs_trials(&self) -> bool {
        false
    }

    /// Where its linear model comes from when it was asked last, in a few words; nothing if that is its equations.
    fn model_source(&self) -> Option<String> {
        None
    }

    /// Writes how fast its outputs change where it stands while these inputs are held; false if it cannot tell.
    fn rates(&mut self, _inputs: &[f64], _rates: &mut [f64]) -> Result<bool> {
        Ok(false)
    }

    /// Writes how fast the states of its linear model change where it stands under these inputs; false if it cannot tell.
    fn state_rates(&mut self, _inputs: &[f64], _rates: &mut [f64]) -> Result<bool> {
        Ok(false)
    }

    /// Its own solver in a few words, for the summary.
    fn solver(&self) -> String;

    /// Settings of that solver, if it is one of koppel's own.
    fn solver_config(&self) -> Option<SolverConfig> {
        None
    }

    /// What it is, in words that change with everything its behaviour depends on but its inputs and what is set later; nothing
    /// if it is not worth or not safe to keep what was found out about it.
    fn identity(&self) -> Option<String> {
        None
    }

    /// Why it should not be excited alone before a run: the end of a sentence that begins with its name.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// True if it serves a run that makes no trials: nothing is asked of it but what the run itself needs.
    fn is_spared(&self) -> bool {
        false
    }

    /// True if it may ask to end the run ([`crate::Error::Terminated`]): a black box, of which nothing is saved for that case alone.
    fn may_end_run(&self) -> bool {
        false
    }

    /// How often its own stepping function was called so far, if it counts.
    fn step_calls(&self) -> Option<u64> {
        None
    }

    /// Whether it can go back inside a run, to take a step again: what can be saved can, unless coming back takes too long for that.
    fn can_go_back(&self) -> Result<()> {
        self.save(&mut Snapshot::new(Horizon::Elsewhere))
    }

    /// Writes its state into `snapshot`, reusing the buffers, for as long as its horizon says.
    fn save(&self, snapshot: &mut Snapshot) -> Result<()>;

    /// Takes back a state written by `save`; what follows is bit for bit what followed then.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<()>;

    /// One snapshot with [`Horizon::Run`] will not be restored any more: what was before now can be forgotten, unless
    /// there are others.
    fn discard(&mut self) -> Result<()> {
        Ok(())
    }
}
