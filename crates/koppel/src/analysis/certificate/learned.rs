//! The error of a run with black boxes, from what was seen of them in it.
//!
//! Every subsystem is taken as linear in its past outputs, without what its inputs feed through at once, and in the means of
//! what its inputs were given over the last steps:
//!
//!   z = y - D w,     z^k = Σ_j A_j z^{k-j} + Σ_j B_j ū^{k+1-j} + c,     j = 1..p                                      (1)
//!
//! found by least squares over the whole run. With δ = ū - L ȳ the mean defect of a step and ε = w - L y that of the reading,
//! the error obeys
//!
//!   e_z^k = Σ_j A_j e_z^{k-j} + Σ_j B_j (δ + L ē)^{k+1-j},     ē = G (mean e_z + D δ),     e = G (e_z + D ε)         (2)
//!
//! | symbol | meaning                                                               | here         |
//! | w      | what outputs were last read with                                      | `read`       |
//! | D      | feed-through, seen at the start                                       | `d`          |
//! | G      | (I - D L)⁻¹                                                           | `g`          |
//! | mean   | over a step, of the parabola through three points: (5, 8, -1) / 12    | `MEAN`       |
//!
//! Models must pass a check before they are believed: from its first values on, each must follow its subsystem through the
//! whole run under the inputs that were given.

use super::regression::{Column, Regression};
use super::signal::Signals;
use crate::analysis::linear_system::not_linear;
use crate::error::Result;
use crate::linalg::{Lu, Matrix};
use crate::run::Run;
use crate::signal::Bounds;
use crate::system::SubsystemId;
use std::ops::Range;

/// Steps back in (1), at most.
const MOST_ORDER: usize = 4;

/// Signals that are followed, at most.
const MOST_SIGNALS: usize = 60;

/// Shorter runs tell models apart too badly: of 80 steps, one in six estimates was off by more than its band.
const FEWEST_STEPS: usize = 200;

/// Numbers that are kept, at most: 32 MB.
const MOST_NUMBERS: usize = 4_000_000;

/// How far a model may be from its subsystem, relative to the range of each output; good enough to look no further.
const MISSES: f64 = 0.02;
const GOOD: f64 = 1e-4;

/// How large what is not known of the mean of a step may be beside its defect.
const UNRESOLVED: f64 = 0.2;

/// Weights of the last three points in the mean over a step.
const MEAN: [f64; 3] = [5.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0];

/// What was seen at one communication point.
struct Row {
    time: f64,
    is_begin: bool,
    outputs: Vec<f64>,
    /// Means of what inputs were given over the step that ended, and what outputs were read with; external signals included.
    means: Vec<f64>,
    read: Vec<f64>,
    /// The same without external signals and offsets: what should have been L y.
    given: Vec<f64>,
    taken: Vec<f64>,
}

/// What was seen of a run.
pub(super) struct Learned {
    rows: Vec<Row>,
    d: Matrix,
    /// L.
    wiring: Matrix,
    /// Inputs and outputs of each subsystem.
    parts: Vec<(Range<usize>, Range<usize>)>,
    names: Vec<String>,
    is_free: Vec<bool>,
    size: f64,
    signals: Signals,
    /// Why there is nothing to learn from.
    problem: Option<String>,
}

/// (1) of one subsystem.
struct Model {
    a: Vec<Matrix>,
    b: Vec<Matrix>,
    /// By how much it misses the subsystem.
    miss: f64,
}

impl Learned {
    /// For a run as it stands, which is left as it was; nothing if it is none of those that can be learned.
    pub(super) fn new(run: &mut Run) -> Result<Option<Self>> {
        let graph = run.graph();
        let (inputs, outputs, count) = (graph.inputs(), graph.outputs(), graph.len());
        if not_linear(graph).is_some() || !run.has_one_rate() || inputs + outputs > MOST_SIGNALS {
            return Ok(None);
        }
        let mut wiring = Matrix::zeros(inputs, outputs);
        graph.wires().iter().for_each(|wire| wiring[(wire.target, wire.source)] += wire.gain);
        let parts: Vec<_> = (0..count).map(|id| (graph.inputs_of(id), graph.outputs_of(id))).collect();
        let names = (0..count).map(|id| graph.name(id).to_owned()).collect();
        let is_free = (0..inputs).map(|input| graph.is_free(input)).collect();
        let mut d = Matrix::zeros(outputs, inputs);
        for (id, (own_inputs, own_outputs)) in parts.iter().enumerate() {
            d.set_block(own_outputs.start, own_inputs.start, &run.workbench().feed_through(id)?.matrix);
        }
        let mut learned = Learned {
            rows: Vec::new(),
            d,
            wiring,
            parts,
            names,
            is_free,
            size: run.step_size(),
            signals: Signals::new(run),
            problem: None,
        };
        learned.note(run, learned.size);
        Ok(Some(learned))
    }

