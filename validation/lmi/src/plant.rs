//! What the feedback acts on: lags and the weight in a row, in multiples of the disc's time.

use koppel::hinf::Specification;
use koppel::linalg::Matrix;
use koppel::system::StateSpace;
use std::f64::consts::TAU;

/// x' = A x + B1 u + B2 v, e = C x; the states of the weight come last.
#[derive(Clone, Debug)]
pub(crate) struct Plant {
    pub(crate) a: Matrix,
    pub(crate) b1: Matrix,
    pub(crate) b2: Matrix,
    pub(crate) c: Matrix,
    weights: usize,
}

impl Plant {
    /// With so many lags, each as fast as the middle of the disc.
    pub(crate) fn new(specification: &Specification, lags: usize) -> Plant {
        let h = specification.disc;
        let weight = specification.weight().state_space(1.0 / (TAU * specification.weight_hz));
        let StateSpace { a: aw, b: bw, c: cw, .. } = weight;
        let (weights, n) = (aw.rows(), lags + aw.rows());
        let (aw, bw) = (&aw * h, &bw * h);
        let mut a = Matrix::zeros(n, n);
        for i in 0..lags {
            a[(i, i)] = -1.0;
            if i > 0 {
                a[(i, i - 1)] = 1.0;
            }
        }
        a.set_block(lags, lags - 1, &-&bw);
        a.set_block(lags, lags, &aw);
        let (mut b1, mut b2, mut c) = (Matrix::zeros(n, 1), Matrix::zeros(n, 1), Matrix::zeros(1, n));
        b1.set_block(lags, 0, &bw);
        b2[(0, 0)] = 1.0;
        c.set_block(0, lags, &cw);
        Plant { a, b1, b2, c, weights }
    }

    /// States of the weight.
    pub(crate) fn weights(&self) -> usize {
        self.weights
    }
}
