//! The poles of a fitted model: how fast a subsystem is.
//!
//! The increments obey Δy_j = Σ A_i Δy_{j-i}; the eigenvalues z of the companion matrix of A_1..A_p are those of the
//! subsystem over one sub-step, s = ln(z) / τ. Of an order that is larger than needed some have no meaning: those that are
//! over within a fraction of a sub-step, and those on the negative axis, are left out.

use crate::identify::NodeFit;
use crate::linalg::{Complex, Matrix, eigenvalues};

/// Eigenvalues below this are over within a sub-step.
const OVER: f64 = 0.05;

impl NodeFit {
    /// Poles in 1/s, slowest first; of a pair the one above the real axis. `tau` is the sub-step.
    pub fn poles(&self, tau: f64) -> Vec<Complex> {
        let (n, p) = (self.velocity.size.outputs, self.order);
        let width = p * n + (p + 1) * self.velocity.size.inputs;
        let mut companion = Matrix::zeros(n * p, n * p);
        for output in 0..n {
            for back in 1..=p {
                for k in 0..n {
                    companion[(output, (back - 1) * n + k)] = self.theta[output * width + (p - back) * n + k];
                }
            }
        }
        for row in n..n * p {
            companion[(row, row - n)] = 1.0;
        }
        let is_one = |z: &Complex| z.abs() > OVER && z.im >= 0.0 && (z.re > 0.0 || z.im > 1e-9 * z.abs());
        let pole = |z: Complex| Complex { re: z.abs().ln() / tau, im: z.im.atan2(z.re) / tau };
        let found = eigenvalues(&companion).unwrap_or_default();
        let mut poles: Vec<Complex> = found.into_iter().filter(is_one).map(pole).collect();
        poles.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        poles
    }

    /// How many nodes of the past the model uses.
    pub fn order(&self) -> usize {
        self.order
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::node_fit::{Experiment, fit};

    /// Two subsystems in one: y1' = -2 y1 + u, and y2'' = -25 y2 - 2 y2' + u, sampled.
    #[test]
    fn poles_are_those_of_the_subsystem() {
        let (tau, micro) = (0.02, 200);
        let mut data = Vec::new();
        let mut noise = 7_u32;
        for _ in 0..6 {
            let (mut a, mut b, mut rate, mut u) = (0.0, 0.0, 0.0, 0.0);
            let mut experiment = Experiment { outputs: vec![0.0, 0.0], inputs: vec![0.0] };
            for _ in 0..160 {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let next = if noise >> 31 == 0 { 1.0 } else { -1.0 };
                let h = tau / f64::from(micro);
                for k in 0..micro {
                    let now = u + (next - u) * (f64::from(k) + 0.5) / f64::from(micro);
                    let (middle_a, middle_b) = (a + 0.5 * h * (now - 2.0 * a), b + 0.5 * h * rate);
                    let middle_rate = rate + 0.5 * h * (now - 25.0 * b - 2.0 * rate);
                    a += h * (now - 2.0 * middle_a);
                    rate += h * (now - 25.0 * middle_b - 2.0 * middle_rate);
                    b += h * middle_rate;
                }
                u = next;
                experiment.outputs.extend([a, 5.0 * b]);
                experiment.inputs.push(u);
            }
            data.push(experiment);
        }
        let poles = fit(2, 1, &data, 10).unwrap().poles(tau);
        let near =
            |re: f64, im: f64| poles.iter().any(|p| (p.re - re).abs() < 0.02 && (p.im - im).abs() < 0.02);
        assert!(near(-2.0, 0.0) && near(-1.0, 24_f64.sqrt()), "{poles:?}");
    }
}