    /// Notes the step that was just made.
    pub(super) fn note(&mut self, run: &Run, size: f64) {
        if self.problem.is_some() {
            return;
        }
        let is_whole = (size - self.size).abs() < 1e-6 * self.size;
        if !is_whole {
            if !run.is_done() {
                self.problem = Some("its steps have several lengths".into());
                self.rows = Vec::new();
            }
            return;
        }
        let width = self.d.rows() + 4 * self.d.cols();
        if self.rows.len() * width > MOST_NUMBERS {
            self.problem = Some("it has too many steps".into());
            self.rows = Vec::new();
            return;
        }
        let (time, graph) = (run.time(), run.graph());
        let external = |input: usize, time: f64| {
            let id = graph.subsystem_of_input(input);
            if graph.externals().is_empty() { 0.0 } else { run.network().external(id, input, time) }
        };
        let signal = |input: usize| {
            // Simpson's rule on two halves; a jump at the end belongs to the next step.
            let at = |part: f64| external(input, time - size * (1.0 - part * (1.0 - 1e-9)));
            (at(0.0) + 4.0 * at(0.25) + 2.0 * at(0.5) + 4.0 * at(0.75) + at(1.0)) / 12.0
        };
        let inputs = 0..self.d.cols();
        let own = |input: usize| run.network().given_on_average(input, size);
        let read = run.network().read_with();
        self.rows.push(Row {
            time,
            is_begin: 5 * run.index() < run.steps(),
            outputs: run.network().outputs().to_vec(),
            means: inputs.clone().map(|input| own(input) + signal(input)).collect(),
            read: inputs.clone().map(|input| read[input] + external(input, time)).collect(),
            given: inputs.clone().map(|input| own(input) - graph.offset(input)).collect(),
            taken: inputs.map(|input| read[input] - graph.offset(input)).collect(),
        });
    }

