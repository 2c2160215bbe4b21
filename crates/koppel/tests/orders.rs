//! Observed order of every coupling under every schedule: the main test of the engine.
//!
//! Glumac & Kovacic's two-mass oscillator with exact inner integration, so that coupling is the only error. The error is
//! the largest one of any output over the whole run, relative to the range of that output in the reference, which is the
//! closed system built from the graph. Five step sizes give four slopes; each must be within 0.1 of the order.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "common/cases/mod.rs"]
mod cases;
#[path = "common/methods.rs"]
mod methods;

use crate::cases::{Case, case};
use koppel::coupling::{
    Against, AntiAliasingConfig, ConstantConfig, CorrectorConfig, CouplingConfig, ErrorEquationConfig,
    HinfConfig, Hold, NepceConfig, PrestepConfig, RelaxedConfig, Shape, StartUp, VfpsConfig,
};
use koppel::record::Trajectory;
use koppel::run::{Flow, Reading, Run, RunConfig, ScheduleConfig};
use koppel::solver::SolverConfig;
use koppel::system::System;
use std::collections::BTreeMap;

const STEPS: [f64; 5] = [0.05, 0.025, 0.0125, 0.00625, 0.003125];
const STOP: f64 = 10.0;

fn run(system: System, config: &RunConfig) -> (Vec<String>, Trajectory) {
    let mut run = Run::new(system, config).unwrap();
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
    (run.columns().iter().map(|column| column.name.clone()).collect(), table)
}

fn two_mass() -> Case {
    let mut case = case("two-mass").unwrap();
    case.parts.iter_mut().for_each(|part| part.solver = SolverConfig::Exact {});
    case
}

/// Largest relative error of any output at any communication point.
fn error(case: &Case, config: &RunConfig) -> f64 {
    let plain = RunConfig {
        stop: config.stop,
        record_every: config.record_every,
        ..RunConfig::new(config.stop, config.step)
    };
    let (names, table) = run(case.system().unwrap(), config);
    let (exact_names, exact) = run(case.reference().unwrap(), &plain);
    assert_eq!(table.times, exact.times);
    let relative = |(own, name): (usize, &String)| {
        let column = exact_names.iter().position(|exact| *exact == format!("monolith.{name}")).unwrap();
        let (low, high) = exact.column(column).fold((f64::MAX, f64::MIN), |(l, h), y| (l.min(y), h.max(y)));
        let pairs = table.column(own).zip(exact.column(column));
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / (high - low)
    };
    names.iter().enumerate().map(relative).fold(0.0, f64::max)
}

/// Slopes between neighbouring step sizes.
fn slopes(case: &Case, config: &RunConfig) -> Vec<f64> {
    let errors: Vec<f64> =
        STEPS.iter().map(|step| error(case, &RunConfig { step: *step, ..config.clone() })).collect();
    errors.windows(2).map(|pair| (pair[0] / pair[1]).log2()).collect()
}

fn assert_order(case: &Case, config: &RunConfig, order: f64) {
    let slopes = slopes(case, config);
    assert!(
        slopes.iter().all(|slope| (slope - order).abs() < 0.1),
        "{:?}, {:?}, {:?}, {:?}: expected {order}, seen {slopes:.3?}",
        config.coupling,
        config.schedule,
        config.reading,
        config.hold
    );
}

fn outputs_only() -> koppel::record::Record {
    koppel::record::Record::Many(vec!["first.F".into(), "second.x".into(), "second.v".into()])
}

fn config(coupling: CouplingConfig, schedule: ScheduleConfig) -> RunConfig {
    RunConfig { coupling, schedule, record: outputs_only(), ..RunConfig::new(STOP, STEPS[0]) }
}

const REDUCED: StartUp = StartUp::Reduced;
const CONSTANT: StartUp = StartUp::Constant;

/// Methods that need no models, with their orders.
fn signal_based() -> Vec<(CouplingConfig, f64)> {
    let mixed = |other: CouplingConfig| CouplingConfig::Mixed {
        default: Box::new(CouplingConfig::soh(REDUCED)),
        connections: BTreeMap::from([("second.F".to_owned(), other)]),
    };
    vec![
        (CouplingConfig::zoh(), 1.0),
        (CouplingConfig::foh(CONSTANT), 2.0),
        (CouplingConfig::foh(REDUCED), 2.0),
        (CouplingConfig::soh(REDUCED), 3.0),
        (CouplingConfig::from(RelaxedConfig { alpha: 0.3 }), 1.0),
        (CouplingConfig::from(AntiAliasingConfig { order: 0 }), 1.0),
        (CouplingConfig::from(AntiAliasingConfig { order: 1 }), 1.0),
        // Compensator and smoother let constants pass; at a frequency f the rest of their error is proportional to f H.
        (CouplingConfig::from(HinfConfig::default()), 1.0),
        (mixed(CouplingConfig::zoh()), 1.0),
        (mixed(CouplingConfig::foh(REDUCED)), 2.0),
    ]
}

#[test]
fn every_method_has_its_order() {
    let (signal, models) = (signal_based(), model_based());
    let all = signal.iter().map(|(one, _)| one).chain(models.iter().map(|(one, _)| one));
    methods::assert_every_method("tests/orders.rs", all);
}

