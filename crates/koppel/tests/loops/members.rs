//! Members of loops for tests.

use koppel::Result;
use koppel::linalg::Matrix;
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{
    Capabilities, LinearModel, Ports, Snapshot, StateSpace, Subsystem, Variable, VariableId,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Outputs = Box<dyn Fn(&[f64], &mut [f64]) + Send>;

/// Calls of a member.
#[derive(Default)]
pub(crate) struct Calls {
    pub(crate) steps: AtomicU64,
    pub(crate) reads: AtomicU64,
}

impl Calls {
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

/// y = g(u), without states.
pub(crate) struct Static {
    pub(crate) ports: Ports,
    u: Vec<f64>,
    outputs: Outputs,
    pub(crate) calls: Arc<Calls>,
    derivative: Option<f64>,
    capabilities: Capabilities,
}

impl Static {
    /// Every output depends on every input; inputs with their start values.
    pub(crate) fn new(
        inputs: &[(&str, f64)],
        outputs: &[&str],
        g: impl Fn(&[f64], &mut [f64]) + Send + 'static,
    ) -> Self {
        let all: Vec<usize> = (0..inputs.len()).collect();
        let ports = Ports {
            inputs: inputs.iter().map(|(name, start)| Variable::new(*name).start(*start)).collect(),
            outputs: outputs.iter().map(|name| Variable::new(*name).fed_by(&all)).collect(),
            ..Ports::default()
        };
        let u = vec![0.0; inputs.len()];
        Static {
            ports,
            u,
            outputs: Box::new(g),
            calls: Arc::default(),
            derivative: None,
            capabilities: Capabilities::new("none"),
        }
    }

    /// y = gain u + offset.
    pub(crate) fn gain(gain: f64, offset: f64) -> Self {
        Static::new(&[("u", 0.0)], &["y"], move |u, y| y[0] = gain * u[0] + offset)
    }

    pub(crate) fn of_one_step_size(mut self) -> Self {
        self.ports.one_step_size = true;
        self
    }

    pub(crate) fn without_roll_back(mut self) -> Self {
        self.capabilities.cannot_roll_back = Some("this black box keeps its state to itself".into());
        self
    }

    /// With a derivative of its output, right or wrong.
    pub(crate) fn deriving(mut self, derivative: f64) -> Self {
        self.derivative = Some(derivative);
        self
    }
}

impl Subsystem for Static {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn initialize(&mut self, _start: f64) -> Result<()> {
        Ok(())
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        self.calls.reads.fetch_add(1, Ordering::Relaxed);
        if let Some(inputs) = inputs {
            self.u.copy_from_slice(inputs);
        }
        (self.outputs)(&self.u, outputs);
        Ok(())
    }

    fn step(
        &mut self,
        _step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        _samples: &mut Samples,
    ) -> Result<()> {
        self.calls.steps.fetch_add(1, Ordering::Relaxed);
        input.end_values(&mut self.u);
        (self.outputs)(&self.u, outputs);
        Ok(())
    }

    fn get(&mut self, variable: VariableId) -> Result<f64> {
        Ok(self.u[variable.index])
    }

    fn set(&mut self, _variable: VariableId, _value: f64) -> Result<()> {
        Ok(())
    }

    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        self.derivative.is_some().then_some(self as &mut dyn LinearModel)
    }

    fn save(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        if self.capabilities.cannot_roll_back.is_some() {
            return Err(koppel::Error::Unsupported {
                what: "saving the state".into(),
                reason: "this black box keeps it to itself".into(),
            }
            .into());
        }
        snapshot.reals.clear();
        snapshot.reals.extend_from_slice(&self.u);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.u.copy_from_slice(&snapshot.reals);
        Ok(())
    }
}

impl LinearModel for Static {
    fn linearize(&mut self, _inputs: &[f64], _out: &mut StateSpace) -> Result<bool> {
        Ok(false)
    }

    fn feed_through(&mut self, _inputs: &[f64], out: &mut Matrix) -> Result<bool> {
        Ok(self.derivative.map(|d| *out = Matrix::from_slice(1, 1, &[d])).is_some())
    }
}
