//! A step matrix without redundant numbers.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, balance};

/// What of a row counts as combined from others, relative to its size in balanced units.
const DEPENDENT: f64 = 1e-10;

/// What is left.
pub(super) struct Reduced {
    pub(super) matrix: Matrix,
    /// Outputs after the step.
    pub(super) outputs: Matrix,
    /// The numbers that are kept, as columns of the full matrix.
    pub(super) kept: Vec<usize>,
}

/// Leaves out what acts on no output now or later, what no disturbance of the first `sources` numbers of `order` reaches, numbers
/// that then are combinations of others (those late in `order` go first), and numbers on which nothing depends.
pub(super) fn reduce(phi: &Matrix, outputs: &[usize], order: &[usize], sources: usize) -> Result<Reduced> {
    let is_seen = seen(phi, outputs);
    let seen: Vec<usize> = order.iter().copied().filter(|k| is_seen[*k]).collect();
    let small = Matrix::from_fn(seen.len(), seen.len(), |i, j| phi[(seen[i], seen[j])]);
    let balanced = balance(&small).map_err(|source| Error::Linalg { what: "step matrix".into(), source })?;
    let d = &balanced.scales;
    let sources = order[..sources].iter().filter(|k| is_seen[**k]).count();
    let Combined { kept, combinations } = combine(&reachable(&balanced.matrix, sources));
    // z = E z_kept for every z that the run comes to.
    let mut expand = Matrix::zeros(seen.len(), kept.len());
    for (i, row) in combinations.iter().enumerate() {
        for (j, factor) in row.iter().enumerate() {
            expand[(i, j)] = factor * d[i] / d[kept[j]];
        }
    }
    let closed = &small * &expand;
    let whole: Vec<usize> = (0..seen.len()).collect();
    let acts = |j: &usize| whole.iter().any(|i| closed[(*i, *j)] != 0.0);
    let acting: Vec<usize> = (0..kept.len()).filter(acts).collect();
    let matrix = Matrix::from_fn(acting.len(), acting.len(), |i, j| closed[(kept[acting[i]], acting[j])]);
    let place = |output: &usize| seen.iter().position(|k| k == output).unwrap_or(0);
    let rows: Vec<usize> = outputs.iter().map(place).collect();
    let outputs = Matrix::from_fn(rows.len(), acting.len(), |i, j| closed[(rows[i], acting[j])]);
    Ok(Reduced { matrix, outputs, kept: acting.iter().map(|k| seen[kept[*k]]).collect() })
}

/// Which numbers act on an output, now or later.
fn seen(phi: &Matrix, outputs: &[usize]) -> Vec<bool> {
    let mut is_seen = vec![false; phi.rows()];
    outputs.iter().for_each(|o| is_seen[*o] = true);
    let mut waiting = outputs.to_vec();
    while let Some(i) = waiting.pop() {
        for (j, entry) in phi.row(i).iter().enumerate() {
            if *entry != 0.0 && !std::mem::replace(&mut is_seen[j], true) {
                waiting.push(j);
            }
        }
    }
    is_seen
}

/// An orthonormal basis, as columns, of what steps make of unit vectors in the first `sources` numbers: the Krylov space. Memory
/// that is always the same function of states and outputs cannot be moved alone.
fn reachable(a: &Matrix, sources: usize) -> Matrix {
    let n = a.rows();
    let (mut basis, mut waiting): (Vec<Vec<f64>>, usize) = (Vec::new(), 0);
    let smallest = 1e-3 * DEPENDENT * a.max_abs();
    let add = |mut vector: Vec<f64>, basis: &mut Vec<Vec<f64>>| {
        let size = dot(&vector, &vector).sqrt();
        for _ in 0..2 {
            for known in basis.iter() {
                let part = dot(known, &vector);
                vector.iter_mut().zip(known).for_each(|(v, known)| *v -= part * known);
            }
        }
        let left = dot(&vector, &vector).sqrt();
        if left > (DEPENDENT * size).max(smallest) {
            vector.iter_mut().for_each(|v| *v /= left);
            basis.push(vector);
        }
    };
    (0..sources).for_each(|j| add(a.col(j), &mut basis));
    while waiting < basis.len() && basis.len() < n {
        let next = a.mul_vec(&basis[waiting]);
        add(next, &mut basis);
        waiting += 1;
    }
    Matrix::from_fn(n, basis.len(), |i, j| basis[j][i])
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

struct Combined {
    kept: Vec<usize>,
    /// Every row as a combination of those that are kept.
    combinations: Vec<Vec<f64>>,
}

/// Keeps a row unless it is a combination of those kept before it; by Gram and Schmidt, twice.
fn combine(a: &Matrix) -> Combined {
    let mut kept = Vec::new();
    // Orthonormal vectors, and each as a combination of kept rows.
    let mut basis: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let mut combinations = Vec::new();
    for i in 0..a.rows() {
        let mut rest = a.row(i).to_vec();
        let size = dot(&rest, &rest).sqrt();
        let mut combination = vec![0.0; kept.len()];
        for _ in 0..2 {
            for (direction, of_kept) in &basis {
                let part = dot(direction, &rest);
                rest.iter_mut().zip(direction).for_each(|(rest, direction)| *rest -= part * direction);
                combination.iter_mut().zip(of_kept).for_each(|(sum, factor)| *sum += part * factor);
            }
        }
        let left = dot(&rest, &rest).sqrt();
        if left > DEPENDENT * size {
            rest.iter_mut().for_each(|rest| *rest /= left);
            let mut of_kept: Vec<f64> = combination.iter().map(|factor| -factor / left).collect();
            of_kept.push(1.0 / left);
            basis.push((rest, of_kept));
            combination.iter_mut().for_each(|factor| *factor = 0.0);
            combination.push(1.0);
            kept.push(i);
        }
        combinations.push(combination);
    }
    Combined { kept, combinations }
}
