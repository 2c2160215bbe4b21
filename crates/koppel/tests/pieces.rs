//! Methods that give every input several polynomials per step.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "common/cases/mod.rs"]
mod cases;

use crate::cases::{Case, case};
use koppel::Result;
use koppel::coupling::{Coupling, CouplingConfig, Needs, Polynomials, StartUp, View};
use koppel::record::Trajectory;
use koppel::run::{Change, Run, RunConfig, RunState, ScheduleConfig};
use koppel::signal::{Request, Samples};
use koppel::system::{InputId, SubsystemId};
use std::collections::BTreeMap;

/// The line through the newest two arrivals of each input, written in pieces; checks what it is shown afterwards.
struct Lines {
    pieces: usize,
    /// More coefficients than a line needs.
    terms: usize,
}

impl Lines {
    fn line(view: &View<'_>, input: InputId) -> (f64, f64) {
        let (mut value, mut slope) = (view.graph.offset(input), 0.0);
        for wire in view.graph.wires_into(input) {
            let times = view.history.times(view.graph.wires()[wire].from);
            let values = view.history.values(wire);
            let of_wire = (values[0] - values[1]) / (times[0] - times[1]);
            slope += of_wire;
            value += values[0] + of_wire * (view.step.start - times[0]);
        }
        (value, slope)
    }
}

impl Coupling for Lines {
    fn needs(&self) -> Needs {
        let (terms, pieces) = (self.terms, self.pieces);
        Needs { depth: 2, terms, pieces, samples: Some(Request::Nothing), ..Needs::default() }
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        assert_eq!(out.pieces(), self.pieces);
        let size = view.step.size / self.pieces as f64;
        for &input in inputs {
            let (value, slope) = Self::line(view, input);
            for piece in 0..self.pieces {
                let polynomial = out.piece(input, piece);
                polynomial.fill(0.0);
                polynomial[0] = value + slope * size * piece as f64;
                polynomial[1] = slope;
            }
        }
        Ok(())
    }

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, _: &Samples) -> Result<()> {
        for input in view.graph.inputs_of(subsystem).filter(|input| !view.graph.is_free(*input)) {
            // The step may be longer than the run's if the subsystem is slow.
            let (begin, end) = (view.given(input, 0.0), view.applied[input]);
            let size = view.history.reached(subsystem) - view.step.start;
            for share in [0.0, 0.37, 0.5, 0.99, 1.0] {
                let line = begin + (end - begin) * share;
                let wrong = (view.given(input, size * share) - line).abs();
                assert!(wrong <= 1e-9 * begin.abs().max(end.abs()).max(1.0), "{wrong} at {share}");
            }
        }
        Ok(())
    }
}

fn rows(run: &mut Run, steps: usize) -> Vec<Vec<f64>> {
    let mut table = Trajectory::default();
    for _ in 0..steps {
        run.advance().unwrap();
        run.record(&mut table).unwrap();
    }
    table.rows
}

fn assert_close(a: &[Vec<f64>], b: &[Vec<f64>], what: &str) {
    for column in 0..a[0].len() {
        let range = a.iter().map(|row| row[column].abs()).fold(0.0, f64::max);
        for (a, b) in a.iter().zip(b) {
            assert!((a[column] - b[column]).abs() <= 1e-9 * range, "{what}: {a:?} against {b:?}");
        }
    }
}

fn configs(case: &Case) -> Vec<RunConfig> {
    let foh = CouplingConfig::foh(StartUp::Constant);
    let parallel = RunConfig { coupling: foh, stop: 100.0 * case.run.step, ..case.run.clone() };
    let sequence = RunConfig { schedule: ScheduleConfig::SEQUENCE, ..parallel.clone() };
    let slow = case.parts[1].name.clone();
    let rates = RunConfig { every: BTreeMap::from([(slow, 3)]), ..parallel.clone() };
    vec![parallel, sequence, rates]
}

#[test]
fn a_line_in_pieces_is_the_line() {
    // Solvers whose own steps end where pieces do, and exact ones; external signals; a slow subsystem.
    for name in ["nonlinear-dual-mass", "helicopter", "two-mass", "quarter-truck"] {
        let case = case(name).unwrap();
        for config in configs(&case) {
            let mut whole = Run::new(case.system().unwrap(), &config).unwrap();
            let whole = rows(&mut whole, 30);
            for (pieces, terms) in [(1, 2), (5, 2), (10, 3)] {
                let lines = Box::new(Lines { pieces, terms });
                let system = case.system().unwrap();
                let mut cut = Run::with_coupling(system, &config, lines).unwrap();
                assert_close(&whole, &rows(&mut cut, 30), &format!("{name}, {pieces} pieces: {config:?}"));
            }
        }
    }
}

#[test]
fn runs_with_pieces_repeat_every_bit() {
    let case = case("nonlinear-dual-mass").unwrap();
    let at = vec![Change { time: 0.0046, set: BTreeMap::from([("left.m".to_owned(), 11.0)]) }];
    let config = RunConfig { at, ..configs(&case).remove(0) };
    let start = || {
        let lines = Box::new(Lines { pieces: 5, terms: 2 });
        Run::with_coupling(case.system().unwrap(), &config, lines).unwrap()
    };
    let mut run = start();
    rows(&mut run, 3);
    let mut state = RunState::default();
    run.save(&mut state).unwrap();
    let first = rows(&mut run, 20);
    run.restore(&state).unwrap();
    assert!(rows(&mut run, 20) == first, "rolled back");
    let mut other = start();
    other.restore(&state).unwrap();
    assert!(rows(&mut other, 20) == first, "in another instance");
}

/// A saw-tooth between the communication points, whatever arrives.
struct Saw;

impl Coupling for Saw {
    fn needs(&self) -> Needs {
        Needs { depth: 1, terms: 2, pieces: 4, ..Needs::default() }
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        for &input in inputs {
            for piece in 0..4 {
                let slope = 4.0 * (piece + 1) as f64 / view.step.size;
                out.piece(input, piece).copy_from_slice(&[0.0, slope]);
            }
        }
        Ok(())
    }
}

#[test]
fn subsystems_follow_every_piece() {
    use koppel::linalg::Matrix;
    use koppel::solver::SolverConfig;
    use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, SystemBuilder, Variable};
    let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
    // x' = u.
    let integrator = |solver: &SolverConfig| {
        let matrices = StateSpace::new("integrator", one(0.0), one(1.0), one(1.0), one(0.0)).unwrap();
        let ode = LinearOde::new(matrices, vec![Variable::new("u")], vec![Variable::new("x")], &[0.0]);
        OdeModel::new(Box::new(ode.unwrap()), solver).unwrap()
    };
    let system = SystemBuilder::new()
        .add("exact", integrator(&SolverConfig::Exact {}))
        .add("rk4", integrator(&SolverConfig::Rk4 { step: 0.1 }))
        .connect(Connection::new("exact.x", "rk4.u"))
        .connect(Connection::new("rk4.x", "exact.u"))
        .build()
        .unwrap();
    let config = RunConfig::new(2.0, 0.5);
    let mut run = Run::with_coupling(system, &config, Box::new(Saw)).unwrap();
    rows(&mut run, 4);
    // Each step adds H/4 (1/2 + 2/2 + 3/2 + 4/2) = 1.25 H.
    for id in 0..2 {
        assert!((run.outputs(id)[0] - 2.5).abs() < 1e-13, "{:?}", run.outputs(id));
    }
}
