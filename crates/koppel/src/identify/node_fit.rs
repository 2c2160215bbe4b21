//! Fits node models to experiments: ridge least squares, the order and the ridge chosen on data kept back.
//!
//!   θ = (D⁻¹ G D⁻¹ + r I)⁻¹ ...,     G = ΦᵀΦ,  D² = diag G
//!
//! Columns are scaled to unit length. For every order p = 1..5 and ridge r in {1e-10, 1e-8, 1e-6, 1e-4} the error of
//! predictions over one whole step is taken on the experiments kept back; the smallest order within 15 % of the best wins.
//!
//! An output that never moved has columns of zeros: it gets zeros, and affects nothing.

use super::node_model::{NodeModel, Size};
use crate::linalg::{cholesky_factor, cholesky_solve};
use serde::{Deserialize, Serialize};

const RIDGES: [f64; 4] = [1e-10, 1e-8, 1e-6, 1e-4];
const LARGEST_ORDER: usize = 5;
/// An order is as good as a higher one up to this factor of its error.
const AS_GOOD: f64 = 1.15;
/// Errors below this, relative to the ranges of the outputs, are all the same.
const NEGLIGIBLE: f64 = 1e-7;
/// Columns shorter than this, relative to the ranges of the signals, are round-off.
const ROUND_OFF: f64 = 1e-11;

/// Nodes of one experiment, scaled: a row per node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Experiment {
    pub(crate) outputs: Vec<f64>,
    pub(crate) inputs: Vec<f64>,
}

/// What was learned of one subsystem by exciting it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFit {
    /// How far the past of the velocity form reaches.
    pub(crate) order: usize,
    /// Coefficients of the velocity form, output by output.
    pub(crate) theta: Vec<f64>,
    /// ΦᵀΦ/N of its regressors.
    pub(crate) gram: Vec<f64>,
    /// The same as a model of nodes.
    pub(crate) velocity: NodeModel,
    /// The position form.
    pub(crate) position: NodeModel,
    /// Root mean square of the velocity form's error over one step ahead, relative to the ranges, on data kept back.
    pub error: f64,
}

