//! Built-in models written as equations go the same way.

use koppel::equations::{Equations, Source};
use koppel::models;
use koppel::signal::{Samples, Segment, Step};
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{Ode, OdeModel, Subsystem};

use crate::texts::{PENDULUM, PROGRESSIVE, epas, lugre_mass};

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
