//! A subsystem's outputs as a function of its measured past, on a grid of nodes.
//!
//!   y_j = Σ_{i=1..q} a_i y_{j-i} + Σ_{i=0..q} b_i u_{j-i} + c                             (1)
//!
//! The past is the state: there is nothing to observe, and the model may change at any node. Two forms are fitted,
//!
//!   velocity   Δy_j = Σ_{i=1..p} A_i Δy_{j-i} + Σ_{i=0..p} B_i Δu_{j-i}                    (2)
//!   position   (1) itself
//!
//! and (2) becomes (1) with a_1 = I + A_1, a_i = A_i - A_{i-1}, a_{p+1} = -A_p, b_0 = B_0, b_i = B_i - B_{i-1},
//! b_{p+1} = -B_p, c = 0: constant disturbances and operating points drop out.
//!
//! Signals lie row by row, one row per node, in ascending time; coefficients are kept in the same order, so that a node is
//! two scalar products per output.

use crate::linalg::fast_dot;
use serde::{Deserialize, Serialize};

/// How many numbers a node has, and how far the past reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Outputs.
    pub outputs: usize,
    /// Inputs.
    pub inputs: usize,
    /// Nodes of the past, q.
    pub past: usize,
}

impl Size {
    /// Coefficients of the past outputs, for one output.
    pub(crate) fn of_outputs(&self) -> usize {
        self.past * self.outputs
    }

    /// Coefficients of the inputs, for one output.
    pub(crate) fn of_inputs(&self) -> usize {
        (self.past + 1) * self.inputs
    }

    /// Coefficients of one output.
    pub(crate) fn width(&self) -> usize {
        self.of_outputs() + self.of_inputs() + 1
    }
}

/// Equation (1). Per output: y_{j-q}..y_{j-1}, u_{j-q}..u_j, 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeModel {
    pub(crate) size: Size,
    pub(crate) coefficients: Vec<f64>,
}

impl NodeModel {
    /// Outputs that stay as they are.
    pub(crate) fn constant(size: Size) -> Self {
        let mut model = NodeModel { size, coefficients: vec![0.0; size.outputs * size.width()] };
        for output in 0..size.outputs {
            model.row_mut(output)[size.of_outputs() - size.outputs + output] = 1.0;
        }
        model
    }

    /// Outputs that go on as between the newest two nodes.
    pub(crate) fn straight(size: Size) -> Self {
        let mut model = NodeModel::constant(size);
        if size.past > 1 {
            let newest = size.of_outputs() - size.outputs;
            for output in 0..size.outputs {
                model.row_mut(output)[newest + output] = 2.0;
                model.row_mut(output)[newest - size.outputs + output] = -1.0;
            }
        }
        model
    }

    /// From the coefficients of form (2): per output Δy_{j-p}..Δy_{j-1}, Δu_{j-p}..Δu_j.
    pub(crate) fn set_velocity(&mut self, order: usize, theta: &[f64]) {
        let Size { outputs: n, inputs: m, past } = self.size;
        let width = order * n + (order + 1) * m;
        self.coefficients.fill(0.0);
        for output in 0..n {
            let theta = &theta[output * width..][..width];
            let row = self.row_mut(output);
            let (of_y, of_u) = row.split_at_mut(past * n);
            // Δy_{j-i} = y_{j-i} - y_{j-i-1}: row `past - i` and the one before it.
            for i in 1..=order {
                for k in 0..n {
                    let a = theta[(order - i) * n + k];
                    of_y[(past - i) * n + k] += a;
                    of_y[(past - i - 1) * n + k] -= a;
                }
            }
            of_y[(past - 1) * n + output] += 1.0;
            for i in 0..=order {
                for k in 0..m {
                    let b = theta[order * n + (order - i) * m + k];
                    of_u[(past - i) * m + k] += b;
                    of_u[(past - i - 1) * m + k] -= b;
                }
            }
        }
    }

    /// From the coefficients of form (1) with a shorter past: per output y_{j-p}..y_{j-1}, u_{j-p}..u_j, 1.
    pub(crate) fn set_position(&mut self, order: usize, theta: &[f64]) {
        let Size { outputs: n, inputs: m, past } = self.size;
        let width = order * n + (order + 1) * m + 1;
        self.coefficients.fill(0.0);
        for output in 0..n {
            let theta = &theta[output * width..][..width];
            let row = self.row_mut(output);
            row[(past - order) * n..past * n].copy_from_slice(&theta[..order * n]);
            let of_u = past * n + (past - order) * m;
            row[of_u..of_u + (order + 1) * m + 1].copy_from_slice(&theta[order * n..]);
        }
    }

    fn row_mut(&mut self, output: usize) -> &mut [f64] {
        let width = self.size.width();
        &mut self.coefficients[output * width..][..width]
    }

    /// Coefficients of one output.
    #[inline]
    pub(crate) fn row(&self, output: usize) -> &[f64] {
        let width = self.size.width();
        &self.coefficients[output * width..][..width]
    }

    /// b_0: how an output follows an input at the same node.
    pub(crate) fn direct(&self, output: usize, input: usize) -> f64 {
        let Size { outputs: n, inputs: m, past } = self.size;
        self.row(output)[past * n + past * m + input]
    }

