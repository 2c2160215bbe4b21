//! Loops that do not converge: accepted, stopped, or halved.

use crate::cases::case;
use crate::members::Static;
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::run::{
    AccelerationKind, Change, IterationConfig, IterationKind, OnNonConvergence, Run, RunConfig, Statistics,
};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, System, SystemBuilder};

fn foh() -> CouplingConfig {
    CouplingConfig::foh(StartUp::Constant)
}

fn run(system: System, config: &RunConfig) -> Statistics {
    let mut run = Run::new(system, config).unwrap();
    while !run.is_done() {
        run.advance().unwrap();
    }
    assert!((run.time() - config.stop).abs() < 1e-12);
    run.statistics()
}

#[test]
fn what_does_not_converge_is_accepted_stopped_or_halved() {
    let pendulum = || crate::double_pendulum::system(0.8, None, 1e-4);
    let config = |otherwise, max_iterations| {
        let iteration = IterationConfig::new(IterationKind::Step, AccelerationKind::FixedPoint);
        let iteration = IterationConfig { otherwise, max_iterations, ..iteration };
        RunConfig { iteration: Some(iteration), coupling: foh(), ..RunConfig::new(0.2, 0.05) }
    };
    let work = run(pendulum(), &config(OnNonConvergence::Accept, 3)).loops[0].clone();
    assert!(work.points == 4 && work.unconverged == 4, "{work:?}");
    assert!(work.first_unconverged == Some(0.05) && work.worst_residual > 1e-8, "{work:?}");
    let mut stopped = Run::new(pendulum(), &config(OnNonConvergence::Stop, 3)).unwrap();
    let error = stopped.advance().unwrap_err().to_string();
    assert!(
        error.contains("upper") && error.contains("t = 0.05 s") && error.contains("after 3 evaluations"),
        "{error}"
    );
    // Feed-through does not become less with the step: after ten halvings this one is told too.
    let mut halved = Run::new(pendulum(), &config(OnNonConvergence::Halve, 3)).unwrap();
    let error = halved.advance().unwrap_err().to_string();
    assert!(error.contains("upper") && error.contains("after 3 evaluations"), "{error}");
    assert_eq!(halved.halvings(), 10);
}

/// Largest error of the position of the left mass at the communication points, against the monolithic exact solution.
fn dual_mass(config: &RunConfig) -> (f64, Statistics) {
    let mut case = case("dual-mass").unwrap();
    for part in &mut case.parts {
        part.solver = SolverConfig::Exact {};
    }
    let mut coupled = Run::new(case.system().unwrap(), config).unwrap();
    let plain = RunConfig::new(config.stop, config.step);
    let mut reference = Run::new(case.reference().unwrap(), &plain).unwrap();
    let left = coupled.graph().find_output("left.x").unwrap();
    let place = reference.graph().ports(0).outputs.iter().position(|v| v.name == "left.x").unwrap();
    let id = coupled.graph().subsystem_of_output(left);
    let first = coupled.graph().outputs_of(id).start;
    let mut largest: f64 = 0.0;
    while !coupled.is_done() {
        coupled.advance().unwrap();
        reference.advance().unwrap();
        assert!((coupled.time() - reference.time()).abs() < 1e-12);
        largest = largest.max((coupled.outputs(id)[left - first] - reference.outputs(0)[place]).abs());
    }
    (largest, coupled.statistics())
}

fn stiff(coupling: CouplingConfig, acceleration: AccelerationKind, otherwise: OnNonConvergence) -> RunConfig {
    let iteration = IterationConfig::new(IterationKind::Step, acceleration);
    let iteration = IterationConfig { otherwise, max_iterations: 8, ..iteration };
    RunConfig { coupling, iteration: Some(iteration), ..RunConfig::new(0.048, 8e-3) }
}