impl NodeFit {
    /// Of a subsystem of which nothing is known: its outputs stay, until something else is seen.
    pub(crate) fn ignorant(outputs: usize, inputs: usize) -> Self {
        let order = 2;
        let width = if outputs == 0 { 0 } else { order * outputs + (order + 1) * inputs };
        let constant = NodeModel::constant(Size { outputs, inputs, past: order + 1 });
        NodeFit {
            order,
            theta: vec![0.0; outputs * width],
            gram: (0..width * width).map(|i| f64::from(u8::from(i / width == i % width))).collect(),
            velocity: constant.clone(),
            position: constant,
            error: f64::INFINITY,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Velocity,
    Position,
}

/// The regression of one form and the largest order.
struct Regression {
    form: Form,
    outputs: usize,
    inputs: usize,
    largest: usize,
    rows: usize,
    gram: Vec<f64>,
    /// Regressors times targets, output by output.
    right: Vec<f64>,
}

impl Regression {
    fn width(&self, order: usize) -> usize {
        order * self.outputs + (order + 1) * self.inputs + usize::from(self.form == Form::Position)
    }

    fn new(form: Form, outputs: usize, inputs: usize, largest: usize, data: &[&Experiment]) -> Self {
        let mut new =
            Regression { form, outputs, inputs, largest, rows: 0, gram: Vec::new(), right: Vec::new() };
        let width = new.width(largest);
        new.gram = vec![0.0; width * width];
        new.right = vec![0.0; outputs * width];
        let (mut row, mut target) = (vec![0.0; width], vec![0.0; outputs]);
        for experiment in data {
            let nodes = experiment.outputs.len() / outputs;
            for j in largest + 1..nodes {
                new.row(experiment, j, &mut row, &mut target);
                new.rows += 1;
                for (i, a) in row.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                    new.gram[i * width..][..=i].iter_mut().zip(&row).for_each(|(g, b)| *g += a * b);
                }
                for (sum, t) in new.right.chunks_exact_mut(width).zip(&target) {
                    sum.iter_mut().zip(&row).for_each(|(s, a)| *s += a * t);
                }
            }
        }
        for i in 0..width {
            for j in 0..i {
                new.gram[j * width + i] = new.gram[i * width + j];
            }
        }
        new
    }

    /// Regressors and target of one node.
    fn row(&self, of: &Experiment, j: usize, row: &mut [f64], target: &mut [f64]) {
        let (n, m, p) = (self.outputs, self.inputs, self.largest);
        let (y, u) = (&of.outputs, &of.inputs);
        let back = usize::from(self.form == Form::Velocity);
        let value = |signal: &[f64], width: usize, at: usize, k: usize| {
            let now = signal[at * width + k];
            if back == 1 { now - signal[(at - 1) * width + k] } else { now }
        };
        for i in 0..p {
            (0..n).for_each(|k| row[i * n + k] = value(y, n, j - p + i, k));
        }
        for i in 0..=p {
            (0..m).for_each(|k| row[p * n + i * m + k] = value(u, m, j - p + i, k));
        }
        if self.form == Form::Position {
            row[p * n + (p + 1) * m] = 1.0;
        }
        (0..n).for_each(|k| target[k] = value(y, n, j, k));
    }

    /// Which regressors of the largest order a smaller one has.
    fn chosen(&self, order: usize) -> Vec<usize> {
        let (n, m, p) = (self.outputs, self.inputs, self.largest);
        let of_y = (p - order) * n..p * n;
        let of_u = p * n + (p - order) * m..p * n + (p + 1) * m + usize::from(self.form == Form::Position);
        of_y.chain(of_u).collect()
    }

    /// Coefficients, output by output; nothing if the numbers do not allow it.
    fn solve(&self, order: usize, ridge: f64) -> Option<Vec<f64>> {
        let chosen = self.chosen(order);
        let (width, all) = (chosen.len(), self.width(self.largest));
        let floor = ROUND_OFF * (self.rows as f64).sqrt();
        let length = |i: usize| {
            let length = self.gram[i * all + i].sqrt();
            if length > floor { length } else { f64::INFINITY }
        };
        let lengths: Vec<f64> = chosen.iter().map(|i| length(*i)).collect();
        let mut matrix = vec![0.0; width * width];
        for (i, a) in chosen.iter().enumerate() {
            for (j, b) in chosen.iter().enumerate() {
                matrix[i * width + j] = self.gram[a * all + b] / (lengths[i] * lengths[j]);
            }
            matrix[i * width + i] += ridge;
        }
        if !cholesky_factor(&mut matrix, width) {
            return None;
        }
        let mut theta = Vec::with_capacity(self.outputs * width);
        for right in self.right.chunks_exact(all) {
            let mut b: Vec<f64> = chosen.iter().zip(&lengths).map(|(i, length)| right[*i] / length).collect();
            cholesky_solve(&matrix, width, &mut b);
            theta.extend(b.iter().zip(&lengths).map(|(b, length)| b / length));
        }
        theta.iter().all(|c| c.is_finite()).then_some(theta)
    }

    fn model(&self, order: usize, theta: &[f64], past: usize) -> NodeModel {
        let mut model = NodeModel::constant(Size { outputs: self.outputs, inputs: self.inputs, past });
        match self.form {
            Form::Velocity => model.set_velocity(order, theta),
            Form::Position => model.set_position(order, theta),
        }
        model
    }

    /// The best order with its coefficients and its error.
    fn best(&self, kept_back: &[&Experiment], nodes: usize) -> Option<(usize, Vec<f64>, f64)> {
        let mut candidates = Vec::new();
        for order in 1..=self.largest {
            let by_ridge = RIDGES.iter().filter_map(|ridge| {
                let theta = self.solve(order, *ridge)?;
                let error = error_ahead(&self.model(order, &theta, self.largest + 1), kept_back, nodes);
                error.is_finite().then_some((order, theta, error))
            });
            candidates.extend(by_ridge.min_by(|a, b| a.2.total_cmp(&b.2)));
        }
        let best = candidates.iter().map(|(_, _, error)| *error).fold(f64::INFINITY, f64::min);
        candidates.into_iter().find(|(_, _, error)| *error <= (AS_GOOD * best).max(NEGLIGIBLE))
    }
}

/// Root mean square error of all nodes of a step, predicted at its start, over all steps of the experiments.
fn error_ahead(model: &NodeModel, data: &[&Experiment], nodes: usize) -> f64 {
    let Size { outputs: n, inputs: m, past } = model.size;
    let (mut sum, mut count) = (0.0, 0);
    let mut y = vec![0.0; (past + nodes) * n];
    for experiment in data {
        let rows = experiment.outputs.len() / n;
        let mut begin = 0;
        while begin + past + nodes <= rows {
            let seen = &experiment.outputs[begin * n..][..(past + nodes) * n];
            y.copy_from_slice(seen);
            model.roll(&mut y, &experiment.inputs[begin * m..][..(past + nodes) * m], nodes);
            sum += y.iter().zip(seen).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            count += nodes * n;
            begin += nodes;
        }
    }
    (sum / f64::from(count.max(1) as u32)).sqrt()
}

/// Fits both forms; the last quarter of the experiments is kept back to choose. Nothing if there is not enough to learn
/// from.
pub(crate) fn fit(outputs: usize, inputs: usize, data: &[Experiment], nodes: usize) -> Option<NodeFit> {
    let kept = data.len().div_ceil(4);
    if data.len() < 3 || outputs == 0 || inputs == 0 {
        return None;
    }
    let all: Vec<&Experiment> = data.iter().collect();
    let (train, kept_back) = all.split_at(data.len() - kept);
    let rows: usize = train.iter().map(|e| e.inputs.len() / inputs).sum();
    let per_order = outputs + inputs;
    let largest = (rows / (3 * per_order)).clamp(1, LARGEST_ORDER);
    let velocity = Regression::new(Form::Velocity, outputs, inputs, largest, train);
    let position = Regression::new(Form::Position, outputs, inputs, largest, train);
    let (order, theta, error) = velocity.best(kept_back, nodes)?;
    let (position_order, position_theta, _) = position.best(kept_back, nodes)?;
    let past = (order + 1).max(position_order);
    let chosen = velocity.chosen(order);
    let all = velocity.width(largest);
    let count = f64::from(velocity.rows.max(1) as u32);
    let pairs = chosen.iter().flat_map(|i| chosen.iter().map(move |j| i * all + j));
    let gram = pairs.map(|at| velocity.gram[at] / count).collect();
    Some(NodeFit {
        order,
        gram,
        velocity: velocity.model(order, &theta, past),
        position: position.model(position_order, &position_theta, past),
        theta,
        error,
    })
}
