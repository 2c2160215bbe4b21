//! The macro step allocates nothing once a run is under way.

#![expect(unsafe_code, reason = "a counting allocator")]

#[path = "common/cases/mod.rs"]
mod cases;
#[path = "common/counting.rs"]
mod counting;
#[path = "common/methods.rs"]
mod methods;

use crate::cases::case;
use counting::allocations;
use koppel::coupling::{
    Against, AntiAliasingConfig, CorrectorConfig, CouplingConfig, ErrorEquationConfig, HinfConfig, Hold,
    NepceConfig, PrestepConfig, RelaxedConfig, Shape, StartUp, VfpsConfig,
};
use koppel::identify::{ModelConfig, MoespConfig, RlsConfig};
use koppel::run::{Parallel, Reading, Run, RunConfig, RunState, ScheduleConfig};
use koppel::signal::external::ExternalConfig;
use std::collections::BTreeMap;

#[test]
fn counting_works() {
    assert!(allocations(|| drop(std::hint::black_box(vec![1.0_f64; 100]))) > 0);
}

#[test]
fn advance_allocates_nothing() {
    // Models are taken anew at every step.
    let model = ModelConfig::Derivatives;
    let carried = PrestepConfig {
        model,
        error_equation: ErrorEquationConfig::Carried,
        error_steps: 7,
        ..PrestepConfig::default()
    };
    let constant = PrestepConfig { model, input: Shape::Constant, ..PrestepConfig::default() };
    // So good that they are taken anew again and again.
    let when_bad = PrestepConfig { model: ModelConfig::DerivativesAbove(1e-6), ..PrestepConfig::default() };
    let learned = PrestepConfig { model: ModelConfig::Rls(RlsConfig::default()), ..PrestepConfig::default() };
    let by_moesp = MoespConfig { order: Some(2), window: 70, rows: Some(3) };
    let by_moesp =
        PrestepConfig { model: ModelConfig::Moesp(by_moesp), modified: true, ..PrestepConfig::default() };
    let learned_corrector = CorrectorConfig { model: learned.model, ..CorrectorConfig::default() };
    let couplings = [
        CouplingConfig::from(by_moesp),
        CouplingConfig::from(learned_corrector),
        CouplingConfig::from(NepceConfig { gain: 1.0, against: Against::Extrapolated, anti_aliasing: false }),
        CouplingConfig::from(CorrectorConfig { model, ..CorrectorConfig::default() }),
        CouplingConfig::from(PrestepConfig { model, ..PrestepConfig::default() }),
        CouplingConfig::from(carried),
        CouplingConfig::from(when_bad),
        CouplingConfig::from(constant),
        CouplingConfig::from(learned),
        CouplingConfig::from(HinfConfig::default()),
        CouplingConfig::from(VfpsConfig { nodes: 4.into(), ..VfpsConfig::default() }),
        CouplingConfig::zoh(),
        CouplingConfig::foh(StartUp::Reduced),
        CouplingConfig::soh(StartUp::Constant),
        CouplingConfig::from(RelaxedConfig { alpha: 0.4 }),
        CouplingConfig::from(AntiAliasingConfig { order: 1 }),
        CouplingConfig::Mixed { default: Box::new(CouplingConfig::zoh()), connections: BTreeMap::new() },
    ];
    methods::assert_every_method("tests/allocation.rs", couplings.iter());
    for name in [
        "dual-mass",
        "two-mass",
        "nonlinear-dual-mass",
        "helicopter",
        "van-der-pol",
        "control-loop",
        "quarter-truck",
        "feedthrough-pair",
    ] {
        let mut case = case(name).unwrap();
        if name == "two-mass" {
            // A sine that has nothing to do with the step, into an exact solution.
            let sine = ExternalConfig::Sine {
                amplitude: 1.0,
                frequency: 0.83,
                phase: 0.0,
                offset: 0.0,
                start: None,
                stop: None,
            };
            case.externals.push(("second.F_ext".into(), sine));
        }
        for coupling in &couplings {
            for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
                for (reading, hold) in [(Reading::Fresh, Hold::Constant), (Reading::Stale, Hold::Continuous)]
                {
                    let config = RunConfig {
                        coupling: coupling.clone(),
                        schedule: schedule.clone(),
                        reading,
                        hold,
                        threads: Parallel::Never,
                        stop: case.run.step * 1000.0,
                        ..case.run.clone()
                    };
                    let mut run = Run::new(case.system().unwrap(), &config).unwrap();
                    (0..5).for_each(|_| run.advance().unwrap());
                    let count = allocations(|| (0..100).for_each(|_| run.advance().unwrap()));
                    assert_eq!(count, 0, "{name}: {config:?}");
                    let mut state = RunState::default();
                    run.save(&mut state).unwrap();
                    let count = allocations(|| run.save(&mut state).unwrap());
                    assert_eq!(count, 0, "{name}: saving into a used state");
                }
            }
        }
    }
}

