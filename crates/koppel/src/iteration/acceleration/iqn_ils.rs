//! Interface quasi-Newton with least squares (IQN-ILS).
//!
//!   z ← z + r + W c,     c = arg min ‖V c + r‖                                    (1)
//!
//! | symbol | meaning                                                                            |
//! | V, W   | differences of residuals and of results between guesses, newest first, as columns  |
//!
//! Degroote, Bathe & Vierendeels 2009. The least squares are solved by Gram-Schmidt; a column of V that hardly differs from
//! newer ones is left out (the filter "QR2" of Haelterman et al. 2016). Columns of earlier communication points are used too.
//! Without any, a relaxed step is made.

use super::{Acceleration, Next, dot};
use crate::tape::Tape;

/// What is left of a column after newer ones, relative to it, below which it is left out.
const FILTER: f64 = 1e-6;
const FIRST: f64 = 0.5;

pub(super) struct IqnIls {
    unknowns: usize,
    /// Most columns.
    room: usize,
    /// Columns there are, newest first in `dr` and `dg`.
    count: usize,
    dr: Vec<f64>,
    dg: Vec<f64>,
    last_z: Vec<f64>,
    last_r: Vec<f64>,
    has_last: bool,
    reuse: bool,
    /// Orthogonal columns, and which column each came from.
    q: Vec<f64>,
    used: Vec<usize>,
    /// Upper triangle, column by column.
    triangle: Vec<f64>,
    c: Vec<f64>,
    column: Vec<f64>,
}

impl IqnIls {
    pub(super) fn new(unknowns: usize, reuse: bool) -> Self {
        let room = 2 * unknowns + 4;
        IqnIls {
            unknowns,
            room,
            count: 0,
            dr: vec![0.0; room * unknowns],
            dg: vec![0.0; room * unknowns],
            last_z: vec![0.0; unknowns],
            last_r: vec![0.0; unknowns],
            has_last: false,
            reuse,
            q: vec![0.0; unknowns * unknowns],
            used: Vec::with_capacity(unknowns),
            triangle: vec![0.0; unknowns * unknowns],
            c: vec![0.0; unknowns],
            column: vec![0.0; unknowns],
        }
    }

    /// Adds the newest differences in front; the oldest go.
    fn add_column(&mut self, z: &[f64], residual: &[f64]) {
        let n = self.unknowns;
        let kept = self.count.min(self.room - 1);
        self.dr.copy_within(..kept * n, n);
        self.dg.copy_within(..kept * n, n);
        for i in 0..n {
            self.dr[i] = residual[i] - self.last_r[i];
            self.dg[i] = self.dr[i] + z[i] - self.last_z[i];
        }
        self.count = kept + 1;
    }

    /// Orthogonal columns of V, newest first, without those that add nothing.
    fn factor(&mut self, weight: &[f64]) {
        let n = self.unknowns;
        self.used.clear();
        for k in 0..self.count {
            let rank = self.used.len();
            if rank == n {
                break;
            }
            self.column.copy_from_slice(&self.dr[k * n..][..n]);
            let before = dot(weight, &self.column, &self.column).sqrt();
            for j in 0..rank {
                let q = &self.q[j * n..][..n];
                let along = dot(weight, q, &self.column);
                self.triangle[rank * n + j] = along;
                self.column.iter_mut().zip(q).for_each(|(c, q)| *c -= along * q);
            }
            let left = dot(weight, &self.column, &self.column).sqrt();
            if left > FILTER * before && left.is_finite() {
                self.triangle[rank * n + rank] = left;
                for (q, c) in self.q[rank * n..][..n].iter_mut().zip(&self.column) {
                    *q = c / left;
                }
                self.used.push(k);
            }
        }
    }
}

impl Acceleration for IqnIls {
    fn begin(&mut self) {
        self.has_last = false;
        if !self.reuse {
            self.count = 0;
        }
    }

    fn next(&mut self, weight: &[f64], z: &mut [f64], residual: &[f64]) -> Next {
        let n = self.unknowns;
        if self.has_last {
            self.add_column(z, residual);
        }
        self.last_z.copy_from_slice(z);
        self.last_r.copy_from_slice(residual);
        self.has_last = true;
        self.factor(weight);
        let rank = self.used.len();
        if rank == 0 {
            z.iter_mut().zip(residual).for_each(|(z, r)| *z += FIRST * r);
            return Next::Try;
        }
        for j in 0..rank {
            self.c[j] = -dot(weight, &self.q[j * n..][..n], residual);
        }
        for j in (0..rank).rev() {
            self.c[j] /= self.triangle[j * n + j];
            for i in 0..j {
                self.c[i] -= self.triangle[j * n + i] * self.c[j];
            }
        }
        z.iter_mut().zip(residual).for_each(|(z, r)| *z += r);
        for (c, k) in self.c.iter().zip(&self.used) {
            z.iter_mut().zip(&self.dg[k * n..][..n]).for_each(|(z, d)| *z += c * d);
        }
        Next::Try
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        tape.count_to(&mut self.count, self.room as u64);
        tape.numbers(&mut self.dr);
        tape.numbers(&mut self.dg);
    }
}
