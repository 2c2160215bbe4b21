//! Errors of outputs and defects of connections, summed up over a run.

use super::{Band, Gap, SignalError, Spread};
use crate::linalg::Matrix;
use crate::run::Run;
use crate::signal::Bounds;

/// A range below this share of the largest value counts as this.
const NO_RANGE: f64 = 1e-3;

/// Errors below this share of the largest range of any output are round-off.
const ROUND_OFF: f64 = 1e-14;

/// An error of so many times the range, and nearly the signal itself, is that of a run that has exploded: nothing is left of
/// what the signal should have been. In the first fifth of a run signals may still be at rest.
const EXPLODED: f64 = 100.0;

/// What is known of one signal.
#[derive(Clone, Copy, Debug)]
struct Sums {
    bounds: Bounds,
    sum: f64,
    largest: f64,
    time: f64,
}

impl Sums {
    const NEW: Sums = Sums { bounds: Bounds::NONE, sum: 0.0, largest: 0.0, time: 0.0 };

    fn range(&self) -> f64 {
        self.bounds.range().max(NO_RANGE * self.bounds.largest())
    }

    /// A figure relative to the range; nothing is nothing of any range.
    fn share(&self, figure: f64) -> f64 {
        if figure == 0.0 { 0.0 } else { figure / self.range() }
    }
}

/// Sums over all signals of a run.
#[derive(Clone)]
pub(super) struct Signals {
    outputs: Vec<Sums>,
    inputs: Vec<Sums>,
    /// Time over which errors, and over which defects were seen, in s.
    watched: f64,
    time: f64,
}

impl Signals {
    pub(super) fn new(run: &Run) -> Self {
        let mut outputs = vec![Sums::NEW; run.graph().outputs()];
        outputs.iter_mut().zip(run.network().outputs()).for_each(|(sums, y)| sums.bounds.add(*y));
        let mut inputs = vec![Sums::NEW; run.graph().inputs()];
        inputs.iter_mut().zip(run.network().arrivals()).for_each(|(sums, u)| sums.bounds.add(*u));
        Signals { outputs, inputs, watched: 0.0, time: 0.0 }
    }

    /// Notes the errors of the outputs at the end of a step, which count as much as it is long.
    pub(super) fn note(&mut self, run: &Run, size: f64, errors: impl Iterator<Item = f64>) {
        let is_begin = 5 * run.index() < run.steps();
        self.note_errors((run.time(), is_begin, size), run.network().outputs(), errors);
    }

    /// The same of a step that ended at a time, in the first fifth of the run or not, and its size.
    pub(super) fn note_errors(
        &mut self,
        (time, is_begin, size): (f64, bool, f64),
        outputs: &[f64],
        errors: impl Iterator<Item = f64>,
    ) {
        self.watched += size;
        for ((sums, y), error) in self.outputs.iter_mut().zip(outputs).zip(errors) {
            let is_small = error.abs() <= EXPLODED * sums.range() || error.abs() < 0.5 * y.abs();
            if is_begin || is_small {
                sums.bounds.add(y - error);
            }
            let error = error.abs();
            sums.sum += size * error;
            // What is not a number is the largest there is.
            if error.is_nan() || error > sums.largest {
                (sums.largest, sums.time) = (error, time);
            }
        }
    }

    /// Notes the defects of connections at the ends of the parts of a step.
    pub(super) fn note_defects(&mut self, run: &Run, size: f64, defects: &Matrix) {
        let last = defects.rows() - 1;
        self.time += size;
        for (input, (sums, arrival)) in self.inputs.iter_mut().zip(run.network().arrivals()).enumerate() {
            sums.bounds.add(*arrival);
            let square = |j: usize| defects[(j, input)] * defects[(j, input)];
            let inner: f64 = (1..last).map(square).sum();
            sums.sum += size / last as f64 * (0.5 * (square(0) + square(last)) + inner);
        }
    }

    /// The same where they are known at the end of the step alone: taken as growing from nothing.
    pub(super) fn note_ends(&mut self, run: &Run, size: f64) {
        self.time += size;
        let ends = run.network().arrivals().iter().zip(run.network().applied());
        for (sums, (arrival, applied)) in self.inputs.iter_mut().zip(ends) {
            sums.bounds.add(*arrival);
            sums.sum += size / 3.0 * (applied - arrival) * (applied - arrival);
        }
    }

    fn relative(&self, output: usize) -> f64 {
        let sums = &self.outputs[output];
        let error = sums.sum / self.watched.max(f64::MIN_POSITIVE);
        // What is nothing but round-off beside the others has no range of its own.
        let least = ROUND_OFF * self.outputs.iter().fold(0.0, |most: f64, sums| most.max(sums.range()));
        if error <= least { 0.0 } else { sums.share(error) }
    }

    /// The error of each output, the largest first.
    pub(super) fn errors(&self, run: &Run, band: Spread) -> Vec<SignalError> {
        let graph = run.graph();
        let one = |output: usize| SignalError {
            signal: graph.output_name(output),
            unit: graph.output_variable(output).unit.clone(),
            relative: spread(self.relative(output), band),
            largest: self.outputs[output].largest,
            time: self.outputs[output].time,
        };
        let counted = (0..graph.outputs()).filter(|output| graph.is_signal(*output));
        let mut all: Vec<SignalError> = counted.map(one).collect();
        crate::sort::sort_by(&mut all, |a, b| b.relative.error.total_cmp(&a.relative.error));
        all
    }

    /// Per subsystem the mean over its outputs, then the Euclidean norm.
    pub(super) fn overall(&self, run: &Run, band: Spread) -> Band {
        let graph = run.graph();
        let of = |id: usize| {
            let outputs = graph.outputs_of(id).filter(|output| graph.is_signal(*output));
            let count = outputs.clone().count().max(1) as f64;
            outputs.map(|output| self.relative(output)).sum::<f64>() / count
        };
        let sum: f64 = (0..graph.len()).map(|id| of(id) * of(id)).sum();
        spread(sum.sqrt(), band)
    }

    /// Defects of the connections, the largest first.
    pub(super) fn gaps(&self, run: &Run) -> Vec<Gap> {
        let graph = run.graph();
        let one = |input: usize| {
            let sums = &self.inputs[input];
            let mean = (sums.sum / self.time.max(f64::MIN_POSITIVE)).sqrt();
            Gap { connection: graph.connection_name(input), energy: sums.sum, relative: sums.share(mean) }
        };
        let mut all: Vec<Gap> = (0..graph.inputs()).filter(|i| !graph.is_free(*i)).map(one).collect();
        crate::sort::sort_by(&mut all, |a, b| b.relative.total_cmp(&a.relative));
        all
    }
}

fn spread(error: f64, band: Spread) -> Band {
    let Spread { low, high, open_above } = band;
    if error <= open_above {
        Band { low: low * error, error, high: high * error }
    } else {
        Band { low: low * open_above, error, high: f64::INFINITY }
    }
}
