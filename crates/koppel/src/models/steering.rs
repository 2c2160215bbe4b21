//! A vehicle and its electric power-assisted steering.
//!
//! `epas`, from the steering wheel to the rack:
//!
//!   J_c δ_s'' = T_s - T_p,    J_m δ_m'' = T_m - T_b,    m x'' = T_p / i_p + T_b / i_b - F_r - F_f          (1)
//!   T_p = k_t (δ_s - x/i_p) + d_t (δ_s' - x'/i_p),      T_b = i_b² (k_b (δ_m - x/i_b) + d_b (δ_m' - x'/i_b))
//!
//! F_f is the LuGre friction of the rack. The controller is a program that acts every T: it reads the torsion bar and the
//! speed of the motor, and sets the motor's torque by its assist curve, which grows with the driver's torque,
//!
//!   T_m = a_1 T_p + a_2 T_p |T_p| - d_m δ_m'   at t = 0, T, 2 T, ...
//!
//! `bicycle`, both wheels of an axle as one at constant speed V:
//!
//!   m (v_y' + V r) = F_f + F_r,    J r' = l_f F_f - l_r F_r,    x' = v                                      (2)
//!   J_w δ'' = s F - n F_f,         F = k (x - s δ) + d (v - s δ')
//!   α_f = δ - (v_y + l_f r)/V,     α_r = -(v_y - l_r r)/V,      F_i = μ F_z tanh(C α_i / (μ F_z))
//!
//! F pushes the rack back: tie rods and mounts are a stiff spring between the rack and the front wheels, which turn by δ and
//! have the inertia J_w and the trail n. A large μ makes the tyres linear.
//!
//! | symbol   | meaning                                                       | unit       |
//! | δ_s, δ_m | angles of the steering wheel and of the motor                 | rad        |
//! | x, v     | position and speed of the rack                                | m, m/s     |
//! | i_p, i_b | travel of the rack per angle of the pinion, of the motor      | m          |
//! | k_b, d_b | belt and ball screw, seen from the rack                       | N/m, N.s/m |
//! | s        | steering arm                                                  | m          |
//!
//! (1): Chen et al. 2021, (17), (18), Table 5; i_b is the product of belt and screw. The friction of the column is left out,
//! as small. T = 1 ms is the paper's; what its program does is a secret of the supplier. Torsion bar, stiffness and damping
//! of belt and ball screw, assist curve and vehicle are ours: the paper does not give them.

use super::entry::{Equations, ModelEntry, Parameter, Port, State, first};
use super::friction::{LUGRE, lugre};

pub(super) const EPAS: ModelEntry = ModelEntry {
    name: "epas",
    description: "electric power-assisted steering; takes the driver's torque and the force on the rack, gives the rack's speed",
    source: "Chen et al. 2021, (17), (18), Table 5",
    parameters: &[
        Parameter::new("m", 3.78, "kg", "mass of the rack").positive(),
        LUGRE[0],
        LUGRE[1],
        LUGRE[2],
        LUGRE[3],
        LUGRE[4],
        LUGRE[5],
        Parameter::new("J_col", 0.04, "kg.m2", "inertia of the steering column").positive(),
        Parameter::new("J_m", 2.5906e-4, "kg.m2", "inertia of the motor").positive(),
        Parameter::new("i_pinion", 0.0098, "m/rad", "travel of the rack per angle of the pinion").positive(),
        Parameter::new("i_belt", 0.3509, "rad/rad", "angle of the screw per angle of the motor").positive(),
        Parameter::new("i_bs", 0.0011, "m/rad", "travel of the rack per angle of the screw").positive(),
        Parameter::new("k_t", 115.0, "N.m/rad", "stiffness of the torsion bar").positive(),
        Parameter::new("d_t", 0.3, "N.m.s/rad", "damping of the torsion bar").not_negative(),
        Parameter::new("k_b", 5e6, "N/m", "stiffness of belt and ball screw, at the rack").positive(),
        Parameter::new("d_b", 175.0, "N.s/m", "damping of belt and ball screw, at the rack").not_negative(),
        Parameter::new("a1", 0.06, "1", "assist: torque of the motor per torque of the torsion bar")
            .not_negative(),
        Parameter::new("a2", 0.03, "1/(N.m)", "assist: growth with the torque").not_negative(),
        Parameter::new("d_m", 0.003, "N.m.s/rad", "damping by the controller").not_negative(),
        Parameter::new("T", 1e-3, "s", "sampling period of the controller").positive(),
    ],
    inputs: &[
        Port::new("T_s", "N.m", "torque of the driver on the steering wheel"),
        Port::new("F_r", "N", "force that pushes the rack back"),
    ],
    outputs: &[
        Port::new("v", "m/s", "speed of the rack"),
        Port::new("x", "m", "position of the rack"),
        Port::new("delta_s", "rad", "angle of the steering wheel"),
        Port::new("friction", "N", "friction of the rack"),
    ],
    states: &[
        State::new("x", "m", "position of the rack"),
        State::new("v", "m/s", "speed of the rack"),
        State::new("z", "m", "mean deflection of the bristles"),
        State::new("delta_s", "rad", "angle of the steering wheel"),
        State::new("omega_s", "rad/s", "speed of the steering wheel"),
        State::new("delta_m", "rad", "angle of the motor"),
        State::new("omega_m", "rad/s", "speed of the motor"),
        State::new("T_m", "N.m", "torque of the motor, set by the controller"),
    ],
    equations: Equations::Sampled {
        derivative: |p, x, u, dx| {
            let [mass] = first(p);
            let [j_col, j_m, i_p, i_belt, i_bs, _, _, k_b, d_b] = first(&p[7..]);
            let [position, v, _, _, omega_s, delta_m, omega_m, t_m] = first(x);
            let i_b = i_belt * i_bs;
            let (friction, slip) = lugre(p, x);
            let pinion = pinion_torque(p, x);
            let belt = i_b * i_b * (k_b * (delta_m - position / i_b) + d_b * (omega_m - v / i_b));
            dx[0] = v;
            dx[1] = (pinion / i_p + belt / i_b - u[1] - friction) / mass;
            dx[2] = slip;
            dx[3] = omega_s;
            dx[4] = (u[0] - pinion) / j_col;
            dx[5] = omega_m;
            dx[6] = (t_m - belt) / j_m;
            dx[7] = 0.0;
        },
        output: |p, x, _, y| {
            y[0] = x[1];
            y[1] = x[0];
            y[2] = x[3];
            y[3] = lugre(p, x).0;
        },
        program: |p, x, _, next| {
            let [a1, a2, d_m] = first(&p[16..]);
            let pinion = pinion_torque(p, x);
            next[7] = a1 * pinion + a2 * pinion * pinion.abs() - d_m * x[6];
        },
        given: &[7],
        period: "T",
    },
};

