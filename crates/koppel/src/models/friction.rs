//! A mass on a rough rail (LuGre friction), pulled by an actuator through a spring.
//!
//!   `lugre-mass`:  m x'' = F - F_f,   z' = v - σ0 |v| z / g(v),   g(v) = Fc + (Fs - Fc) e^{-(v/vs)²}
//!                  F_f = σ0 z + σ1 z' + σ2 v                                             (1)
//!   `driver`:      T s' = w - s,   F = k (s - x) + d (s' - v)                            (2)
//!
//! | symbol     | meaning                                    | unit            |
//! | z          | mean deflection of the bristles            | m               |
//! | σ0, σ1, σ2 | bristle stiffness, bristle and viscous damping | N/m, N.s/m, N.s/m |
//! | Fc, Fs, vs | Coulomb and static friction, Stribeck velocity | N, N, m/s   |
//! | w, s       | commanded and real position of the actuator | m              |
//!
//! In steady sliding z' = 0, hence F_f = g(v) sign v + σ2 v. (1): Chen et al. 2021, (18), Table 5 (rack), where Fs = Fc
//! and so vs does not matter. (2) is ours: the paper drives the rack through a steering gear.

use super::entry::{Equations, ModelEntry, Parameter, Port, State, first};
use crate::linalg::Matrix;
use crate::system::StateSpace;

/// Parameters of the friction, Chen et al. 2021, Table 5.
pub(super) const LUGRE: [Parameter; 6] = [
    Parameter::new("sigma0", 5e5, "N/m", "stiffness of the bristles").positive(),
    Parameter::new("sigma1", 316.0, "N.s/m", "damping of the bristles").not_negative(),
    Parameter::new("sigma2", 0.4, "N.s/m", "viscous friction").not_negative(),
    Parameter::new("Fc", 320.0, "N", "Coulomb friction").positive(),
    Parameter::new("Fs", 320.0, "N", "static friction").positive(),
    Parameter::new("vs", 0.01, "m/s", "Stribeck velocity").positive(),
];

pub(super) const LUGRE_MASS: ModelEntry = ModelEntry {
    name: "lugre-mass",
    description: "mass with LuGre friction; takes a force, gives position and velocity",
    source: "Chen et al. 2021, (18), Table 5",
    parameters: &[
        Parameter::new("m", 3.78, "kg", "mass").positive(),
        LUGRE[0],
        LUGRE[1],
        LUGRE[2],
        LUGRE[3],
        LUGRE[4],
        LUGRE[5],
        Parameter::new("x0", 0.0, "m", "position at the start"),
        Parameter::new("v0", 0.0, "m/s", "velocity at the start"),
    ],
    inputs: &[Port::new("F", "N", "force")],
    outputs: &[
        Port::new("x", "m", "position of the mass"),
        Port::new("v", "m/s", "velocity of the mass"),
        Port::new("friction", "N", "friction force"),
    ],
    states: &[
        State::new("x", "m", "position of the mass").starts_at("x0"),
        State::new("v", "m/s", "velocity of the mass").starts_at("v0"),
        State::new("z", "m", "mean deflection of the bristles"),
    ],
    equations: Equations::General {
        derivative: |p, x, u, dx| {
            let (friction, slip) = lugre(p, x);
            dx[0] = x[1];
            dx[1] = (u[0] - friction) / p[0];
            dx[2] = slip;
        },
        output: |p, x, _, y| {
            y[..2].copy_from_slice(&x[..2]);
            y[2] = lugre(p, x).0;
        },
    },
};

/// F_f and z' of equation (1); a mass, its friction and the states x, v, z come first.
pub(super) fn lugre(p: &[f64], x: &[f64]) -> (f64, f64) {
    let [_, sigma0, sigma1, sigma2, fc, fs, vs] = first(p);
    let [_, v, z] = first(x);
    let g = fc + (fs - fc) * (-(v / vs).powi(2)).exp();
    let slip = v - sigma0 * v.abs() * z / g;
    (sigma0 * z + sigma1 * slip + sigma2 * v, slip)
}

pub(super) const DRIVER: ModelEntry = ModelEntry {
    name: "driver",
    description: "actuator that pulls through a spring and damper; takes a command and the mass' motion, gives the force on it",
    source: "equation (2) of models/friction.rs",
    parameters: &[
        Parameter::new("T", 0.05, "s", "lag of the actuator").positive(),
        Parameter::new("k", 2e4, "N/m", "stiffness of the spring").not_negative(),
        Parameter::new("d", 50.0, "N.s/m", "damping beside the spring").not_negative(),
        Parameter::new("s0", 0.0, "m", "position of the actuator at the start"),
    ],
    inputs: &[
        Port::new("w", "m", "commanded position"),
        Port::new("x", "m", "position of the mass"),
        Port::new("v", "m/s", "velocity of the mass"),
    ],
    outputs: &[
        Port::new("F", "N", "force on the mass").fed_by(&[0, 1, 2]),
        Port::new("s", "m", "position of the actuator"),
    ],
    states: &[State::new("s", "m", "position of the actuator").starts_at("s0")],
    equations: Equations::Linear(|p| {
        let [lag, k, d] = first(p);
        StateSpace {
            a: Matrix::from_slice(1, 1, &[-1.0 / lag]),
            b: Matrix::from_slice(1, 3, &[1.0 / lag, 0.0, 0.0]),
            c: Matrix::from_slice(2, 1, &[k - d / lag, 1.0]),
            d: Matrix::from_slice(2, 3, &[d / lag, -k, -d, 0.0, 0.0, 0.0]),
        }
    }),
};
