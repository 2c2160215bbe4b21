//! Built-in models written as equations go the same way.

use koppel::equations::{Equations, Source};
use koppel::models;
use koppel::signal::{Samples, Segment, Step};
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{Ode, OdeModel, Subsystem};

pub(crate) const PROGRESSIVE: &str = "
    parameter m = 10 [kg], c = 1e7 [N/m], d = 2 [N.s/m], nc = 1.5 [1], nd = 1.5 [1]
    parameter ck = 5e5, ck_max = 2.5e5, ck_min = 2.5e4, dk = 1e3, dk_max = 3e3, dk_min = 5e2
    parameter x0 = 0 [m], v0 = 0 [m/s]
    input x [m], v [m/s]
    output F [N]
    state x_own = x0 [m], v_own = v0 [m/s]

    stretch = x_own - x
    rate = v_own - v
    stiffness = max(min(ck * abs(stretch)^(nc - 1), ck_max), ck_min)
    damping = max(min(dk * abs(rate)^(nd - 1), dk_max), dk_min)
    F = stiffness * stretch + damping * rate
    der(x_own) = v_own
    der(v_own) = (-c * x_own - d * v_own - F) / m
";

const PENDULUM: &str = "
    parameter m = 1 [kg], l = 1 [m], g = 9.81 [m/s2], k = 1e3 [N/m], d = 10 [N.s/m]
    parameter alpha0 = 5 * pi / 180 [rad], omega0 = 0 [rad/s]
    input x [m], v [m/s]
    output alpha [rad], omega [rad/s]
    state alpha = alpha0, omega = omega0
    force = k * (x - l * sin(alpha)) + d * (v - l * omega * cos(alpha))
    der(alpha) = omega
    der(omega) = -g / l * sin(alpha) + cos(alpha) * force / (m * l)
";

const LUGRE: &str = "
    friction = sigma0 * z + sigma1 * slip + sigma2 * v
    slip = v - sigma0 * abs(v) * z / g
    g = Fc + (Fs - Fc) * exp(-(v / vs)^2)
    parameter sigma0 = 5e5 [N/m], sigma1 = 316 [N.s/m], sigma2 = 0.4 [N.s/m]
    parameter Fc = 320 [N], Fs = 320 [N], vs = 0.01 [m/s]
";

fn lugre_mass() -> String {
    format!(
        "{LUGRE}
        parameter m = 3.78 [kg], x0 = 0, v0 = 0
        input F [N]
        output x [m], v [m/s], friction [N]
        state x = x0, v = v0, z = 0 [m]
        der(x) = v
        der(v) = (F - friction) / m
        der(z) = slip"
    )
}

fn epas() -> String {
    format!(
        "{LUGRE}
        parameter m = 3.78 [kg], J_col = 0.04 [kg.m2], J_m = 2.5906e-4 [kg.m2], i_pinion = 0.0098 [m/rad]
        parameter i_belt = 0.3509 [rad/rad], i_bs = 0.0011 [m/rad], k_t = 115 [N.m/rad], d_t = 0.3 [N.m.s/rad]
        parameter k_b = 5e6 [N/m], d_b = 175 [N.s/m], a1 = 0.06, a2 = 0.03, d_m = 0.003, T = 1e-3 [s]
        input T_s [N.m], F_r [N]
        output v [m/s], x [m], delta_s [rad], friction [N]
        discrete T_m = 0 [N.m]
        state z = 0 [m], omega_s [rad/s], delta_m [rad], omega_m [rad/s]

        i_b = i_belt * i_bs
        pinion = k_t * (delta_s - x / i_pinion) + d_t * (omega_s - v / i_pinion)
        belt = i_b * i_b * (k_b * (delta_m - x / i_b) + d_b * (omega_m - v / i_b))
        der(x) = v
        der(v) = (pinion / i_pinion + belt / i_b - F_r - friction) / m
        der(z) = slip
        der(delta_s) = omega_s
        der(omega_s) = (T_s - pinion) / J_col
        der(delta_m) = omega_m
        der(omega_m) = (T_m - belt) / J_m
        when every(T) then T_m = a1 * pinion + a2 * pinion * abs(pinion) - d_m * omega_m end"
    )
}

