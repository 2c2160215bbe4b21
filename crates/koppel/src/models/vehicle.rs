//! Quarter truck: a chassis on spring and damper on a wheel on a tyre, cut in two ways.
//!
//!   M z'' = S                                                                            (1)
//!   m w'' = -S - k (w - r)                                                               (2)
//!   S = -c (z - w) - d (z' - w')                                                         (3)
//!
//! | symbol | meaning                          | unit        |
//! | z, M   | height and mass of the chassis   | m, kg       |
//! | w, m   | height and mass of the wheel     | m, kg       |
//! | r      | height of the road               | m           |
//! | k      | stiffness of the tyre            | N/m         |
//! | c, d   | spring and damper between them   | N/m, N.s/m  |
//! | S      | their force on the chassis       | N           |
//!
//! First causality: `chassis` holds spring and damper and gives -S, `wheel` takes it and gives w, w'.
//! Second causality: `wheel-suspension` holds them and gives S, `chassis-mass` takes it and gives z, z'.
//! Heights count from rest, so weight does not appear. Textbook equations; numbers and limits: docs/problems.md.

use super::entry::{Equations, ModelEntry, Parameter, Port, State, first};
use super::masses::held_by_two_springs;
use crate::linalg::Matrix;
use crate::system::StateSpace;

const STATES: &[State] = &[
    State::new("z", "m", "height above rest").starts_at("z0"),
    State::new("v", "m/s", "vertical velocity").starts_at("v0"),
];
/// States beside inputs that are called `z` and `v`.
const OWN: &[State] = &[
    State::new("z_own", "m", "height above rest").starts_at("z0"),
    State::new("v_own", "m/s", "vertical velocity").starts_at("v0"),
];
const MOTION: &[Port] =
    &[Port::new("z", "m", "height above rest"), Port::new("v", "m/s", "vertical velocity")];
const CHASSIS_WEIGHT: Parameter = Parameter::new("m", 400.0, "kg", "mass of the chassis").positive();
const WHEEL_WEIGHT: Parameter = Parameter::new("m", 40.0, "kg", "mass of the wheel").positive();
const TYRE: Parameter = Parameter::new("k", 150_000.0, "N/m", "stiffness of the tyre").not_negative();
const SPRING: Parameter = Parameter::new("c", 15_000.0, "N/m", "stiffness of the suspension").not_negative();
const DAMPER: Parameter = Parameter::new("d", 1_000.0, "N.s/m", "damping of the suspension").not_negative();
const Z0: Parameter = Parameter::new("z0", 0.0, "m", "height at the start");
const V0: Parameter = Parameter::new("v0", 0.0, "m/s", "vertical velocity at the start");
const ROAD: Port = Port::new("road", "m", "height of the road");

pub(super) const CHASSIS: ModelEntry = ModelEntry {
    name: "chassis",
    description: "chassis with its suspension; takes the wheel's motion, gives the force on the wheel",
    source: "textbook quarter vehicle, (1), (3)",
    parameters: &[CHASSIS_WEIGHT, SPRING, DAMPER, Z0, V0],
    inputs: &[
        Port::new("z", "m", "height of the wheel"),
        Port::new("v", "m/s", "vertical velocity of the wheel"),
    ],
    outputs: &[Port::new("F", "N", "force on the wheel").fed_by(&[0, 1])],
    states: OWN,
    equations: Equations::Linear(|p| {
        let [m, c, d] = first(p);
        let (a, b) = held_by_two_springs(&[m, 0.0, 0.0, c, d]);
        StateSpace { a, b, c: Matrix::from_slice(1, 2, &[c, d]), d: Matrix::from_slice(1, 2, &[-c, -d]) }
    }),
};

pub(super) const WHEEL: ModelEntry = ModelEntry {
    name: "wheel",
    description: "wheel on its tyre; takes the suspension's force and the road, gives its motion",
    source: "textbook quarter vehicle, (2)",
    parameters: &[WHEEL_WEIGHT, TYRE, Z0, V0],
    inputs: &[Port::new("F", "N", "force of the suspension"), ROAD],
    outputs: MOTION,
    states: STATES,
    equations: Equations::Linear(|p| {
        let [m, k] = first(p);
        StateSpace {
            a: Matrix::from_slice(2, 2, &[0.0, 1.0, -k / m, 0.0]),
            b: Matrix::from_slice(2, 2, &[0.0, 0.0, 1.0 / m, k / m]),
            c: Matrix::identity(2),
            d: Matrix::zeros(2, 2),
        }
    }),
};

pub(super) const CHASSIS_MASS: ModelEntry = ModelEntry {
    name: "chassis-mass",
    description: "chassis without suspension; takes the suspension's force, gives its motion",
    source: "textbook quarter vehicle, (1)",
    parameters: &[CHASSIS_WEIGHT, Z0, V0],
    inputs: &[Port::new("F", "N", "force of the suspension")],
    outputs: MOTION,
    states: STATES,
    equations: Equations::Linear(|p| {
        let [m] = first(p);
        StateSpace {
            a: Matrix::from_slice(2, 2, &[0.0, 1.0, 0.0, 0.0]),
            b: Matrix::from_slice(2, 1, &[0.0, 1.0 / m]),
            c: Matrix::identity(2),
            d: Matrix::zeros(2, 1),
        }
    }),
};

pub(super) const WHEEL_SUSPENSION: ModelEntry = ModelEntry {
    name: "wheel-suspension",
    description: "wheel with tyre and suspension; takes the chassis' motion and the road, gives the force on the chassis",
    source: "textbook quarter vehicle, (2)-(3)",
    parameters: &[WHEEL_WEIGHT, TYRE, SPRING, DAMPER, Z0, V0],
    inputs: &[
        Port::new("z", "m", "height of the chassis"),
        Port::new("v", "m/s", "vertical velocity of the chassis"),
        ROAD,
    ],
    outputs: &[Port::new("F", "N", "force on the chassis").fed_by(&[0, 1])],
    states: OWN,
    equations: Equations::Linear(|p| {
        let [m, k, c, d] = first(p);
        StateSpace {
            a: Matrix::from_slice(2, 2, &[0.0, 1.0, -(k + c) / m, -d / m]),
            b: Matrix::from_slice(2, 3, &[0.0, 0.0, 0.0, c / m, d / m, k / m]),
            c: Matrix::from_slice(1, 2, &[c, d]),
            d: Matrix::from_slice(1, 3, &[-c, -d, 0.0]),
        }
    }),
};
