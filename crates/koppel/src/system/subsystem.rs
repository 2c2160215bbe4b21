//! The trait every simulated thing implements, native model or black box.
//!
//! Call order: `initialize`, `read` until the start is consistent, `leave_initialization`, then `step` and `read` in turn. `get`, `set`,
//! `save` and `restore` may come between any two calls after `initialize`.

use super::capabilities::{Capabilities, ModelSource};
use super::events::EventLog;
use super::message::Message;
use super::ports::{Ports, VariableId};
use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::signal::{Samples, Segment, Step};
use crate::state_space::StateSpace;

/// One model with its own solver, seen from outside.
pub trait Subsystem: Send {
    /// Its variables.
    fn ports(&self) -> &Ports;

    /// What it can do.
    fn capabilities(&self) -> &Capabilities {
        static ORDINARY: Capabilities = Capabilities::new("its own");
        &ORDINARY
    }

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

    /// The present value of any variable.
    fn get(&mut self, variable: VariableId) -> Result<f64>;

    /// Changes a parameter.
    fn set(&mut self, variable: VariableId, value: f64) -> Result<()>;

    /// Writes its state into `snapshot`, reusing the buffers, for as long as its horizon says.
    fn save(&mut self, snapshot: &mut Snapshot) -> Result<()>;

    /// Takes back a state written by `save`; what follows is bit for bit what followed then.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<()>;

    /// What it is to first order, if it can tell.
    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        None
    }

    /// Its texts, bytes, ticks and events, if it has any.
    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        None
    }
}

/// A subsystem to first order, where it stands. Asking leaves the subsystem as it was.
pub trait LinearModel {
    /// Writes its matrices under these inputs, reusing those that are there; false if it has none, and
    /// [`Capabilities::model`] says why.
    fn linearize(&mut self, inputs: &[f64], out: &mut StateSpace) -> Result<bool>;

    /// Writes D, how outputs follow inputs at once under these inputs; false if it is known by differences alone.
    fn feed_through(&mut self, _inputs: &[f64], _out: &mut Matrix) -> Result<bool> {
        Ok(false)
    }

    /// Writes how fast its outputs change while these inputs are held; false if it cannot tell.
    fn rates(&mut self, _inputs: &[f64], _rates: &mut [f64]) -> Result<bool> {
        Ok(false)
    }

    /// Writes how fast the states of its linear model change under these inputs; false if it cannot tell.
    fn state_rates(&mut self, _inputs: &[f64], _rates: &mut [f64]) -> Result<bool> {
        Ok(false)
    }
}

/// What a subsystem exchanges besides numbers.
pub trait Mailbox {
    /// Writes the present value of a message output into `message`, reusing its buffer. Asked twice, it answers the same.
    fn send(&mut self, output: usize, message: &mut Message) -> Result<()>;

    /// Takes the value of a message input, to be used from now on. A tick is remembered until the next step has seen it.
    fn receive(&mut self, input: usize, message: &Message) -> Result<()>;

    /// Where it notes its events, if it has any.
    fn events(&mut self) -> Option<&mut EventLog> {
        None
    }
}

/// What follows from the methods above.
impl dyn Subsystem + '_ {
    /// Moves over a step with inputs that are held, and nothing to be sampled.
    #[inline(always)]
    pub fn step_held(&mut self, step: &Step, inputs: &[f64], outputs: &mut [f64]) -> Result<()> {
        self.step(step, &Segment::held(step, inputs), outputs, &mut Samples::default())
    }

    /// The linear model it is, if it is one exactly.
    pub fn linear(&mut self) -> Option<StateSpace> {
        if !self.capabilities().is_linear {
            return None;
        }
        let inputs = vec![0.0; self.ports().inputs.len()];
        self.linearize(&inputs).ok().flatten()
    }

    /// Its linear model in new matrices.
    pub fn linearize(&mut self, inputs: &[f64]) -> Result<Option<StateSpace>> {
        let mut matrices = StateSpace::default();
        Ok(self.linearize_into(inputs, &mut matrices)?.then_some(matrices))
    }

    /// [`LinearModel::linearize`].
    pub fn linearize_into(&mut self, inputs: &[f64], out: &mut StateSpace) -> Result<bool> {
        self.linear_model().map_or(Ok(false), |model| model.linearize(inputs, out))
    }

    /// [`LinearModel::feed_through`].
    pub fn feed_through(&mut self, inputs: &[f64], out: &mut Matrix) -> Result<bool> {
        if self.linear_model().map_or(Ok(false), |model| model.feed_through(inputs, out))? {
            return Ok(true);
        }
        Ok(self.linear().map(|matrices| *out = matrices.d).is_some())
    }

    /// [`LinearModel::rates`].
    pub fn rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> Result<bool> {
        self.linear_model().map_or(Ok(false), |model| model.rates(inputs, rates))
    }

    /// [`LinearModel::state_rates`].
    pub fn state_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> Result<bool> {
        self.linear_model().map_or(Ok(false), |model| model.state_rates(inputs, rates))
    }

    /// Why there was no linear model when it was asked for last.
    pub fn lack_of_model(&self) -> Option<String> {
        match &self.capabilities().model {
            ModelSource::Missing(reason) => Some(reason.clone()),
            _ => None,
        }
    }

    /// Where its linear model comes from when it was asked for last; nothing if that is its equations.
    pub fn model_source(&self) -> Option<String> {
        match &self.capabilities().model {
            ModelSource::Found(source) => Some(source.clone()),
            _ => None,
        }
    }

    /// [`Mailbox::send`].
    pub fn send(&mut self, output: usize, message: &mut Message) -> Result<()> {
        self.mailbox().map_or(Ok(()), |mailbox| mailbox.send(output, message))
    }

    /// [`Mailbox::receive`].
    pub fn receive(&mut self, input: usize, message: &Message) -> Result<()> {
        self.mailbox().map_or(Ok(()), |mailbox| mailbox.receive(input, message))
    }

    /// [`Mailbox::events`].
    pub fn events(&mut self) -> Option<&mut EventLog> {
        self.mailbox()?.events()
    }

    /// Whether it can roll back inside a run, to repeat a step.
    pub fn can_roll_back(&self) -> Result<()> {
        match &self.capabilities().cannot_roll_back {
            None => Ok(()),
            Some(reason) => Err(Error::Foreign { source: reason.as_str().into(), hint: None }.into()),
        }
    }

    /// Its cache key, with the filters behind its outputs.
    pub fn identity(&self) -> Option<String> {
        let key = self.capabilities().cache_key.as_ref()?.find()?;
        let filters: Vec<_> =
            self.ports().outputs.iter().filter_map(|output| output.filtered.as_ref()).collect();
        Some(if filters.is_empty() { key } else { format!("{key} with filters {filters:?}") })
    }
}
