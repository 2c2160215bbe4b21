//! What the outputs were between two communication points.
//!
//! They are known at the ends of a step. A subsystem that is exactly linear and whose state is known is solved from there,
//! under the inputs it was given; what is left between that and its outputs at the end is spread over the step. Of any other, y - D u is taken as the parabola through its last three values.

use crate::error::Result;
use crate::linalg::{Matrix, dot};
use crate::run::Simulation;
use crate::system::{Discrete, Snapshot, StateSpace, SubsystemId};
use std::ops::Range;

/// What C x + D u may differ from the outputs of a subsystem that is linear, relative to their size.
const SAME: f64 = 1e-6;

/// One subsystem between two communication points.
pub(super) struct Inside {
    pub(super) inputs: Range<usize>,
    pub(super) outputs: Range<usize>,
    pub(super) matrices: StateSpace,
    /// Its state, if it is solved along with the run.
    shadow: Option<Vec<f64>>,
    /// Outputs without what u feeds through, less those of the shadow: at the end of the step, at its begin, before.
    left: [Vec<f64>; 3],
    /// How many of them are known.
    known: usize,
    next: Vec<f64>,
    filter_states: usize,
    saved: Snapshot,
}

/// A step that is followed.
#[derive(Clone, Copy)]
pub(super) struct Followed<'a> {
    /// All inputs at the ends of its parts.
    pub(super) nodes: &'a Matrix,
    /// Length of a part.
    pub(super) part: f64,
    /// The solution over one part, if the subsystem is solved.
    pub(super) solved: Option<&'a Discrete>,
    /// Length of the step before, relative to this one.
    pub(super) before: f64,
}

impl Inside {
    /// A subsystem as it stands.
    pub(super) fn new(simulation: &mut Simulation, id: SubsystemId) -> Result<(Self, bool)> {
        let (matrices, is_exact) = simulation.linear_model(id)?;
        let graph = simulation.graph();
        let (inputs, outputs) = (graph.inputs_of(id), graph.outputs_of(id));
        let mut inside = Inside {
            left: [(); 3].map(|()| vec![0.0; outputs.len()]),
            next: vec![0.0; matrices.states()],
            inputs,
            outputs,
            matrices,
            shadow: None,
            filter_states: Self::filter_states(simulation, id)?,
            saved: Snapshot::default(),
            known: 0,
        };
        if is_exact && let Some(x) = inside.state(simulation, id) {
            inside.shadow = Some(x);
        }
        inside.look(simulation, id, simulation.all_outputs());
        let is_exact = inside.shadow.is_some();
        Ok((inside, is_exact))
    }

    /// Its solution over one part of this length, if it is solved.
    pub(super) fn solve(&self, part: f64) -> Result<Option<Discrete>> {
        self.shadow.as_ref().map(|_| self.matrices.discretize(part, 2)).transpose()
    }

    /// Where it stood, if it is solved.
    pub(super) fn take_state(&mut self) -> Option<Vec<f64>> {
        self.shadow.take()
    }

    /// Puts it where it stood before a step at whose begin something was changed.
    pub(super) fn stand(&mut self, simulation: &Simulation, id: SubsystemId, x: Option<Vec<f64>>) {
        if let (Some(shadow), Some(x)) = (&mut self.shadow, x)
            && shadow.len() == x.len()
        {
            *shadow = x;
            self.left[0].fill(0.0);
            return;
        }
        self.known = 0;
        self.look(simulation, id, simulation.outputs_after_changes());
    }

    /// One of its states was set.
    pub(super) fn set_state(&mut self, index: usize, value: f64) {
        if let Some(x) = &mut self.shadow {
            x[index] = value;
        }
    }

    /// How many states its filters have.
    fn filter_states(simulation: &Simulation, id: SubsystemId) -> Result<usize> {
        let filtered =
            simulation.graph().ports(id).outputs.iter().filter_map(|v| Some((v, v.filtered.as_ref()?)));
        filtered.map(|(v, filtered)| Ok(filtered.filter.matrices(&v.name)?.states())).sum()
    }

    /// Writes its states, if it is linear and saves them as its own models do: after the time, those of its filters at the
    /// end.
    fn read_state(&mut self, simulation: &Simulation, id: SubsystemId, x: &mut [f64]) -> bool {
        let reals = &mut self.saved.reals;
        let own = x.len() - self.filter_states;
        reals.clear();
        if simulation.snapshot(id, &mut self.saved).is_err() || self.saved.reals.len() < 1 + x.len() {
            return false;
        }
        let reals = &self.saved.reals;
        x[..own].copy_from_slice(&reals[1..1 + own]);
        x[own..].copy_from_slice(&reals[reals.len() - self.filter_states..]);
        true
    }

