//! MOESP: a state-space model from what was seen of inputs and outputs in a sliding window.
//!
//!   Y = Γ X + Ψ U + κ 1ᵀ            block Hankel matrices of r block rows                        (1)
//!   [1 U Y]ᵀ = [R_uu R_uy; 0 R_yy]ᵀ Qᵀ,     R_yyᵀ = V Σ Zᵀ,     Γ = span of the first n columns V_s   (2)
//!
//! Genser 2020, (2.72) to (2.83), with the constant 1 among the inputs. With the projector P = I - V_s V_sᵀ, whose lower right
//! block is P_nn, the equations P (Y - Ψ U - κ 1ᵀ) = 0 of (2.85) are solved for the newest output:
//!
//!   W = P_nn⁻¹ [P_np P_nn],     R_uu X = R_uy Wᵀ,     y^k = -W_p y_past + Xᵀ [1 u]                       (3)
//!
//! | symbol | meaning                                                        | here           |
//! | n, r   | order, block rows                                              | `order`, `rows` |
//! | y_past | outputs of the r - 1 samples before                            | `past_outputs` |
//! | u      | inputs of the r newest samples, the one that ends at T^k included | `past_inputs` |
//!
//! So y^k = A_1 y^{k-1} + ... + B_1 u^k + B_2 u^{k-1} + ... + c. The interface model is J_y = A_1, J_1 = B_1, all other
//! terms, which are known, in its constant: the measured past stands for the state. Differs from the thesis in that: it puts
//! Φ_A, Φ_B, C, D into (2.18) to (2.20), which forgets all states that one sample of the outputs does not show. Signals
//! are scaled by their movement, so that neither order nor model depend on units. R slides without loss (`window`).

mod config;

pub use config::MoespConfig;

use super::InterfaceModel;
use super::triangle::orthogonalize;
use super::window::Window;
use crate::linalg::{Lu, Matrix, dot};
use crate::tape::Tape;

/// A signal that moves by no more than this share of its mean does not move.
const STILL: f64 = 1e-10;

/// Singular values below this share of the largest count as zero.
const NOTHING: f64 = 1e-11;

/// MOESP for one subsystem.
#[derive(Clone, Debug)]
pub(crate) struct Moesp {
    config: MoespConfig,
    inputs: usize,
    outputs: usize,
    rows: usize,
    step: f64,
    window: Window,
    /// Samples of the newest r instants, oldest first.
    past_outputs: Vec<f64>,
    past_inputs: Vec<f64>,
    /// Samples since the last break, at most r.
    seen: usize,
    /// True if the window began with what another run has learned.
    is_loaded: bool,
    has_model: bool,
    /// Columns of (3), oldest first: past outputs, inputs, 1.
    parameters: Matrix,
    order: usize,
    singular: Vec<f64>,
    row: Vec<f64>,
    /// Movement of each signal, outputs after inputs.
    scales: Vec<f64>,
    basis: Matrix,
    weights: Matrix,
    given: Matrix,
    lengths: Vec<f64>,
    newest: Matrix,
    lu: Lu,
    column: Vec<f64>,
}

impl Moesp {
    pub(crate) fn new(config: MoespConfig, inputs: usize, outputs: usize, step: f64) -> Self {
        let rows = config.block_rows(outputs);
        let columns = config.columns(inputs, outputs);
        let (u, y) = (rows * inputs, rows * outputs);
        Moesp {
            config,
            inputs,
            outputs,
            rows,
            step,
            window: Window::new(config.window.max(1), columns),
            past_outputs: vec![0.0; y],
            past_inputs: vec![0.0; u],
            seen: 0,
            is_loaded: false,
            has_model: false,
            parameters: Matrix::zeros(outputs, y - outputs + u + 1),
            order: 0,
            singular: vec![0.0; y],
            row: vec![0.0; columns],
            scales: vec![1.0; inputs + outputs],
            basis: Matrix::zeros(y, y),
            weights: Matrix::zeros(outputs, y),
            given: Matrix::zeros(u, u + outputs),
            lengths: vec![0.0; u],
            newest: Matrix::zeros(outputs, outputs),
            lu: Lu::new(&Matrix::identity(outputs)).unwrap_or_default(),
            column: vec![0.0; outputs],
        }
    }

    /// The step the samples belong to.
    pub(crate) fn step(&self) -> f64 {
        self.step
    }

    /// The settings.
    pub(crate) fn config(&self) -> MoespConfig {
        self.config
    }

    /// Block rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// R of the window.
    pub(crate) fn factor(&self) -> &Matrix {
        self.window.factor()
    }

    /// Starts from the factor of another run; false if that was another subsystem.
    pub(crate) fn load(&mut self, factor: &Matrix) -> bool {
        let fits = factor.rows() == self.row.len() && factor.cols() == self.row.len();
        if fits {
            // Rows of a factor are data with the same sums as those that they stand for.
            (0..factor.rows()).for_each(|row| self.window.push(factor.row(row)));
            self.is_loaded = true;
            self.solve();
        }
        fits
    }

