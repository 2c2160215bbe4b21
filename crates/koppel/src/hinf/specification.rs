//! What a compensator is designed for.

use super::Zpk;
use crate::error::{Error, Result};
use crate::linalg::Complex;
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};

/// How sent values are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldOrder {
    /// The newest value.
    #[default]
    Zoh,
    /// The line through the newest two.
    Foh,
    /// The parabola through the newest three.
    Soh,
}

impl HoldOrder {
    /// Values it needs.
    pub fn points(self) -> usize {
        match self {
            HoldOrder::Zoh => 1,
            HoldOrder::Foh => 2,
            HoldOrder::Soh => 3,
        }
    }

    /// The hold divided by H, exactly: Chen et al. 2021, (4).
    pub fn transfer(self, step: f64, s: Complex) -> Complex {
        let x = s * step;
        let mean = if x.abs() < 1e-4 {
            Complex::ONE - x * 0.5 + x * x * (1.0 / 6.0)
        } else {
            (Complex::ONE - (-x).exp()) / x
        };
        match self {
            HoldOrder::Zoh => mean,
            HoldOrder::Foh => (Complex::ONE + x) * mean.powi(2),
            HoldOrder::Soh => (Complex::ONE + x * 1.5 + x * x) * mean.powi(3),
        }
    }

    /// The same with (1 - e^{-x})/x ≈ 1/(1 + x/2 + x²/12).
    pub fn approximated(self, step: f64) -> Zpk {
        let count = self.points();
        let pole = Complex::new(-3.0, 3_f64.sqrt());
        let poles = (0..count).flat_map(|_| pair(pole, 1.0 / step)).collect();
        let mean_gain = 12.0 / (step * step);
        match self {
            HoldOrder::Zoh => Zpk { zeros: Vec::new(), poles, gain: mean_gain },
            HoldOrder::Foh => {
                Zpk { zeros: vec![Complex::from(-1.0 / step)], poles, gain: step * mean_gain.powi(2) }
            }
            HoldOrder::Soh => Zpk {
                zeros: pair(Complex::new(-0.75, 7_f64.sqrt() / 4.0), 1.0 / step).into(),
                poles,
                gain: step * step * mean_gain.powi(3),
            },
        }
    }
}

fn pair(z: Complex, factor: f64) -> [Complex; 2] {
    [z * factor, Complex::new(z.re, -z.im) * factor]
}

/// Everything a design depends on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Specification {
    /// H, in s.
    pub step: f64,
    /// How sent values are held.
    pub hold: HoldOrder,
    /// Order of the smoother K2.
    pub smoother_order: usize,
    /// Corner of the smoother, in Hz.
    pub smoother_hz: f64,
    /// Order of the weight W.
    pub weight_order: usize,
    /// Corner of the weight, in Hz.
    pub weight_hz: f64,
    /// Poles λ of the compensator obey |1 + disc λ| < 1; in s.
    pub disc: f64,
}

impl Specification {
    /// Chen et al. 2021, 3.3: smoother at 0.5/H, weight of `weight_order` at 0.01, 0.03 or 0.06 over H; disc H/10.
    pub fn new(step: f64, weight_order: usize) -> Self {
        let corner = match weight_order {
            0 | 1 => 0.01,
            2 => 0.03,
            _ => 0.06,
        };
        Specification {
            step,
            hold: HoldOrder::Zoh,
            smoother_order: 2,
            smoother_hz: 0.5 / step,
            weight_order,
            weight_hz: corner / step,
            disc: 0.1 * step,
        }
    }

