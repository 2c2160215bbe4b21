//! Algebraic loops and consistent starts.

use super::{gain, integrator, run, scalar};
use koppel::Error;
use koppel::record::Trajectory;
use koppel::run::{Flow, Reading, Run, RunConfig};
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{Connection, OdeModel, SystemBuilder, Variable};

#[test]
fn the_start_is_consistent_through_feed_through_and_loops() {
    let chain = SystemBuilder::new()
        .add("last", gain(2.0))
        .add("middle", gain(3.0))
        .add("first", scalar(0.0, 0.0, 1.0, 0.0, 7.0))
        .connect(Connection::new("first.y", "middle.u"))
        .connect(Connection::new("middle.y", "last.u"))
        .build()
        .unwrap();
    let (table, _, _) = run(chain, &RunConfig { reading: Reading::Stale, ..RunConfig::new(1.0, 0.5) });
    assert_eq!(table.rows[0], [42.0, 21.0, 21.0, 7.0, 7.0, 0.0]);

    // y1 = 3 y2 + 1 and y2 = 2 y1 + 4 have |gain| 6 around the loop: no fixed-point iteration would find -13/5, -6/5.
    let two = SystemBuilder::new()
        .add("a", gain(3.0))
        .add("b", gain(2.0))
        .connect(Connection { offset: 1.0 / 3.0, ..Connection::new("b.y", "a.u") })
        .connect(Connection { offset: 2.0, ..Connection::new("a.y", "b.u") })
        .build()
        .unwrap();
    let (table, _, _) = run(two, &RunConfig::new(1.0, 0.5));
    for row in &table.rows {
        assert!((row[0] + 2.6).abs() < 1e-12 && (row[2] + 1.2).abs() < 1e-12, "{row:?}");
    }

    // y = y + 1 has no solution.
    let none = SystemBuilder::new()
        .add("a", gain(1.0))
        .connect(Connection { offset: 1.0, ..Connection::new("a.y", "a.u") })
        .build()
        .unwrap();
    let error = Run::new(none, &RunConfig::new(1.0, 0.5)).err().unwrap();
    assert!(error.to_string().contains("a.y"), "{error}");
}

/// No state, and any function of the input as output.
struct Static(koppel::system::Ports, fn(f64) -> f64);

impl Static {
    fn model(start: f64, function: fn(f64) -> f64) -> OdeModel {
        let ports = koppel::system::Ports {
            inputs: vec![Variable::new("u").start(start)],
            outputs: vec![Variable::new("y").fed_by(&[0])],
            ..koppel::system::Ports::default()
        };
        OdeModel::new(Box::new(Static(ports, function)), &SolverConfig::default()).unwrap()
    }
}

impl koppel::system::Ode for Static {
    fn ports(&self) -> &koppel::system::Ports {
        &self.0
    }
    fn states(&self) -> usize {
        0
    }
    fn derivative(&self, _time: f64, _x: &[f64], _u: &[f64], _dx: &mut [f64]) {}
    fn output(&self, _time: f64, _x: &[f64], u: &[f64], y: &mut [f64]) {
        y[0] = self.1(u[0]);
    }
    fn parameter(&self, _index: usize) -> f64 {
        f64::NAN
    }
    fn set_parameter(&mut self, _index: usize, _value: f64) -> koppel::Result<()> {
        Ok(())
    }
}

#[test]
fn a_nan_born_in_the_fresh_reading_is_seen_at_once() {
    let system = SystemBuilder::new()
        .add("falling", integrator(0.45))
        .add("root", Static::model(0.0, f64::sqrt))
        .connect(Connection::new("falling.y", "root.u"))
        .external("falling.u", ExternalConfig::Constant { value: -1.0 })
        .build()
        .unwrap();
    let mut run = Run::new(system, &RunConfig::new(0.5, 0.1)).unwrap();
    let error = run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap_err();
    let Error::BecameNonFinite { subsystem, time, .. } = *error else { panic!("{error}") };
    assert_eq!((subsystem.as_str(), time), ("root", 0.5));
}

/// y = u³ - 2 on itself: the only solution is 1.5213797068045676, and from 0 the way there leads over a hump.
#[test]
fn non_linear_loops_are_solved_or_honestly_reported() {
    let cubic = |start: f64| {
        let system = SystemBuilder::new()
            .add("a", Static::model(start, |u| u * u * u - 2.0))
            .connect(Connection::new("a.y", "a.u"))
            .build()
            .unwrap();
        Run::new(system, &RunConfig::new(1.0, 0.5)).map(|run| run.outputs(0)[0])
    };
    let y = cubic(1.0).unwrap();
    assert!((y - 1.521_379_706_804_567_6).abs() < 1e-11, "{y} from the start value of the input");
    match cubic(0.0) {
        Ok(y) => assert!((y - 1.521_379_706_804_567_6).abs() < 1e-11),
        Err(error) => assert!(error.to_string().contains("a.y"), "{error}"),
    }
    let logarithm = SystemBuilder::new()
        .add("a", Static::model(2.0, |u| u.ln() + 2.0))
        .connect(Connection::new("a.y", "a.u"))
        .build()
        .unwrap();
    let run = Run::new(logarithm, &RunConfig::new(1.0, 0.5)).unwrap();
    let y = run.outputs(0)[0];
    assert!((y - y.ln() - 2.0).abs() < 1e-11, "{y}");
}

/// Loops stay solved to the same digits while everything dies away.
#[test]
fn decaying_loops_keep_their_digits() {
    let system = SystemBuilder::new()
        .add("a", scalar(-30.0, 0.0, 1.0, 0.5, 1e3))
        .add("b", gain(0.7))
        .connect(Connection::new("b.y", "a.u"))
        .connect(Connection::new("a.y", "b.u"))
        .build()
        .unwrap();
    let (table, _, _) = run(system, &RunConfig::new(1.0, 0.1));
    for (time, row) in table.times.iter().zip(&table.rows) {
        let exact = 1e3 * (-30.0 * time).exp() / (1.0 - 0.35);
        assert!((row[0] / exact - 1.0).abs() < 1e-10, "t = {time}: {} against {exact}", row[0]);
    }
}
