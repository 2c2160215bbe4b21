//! Subsystems that cannot be known, that change, that fail.

use super::vfps;
use crate::cases::{Case, case};
use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};
use koppel::linalg::Matrix;
use koppel::record::Trajectory;
use koppel::run::{Change, Flow, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{
    Connection, LinearOde, Ode, OdeModel, Ports, StateSpace, System, SystemBuilder, Variable,
};
use std::collections::BTreeMap;

/// All outputs at the communication points.
fn run(system: System, config: &RunConfig) -> koppel::Result<Vec<Vec<f64>>> {
    let mut run = Run::new(system, config)?;
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue))?;
    Ok(table.rows)
}

/// Largest mean distance of a column from that of a run with much smaller steps, relative to its range.
fn distance(case: &Case, config: &RunConfig, finer: u64) -> f64 {
    let rows = run(case.system().unwrap(), config).unwrap();
    let fine = RunConfig {
        step: config.step / finer as f64,
        record_every: finer,
        coupling: CouplingConfig::foh(StartUp::Constant),
        ..config.clone()
    };
    let exact = run(case.system().unwrap(), &fine).unwrap();
    assert_eq!(rows.len(), exact.len());
    let of = |column: usize| {
        let values = exact.iter().map(|row| row[column]);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let sum: f64 = rows.iter().zip(&exact).map(|(a, b)| (a[column] - b[column]).abs()).sum();
        sum / rows.len() as f64 / (high - low).max(1e-12)
    };
    (0..rows[0].len()).map(of).fold(0.0, f64::max)
}

#[test]
fn a_change_of_the_plant_is_learned() {
    // The coupling spring becomes twice as stiff, in the middle of a step.
    let mut case = case("two-mass").unwrap();
    case.run.step = 0.5;
    let at = vec![Change { time: 15.1, set: BTreeMap::from([("first.ck".to_owned(), 2.0)]) }];
    let config = RunConfig { at, coupling: vfps(), ..case.run.clone() };
    let foh = RunConfig { coupling: CouplingConfig::foh(StartUp::Constant), ..config.clone() };
    let (vfps, foh) = (distance(&case, &config, 200), distance(&case, &foh, 200));
    assert!(vfps < 0.01 && vfps < 0.5 * foh, "{vfps} against {foh}");
}

#[test]
fn jumps_of_states_are_followed() {
    let mut case = case("two-mass").unwrap();
    case.run.step = 0.5;
    let at = vec![Change { time: 20.0, set: BTreeMap::from([("second.x".to_owned(), -0.3)]) }];
    let config = RunConfig { at, coupling: vfps(), ..case.run.clone() };
    let away = distance(&case, &config, 200);
    assert!(away < 0.02, "{away}");
}

#[test]
fn what_may_not_be_excited_is_learned_on_the_way() {
    let mut case = case("two-mass").unwrap();
    case.run.step = 0.3;
    let spare = vec!["first".to_owned(), "second".to_owned()];
    let config = VfpsConfig { spare, ..VfpsConfig::default() };
    let config = RunConfig { coupling: CouplingConfig::from(config), ..case.run.clone() };
    let away = distance(&case, &config, 100);
    assert!(away < 0.05, "{away}");
    let remarks = Run::new(case.system().unwrap(), &config).unwrap().remarks();
    let remarks: Vec<String> = remarks.into_iter().map(|remark| remark.text).collect();
    assert_eq!(remarks.len(), 2);
    let begin = "`first` was not probed before the run: it must not be probed";
    assert!(remarks[0].starts_with(begin), "{remarks:?}");
    let unknown = VfpsConfig { spare: vec!["frist".into()], ..VfpsConfig::default() };
    let config = RunConfig { coupling: CouplingConfig::from(unknown), ..case.run.clone() };
    let error = run(case.system().unwrap(), &config).unwrap_err().to_string();
    assert!(error.contains("did you mean `first`?"), "{error}");
}

#[test]
fn strange_numbers_of_nodes_are_refused() {
    let case = case("two-mass").unwrap();
    for nodes in [0, 100_000] {
        let coupling = CouplingConfig::from(VfpsConfig { nodes: nodes.into(), ..VfpsConfig::default() });
        let config = RunConfig { coupling, ..case.run.clone() };
        let error = run(case.system().unwrap(), &config).unwrap_err().to_string();
        assert!(error.contains("vfps.nodes") && error.contains("between 1 and"), "{error}");
    }
}

fn scalar(a: f64, b: f64, c: f64, d: f64, x0: f64) -> OdeModel {
    let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
    let matrices = StateSpace::new("scalar", one(a), one(b), one(c), one(d)).unwrap();
    let ode = LinearOde::new(matrices, vec![Variable::new("u")], vec![Variable::new("y")], &[x0]).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
}

#[test]
fn outputs_that_never_move_disturb_nobody() {
    // `deaf` gives a constant whatever it is told; `lamp` depends on nothing else.
    let system = SystemBuilder::new()
        .add("deaf", scalar(0.0, 0.0, 1.0, 0.0, 3.0))
        .add("lamp", scalar(-1.0, 1.0, 1.0, 0.0, 0.0))
        .connect(Connection::new("lamp.y", "deaf.u"))
        .connect(Connection::new("deaf.y", "lamp.u"))
        .build()
        .unwrap();
    let config = RunConfig { coupling: vfps(), ..RunConfig::new(5.0, 0.5) };
    for (k, row) in run(system, &config).unwrap().iter().enumerate() {
        let exact = 3.0 * (1.0 - (-0.5 * k as f64).exp());
        assert!((row[1] - exact).abs() < 1e-6 && row[0] == 3.0, "{row:?} against {exact}");
    }
}

