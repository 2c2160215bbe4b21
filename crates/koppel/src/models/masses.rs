//! Masses between a wall and each other: the parts of every dual-mass oscillator.
//!
//! ```text
//!   wall --c,d-- [m] --ck,dk-- [m] --c,d-- wall
//! ```
//!
//! `mass`, the one without the coupling spring:
//!
//!   m x'' = -c x - d x' + F + F_ext                                                      (1)
//!
//! `spring-mass`, the one that carries it; x_o, v_o belong to the other mass and F acts on that one:
//!
//!   F = ck (x - x_o) + dk (x' - v_o),     m x'' = -c x - d x' - F                         (2)
//!
//! `progressive-spring-mass`: (2) with coefficients that grow with stretch s = x - x_o and its rate s' = x' - v_o:
//!
//!   ck = max(min(c₀ |s|^(nc-1), ck_max), ck_min),   dk = max(min(d₀ |s'|^(nd-1), dk_max), dk_min)        (3)
//!
//! `displacement-mass`: (2) with the outputs x, x' in place of F. Two of them, each with its own copy of the spring,
//! make the displacement/displacement causality.
//!
//! `velocity-spring-mass`: (2) knowing only the other's velocity; it integrates x_o itself: x_o' = v_o.
//!
//! `van-der-pol`: x'' = μ (1 - x²) x' - x + F.                                             (4)
//!
//! | symbol | meaning                                  | unit   |
//! | m      | mass                                     | kg     |
//! | c, d   | stiffness and damping to the wall        | N/m, N.s/m |
//! | ck, dk | stiffness and damping of the coupling    | N/m, N.s/m |
//! | F      | coupling force                           | N      |
//!
//! (1), (2): Genser 2020, (3.1)-(3.4), (3.8); Glumac & Kovacic 2018, (39)-(40), where d_2/m_1 means d_2/m_2.
//! (3): Genser 2020, (3.6)-(3.7), Table 3.1. `velocity-spring-mass`: Chen et al. 2021, 4.1, which names the states
//! x, x' only; a model that is given a velocity and returns a spring force must integrate it, so there is a third.

use super::entry::{Equations, ModelEntry, Parameter, Port, State, first};
use crate::linalg::Matrix;
use crate::system::StateSpace;

const STATES: &[State] = &[
    State::new("x", "m", "position of the mass").starts_at("x0"),
    State::new("v", "m/s", "velocity of the mass").starts_at("v0"),
];
/// States beside inputs that are called `x` and `v`.
const OWN: &[State] = &[
    State::new("x_own", "m", "position of the mass").starts_at("x0"),
    State::new("v_own", "m/s", "velocity of the mass").starts_at("v0"),
];
const POSITION_AND_VELOCITY: &[Port] =
    &[Port::new("x", "m", "position of the mass"), Port::new("v", "m/s", "velocity of the mass")];
const OTHER_MASS: &[Port] =
    &[Port::new("x", "m", "position of the other mass"), Port::new("v", "m/s", "velocity of the other mass")];
const FORCE: &[Port] = &[Port::new("F", "N", "force on the other mass").fed_by(&[0, 1])];

const X0: Parameter = Parameter::new("x0", 0.0, "m", "position at the start");
const V0: Parameter = Parameter::new("v0", 0.0, "m/s", "velocity at the start");

pub(super) const MASS: ModelEntry = ModelEntry {
    name: "mass",
    description: "mass with spring and damper to the wall; takes a force, gives position and velocity",
    source: "Genser 2020, (3.1)-(3.2), (3.8)",
    parameters: &[
        Parameter::new("m", 10.0, "kg", "mass").positive(),
        Parameter::new("c", 1e6, "N/m", "stiffness to the wall").not_negative(),
        Parameter::new("d", 1.0, "N.s/m", "damping to the wall").not_negative(),
        X0,
        V0,
    ],
    inputs: &[Port::new("F", "N", "force of the coupling"), Port::new("F_ext", "N", "force from outside")],
    outputs: POSITION_AND_VELOCITY,
    states: STATES,
    equations: Equations::Linear(|p| {
        let [m, c, d] = first(p);
        StateSpace {
            a: Matrix::from_slice(2, 2, &[0.0, 1.0, -c / m, -d / m]),
            b: Matrix::from_slice(2, 2, &[0.0, 0.0, 1.0 / m, 1.0 / m]),
            c: Matrix::identity(2),
            d: Matrix::zeros(2, 2),
        }
    }),
};

