//! Pendulums: one coupled to an oscillator by a stiff spring, and a double pendulum cut at its hinge.
//!
//! Pendulum and oscillator, each of which evaluates the coupling force from its own and the other's motion:
//!
//!   F = k (x - l sin α) + d (x' - l α' cos α)                                            (1)
//!   `pendulum`:    m l α'' = -m g sin α + F cos α                                        (2)
//!   `oscillator`:  m x'' = -F                                                            (3)
//!
//! Double pendulum; the upper one is pulled by the constraint force of the lower one, the lower one hangs at a hinge
//! that is accelerated by the upper one. With e = (cos α, sin α), n = (-sin α, cos α), W the upper mass m/β:
//!
//!   `upper-pendulum`:  a = [e·(F - (0, W g)) - d α' / (β l)] / W,   l α'' = a,   (a1, a2) = e a + n l α'²       (4)
//!   `lower-pendulum`:  l α'' = -e·(a1, a2 + g),   (F1, F2) = -n m (n·(a1, a2 + g) + l α'²)                   (5)
//!
//! | symbol | meaning                                    | unit  |
//! | α      | angle from hanging                         | rad   |
//! | β      | lower mass relative to the upper one       | 1     |
//! | a1, a2 | acceleration, to the right and upwards     | m/s2  |
//! | F1, F2 | force, to the right and upwards            | N     |
//!
//! (1)-(3): Genser & Benedikt 2018, (52)-(54); its (55) prints the oscillator's right-hand side in the pendulum's place.
//! (4): Kübler & Schiehlen 2000, (33)-(34), whose output lacks the damping and prints α' for α'². (5): (35)-(36).
//! β on the upper pendulum divides its mass and damping, so that the lower one stays as it is; the paper multiplies the
//! lower mass, which is `beta` on the lower pendulum. Give one of the two.

use super::entry::{Equations, ModelEntry, Parameter, Port, State, first};

const FIVE_DEGREES: f64 = 0.087_266_462_599_716_47;
/// 0.1 + sin 5°, Genser & Benedikt 2018, (60).
const OSCILLATOR_START: f64 = 0.187_155_742_747_658_17;

const ANGLE: &[State] = &[
    State::new("alpha", "rad", "angle from hanging").starts_at("alpha0"),
    State::new("omega", "rad/s", "angular velocity").starts_at("omega0"),
];
const ALPHA0: Parameter = Parameter::new("alpha0", 0.0, "rad", "angle at the start");
const OMEGA0: Parameter = Parameter::new("omega0", 0.0, "rad/s", "angular velocity at the start");
const MASS: Parameter = Parameter::new("m", 1.0, "kg", "mass").positive();
const LENGTH: Parameter = Parameter::new("l", 1.0, "m", "length of the pendulum").positive();
const GRAVITY: Parameter = Parameter::new("g", 9.81, "m/s2", "gravity");
const STIFFNESS: Parameter = Parameter::new("k", 1e3, "N/m", "stiffness of the coupling").not_negative();
const DAMPING: Parameter = Parameter::new("d", 10.0, "N.s/m", "damping of the coupling").not_negative();

/// Equation (1).
fn coupling_force([k, d, l]: [f64; 3], [alpha, omega]: [f64; 2], [x, v]: [f64; 2]) -> f64 {
    k * (x - l * alpha.sin()) + d * (v - l * omega * alpha.cos())
}

pub(super) const PENDULUM: ModelEntry = ModelEntry {
    name: "pendulum",
    description: "pendulum coupled to an oscillator; takes the oscillator's motion, gives angle and angular velocity",
    source: "Genser & Benedikt 2018, (52), (54), (60)-(61)",
    parameters: &[
        MASS,
        LENGTH,
        GRAVITY,
        STIFFNESS,
        DAMPING,
        Parameter { default: FIVE_DEGREES, ..ALPHA0 },
        OMEGA0,
    ],
    inputs: &[
        Port::new("x", "m", "position of the oscillator"),
        Port::new("v", "m/s", "velocity of the oscillator"),
    ],
    outputs: &[
        Port::new("alpha", "rad", "angle from hanging"),
        Port::new("omega", "rad/s", "angular velocity"),
    ],
    states: ANGLE,
    equations: Equations::General {
        derivative: |p, x, u, dx| {
            let [m, l, g, k, d] = first(p);
            let force = coupling_force([k, d, l], first(x), first(u));
            dx[0] = x[1];
            dx[1] = -g / l * x[0].sin() + x[0].cos() * force / (m * l);
        },
        output: |_, x, _, y| y.copy_from_slice(x),
    },
};

