//! A helicopter (Westland Lynx in hover) and its H-infinity controller.
//!
//!   x' = A x + B u,     y = C x                                                          (1)
//!
//! Eight states, four blade angles in, six measured quantities out; the controller has twenty states and takes the six
//! control errors r - y. Genser 2020, (4.1)-(4.4) and (4.7)-(4.8); the numbers are those of the design the thesis cites
//! and reproduce its interface Jacobians (4.5), (4.6), (4.10). Imperial units as published: velocities in ft/s.

use super::entry::{Equations, ModelEntry, Port, State};
use super::helicopter_matrices as numbers;
use crate::linalg::Matrix;
use crate::system::StateSpace;

const BLADE_ANGLES: &[Port] = &[
    Port::new("collective", "1", "main rotor collective"),
    Port::new("longitudinal_cyclic", "1", "longitudinal cyclic"),
    Port::new("lateral_cyclic", "1", "lateral cyclic"),
    Port::new("tail_collective", "1", "tail rotor collective"),
];

pub(super) const HELICOPTER: ModelEntry = ModelEntry {
    name: "helicopter",
    description: "Westland Lynx helicopter in hover, linearised; takes the blade angles, gives its motion",
    source: "Genser 2020, (4.1)-(4.4)",
    parameters: &[],
    inputs: BLADE_ANGLES,
    outputs: &[
        Port::new("heave", "ft/s", "heave velocity"),
        Port::new("pitch", "rad", "pitch attitude"),
        Port::new("roll", "rad", "roll attitude"),
        Port::new("heading_rate", "rad/s", "heading rate"),
        Port::new("roll_rate", "rad/s", "roll rate"),
        Port::new("pitch_rate", "rad/s", "pitch rate"),
    ],
    states: &[
        State::new("theta", "rad", "pitch attitude"),
        State::new("phi", "rad", "roll attitude"),
        State::new("p", "rad/s", "roll rate, body axes"),
        State::new("q", "rad/s", "pitch rate, body axes"),
        State::new("xi", "rad/s", "yaw rate, body axes"),
        State::new("vx", "ft/s", "forward velocity"),
        State::new("vy", "ft/s", "lateral velocity"),
        State::new("vz", "ft/s", "vertical velocity, downwards"),
    ],
    equations: Equations::Linear(|_| StateSpace {
        a: Matrix::from_slice(8, 8, &numbers::PLANT_A),
        b: Matrix::from_slice(8, 4, &numbers::PLANT_B),
        c: Matrix::from_slice(6, 8, &numbers::PLANT_C),
        d: Matrix::zeros(6, 4),
    }),
};

pub(super) const CONTROLLER: ModelEntry = ModelEntry {
    name: "helicopter-controller",
    description: "H-infinity controller of the helicopter; takes the control errors, gives the blade angles",
    source: "Genser 2020, (4.7)-(4.8)",
    parameters: &[],
    inputs: &[
        Port::new("e_heave", "ft/s", "error of the heave velocity"),
        Port::new("e_pitch", "rad", "error of the pitch attitude"),
        Port::new("e_roll", "rad", "error of the roll attitude"),
        Port::new("e_heading_rate", "rad/s", "error of the heading rate"),
        Port::new("e_roll_rate", "rad/s", "error of the roll rate"),
        Port::new("e_pitch_rate", "rad/s", "error of the pitch rate"),
    ],
    outputs: BLADE_ANGLES,
    states: &CONTROLLER_STATES,
    equations: Equations::Linear(|_| StateSpace {
        a: Matrix::from_slice(20, 20, &numbers::CONTROLLER_A),
        b: Matrix::from_slice(20, 6, &numbers::CONTROLLER_B),
        c: Matrix::from_slice(4, 20, &numbers::CONTROLLER_C),
        d: Matrix::zeros(4, 6),
    }),
};

const CONTROLLER_STATES: [State; 20] = {
    let names = [
        "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
        "x16", "x17", "x18", "x19", "x20",
    ];
    let mut states = [State::new("", "1", "controller state"); 20];
    let mut i = 0;
    while i < names.len() {
        states[i].name = names[i];
        i += 1;
    }
    states
};