const LINEAR_COUPLING: &[Parameter] = &[
    Parameter::new("m", 10.0, "kg", "mass").positive(),
    Parameter::new("c", 1e7, "N/m", "stiffness to the wall").not_negative(),
    Parameter::new("d", 2.0, "N.s/m", "damping to the wall").not_negative(),
    Parameter::new("ck", 1e5, "N/m", "stiffness of the coupling").not_negative(),
    Parameter::new("dk", 1e3, "N.s/m", "damping of the coupling").not_negative(),
    X0,
    V0,
];

/// A and B of equation (2): m, c, d, ck, dk first among the parameters.
pub(super) fn held_by_two_springs(p: &[f64]) -> (Matrix, Matrix) {
    let [m, c, d, ck, dk] = first(p);
    let a = Matrix::from_slice(2, 2, &[0.0, 1.0, -(c + ck) / m, -(d + dk) / m]);
    let b = Matrix::from_slice(2, 2, &[0.0, 0.0, ck / m, dk / m]);
    (a, b)
}

pub(super) const SPRING_MASS: ModelEntry = ModelEntry {
    name: "spring-mass",
    description: "mass that carries the coupling spring and damper; takes the other's motion, gives the force on it",
    source: "Genser 2020, (3.3)-(3.4)",
    parameters: LINEAR_COUPLING,
    inputs: OTHER_MASS,
    outputs: FORCE,
    states: OWN,
    equations: Equations::Linear(|p| {
        let [_, _, _, ck, dk] = first(p);
        let (a, b) = held_by_two_springs(p);
        let (c, d) = (Matrix::from_slice(1, 2, &[ck, dk]), Matrix::from_slice(1, 2, &[-ck, -dk]));
        StateSpace { a, b, c, d }
    }),
};

pub(super) const DISPLACEMENT_MASS: ModelEntry = ModelEntry {
    name: "displacement-mass",
    description: "mass with its own copy of the coupling spring; takes the other's motion, gives its own",
    source: "Glumac & Kovacic 2018, (39), with the outputs of (40)",
    parameters: LINEAR_COUPLING,
    inputs: &[
        Port::new("x_other", "m", "position of the other mass"),
        Port::new("v_other", "m/s", "velocity of the other mass"),
    ],
    outputs: POSITION_AND_VELOCITY,
    states: STATES,
    equations: Equations::Linear(|p| {
        let (a, b) = held_by_two_springs(p);
        StateSpace { a, b, c: Matrix::identity(2), d: Matrix::zeros(2, 2) }
    }),
};

pub(super) const VELOCITY_SPRING_MASS: ModelEntry = ModelEntry {
    name: "velocity-spring-mass",
    description: "mass that carries the coupling spring and damper; takes the other's velocity, gives the force on it",
    source: "Chen et al. 2021, 4.1",
    parameters: &[
        Parameter::new("m", 5.0, "kg", "mass").positive(),
        Parameter::new("c", 500.0, "N/m", "stiffness to the wall").not_negative(),
        Parameter::new("d", 25.0, "N.s/m", "damping to the wall").not_negative(),
        Parameter::new("ck", 500.0, "N/m", "stiffness of the coupling").not_negative(),
        Parameter::new("dk", 12.5, "N.s/m", "damping of the coupling").not_negative(),
        X0,
        V0,
        Parameter::new("other_x0", 0.0, "m", "position of the other mass at the start"),
    ],
    inputs: &[Port::new("v", "m/s", "velocity of the other mass")],
    outputs: &[Port::new("F", "N", "force on the other mass").fed_by(&[0])],
    states: &[
        OWN[0],
        OWN[1],
        State::new("other_x", "m", "position of the other mass, integrated here").starts_at("other_x0"),
    ],
    equations: Equations::Linear(|p| {
        let [m, c, d, ck, dk] = first(p);
        StateSpace {
            a: Matrix::from_slice(
                3,
                3,
                &[0.0, 1.0, 0.0, -(c + ck) / m, -(d + dk) / m, ck / m, 0.0, 0.0, 0.0],
            ),
            b: Matrix::from_slice(3, 1, &[0.0, dk / m, 1.0]),
            c: Matrix::from_slice(1, 3, &[ck, dk, -ck]),
            d: Matrix::from_slice(1, 1, &[-dk]),
        }
    }),
};

