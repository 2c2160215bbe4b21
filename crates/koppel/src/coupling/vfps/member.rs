//! One subsystem as VFPS sees it: its past, its experts, and what is wired to it.

mod measured;

use super::defect::{Defect, Handicap};
use super::deviation::{Deviation, LASTING, NEWEST};
use super::estimate::Error;
use super::pool::Pool;
use crate::coupling::View;
use crate::identify::{NodeFit, Probed, Size};
use crate::system::{InputId, OutputId, SubsystemId};
use crate::tape::Tape;
use std::ops::Range;

/// Predictions that go this many times as far as outputs have ever been, or their ranges, are refused.
const RUNAWAY: f64 = 100.0;
/// The same where the expert in use has just missed much of what moved, and for corrections: after an event models go astray.
const REACH: f64 = 3.0;

/// A connection into one of its inputs that the method fills.
pub(super) struct Wire {
    /// Place among the inputs of the models.
    pub(super) input: usize,
    pub(super) source: OutputId,
    /// In scaled units.
    pub(super) gain: f64,
}

/// One subsystem.
pub(super) struct Member {
    size: Size,
    /// Nodes per step.
    nodes: usize,
    pub(super) outputs: Range<OutputId>,
    /// Inputs of its models.
    pub(super) inputs: Vec<InputId>,
    /// Which of them the method fills.
    is_owned: Vec<bool>,
    /// The graph's external signals on each of them.
    signals: Vec<Range<usize>>,
    pub(super) wires: Vec<Wire>,
    output_ranges: Vec<f64>,
    input_ranges: Vec<f64>,
    /// Values at the consistent start.
    output_start: Vec<f64>,
    /// The same of inputs, without external signals, and the external signals.
    input_start: Vec<f64>,
    signal_start: Vec<f64>,
    /// Scaled, a row per node: `past` rows up to T^k, then those of one step, measured or predicted.
    y: Vec<f64>,
    u: Vec<f64>,
    /// What the inputs are given at the predicted nodes, without external signals.
    coupled: Vec<f64>,
    /// Whether anything is connected to each output: only those count in scores.
    is_wired: Vec<bool>,
    /// How far each output has been from its start, or was from zero there, scaled, and 1 at least: ranges may have been told
    /// or guessed too small.
    extents: Vec<f64>,
    /// What a squared error of each output counts.
    weights: Vec<f64>,
    pub(super) pool: Pool,
    pub(super) defect: Defect,
    pub(super) error: Error,
    pub(super) deviations: [Deviation; 2],
    /// What owned inputs were given at the nodes of the step that has ended, scaled, without external signals.
    given: Vec<f64>,
    /// Whether nothing was learned of it before the run.
    is_unknown: bool,
    pub(super) has_moved: bool,
}

impl Member {
    pub(super) fn new(
        view: &View<'_>,
        id: SubsystemId,
        probed: &Probed,
        owned: &[InputId],
        nodes: usize,
    ) -> Self {
        let graph = view.graph;
        let (outputs, first) = (graph.outputs_of(id), graph.inputs_of(id).start);
        let inputs: Vec<InputId> = probed.inputs.iter().map(|input| first + input).collect();
        let fit = match &probed.fit {
            Some(fit) => fit.clone(),
            None => NodeFit::ignorant(outputs.len(), inputs.len()),
        };
        let size = fit.velocity.size;
        let signals = |input: &InputId| {
            let before = |input: InputId| graph.externals().partition_point(|(other, _)| *other < input);
            before(*input)..before(*input + 1)
        };
        let extent = |(output, range): (OutputId, &f64)| (view.outputs[output] / range).abs().max(1.0);
        let mut member = Member {
            pool: Pool::new(&fit, nodes),
            defect: Defect::new(size, nodes),
            error: Error::new(size),
            deviations: [Deviation::new(size, nodes), Deviation::new(size, nodes)],
            given: vec![0.0; nodes * size.inputs],
            size,
            nodes,
            is_owned: inputs.iter().map(|input| owned.binary_search(input).is_ok()).collect(),
            signals: inputs.iter().map(signals).collect(),
            wires: Vec::new(),
            is_wired: are_wired(view, outputs.clone()),
            extents: outputs.clone().zip(&probed.output_ranges).map(extent).collect(),
            weights: vec![0.0; outputs.len()],
            output_ranges: probed.output_ranges.clone(),
            input_ranges: probed.input_ranges.clone(),
            output_start: view.outputs[outputs.clone()].to_vec(),
            input_start: inputs.iter().map(|input| at_start(view, *input)).collect(),
            signal_start: vec![0.0; inputs.len()],
            y: vec![0.0; (size.past + nodes) * size.outputs],
            u: vec![0.0; (size.past + nodes) * size.inputs],
            coupled: vec![0.0; nodes * size.inputs],
            outputs,
            inputs,
            is_unknown: probed.fit.is_none(),
            has_moved: false,
        };
        member.signal_start =
            (0..member.inputs.len()).map(|k| member.signal(view, k, view.step.start)).collect();
        member.y[..probed.past.len()].copy_from_slice(&probed.past);
        member
    }