pub(crate) fn compiled(text: &str) -> Equations {
    Equations::new(&Source::new(text)).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

/// Largest difference of any output over a run, relative to the output's own range.
fn difference(text: &str, name: &str, solver: SolverConfig, size: f64, steps: u64, scale: f64) -> f64 {
    let own = compiled(text);
    let built_in = models::build(name, &Default::default()).unwrap();
    let outputs = |ode: &dyn Ode| -> Vec<String> {
        ode.ports().outputs.iter().map(|output| output.name.clone()).collect()
    };
    assert_eq!(outputs(&own), outputs(built_in.as_ref()));
    let (p, m) = (built_in.ports().outputs.len(), built_in.ports().inputs.len());
    let mut both = [Box::new(own) as Box<dyn Ode>, built_in].map(|ode| OdeModel::new(ode, &solver).unwrap());
    both.iter_mut().for_each(|one| one.initialize(0.0).unwrap());
    let mut ranges = vec![[f64::INFINITY, f64::NEG_INFINITY]; p];
    let mut largest = vec![0.0_f64; p];
    for index in 0..steps {
        let step = Step { index, start: index as f64 * size, size };
        // Inputs that move and turn inside steps.
        let coefficients: Vec<f64> = (0..m)
            .flat_map(|input| {
                let phase = step.start * (3.0 + input as f64);
                [scale * phase.sin(), scale * phase.cos(), -0.5 * scale * phase.sin()]
            })
            .collect();
        let segment = Segment::new(&step, m, 3, &coefficients);
        let results = both.each_mut().map(|one| {
            let mut y = vec![0.0; p];
            one.step(&step, &segment, &mut y, &mut Samples::default()).unwrap();
            y
        });
        for (k, (own, other)) in results[0].iter().zip(&results[1]).enumerate() {
            ranges[k] = [ranges[k][0].min(*other), ranges[k][1].max(*other)];
            largest[k] = largest[k].max((own - other).abs());
        }
    }
    largest.iter().zip(&ranges).map(|(error, [low, high])| error / (high - low)).fold(0.0, f64::max)
}

#[test]
fn trajectories_are_those_of_the_built_in_models() {
    let tight = |rtol: f64| SolverConfig::Adaptive(Tolerances { rtol, atol: 1e-13, ..Tolerances::default() });
    let euler = SolverConfig::Euler { step: 1e-5 };
    let rk4 = SolverConfig::Rk4 { step: 2.5e-4 };
    let cases: [(&str, &str, SolverConfig, f64, u64, f64); 5] = [
        (PROGRESSIVE, "progressive-spring-mass", euler, 5e-4, 400, 0.1),
        (PENDULUM, "pendulum", tight(1e-10), 2e-3, 500, 0.2),
        (&lugre_mass(), "lugre-mass", tight(1e-10), 1e-3, 300, 400.0),
        (&epas(), "epas", rk4, 0.02, 100, 2.5),
        (&epas(), "epas", rk4, 0.0015, 300, 2.5),
    ];
    for (text, name, solver, size, steps, scale) in cases {
        let error = difference(text, name, solver, size, steps, scale);
        assert!(error < 1e-9, "{name}: {error:e}");
    }
}

/// Linear equations are recognised, with the matrices of the built-in model.
#[test]
fn linear_equations_are_linear_models() {
    let text = "
        parameter m = 10, c = 1e6, d = 1
        input F, F_ext
        output x, v
        der(x) = v
        der(v) = (F + F_ext - c * x - d * v) / m";
    let built_in = models::build("mass", &Default::default()).unwrap();
    let mut own = compiled(text);
    assert_eq!(own.linear(), built_in.linear());
    own.set_parameter(0, 20.0).unwrap();
    assert_eq!(own.linear().unwrap().b[(1, 0)], 1.0 / 20.0);
    for constant in [" - 9.81 * m", " + x * v", " + sin(x)", " + time"] {
        assert!(compiled(&text.replace(" - c * x", &format!("{constant} - c * x"))).linear().is_none());
    }
}

/// Which inputs act at once follows from the equations, not from their values.
#[test]
fn feed_through_is_structural() {
    let own = compiled(
        "input a, b, c
         output direct, held, none
         der(x) = a + c
         direct = if x > 0 then a * 0 + b else x
         held = x
         none = 0 * c + x",
    );
    let fed: Vec<Vec<usize>> = own.ports().outputs.iter().map(|output| output.depends.among(3)).collect();
    assert_eq!(fed, [vec![1], vec![], vec![]]);
}

/// Parameters change during a run, also those behind start values and formulas of parameters.
#[test]
fn parameters_are_followed() {
    let mut own = compiled(
        "parameter d = 2, r = d / 2, area = pi * r^2
         output y
         state x = 3 * r
         der(x) = -x
         y = area * x",
    );
    let names: Vec<&str> = own.ports().parameters.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["d"]);
    let output = |own: &Equations| {
        let mut y = [0.0];
        own.output(0.0, &[1.0], &[], &mut y);
        (y[0], own.ports().locals[0].start)
    };
    assert_eq!(output(&own), (std::f64::consts::PI, 3.0));
    own.set_parameter(0, 4.0).unwrap();
    assert_eq!(output(&own), (4.0 * std::f64::consts::PI, 6.0));
}