#[test]
fn orders_of_all_couplings() {
    let case = two_mass();
    for (coupling, order) in signal_based() {
        for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
            for reading in [Reading::Fresh, Reading::Stale] {
                assert_order(
                    &case,
                    &RunConfig { reading, ..config(coupling.clone(), schedule.clone()) },
                    order,
                );
            }
        }
    }
}

/// A constant past makes the first steps of SOH wrong by O(H), hence the whole run by O(H²): one order is lost.
#[test]
fn a_constant_past_costs_soh_one_order() {
    let soh = config(CouplingConfig::soh(CONSTANT), ScheduleConfig::PARALLEL);
    assert_order(&two_mass(), &soh, 2.0);
}

#[test]
fn a_continuous_hold_is_of_order_one() {
    for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
        let hold = RunConfig { hold: Hold::Continuous, ..config(CouplingConfig::zoh(), schedule) };
        assert_order(&two_mass(), &hold, 1.0);
    }
}

#[test]
fn slow_subsystems_keep_the_order() {
    for (coupling, order) in [(CouplingConfig::zoh(), 1.0), (CouplingConfig::foh(CONSTANT), 2.0)] {
        for schedule in
            [ScheduleConfig::PARALLEL, ScheduleConfig::Order(vec!["second".into(), "first".into()])]
        {
            let every = BTreeMap::from([("first".to_owned(), 4)]);
            let config = RunConfig { every, record_every: 4, ..config(coupling.clone(), schedule) };
            assert_order(&two_mass(), &config, order);
        }
    }
}

/// Methods with models of the subsystems, with their orders if outputs are read fresh and stale.
///
/// Where a method gives one value per step, a stale output is behind by half of what the input lacks: order 1.
fn model_based() -> Vec<(CouplingConfig, [f64; 2])> {
    let nepce = |anti_aliasing| {
        CouplingConfig::from(NepceConfig { gain: 1.0, against: Against::Extrapolated, anti_aliasing })
    };
    let corrector = |error_equation| {
        CouplingConfig::from(CorrectorConfig { error_equation, ..CorrectorConfig::default() })
    };
    let with = |change: fn(&mut PrestepConfig)| {
        let mut config = PrestepConfig::default();
        change(&mut config);
        CouplingConfig::from(config)
    };
    let vfps =
        |nodes: usize| CouplingConfig::from(VfpsConfig { nodes: nodes.into(), ..VfpsConfig::default() });
    let mixed = |other: CouplingConfig| CouplingConfig::Mixed {
        default: Box::new(CouplingConfig::from(PrestepConfig::default())),
        connections: BTreeMap::from([("second.F".to_owned(), other)]),
    };
    vec![
        (mixed(CouplingConfig::zoh()), [1.0, 1.0]),
        (mixed(CouplingConfig::foh(REDUCED)), [2.0, 2.0]),
        (nepce(false), [2.0, 1.0]),
        (nepce(true), [2.0, 1.0]),
        (corrector(ErrorEquationConfig::Carried), [2.0, 1.0]),
        (corrector(ErrorEquationConfig::Reset), [2.0, 1.0]),
        (with(|_| ()), [2.0, 2.0]),
        (with(|config| config.modified = true), [2.0, 2.0]),
        (with(|config| config.error_equation = ErrorEquationConfig::Carried), [2.0, 2.0]),
        (with(|config| config.error_equation = ErrorEquationConfig::Reset), [2.0, 2.0]),
        // One value that brings the end point right leaves the path in between wrong by O(H).
        (with(|config| config.input = Shape::Constant), [1.0, 1.0]),
        // Two states behind one output: without its constant the model is wrong by O(1) in the rates.
        (with(|config| config.constant = ConstantConfig::None), [1.0, 1.0]),
        // Fitted models of linear subsystems are exact: what is left is that inputs are lines between nodes, (H/m)².
        (vfps(1), [2.0, 2.0]),
        (vfps(2), [2.0, 2.0]),
        (vfps(4), [2.0, 2.0]),
    ]
}

#[test]
fn orders_of_model_based_couplings() {
    let case = two_mass();
    for (coupling, orders) in model_based() {
        for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
            for (reading, order) in [Reading::Fresh, Reading::Stale].into_iter().zip(orders) {
                let config = config(coupling.clone(), schedule.clone());
                assert_order(&case, &RunConfig { reading, ..config }, order);
            }
        }
    }
}

/// Twice the nodes, a quarter of the error.
#[test]
fn nodes_of_vfps_divide_the_step() {
    let errors = [1_usize, 2, 4].map(|nodes| {
        let vfps = CouplingConfig::from(VfpsConfig { nodes: nodes.into(), ..VfpsConfig::default() });
        error(&two_mass(), &config(vfps, ScheduleConfig::PARALLEL))
    });
    let slopes: Vec<f64> = errors.windows(2).map(|pair| (pair[0] / pair[1]).log2()).collect();
    assert!(slopes.iter().all(|slope| (slope - 2.0).abs() < 0.1), "{slopes:?}");
}
