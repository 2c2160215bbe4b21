//! Many subsystems, each connection with a method of its own.

use super::chain::chain;
use super::names;
use koppel::analysis::LinearSystem;
use koppel::coupling::CouplingConfig;
use koppel::plan::tune::{TuneOptions, tune};
use koppel::run::{Run, RunConfig};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Twenty subsystems, 76 connections: what is found beats every single method with every simple schedule.
#[test]
fn twenty_subsystems_take_seconds() {
    let run = RunConfig::new(2.0, 0.01);
    // Every third mass is stiff.
    let spring = |k: usize| if k.is_multiple_of(3) { (400.0, 2.0) } else { (100.0, 1.0) };
    let (system, inputs) = chain(20, spring, |k| (k as f64).cos());
    let linear = LinearSystem::new(&mut Run::new(system, &run).unwrap()).unwrap();
    let report = AtomicUsize::new(0);
    let methods = names(&["zoh", "foh", "soh", "relaxed", "nepce"]);
    let options = TuneOptions {
        methods: &methods,
        connections: &inputs,
        evaluations: Some(160),
        progress: &|judged, most| {
            assert!(judged <= most);
            report.fetch_max(judged, Ordering::Relaxed);
        },
        ..TuneOptions::default()
    };
    let begin = Instant::now();
    let found = tune(&linear, &run, &options).unwrap();
    println!(
        "{:?}, {} of {:e}, {} points",
        begin.elapsed(),
        found.judged,
        found.combinations,
        found.front.len()
    );
    assert!(begin.elapsed().as_secs() < 300, "{:?}", begin.elapsed());
    assert_eq!((report.into_inner(), found.judged), (160, 160));
    assert!(!found.is_complete && found.combinations > 1e50);
    let mixed =
        found.front.iter().filter(|one| matches!(one.candidate.coupling, CouplingConfig::Mixed { .. }));
    assert!(mixed.count() > 0, "no connection has a method of its own");
    let own = found.own.unwrap().score;
    let beats = |one: &koppel::plan::tune::Tuned| {
        one.score.error < own.error && one.score.cost.calls < own.cost.calls
    };
    assert!(found.front.iter().any(beats));
}
