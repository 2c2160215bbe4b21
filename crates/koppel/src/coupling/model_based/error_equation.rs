//! Step 1: how far the outputs are from those of an ideal coupling.
//!
//!   ζ' = A ζ + B̄ ε,     δ = M (ζ + S_d ε),     ε = L y + o - u,     ỹ = y + δ                  (1)
//!
//! over the step that has ended, with ε from intermediate values. Genser 2020, (2.34) in the form of `closed_loop`.
//! `carried`: ζ goes on from step to step. `reset`: it starts at zero each step. Solved exactly on equal parts of the step, ε
//! being a line in each.

use super::closed_loop::{ClosedLoop, wired};
use crate::coupling::View;
use crate::error::{Error, Result};
use crate::linalg::{Integrals, Matrix};
use crate::signal::{Request, Samples};
use crate::system::SubsystemId;
use crate::tape::Tape;
use serde::{Deserialize, Serialize};

/// What is done with the error equation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorEquationConfig {
    /// Nothing: outputs count as those of an ideal coupling.
    #[default]
    Off,
    /// The error is carried on from step to step.
    Carried,
    /// The error is set to zero at the start of each step.
    Reset,
}

/// Settings of step 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::coupling) struct ErrorSettings {
    pub(in crate::coupling) kind: ErrorEquationConfig,
    pub(in crate::coupling) steps: u32,
    pub(in crate::coupling) intermediate: bool,
}

impl ErrorSettings {
    /// What the subsystems are asked to show.
    pub(in crate::coupling) fn request(&self) -> Request {
        match self.kind {
            ErrorEquationConfig::Off => Request::Nothing,
            _ if self.intermediate => Request::Nodes(self.steps),
            _ => Request::Nodes(1),
        }
    }
}

/// The error equation with its state.
#[derive(Clone, Debug)]
pub(in crate::coupling) struct ErrorEquation {
    settings: ErrorSettings,
    /// ζ at the last communication point.
    pub(in crate::coupling) zeta: Vec<f64>,
    /// Mean of δ over the last step.
    pub(in crate::coupling) mean: Vec<f64>,
    /// P_0 and P_1 over one part.
    flow: [Matrix; 3],
    integrals: Integrals,
    /// Outputs at the ends of the parts of the step under way.
    inside: Vec<f64>,
    epsilon: Vec<f64>,
    next: Vec<f64>,
    forcing: Vec<f64>,
    slope: Vec<f64>,
    delta: Vec<f64>,
}

impl ErrorEquation {
    pub(in crate::coupling) fn new(settings: ErrorSettings, inputs: usize, outputs: usize) -> Self {
        let nodes = if settings.kind == ErrorEquationConfig::Off { 0 } else { settings.steps as usize + 1 };
        let zeros = vec![0.0; outputs];
        ErrorEquation {
            settings,
            zeta: zeros.clone(),
            mean: zeros.clone(),
            flow: <[Matrix; 3]>::default(),
            integrals: Integrals::default(),
            inside: vec![0.0; nodes * outputs],
            epsilon: vec![0.0; inputs],
            next: vec![0.0; inputs],
            forcing: zeros.clone(),
            slope: zeros.clone(),
            delta: zeros,
        }
    }

    pub(in crate::coupling) fn settings(&self) -> ErrorSettings {
        self.settings
    }

    /// Matrices for steps of this size.
    pub(in crate::coupling) fn fit(&mut self, closed: &ClosedLoop, size: f64) -> Result<()> {
        if self.settings.kind == ErrorEquationConfig::Off {
            return Ok(());
        }
        let part = size / f64::from(self.settings.steps);
        let found = self.integrals.both(&closed.a, part, &mut self.flow);
        found.map_err(|source| Error::Linalg { what: "the error equation".into(), source }.into())
    }