pub(super) const OSCILLATOR: ModelEntry = ModelEntry {
    name: "oscillator",
    description: "mass coupled to a pendulum; takes the pendulum's motion, gives position and velocity",
    source: "Genser & Benedikt 2018, (53)-(54), (60)-(61)",
    parameters: &[
        MASS,
        LENGTH,
        STIFFNESS,
        DAMPING,
        Parameter::new("x0", OSCILLATOR_START, "m", "position at the start"),
        Parameter::new("v0", 0.0, "m/s", "velocity at the start"),
    ],
    inputs: &[
        Port::new("alpha", "rad", "angle of the pendulum"),
        Port::new("omega", "rad/s", "angular velocity of the pendulum"),
    ],
    outputs: &[Port::new("x", "m", "position"), Port::new("v", "m/s", "velocity")],
    states: &[
        State::new("x", "m", "position").starts_at("x0"),
        State::new("v", "m/s", "velocity").starts_at("v0"),
    ],
    equations: Equations::General {
        derivative: |p, x, u, dx| {
            let [m, l, k, d] = first(p);
            dx[0] = x[1];
            dx[1] = -coupling_force([k, d, l], first(u), first(x)) / m;
        },
        output: |_, x, _, y| y.copy_from_slice(x),
    },
};

pub(super) const UPPER_PENDULUM: ModelEntry = ModelEntry {
    name: "upper-pendulum",
    description: "upper half of a double pendulum; takes the force of the lower one, gives the acceleration of its end",
    source: "Kübler & Schiehlen 2000, (33)-(34)",
    parameters: &[
        MASS,
        LENGTH,
        Parameter::new("d", 0.5, "N.m.s/rad", "damping of the hinge").not_negative(),
        GRAVITY,
        Parameter::new("beta", 1.0, "1", "lower mass relative to this one: divides mass and damping")
            .positive(),
        Parameter { default: -1.0, ..ALPHA0 },
        OMEGA0,
    ],
    inputs: &[
        Port::new("F1", "N", "force on the end, to the right"),
        Port::new("F2", "N", "force on the end, upwards"),
    ],
    outputs: &[
        Port::new("a1", "m/s2", "acceleration of the end, to the right").fed_by(&[0, 1]),
        Port::new("a2", "m/s2", "acceleration of the end, upwards").fed_by(&[0, 1]),
    ],
    states: ANGLE,
    equations: Equations::General {
        derivative: |p, x, u, dx| {
            let [_, l] = first(p);
            dx[0] = x[1];
            dx[1] = tangential_acceleration(p, x, u) / l;
        },
        output: |p, x, u, y| {
            let [_, l] = first(p);
            let (sin, cos) = x[0].sin_cos();
            let (along, across) = (tangential_acceleration(p, x, u), l * x[1] * x[1]);
            y[0] = cos * along - sin * across;
            y[1] = sin * along + cos * across;
        },
    },
};

/// a of equation (4).
fn tangential_acceleration(p: &[f64], x: &[f64], u: &[f64]) -> f64 {
    let [m, l, d, g, beta] = first(p);
    let (sin, cos) = x[0].sin_cos();
    let mass = m / beta;
    (u[0] * cos + (u[1] - mass * g) * sin) / mass - d / beta * x[1] / (mass * l)
}

pub(super) const LOWER_PENDULUM: ModelEntry = ModelEntry {
    name: "lower-pendulum",
    description: "lower half of a double pendulum; takes the acceleration of its hinge, gives the force on it",
    source: "Kübler & Schiehlen 2000, (35)-(36)",
    parameters: &[
        MASS,
        Parameter::new("beta", 1.0, "1", "multiplies the mass, as in the paper").positive(),
        LENGTH,
        GRAVITY,
        Parameter { default: 0.3, ..ALPHA0 },
        OMEGA0,
    ],
    inputs: &[
        Port::new("a1", "m/s2", "acceleration of the hinge, to the right"),
        Port::new("a2", "m/s2", "acceleration of the hinge, upwards"),
    ],
    outputs: &[
        Port::new("F1", "N", "force on the hinge, to the right").fed_by(&[0, 1]),
        Port::new("F2", "N", "force on the hinge, upwards").fed_by(&[0, 1]),
    ],
    states: ANGLE,
    equations: Equations::General {
        derivative: |p, x, u, dx| {
            let [_, _, l, g] = first(p);
            let (sin, cos) = x[0].sin_cos();
            dx[0] = x[1];
            dx[1] = -(u[0] * cos + (u[1] + g) * sin) / l;
        },
        output: |p, x, u, y| {
            let [m, beta, l, g] = first(p);
            let (sin, cos) = x[0].sin_cos();
            let pull = m * beta * (u[0] * sin - (u[1] + g) * cos - l * x[1] * x[1]);
            y[0] = -sin * pull;
            y[1] = cos * pull;
        },
    },
};
