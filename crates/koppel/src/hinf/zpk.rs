//! Rational transfer functions by their zeros and poles.

use crate::linalg::{Complex, Matrix};
use crate::state_space::StateSpace;

/// k Π (s - z_i) / Π (s - p_i), real: complex zeros and poles come in pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Zpk {
    /// z_i, in rad/s.
    pub zeros: Vec<Complex>,
    /// p_i, in rad/s.
    pub poles: Vec<Complex>,
    /// k.
    pub gain: f64,
}

impl Zpk {
    /// Its value at s.
    pub fn at(&self, s: Complex) -> Complex {
        // Zeros and poles in turn, so that neither product overflows on its own.
        let mut value = Complex::from(self.gain);
        let longest = self.zeros.len().max(self.poles.len());
        for i in 0..longest {
            if let Some(zero) = self.zeros.get(i) {
                value = value * (s - *zero);
            }
            if let Some(pole) = self.poles.get(i) {
                value = value / (s - *pole);
            }
        }
        value
    }

    /// The product of two.
    pub fn times(mut self, other: &Zpk) -> Zpk {
        self.zeros.extend_from_slice(&other.zeros);
        self.poles.extend_from_slice(&other.poles);
        self.gain *= other.gain;
        self
    }

    /// A chain of sections of first and second order: well scaled for `time`, about one over the fastest pole.
    ///
    /// # Panics
    /// If there are more zeros than poles.
    pub fn state_space(&self, time: f64) -> StateSpace {
        assert!(self.zeros.len() <= self.poles.len(), "a transfer function that can be simulated is proper");
        let mut zeros = factors(&self.zeros, time);
        let mut chain = Chain::new();
        for pole in factors(&self.poles, time) {
            let fitting = zeros.iter().position(|zero| zero.len() <= pole.len());
            let zero = fitting.map_or_else(|| vec![1.0], |at| zeros.remove(at));
            chain.append(&zero, &pole);
        }
        assert!(zeros.is_empty(), "quadratic factors come first, so every zero finds its poles");
        let missing = (self.poles.len() - self.zeros.len()) as i32;
        chain.scaled(self.gain * time.powi(missing), time)
    }
}

/// Π (s - r) as real factors in s · time, constant term first, leading coefficient one: quadratic ones and, last, at
/// most one linear.
pub(super) fn factors(roots: &[Complex], time: f64) -> Vec<Vec<f64>> {
    let complex = roots.iter().filter(|root| root.im > 0.0).map(|root| *root * time);
    let mut list: Vec<_> = complex.map(|r| vec![r.re * r.re + r.im * r.im, -2.0 * r.re, 1.0]).collect();
    let real: Vec<f64> = roots.iter().filter(|root| root.im == 0.0).map(|root| root.re * time).collect();
    let (pairs, rest) = real.as_chunks::<2>();
    list.extend(pairs.iter().map(|[a, b]| vec![a * b, -(a + b), 1.0]));
    list.extend(rest.iter().map(|a| vec![-a, 1.0]));
    list
}

/// Sections in a row: the output of each is the input of the next.
struct Chain {
    system: StateSpace,
}

impl Chain {
    /// The identity.
    fn new() -> Self {
        let d = Matrix::identity(1);
        let system = StateSpace::gain(d);
        Chain { system }
    }

    /// Adds numerator over denominator, both with leading coefficient one.
    fn append(&mut self, numerator: &[f64], denominator: &[f64]) {
        let (old, n) = (&self.system, denominator.len() - 1);
        let through = if numerator.len() == denominator.len() { 1.0 } else { 0.0 };
        let part = |k: usize| numerator.get(k).copied().unwrap_or(0.0) - through * denominator[k];
        let m = old.a.rows();
        let mut a = Matrix::zeros(m + n, m + n);
        a.set_block(0, 0, &old.a);
        for k in 0..n - 1 {
            a[(m + k, m + k + 1)] = 1.0;
        }
        for k in 0..n {
            a[(m + n - 1, m + k)] = -denominator[k];
        }
        a.set_block(m + n - 1, 0, &old.c);
        let mut b = Matrix::zeros(m + n, 1);
        b.set_block(0, 0, &old.b);
        b[(m + n - 1, 0)] = old.d[(0, 0)];
        let c = Matrix::from_fn(1, m + n, |_, j| if j < m { through * old.c[(0, j)] } else { part(j - m) });
        let d = &old.d * through;
        self.system = StateSpace { a, b, c, d };
    }

    /// In seconds instead of multiples of `time`, times `gain`.
    fn scaled(self, gain: f64, time: f64) -> StateSpace {
        let StateSpace { a, b, c, d } = self.system;
        StateSpace { a: &a * (1.0 / time), b: &b * (1.0 / time), c: &c * gain, d: &d * gain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::solve;

    /// C (jω - A)⁻¹ B + D by the real system of twice the size.
    fn response(system: &StateSpace, omega: f64) -> Complex {
        let n = system.a.rows();
        let mut m = Matrix::zeros(2 * n, 2 * n);
        m.set_block(0, 0, &-&system.a);
        m.set_block(n, n, &-&system.a);
        for i in 0..n {
            m[(i, n + i)] = -omega;
            m[(n + i, i)] = omega;
        }
        let mut b = Matrix::zeros(2 * n, 1);
        b.set_block(0, 0, &system.b);
        let x = solve(&m, &b).unwrap();
        let (re, im) = (x.block(0, 0, n, 1), x.block(n, 0, n, 1));
        Complex::new((&system.c * &re)[(0, 0)] + system.d[(0, 0)], (&system.c * &im)[(0, 0)])
    }

    #[test]
    fn the_chain_has_the_response_of_its_zeros_and_poles() {
        let c = Complex::new;
        let cases = [
            Zpk { zeros: vec![], poles: vec![c(-3.0, 4.0), c(-3.0, -4.0)], gain: 25.0 },
            Zpk { zeros: vec![c(-7.0, 0.0)], poles: vec![c(-2.0, 0.0)], gain: -3.0 },
            Zpk {
                zeros: vec![c(-1.0, 2.0), c(-1.0, -2.0), c(-9.0, 0.0)],
                poles: vec![c(-5.0, 0.0), c(-6.0, 0.0), c(-8.0, 0.0), c(-2.0, 1.0), c(-2.0, -1.0)],
                gain: 4.0,
            },
        ];
        for zpk in cases {
            let system = zpk.state_space(0.1);
            for omega in [0.0, 0.3, 2.0, 11.0, 200.0] {
                let (a, b) = (response(&system, omega), zpk.at(Complex::imaginary(omega)));
                assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{omega}: {a:?} against {b:?}");
            }
        }
    }
}
