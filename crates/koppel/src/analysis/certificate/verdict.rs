//! From evidence to a verdict.
//!
//! | evidence                | band of the error                                    | trusted                        | wrong                  |
//! | ----------------------- | ---------------------------------------------------- | ------------------------------ | ---------------------- |
//! | linear model, e         | e / 1.5 to 1.5 e                                     | its upper end is at most 5 %   | its lower end > 10 %   |
//! | shadows, E_F and E_G    | D_F / 2 to 2 max(E_F, E_G)                           | that, and both agree           | its lower end > 10 %   |
//! | shadows, E_S            | D_S / 2 to 2 E_S                                     | that, and F and G lead to S    | its lower end > 10 %   |
//!
//! A *shadow* is the same run with another step: F at 0.618 H, G at 1.618 H, S at H / 5. With D the difference between run and shadow
//! relative to the smaller range, and p the order of the coupling,
//!
//!   E_F = D_F / (1 - 0.618^p),     E_G = D_G / (1.618^p - 1),     E_S = D_S / (1 - 0.2^p)                (1)
//!
//! F and G agree if E_F and E_G differ by no more than a factor of three, errors below 0.4 % counting as that. F is made first, and G
//! only if F leaves a chance of trust. Their ratio is irrational, so that no source that is sampled at H looks the same to them.
//!
//! S decides where doubt is left. It shares all communication points of the run: nothing is interpolated, and outputs that move
//! faster than the communication are compared rightly. But it is blind to a source with five periods in a step, as the run is.
//! So the run is trusted if 2 E_S is at most 5 % and the other runs lead to S: E_F agrees; or F lies near S, or nearer than G, in each
//! output, but for what has no mean over a third of the run (see [`super::confirm`]). The run is wrong if D_S / 2 is above 10 %. Runs
//! that differ from S as much as F does, but not at their begin, separate exponentially: of those nothing is known, unless all swing from
//! each point to the next, whatever the step is: such a swing is the coupling's own.

use serde::Serialize;

/// A run is trusted if its error is at most this at worst...
pub(super) const TRUSTED: f64 = 0.05;

/// ... and wrong if it is more than this at best.
const WRONG: f64 = 0.1;

/// Errors below this are not told apart.
const LEAST: f64 = 1e-3;

/// The band of an estimate by linear models, and by shadows, as a factor.
const OF_MODEL: f64 = 1.5;
const OF_SHADOW: f64 = 2.0;

/// Two estimates agree up to this factor, if they are larger than this.
const AGREE: f64 = 3.0;
const ALIKE: f64 = 4e-3;

/// What a run is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    /// Its error is too large to use it.
    Wrong,
    /// Its error is noticeable or not known for sure.
    Unconfirmed,
    /// Its error is small.
    Trusted,
}

/// A figure and what it may be in truth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// At least.
    pub low: f64,
    /// The estimate.
    pub error: f64,
    /// At most.
    pub high: f64,
}

impl Band {
    /// By linear models: relative to the smaller of two ranges, and to the larger one. Of a run that has exploded only the smaller one
    /// has a meaning.
    pub(super) fn of_model(error: f64, least: f64) -> Self {
        let least = if error > 1.0 { error } else { least };
        Band { low: least / OF_MODEL, error, high: at_least(OF_MODEL * error, LEAST) }
    }

    /// By the difference to a shadow, for a coupling of this order.
    pub(super) fn of_shadow(difference: f64, shadow: Shadow, order: u32) -> Self {
        let error = difference * shadow.scale(order);
        Band { low: difference / OF_SHADOW, error, high: at_least(OF_SHADOW * error, LEAST) }
    }

    /// True if an error by another shadow is small enough for trust, too.
    pub(super) fn allows(&self, error: f64) -> bool {
        error <= TRUSTED
    }

    /// The difference to the shadow it was taken from.
    pub(super) fn difference(&self) -> f64 {
        OF_SHADOW * self.low
    }

    /// Also with another estimate, which may be larger.
    pub(super) fn with(self, other: Band) -> Self {
        self.up_to(other.high)
    }

    /// Up to this at least.
    pub(super) fn up_to(self, high: f64) -> Self {
        Band { high: at_least(self.high, high), ..self }
    }

    /// What follows from it alone.
    pub(super) fn verdict(&self) -> RunVerdict {
        match self {
            // What is not a number is no small one.
            band if band.high <= TRUSTED => RunVerdict::Trusted,
            band if band.low > WRONG || band.low.is_nan() => RunVerdict::Wrong,
            _ => RunVerdict::Unconfirmed,
        }
    }
}

/// The larger of both; what is not a number stays so.
fn at_least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// True if two estimates tell the same.
pub(super) fn agree(a: f64, b: f64) -> bool {
    !at_least(a, b).is_nan() && a.max(b).max(ALIKE) <= AGREE * a.min(b).max(ALIKE)
}

/// The same run with another step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shadow {
    /// At 0.618 of its step.
    Finer,
    /// At 1.618 of its step.
    Coarser,
    /// At a fifth of its step.
    Finest,
}

impl Shadow {
    /// Its step as a multiple of that of the run.
    pub fn ratio(self) -> f64 {
        let golden = 0.5 * (5.0_f64.sqrt() + 1.0);
        match self {
            Shadow::Finer => 1.0 / golden,
            Shadow::Coarser => golden,
            Shadow::Finest => 0.2,
        }
    }

    /// How much larger the error is than the difference to this shadow, for a coupling of this order: (1).
    pub(super) fn scale(self, order: u32) -> f64 {
        1.0 / (1.0 - self.ratio().powi(order as i32)).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors c H^p of a run and of its shadows: (1) gives the error of the run.
    #[test]
    fn shadows_give_the_error_of_a_run_of_their_order() {
        for order in [1, 2] {
            let error = |h: f64| 0.03 * h.powi(order as i32);
            for shadow in [Shadow::Finer, Shadow::Coarser, Shadow::Finest] {
                let difference = (error(1.0) - error(shadow.ratio())).abs();
                assert!((difference * shadow.scale(order) - 0.03).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn verdicts_of_bands() {
        let of = |difference| Band::of_shadow(difference, Shadow::Finer, 1).verdict();
        assert_eq!(of(0.0095), RunVerdict::Trusted);
        assert_eq!(of(0.0096), RunVerdict::Unconfirmed);
        assert_eq!(of(0.19), RunVerdict::Unconfirmed);
        assert_eq!(of(0.21), RunVerdict::Wrong);
        assert_eq!((of(f64::NAN), of(f64::INFINITY)), (RunVerdict::Wrong, RunVerdict::Wrong));
        assert!(agree(1e-9, 0.011) && agree(0.02, 0.06) && !agree(0.02, 0.061) && !agree(f64::NAN, 0.5));
    }
}
