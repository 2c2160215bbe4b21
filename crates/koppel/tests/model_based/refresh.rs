//! Models that are taken anew when the dynamics change, and only then.

use super::*;
use koppel::coupling::{CorrectorConfig, Hold, PrestepConfig, StartUp};
use koppel::system::{Ode, Ports};

/// x' = -k (x - u) with k = 1 before t = 1 s and 25 after: a switch inside the equations, of which nobody is told.
struct Switching(Ports);

const SWITCH: f64 = 1.0;

impl Ode for Switching {
    fn ports(&self) -> &Ports {
        &self.0
    }

    fn states(&self) -> usize {
        1
    }

    fn derivative(&self, time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        dx[0] = (u[0] - x[0]) * if time < SWITCH { 1.0 } else { 25.0 };
    }

    fn output(&self, _time: f64, x: &[f64], _u: &[f64], y: &mut [f64]) {
        y[0] = x[0];
    }

    fn parameter(&self, _index: usize) -> f64 {
        f64::NAN
    }

    fn set_parameter(&mut self, _index: usize, _value: f64) -> koppel::Result<()> {
        Ok(())
    }
}

fn switching() -> OdeModel {
    let one = |value: f64| matrix(1, 1, &[value]);
    let matrices = StateSpace::new("s", one(-1.0), one(1.0), one(1.0), one(0.0)).unwrap();
    let ports = LinearOde::new(matrices, vec![Variable::new("u1")], vec![Variable::new("y1")], &[1.0]);
    let ports = ports.unwrap().ports().clone();
    OdeModel::new(Box::new(Switching(ports)), &SolverConfig::Rk4 { step: 1e-3 }).unwrap()
}

/// A plant and a slow oscillator that it feeds and that feeds it: all states are outputs, so that the models are exact.
fn loop_of(plant: OdeModel) -> System {
    let oscillator = linear(
        matrix(2, 2, &[0.0, 1.0, -4.0, -0.2]),
        matrix(2, 1, &[0.0, -2.0]),
        Matrix::identity(2),
        Matrix::zeros(2, 1),
        &[0.5, 0.0],
    );
    SystemBuilder::new()
        .add("plant", plant)
        .add("oscillator", oscillator)
        .connect(Connection::new("plant.y1", "oscillator.u1"))
        .connect(Connection::new("oscillator.y1", "plant.u1"))
        .build()
        .unwrap()
}

fn methods(model: ModelConfig) -> [CouplingConfig; 2] {
    let prestep = PrestepConfig { model, ..PrestepConfig::default() };
    let corrector = CorrectorConfig { model, ..CorrectorConfig::default() };
    [CouplingConfig::from(prestep), CouplingConfig::from(corrector)]
}

const AUTO: ModelConfig = ModelConfig::DerivativesAbove(1e-3);

/// Every row, and how often the model of each subsystem was taken.
fn seen(system: System, coupling: &CouplingConfig, stop: f64, step: f64) -> (Vec<Vec<f64>>, Vec<u64>) {
    let record = Record::Many(vec!["plant.y1".into(), "oscillator.y*".into()]);
    let config = RunConfig {
        coupling: coupling.clone(),
        record,
        hold: Hold::Continuous,
        ..RunConfig::new(stop, step)
    };
    let (run, table) = run(system, &config);
    let review = run.statistics().review.unwrap();
    (table.rows, review.models.iter().map(|model| model.taken).collect())
}

fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The step in which the equations switch is lost to all who cannot know; from then on, from 1.5 s. Seen, largest distance from the
/// truth, with models of the start and with those taken anew, once or at every step: 0.117 and 0.0019 (pre-step),
/// 0.42 and 0.29 (corrector).
#[test]
fn a_switch_in_the_equations_is_met() {
    let record = Record::Many(vec!["plant.y1".into(), "oscillator.y*".into()]);
    let fine = CouplingConfig::foh(StartUp::Constant);
    let fine = RunConfig { coupling: fine, record, record_every: 100, ..RunConfig::new(4.0, 1e-3) };
    let truth = run(loop_of(switching()), &fine).1.rows;
    let sources = [ModelConfig::DerivativesEvery(0), AUTO, ModelConfig::Derivatives];
    // Of the corrector's error most is not due to its models.
    for (method, part) in [0.02, 0.75].into_iter().enumerate() {
        let [once, auto, always] = sources.map(|model| {
            let (rows, taken) = seen(loop_of(switching()), &methods(model)[method], 4.0, 0.1);
            (distance(&rows[15..], &truth[15..]), taken)
        });
        assert_eq!(once.1, [1, 1]);
        assert_eq!(always.1, [41, 41]);
        assert!(auto.0 < part * once.0 && auto.0 < 1.1 * always.0, "{once:?} {auto:?} {always:?}");
        assert!((2..6).contains(&auto.1[0]) && auto.1[1] == 1, "{auto:?}");
    }
}

/// Where nothing changes, nothing is taken anew.
#[test]
fn models_that_predict_well_stay() {
    let one = |value: f64| matrix(1, 1, &[value]);
    for coupling in methods(AUTO) {
        let plant = linear(one(-1.0), one(1.0), one(1.0), one(0.0), &[1.0]);
        let (_, taken) = seen(loop_of(plant), &coupling, 4.0, 0.1);
        assert_eq!(taken, [1, 1], "{coupling:?}");
    }
}

/// The stiff pendulum, which bends as it swings. Seen at 20 ms, distance from the run with models of every step: 0.0056 with those of
/// the start, 0.0024 with 4 of 51 (the default), 0.0004 with 13.
#[test]
fn a_system_that_bends_is_followed_with_fewer_models() {
    let case = crate::cases::case("pendulum-oscillator").unwrap();
    let rows = |model| {
        let coupling = CouplingConfig::from(PrestepConfig { model, ..PrestepConfig::default() });
        let config = RunConfig { coupling, reading: Reading::Stale, ..RunConfig::new(1.0, 0.02) };
        let (run, table) = run(case.system().unwrap(), &config);
        let models = run.statistics().review.unwrap().models;
        (table.rows, models.iter().map(|model| model.taken).max().unwrap())
    };
    let (always, once) = (rows(ModelConfig::Derivatives), rows(ModelConfig::DerivativesEvery(0)));
    let lost = distance(&once.0, &always.0);
    for (above, part, most) in [(1e-3, 0.5, 5), (1e-4, 0.1, 15)] {
        let (seen, taken) = rows(ModelConfig::DerivativesAbove(above));
        let apart = distance(&seen, &always.0);
        assert!(apart < part * lost && (2..=most).contains(&taken), "{above}: {apart} of {lost}, {taken}");
    }
    assert_eq!((once.1, always.1), (1, 51));
}
