//! A subsystem whose outputs are those its last step has left, whatever inputs they are read with: as many FMUs are, which evaluate
//! their outputs in their steps alone.

use super::subsystem::{Snapshot, Subsystem};
use crate::error::{Error, Result};
use crate::signal::{Samples, Segment, Step};

/// Until the first step outputs follow inputs.
pub(crate) struct StaleReading {
    inner: Box<dyn Subsystem>,
    left: Vec<f64>,
    has_moved: bool,
}

impl StaleReading {
    pub(crate) fn new(inner: Box<dyn Subsystem>) -> Self {
        let left = vec![0.0; inner.ports().outputs.len()];
        StaleReading { inner, left, has_moved: false }
    }
}

impl Subsystem for StaleReading {
    // `step_held` by default calls `step`.
    crate::forward_to!(inner: ports, leave_initialization, get, set, send, receive, linear, linearize, linearize_into);
    crate::forward_to!(inner: feed_through, lack_of_model, needs_trials, model_source, rates, state_rates, solver);
    crate::forward_to!(inner: solver_config, identity, refusal, step_calls, can_go_back);

    fn initialize(&mut self, start: f64) -> Result<()> {
        self.has_moved = false;
        self.inner.initialize(start)
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        if self.has_moved {
            outputs.copy_from_slice(&self.left);
            return Ok(());
        }
        self.inner.read(inputs, outputs)
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
        self.has_moved = true;
        Ok(())
    }

    fn save(&self, snapshot: &mut Snapshot) -> Result<()> {
        self.inner.save(snapshot)?;
        snapshot.reals.extend_from_slice(&self.left);
        snapshot.reals.push(f64::from(u8::from(self.has_moved)));
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        let own = self.left.len() + 1;
        let Some(size) = snapshot.reals.len().checked_sub(own) else {
            return Err(Error::Unsupported {
                what: "restoring this state".into(),
                reason: "it was saved by another subsystem".into(),
            }
            .into());
        };
        let (inner, mine) = snapshot.reals.split_at(size);
        self.left.copy_from_slice(&mine[..own - 1]);
        self.has_moved = mine[own - 1] != 0.0;
        let inner = Snapshot { reals: inner.to_vec(), bytes: snapshot.bytes.clone() };
        self.inner.restore(&inner)
    }
}