/// Models written as equations: events, sampled parts, tables and delays.
#[test]
fn equations_allocate_nothing() {
    use koppel::equations::{Equations, MapConfig, Source};
    use koppel::solver::SolverConfig;
    use koppel::system::{Connection, OdeModel, SystemBuilder};
    let map = MapConfig {
        name: "f".into(),
        x: vec![-9.0, 0.0, 9.0],
        values: vec![-1.0, 0.0, 3.0],
        ..MapConfig::default()
    };
    let ball = "input a; output h, v; state h = 1; der(h) = v; der(v) = -9.81 + f(a) - 0.1 * v * abs(v)
        when h < 0 then v = -0.99 * v; n = n + 1 end";
    let controller =
        "input v; output a; a = u + delay(v, 0.07); when every(0.013) then u = 0.2 * v + 0.1 * u end";
    let model = |text: &str| {
        let source = Source { maps: vec![map.clone()], ..Source::new(text) };
        let ode = Equations::new(&source).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
        OdeModel::new(Box::new(ode), &SolverConfig::default()).unwrap()
    };
    for coupling in [CouplingConfig::zoh(), CouplingConfig::foh(StartUp::Reduced)] {
        let system = SystemBuilder::new()
            .add("ball", model(ball))
            .add("controller", model(controller))
            .connect(Connection::new("ball.v", "controller.v"))
            .connect(Connection::new("controller.a", "ball.a"));
        let config = RunConfig { coupling, threads: Parallel::Never, ..RunConfig::new(10.0, 0.01) };
        let mut run = Run::new(system.build().unwrap(), &config).unwrap();
        (0..5).for_each(|_| run.advance().unwrap());
        let count = allocations(|| (0..200).for_each(|_| run.advance().unwrap()));
        assert_eq!(count, 0);
    }
}

/// But for exact models, which need matrices for every length they meet, and lists of samples, which grow with the longest
/// step so far.
#[test]
fn steps_that_adapt_allocate_nothing() {
    use koppel::run::AdaptiveConfig;
    let model = ModelConfig::Derivatives;
    for name in ["dual-mass", "nonlinear-dual-mass", "van-der-pol"] {
        let mut case = case(name).unwrap();
        case.parts.iter_mut().for_each(|part| part.solver = koppel::solver::SolverConfig::Rk4 { step: 1e-4 });
        for coupling in [
            CouplingConfig::zoh(),
            CouplingConfig::foh(StartUp::Constant),
            CouplingConfig::from(PrestepConfig { model, ..PrestepConfig::default() }),
        ] {
            let config = RunConfig {
                coupling,
                adaptive: Some(AdaptiveConfig::new(1e-2, 0.05)),
                threads: Parallel::Never,
                ..RunConfig::new(10.0, 2e-5)
            };
            let mut run = Run::new(case.system().unwrap(), &config).unwrap();
            (0..5).for_each(|_| run.advance().unwrap());
            let count = allocations(|| (0..1000).for_each(|_| run.advance().unwrap()));
            assert!(run.step_sizes().unwrap().changes > 3, "{name}: {config:?}");
            assert_eq!(count, 0, "{name}: {config:?}");
        }
    }
}

#[test]
fn iterating_allocates_nothing() {
    use koppel::run::{AccelerationKind, IterationConfig, IterationKind};
    use koppel::system::FilterConfig;
    for name in ["double-pendulum", "dual-mass", "feedthrough-pair"] {
        for kind in [IterationKind::Outputs, IterationKind::Step] {
            for acceleration in [
                AccelerationKind::Aitken,
                AccelerationKind::Broyden,
                AccelerationKind::IqnIls,
                AccelerationKind::Newton,
            ] {
                let case = case(name).unwrap();
                let config = RunConfig {
                    coupling: CouplingConfig::foh(StartUp::Constant),
                    iteration: Some(IterationConfig::new(kind, acceleration)),
                    threads: Parallel::Never,
                    stop: case.run.step * 1000.0,
                    ..case.run.clone()
                };
                let mut run = Run::new(case.system().unwrap(), &config).unwrap();
                (0..5).for_each(|_| run.advance().unwrap());
                let count = allocations(|| (0..100).for_each(|_| run.advance().unwrap()));
                assert_eq!(count, 0, "{name}: {config:?}");
            }
        }
    }
    let mut case = case("double-pendulum").unwrap();
    for connection in case.connections.iter_mut().filter(|c| c.to.starts_with("upper")) {
        connection.filter = Some(FilterConfig::pt2(100.0));
    }
    let config = RunConfig { threads: Parallel::Never, stop: case.run.step * 1000.0, ..case.run.clone() };
    let mut run = Run::new(case.system().unwrap(), &config).unwrap();
    (0..5).for_each(|_| run.advance().unwrap());
    assert_eq!(allocations(|| (0..100).for_each(|_| run.advance().unwrap())), 0);
}

#[test]
fn driving_a_run_from_outside_allocates_nothing() {
    let case = case("dual-mass").unwrap();
    let mut system = case.system().unwrap();
    let open = system.graph.open_inputs();
    let config = RunConfig { threads: Parallel::Never, stop: case.run.step * 1000.0, ..case.run.clone() };
    let mut run = Run::new(system, &config).unwrap();
    let input = run.graph().find_input(&open[0]).unwrap();
    let step = |run: &mut Run| {
        run.give(input, &[0.1, 0.2, 0.3]);
        run.follow_inputs().unwrap();
        run.advance_to(run.time() + case.run.step).unwrap();
    };
    (0..5).for_each(|_| step(&mut run));
    assert_eq!(allocations(|| (0..100).for_each(|_| step(&mut run))), 0);
}
