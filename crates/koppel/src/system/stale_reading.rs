//! A subsystem whose outputs are those its last step has left, whatever inputs they are read with: as many FMUs are, which evaluate
//! their outputs when they leave their initialization and in their steps alone.

use super::subsystem::{Snapshot, Subsystem};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::signal::{Samples, Segment, Step};

pub(crate) struct StaleReading {
    inner: Box<dyn Subsystem>,
    left: Vec<f64>,
    inputs: Vec<f64>,
    is_initializing: bool,
}

impl StaleReading {
    pub(crate) fn new(inner: Box<dyn Subsystem>) -> Self {
        let (left, inputs) = (vec![0.0; inner.ports().outputs.len()], vec![0.0; inner.ports().inputs.len()]);
        StaleReading { inner, left, inputs, is_initializing: false }
    }
}

impl Subsystem for StaleReading {
    // `step_held` by default calls `step`; `feed_through` is not what readings show.
    crate::forward_to!(inner: ports, get, set, send, receive, events, linear, linearize, linearize_into);
    crate::forward_to!(inner: lack_of_model, needs_trials, model_source, rates, state_rates, solver);
    crate::forward_to!(inner: solver_config, identity, refusal, is_spared, may_end_run, step_calls);
    crate::forward_to!(inner: can_go_back, discard);

    fn initialize(&mut self, start: f64) -> Result<()> {
        self.inner.initialize(start)?;
        self.is_initializing = true;
        self.inputs.fill(0.0);
        self.inner.read(Some(&self.inputs), &mut self.left)
    }

    fn leave_initialization(&mut self) -> Result<bool> {
        let has_left = std::mem::take(&mut self.is_initializing);
        if has_left {
            self.inner.read(Some(&self.inputs), &mut self.left)?;
        }
        Ok(has_left)
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        if let Some(inputs) = inputs {
            self.inputs.copy_from_slice(inputs);
        }
        outputs.copy_from_slice(&self.left);
        Ok(())
    }

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> Result<()> {
        self.inner.step(step, input, outputs, samples)?;
        self.left.copy_from_slice(outputs);
        self.is_initializing = false;
        Ok(())
    }

    fn feed_through(&mut self, _inputs: &[f64], _out: &mut Matrix) -> Result<bool> {
        Ok(false)
    }

    fn save(&self, snapshot: &mut Snapshot) -> Result<()> {
        self.inner.save(snapshot)?;
        snapshot.reals.extend_from_slice(&self.left);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        let Some(size) = snapshot.reals.len().checked_sub(self.left.len()) else {
            return Err(Error::Unsupported {
                what: "restoring this state".into(),
                reason: "it was saved by another subsystem".into(),
            }
            .into());
        };
        let (inner, left) = snapshot.reals.split_at(size);
        self.left.copy_from_slice(left);
        self.is_initializing = false;
        let inner = Snapshot { reals: inner.to_vec(), ..snapshot.clone() };
        self.inner.restore(&inner)
    }
}