    /// The errors of all outputs, summed up over the run.
    ///
    /// # Errors
    ///
    /// Why the models are not to be believed.
    pub(super) fn errors(&self) -> Outcome<Signals> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        if self.rows.len() < FEWEST_STEPS {
            return Err("its run is too short to learn from".into());
        }
        let z: Vec<Vec<f64>> = self.rows.iter().map(|row| self.without_feed_through(row)).collect();
        self.check_resolution(&z)?;
        let models = (0..self.parts.len()).map(|id| self.learn(id, &z)).collect::<Outcome<Vec<_>>>()?;
        self.propagate(&z, &models)
    }

    fn without_feed_through(&self, row: &Row) -> Vec<f64> {
        let through = self.d.mul_vec(&row.read);
        row.outputs.iter().zip(through).map(|(y, through)| y - through).collect()
    }

    /// Refuses signals that turn so fast that the mean of a step is not known well enough beside its defect: the next term of
    /// the mean is a 24th of the third difference.
    fn check_resolution(&self, z: &[Vec<f64>]) -> Outcome<()> {
        let mut sums = vec![(0.0, 0.0); self.d.cols()];
        for k in 3..z.len() {
            let third = |j: usize| z[k][j] - 3.0 * z[k - 1][j] + 3.0 * z[k - 2][j] - z[k - 3][j];
            let third: Vec<f64> = (0..self.d.rows()).map(|j| third(j) / 24.0).collect();
            let unknown = self.wiring.mul_vec(&third);
            for ((sum, unknown), defect) in sums.iter_mut().zip(unknown).zip(self.mean_defect(z, k)) {
                *sum = (sum.0 + unknown * unknown, sum.1 + defect * defect);
            }
        }
        let is_coarse = |(unknown, defect): &(f64, f64)| *unknown > UNRESOLVED * UNRESOLVED * defect;
        match sums.iter().any(is_coarse) {
            true => Err("its signals change too fast between communication points".into()),
            false => Ok(()),
        }
    }

    /// The best model of a subsystem.
    fn learn(&self, id: SubsystemId, z: &[Vec<f64>]) -> Outcome<Model> {
        let mut best: Option<Model> = None;
        for order in 1..=MOST_ORDER {
            let Some(model) = self.fit(id, z, order) else { continue };
            let is_better = best.as_ref().is_none_or(|best| model.miss < 0.5 * best.miss);
            if is_better {
                best = Some(model);
            }
            if best.as_ref().is_some_and(|best| best.miss < GOOD) {
                break;
            }
        }
        let name = &self.names[id];
        match best {
            None => Err(format!("the inputs of `{name}` excite it too little")),
            Some(model) if model.miss.is_nan() || model.miss > MISSES => {
                let percent = 100.0 * model.miss;
                Err(format!("a linear model identified for `{name}` has an error of {percent:.2} %"))
            }
            Some(model) => Ok(model),
        }
    }

    /// Least squares for (1) of this order; nothing if the inputs did not move of their own.
    fn fit(&self, id: SubsystemId, z: &[Vec<f64>], order: usize) -> Option<Model> {
        let (inputs, outputs) = &self.parts[id];
        let (m, l) = (inputs.len(), outputs.len());
        let count = z.len().checked_sub(order + 1)?;
        if count < 3 * order * (m + l) {
            return None;
        }
        let column = |of: &dyn Fn(usize) -> f64| Column::new((order + 1..z.len()).map(of).collect());
        // The inputs of the last step come last: what is left of them without all others is what is known of them.
        let mut places: Vec<(usize, usize)> =
            (0..order).flat_map(|lag| (0..l).map(move |j| (lag, j))).collect();
        places.extend((1..order).chain([0]).flat_map(|lag| (0..m).map(move |j| (lag, l + j))));
        let regressor = |&(lag, place): &(usize, usize)| match place.checked_sub(l) {
            None => column(&|k| z[k - 1 - lag][outputs.start + place]),
            Some(input) => column(&|k| self.rows[k - lag].means[inputs.start + input]),
        };
        let regression = Regression::new(places.iter().map(regressor).collect());
        let last = places.len() - m;
        let is_told = |at: usize| regression.uses(at) || self.is_free[inputs.start + at - last];
        if !(last..places.len()).all(is_told) {
            return None;
        }
        let (mut a, mut b) = (vec![Matrix::zeros(l, l); order], vec![Matrix::zeros(l, m); order]);
        for (i, output) in outputs.clone().enumerate() {
            let target = column(&|k| z[k][output]);
            let weights = regression.weights(&target);
            if (last..places.len()).any(|at| regression.is_uncertain(&target, &weights, at)) {
                return None;
            }
            for (at, weight) in weights {
                match places[at] {
                    (lag, place) if place < l => a[lag][(i, place)] = weight,
                    (lag, place) => b[lag][(i, place - l)] = weight,
                }
            }
        }
        let miss = self.miss(id, z, &a, &b);
        Some(Model { a, b, miss })
    }

    /// By how much a model that is left alone misses its subsystem, relative to the range of each output.
    fn miss(&self, id: SubsystemId, z: &[Vec<f64>], a: &[Matrix], b: &[Matrix]) -> f64 {
        let (inputs, outputs) = &self.parts[id];
        let order = a.len();
        let constant = self.constant(id, z, a, b);
        let mut past: Vec<Vec<f64>> = (1..=order).map(|k| z[k][outputs.clone()].to_vec()).collect();
        let mut largest = vec![0.0_f64; outputs.len()];
        for (k, now) in z.iter().enumerate().skip(order + 1) {
            let mut next = constant.clone();
            for j in 0..order {
                a[j].mul_vec_add(&past[past.len() - 1 - j], &mut next);
                b[j].mul_vec_add(&self.rows[k - j].means[inputs.clone()], &mut next);
            }
            for ((most, model), seen) in largest.iter_mut().zip(&next).zip(&now[outputs.clone()]) {
                let error = (model - seen).abs();
                *most = if error.is_finite() { most.max(error) } else { f64::INFINITY };
            }
            past.push(next);
        }
        let range = |output: usize| Bounds::of(z.iter().map(|z| z[output])).range().max(f64::MIN_POSITIVE);
        outputs.clone().zip(largest).map(|(output, most)| most / range(output)).fold(0.0, f64::max)
    }

    /// c of (1): so that it holds on average.
    fn constant(&self, id: SubsystemId, z: &[Vec<f64>], a: &[Matrix], b: &[Matrix]) -> Vec<f64> {
        let (inputs, outputs) = &self.parts[id];
        let (order, mut sum) = (a.len(), vec![0.0; outputs.len()]);
        let mut predicted = vec![0.0; outputs.len()];
        for k in order + 1..z.len() {
            sum.iter_mut().zip(&z[k][outputs.clone()]).for_each(|(sum, z)| *sum += z);
            for j in 0..order {
                a[j].mul_vec_add(&z[k - 1 - j][outputs.clone()], &mut predicted);
                b[j].mul_vec_add(&self.rows[k - j].means[inputs.clone()], &mut predicted);
            }
        }
        let count = (z.len() - order - 1) as f64;
        sum.iter().zip(predicted).map(|(sum, predicted)| (sum - predicted) / count).collect()
    }

    /// (2).
    fn propagate(&self, z: &[Vec<f64>], models: &[Model]) -> Outcome<Signals> {
        let (n, m) = (self.d.rows(), self.d.cols());
        let order = models.iter().map(|model| model.a.len()).max().unwrap_or(1);
        let stacked = |of: &dyn Fn(&Model) -> &[Matrix], lag: usize, cols: usize, by_inputs: bool| {
            let mut whole = Matrix::zeros(n, cols);
            for (model, (inputs, outputs)) in models.iter().zip(&self.parts) {
                let from = if by_inputs { inputs.start } else { outputs.start };
                if let Some(block) = of(model).get(lag) {
                    whole.set_block(outputs.start, from, block);
                }
            }
            whole
        };
        let a: Vec<Matrix> = (0..order).map(|lag| stacked(&|model| &model.a, lag, n, false)).collect();
        let b: Vec<Matrix> = (0..order).map(|lag| stacked(&|model| &model.b, lag, m, true)).collect();
        let unsolved = |_| "its loops have no solution".to_owned();
        let mut loops = Matrix::identity(n);
        loops.add_scaled(-1.0, &(&self.d * &self.wiring));
        let g = crate::linalg::inverse(&loops).map_err(unsolved)?;
        let mut implicit = Matrix::identity(n);
        implicit.add_scaled(-MEAN[0], &(&(&b[0] * &self.wiring) * &g));
        let implicit = Lu::new(&implicit).map_err(unsolved)?;
        let mut signals = self.signals.clone();
        let mut errors = vec![vec![0.0; n]; z.len()];
        // δ + L ē of every step, without what is still to come of ē.
        let mut disturbed = vec![vec![0.0; m]; z.len()];
        for k in 1..z.len() {
            let delta = self.mean_defect(z, k);
            let mut mean = self.d.mul_vec(&delta);
            for (j, weight) in MEAN.iter().enumerate().skip(1) {
                if let Some(before) = k.checked_sub(j) {
                    mean.iter_mut().zip(&errors[before]).for_each(|(mean, e)| *mean += weight * e);
                }
            }
            let known = self.wiring.mul_vec(&g.mul_vec(&mean));
            disturbed[k] = delta.iter().zip(known).map(|(delta, known)| delta + known).collect();
            let mut next = vec![0.0; n];
            for j in 0..order.min(k) {
                a[j].mul_vec_add(&errors[k - 1 - j], &mut next);
                b[j].mul_vec_add(&disturbed[k - j], &mut next);
            }
            implicit.solve_in_place(&mut next);
            let own = self.wiring.mul_vec(&g.mul_vec(&next));
            disturbed[k].iter_mut().zip(own).for_each(|(d, own)| *d += MEAN[0] * own);
            let row = &self.rows[k];
            let mut seen = self.d.mul_vec(&self.defect(&row.taken, &row.outputs));
            seen.iter_mut().zip(&next).for_each(|(seen, e)| *seen += e);
            signals.note_errors(
                (row.time, row.is_begin, self.size),
                &row.outputs,
                g.mul_vec(&seen).into_iter(),
            );
            errors[k] = next;
        }
        Ok(signals)
    }

    /// δ of the step that ended at point k.
    fn mean_defect(&self, z: &[Vec<f64>], k: usize) -> Vec<f64> {
        let row = &self.rows[k];
        let mut mean = self.d.mul_vec(&row.means);
        for (output, mean) in mean.iter_mut().enumerate() {
            *mean += match k {
                1 => 0.5 * (z[1][output] + z[0][output]),
                _ => (0..3).map(|j| MEAN[j] * z[k - j][output]).sum(),
            };
        }
        self.defect(&row.given, &mean)
    }

    /// What connected inputs were given less what was connected to them.
    fn defect(&self, given: &[f64], outputs: &[f64]) -> Vec<f64> {
        let arrived = self.wiring.mul_vec(outputs).into_iter().zip(given).zip(&self.is_free);
        arrived.map(|((arrived, given), is_free)| if *is_free { 0.0 } else { given - arrived }).collect()
    }
}

/// What was found, or why it was not.
type Outcome<T> = std::result::Result<T, String>;
