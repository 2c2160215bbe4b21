//! A subsystem that shows its outputs inside the steps.

use std::sync::{Arc, Mutex, PoisonError};

use koppel::Result;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::{Capabilities, LinearModel, Mailbox, Ports, Snapshot, Subsystem, VariableId};

/// Times and outputs of one subsystem.
pub(crate) type Trace = Arc<Mutex<Vec<(f64, Vec<f64>)>>>;

/// What a trace holds.
pub(crate) fn seen(trace: &Trace) -> Vec<(f64, Vec<f64>)> {
    trace.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A subsystem with a fixed-step solver of step `micro`, watched every `spacing`.
pub(crate) struct Watched {
    pub(crate) inner: Box<dyn Subsystem>,
    pub(crate) micro: f64,
    pub(crate) spacing: f64,
    pub(crate) trace: Trace,
}

impl Subsystem for Watched {
    fn ports(&self) -> &Ports {
        self.inner.ports()
    }
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }
    fn initialize(&mut self, start: f64) -> Result<()> {
        self.inner.initialize(start)
    }
    fn leave_initialization(&mut self) -> Result<bool> {
        self.inner.leave_initialization()
    }
    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        self.inner.read(inputs, outputs)
    }
    fn get(&mut self, variable: VariableId) -> Result<f64> {
        self.inner.get(variable)
    }
    fn set(&mut self, variable: VariableId, value: f64) -> Result<()> {
        self.inner.set(variable, value)
    }
    fn save(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        self.inner.save(snapshot)
    }
    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.inner.restore(snapshot)
    }
    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        self.inner.linear_model()
    }
    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        self.inner.mailbox()
    }

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> Result<()> {
        let nodes = (step.size / self.micro).round() as u32;
        let mut fine = Samples::new(Request::Nodes(nodes), outputs.len());
        self.inner.step(step, input, outputs, &mut fine)?;
        let every = (self.spacing / self.micro).round() as usize;
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        for k in (1..fine.times().len()).filter(|k| k.is_multiple_of(every)) {
            trace.push((fine.times()[k], fine.at(k).to_vec()));
        }
        samples.clear();
        let stride = match samples.request() {
            Request::Nothing => return Ok(()),
            Request::SolverPoints => 1,
            Request::Nodes(wanted) => (nodes / wanted) as usize,
        };
        for k in (0..fine.times().len()).filter(|k| k.is_multiple_of(stride)) {
            samples.push(fine.times()[k]).copy_from_slice(fine.at(k));
        }
        Ok(())
    }
}
