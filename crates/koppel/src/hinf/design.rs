//! A compensator that was found, and what it does.

use super::{Specification, Zpk};
use crate::linalg::Complex;
use crate::state_space::StateSpace;

/// A compensator with the smoother it was made for.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// What it was designed for.
    pub specification: Specification,
    /// γ: ‖W (1 - F)‖∞ over the outside of the disc, which holds the right half-plane.
    pub gamma: f64,
    /// K1.
    pub compensator: Zpk,
    /// F = K2 H* K1, without the zeros and poles that cancel.
    pub transfer: Zpk,
}

impl Design {
    /// 1 - K2 H* K1 as designed, with the approximated hold.
    pub fn error(&self, s: Complex) -> Complex {
        Complex::ONE - self.transfer.at(s)
    }

    /// 1 - K2 H* K1 with the hold as it is: what happens to a signal of low frequency.
    pub fn real_error(&self, s: Complex) -> Complex {
        let Specification { hold, step, .. } = self.specification;
        let smoother = self.specification.smoother();
        Complex::ONE - smoother.at(s) * hold.transfer(step, s) * self.compensator.at(s)
    }

    /// K1(∞), by which a jump just before an exchange is multiplied.
    pub fn jump_gain(&self) -> f64 {
        self.compensator.gain
    }

    /// F(0): what becomes of a constant, 1 ∓ γ.
    pub fn static_gain(&self) -> f64 {
        self.transfer.at(Complex::ZERO).re
    }

    /// K1 as matrices, one input and one output.
    pub fn compensator_matrices(&self) -> StateSpace {
        self.compensator.state_space(self.specification.disc)
    }

    /// K2 as matrices, one input and one output.
    pub fn smoother_matrices(&self) -> StateSpace {
        let corner = std::f64::consts::TAU * self.specification.smoother_hz;
        self.specification.smoother().state_space(1.0 / corner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HoldOrder, designed};
    use super::*;
    use std::f64::consts::TAU;

    fn paper(weight_order: usize, weight_hz: f64, smoother_hz: f64) -> Specification {
        Specification { weight_hz, smoother_hz, ..Specification::new(0.01, weight_order) }
    }

    fn hz(f: f64) -> Complex {
        Complex::imaginary(TAU * f)
    }

    /// 400 frequencies from `low` to `high`, in Hz, evenly on a logarithmic scale.
    fn sweep(low: f64, high: f64) -> impl Iterator<Item = f64> {
        (0..400).map(move |k| low * (high / low).powf(f64::from(k) / 399.0))
    }

    #[test]
    fn the_norms_of_the_three_proposed_weights() {
        for (order, corner, gamma) in [(1, 1.0, 0.01795), (2, 3.0, 0.002408), (3, 6.0, 0.000716)] {
            let design = designed(&paper(order, corner, 50.0)).unwrap();
            let last_digit = if order == 1 { 5e-6 } else { 5e-7 };
            assert!((design.gamma - gamma).abs() < last_digit, "order {order}: {}", design.gamma);
        }
    }

    /// The norm is reached everywhere on the circle |1 + h s| = 1 and nowhere exceeded outside.
    #[test]
    fn the_weighted_error_is_the_norm_on_the_circle() {
        for hold in [HoldOrder::Zoh, HoldOrder::Foh, HoldOrder::Soh] {
            for order in 1..=3 {
                for smoother_order in 1..=3 {
                    let specification =
                        Specification { hold, smoother_order, ..Specification::new(0.05, order) };
                    let design = designed(&specification).unwrap();
                    let weight = specification.weight();
                    for k in 0..36 {
                        let z = Complex::imaginary(TAU * (f64::from(k) + 0.5) / 36.0).exp();
                        let s = (z - Complex::ONE) * (1.0 / specification.disc);
                        let norm = (weight.at(s) * design.error(s)).abs();
                        assert!((norm / design.gamma - 1.0).abs() < 1e-6, "{specification:?}: {norm}");
                    }
                    for f in sweep(1e-3, 1e4) {
                        let norm = (weight.at(hz(f)) * design.error(hz(f))).abs();
                        assert!(norm < design.gamma * (1.0 + 1e-6), "{specification:?}, {f} Hz: {norm}");
                    }
                }
            }
        }
    }

    #[test]
    fn poles_lie_in_the_disc_and_nothing_is_improper() {
        for hold in [HoldOrder::Zoh, HoldOrder::Foh, HoldOrder::Soh] {
            for order in 1..=3 {
                let design = designed(&Specification { hold, ..Specification::new(0.02, order) }).unwrap();
                let compensator = &design.compensator;
                assert_eq!(compensator.zeros.len(), compensator.poles.len(), "biproper");
                for pole in &compensator.poles {
                    let size = (Complex::ONE + *pole * design.specification.disc).abs();
                    assert!(size < 1.0, "{pole:?}");
                }
            }
        }
    }

    /// Chen et al. 2021, (13), with the gain 81.9 that the print leaves out.
    #[test]
    fn the_papers_compensator() {
        let design = designed(&paper(1, 1.0, 50.0)).unwrap();
        let printed = |s: Complex| {
            let quadratic = |a1: f64, a0: f64| s * s + s * a1 + Complex::from(a0);
            let linear = |a0: f64| s + Complex::from(a0);
            linear(1942.9) * linear(6.2789) * quadratic(599.9, 1.2e5) * quadratic(444.3, 9.87e4) * 81.9
                / (linear(1924.0) * linear(6.2837) * quadratic(2240.0, 1.392e6) * quadratic(774.8, 7.154e5))
        };
        for f in sweep(0.1, 50.0) {
            let ratio = design.compensator.at(hz(f)) / printed(hz(f));
            let decibel = 20.0 * ratio.abs().log10();
            assert!(decibel.abs() < 1.2, "{f} Hz: {decibel} dB");
            assert!(ratio.angle().to_degrees().abs() < 2.0, "{f} Hz: {}°", ratio.angle().to_degrees());
        }
    }

    #[test]
    fn gains_of_jumps_and_constants() {
        // Known: 1.5e5 for H = 50 ms and a disc of 1 ms, 240 for 5 ms.
        let slow = designed(&Specification::new(0.05, 1)).unwrap();
        assert!((slow.jump_gain() - 240.0).abs() < 1.0, "{}", slow.jump_gain());
        let fast = designed(&Specification { disc: 1e-3, ..Specification::new(0.05, 1) }).unwrap();
        assert!((fast.jump_gain() / 1.5e5 - 1.0).abs() < 0.02, "{}", fast.jump_gain());
        assert!(((1.0 - slow.static_gain()).abs() - slow.gamma).abs() < 1e-9);
    }

    #[test]
    fn the_matrices_have_the_static_gain() {
        let design = designed(&Specification::new(0.05, 3)).unwrap();
        let gain = |system: StateSpace| {
            let x = crate::linalg::solve(&system.a, &system.b).unwrap();
            (&system.d - &(&system.c * &x))[(0, 0)]
        };
        assert!((gain(design.compensator_matrices()) - design.static_gain()).abs() < 1e-9);
        assert!((gain(design.smoother_matrices()) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn designs_are_kept() {
        let one = designed(&Specification::new(0.037, 2)).unwrap();
        let two = designed(&Specification::new(0.037, 2)).unwrap();
        assert!(std::sync::Arc::ptr_eq(&one, &two));
    }
}
