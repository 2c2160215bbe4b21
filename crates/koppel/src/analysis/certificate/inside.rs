//! What the outputs of a linear subsystem were between two communication points.
//!
//! Its state at the begin of the step is known. From there it is solved under the inputs it was given. What is left between
//! that and its outputs at the end, the error of its own solver, is spread over the step.

use super::stride::Stride;
use crate::error::Result;
use crate::linalg::{Matrix, dot};
use crate::run::Run;
use crate::system::{Horizon, Snapshot, StateSpace, SubsystemId};
use std::ops::Range;

/// What C x + D u may differ from the outputs, relative to their size.
const SAME: f64 = 1e-6;

/// One subsystem between two communication points.
pub(super) struct Inside {
    inputs: Range<usize>,
    outputs: Range<usize>,
    pub(super) matrices: StateSpace,
    state: Vec<f64>,
    filter_states: usize,
    saved: Snapshot,
}

impl Inside {
    /// A subsystem as it stands; none if it is not linear or its state cannot be read.
    pub(super) fn new(run: &mut Run, id: SubsystemId) -> Result<Option<Self>> {
        if !run.network().subsystem(id).capabilities().is_linear {
            return Ok(None);
        }
        let Ok((matrices, true)) = run.workbench().linear_model(id) else { return Ok(None) };
        let graph = run.graph();
        let mut inside = Inside {
            inputs: graph.inputs_of(id),
            outputs: graph.outputs_of(id),
            state: vec![0.0; matrices.states()],
            matrices,
            filter_states: filter_states(run, id)?,
            saved: Snapshot::new(Horizon::Elsewhere),
        };
        Ok(inside.read_state(run, id).then_some(inside))
    }

    /// Its solution over one part of this length.
    pub(super) fn solve(&self, part: f64) -> Result<Stride> {
        Stride::new(&self.matrices, part)
    }

    /// Takes over a subsystem whose parameters were changed at the begin of a step, from where it stood then.
    pub(super) fn renew(&mut self, new: Inside) {
        let before = std::mem::replace(self, new);
        if before.state.len() == self.state.len() {
            self.state = before.state;
        }
    }

    /// One of its states was set.
    pub(super) fn set_state(&mut self, index: usize, value: f64) {
        self.state[index] = value;
    }

    /// Reads its states, if it saves them as koppel's own models do: after the time, those of its filters at the end.
    fn read_state(&mut self, run: &mut Run, id: SubsystemId) -> bool {
        self.saved.reals.clear();
        let saved = run.network_mut().subsystem_mut(id).save(&mut self.saved);
        let (reals, own) = (&self.saved.reals, self.state.len() - self.filter_states);
        if saved.is_err() || reals.len() < 1 + self.state.len() {
            return false;
        }
        self.state[..own].copy_from_slice(&reals[1..1 + own]);
        self.state[own..].copy_from_slice(&reals[reals.len() - self.filter_states..]);
        true
    }

    /// True if C x + D u is what its outputs are at the start of the run.
    pub(super) fn gives_outputs(&self, run: &Run, id: SubsystemId) -> bool {
        let mut y = self.matrices.c.mul_vec(&self.state);
        self.matrices.d.mul_vec_add(&run.network().read_inputs(id, run.time()), &mut y);
        let seen = &run.network().outputs()[self.outputs.clone()];
        let size = seen.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
        seen.iter().zip(&y).all(|(a, b)| (a - b).abs() <= SAME * size)
    }

    /// Solves it over one step under the inputs at the ends of its parts, writes its outputs there, and puts it where the
    /// subsystem is now, from which another solver, or an unstable one, would carry it away.
    pub(super) fn follow(&mut self, run: &mut Run, id: SubsystemId, nodes: &Matrix, of: Within<'_>) {
        let Within { stride, out } = of;
        let (last, inputs) = (nodes.rows() - 1, self.inputs.clone());
        let mut u = &nodes.row(0)[inputs.clone()];
        let begin = &mut out.row_mut(0)[self.outputs.clone()];
        self.matrices.c.mul_vec_into(&self.state, begin);
        self.matrices.d.mul_vec_add(u, begin);
        for j in 1..=last {
            let v = &nodes.row(j)[inputs.clone()];
            stride.walk(&mut self.state, u, v, &mut out.row_mut(j)[self.outputs.clone()]);
            u = v;
        }
        for (k, output) in self.outputs.clone().enumerate() {
            let left = self.left(run, id, k);
            if left != 0.0 {
                (1..=last).for_each(|j| out[(j, output)] += left * j as f64 / last as f64);
            }
        }
        self.read_state(run, id);
    }

    /// An output of the subsystem now, less what its solution gives with the inputs it was read with.
    fn left(&self, run: &Run, id: SubsystemId, k: usize) -> f64 {
        let (given, time) = (run.network().read_with(), run.time());
        let through = self.matrices.d.row(k).iter().zip(self.inputs.clone());
        let through = through.map(|(d, i)| match *d {
            0.0 => 0.0,
            d => d * (given[i] + run.network().external(id, i, time)),
        });
        let own = through.sum::<f64>() + dot(self.matrices.c.row(k), &self.state);
        run.network().outputs()[self.outputs.start + k] - own
    }
}

/// The solution of a subsystem over one part of a step, and where its outputs go.
pub(super) struct Within<'a> {
    pub(super) stride: &'a mut Stride,
    pub(super) out: &'a mut Matrix,
}

/// How many states the filters of a subsystem have.
fn filter_states(run: &Run, id: SubsystemId) -> Result<usize> {
    let filtered = run.graph().ports(id).outputs.iter().filter_map(|v| Some((v, v.filtered.as_ref()?)));
    filtered.map(|(v, filtered)| Ok(filtered.filter.matrices(&v.name)?.states())).sum()
}