/// x' = u - x from 5 s on, y = s x: nothing moves before.
struct Gate(Ports, f64);

impl Ode for Gate {
    fn ports(&self) -> &Ports {
        &self.0
    }
    fn states(&self) -> usize {
        1
    }
    fn derivative(&self, time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        dx[0] = if time < 5.0 { 0.0 } else { u[0] - x[0] };
    }
    fn output(&self, _: f64, x: &[f64], _: &[f64], y: &mut [f64]) {
        y[0] = self.1 * x[0];
    }
    fn parameter(&self, _: usize) -> f64 {
        0.0
    }
    fn set_parameter(&mut self, _: usize, _: f64) -> koppel::Result<()> {
        Ok(())
    }
}

fn gated(scale: f64) -> System {
    let ports = Ports {
        inputs: vec![Variable::new("u")],
        outputs: vec![Variable::new("y")],
        locals: vec![Variable::new("x")],
        ..Ports::default()
    };
    let gate = OdeModel::new(Box::new(Gate(ports, scale)), &SolverConfig::Rk4 { step: 0.01 }).unwrap();
    SystemBuilder::new()
        .add("gate", gate)
        .add("tank", scalar(-0.05, 3.0, 1.0, 0.0, 1.0))
        .connect(Connection::new("tank.y", "gate.u"))
        .connect(Connection::new("gate.y", "tank.u").gain(-1.0 / scale))
        .build()
        .unwrap()
}

/// Whatever its size then is: nothing was known of its range.
#[test]
fn an_output_that_rests_while_it_is_excited_is_learned_when_it_moves() {
    let away = |scale: f64, coupling: CouplingConfig| {
        let config = RunConfig { coupling, ..RunConfig::new(20.0, 0.25) };
        let rows = run(gated(scale), &config).unwrap();
        let foh = CouplingConfig::foh(StartUp::Constant);
        let fine = RunConfig { coupling: foh, record_every: 100, ..RunConfig::new(20.0, 0.0025) };
        let exact = run(gated(scale), &fine).unwrap();
        let off = |(a, b): (&Vec<f64>, &Vec<f64>)| ((a[0] - b[0]) / scale).abs().max((a[1] - b[1]).abs());
        // From a few steps after it has begun to move.
        rows.iter().zip(&exact).skip(30).map(off).fold(0.0, f64::max)
    };
    for scale in [1e-6, 1.0, 1e6] {
        let once = CouplingConfig::from(VfpsConfig { trials: 1, ..VfpsConfig::default() });
        let [foh, once, again] =
            [CouplingConfig::foh(StartUp::Constant), once, vfps()].map(|c| away(scale, c));
        assert!(once < 0.5 * foh && again < 1e-3, "{scale}: {once} once, {again}, {foh} with FOH");
    }
}

/// x' = -x + √(1 + u), y = x: no number for u < -1.
struct Root(Ports);

impl Ode for Root {
    fn ports(&self) -> &Ports {
        &self.0
    }
    fn states(&self) -> usize {
        1
    }
    fn derivative(&self, time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        // After a while it fails for good.
        dx[0] = if time > 8.0 { f64::NAN } else { -x[0] + (1.0 + u[0]).sqrt() };
    }
    fn output(&self, _: f64, x: &[f64], _: &[f64], y: &mut [f64]) {
        y[0] = x[0];
    }
    fn parameter(&self, _: usize) -> f64 {
        0.0
    }
    fn set_parameter(&mut self, _: usize, _: f64) -> koppel::Result<()> {
        Ok(())
    }
}

fn rooted() -> System {
    let ports = Ports {
        inputs: vec![Variable::new("u")],
        outputs: vec![Variable::new("y")],
        locals: vec![Variable::new("x").start(0.5)],
        ..Ports::default()
    };
    let root = OdeModel::new(Box::new(Root(ports)), &SolverConfig::Rk4 { step: 0.01 }).unwrap();
    SystemBuilder::new()
        .add("root", root)
        .add("other", scalar(-2.0, 30.0, -1.0, 0.0, 0.0))
        .connect(Connection::new("root.y", "other.u"))
        .connect(Connection::new("other.y", "root.u").gain(0.05))
        .build()
        .unwrap()
}

#[test]
fn excitation_keeps_away_from_where_there_are_no_numbers() {
    let vfps = RunConfig { coupling: vfps(), ..RunConfig::new(5.0, 0.25) };
    let rows = run(rooted(), &vfps).unwrap();
    let fine = RunConfig { record_every: 100, ..RunConfig::new(5.0, 0.0025) };
    let exact = run(rooted(), &fine).unwrap();
    for (a, b) in rows.iter().zip(&exact) {
        assert!((a[0] - b[0]).abs() < 0.01, "{a:?} against {b:?}");
    }
}

#[test]
fn a_subsystem_that_fails_is_named() {
    let config = RunConfig { coupling: vfps(), ..RunConfig::new(10.0, 0.25) };
    let error = run(rooted(), &config).unwrap_err().to_string();
    assert!(error.contains("root") && error.contains("t = 8.01"), "{error}");
}
