//! The smallest control loop: a PI controller and a first-order plant.
//!
//!   `pi-controller`:  z' = e,   u = KP e + KI z                                          (1)
//!   `pt1`:            T y' = K u - y                                                     (2)
//!
//! | symbol | meaning                        | unit |
//! | e      | control error r - y            | any  |
//! | u      | what the controller demands    | any  |
//! | T      | time constant                  | s    |
//!
//! Closed with e = r - y: T y'' + (1 + K KP) y' + K KI y = K (KP r' + KI r). With KP = 0 nothing is fed through (the
//! integral loop). Textbook equations; the largest stable steps in docs/problems.md belong to KP = KI = 10, T = 1.

use super::entry::{Equations, ModelEntry, Parameter, Port, State, first};
use crate::linalg::Matrix;
use crate::system::StateSpace;

pub(super) const PI_CONTROLLER: ModelEntry = ModelEntry {
    name: "pi-controller",
    description: "PI controller; takes the control error, gives the demand",
    source: "textbook",
    parameters: &[
        Parameter::new("KP", 10.0, "1", "proportional gain; 0 makes it a pure integrator"),
        Parameter::new("KI", 10.0, "1/s", "integral gain"),
        Parameter::new("z0", 0.0, "s", "integral of the error at the start"),
    ],
    inputs: &[Port::new("e", "", "control error")],
    outputs: &[Port::new("u", "", "demand").fed_by(&[0])],
    states: &[State::new("z", "s", "integral of the error").starts_at("z0")],
    equations: Equations::Linear(|p| {
        let [kp, ki] = first(p);
        scalar([0.0, 1.0, ki, kp])
    }),
};

pub(super) const PT1: ModelEntry = ModelEntry {
    name: "pt1",
    description: "first-order plant; takes the demand, gives its response",
    source: "textbook",
    parameters: &[
        Parameter::new("K", 1.0, "1", "gain at rest"),
        Parameter::new("T", 1.0, "s", "time constant").positive(),
        Parameter::new("y0", 0.0, "1", "response at the start"),
    ],
    inputs: &[Port::new("u", "", "demand")],
    outputs: &[Port::new("y", "", "response")],
    states: &[State::new("y", "", "response").starts_at("y0")],
    equations: Equations::Linear(|p| {
        let [gain, time] = first(p);
        scalar([-1.0 / time, gain / time, 1.0, 0.0])
    }),
};

/// x' = a x + b u, y = c x + d u.
pub(super) fn scalar(abcd: [f64; 4]) -> StateSpace {
    let [a, b, c, d] = abcd.map(|value| Matrix::from_slice(1, 1, &[value]));
    StateSpace { a, b, c, d }
}