/// T_p of (1).
fn pinion_torque(p: &[f64], x: &[f64]) -> f64 {
    let [i_p, _, _, k_t, d_t] = first(&p[9..]);
    let [position, v, _, delta_s, omega_s] = first(x);
    k_t * (delta_s - position / i_p) + d_t * (omega_s - v / i_p)
}

pub(super) const BICYCLE: ModelEntry = ModelEntry {
    name: "bicycle",
    description: "vehicle as a bicycle; takes the speed of the steering rack, gives the force on it",
    source: "textbook single-track model, equation (2) of models/steering.rs",
    parameters: &[
        Parameter::new("m", 1800.0, "kg", "mass of the vehicle").positive(),
        Parameter::new("J", 3000.0, "kg.m2", "inertia of the vehicle").positive(),
        Parameter::new("lf", 1.3, "m", "from the centre of mass to the front axle").positive(),
        Parameter::new("lr", 1.5, "m", "from the centre of mass to the rear axle").positive(),
        Parameter::new("V", 25.0, "m/s", "speed").positive(),
        Parameter::new("Cf", 1.2e5, "N/rad", "cornering stiffness, front").positive(),
        Parameter::new("Cr", 1.4e5, "N/rad", "cornering stiffness, rear").positive(),
        Parameter::new("mu", 0.9, "1", "friction between tyre and road; large for linear tyres").positive(),
        Parameter::new("arm", 0.13, "m", "steering arm").positive(),
        Parameter::new("trail", 0.05, "m", "trail of the front wheels").not_negative(),
        Parameter::new("J_w", 2.0, "kg.m2", "inertia of both front wheels as they steer").positive(),
        Parameter::new("k", 2e6, "N/m", "stiffness of tie rods and mounts").positive(),
        Parameter::new("d", 1500.0, "N.s/m", "damping of tie rods and mounts").not_negative(),
    ],
    inputs: &[Port::new("v", "m/s", "speed of the rack")],
    outputs: &[
        Port::new("F", "N", "force that pushes the rack back").fed_by(&[0]),
        Port::new("yaw_rate", "rad/s", "yaw rate"),
        Port::new("v_y", "m/s", "lateral velocity"),
    ],
    states: &[
        State::new("v_y", "m/s", "lateral velocity"),
        State::new("r", "rad/s", "yaw rate"),
        State::new("x", "m", "position of the rack, integrated here"),
        State::new("delta", "rad", "angle of the front wheels"),
        State::new("omega", "rad/s", "rate of that angle"),
    ],
    equations: Equations::General {
        derivative: |p, x, u, dx| {
            let [m, j, lf, lr, speed] = first(p);
            let [arm, trail, j_w] = first(&p[8..]);
            let [front, rear] = tyre_forces(p, x);
            dx[0] = (front + rear) / m - speed * x[1];
            dx[1] = (lf * front - lr * rear) / j;
            dx[2] = u[0];
            dx[3] = x[4];
            dx[4] = (arm * rack_force(p, x, u) - trail * front) / j_w;
        },
        output: |p, x, u, y| {
            y[0] = rack_force(p, x, u);
            y[1] = x[1];
            y[2] = x[0];
        },
    },
};

/// F of (2).
fn rack_force(p: &[f64], x: &[f64], u: &[f64]) -> f64 {
    let [arm, _, _, k, d] = first(&p[8..]);
    let [_, _, rack, delta, omega] = first(x);
    k * (rack - arm * delta) + d * (u[0] - arm * omega)
}

/// F_f and F_r of (2).
fn tyre_forces(p: &[f64], x: &[f64]) -> [f64; 2] {
    const GRAVITY: f64 = 9.81;
    let [m, _, lf, lr, speed, cf, cr, mu] = first(p);
    let [v_y, r, _, delta] = first(x);
    let force = |c: f64, slip: f64, lever: f64| {
        let most = mu * m * GRAVITY * lever / (lf + lr);
        most * (c * slip / most).tanh()
    };
    [force(cf, delta - (v_y + lf * r) / speed, lr), force(cr, -(v_y - lr * r) / speed, lf)]
}