#[test]
fn a_step_is_halved_until_the_loop_converges() {
    // A spring between two masses so stiff that fixed-point iteration over 8 ms diverges, over less does not.
    let config = stiff(foh(), AccelerationKind::FixedPoint, OnNonConvergence::Halve);
    let (error, report) = dual_mass(&config);
    let (whole, _) = dual_mass(&stiff(foh(), AccelerationKind::Newton, OnNonConvergence::Stop));
    println!("dual mass, H = 8 ms: whole steps {whole:.2e} m, {} halvings {error:.2e} m", report.halvings);
    assert!(report.halvings > 0);
    // Linear inputs have order two: steps of at most half the size have at most a quarter of the error, or nearly so.
    assert!(error < 0.3 * whole, "{error:e} {whole:e}");
    // Every halving makes one exchange into two; attempts that were taken back count for nothing but their evaluations.
    let work = &report.loops[0];
    assert_eq!((work.points, work.unconverged), (report.steps + report.halvings, 0), "{work:?}");
    assert!(work.first_unconverged.is_none() && work.worst_residual <= 1e-8, "{work:?}");
}

#[test]
fn a_step_that_is_cut_can_be_halved_in_every_part() {
    // A reduced start cuts the first step into parts, the last of which is 4 ms long.
    let reduced = CouplingConfig::foh(StartUp::Reduced);
    let (error, report) =
        dual_mass(&stiff(reduced.clone(), AccelerationKind::FixedPoint, OnNonConvergence::Halve));
    let (whole, _) = dual_mass(&stiff(reduced, AccelerationKind::Newton, OnNonConvergence::Stop));
    println!("dual mass, reduced start: whole {whole:.2e} m, {} halvings {error:.2e} m", report.halvings);
    assert!(report.halvings > 0 && error < 0.3 * whole, "{error:e} {whole:e}");
    // A change inside a step that sets what is set already cuts the step and does nothing else.
    let mut config = stiff(foh(), AccelerationKind::FixedPoint, OnNonConvergence::Halve);
    let system = case("dual-mass").unwrap().system().unwrap();
    let left = system.graph.find("left").unwrap();
    let mass = system.graph.ports(left).parameters.iter().find(|v| v.name == "m").unwrap().start;
    config.at = vec![Change { time: 8.1e-3, set: [("left.m".to_owned(), mass)].into() }];
    let (error, report) = dual_mass(&config);
    assert!(report.halvings > 0 && error < 0.3 * whole, "{error:e} {whole:e}");
}

fn pair(first: Static) -> System {
    SystemBuilder::new()
        .add("box", first)
        .add("other", Static::gain(-3.0, 0.0))
        .connect(Connection::new("box.y", "other.u"))
        .connect(Connection::new("other.y", "box.u"))
        .build()
        .unwrap()
}

fn outputs(otherwise: OnNonConvergence) -> RunConfig {
    let iteration = IterationConfig::new(IterationKind::Outputs, AccelerationKind::Broyden);
    RunConfig { iteration: Some(IterationConfig { otherwise, ..iteration }), ..RunConfig::new(1.0, 0.1) }
}

fn slow(otherwise: OnNonConvergence) -> RunConfig {
    RunConfig { every: [("box".to_owned(), 2)].into(), ..outputs(otherwise) }
}

#[test]
fn what_cannot_be_halved_is_refused_before_the_run() {
    let gain = || Static::gain(2.0, 1.0);
    let cases = [
        (gain(), gain(), slow as fn(OnNonConvergence) -> RunConfig, "different rates"),
        (gain().of_one_step_size(), gain().of_one_step_size(), outputs, "steps of one size only"),
        (gain().without_roll_back(), gain().without_roll_back(), outputs, "cannot roll back"),
    ];
    for (first, second, config, problem) in cases {
        Run::new(pair(first), &config(OnNonConvergence::Stop)).unwrap();
        let error = Run::new(pair(second), &config(OnNonConvergence::Halve)).err().unwrap().to_string();
        assert!(error.contains(problem) && error.contains("otherwise = "), "{error}");
    }
}
