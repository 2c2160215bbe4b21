//! A step matrix without redundant numbers.

use crate::error::{Error, Result};
use crate::linalg::{Complex, LinalgError, Matrix, balance, block, components, dot, eigenvalues, inverse};

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
    /// Eigenvalues of the blocks that act on themselves, the largest first. They are as accurate as each block alone, but some may
    /// belong to combinations of numbers of several blocks that the run never comes to.
    /// Nothing if there are not several blocks.
    pub(super) of_blocks: Option<Vec<Complex>>,
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
    let of_blocks = block_eigenvalues(&balanced.matrix, sources).map_err(failed)?;
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
    Ok(Reduced {
        matrix,
        outputs,
        kept: acting.iter().map(|k| observed[kept[*k]]).collect(),
        core,
        of_blocks,
    })
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

/// The eigenvalues of each block that acts on itself, restricted to what disturbances of the first `sources` numbers and of the
/// blocks before it reach there; nothing if there is no more than one such block.
fn block_eigenvalues(a: &Matrix, sources: usize) -> std::result::Result<Option<Vec<Complex>>, LinalgError> {
    let parts = components(a);
    let acts_on_itself = |part: &&Vec<usize>| part.len() > 1 || a[(part[0], part[0])] != 0.0;
    if parts.iter().filter(acts_on_itself).count() < 2 {
        return Ok(None);
    }
    // However little arrives in a block, it grows there.
    let smallest = f64::MIN_POSITIVE;
    let (mut values, mut reached) = (Vec::new(), vec![None; parts.len()]);
    let mut part_of = vec![0; a.rows()];
    parts.iter().enumerate().for_each(|(at, part)| part.iter().for_each(|k| part_of[*k] = at));
    for (at, part) in parts.iter().enumerate() {
        let mut basis = Basis::new(smallest);
        let acting = |j: &usize| part.iter().any(|i| a[(*i, *j)] != 0.0);
        (0..sources).filter(acting).for_each(|j| basis.add(part.iter().map(|i| a[(*i, j)]).collect()));
        let mut before: Vec<usize> = (0..a.cols()).filter(acting).map(|j| part_of[j]).collect();
        before.sort_unstable();
        before.dedup();
        for other in before.into_iter().filter(|other| *other != at) {
            let Some(columns) = &reached[other] else { continue };
            let into = &block(a, part, &parts[other]) * columns;
            (0..into.cols()).for_each(|j| basis.add(into.col(j)));
        }
        let own = block(a, part, part);
        basis.close(&own);
        let basis = basis.matrix(part.len());
        values.extend(eigenvalues(&(&basis.transpose() * &(&own * &basis)))?);
        reached[at] = Some(basis);
    }
    crate::sort::sort_by(&mut values, |y, z| {
        z.abs().total_cmp(&y.abs()).then(z.re.total_cmp(&y.re)).then(z.im.total_cmp(&y.im))
    });
    Ok(Some(values))
}

/// Orthonormal vectors.
struct Basis {
    vectors: Vec<Vec<f64>>,
    /// Vectors that are no longer than this are round-off.
    smallest: f64,
}

impl Basis {
    fn new(smallest: f64) -> Self {
        Basis { vectors: Vec::new(), smallest }
    }

    /// Adds what of a vector is no combination of those that are there.
    fn add(&mut self, mut vector: Vec<f64>) {
        let size = dot(&vector, &vector).sqrt();
        for _ in 0..2 {
            for known in &self.vectors {
                let part = dot(known, &vector);
                vector.iter_mut().zip(known).for_each(|(v, known)| *v -= part * known);
            }
        }
        let left = dot(&vector, &vector).sqrt();
        if left > (DEPENDENT * size).max(self.smallest) {
            vector.iter_mut().for_each(|v| *v /= left);
            self.vectors.push(vector);
        }
    }

    /// Adds what `a` makes of them, again and again: the Krylov space.
    fn close(&mut self, a: &Matrix) {
        let mut waiting = 0;
        while waiting < self.vectors.len() && self.vectors.len() < a.rows() {
            let next = a.mul_vec(&self.vectors[waiting]);
            self.add(next);
            waiting += 1;
        }
    }

    /// The vectors as columns of length `n`.
    fn matrix(&self, n: usize) -> Matrix {
        Matrix::from_fn(n, self.vectors.len(), |i, j| self.vectors[j][i])
    }
}

/// An orthonormal basis, as columns, of what steps make of unit vectors in the first `sources` numbers: the Krylov space. Memory
/// that is always the same function of states and outputs cannot be moved alone.
fn reachable(a: &Matrix, sources: usize) -> Matrix {
    let mut basis = Basis::new(1e-3 * DEPENDENT * a.max_abs());
    (0..sources).for_each(|j| basis.add(a.col(j)));
    basis.close(a);
    basis.matrix(a.rows())
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
