//! What the outputs were between two communication points.
//!
//! They are known at the ends of a step. A subsystem that is exactly linear and whose state is known is solved from there,
//! under the inputs it was given; what is left between that and its outputs at the end is spread over the step. Of any other, what the
//! coupling has seen of it inside the step is taken, and if that is nothing, y - D u is the parabola through its last three values.

use super::stride::Stride;
use crate::error::Result;
use crate::linalg::{Matrix, dot};
use crate::run::Run;
use crate::signal::Samples;
use crate::system::{Horizon, Snapshot, StateSpace, SubsystemId};
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
    /// Some output follows an input at once.
    feeds_through: bool,
    filter_states: usize,
    saved: Snapshot,
}

/// A step that is followed.
pub(super) struct Followed<'a> {
    /// All inputs at the ends of its parts.
    pub(super) nodes: &'a Matrix,
    /// The solution over one part, if the subsystem is solved.
    pub(super) stride: Option<&'a mut Stride>,
    /// Its length, in s.
    pub(super) size: f64,
    /// Length of the step before, relative to this one.
    pub(super) before: f64,
}

impl Inside {
    /// A subsystem as it stands.
    pub(super) fn new(run: &mut Run, id: SubsystemId) -> Result<(Self, bool)> {
        let (matrices, is_exact) = run.workbench().linear_model(id)?;
        let graph = run.graph();
        let (inputs, outputs) = (graph.inputs_of(id), graph.outputs_of(id));
        let mut inside = Inside {
            left: [(); 3].map(|()| vec![0.0; outputs.len()]),
            feeds_through: matrices.d.max_abs() > 0.0,
            inputs,
            outputs,
            matrices,
            shadow: None,
            filter_states: Self::filter_states(run, id)?,
            saved: Snapshot::new(Horizon::Elsewhere),
            known: 0,
        };
        if is_exact && let Some(x) = inside.state(run, id) {
            inside.shadow = Some(x);
        }
        inside.look(run, id, run.network().outputs());
        let is_exact = inside.shadow.is_some();
        Ok((inside, is_exact))
    }

    /// Its solution over one part of this length, if it is solved.
    pub(super) fn solve(&self, part: f64) -> Result<Option<Stride>> {
        self.shadow.as_ref().map(|_| Stride::new(&self.matrices, part)).transpose()
    }

    /// Where it stood, if it is solved.
    pub(super) fn take_state(&mut self) -> Option<Vec<f64>> {
        self.shadow.take()
    }

    /// Puts it where it stood before a step at whose begin something was changed.
    pub(super) fn stand(&mut self, run: &Run, id: SubsystemId, x: Option<Vec<f64>>) {
        if let (Some(shadow), Some(x)) = (&mut self.shadow, x)
            && shadow.len() == x.len()
        {
            *shadow = x;
            self.left[0].fill(0.0);
            return;
        }
        self.known = 0;
        self.look(run, id, run.changes().outputs_after());
    }

    /// One of its states was set.
    pub(super) fn set_state(&mut self, index: usize, value: f64) {
        if let Some(x) = &mut self.shadow {
            x[index] = value;
        }
    }

    /// How many states its filters have.
    fn filter_states(run: &Run, id: SubsystemId) -> Result<usize> {
        let filtered = run.graph().ports(id).outputs.iter().filter_map(|v| Some((v, v.filtered.as_ref()?)));
        filtered.map(|(v, filtered)| Ok(filtered.filter.matrices(&v.name)?.states())).sum()
    }

    /// Writes its states, if it is linear and saves them as its own models do: after the time, those of its filters at the
    /// end.
    fn read_state(&mut self, run: &mut Run, id: SubsystemId, x: &mut [f64]) -> bool {
        let reals = &mut self.saved.reals;
        let own = x.len() - self.filter_states;
        reals.clear();
        if run.network_mut().subsystem_mut(id).save(&mut self.saved).is_err()
            || self.saved.reals.len() < 1 + x.len()
        {
            return false;
        }
        let reals = &self.saved.reals;
        x[..own].copy_from_slice(&reals[1..1 + own]);
        x[own..].copy_from_slice(&reals[reals.len() - self.filter_states..]);
        true
    }

    /// Its state, if C x + D u is what its outputs are.
    fn state(&mut self, run: &mut Run, id: SubsystemId) -> Option<Vec<f64>> {
        let mut x = vec![0.0; self.matrices.states()];
        if !self.read_state(run, id, &mut x) {
            return None;
        }
        let mut y = self.matrices.c.mul_vec(&x);
        self.matrices.d.mul_vec_add(&run.network().read_inputs(id, run.time()), &mut y);
        let seen = &run.network().outputs()[self.outputs.clone()];
        let size = seen.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
        seen.iter().zip(&y).all(|(a, b)| (a - b).abs() <= SAME * size).then_some(x)
    }

