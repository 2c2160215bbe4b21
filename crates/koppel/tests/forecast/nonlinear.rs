//! Non-linear systems: the forecast is right, or says that it is not to be trusted.

use crate::cases::{Case, case};
use koppel::analysis::{Forecast, ForecastOptions, Methods, ModelTrust, Verdict};
use koppel::coupling::CouplingConfig;
use koppel::run::{Run, RunConfig};

/// Whether outputs leave where the uncut system stays by twice its range, or the run fails.
fn goes_wrong(case: &Case, ranges: &[[f64; 2]], run: &RunConfig) -> bool {
    let run = RunConfig { stop: long(case), ..run.clone() };
    let mut run = Run::new(case.system().unwrap(), &run).unwrap();
    let graph = case.system().unwrap().graph;
    while !run.is_done() {
        if run.advance().is_err() {
            return true;
        }
        for id in 0..graph.len() {
            let own = run.graph().find(graph.name(id)).unwrap();
            for (y, output) in run.outputs(own).iter().zip(graph.outputs_of(id)) {
                let [low, high] = ranges[output];
                if (y - 0.5 * (low + high)).abs() > 2.5 * (high - low).max(1e-9) {
                    return true;
                }
            }
        }
    }
    false
}

/// Long enough for what grows slowly.
fn long(case: &Case) -> f64 {
    case.run.stop.max(4000.0 * case.run.step)
}

/// Where each output of the uncut system stays.
fn ranges(case: &Case) -> Vec<[f64; 2]> {
    let run = RunConfig { coupling: CouplingConfig::zoh(), ..RunConfig::new(long(case), case.run.step) };
    let mut uncut = Run::new(case.reference().unwrap(), &run).unwrap();
    let mut all: Vec<[f64; 2]> = uncut.outputs(0).iter().map(|y| [*y; 2]).collect();
    while !uncut.is_done() {
        uncut.advance().unwrap();
        for (range, y) in all.iter_mut().zip(uncut.outputs(0)) {
            *range = [range[0].min(*y), range[1].max(*y)];
        }
    }
    all
}

/// What is told of every non-linear case, and what of it is wrong.
pub(crate) fn right_or_not_trusted(
    judge: impl Fn(&Case, &RunConfig, &ForecastOptions<'_>) -> Forecast,
) -> (Vec<String>, Vec<String>) {
    let (mut report, mut bad) = (Vec::new(), Vec::new());
    for name in ["nonlinear-dual-mass", "pendulum-oscillator", "van-der-pol", "lugre-mass"] {
        let case = case(name).unwrap();
        let ranges = ranges(&case);
        for coupling in [CouplingConfig::zoh(), CouplingConfig::foh(Default::default())] {
            let run = RunConfig { coupling, ..case.run.clone() };
            let options = ForecastOptions {
                methods: Some(Methods::Own),
                blame: Some(false),
                ..ForecastOptions::default()
            };
            let forecast = judge(&case, &run, &options);
            let error = |model: &ModelTrust| model.identified.as_ref().map_or(model.error, |i| Some(i.error));
            let models = forecast.trust.models.iter().map(error).collect::<Vec<_>>();
            let what = format!("{name}, {}, models {models:?}", run.coupling.name());
            if forecast.verdict == Verdict::Untrusted {
                report.push(format!("{what}: {}", forecast.reason.unwrap_or_default()));
                continue;
            }
            if !forecast.holds() {
                // The verdict is about the run's own step alone, and there are no figures.
                let is_wrong = goes_wrong(&case, &ranges, &run);
                report.push(format!("{what}: {:?} at its own step, goes wrong {is_wrong}", forecast.verdict));
                let has_figures = forecast.error.is_some()
                    || forecast.limits.iter().any(|limit| !limit.intervals.is_empty())
                    || !forecast.recommended.is_empty();
                if is_wrong != (forecast.verdict == Verdict::Unstable) || has_figures {
                    bad.push(report[report.len() - 1].clone());
                }
                continue;
            }
            let limit = forecast.limits[0].intervals.first().filter(|i| i.from_is_open);
            let limit = limit.unwrap_or_else(|| panic!("{what}: {:?}", forecast.limits));
            let wrong = [0.75, 1.25].map(|factor| {
                goes_wrong(&case, &ranges, &RunConfig { step: factor * limit.to, ..run.clone() })
            });
            let wanted = [false, wrong[1] || !limit.to_is_open];
            report.push(format!("{what}: {:?}, {limit:?}, goes wrong {wrong:?}", forecast.verdict));
            if wrong != wanted {
                bad.push(report[report.len() - 1].clone());
            }
        }
    }
    (report, bad)
}

#[test]
fn limits_are_right_or_not_trusted() {
    let (report, bad) = right_or_not_trusted(|case, run, options| {
        Forecast::of(&mut Run::new(case.system().unwrap(), run).unwrap(), run, options)
    });
    // At least one of them is told with its limit.
    assert!(report.iter().any(|report| report.contains("Stable")), "{report:#?}");
    assert!(report.len() == 8 && bad.is_empty(), "{bad:#?}\nof {report:#?}");
}
