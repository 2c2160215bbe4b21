//! The outputs before the start that let a model begin as the subsystem does.
//!
//! The p increments before t = 0 with which the velocity form, its inputs at rest, follows the run with inputs at rest best
//! over two steps: least squares with a ridge, so that increments no output shows stay zero.

use crate::identify::node_fit::NodeFit;
use crate::linalg::{cholesky_factor, cholesky_solve};

const RIDGE: f64 = 1e-9;

/// Scaled outputs at the nodes before the start, oldest first, the start itself last.
pub(super) fn before_start(fit: &NodeFit, free: &[f64], nodes: usize) -> Vec<f64> {
    let size = fit.velocity.size;
    let (n, unknowns) = (size.outputs, size.outputs * fit.order);
    let ahead = (2 * nodes).min((free.len() / n).saturating_sub(1));
    let begin = free.get(..n).map_or_else(|| vec![0.0; n], <[f64]>::to_vec);
    let inputs = vec![0.0; (size.past + ahead) * size.inputs];
    // How the outputs of all nodes follow each increment.
    let columns: Vec<Vec<f64>> = (0..unknowns)
        .map(|k| {
            let mut increments = vec![0.0; unknowns];
            increments[k] = 1.0;
            let mut y = vec![0.0; (size.past + ahead) * n];
            fill(&mut y, &increments, &vec![0.0; n], size.past);
            fit.velocity.roll(&mut y, &inputs, ahead);
            y.split_off(size.past * n)
        })
        .collect();
    let target: Vec<f64> = (0..ahead * n).map(|i| free[n + i] - begin[i % n]).collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut matrix: Vec<f64> =
        (0..unknowns * unknowns).map(|i| product(&columns[i / unknowns], &columns[i % unknowns])).collect();
    let largest = (0..unknowns).map(|i| matrix[i * unknowns + i]).fold(0.0, f64::max);
    (0..unknowns).for_each(|i| matrix[i * unknowns + i] += RIDGE * largest);
    let mut increments: Vec<f64> = columns.iter().map(|column| product(column, &target)).collect();
    if largest > 0.0 && largest.is_finite() && cholesky_factor(&mut matrix, unknowns) {
        cholesky_solve(&matrix, unknowns, &mut increments);
    } else {
        increments.fill(0.0);
    }
    if increments.iter().any(|d| !d.is_finite()) {
        increments.fill(0.0);
    }
    let mut y = vec![0.0; size.past * n];
    fill(&mut y, &increments, &begin, size.past);
    y
}

/// Writes the rows of the past that end at `begin` after these increments, oldest first.
fn fill(y: &mut [f64], increments: &[f64], begin: &[f64], past: usize) {
    let n = begin.len();
    let order = increments.len() / n;
    y[(past - 1) * n..past * n].copy_from_slice(begin);
    for row in (0..past - 1).rev() {
        // The increment from this row to the next is number `back` from the end.
        let back = past - 1 - row;
        for k in 0..n {
            let increment = if back <= order { increments[(order - back) * n + k] } else { 0.0 };
            y[row * n + k] = y[(row + 1) * n + k] - increment;
        }
    }
}
