//! A system of a hundred subsystems.

use super::chain::chain;
use koppel::analysis::{Forecast, ForecastOptions, Verdict};
use koppel::run::{Run, RunConfig};

/// Work is bounded: of the methods as many are looked at as it allows, and what is left out is said.
#[test]
fn a_hundred_subsystems_are_judged() {
    let config = RunConfig::new(10.0, 0.01);
    let (system, _) = chain(100, |_| (100.0, 1.0), |k| if k == 0 { 1.0 } else { 0.0 });
    let mut run = Run::new(system, &config).unwrap();
    let forecast = Forecast::of(&mut run, &config, &ForecastOptions::default());
    assert!(forecast.left_out.iter().any(|words| words.contains("--methods all")), "{:?}", forecast.left_out);
    assert_eq!(forecast.verdict, Verdict::Stable, "{:?}", forecast.reason);
    // Far down the chain hardly anything moves; where it begins, the error is small.
    let error = forecast.error.unwrap();
    let first = error.outputs.iter().find(|output| output.output == "m0.x").unwrap();
    assert!(first.error < 0.05 && first.error > 1e-6, "{first:?}");
    // Of so many states only steps near the run's own are tried.
    let own = &forecast.limits[0].intervals;
    assert!(own.len() == 1 && own[0].from < config.step && own[0].to > config.step, "{own:?}");
}