    /// Outputs of the node whose past begins at row `from` of `y` and `u`, as far as earlier nodes and the inputs of the
    /// same node make them.
    #[inline]
    pub(crate) fn node(&self, y: &[f64], u: &[f64], from: usize, out: &mut [f64]) {
        let Size { outputs: n, inputs: m, .. } = self.size;
        let (of_y, of_u) = (self.size.of_outputs(), self.size.of_inputs());
        let (y, u) = (&y[from * n..][..of_y], &u[from * m..][..of_u]);
        for (output, value) in out.iter_mut().enumerate() {
            let row = self.row(output);
            *value = fast_dot(&row[..of_y], y) + fast_dot(&row[of_y..of_y + of_u], u) + row[of_y + of_u];
        }
    }

    /// Nodes `1..=nodes` after the past in the first rows of `y`, under the inputs in `u`.
    pub(crate) fn roll(&self, y: &mut [f64], u: &[f64], nodes: usize) {
        let Size { outputs: n, past, .. } = self.size;
        for j in 0..nodes {
            let (known, next) = y.split_at_mut((past + j) * n);
            self.node(known, u, j, &mut next[..n]);
        }
    }

    /// As [`Self::node`] for deviations: without the constant.
    #[inline]
    pub(crate) fn node_deviation(&self, y: &[f64], u: &[f64], from: usize, out: &mut [f64]) {
        let Size { outputs: n, inputs: m, .. } = self.size;
        let (of_y, of_u) = (self.size.of_outputs(), self.size.of_inputs());
        let (y, u) = (&y[from * n..][..of_y], &u[from * m..][..of_u]);
        for (output, value) in out.iter_mut().enumerate() {
            let row = self.row(output);
            *value = fast_dot(&row[..of_y], y) + fast_dot(&row[of_y..of_y + of_u], u);
        }
    }

    /// As [`Self::roll`] for deviations.
    pub(crate) fn roll_deviation(&self, y: &mut [f64], u: &[f64], nodes: usize) {
        let Size { outputs: n, past, .. } = self.size;
        for j in 0..nodes {
            let (known, next) = y.split_at_mut((past + j) * n);
            self.node_deviation(known, u, j, &mut next[..n]);
        }
    }

    /// True if all coefficients are numbers.
    pub(crate) fn is_finite(&self) -> bool {
        self.coefficients.iter().all(|c| c.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_velocity_form_predicts_increments() {
        // Δy_j = 0.5 Δy_{j-1} - 0.25 Δy_{j-2} + 2 Δu_j - Δu_{j-1} + 3 Δu_{j-2}.
        let (order, size) = (2, Size { outputs: 1, inputs: 1, past: 4 });
        let theta = [-0.25, 0.5, 3.0, -1.0, 2.0];
        let mut model = NodeModel::constant(size);
        model.set_velocity(order, &theta);
        let u = [7.0, 7.5, 6.0, 6.5, 9.0, 8.0];
        let mut y = vec![100.0, 101.0, 99.0, 98.0, 0.0, 0.0];
        model.roll(&mut y, &u, 2);
        let by_hand = |y: &[f64], j: usize| {
            let d = |s: &[f64], i: usize| s[i] - s[i - 1];
            y[j - 1] + 0.5 * d(y, j - 1) - 0.25 * d(y, j - 2) + 2.0 * d(&u, j) - d(&u, j - 1)
                + 3.0 * d(&u, j - 2)
        };
        assert!((y[4] - by_hand(&y, 4)).abs() < 1e-12 && (y[5] - by_hand(&y, 5)).abs() < 1e-12, "{y:?}");
        assert_eq!(model.direct(0, 0), 2.0);
    }

    #[test]
    fn the_position_form_is_kept_as_it_is() {
        let size = Size { outputs: 2, inputs: 1, past: 3 };
        let mut model = NodeModel::constant(size);
        // y1_j = 0.5 y2_{j-1} + u_j - 2 u_{j-1} + 3,  y2_j = y1_{j-1}.
        model.set_position(1, &[0.0, 0.5, -2.0, 1.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let mut y = vec![0.0, 0.0, 9.0, 9.0, 1.0, 2.0, 0.0, 0.0];
        model.roll(&mut y, &[0.0, 0.0, 10.0, 20.0], 1);
        assert_eq!(y[6..], [1.0 + 20.0 - 20.0 + 3.0, 1.0]);
    }

    #[test]
    fn models_without_data_hold_or_go_straight_on() {
        let size = Size { outputs: 2, inputs: 1, past: 2 };
        let mut y = vec![1.0, -1.0, 2.0, -3.0, 0.0, 0.0, 0.0, 0.0];
        NodeModel::constant(size).roll(&mut y, &[0.0; 4], 2);
        assert_eq!(y[4..], [2.0, -3.0, 2.0, -3.0]);
        NodeModel::straight(size).roll(&mut y, &[0.0; 4], 2);
        assert_eq!(y[4..], [3.0, -5.0, 4.0, -7.0]);
    }
}
