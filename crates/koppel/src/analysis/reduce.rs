//! A step matrix without redundant numbers.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, balance, dot, inverse};

/// What of a vector counts as combined from others, relative to its size in balanced units.
const DEPENDENT: f64 = 1e-13;

/// What of a row must be its own to be kept for its place.
const FAR: f64 = 1e-3;
/// What counts as zero in balanced units.
const ROUND_OFF: f64 = 1e-13;

/// What is left.
pub(super) struct Reduced {
    pub(super) matrix: Matrix,
    /// Outputs after the step.
    pub(super) outputs: Matrix,
    /// The numbers that are kept, as columns of the full matrix.
    pub(super) kept: Vec<usize>,
    /// The matrix in orthonormal coordinates of what the run comes to: its eigenvalues lose no digits to the choice of
    /// numbers that are kept.
    pub(super) core: Matrix,
}

/// Leaves out what acts on no output now or later, what no disturbance of the first `sources` numbers of `order` reaches, numbers
/// that then are combinations of others (those late in `order` go first), and numbers on which nothing depends.
pub(super) fn reduce(phi: &Matrix, outputs: &[usize], order: &[usize], sources: usize) -> Result<Reduced> {
    let is_observable = observable(phi, outputs);
    let observed: Vec<usize> = order.iter().copied().filter(|k| is_observable[*k]).collect();
    let small = Matrix::from_fn(observed.len(), observed.len(), |i, j| phi[(observed[i], observed[j])]);
    let failed = |source| Error::Linalg { what: "step matrix".into(), source };
    let balanced = balance(&small).map_err(failed)?;
    let d = &balanced.scales;
    let sources = order[..sources].iter().filter(|k| is_observable[**k]).count();
    let basis = reachable(&balanced.matrix, sources);
    let core = &basis.transpose() * &(&balanced.matrix * &basis);
    let kept = select(&basis);
    let chosen = Matrix::from_fn(kept.len(), kept.len(), |i, j| basis[(kept[i], j)]);
    let inverse = inverse(&chosen).map_err(failed)?;
    // z = E z_kept for every z that the run comes to.
    let mut expand = &basis * &inverse;
    for (place, i) in kept.iter().enumerate() {
        (0..kept.len()).for_each(|j| expand[(*i, j)] = f64::from(u8::from(place == j)));
    }
    let closed = &balanced.matrix * &expand;
    let smallest = ROUND_OFF * closed.max_abs();
    let acts = |j: &usize| (0..observed.len()).any(|i| closed[(i, *j)].abs() > smallest);
    let acting: Vec<usize> = (0..kept.len()).filter(acts).collect();
    let entry = |i: usize, j: usize| closed[(i, acting[j])] * d[i] / d[kept[acting[j]]];
    let matrix = Matrix::from_fn(acting.len(), acting.len(), |i, j| entry(kept[acting[i]], j));
    let place = |output: &usize| observed.iter().position(|k| k == output).unwrap_or(0);
    let rows: Vec<usize> = outputs.iter().map(place).collect();
    let outputs = Matrix::from_fn(rows.len(), acting.len(), |i, j| entry(rows[i], j));
    Ok(Reduced { matrix, outputs, kept: acting.iter().map(|k| observed[kept[*k]]).collect(), core })
}

/// Which numbers act on an output, now or later.
pub(super) fn observable(phi: &Matrix, outputs: &[usize]) -> Vec<bool> {
    let mut is_observable = vec![false; phi.rows()];
    outputs.iter().for_each(|o| is_observable[*o] = true);
    let mut waiting = outputs.to_vec();
    while let Some(i) = waiting.pop() {
        for (j, entry) in phi.row(i).iter().enumerate() {
            if *entry != 0.0 && !std::mem::replace(&mut is_observable[j], true) {
                waiting.push(j);
            }
        }
    }
    is_observable
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

/// As many rows as there are columns, from which all others follow: early ones if they are far enough from combinations of those
/// before, then those that are farthest. By Gram and Schmidt.
fn select(a: &Matrix) -> Vec<usize> {
    let mut rest: Vec<Vec<f64>> = (0..a.rows()).map(|i| a.row(i).to_vec()).collect();
    let size = |row: &[f64]| dot(row, row).sqrt();
    let sizes: Vec<f64> = rest.iter().map(|row| size(row)).collect();
    let mut kept = Vec::new();
    let mut keep = |i: usize, rest: &mut Vec<Vec<f64>>| {
        let left = size(&rest[i]);
        let direction: Vec<f64> = rest[i].iter().map(|x| x / left).collect();
        for row in rest.iter_mut() {
            for _ in 0..2 {
                let part = dot(row, &direction);
                row.iter_mut().zip(&direction).for_each(|(x, d)| *x -= part * d);
            }
        }
        rest[i].fill(0.0);
        kept.push(i);
    };
    let mut missing = a.cols();
    for i in 0..a.rows() {
        if missing > 0 && size(&rest[i]) > (FAR * sizes[i]).max(ROUND_OFF) {
            keep(i, &mut rest);
            missing -= 1;
        }
    }
    for _ in 0..missing {
        let farthest = (0..rest.len()).max_by(|i, j| size(&rest[*i]).total_cmp(&size(&rest[*j])));
        farthest.into_iter().for_each(|i| keep(i, &mut rest));
    }
    kept
}
