//! Subsystems that tell nothing of themselves: their models come from exciting them.

use super::linear;
use super::nonlinear::right_or_not_trusted;
use super::plain::{self, Plain};
use crate::cases::{Case, case};
use koppel::Result;
use koppel::analysis::{Forecast, ForecastOptions, LinearSystem, Methods, Scan, Verdict, stable_steps};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::error::Error;
use koppel::linalg::Matrix;
use koppel::run::{Reading, Run, RunConfig, ScheduleConfig};
use koppel::signal::{Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel::system::{
    Capabilities, Connection, LinearOde, OdeModel, Ports, Snapshot, StateSpace, Subsystem, System,
    SystemBuilder, Variable, VariableId,
};
use koppel::workbench::NotProbed;
use std::sync::LazyLock;

fn closed(system: System) -> System {
    plain::each(system, |inner| Plain::new(inner, Some("it cannot")))
}

/// The system of a case, every subsystem excited at this step.
fn excited(case: &Case, step: f64) -> LinearSystem {
    let config = RunConfig { step, stop: 10.0 * step, ..case.run.clone() };
    let mut run = Run::new(closed(case.system().unwrap()), &config).unwrap();
    assert!(LinearSystem::new(&mut run).is_err(), "they tell nothing of themselves");
    run.workbench().excite_unknown(&[], None, &|_| {}).unwrap();
    LinearSystem::new(&mut run).unwrap()
}

/// The first end of the stable steps; nothing if there is none.
fn limit(system: &LinearSystem, config: &RunConfig, scan: Scan) -> Option<f64> {
    let intervals = stable_steps(system, config, scan).unwrap();
    intervals.first().filter(|interval| !interval.to_is_open).map(|interval| interval.to)
}

/// Limits from what exciting shows against those from the exact matrices, excited at steps far below to far above the limit.
fn compare(name: &str, factors: &[f64]) -> usize {
    let holds = [CouplingConfig::zoh(), CouplingConfig::foh(StartUp::Constant)];
    let ways = [(Reading::Stale, ScheduleConfig::PARALLEL), (Reading::Fresh, ScheduleConfig::SEQUENCE)];
    let case = case(name).unwrap();
    let exact = linear(&case);
    let mut wanted = Vec::new();
    for coupling in &holds {
        for (reading, schedule) in ways.clone() {
            let config = RunConfig { coupling: coupling.clone(), reading, schedule, ..case.run.clone() };
            wanted.extend(limit(&exact, &config, Scan::around(case.run.step)).map(|limit| (config, limit)));
        }
    }
    for factor in factors {
        let step = factor * wanted[0].1;
        let system = excited(&case, step);
        for (config, wanted) in &wanted {
            let scan = Scan { from: wanted / 3.0, to: wanted * 1.5, per_decade: 10, accuracy: 1e-4 };
            let found = limit(&system, config, scan).unwrap_or(f64::NAN);
            let what =
                format!("{name}, {}, {:?}, excited at {step:e} s", config.coupling.name(), config.reading);
            assert!((found / wanted - 1.0).abs() < 0.02, "{what}: {found} in place of {wanted}");
        }
    }
    factors.len() * wanted.len()
}

#[test]
fn limits_of_black_boxes_are_those_of_their_matrices() {
    let names = [
        "control-loop",
        "integral-loop",
        "quarter-truck",
        "quarter-truck-wheel-force",
        "dual-mass",
        "feedthrough-pair",
    ];
    let compared: usize = names.iter().map(|name| compare(name, &[0.01, 0.3, 1.0, 4.0])).sum();
    assert!(compared >= 60, "{compared}");
}

/// Eight and twenty states.
#[test]
fn limits_of_the_helicopter_are_those_of_its_matrices() {
    assert!(compare("helicopter", &[0.3, 1.0]) > 0);
}

#[test]
fn non_linear_black_boxes_are_judged_right_or_not_trusted() {
    let start = |case: &Case, config: &RunConfig| Run::new(closed(case.system().unwrap()), config).unwrap();
    let (report, bad) = right_or_not_trusted(|case, config, options| {
        let mut run = start(case, config);
        run.workbench().excite_unknown(&[], None, &|_| {}).unwrap();
        let copy = || Some(start(case, config));
        Forecast::of(&mut run, config, &ForecastOptions { copy: Some(&copy), ..*options })
    });
    assert!(report.iter().any(|report| report.contains("Stable")), "{report:#?}");
    assert!(report.len() == 8 && bad.is_empty(), "{bad:#?}\nof {report:#?}");
}

/// The second output never moves; the first follows its input with a gain and a lag of first order.
struct Strange {
    ports: Ports,
    gain: f64,
    /// Lags by whole steps, as nothing in continuous time does.
    lag: Vec<f64>,
    x: f64,
}

impl Strange {
    fn new(gain: f64, lag: usize, is_discrete: bool) -> Self {
        let input = Variable::new("u");
        let ports = Ports {
            inputs: vec![if is_discrete { input.held() } else { input }],
            outputs: vec![Variable::new("y"), Variable::new("still")],
            ..Ports::default()
        };
        Strange { ports, gain, lag: vec![0.0; lag], x: 0.0 }
    }
}

fn refused<T>() -> Result<T> {
    Err(Error::Unsupported { what: "saving".into(), reason: "it cannot".into() }.into())
}

impl Subsystem for Strange {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn capabilities(&self) -> &Capabilities {
        static FORGETFUL: LazyLock<Capabilities> = LazyLock::new(|| Capabilities {
            cannot_roll_back: Some("it cannot".into()),
            ..Capabilities::new("its own")
        });
        &FORGETFUL
    }

    fn initialize(&mut self, _: f64) -> Result<()> {
        self.x = 0.0;
        self.lag.fill(0.0);
        Ok(())
    }

    fn read(&mut self, _: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        outputs.copy_from_slice(&[*self.lag.first().unwrap_or(&self.x), 7.0]);
        Ok(())
    }

    fn step(&mut self, step: &Step, input: &Segment<'_>, outputs: &mut [f64], _: &mut Samples) -> Result<()> {
        let mut u = [0.0];
        input.end_values(&mut u);
        self.x = u[0] * self.gain + (self.x - u[0] * self.gain) * (-2.0 * step.size).exp();
        if !self.lag.is_empty() {
            self.lag.remove(0);
            self.lag.push(self.x);
        }
        self.read(None, outputs)
    }

    fn get(&mut self, _: VariableId) -> Result<f64> {
        refused()
    }

    fn set(&mut self, _: VariableId, _: f64) -> Result<()> {
        refused()
    }

    fn save(&mut self, _: &mut Snapshot) -> Result<()> {
        refused()
    }

    fn restore(&mut self, _: &Snapshot) -> Result<()> {
        refused()
    }
}

/// y' = 2 (g u - y) and an integrator that takes it back: x' = -y. Zero-order hold with step h: z² - (1 + e) z + e + g (1 - e) h, with
/// e = e^{-2h}; the product of the poles is 1 where g (1 - e) h = 1 - e, so h = 1 / g.
fn strange(gain: f64, lag: usize, spared: &[NotProbed]) -> (Forecast, Run) {
    judged(Strange::new(gain, lag, false), spared)
}

fn judged(strange: Strange, spared: &[NotProbed]) -> (Forecast, Run) {
    let matrix = |value: f64| Matrix::from_slice(1, 1, &[value]);
    let integrator = StateSpace { a: matrix(0.0), b: matrix(-1.0), c: matrix(1.0), d: matrix(0.0) };
    let ode = LinearOde::new(integrator, vec![Variable::new("u")], vec![Variable::new("y")], &[1.0]).unwrap();
    let system = SystemBuilder::new()
        .add("integrator", OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap())
        .add("box", strange)
        .connect(Connection::new("integrator.y", "box.u"))
        .connect(Connection::new("box.y", "integrator.u"))
        .build()
        .unwrap();
    let config = RunConfig { schedule: ScheduleConfig::PARALLEL, ..RunConfig::new(1.0, 0.1) };
    let mut run = Run::new(system, &config).unwrap();
    run.workbench().excite_unknown(spared, None, &|_| {}).unwrap();
    let options = ForecastOptions { methods: Some(Methods::Own), ..ForecastOptions::default() };
    (Forecast::of(&mut run, &config, &options), run)
}

#[test]
fn outputs_that_never_move_do_no_harm() {
    let (forecast, mut run) = strange(2.0, 0, &[]);
    assert_eq!(forecast.verdict, Verdict::Stable, "{forecast:#?}");
    let limit = forecast.limits[0].intervals[0];
    assert!((limit.to / 0.5 - 1.0).abs() < 1e-3, "{limit:?}");
    let id = run.graph().find("box").unwrap();
    let model = &forecast.trust.models[id];
    let found = model.identified.as_ref().unwrap();
    assert!(found.error < 1e-6 && found.order == 1 && found.step_calls > 100, "{model:?}");
    assert_eq!((model.source.as_str(), model.is_exact), ("exciting it", false));
    // It stands at its start again.
    assert_eq!(run.outputs(id), [0.0, 7.0]);
    let part = run.workbench().linear_part(id).unwrap();
    assert!((part.matrices.a[(0, 0)] + 2.0).abs() < 1e-6, "{part:?}");
}

/// What does nothing at all has a model, too; what lags by steps has none, and says so; so does what is spared.
#[test]
fn what_has_no_model_says_why() {
    // What remains is an integrator, which does not count.
    assert_eq!(strange(0.0, 0, &[]).0.verdict, Verdict::Stable);
    let reason = |forecast: Forecast| {
        assert_eq!(forecast.verdict, Verdict::Untrusted);
        forecast.reason.unwrap()
    };
    let lags = reason(strange(2.0, 3, &[]).0);
    assert!(lags.contains("`box`"), "{lags}");
    let discrete = reason(judged(Strange::new(2.0, 0, true), &[]).0);
    assert!(discrete.contains("`u` is discrete"), "{discrete}");
    let spared = reason(strange(2.0, 0, &[("box".into(), "it has probe = false".into())]).0);
    assert!(spared.contains("`box`") && spared.contains("probe = false"), "{spared}");
}
