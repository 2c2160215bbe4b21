//! Dormand-Prince 5(4), the explicit Runge-Kutta pair with local extrapolation.
//!
//!   f_i = f(t + c_i h, x + h Σ_{j<i} a_ij f_j),  i = 1 … 7                               (1)
//!   x̂ = x + h Σ a_7j f_j,     err = h Σ e_j f_j                                          (2)
//!
//! Order 5, error estimate of order 4. Hairer, Nørsett & Wanner, Solving ODEs I, table II.5.2.
//! f₇ of an accepted step is f₁ of the next one within a window. Differs from the book in: f₁ is evaluated again at
//! the start of every window, because an input may have jumped there.

use super::config::Tolerances;
use super::control::{Buffers, Embedded, Trial, scaled_error};
use super::rhs::Rhs;

const A2: [f64; 1] = [1.0 / 5.0];
const A3: [f64; 2] = [3.0 / 40.0, 9.0 / 40.0];
const A4: [f64; 3] = [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0];
const A5: [f64; 4] = [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0];
const A6: [f64; 5] = [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0];
const A7: [f64; 6] = [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0];
const E: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];

/// Buffers of the pair.
#[derive(Debug, Clone)]
pub(super) struct DormandPrince {
    stages: [Vec<f64>; 7],
    trial: Vec<f64>,
    error: Vec<f64>,
}

impl DormandPrince {
    pub(super) fn new(dim: usize) -> DormandPrince {
        DormandPrince {
            stages: std::array::from_fn(|_| vec![0.0; dim]),
            trial: vec![0.0; dim],
            error: vec![0.0; dim],
        }
    }

    /// Stage `S` + 1 of equation (1).
    fn stage<R: Rhs + ?Sized, const S: usize>(
        &mut self,
        rhs: &mut R,
        t: f64,
        a: &[f64; S],
        from: &Trial<'_>,
    ) {
        combine(a, &self.stages, &mut self.trial);
        for (trial, x) in self.trial.iter_mut().zip(from.x) {
            *trial = x + from.h * *trial;
        }
        rhs.derivative(t, &self.trial, &mut self.stages[S]);
    }
}

/// Σ a_j f_j.
fn combine<const S: usize>(a: &[f64; S], stages: &[Vec<f64>; 7], out: &mut [f64]) {
    let n = out.len();
    let stages: [&[f64]; S] = std::array::from_fn(|j| &stages[j][..n]);
    for (i, out) in out.iter_mut().enumerate() {
        *out = a.iter().zip(stages).map(|(a, stage)| a * stage[i]).sum();
    }
}

impl Embedded for DormandPrince {
    const ESTIMATE: i32 = 5;
    const BETA: f64 = 0.04;

    fn start<R: Rhs + ?Sized>(&mut self, rhs: &mut R, t: f64, x: &[f64]) {
        rhs.derivative(t, x, &mut self.stages[0]);
    }

    fn buffers(&mut self) -> Buffers<'_> {
        Buffers { slope: &self.stages[0], moved: &mut self.trial, changed: &mut self.error }
    }

    fn attempt<R: Rhs + ?Sized>(&mut self, rhs: &mut R, trial: &Trial<'_>, tolerances: &Tolerances) -> f64 {
        let &Trial { t, h, end, .. } = trial;
        self.stage(rhs, t + h / 5.0, &A2, trial);
        self.stage(rhs, t + h * 0.3, &A3, trial);
        self.stage(rhs, t + h * 0.8, &A4, trial);
        self.stage(rhs, t + h * (8.0 / 9.0), &A5, trial);
        self.stage(rhs, end, &A6, trial);
        self.stage(rhs, end, &A7, trial);
        combine(&E, &self.stages, &mut self.error);
        for error in &mut self.error {
            *error *= h;
        }
        scaled_error(&self.error, trial.x, &self.trial, tolerances)
    }

    fn accept(&mut self, x: &mut [f64]) {
        x.copy_from_slice(&self.trial);
    }

    fn resume<R: Rhs + ?Sized>(&mut self, _: &mut R, _: f64, _: &[f64]) {
        self.stages.swap(0, 6);
    }
}