    /// Takes what was seen of a subsystem inside the finished step.
    pub(in crate::coupling) fn collect(&mut self, view: &View<'_>, id: SubsystemId, samples: &Samples) {
        if self.settings.kind == ErrorEquationConfig::Off {
            return;
        }
        let n = view.graph.outputs();
        let range = view.graph.outputs_of(id);
        let part = view.step.size / f64::from(self.settings.steps);
        let times = samples.times();
        let mut k = 0;
        for node in 0..=self.settings.steps as usize {
            let out = &mut self.inside[node * n..][range.clone()];
            if times.is_empty() {
                out.copy_from_slice(&view.outputs[range.clone()]);
                continue;
            }
            let time = view.step.start + part * node as f64;
            while k + 2 < times.len() && times[k + 1] <= time - 1e-6 * part {
                k += 1;
            }
            let next = (k + 1).min(times.len() - 1);
            let span = times[next] - times[k];
            let weight = if span > 0.0 { ((time - times[k]) / span).clamp(0.0, 1.0) } else { 1.0 };
            // A weight within round-off of an end is that end: samples at the nodes come through unchanged.
            let weight = if weight > 1.0 - 1e-6 {
                1.0
            } else if weight < 1e-6 {
                0.0
            } else {
                weight
            };
            for ((out, a), b) in out.iter_mut().zip(samples.at(k)).zip(samples.at(next)) {
                *out = a + weight * (b - a);
            }
        }
    }

    /// Solves (1) over the finished step, once all subsystems have moved.
    pub(in crate::coupling) fn advance(&mut self, view: &View<'_>, closed: &ClosedLoop) {
        match self.settings.kind {
            ErrorEquationConfig::Off => return,
            ErrorEquationConfig::Carried => (),
            ErrorEquationConfig::Reset => self.zeta.fill(0.0),
        }
        let steps = self.settings.steps as usize;
        let part = view.step.size / steps as f64;
        self.mean.fill(0.0);
        self.see(view, 0, 0.0);
        std::mem::swap(&mut self.epsilon, &mut self.next);
        for node in 0..steps {
            self.add_to_mean(closed, if node == 0 { 0.5 } else { 1.0 } / steps as f64);
            self.see(view, node + 1, part * (node + 1) as f64);
            let ErrorEquation { zeta, epsilon, next, forcing, slope, flow, .. } = self;
            closed.b.mul_vec_into(epsilon, forcing);
            closed.a.mul_vec_add(zeta, forcing);
            let [p0, p1, _] = flow;
            for (before, after) in epsilon.iter_mut().zip(next.iter()) {
                *before = (after - *before) / part;
            }
            closed.b.mul_vec_into(epsilon, slope);
            p0.mul_vec_add(forcing, zeta);
            p1.mul_vec_add(slope, zeta);
            std::mem::swap(&mut self.epsilon, &mut self.next);
        }
        self.add_to_mean(closed, 0.5 / steps as f64);
    }

    /// ε at the end of a part, into `next`.
    fn see(&mut self, view: &View<'_>, node: usize, tau: f64) {
        let n = self.zeta.len();
        wired(view, &self.inside[node * n..][..n], &mut self.next);
        for (input, epsilon) in self.next.iter_mut().enumerate() {
            *epsilon -= view.given(input, tau);
            if view.graph.is_free(input) {
                *epsilon = 0.0;
            }
        }
    }

    fn add_to_mean(&mut self, closed: &ClosedLoop, weight: f64) {
        let ErrorEquation { zeta, epsilon, delta, mean, forcing, .. } = self;
        distance(closed, zeta, epsilon, forcing, delta);
        mean.iter_mut().zip(delta.iter()).for_each(|(mean, delta)| *mean += weight * delta);
    }

    /// Shows `tape` its state.
    pub(in crate::coupling) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.values(&mut self.zeta);
        tape.values(&mut self.mean);
    }
}

/// δ = M (ζ + S_d ε); `scratch` has the length of ζ.
pub(in crate::coupling) fn distance(
    closed: &ClosedLoop,
    zeta: &[f64],
    epsilon: &[f64],
    scratch: &mut [f64],
    delta: &mut [f64],
) {
    scratch.copy_from_slice(zeta);
    closed.s_d.mul_vec_add(epsilon, scratch);
    closed.m.mul_vec_into(scratch, delta);
}
