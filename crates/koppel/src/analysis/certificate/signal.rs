//! Errors of outputs and defects of connections, summed up over a run.
//!
//! The error of an output is the root mean square of y - y_ref at communication points over the range of y_ref:
//!
//!   E = √(Σ_k H_k (y^k - y_ref^k)² / Σ_k H_k) / range(y_ref)                                            (1)
//!
//! The error of a run is that of its worst output. Of an estimate, y_ref is y - e. What an estimate that diverges takes for
//! y_ref has no meaning, so the smaller range of y and y - e counts; the larger one for what the error is at least.

use super::points::{Difference, Points};
use super::verdict::{Band, Shadow};
use super::{Gap, SignalError};
use crate::linalg::Matrix;
use crate::run::Run;
use crate::signal::Bounds;
use crate::system::SystemGraph;

/// A range below this share of the largest value, or of the nominal value, counts as this.
const NO_RANGE: f64 = 1e-3;

/// Errors below this share of the largest value, or of the nominal value, are within the tolerances of solvers.
const SOLVED: f64 = 1e-9;

/// The range of an output with these bounds.
pub(super) fn range(graph: &SystemGraph, output: usize, bounds: &Bounds) -> f64 {
    bounds.range().max(NO_RANGE * size(graph, output, bounds))
}

/// The largest value of an output, or its nominal value.
fn size(graph: &SystemGraph, output: usize, bounds: &Bounds) -> f64 {
    bounds.largest().max(graph.output_variable(output).nominal.map_or(0.0, f64::abs))
}

/// What is known of one output.
#[derive(Clone, Copy, Debug)]
struct Output {
    /// Of y, and of y - e.
    seen: Bounds,
    meant: Bounds,
    squares: f64,
    largest: f64,
    time: f64,
}

/// What is known of one input.
#[derive(Clone, Copy, Debug)]
struct Input {
    arrived: Bounds,
    squares: f64,
}

/// Sums over all signals of a run.
pub(super) struct Signals {
    outputs: Vec<Output>,
    inputs: Vec<Input>,
    /// Time over which errors, and over which defects were noted, in s.
    watched: f64,
    time: f64,
}

impl Signals {
    pub(super) fn new(run: &Run) -> Self {
        let output = |y: &f64| {
            let bounds = Bounds::of([*y]);
            Output { seen: bounds, meant: bounds, squares: 0.0, largest: 0.0, time: run.time() }
        };
        let input = |u: &f64| Input { arrived: Bounds::of([*u]), squares: 0.0 };
        Signals {
            outputs: run.network().outputs().iter().map(output).collect(),
            inputs: run.network().arrivals().iter().map(input).collect(),
            watched: 0.0,
            time: 0.0,
        }
    }

    /// Notes the errors of the outputs at the end of a step of this size.
    pub(super) fn note(&mut self, run: &Run, size: f64, errors: &[f64]) {
        self.watched += size;
        for ((sums, y), error) in self.outputs.iter_mut().zip(run.network().outputs()).zip(errors) {
            sums.seen.add(*y);
            sums.meant.add(y - error);
            sums.squares += size * error * error;
            // What is not a number is the largest there is.
            if error.is_nan() || error.abs() > sums.largest {
                (sums.largest, sums.time) = (error.abs(), run.time());
            }
        }
    }

    /// Notes the defects of connections at the ends of the parts of a step.
    pub(super) fn note_defects(&mut self, run: &Run, size: f64, defects: &Matrix) {
        let last = defects.rows() - 1;
        self.time += size;
        for (input, (sums, arrival)) in self.inputs.iter_mut().zip(run.network().arrivals()).enumerate() {
            sums.arrived.add(*arrival);
            let square = |j: usize| defects[(j, input)] * defects[(j, input)];
            let inner: f64 = (1..last).map(square).sum();
            sums.squares += size / last as f64 * (0.5 * (square(0) + square(last)) + inner);
        }
    }

