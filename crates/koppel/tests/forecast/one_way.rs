//! Systems whose parts act on each other in one direction, changes on the way, and what is left out of large ones.

use koppel::analysis::{Forecast, ForecastOptions, Methods, Verdict};
use koppel::linalg::Matrix;
use koppel::run::{Change, Reading, Run, RunConfig, ScheduleConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};

fn linear(a: &[f64], b: &[f64], c: &[f64], d: f64, x0: &[f64]) -> OdeModel {
    let n = x0.len();
    let inputs = b.len() / n;
    let matrices = StateSpace::new(
        "",
        Matrix::from_slice(n, n, a),
        Matrix::from_slice(n, inputs, b),
        Matrix::from_slice(1, n, c),
        Matrix::from_fn(1, inputs, |_, _| d),
    );
    let names = ["u", "w"].iter().take(inputs).map(|name| Variable::new(*name)).collect();
    let ode = LinearOde::new(matrices.unwrap(), names, vec![Variable::new("y")], x0).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
}

fn judged(system: impl Fn() -> System, config: &RunConfig, methods: Option<Methods>) -> Forecast {
    let mut run = Run::new(system(), config).unwrap();
    Forecast::of(&mut run, config, &ForecastOptions { methods, ..ForecastOptions::default() })
}

/// Thirteen equal damped masses, each driven by the one before: nothing acts back, so the run has the modes of one mass, which is
/// solved exactly, e^{-0.05 · 0.05}.
#[test]
fn a_one_way_chain_has_the_modes_of_its_members() {
    let system = || {
        let mut builder = SystemBuilder::new();
        for k in 0..13 {
            let start = f64::from(u8::from(k == 0));
            let mass = linear(&[0.0, 1.0, -10.0, -0.1], &[0.0, 1.0], &[1.0, 0.0], 0.0, &[start, 0.0]);
            builder = builder.add(&format!("m{k}"), mass);
        }
        for k in 1..13 {
            let wire = Connection::new(&format!("m{}.y", k - 1), &format!("m{k}.u"));
            builder = builder.connect(Connection { gain: 10.0, ..wire });
        }
        builder.build().unwrap()
    };
    let config = RunConfig { schedule: ScheduleConfig::PARALLEL, ..RunConfig::new(10.0, 0.05) };
    let found = judged(system, &config, Some(Methods::Own));
    assert_eq!(found.verdict, Verdict::Stable, "{:?} {:?}", found.spectral_radius, found.reason);
    assert!(
        (found.spectral_radius.unwrap() - (-0.0025_f64).exp()).abs() < 1e-9,
        "{:?}",
        found.spectral_radius
    );
    assert!(!found.grows_by_itself && found.limits[0].intervals.len() == 1, "{:?}", found.limits);
    let whole = found.stiffness.unwrap();
    assert!((whole.ratio - 1.0).abs() < 1e-9, "{whole:?}");
}

fn lag(a: f64, b: f64) -> OdeModel {
    let values = [("a", a), ("b", b), ("c", 1.0), ("d", 0.0)].map(|(name, value)| (name.to_owned(), value));
    let ode = koppel::models::build("feedthrough", &values.into()).unwrap();
    OdeModel::new(ode, &SolverConfig::Exact {}).unwrap()
}

/// x' = -x - z, z' = -z + k x, stable for any k, held constant over steps of h: ρ² = e^{-2h} + k (1 - e^{-h})². From a change of k on it
/// grows.
#[test]
fn a_change_on_the_way_counts() {
    let system = || {
        let builder = SystemBuilder::new().add("plant", lag(-1.0, -1.0)).add("other", lag(-1.0, 1.0));
        let builder = builder.connect(Connection::new("plant.y", "other.u"));
        builder.connect(Connection::new("other.y", "plant.u")).build().unwrap()
    };
    let k = 400.0;
    let change = |time| Change { time, set: [("other.b".to_owned(), k)].into() };
    let verdict = |at, stop_when: Option<&str>| {
        let stop_when = stop_when.map(str::to_owned);
        let schedule = ScheduleConfig::PARALLEL;
        let config = RunConfig { at, stop_when, schedule, ..RunConfig::new(10.0, 0.01) };
        judged(system, &config, Some(Methods::Own))
    };
    assert_eq!(verdict(vec![], None).verdict, Verdict::Stable);
    let changed = verdict(vec![change(5.0)], None);
    assert_eq!(changed.verdict, Verdict::Unstable, "{changed:?}");
    let decay = (-0.01_f64).exp();
    let expected = (decay * decay + k * (1.0 - decay).powi(2)).sqrt();
    assert!((changed.spectral_radius.unwrap() - expected).abs() < 1e-9, "{:?}", changed.spectral_radius);
    assert!(changed.reason.unwrap().contains("t = 5"), "named with its time");
    assert_eq!(verdict(vec![change(20.0)], None).verdict, Verdict::Stable, "after the end");
    assert_eq!(
        verdict(vec![change(5.0)], Some("time > 4")).verdict,
        Verdict::Stable,
        "the run has ended before"
    );
}

