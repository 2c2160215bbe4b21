//! Connections that are to blame.

use super::by_hand::{Master, Slave, radius};
use super::limits::rows;
use super::linear;
use crate::cases::case;
use koppel::analysis::{Forecast, ForecastOptions, LinearSystem, Methods, Verdict, ideal_wire};
use koppel::linalg::Matrix;
use koppel::run::{Reading, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};

/// The two-mass oscillator with the velocity of the second mass known to the first at every instant: one slave (x1, v1, x2, v2)
/// with the inputs x (of the second, held) and F (held), against the engine.
#[test]
fn an_ideal_wire_is_the_same_by_hand() {
    let case = case("two-mass").unwrap();
    let system = linear(&case);
    for step in [0.5, 2.0, 9.0] {
        let run = RunConfig { step, reading: Reading::Stale, ..case.run.clone() };
        let wires = (0..3).filter_map(|wire| ideal_wire(&system, wire, &run).unwrap());
        let found: Vec<f64> = wires.map(|(system, run)| system.growth(&run).unwrap().radius).collect();
        // first: m = 10, c = 1, d = 1, ck = 1, dk = 2; second: m = 10, c = 1, d = 2; F = ck (x1 - x2) + dk (v1 - v2).
        let one = Slave {
            a: rows(&[
                [0.0, 1.0, 0.0, 0.0],
                [-0.2, -0.3, 0.0, 0.2],
                [0.0, 0.0, 0.0, 1.0],
                [0.0, 0.0, -0.1, -0.2],
            ]),
            // x2 held, F held.
            b: rows(&[[0.0, 0.0], [0.1, 0.0], [0.0, 0.0], [0.0, 0.1]]),
            c: rows(&[[1.0, 2.0, 0.0, -2.0], [0.0, 0.0, 1.0, 0.0]]),
            d: rows(&[[-1.0, 0.0], [0.0, 0.0]]),
            euler: None,
        };
        let master = Master {
            slaves: vec![one],
            l: rows(&[[0.0, 1.0], [1.0, 0.0]]),
            order: 0,
            groups: vec![vec![0]],
            is_fresh: false,
        };
        let by_hand = radius(&master.step_matrix(step));
        assert_eq!(found.len(), 3);
        assert!(found.iter().any(|found| (found - by_hand).abs() < 1e-9), "{step}: {by_hand}, {found:?}");
    }
}

/// A fast loop that is too fast for the step, and a slow one that is not.
fn two_loops() -> System {
    let part = |a: f64, b: [f64; 2]| {
        let matrices = StateSpace::new(
            "",
            Matrix::from_slice(1, 1, &[a]),
            Matrix::from_slice(1, 2, &b),
            Matrix::identity(1),
            Matrix::zeros(1, 2),
        );
        let inputs = vec![Variable::new("p"), Variable::new("q")];
        let ode = LinearOde::new(matrices.unwrap(), inputs, vec![Variable::new("y")], &[1.0]).unwrap();
        OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
    };
    SystemBuilder::new()
        .add("a", part(-1.0, [-6.0, 0.0]))
        .add("b", part(-1.0, [6.0, -0.2]))
        .add("c", part(-1.0, [0.0, 0.2]))
        .connect(Connection::new("b.y", "a.p"))
        .connect(Connection::new("a.y", "b.p"))
        .connect(Connection::new("c.y", "b.q"))
        .connect(Connection::new("b.y", "c.q"))
        .build()
        .unwrap()
}

#[test]
fn the_fast_loop_is_to_blame() {
    let config = RunConfig::new(20.0, 0.1);
    let mut run = Run::new(two_loops(), &config).unwrap();
    let options = ForecastOptions { methods: Some(Methods::Own), ..ForecastOptions::default() };
    let forecast = Forecast::of(&mut run, &config, &options);
    assert_eq!(forecast.verdict, Verdict::Unstable);
    assert_eq!(forecast.blame.len(), 4);
    for (place, blame) in forecast.blame.iter().enumerate() {
        let is_fast = ["b.y -> a.p", "a.y -> b.p"].contains(&blame.connection.as_str());
        assert_eq!(is_fast, place < 2, "{:#?}", forecast.blame);
        assert_eq!(blame.restores_stability, is_fast, "{:#?}", forecast.blame);
    }
    // The run is left as it was: the same forecast again.
    let again = LinearSystem::new(&mut run).unwrap().growth(&config).unwrap();
    assert_eq!(Some(again.radius), forecast.spectral_radius);
}