    /// Notes the connections into inputs that the method fills; `ranges` are those of all outputs.
    pub(super) fn connect(&mut self, view: &View<'_>, ranges: &[f64]) {
        for (k, input) in self.inputs.iter().enumerate().filter(|(k, _)| self.is_owned[*k]) {
            for wire in &view.graph.wires()[view.graph.wires_into(*input)] {
                let gain = wire.gain * ranges[wire.source] / self.input_ranges[k];
                self.wires.push(Wire { input: k, source: wire.source, gain });
            }
        }
    }

    /// Places of the inputs the method fills.
    pub(super) fn owned(&self) -> impl Iterator<Item = usize> {
        (0..self.inputs.len()).filter(|k| self.is_owned[*k])
    }

    /// External signals on one of its inputs.
    fn signal(&self, view: &View<'_>, k: usize, time: f64) -> f64 {
        view.graph.externals()[self.signals[k].clone()].iter().map(|(_, signal)| signal.value(time)).sum()
    }

    /// An input's row entry for a coupled value and a time.
    fn scaled_input(&self, view: &View<'_>, k: usize, value: f64, time: f64) -> f64 {
        let outside =
            if self.signals[k].is_empty() { 0.0 } else { self.signal(view, k, time) - self.signal_start[k] };
        (value - self.input_start[k] + outside) / self.input_ranges[k]
    }

    /// Scores, adapts and selects its experts by the step that has ended.
    pub(super) fn learn(&mut self) {
        for ((weight, is_wired), extent) in self.weights.iter_mut().zip(&self.is_wired).zip(&self.extents) {
            *weight = f64::from(u8::from(*is_wired)) / (extent * extent);
        }
        self.pool.score(&self.y, &self.u, &self.weights, self.nodes);
        self.pool.adapt(&self.y, &self.u, self.nodes);
        self.pool.select();
    }

    /// Writes what is known of the inputs of a node: external signals, and inputs that others fill.
    pub(super) fn set_known(&mut self, view: &View<'_>, node: usize, time: f64) {
        let (m, row) = (self.size.inputs, self.size.past - 1 + node);
        for k in 0..m {
            let value = if self.is_owned[k] {
                self.input_start[k] + self.defect.known(k, node) * self.input_ranges[k]
            } else {
                view.applied[self.inputs[k]]
            };
            self.u[row * m + k] = self.scaled_input(view, k, value, time);
        }
    }

    /// r_j of (2).
    pub(super) fn right(&self, node: usize, out: &mut [f64]) {
        self.pool.expert().node(&self.y, &self.u, node - 1, out);
    }

    /// Takes the outputs of a node, of all subsystems, and completes its own inputs.
    pub(super) fn set_node(&mut self, node: usize, all: &[f64]) {
        let (n, m, row) = (self.size.outputs, self.size.inputs, self.size.past - 1 + node);
        self.y[row * n..][..n].copy_from_slice(&all[self.outputs.clone()]);
        let coupled = &mut self.coupled[(node - 1) * m..][..m];
        for (k, value) in coupled.iter_mut().enumerate() {
            *value = self.input_start[k] + self.defect.known(k, node) * self.input_ranges[k];
        }
        self.defect.predicted_mut(node).fill(0.0);
        let is_coupled = self.defect.is_coupled();
        for wire in &self.wires {
            let moved = wire.gain * all[wire.source];
            self.defect.predicted_mut(node)[wire.input] += moved;
            if is_coupled {
                self.u[row * m + wire.input] += moved;
                coupled[wire.input] += moved * self.input_ranges[wire.input];
            }
        }
    }

    /// Whether nothing is known of it yet.
    pub(super) fn is_learning(&self) -> bool {
        self.is_unknown && !self.wires.is_empty() && self.pool.is_unlearned()
    }

    /// What its inputs should have been given, and what they lacked; `all` has a row of all outputs per node.
    pub(super) fn compare(&mut self, all: &[f64], width: usize) {
        self.gather(all, width);
        let y = &self.y[self.size.past * self.size.outputs..];
        let e = self.deviations[LASTING].inputs_mut();
        self.error.take_in(&self.defect.arrived, &self.given, y, e);
    }

    /// What its inputs should have been given at the nodes of the step.
    fn gather(&mut self, all: &[f64], width: usize) {
        let m = self.size.inputs;
        self.defect.arrived.fill(0.0);
        for wire in &self.wires {
            for node in 0..self.nodes {
                self.defect.arrived[node * m + wire.input] += wire.gain * all[node * width + wire.source];
            }
        }
        for k in (0..m).filter(|k| !self.is_owned[*k]) {
            (0..self.nodes).for_each(|node| self.given[node * m + k] = 0.0);
        }
    }

