//! RODAS4, a stiffly accurate Rosenbrock method for stiff equations.
//!
//!   (1/(γh) I - J) u_i = f(t + c_i h, x + Σ_{j<i} a_ij u_j) + Σ_{j<i} (C_ij/h) u_j + h d_i ∂f/∂t,  i = 1 … 6     (1)
//!   x̂ = x + Σ a_6j u_j + u_6,     err = u_6                                              (2)
//!
//! with J = ∂f/∂x and a_6j = a_5j for j < 5, a_65 = 1. Order 4, error estimate of order 3, L-stable.
//! Hairer & Wanner, Solving ODEs II, IV.7 (the form without matrix-vector products); coefficients of their code RODAS (METH = 1).
//! One evaluation of J, ∂f/∂t and one factorisation per step; J serves again when a step is rejected.

use super::config::Tolerances;
use super::control::{Buffers, Embedded, Trial, scaled_error};
use super::rhs::{Point, Rhs};
use crate::linalg::{Lu, Matrix};

const GAMMA: f64 = 0.25;
const STAGES: usize = 6;
const C: [f64; STAGES] = [0.0, 0.386, 0.21, 0.63, 1.0, 1.0];
const D: [f64; STAGES] = [0.25, -0.1043, 0.1035, -0.036_200_000_000_000_23, 0.0, 0.0];
const A: [[f64; 5]; STAGES] = [
    [0.0; 5],
    [1.544, 0.0, 0.0, 0.0, 0.0],
    [0.946_678_528_081_582_6, 0.255_701_169_898_328_4, 0.0, 0.0, 0.0],
    [3.314_825_187_068_521, 2.896_124_015_972_201, 0.998_641_913_997_781_7, 0.0, 0.0],
    [1.221_224_509_226_641, 6.019_134_481_288_629, 12.537_083_329_320_87, -0.687_886_036_105_895, 0.0],
    [1.221_224_509_226_641, 6.019_134_481_288_629, 12.537_083_329_320_87, -0.687_886_036_105_895, 1.0],
];
const COUPLING: [[f64; 5]; STAGES] = [
    [0.0; 5],
    [-5.6688, 0.0, 0.0, 0.0, 0.0],
    [-2.430_093_356_833_875, -0.206_359_915_709_191_5, 0.0, 0.0, 0.0],
    [-0.107_352_905_815_137_5, -9.594_562_251_023_355, -20.470_286_148_096_16, 0.0, 0.0],
    [7.496_443_313_967_647, -10.246_804_314_643_52, -33.999_903_528_199_05, 11.708_908_932_061_6, 0.0],
    [
        8.083_246_795_921_522,
        -7.981_132_988_064_893,
        -31.521_594_328_743_71,
        16.319_305_431_231_36,
        -6.058_818_238_834_054,
    ],
];

/// Buffers of the method.
#[derive(Debug, Clone)]
pub(super) struct Rodas {
    slope: Vec<f64>,
    jacobian: Vec<f64>,
    time_derivative: Vec<f64>,
    matrix: Matrix,
    lu: Lu,
    stages: [Vec<f64>; STAGES],
    trial: Vec<f64>,
    scratch: Vec<f64>,
}

impl Rodas {
    pub(super) fn new(dim: usize) -> Rodas {
        Rodas {
            slope: vec![0.0; dim],
            jacobian: vec![0.0; dim * dim],
            time_derivative: vec![0.0; dim],
            matrix: Matrix::zeros(dim, dim),
            lu: Lu::default(),
            stages: std::array::from_fn(|_| vec![0.0; dim]),
            trial: vec![0.0; dim],
            scratch: vec![0.0; 2 * dim],
        }
    }

    fn linearize<R: Rhs + ?Sized>(&mut self, rhs: &mut R, trial: &Trial<'_>) {
        let at = Point { time: trial.t, step: trial.h, state: trial.x, derivative: &self.slope };
        rhs.jacobian(&at, &mut self.jacobian, &mut self.scratch);
        rhs.time_derivative(&at, &mut self.time_derivative, &mut self.scratch);
    }

    /// 1/(γh) I - J.
    fn fill_matrix(&mut self, h: f64) {
        let n = self.slope.len();
        let matrix = self.matrix.as_mut_slice();
        for (entry, derivative) in matrix.iter_mut().zip(&self.jacobian) {
            *entry = -derivative;
        }
        for i in 0..n {
            matrix[i * n + i] += 1.0 / (GAMMA * h);
        }
    }

    /// Equation (1) for one stage.
    fn stage<R: Rhs + ?Sized>(&mut self, rhs: &mut R, stage: usize, from: &Trial<'_>) {
        let (known, open) = self.stages.split_at_mut(stage);
        let u = &mut open[0];
        if stage == 0 {
            u.copy_from_slice(&self.slope);
        } else {
            self.trial.copy_from_slice(from.x);
            add(&A[stage], 1.0, known, &mut self.trial);
            let t = if C[stage] == 1.0 { from.end } else { from.t + C[stage] * from.h };
            rhs.derivative(t, &self.trial, u);
        }
        add(&COUPLING[stage], 1.0 / from.h, known, u);
        for (u, slope) in u.iter_mut().zip(&self.time_derivative) {
            *u += from.h * D[stage] * slope;
        }
        self.lu.solve_in_place(u);
    }
}

/// out += scale · Σ weights_j u_j.
fn add(weights: &[f64; 5], scale: f64, stages: &[Vec<f64>], out: &mut [f64]) {
    for (weight, stage) in weights.iter().zip(stages) {
        for (out, u) in out.iter_mut().zip(stage) {
            *out += weight * scale * u;
        }
    }
}

impl Embedded for Rodas {
    const ESTIMATE: i32 = 4;
    const BETA: f64 = 0.0;

    fn start<R: Rhs + ?Sized>(&mut self, rhs: &mut R, t: f64, x: &[f64]) {
        rhs.derivative(t, x, &mut self.slope);
    }

    fn buffers(&mut self) -> Buffers<'_> {
        Buffers { slope: &self.slope, moved: &mut self.trial, changed: &mut self.stages[STAGES - 1] }
    }

    fn attempt<R: Rhs + ?Sized>(&mut self, rhs: &mut R, trial: &Trial<'_>, tolerances: &Tolerances) -> f64 {
        if !trial.repeated {
            self.linearize(rhs, trial);
        }
        self.fill_matrix(trial.h);
        if self.lu.refactor(&self.matrix).is_err() {
            return f64::INFINITY;
        }
        for stage in 0..STAGES {
            self.stage(rhs, stage, trial);
        }
        let error = &self.stages[STAGES - 1];
        for (trial, u) in self.trial.iter_mut().zip(error) {
            *trial += u;
        }
        scaled_error(error, trial.x, &self.trial, tolerances)
    }

    fn accept(&mut self, x: &mut [f64]) {
        x.copy_from_slice(&self.trial);
    }

    fn resume<R: Rhs + ?Sized>(&mut self, rhs: &mut R, t: f64, x: &[f64]) {
        rhs.derivative(t, x, &mut self.slope);
    }
}
