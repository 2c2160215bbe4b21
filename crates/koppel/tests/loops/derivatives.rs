//! Newton's method with derivatives that members know.

use crate::cases::case;
use crate::members::Static;
use koppel::linalg::Matrix;
use koppel::run::{AccelerationKind, IterationConfig, IterationKind, LoopWork, Run, RunConfig};
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{
    Connection, LinearOde, OdeModel, StateSpace, Subsystem, System, SystemBuilder, Variable,
};

fn newton() -> RunConfig {
    let iteration = IterationConfig {
        reuse: false,
        ..IterationConfig::new(IterationKind::Outputs, AccelerationKind::Newton)
    };
    RunConfig { iteration: Some(iteration), ..RunConfig::new(1.0, 0.1) }
}

fn run(system: System, config: &RunConfig) -> (Run, LoopWork) {
    let mut run = Run::new(system, config).unwrap();
    while !run.is_done() {
        run.advance().unwrap();
    }
    let work = run.loop_works().next().unwrap().clone();
    (run, work)
}

/// y1 = 2 u1 + u2 + t and so on: two outputs each, gains from -3 to 2.
fn member(linear: bool, d: [f64; 4]) -> Box<dyn Subsystem> {
    if !linear {
        let inputs = [("u1", 0.0), ("u2", 0.0), ("t", 0.0)];
        return Box::new(Static::new(&inputs, &["y1", "y2"], move |u, y| {
            y[0] = d[0] * u[0] + d[1] * u[1] + u[2];
            y[1] = d[2] * u[0] + d[3] * u[1] - u[2];
        }));
    }
    let through = Matrix::from_slice(2, 3, &[d[0], d[1], 1.0, d[2], d[3], -1.0]);
    let matrices =
        StateSpace::new("m", Matrix::zeros(0, 0), Matrix::zeros(0, 3), Matrix::zeros(2, 0), through).unwrap();
    let inputs = ["u1", "u2", "t"].map(Variable::new).into();
    let outputs = ["y1", "y2"].map(|name| Variable::new(name).fed_by(&[0, 1, 2])).into();
    let ode = LinearOde::new(matrices, inputs, outputs, &[]).unwrap();
    Box::new(OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap())
}

fn pair(linear: [bool; 2]) -> System {
    let connect = |builder: SystemBuilder, from: &str, to: &str| builder.connect(Connection::new(from, to));
    let gain = |from: &str, to: &str| Connection::new(from, to).gain(-0.5);
    let wave = ExternalConfig::Sine {
        amplitude: 3.0,
        frequency: 1.0,
        phase: 0.3,
        offset: 0.0,
        start: None,
        stop: None,
    };
    let mut builder = SystemBuilder::new()
        .add_boxed("a", member(linear[0], [2.0, 1.0, -1.0, 0.5]))
        .add_boxed("b", member(linear[1], [-3.0, 0.4, 1.5, 2.0]));
    builder = connect(builder, "a.y1", "b.u1").connect(gain("a.y2", "b.u2"));
    builder = connect(builder, "b.y1", "a.u1").connect(gain("b.y2", "a.u2"));
    builder.external("a.t", wave.clone()).external("b.t", wave).build().unwrap()
}

#[test]
fn a_loop_of_linear_members_takes_two_evaluations() {
    for torn in [true, false] {
        let mut config = newton();
        config.iteration.as_mut().unwrap().torn = torn;
        let (known, by_derivatives) = run(pair([true, true]), &config);
        let (differenced, by_differences) = run(pair([true, false]), &config);
        let unknowns = by_derivatives.unknowns.len();
        assert_eq!(unknowns, if torn { 2 } else { 4 });
        // A guess, and the solution; differences take one more for each unknown, and are not exact.
        assert_eq!(by_derivatives.most, 2, "torn: {torn}");
        assert!(by_differences.most as usize >= 2 + unknowns, "torn: {torn}, {}", by_differences.most);
        for id in 0..2 {
            for (a, b) in known.outputs(id).iter().zip(differenced.outputs(id)) {
                assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "{a} against {b}");
            }
        }
    }
}

/// The solution by hand: y = (I - D L)⁻¹ s of the pair with feed-through, at every communication point.
#[test]
fn the_solution_is_that_of_the_linear_equations() {
    let case = case("feedthrough-pair").unwrap();
    let config = RunConfig { iteration: newton().iteration, stop: 0.1, ..case.run.clone() };
    let mut run = Run::new(case.system().unwrap(), &config).unwrap();
    let state = |run: &mut Run, name: &str| {
        let id = run.graph().find(name).unwrap();
        let variable = run.graph().ports(id).find_any("x").unwrap();
        run.value(id, variable).unwrap()
    };
    for _ in 0..50 {
        run.advance().unwrap();
        // y1 = 3 x1 + y2, y2 = -31 x2 - 0.9 y1.
        let (x1, x2) = (state(&mut run, "first"), state(&mut run, "second"));
        let y1 = (3.0 * x1 - 31.0 * x2) / 1.9;
        let id = run.graph().find("first").unwrap();
        let found = run.outputs(id)[0];
        assert!((found - y1).abs() < 1e-11 * (1.0 + y1.abs()), "{found} against {y1}");
    }
}

/// Only the residual decides: wrong derivatives cost evaluations, not digits.
#[test]
fn wrong_derivatives_are_not_believed() {
    let build = || {
        // They follow their inputs with -2.
        SystemBuilder::new()
            .add("a", Static::gain(-2.0, 1.0).deriving(-1.6))
            .add("b", Static::gain(-2.0, 3.0).deriving(-1.6))
            .connect(Connection::new("a.y", "b.u"))
            .connect(Connection::new("b.y", "a.u"))
            .build()
            .unwrap()
    };
    let (run, work) = run(build(), &newton());
    // a = -2 b + 1, b = -2 a + 3.
    let expected = 5.0 / 3.0;
    let found = run.outputs(0)[0];
    assert!((found - expected).abs() < 1e-7, "{found}");
    assert_eq!(work.unconverged, 0);
}