    /// Sets the deviations of the newest step to what its inputs lacked.
    pub(super) fn begin_correction(&mut self) {
        let deviation = &mut self.deviations[NEWEST];
        deviation.forget();
        let pairs = self.defect.arrived.iter().zip(&self.given);
        deviation.inputs_mut().iter_mut().zip(pairs).for_each(|(e, (v, u))| *e = v - u);
    }

    /// The same of the step that was just tried; the mean of what the input that lacks most lacked, relative to its range.
    pub(super) fn largest_defect(&mut self, all: &[f64], width: usize, least: f64) -> f64 {
        self.gather(all, width);
        self.begin_correction();
        self.error.size_of_inputs(self.deviations[NEWEST].inputs_mut(), least)
    }

    /// True if ε of the newest step leaves everything seen so far.
    pub(super) fn is_correction_astray(&self) -> bool {
        let near = |(y, extent): (&f64, &f64)| y.abs() <= REACH * extent;
        !self.deviations[NEWEST].outputs().iter().zip(self.extents.iter().cycle()).all(near)
    }

    /// What is added to one of its inputs at a node when the step is repeated, relative to its range.
    pub(super) fn correction(&self, k: usize, node: usize) -> f64 {
        let Deviation { size, u, .. } = &self.deviations[NEWEST];
        u[(size.past - 1 + node) * size.inputs + k]
    }

    /// The range of one of its inputs.
    pub(super) fn input_range(&self, k: usize) -> f64 {
        self.input_ranges[k]
    }

    /// What had arrived at one of its inputs at the start of the step.
    pub(super) fn arrived_last(&self, k: usize) -> f64 {
        self.input_start[k] + self.defect.begin[k] * self.input_ranges[k]
    }

    /// Decides how its inputs are planned for the step ahead.
    pub(super) fn choose_plan(&mut self, handicap: Handicap) {
        for (weight, extent) in self.weights.iter_mut().zip(&self.extents) {
            *weight = 1.0 / (extent * extent);
        }
        self.defect.learn(&self.given, self.pool.model(), &self.weights, handicap);
    }

    /// Takes what arrives at its inputs now, and how much more it would be a step later.
    pub(super) fn aim(&mut self, now: &[f64], rise: &[f64]) {
        let Defect { begin, rise: slope, .. } = &mut self.defect;
        begin.fill(0.0);
        slope.fill(0.0);
        for wire in &self.wires {
            begin[wire.input] += wire.gain * now[wire.source];
            slope[wire.input] += wire.gain * rise[wire.source];
        }
    }

    /// True if a predicted node is no number, or many times as far from the present as outputs have been from the start.
    pub(super) fn has_run_away(&self, node: usize) -> bool {
        let limit = if self.pool.is_doubted { REACH } else { RUNAWAY };
        let (n, past) = (self.size.outputs, self.size.past);
        let (now, ahead) = (&self.y[(past - 1) * n..past * n], &self.y[(past - 1 + node) * n..][..n]);
        let is_far = |((now, ahead), extent): ((&f64, &f64), &f64)| {
            !ahead.is_finite() || (ahead - now).abs() > limit * extent
        };
        now.iter().zip(ahead).zip(&self.extents).any(is_far)
    }

    /// What one of its inputs is given at a node of the prediction, without external signals.
    pub(super) fn planned(&self, k: usize, node: usize) -> f64 {
        self.coupled[(node - 1) * self.size.inputs + k]
    }

    /// Ranges of its outputs.
    pub(super) fn output_ranges(&self) -> &[f64] {
        &self.output_ranges
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        for list in [&mut self.y, &mut self.u, &mut self.given, &mut self.extents] {
            tape.values(list);
        }
        tape.flag(&mut self.has_moved);
        self.defect.state(tape);
        self.error.state(tape);
        let Deviation { y, u, .. } = &mut self.deviations[LASTING];
        tape.values(y);
        tape.values(u);
        self.pool.state(tape);
    }
}

/// What an input should be at the start. What has arrived may be another value where a subsystem does not tell which inputs
/// act on its outputs directly.
fn at_start(view: &View<'_>, input: InputId) -> f64 {
    let wires = &view.graph.wires()[view.graph.wires_into(input)];
    if wires.is_empty() || view.graph.map(input).is_some() {
        return view.applied[input];
    }
    view.graph.offset(input) + wires.iter().map(|wire| wire.gain * view.outputs[wire.source]).sum::<f64>()
}

/// Whether something is connected to each output; yes for all if there is nothing.
fn are_wired(view: &View<'_>, outputs: Range<OutputId>) -> Vec<bool> {
    let is_wired = |output: OutputId| view.graph.wires().iter().any(|wire| wire.source == output);
    let any = outputs.clone().any(is_wired);
    outputs.map(|output| !any || is_wired(output)).collect()
}
