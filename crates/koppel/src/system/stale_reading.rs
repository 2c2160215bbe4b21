//! A subsystem whose outputs are those its last step has left, whatever inputs they are read with: as many FMUs are, which evaluate
//! their outputs when they leave their initialization and in their steps alone.

use super::capabilities::Capabilities;
use super::ports::{Ports, VariableId};
use super::snapshot::Snapshot;
use super::subsystem::{LinearModel, Mailbox, Subsystem};
use crate::error::{Error, Result};
use crate::signal::{Samples, Segment, Step};
use crate::state_space::StateSpace;

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
    fn ports(&self) -> &Ports {
        self.inner.ports()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

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

    fn get(&mut self, variable: VariableId) -> Result<f64> {
        self.inner.get(variable)
    }

    fn set(&mut self, variable: VariableId, value: f64) -> Result<()> {
        self.inner.set(variable, value)
    }

    fn save(&mut self, snapshot: &mut Snapshot) -> Result<()> {
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
    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        Some(self)
    }

    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        self.inner.mailbox()
    }
}

/// Without feed-through: that of the subsystem is not what readings show.
impl LinearModel for StaleReading {
    fn linearize(&mut self, inputs: &[f64], out: &mut StateSpace) -> Result<bool> {
        self.inner.linearize_into(inputs, out)
    }

    fn rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> Result<bool> {
        self.inner.rates(inputs, rates)
    }

    fn state_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> Result<bool> {
        self.inner.state_rates(inputs, rates)
    }
}
