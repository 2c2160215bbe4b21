//! What is learned of the subsystems: Genser 2020, 2.3.2.

use super::{Factors, Model, Reading};

/// Most regressors: two past outputs, two inputs and the kick with two values each, a constant.
pub(super) const MOST: usize = 9;
/// Inputs of each output's equation: u = (F, x, v) of the others; outputs are x, v, F.
pub(super) const FED_BY: [&[usize]; 3] = [&[0], &[0], &[1, 2]];

/// Recursive least squares of one output.
pub(super) struct Rls {
    pub(super) count: usize,
    pub(super) p: [f64; MOST],
    pub(super) covariance: [[f64; MOST]; MOST],
}

impl Rls {
    pub(super) fn new(count: usize, covariance: f64) -> Self {
        let mut all = [[0.0; MOST]; MOST];
        (0..count).for_each(|j| all[j][j] = covariance);
        Rls { count, p: [0.0; MOST], covariance: all }
    }

    pub(super) fn predict(&self, phi: &[f64; MOST]) -> f64 {
        self.p.iter().zip(phi).map(|(p, phi)| p * phi).sum()
    }

    pub(super) fn learn(&mut self, phi: &[f64; MOST], y: f64, forgetting: f64, is_printed: bool) {
        let n = self.count;
        let mut gain = [0.0; MOST];
        for (gain, row) in gain.iter_mut().zip(&self.covariance).take(n) {
            *gain = row.iter().zip(phi).map(|(p, phi)| p * phi).sum();
        }
        let size = forgetting + gain.iter().zip(phi).map(|(g, phi)| g * phi).sum::<f64>();
        let error = y - self.predict(phi);
        (0..n).for_each(|j| self.p[j] += gain[j] / size * error);
        for i in 0..n {
            for j in 0..n {
                let less = gain[i] * gain[j] / size;
                let p = &mut self.covariance[i][j];
                *p = if is_printed { *p - less / forgetting } else { (*p - less) / forgetting };
            }
        }
    }
}

/// y' = J_y y + J_1 u + c of each output.
#[derive(Clone, Copy, Default)]
pub(super) struct Jacobians {
    pub(super) jy: [f64; 3],
    pub(super) j1: [[f64; 2]; 3],
    pub(super) c: [f64; 3],
}

impl Jacobians {
    /// Solves y = rhs + J_1 L y.
    pub(super) fn close(&self, rhs: [f64; 3]) -> [f64; 3] {
        let j = &self.j1;
        let f =
            (rhs[2] + j[2][0] * rhs[0] + j[2][1] * rhs[1]) / (1.0 - j[2][0] * j[0][0] - j[2][1] * j[1][0]);
        [rhs[0] + j[0][0] * f, rhs[1] + j[1][0] * f, f]
    }

    /// Step 3: inputs closest to `ideal` with which the models reach `aim`.
    pub(super) fn optimize(&self, aim: [f64; 3], y: [f64; 3], ideal: [f64; 3]) -> [f64; 3] {
        let mut u = ideal;
        let rest = |i: usize| aim[i] - self.jy[i] * y[i] - self.c[i];
        let squares = self.j1[0][0].powi(2) + self.j1[1][0].powi(2);
        if squares > 0.0 {
            let missing = |i: usize| self.j1[i][0] * (rest(i) - self.j1[i][0] * ideal[0]);
            u[0] += (missing(0) + missing(1)) / squares;
        }
        let [a, b] = self.j1[2];
        if a * a + b * b > 0.0 {
            let missing = (rest(2) - a * ideal[1] - b * ideal[2]) / (a * a + b * b);
            u[1] += a * missing;
            u[2] += b * missing;
        }
        u
    }
}

/// What is known of the last steps, newest first.
#[derive(Default)]
pub(super) struct Past {
    pub(super) y: [[f64; 3]; 2],
    /// F, x, v, kick.
    pub(super) u: [[f64; 4]; 4],
}

/// The learned equation of an output as Jacobians.
pub(super) fn jacobians(reading: &Reading, f: &Factors, rls: &[Rls], past: &Past, kick: f64) -> Jacobians {
    let mut found = Jacobians::default();
    for (i, one) in rls.iter().enumerate() {
        let (n, m) = (f.n, f.m);
        let b = |w: usize, j: usize| one.p[n + w * m + j];
        let a = one.p[0];
        found.c[i] = if reading.has_constant { one.p[one.count - 1] } else { 0.0 };
        if reading.is_kick_known && i < 2 {
            found.c[i] += b(1, 0) * kick;
        }
        found.jy[i] = a;
        (0..FED_BY[i].len()).for_each(|w| found.j1[i][w] = b(w, 0));
        match reading.model {
            Model::Recursion(_) => {
                if n == 2 {
                    found.c[i] += one.p[1] * past.y[0][i];
                }
                if m == 2 {
                    found.c[i] +=
                        FED_BY[i].iter().enumerate().map(|(w, g)| b(w, 1) * past.u[0][*g]).sum::<f64>();
                    found.c[i] += if reading.is_kick_known && i < 2 { b(1, 1) * past.u[0][3] } else { 0.0 };
                }
            }
            Model::Gilbert => found.jy[i] = a / n.max(m) as f64,
            Model::Unpadded => match (n, m) {
                (1, 2) => (0..FED_BY[i].len()).for_each(|w| found.j1[i][w] = b(w, 1) + a * b(w, 0)),
                (2, 1) => {
                    found.jy[i] = a / 2.0;
                    found.j1[i] = [0.0; 2];
                }
                _ => found.jy[i] = a / n as f64,
            },
        }
    }
    found
}
