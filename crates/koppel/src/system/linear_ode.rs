//! Constant matrices as an [`Ode`]: what a system file's `model = "linear"` becomes.

use super::ode_model::Ode;
use super::ports::{Ports, Variable};
use crate::error::{Error, Result};
use crate::state_space::StateSpace;

/// x' = A x + B u, y = C x + D u with given matrices.
#[derive(Clone, Debug)]
pub struct LinearOde {
    matrices: StateSpace,
    ports: Ports,
}

impl LinearOde {
    /// Names the ports of the matrices; feed-through is read off D. States are called `x[1]`, `x[2]`, ...
    pub fn new(
        matrices: StateSpace,
        inputs: Vec<Variable>,
        mut outputs: Vec<Variable>,
        x0: &[f64],
    ) -> Result<Self> {
        let lengths = [
            ("inputs", inputs.len(), matrices.inputs(), "columns of B"),
            ("outputs", outputs.len(), matrices.outputs(), "rows of C"),
            ("x0", x0.len(), matrices.states(), "rows of A"),
        ];
        for (what, found, expected, reason) in lengths {
            if found != expected {
                return Err(Error::Setting {
                    what: what.into(),
                    value: found.to_string(),
                    problem: format!("entries are given, {expected} are needed, as many as {reason}"),
                }
                .into());
            }
        }
        for (row, output) in outputs.iter_mut().enumerate() {
            let through: Vec<usize> =
                (0..inputs.len()).filter(|column| matrices.d[(row, *column)] != 0.0).collect();
            *output = output.clone().fed_by(&through);
        }
        let locals = x0
            .iter()
            .enumerate()
            .map(|(i, x)| Variable::new(format!("x[{}]", i + 1)).start(*x).about("state"))
            .collect();
        let ports = Ports { inputs, outputs, locals, ..Ports::default() };
        Ok(LinearOde { matrices, ports })
    }
}

impl Ode for LinearOde {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn states(&self) -> usize {
        self.matrices.states()
    }

    fn derivative(&self, _time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        self.matrices.a.mul_vec_into(x, dx);
        self.matrices.b.mul_vec_add(u, dx);
    }

    fn output(&self, _time: f64, x: &[f64], u: &[f64], y: &mut [f64]) {
        self.matrices.c.mul_vec_into(x, y);
        self.matrices.d.mul_vec_add(u, y);
    }

    fn parameter(&self, _index: usize) -> f64 {
        f64::NAN
    }

    fn set_parameter(&mut self, index: usize, _value: f64) -> Result<()> {
        Err(Error::Unsupported {
            what: format!("setting parameter {index}").into(),
            reason: "matrices given in a system file have no parameters".into(),
        }
        .into())
    }

    fn linear(&self) -> Option<StateSpace> {
        Some(self.matrices.clone())
    }
}
