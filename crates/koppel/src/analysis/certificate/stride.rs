//! Linear models over a step that is cut in parts, as matrices that are multiplied once: certificates look at every step.
//!
//! Inputs go straight from u at the begin of a part of length h to v at its end:
//!
//!   x(h) = Φ x + (Γ_0 - Γ_1 / h) u + Γ_1 / h v            (1)

use crate::error::Result;
use crate::linalg::{Matrix, dot};
use crate::system::StateSpace;

/// Φ, and what u and v are multiplied with in (1).
fn parts(matrices: &StateSpace, h: f64) -> Result<[Matrix; 3]> {
    let discrete = matrices.discretize(h, 2)?;
    let mut end = discrete.inputs[1].clone();
    end.scale(1.0 / h);
    let mut begin = discrete.inputs[0].clone();
    begin.add_scaled(-1.0, &end);
    Ok([discrete.transition, begin, end])
}

/// One part of a step: x(h) of (1) and y(h) = C x(h) + D v, as one matrix over (x, u, v).
pub(super) struct Stride {
    matrix: Matrix,
    /// (x, u, v).
    from: Vec<f64>,
    /// (x(h), y(h)).
    to: Vec<f64>,
}

impl Stride {
    pub(super) fn new(matrices: &StateSpace, h: f64) -> Result<Self> {
        let (n, m, p) = (matrices.states(), matrices.inputs(), matrices.outputs());
        let mut matrix = Matrix::zeros(n + p, n + 2 * m);
        for (block, column) in parts(matrices, h)?.iter().zip([0, n, n + m]) {
            matrix.set_block(0, column, block);
        }
        let states = matrix.block(0, 0, n, n + 2 * m);
        let mut outputs = Matrix::zeros(p, n + 2 * m);
        matrices.c.mul_into(&states, &mut outputs);
        for i in 0..p {
            (0..m).for_each(|j| outputs[(i, n + m + j)] += matrices.d[(i, j)]);
        }
        matrix.set_block(n, 0, &outputs);
        Ok(Stride { matrix, from: vec![0.0; n + 2 * m], to: vec![0.0; n + p] })
    }

    /// What is linear in `v` alone: of the states, and of the outputs.
    pub(super) fn of_end(&self, inputs: usize) -> Matrix {
        let column = self.matrix.cols() - inputs;
        self.matrix.block(0, column, self.matrix.rows(), inputs)
    }

    /// Moves `x` under inputs from `u` to nothing, and writes the outputs at the end.
    pub(super) fn walk_to_zero(&mut self, x: &mut [f64], u: &[f64], y: &mut [f64]) {
        let known = x.len() + u.len();
        for (k, to) in self.to.iter_mut().enumerate() {
            let row = &self.matrix.row(k)[..known];
            *to = dot(&row[..x.len()], x) + dot(&row[x.len()..], u);
        }
        let (states, outputs) = self.to.split_at(x.len());
        x.copy_from_slice(states);
        y.copy_from_slice(outputs);
    }

    /// Moves `x` under inputs from `u` to `v`, and writes the outputs at the end.
    pub(super) fn walk(&mut self, x: &mut [f64], u: &[f64], v: &[f64], y: &mut [f64]) {
        let (states, inputs) = self.from.split_at_mut(x.len());
        states.copy_from_slice(x);
        inputs[..u.len()].copy_from_slice(u);
        inputs[u.len()..].copy_from_slice(v);
        self.matrix.mul_vec_into(&self.from, &mut self.to);
        let (states, outputs) = self.to.split_at(x.len());
        x.copy_from_slice(states);
        y.copy_from_slice(outputs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An oscillator under an input of straight pieces, against its solution by small steps of a Taylor series.
    #[test]
    fn strides_follow_the_equations() {
        let matrix = Matrix::from_slice;
        let (a, b, c, d) = ([0.0, 1.0, -9.0, -0.4], [0.0, 2.0], [1.0, 0.5], 0.25);
        let matrices = StateSpace::new(
            "oscillator",
            matrix(2, 2, &a),
            matrix(2, 1, &b),
            matrix(1, 2, &c),
            matrix(1, 1, &[d]),
        );
        let (matrices, h) = (matrices.unwrap(), 0.1);
        let nodes = [0.3, -0.2, 0.5, 0.4];
        let mut exact = [1.0, -0.5];
        let fine = 20_000;
        for part in 0..3 {
            let (dt, slope) = (h / f64::from(fine), (nodes[part + 1] - nodes[part]) / h);
            for k in 0..fine {
                let u = nodes[part] + slope * dt * f64::from(k);
                let rate = |x: [f64; 2], u: f64| [x[1], a[2] * x[0] + a[3] * x[1] + b[1] * u];
                let first = rate(exact, u);
                let second = rate(first, slope);
                for i in 0..2 {
                    exact[i] += dt * first[i] + 0.5 * dt * dt * second[i];
                }
            }
        }
        let mut stride = Stride::new(&matrices, h).unwrap();
        let (mut x, mut y) = ([1.0, -0.5], [0.0]);
        for pair in nodes.windows(2) {
            stride.walk(&mut x, &pair[..1], &pair[1..], &mut y);
        }
        for i in 0..2 {
            assert!((x[i] - exact[i]).abs() < 1e-9, "{x:?}, {exact:?}");
        }
        assert!((y[0] - (c[0] * x[0] + c[1] * x[1] + d * nodes[3])).abs() < 1e-15);
    }
}
