//! Compensators by linear matrix inequalities, for comparison with the closed form of `koppel::hinf`.
//!
//! K1 shall make ‖T‖∞ small, T = W (1 - K2 H* K1), with its poles in a disc. The paper closes the loop of hold, smoother, weight and a
//! K1 of the same order, and asks for one matrix P that proves both the norm and the place of the poles. Two things make that
//! smaller and leave the least γ as it is:
//!
//! * K1 sees nothing but the signal u that it passes on. So it knows all states x, which u and its own output v have moved from
//!   rest, and the problem is one of state feedback, v = K x + L u;
//! * F = K2 H* K1 may be any function that falls with s^{-r}, r = relative degree of K2 H*. So r lags 1/(1 + h s) stand for hold and
//!   smoother, which K1 = F/(K2 H*) takes out again.
//!
//! With the lags and the weight as x' = A x + B1 u + B2 v, e = C x, and X = P⁻¹, Y = K X, the conditions are linear:
//!
//!   | A X + B2 Y + (..)ᵀ   B1 + B2 L   X Cᵀ |         | -ρ X              X + h (A X + B2 Y) |
//!   | (..)ᵀ                -γ          0    | < 0,    | (..)ᵀ             -ρ X               | < 0        (1)
//!   | C X                  0           -γ   |
//!
//! | symbol | meaning                                                        | here            |
//! | h      | poles λ of F obey \|1 + h λ\| < ρ                              | `disc`          |
//! | ρ      | 1 less a margin: without one, poles lie on the circle and ring | `margin`        |
//! | γ      | what is minimised; ‖T‖∞ ≤ γ                                    | `Design::gamma` |
//!
//! Chen et al. 2021, (19)-(23), with the disc of its section 3.2. Differs from the paper in: the above, and the margin. The closed form
//! bounds |T| outside the disc instead of in the right half-plane, which implies both of (1): its γ cannot be smaller. The
//! program is solved by [`barrier`].

mod barrier;
mod cholesky;
mod plant;

use barrier::Solved;
use koppel::hinf::{Design, Specification, Zpk};
use koppel::linalg::{Complex, LinalgError, Matrix, eigenvalues};
use koppel::{Error, Result};
use plant::Plant;

/// Margin that keeps poles off the circle.
pub const MARGIN: f64 = 0.01;

/// The compensator of least γ of (1).
pub fn synthesize(specification: &Specification, margin: f64) -> Result<Design> {
    specification.check()?;
    if !(0.0..1.0).contains(&margin) {
        let problem = "must be zero or above, and below one".into();
        return Err(Error::Setting { what: "hinf.margin".into(), value: margin.to_string(), problem }.into());
    }
    let path = specification.smoother().times(&specification.hold.approximated(specification.step));
    let lags = path.poles.len() - path.zeros.len();
    let plant = Plant::new(specification, lags);
    let Solved { k, l, gamma } = barrier::solve(&plant, 1.0 - margin)?;
    let h = specification.disc;
    let roots = |matrix: &Matrix| -> Result<Vec<Complex>> {
        Ok(eigenvalues(matrix).map_err(failed)?.into_iter().map(|z| z * (1.0 / h)).collect())
    };
    let poles = roots(&(&plant.a + &(&plant.b2 * &k)))?;
    // u moves the weight alone, so the feedback's zeros are the lags' poles, and as many more as the weight has states.
    let n = plant.weights();
    let fed_back = &plant.b1.block(lags, 0, n, 1) * &k.block(0, lags, 1, n);
    let zeros = roots(&(&plant.a.block(lags, lags, n, n) - &(&fed_back * (1.0 / l))))?;
    let transfer = Zpk { zeros, poles, gain: l / h.powi(lags as i32) };
    let compensator = Zpk {
        zeros: [&transfer.zeros[..], &path.poles].concat(),
        poles: [&transfer.poles[..], &path.zeros].concat(),
        gain: transfer.gain / path.gain,
    };
    Ok(Design { specification: *specification, gamma, compensator, transfer })
}

/// The largest |T| over the frequencies of the right half-plane's edge, sampled: what γ bounds.
pub fn norm(design: &Design) -> f64 {
    let weight = design.specification.weight();
    let size = |k: i32| {
        // Six decades below ten over the disc.
        let omega = 10_f64.powf(f64::from(k) * 1e-3 - 5.0) / design.specification.disc;
        let s = Complex::imaginary(omega);
        (weight.at(s) * design.error(s)).abs()
    };
    (0..=6000).map(size).fold(0.0, f64::max)
}

fn failed(source: LinalgError) -> Box<Error> {
    Error::Linalg { what: "H∞ synthesis by matrix inequalities".into(), source }.into()
}