/// y = 0.5 x + d u around a loop with gain 1.44 at once: not zero-stable with stale reading, however long the step. At long steps the
/// states have died out and the matrix of the step alone would say stable for its output errors of one sign only.
#[test]
fn steps_that_a_run_refuses_are_not_stable() {
    let system = || {
        let model =
            |name| (name, linear(&[-1.0], &[1.0], &[1.0], if name == "a" { 1.2 } else { -1.2 }, &[1.0]));
        let mut builder = SystemBuilder::new();
        for (name, model) in [model("a"), model("b")] {
            builder = builder.add(name, model);
        }
        builder.connect(Connection::new("a.y", "b.u")).connect(Connection::new("b.y", "a.u")).build().unwrap()
    };
    let schedule = ScheduleConfig::PARALLEL;
    let config = RunConfig { schedule, reading: Reading::Stale, ..RunConfig::new(10.0, 0.1) };
    let found = judged(system, &config, Some(Methods::Holds));
    for limit in &found.limits {
        let config = RunConfig {
            coupling: limit.config.coupling.clone(),
            schedule: limit.schedule.clone(),
            ..config.clone()
        };
        let mut run = Run::new(system(), &config).unwrap();
        let refused = koppel::analysis::zero_stability(&mut run, &config).refuse_unstable(&config).is_err();
        assert_eq!(refused, limit.is_refused, "{} {:?}", limit.method, limit.schedule);
        assert!(
            !refused || limit.intervals.is_empty() && limit.problem.as_ref().unwrap().contains("refuses"),
            "{limit:?}"
        );
    }
    assert!(found.limits.iter().any(|limit| limit.is_refused), "{:?}", found.limits);
    assert!(found.recommended.iter().all(|item| item.method != "zoh"), "{:?}", found.recommended);
}

/// Lags on a ring, each with one more wire from somewhere. One state more than 24 makes no methods and no blame vanish, and of 200 it is
/// said what is left out.
#[test]
fn no_size_makes_methods_or_blame_vanish_without_a_word() {
    let system = |count: usize| {
        let mut builder = SystemBuilder::new();
        for k in 0..count {
            let rate = -1.0 - 0.5 * (k as f64).sin().abs();
            builder = builder.add(&format!("s{k}"), linear(&[rate], &[1.0, 1.0], &[1.0], 0.0, &[1.0]));
        }
        for k in 0..count {
            let from = [("u", (k + 1) % count), ("w", (k * 7 + 3) % count)];
            for (input, source) in from.into_iter().filter(|(_, source)| *source != k) {
                let wire = Connection::new(&format!("s{source}.y"), &format!("s{k}.{input}"));
                builder = builder.connect(Connection { gain: 0.4 * (1.3 * k as f64).cos(), ..wire });
            }
        }
        builder.build().unwrap()
    };
    let config = RunConfig { schedule: ScheduleConfig::PARALLEL, ..RunConfig::new(1.0, 0.05) };
    for count in [25, 200] {
        let found = judged(|| system(count), &config, None);
        assert_eq!(found.verdict, Verdict::Stable);
        let own = &found.limits[0].intervals;
        assert!(own.len() == 1 && own[0].from_is_open, "{own:?}");
        assert!(!found.recommended.is_empty() && !found.blame.is_empty(), "{count}");
        let said = found.left_out.join("\n");
        for method in ["zoh", "foh", "soh", "nepce", "corrector", "prestep", "hinf", "vfps"] {
            let is_there = found.limits.iter().any(|limit| limit.method == method);
            assert!(is_there || said.contains(method), "{count}: {method}\n{said}");
            assert!(is_there || count > 25, "{method}");
        }
        let is_all = found.blame.len() == system(count).graph.wires().len();
        assert!(is_all || said.contains("connections"), "{count}: {said}");
    }
}
