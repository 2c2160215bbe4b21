//! Model-based couplings where things are odd: rest away from zero, jumps from outside, singular blocks, nothing to model.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/cases/mod.rs"]
mod cases;
mod jumps;
mod learned;
mod random;
mod refresh;
mod together;

use koppel::coupling::{
    Against, ConstantConfig, CorrectorConfig, CouplingConfig, ErrorEquationConfig, LearningConfig,
    LearningKind, NepceConfig, Nodes, PrestepConfig, Shape, StartUp, VfpsConfig,
};
use koppel::identify::{Learned, ModelConfig, MoespConfig, RlsConfig};
use koppel::linalg::Matrix;
use koppel::record::{Record, Trajectory};
use koppel::run::{
    AccelerationKind, Change, Flow, IterationConfig, IterationKind, Reading, Run, RunConfig, ScheduleConfig,
};
use koppel::signal::external::{ExternalConfig, Interpolation};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};

fn matrix(rows: usize, cols: usize, entries: &[f64]) -> Matrix {
    Matrix::from_slice(rows, cols, entries)
}

/// Inputs `u1`, `u2`, ..., outputs `y1`, `y2`, ...
fn linear(a: Matrix, b: Matrix, c: Matrix, d: Matrix, x0: &[f64]) -> OdeModel {
    let names =
        |letter: &str, count: usize| (1..=count).map(|i| Variable::new(format!("{letter}{i}"))).collect();
    let matrices = StateSpace::new("s", a, b, c, d).unwrap();
    let (inputs, outputs) = (names("u", matrices.inputs()), names("y", matrices.outputs()));
    let ode = LinearOde::new(matrices, inputs, outputs, x0).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
}

fn methods() -> Vec<CouplingConfig> {
    let plain = PrestepConfig::default();
    let carried = PrestepConfig { error_equation: ErrorEquationConfig::Carried, ..plain.clone() };
    let learned = PrestepConfig {
        model: ModelConfig::Rls(RlsConfig::default()),
        learning: Some(LearningConfig { duration: 0.5, switch: 0.2, ..LearningConfig::default() }),
        ..plain.clone()
    };
    let by_moesp = MoespConfig { order: Some(1), window: 60, rows: Some(3) };
    let by_moesp = PrestepConfig { model: ModelConfig::Moesp(by_moesp), ..learned.clone() };
    let corrector =
        CorrectorConfig { model: learned.model, learning: learned.learning, ..CorrectorConfig::default() };
    let higher = RlsConfig { outputs: 2, inputs: 2, ..RlsConfig::default() };
    let variants = [
        PrestepConfig { model: ModelConfig::Rls(higher), ..learned.clone() },
        by_moesp,
        PrestepConfig { input: Shape::Constant, ..plain.clone() },
        PrestepConfig { model: ModelConfig::Derivatives, ..plain.clone() },
        PrestepConfig { modified: true, ..plain.clone() },
        learned,
        carried,
        plain,
    ];
    let mut all: Vec<_> = variants.into_iter().map(CouplingConfig::from).collect();
    let reset = CorrectorConfig { error_equation: ErrorEquationConfig::Reset, ..CorrectorConfig::default() };
    all.push(CouplingConfig::from(CorrectorConfig::default()));
    all.push(CouplingConfig::from(reset));
    for against in [Against::Extrapolated, Against::Applied] {
        all.push(CouplingConfig::from(NepceConfig { gain: 0.5, against, anti_aliasing: false }));
    }
    all.push(CouplingConfig::from(corrector));
    all
}

fn settings(stop: f64, step: f64) -> Vec<RunConfig> {
    let mut all = Vec::new();
    for coupling in methods() {
        for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
            for reading in [Reading::Fresh, Reading::Stale] {
                let (coupling, schedule) = (coupling.clone(), schedule.clone());
                // What the couplings know themselves is no part of the system.
                let record = Record::Many(vec!["*.u*".into(), "*.y*".into()]);
                all.push(RunConfig { coupling, schedule, reading, record, ..RunConfig::new(stop, step) });
            }
        }
    }
    all
}

fn run(system: System, config: &RunConfig) -> (Run, Trajectory) {
    let mut run = Run::new(system, config).unwrap();
    let mut table = Trajectory::default();
    let ending = run.run(&mut table, &mut |_| Ok(Flow::Continue));
    ending.unwrap_or_else(|error| panic!("{error}\n{config:?}"));
    (run, table)
}

/// Two walls of two layers each, with one temperature seen: more states than outputs, so the models are surrogates and only
/// their constants keep them at rest.
#[test]
fn surrogates_rest_at_three_hundred_kelvin() {
    let wall = |rate: f64| {
        let a = matrix(2, 2, &[-2.0 * rate, rate, 3.0, -6.0]);
        linear(
            a,
            matrix(2, 1, &[rate, 3.0]),
            matrix(1, 2, &[0.3, 0.7]),
            matrix(1, 1, &[0.0]),
            &[300.0, 300.0],
        )
    };
    for config in settings(5.0, 0.2) {
        let system = SystemBuilder::new()
            .add("a", wall(1.0))
            .add("b", wall(5.0))
            .connect(Connection::new("a.y1", "b.u1"))
            .connect(Connection::new("b.y1", "a.u1"))
            .build()
            .unwrap();
        let (_, table) = run(system, &config);
        let away = table.rows.iter().flatten().map(|y| (y - 300.0).abs()).fold(0.0, f64::max);
        assert!(away < 1e-9, "moved by {away}\n{config:?}");
    }
}

/// A gain without states, a subsystem that feeds itself, two inputs that act as one, an input that does nothing, an output
/// that stays zero: all at once.
#[test]
fn odd_blocks_are_no_trouble() {
    let gain = || {
        let none = Matrix::zeros;
        linear(none(0, 0), none(0, 2), none(2, 0), matrix(2, 2, &[0.5, 0.5, 0.0, 0.0]), &[])
    };
    let lag = || {
        // The first output feeds back to its own second input; the third input does nothing.
        let b = matrix(2, 3, &[1.0, -0.4, 0.0, 2.0, -0.8, 0.0]);
        linear(
            matrix(2, 2, &[-1.0, 0.2, 0.0, -3.0]),
            b,
            Matrix::identity(2),
            Matrix::zeros(2, 3),
            &[1.0, 0.5],
        )
    };
    for config in settings(6.0, 0.1) {
        let build = || {
            SystemBuilder::new()
                .add("gain", gain())
                .add("lag", lag())
                .connect(Connection::new("gain.y1", "lag.u1"))
                .connect(Connection::new("lag.y1", "lag.u2"))
                .connect(Connection::new("gain.y2", "lag.u3"))
                .connect(Connection::new("lag.y1", "gain.u1").gain(-1.0))
                .connect(Connection::new("lag.y2", "gain.u2"))
                .build()
                .unwrap()
        };
        let (_, table) = run(build(), &config);
        assert!(table.rows.iter().flatten().all(|y| y.is_finite() && y.abs() < 10.0), "{config:?}");
        let last = &table.rows[table.rows.len() - 1];
        assert!(last.iter().all(|y| y.abs() < 0.2), "{last:?}\n{config:?}");
    }
}