    /// Its state, if C x + D u is what its outputs are.
    fn state(&mut self, simulation: &Simulation, id: SubsystemId) -> Option<Vec<f64>> {
        let mut x = vec![0.0; self.matrices.states()];
        if !self.read_state(simulation, id, &mut x) {
            return None;
        }
        let mut y = self.matrices.c.mul_vec(&x);
        self.matrices.d.mul_vec_add(&simulation.read_inputs(id), &mut y);
        let seen = &simulation.all_outputs()[self.outputs.clone()];
        let size = seen.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
        seen.iter().zip(&y).all(|(a, b)| (a - b).abs() <= SAME * size).then_some(x)
    }

    /// Moves its shadow over one step, and writes what its outputs were at the ends of the parts.
    pub(super) fn follow(
        &mut self,
        simulation: &Simulation,
        id: SubsystemId,
        of: Followed<'_>,
        out: &mut Matrix,
    ) {
        let Followed { nodes, part, solved, before: ratio } = of;
        let last = nodes.rows() - 1;
        let Inside { shadow, matrices, next, inputs, outputs, .. } = self;
        for j in 0..=last {
            let u = &nodes.row(j)[inputs.clone()];
            if let Some(x) = shadow {
                if let Some(discrete) = solved.filter(|_| j > 0) {
                    let before = &nodes.row(j - 1)[inputs.clone()];
                    advance(discrete, x, before, u, part, next);
                }
                matrices.c.mul_vec_into(x, &mut out.row_mut(j)[outputs.clone()]);
            } else {
                out.row_mut(j)[outputs.clone()].fill(0.0);
            }
            matrices.d.mul_vec_add(u, &mut out.row_mut(j)[outputs.clone()]);
        }
        self.look(simulation, id, simulation.all_outputs());
        let [end, begin, before] = &self.left;
        for j in 0..=last {
            let s = j as f64 / last as f64;
            for (k, y) in out.row_mut(j)[self.outputs.clone()].iter_mut().enumerate() {
                let bend = if self.known > 2 && self.shadow.is_none() {
                    (ratio * (end[k] - begin[k]) + before[k] - begin[k]) / (ratio * (ratio + 1.0))
                } else {
                    0.0
                };
                *y += begin[k] + s * (end[k] - begin[k]) + bend * (s * s - s);
            }
        }
        self.meet(simulation, id);
    }

    /// Puts the shadow where the subsystem is, from which another solver, or an unstable one, would carry it away.
    fn meet(&mut self, simulation: &Simulation, id: SubsystemId) {
        let Some(mut x) = self.shadow.take() else { return };
        let is_met = self.read_state(simulation, id, &mut x);
        self.shadow = Some(x);
        if is_met {
            self.left[0].fill(0.0);
        }
    }

    /// Takes over what was linearised again, with the memory of its outputs.
    pub(super) fn renew(&mut self, new: Inside) {
        // A parabola needs values that differ by the state alone, not by another D.
        let is_same = self.matrices.d == new.matrices.d && self.shadow.is_none() == new.shadow.is_none();
        let (left, known) = (std::mem::take(&mut self.left), self.known);
        *self = new;
        if is_same && self.shadow.is_none() {
            (self.left, self.known) = (left, known);
        }
    }

    /// Notes its outputs.
    fn look(&mut self, simulation: &Simulation, id: SubsystemId, outputs: &[f64]) {
        self.left.rotate_right(1);
        let (given, time) = (simulation.read_with(), simulation.time());
        let Inside { left: [end, ..], matrices, shadow, inputs, outputs: own, .. } = self;
        for (k, (left, y)) in end.iter_mut().zip(&outputs[own.clone()]).enumerate() {
            let through = matrices.d.row(k).iter().zip(inputs.clone());
            let through =
                through.map(
                    |(d, i)| if *d == 0.0 { 0.0 } else { d * (given[i] + simulation.external(id, i, time)) },
                );
            let own = shadow.as_ref().map_or(0.0, |x| dot(matrices.c.row(k), x));
            *left = y - through.sum::<f64>() - own;
        }
        self.known += 1;
    }
}

/// x over one part of a step with inputs that go straight from `from` to `to`.
pub(super) fn advance(
    discrete: &Discrete,
    x: &mut [f64],
    from: &[f64],
    to: &[f64],
    size: f64,
    next: &mut [f64],
) {
    discrete.transition.mul_vec_into(x, next);
    for (i, x) in next.iter_mut().enumerate() {
        let (constant, slope) = (discrete.inputs[0].row(i), discrete.inputs[1].row(i));
        *x += from
            .iter()
            .zip(to)
            .zip(constant.iter().zip(slope))
            .map(|((u, v), (a, b))| a * u + b * (v - u) / size)
            .sum::<f64>();
    }
    x.copy_from_slice(next);
}