    /// Refuses what cannot be designed, naming the setting.
    pub fn check(&self) -> Result<()> {
        for (what, value) in [
            ("step", self.step),
            ("smoother_hz", self.smoother_hz),
            ("weight_hz", self.weight_hz),
            ("disc", self.disc),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(bad(what, value, "must be a number above zero"));
            }
        }
        self.check_orders()?;
        if self.weight().poles.iter().any(|pole| !self.is_in_disc(*pole)) {
            let longest = (PI / (2.0 * self.weight_order as f64)).sin() / (PI * self.weight_hz);
            let problem = format!(
                "is too high for a disc of {} s: the disc must stay below {longest:.3e} s",
                self.disc
            );
            return Err(bad("weight_hz", self.weight_hz, &problem));
        }
        if self.hold.approximated(self.step).zeros.iter().any(|zero| !self.is_in_disc(*zero)) {
            let problem = format!("is too long for a hold of this order at a step of {} s", self.step);
            return Err(bad("disc", self.disc, &problem));
        }
        Ok(())
    }

    /// The part of [`Specification::check`] that does not depend on the step.
    pub(crate) fn check_orders(&self) -> Result<()> {
        if !(1..=3).contains(&self.weight_order) {
            return Err(bad("weight_order", self.weight_order, "must be 1, 2 or 3"));
        }
        if !(1..=4).contains(&self.smoother_order) {
            return Err(bad("smoother_order", self.smoother_order, "must lie in 1 to 4"));
        }
        Ok(())
    }

    fn is_in_disc(&self, pole: Complex) -> bool {
        (Complex::ONE + pole * self.disc).abs() < 1.0 - 1e-9
    }

    /// W.
    pub fn weight(&self) -> Zpk {
        butterworth(self.weight_order, self.weight_hz)
    }

    /// K2.
    pub fn smoother(&self) -> Zpk {
        butterworth(self.smoother_order, self.smoother_hz)
    }
}

/// A low-pass with its poles evenly on the left half of a circle.
fn butterworth(order: usize, hz: f64) -> Zpk {
    let radius = TAU * hz;
    let pole = |k: usize| {
        let angle = PI * (2 * k + 1 + order) as f64 / (2 * order) as f64;
        // The middle pole of an odd order lies on the real axis, exactly.
        let im = if 2 * k + 1 == order { 0.0 } else { angle.sin() };
        Complex::new(angle.cos(), im) * radius
    };
    Zpk { zeros: Vec::new(), poles: (0..order).map(pole).collect(), gain: radius.powi(order as i32) }
}

pub(super) fn bad(what: &str, value: impl ToString, problem: &str) -> Box<Error> {
    crate::error::bad(&format!("hinf.{what}"), value, problem)
}

#[cfg(test)]
mod tests {
    use super::super::zpk::factors;
    use super::*;

    #[test]
    fn the_papers_base_terms() {
        // Chen et al. 2021, (12): H* = 120000 / (s² + 600 s + 1.2e5), K2 = 9.87e4 / (s² + 444.3 s + 9.87e4).
        let specification = Specification::new(0.01, 1);
        let hold = &factors(&specification.hold.approximated(0.01).poles, 1.0)[0];
        assert!((hold[0] - 1.2e5).abs() < 1e-6 && (hold[1] - 600.0).abs() < 1e-9);
        let smoother = &factors(&specification.smoother().poles, 1.0)[0];
        assert!((smoother[0] - 9.87e4).abs() < 5.0 && (smoother[1] - 444.3).abs() < 0.05);
        assert!((specification.weight().poles[0].re + TAU).abs() < 1e-12);
        assert_eq!(specification.weight().poles[0].im, 0.0);
    }

    #[test]
    fn approximated_holds_are_right_at_low_frequency() {
        for hold in [HoldOrder::Zoh, HoldOrder::Foh, HoldOrder::Soh] {
            let s = Complex::imaginary(TAU * 0.02);
            let distance = (hold.transfer(1.0, s) - hold.approximated(1.0).at(s)).abs();
            // The first term that the fraction misses is x⁴/720, once for each factor.
            let missed = hold.points() as f64 * s.abs().powi(4) / 720.0;
            assert!((distance / missed - 1.0).abs() < 0.1, "{hold:?}: {distance:e} against {missed:e}");
            let (small, smaller) = (Complex::imaginary(1.01e-4), Complex::imaginary(0.99e-4));
            assert!((hold.transfer(1.0, small) - hold.transfer(1.0, smaller)).abs() < 1e-5);
        }
    }

    #[test]
    fn what_cannot_be_designed_is_named() {
        let good = Specification::new(0.01, 1);
        let message = |specification: Specification| specification.check().unwrap_err().to_string();
        assert!(message(Specification { disc: 0.0, ..good }).contains("hinf.disc"));
        assert!(message(Specification { weight_order: 4, ..good }).contains("must be 1, 2 or 3"));
        let high = message(Specification { weight_hz: 400.0, ..good });
        assert!(high.contains("disc must stay below 7.958e-4 s"), "{high}");
        let long = Specification { hold: HoldOrder::Soh, disc: 0.016, weight_hz: 1.0, ..good };
        assert!(message(long).contains("too long"));
    }
}