    /// The same where they are known at the end of the step alone: taken as growing from nothing.
    pub(super) fn note_ends(&mut self, run: &Run, size: f64) {
        self.time += size;
        let ends = run.network().arrivals().iter().zip(run.network().applied());
        for (sums, (arrival, applied)) in self.inputs.iter_mut().zip(ends) {
            sums.arrived.add(*arrival);
            sums.squares += size / 3.0 * (applied - arrival) * (applied - arrival);
        }
    }

    /// The estimated error of each output, the largest first.
    pub(super) fn errors(&self, graph: &SystemGraph) -> Vec<SignalError> {
        let one = |output: usize| {
            let Output { seen, meant, squares, largest, time } = self.outputs[output];
            let rms = (squares / self.watched.max(f64::MIN_POSITIVE)).sqrt();
            let of = |range: f64| share(rms, range, size(graph, output, &seen));
            let (a, b) = (range(graph, output, &seen), range(graph, output, &meant));
            let relative = Band::of_model(of(a.min(b)), of(a.max(b)));
            signal_error(graph, output, relative, (largest, time))
        };
        sorted(graph, one)
    }

    /// Defects of the connections, the largest first.
    pub(super) fn gaps(&self, run: &Run) -> Vec<Gap> {
        let graph = run.graph();
        let one = |input: usize| {
            let Input { arrived, squares } = self.inputs[input];
            let rms = (squares / self.time.max(f64::MIN_POSITIVE)).sqrt();
            let range = arrived.range().max(NO_RANGE * arrived.largest());
            let relative = if rms == 0.0 { 0.0 } else { rms / range };
            Gap { connection: graph.connection_name(input), energy: squares, relative }
        };
        let mut all: Vec<Gap> = (0..graph.inputs()).filter(|i| !graph.is_free(*i)).map(one).collect();
        crate::sort::sort_by(&mut all, |a, b| b.relative.total_cmp(&a.relative));
        all
    }
}

/// A run beside a shadow.
pub(super) struct Compared {
    /// The error of each output, the largest first.
    pub(super) errors: Vec<SignalError>,
    /// An output that changes too fast between communication points to be compared.
    pub(super) unresolved: Option<usize>,
}

/// The error of each output of a run of this order by the differences between it and a shadow, the largest first.
pub(super) fn differences(
    graph: &SystemGraph,
    (coarse, fine): (&Points, &Points),
    shadow: Shadow,
    order: u32,
) -> Compared {
    let range = |output: usize, bounds: &Bounds| range(graph, output, bounds);
    let found = Points::differences(coarse, fine, &range);
    // What turns between its own points cannot be compared at those of another run.
    let unresolved = (0..found.len())
        .filter(|output| graph.is_signal(*output))
        .find(|output| found[*output].is_unresolved());
    let one = |output: usize| {
        let Difference { rms, largest, time, range, .. } = found[output];
        let size = size(graph, output, &coarse.bounds(output));
        let relative = Band::of_shadow(share(rms, range, size), shadow, order);
        signal_error(graph, output, relative, (shadow.scale(order) * largest, time))
    };
    Compared { errors: sorted(graph, one), unresolved }
}

/// An error relative to a range; nothing if it is no more than what solvers leave.
fn share(rms: f64, range: f64, size: f64) -> f64 {
    match rms {
        rms if rms <= SOLVED * size => 0.0,
        // What has no end has no error either.
        rms if rms.is_nan() || !range.is_finite() => f64::INFINITY,
        rms => rms / range,
    }
}

fn signal_error(
    graph: &SystemGraph,
    output: usize,
    relative: Band,
    (largest, time): (f64, f64),
) -> SignalError {
    let unit = graph.output_variable(output).unit.clone();
    SignalError { signal: graph.output_name(output), unit, relative, largest, time }
}

fn sorted(graph: &SystemGraph, one: impl Fn(usize) -> SignalError) -> Vec<SignalError> {
    let counted = (0..graph.outputs()).filter(|output| graph.is_signal(*output));
    let mut all: Vec<SignalError> = counted.map(one).collect();
    crate::sort::sort_by(&mut all, |a, b| b.relative.error.total_cmp(&a.relative.error));
    all
}