    /// Moves its shadow over one step, and writes what its outputs were at the ends of the parts.
    pub(super) fn follow(&mut self, run: &mut Run, id: SubsystemId, of: Followed<'_>, out: &mut Matrix) {
        let Followed { nodes, stride, size, before: ratio } = of;
        let last = nodes.rows() - 1;
        let Inside { shadow, matrices, inputs, outputs, feeds_through, .. } = self;
        if let (Some(x), Some(stride)) = (shadow, stride) {
            let mut u = &nodes.row(0)[inputs.clone()];
            let begin = &mut out.row_mut(0)[outputs.clone()];
            matrices.c.mul_vec_into(x, begin);
            matrices.d.mul_vec_add(u, begin);
            for j in 1..=last {
                let v = &nodes.row(j)[inputs.clone()];
                stride.walk(x, u, v, &mut out.row_mut(j)[outputs.clone()]);
                u = v;
            }
        } else if let Some(samples) = seen(run, id, size) {
            let begin = samples.times()[0];
            for j in 0..=last {
                let time = begin + size * j as f64 / last as f64;
                let row = &mut out.row_mut(j)[outputs.clone()];
                row.iter_mut().enumerate().for_each(|(k, y)| *y = between(samples, k, time));
            }
            self.look(run, id, run.network().outputs());
            return;
        } else {
            for j in 0..=last {
                let y = &mut out.row_mut(j)[outputs.clone()];
                y.fill(0.0);
                if *feeds_through {
                    matrices.d.mul_vec_add(&nodes.row(j)[inputs.clone()], y);
                }
            }
        }
        self.look(run, id, run.network().outputs());
        let [end, begin, before] = &self.left;
        let is_bent = self.known > 2 && self.shadow.is_none();
        let parts = 1.0 / last as f64;
        for (k, output) in self.outputs.clone().enumerate() {
            let (from, way) = (begin[k], end[k] - begin[k]);
            let bend = if is_bent { (ratio * way + before[k] - from) / (ratio * (ratio + 1.0)) } else { 0.0 };
            if from == 0.0 && way == 0.0 && bend == 0.0 {
                continue;
            }
            for j in 0..=last {
                let s = j as f64 * parts;
                out.row_mut(j)[output] += from + s * way + bend * (s * s - s);
            }
        }
        self.meet(run, id);
    }

    /// Puts the shadow where the subsystem is, from which another solver, or an unstable one, would carry it away.
    fn meet(&mut self, run: &mut Run, id: SubsystemId) {
        let Some(mut x) = self.shadow.take() else { return };
        let is_met = self.read_state(run, id, &mut x);
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
    fn look(&mut self, run: &Run, id: SubsystemId, outputs: &[f64]) {
        self.left.rotate_right(1);
        let (given, time) = (run.network().read_with(), run.time());
        let Inside { left: [end, ..], matrices, shadow, inputs, outputs: own, .. } = self;
        for (k, (left, y)) in end.iter_mut().zip(&outputs[own.clone()]).enumerate() {
            let through = matrices.d.row(k).iter().zip(inputs.clone());
            let through = through.map(|(d, i)| {
                if *d == 0.0 { 0.0 } else { d * (given[i] + run.network().external(id, i, time)) }
            });
            let own = shadow.as_ref().map_or(0.0, |x| dot(matrices.c.row(k), x));
            *left = y - through.sum::<f64>() - own;
        }
        self.known += 1;
    }
}

/// What was seen of a subsystem inside the step of this length that was just made, if it was seen from begin to end.
fn seen(run: &Run, id: SubsystemId, size: f64) -> Option<&Samples> {
    let samples = run.network().samples(id);
    let (first, last) = (samples.times().first()?, samples.times().last()?);
    let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * size;
    let is_whole = is_near(*last, run.time()) && is_near(*first, run.time() - size);
    (is_whole && samples.times().len() > 3).then_some(samples)
}

/// An output at a time between two samples: the mean of the parabolas through these and the one before or behind.
fn between(samples: &Samples, output: usize, time: f64) -> f64 {
    let times = samples.times();
    let y = |k: usize| samples.at(k)[output];
    let k = times.partition_point(|t| *t <= time).clamp(1, times.len() - 1) - 1;
    let slope = |k: usize| (y(k + 1) - y(k)) / (times[k + 1] - times[k]);
    let bend = |k: usize| (slope(k + 1) - slope(k)) / (times[k + 2] - times[k]);
    let bends = [k.checked_sub(1), Some(k)].into_iter().flatten().filter(|k| k + 2 < times.len());
    let (sum, count) = bends.fold((0.0, 0.0), |(sum, count), k| (sum + bend(k), count + 1.0));
    let line = y(k) + slope(k) * (time - times[k]);
    line + sum / f64::max(count, 1.0) * (time - times[k]) * (time - times[k + 1])
}