    /// True if there is a model, and a past to start it from.
    pub(crate) fn is_ready(&self) -> bool {
        self.outputs == 0 || (self.has_model && self.seen + 1 >= self.rows)
    }

    /// Learns from outputs at T^k and the inputs at the end of the step that ended there; writes the errors of the
    /// predictions before that, NaN if there was none.
    pub(crate) fn observe(&mut self, y: &[f64], u: &[f64], errors: &mut [f64]) {
        let was_ready = self.is_ready();
        push_back(&mut self.past_inputs, u);
        for (output, error) in errors.iter_mut().enumerate() {
            let past = &self.past_outputs[self.outputs..];
            let p = self.parameters.row(output);
            let (a, rest) = p.split_at(past.len());
            let (b, c) = rest.split_at(self.past_inputs.len());
            let predicted = dot(a, past) + dot(b, &self.past_inputs) + c[0];
            *error = if was_ready { y[output] - predicted } else { f64::NAN };
        }
        push_back(&mut self.past_outputs, y);
        self.seen = (self.seen + 1).min(self.rows);
        if self.seen == self.rows {
            self.row[0] = 1.0;
            let (inputs, outputs) = self.row[1..].split_at_mut(self.past_inputs.len());
            inputs.copy_from_slice(&self.past_inputs);
            outputs.copy_from_slice(&self.past_outputs);
            self.window.push(&self.row);
            self.solve();
        }
    }

    /// Notes a sample after a step of another size: what came before is no past of it.
    pub(crate) fn pass_over(&mut self, y: &[f64], u: &[f64]) {
        push_back(&mut self.past_inputs, u);
        push_back(&mut self.past_outputs, y);
        self.seen = 1;
    }

    /// Equation (3) from here on as an interface model in discrete time.
    pub(crate) fn model(&self, model: &mut InterfaceModel) {
        let (m, l) = (self.inputs, self.outputs);
        for output in 0..l {
            let (a, rest) = self.parameters.row(output).split_at((self.rows - 1) * l);
            let (b, c) = rest.split_at(self.rows * m);
            let (a, newest) = a.split_at((self.rows - 2) * l);
            model.s_y.row_mut(output).copy_from_slice(newest);
            let (b, newest) = b.split_at((self.rows - 1) * m);
            model.s_d.row_mut(output).copy_from_slice(newest);
            model.constant[output] = c[0] + dot(a, &self.past_outputs[l..]) + dot(b, &self.past_inputs[m..]);
        }
    }

    /// Smallest eigenvalue of the inputs' Gram matrix relative to the largest, each input scaled by its movement: 0 if one
    /// of those that can move never did.
    pub(crate) fn excitation(&self, can_move: &[bool]) -> f64 {
        // Inputs that stay have no length at all, and come last.
        let moving = self.rows * can_move.iter().filter(|can_move| **can_move).count();
        match self.lengths[..moving] {
            [] => 1.0,
            [0.0, ..] => 0.0,
            [largest, ..] => (self.lengths[moving - 1] / largest).powi(2),
        }
    }

    /// (a_j, b_j or c) of one output in the order of [`super::Identifier::parameter_names`]: newest first.
    pub(crate) fn parameter(&self, output: usize, index: usize) -> f64 {
        let (m, l) = (self.inputs, self.outputs);
        let (past, given) = ((self.rows - 1) * l, self.rows * m);
        let p = self.parameters.row(output);
        if index < past {
            p[(self.rows - 2 - index / l) * l + index % l]
        } else if index < past + given {
            let index = index - past;
            p[past + (self.rows - 1 - index / m) * m + index % m]
        } else {
            p[past + given]
        }
    }

    /// Parameters of one output.
    pub(crate) fn parameter_count(&self) -> usize {
        self.parameters.cols()
    }

    /// Equations (2) and (3); without enough data, or if the newest output does not follow from the others, the model stays.
    fn solve(&mut self) {
        let columns = self.row.len();
        if self.outputs == 0 || (self.window.len() < columns + columns / 2 && !self.is_loaded) {
            return;
        }
        self.measure();
        self.find_subspace();
        if !self.weigh() {
            return;
        }
        self.find_inputs();
        self.write_parameters();
        self.has_model = self.parameters.is_finite();
        if !self.has_model {
            self.parameters.as_mut_slice().fill(0.0);
        }
    }

    /// Scales of the signals, from R without the part along the constant. What moves by nothing but round-off is made zero by an
    /// infinite scale: there is nothing to learn from it.
    fn measure(&mut self) {
        let (r, m) = (self.window.factor(), self.inputs);
        let given = 1 + self.rows * m;
        for (signal, scale) in self.scales.iter_mut().enumerate() {
            let (first, stride) =
                if signal < m { (1 + signal, m) } else { (given + signal - m, self.outputs) };
            let mut largest = 0.0_f64;
            for lag in 0..self.rows {
                let column = first + lag * stride;
                let moved = (1..=column).map(|row| r[(row, column)].powi(2)).sum::<f64>().sqrt();
                if moved > STILL * r[(0, column)].abs() {
                    largest = largest.max(moved);
                }
            }
            *scale = if largest > 0.0 { largest } else { f64::INFINITY };
        }
    }