pub(super) const PROGRESSIVE_SPRING_MASS: ModelEntry = ModelEntry {
    name: "progressive-spring-mass",
    description: "mass that carries a progressive coupling spring and damper; takes the other's motion, gives the force on it",
    source: "Genser 2020, (3.3)-(3.4) with (3.6)-(3.7), Table 3.1",
    parameters: &[
        Parameter::new("m", 10.0, "kg", "mass").positive(),
        Parameter::new("c", 1e7, "N/m", "stiffness to the wall").not_negative(),
        Parameter::new("d", 2.0, "N.s/m", "damping to the wall").not_negative(),
        Parameter::new("ck", 5e5, "N/m", "stiffness of the coupling at a stretch of 1 m, before its limits")
            .not_negative(),
        Parameter::new("ck_max", 2.5e5, "N/m", "largest stiffness of the coupling").not_negative(),
        Parameter::new("ck_min", 2.5e4, "N/m", "smallest stiffness of the coupling").not_negative(),
        Parameter::new("nc", 1.5, "1", "exponent of the spring force; 1 is linear").positive(),
        Parameter::new("dk", 1e3, "N.s/m", "damping of the coupling at a rate of 1 m/s, before its limits")
            .not_negative(),
        Parameter::new("dk_max", 3e3, "N.s/m", "largest damping of the coupling").not_negative(),
        Parameter::new("dk_min", 5e2, "N.s/m", "smallest damping of the coupling").not_negative(),
        Parameter::new("nd", 1.5, "1", "exponent of the damping force; 1 is linear").positive(),
        X0,
        V0,
    ],
    inputs: OTHER_MASS,
    outputs: FORCE,
    states: OWN,
    equations: Equations::General {
        derivative: |p, x, u, dx| {
            let [m, c, d] = first(p);
            dx[0] = x[1];
            dx[1] = (-c * x[0] - d * x[1] - progressive_force(p, x, u)) / m;
        },
        output: |p, x, u, y| y[0] = progressive_force(p, x, u),
    },
};

/// Equations (2) and (3); the lower limit wins where the two cross, as printed.
fn progressive_force(p: &[f64], x: &[f64], u: &[f64]) -> f64 {
    let [_, _, _, c, c_max, c_min, nc, d, d_max, d_min, nd] = first(p);
    let (stretch, rate) = (x[0] - u[0], x[1] - u[1]);
    let ck = (c * power(stretch.abs(), nc - 1.0)).min(c_max).max(c_min);
    let dk = (d * power(rate.abs(), nd - 1.0)).min(d_max).max(d_min);
    ck * stretch + dk * rate
}

/// The square root by its own instruction: a third of a run was spent in `powf`.
fn power(base: f64, exponent: f64) -> f64 {
    if exponent == 0.5 { base.sqrt() } else { base.powf(exponent) }
}

pub(super) const VAN_DER_POL: ModelEntry = ModelEntry {
    name: "van-der-pol",
    description: "van der Pol oscillator of unit mass; takes a force, gives position and velocity",
    source: "van der Pol 1926",
    parameters: &[
        Parameter::new("mu", 1.0, "1/s", "strength of the non-linear damping").not_negative(),
        Parameter { default: 2.0, ..X0 },
        V0,
    ],
    inputs: &[Port::new("F", "N", "force, per kilogram of the oscillator")],
    outputs: POSITION_AND_VELOCITY,
    states: STATES,
    equations: Equations::General {
        derivative: |p, x, u, dx| {
            let [mu] = first(p);
            dx[0] = x[1];
            dx[1] = mu * (1.0 - x[0] * x[0]) * x[1] - x[0] + u[0];
        },
        output: |_, x, _, y| y.copy_from_slice(x),
    },
};