    /// V_s: rows of `basis`, unit length, as many as the order.
    fn find_subspace(&mut self) {
        let (r, l) = (self.window.factor(), self.outputs);
        let first = 1 + self.rows * self.inputs;
        for i in 0..self.basis.rows() {
            for j in 0..self.basis.cols() {
                self.basis[(i, j)] = r[(first + i, first + j)] / self.scales[self.inputs + j % l];
            }
        }
        orthogonalize(&mut self.basis, self.rows * l, &mut self.singular);
        let most = (self.rows - 1) * l;
        let floor = NOTHING * self.singular[0];
        let known = self.singular[..most].iter().take_while(|s| **s > floor && **s > 0.0).count();
        self.order = match self.config.order {
            Some(order) => order.min(known),
            None => {
                let gap = |n: usize| self.singular[n - 1] / self.singular[n].max(floor);
                (1..=known).fold(0, |best, n| if best == 0 || gap(n) > gap(best) { n } else { best })
            }
        };
        for n in 0..self.order {
            let length = self.singular[n];
            self.basis.row_mut(n).iter_mut().for_each(|v| *v /= length);
        }
    }

    /// W; false if there is none.
    fn weigh(&mut self) -> bool {
        let l = self.outputs;
        let past = (self.rows - 1) * l;
        for i in 0..l {
            for j in 0..past + l {
                let along: f64 =
                    (0..self.order).map(|n| self.basis[(n, past + i)] * self.basis[(n, j)]).sum();
                self.weights[(i, j)] = if j == past + i { 1.0 - along } else { -along };
            }
            self.newest.row_mut(i).copy_from_slice(&self.weights.row(i)[past..]);
        }
        if self.lu.refactor(&self.newest).is_err() {
            return false;
        }
        for j in 0..past + l {
            (0..l).for_each(|i| self.column[i] = self.weights[(i, j)]);
            self.lu.solve_in_place(&mut self.column);
            (0..l).for_each(|i| self.weights[(i, j)] = self.column[i]);
        }
        true
    }

    /// X without its constant: least squares of least norm, by singular values.
    fn find_inputs(&mut self) {
        let (r, m, l) = (self.window.factor(), self.inputs, self.outputs);
        let u = self.rows * m;
        for i in 0..u {
            for j in 0..u {
                self.given[(i, j)] = r[(1 + i, 1 + j)] / self.scales[j % m];
            }
            for output in 0..l {
                let sum = (0..self.rows * l)
                    .map(|j| r[(1 + i, 1 + u + j)] / self.scales[m + j % l] * self.weights[(output, j)]);
                self.given[(i, u + output)] = sum.sum();
            }
        }
        orthogonalize(&mut self.given, u, &mut self.lengths);
    }

    /// Undoes the scales.
    fn write_parameters(&mut self) {
        let (r, m, l) = (self.window.factor(), self.inputs, self.outputs);
        let (past, u) = ((self.rows - 1) * l, self.rows * m);
        let floor = NOTHING * self.lengths.first().copied().unwrap_or(0.0);
        for output in 0..l {
            let own = self.scales[m + output];
            let p = self.parameters.row_mut(output);
            if own.is_infinite() {
                p.fill(0.0);
                p[past + u] = r[(0, 1 + u + past + output)] / r[(0, 0)];
                continue;
            }
            let mut constant: f64 = (0..past + l)
                .map(|j| r[(0, 1 + u + j)] / self.scales[m + j % l] * self.weights[(output, j)])
                .sum();
            for (j, p) in p[..past].iter_mut().enumerate() {
                *p = -self.weights[(output, j)] * own / self.scales[m + j % l];
            }
            for (j, p) in p[past..past + u].iter_mut().enumerate() {
                let terms = (0..u).filter(|i| self.lengths[*i] > floor);
                let x: f64 = terms
                    .map(|i| self.given[(i, j)] * self.given[(i, u + output)] / self.lengths[i].powi(2))
                    .sum();
                *p = x * own / self.scales[j % m];
                constant -= r[(0, 1 + j)] / self.scales[j % m] * x;
            }
            p[past + u] = constant * own / r[(0, 0)];
        }
    }

    /// Shows `tape` everything.
    pub(crate) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.count(&mut self.seen);
        tape.flag(&mut self.is_loaded);
        tape.values(&mut self.past_outputs);
        tape.values(&mut self.past_inputs);
        // The model may be older than the window, where no newer one was found.
        tape.flag(&mut self.has_model);
        tape.numbers(self.parameters.as_mut_slice());
        self.window.state(tape);
    }
}

/// Drops the oldest sample and appends a new one.
fn push_back(list: &mut [f64], sample: &[f64]) {
    list.copy_within(sample.len().., 0);
    let from = list.len() - sample.len();
    list[from..].copy_from_slice(sample);
}

#[cfg(test)]
mod tests;
