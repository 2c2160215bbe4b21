//! `auto` on every example: stable, within the wanted error against the system uncut, and no dearer than 1.5 times the best of a
//! grid that is all run. Counted in calls, which are the same on every machine; `cargo xtask proof` measures seconds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../examples/auto_figures/grid.rs"]
mod grid;

use grid::{Example, WANTED, paths};
use koppel::plan::Basis;

/// Of the calls of the best of the grid.
const DEARER: f64 = 1.5;

/// One example; tells what is wrong with it.
fn judge(name: &str, path: &std::path::Path) -> Result<String, String> {
    let example = Example::new(name, path);
    let coupling = "{ method = \"auto\", save = \"calls\" }";
    let mut file = example.with(&[("coupling", coupling), ("step", "\"auto\"")]);
    file.choose_settings(&|_| {}).map_err(|error| error.to_string())?;
    let choice = file.chosen().unwrap();
    let own = example.run(&file.run);
    let runs =
        example.grid(1).into_iter().map(|candidate| (example.run(&candidate.on(&file.run)), candidate));
    let best = runs.filter(|(run, _)| run.error <= WANTED).min_by(|a, b| a.0.calls.total_cmp(&b.0.calls));
    let (least, best) = best.map_or((f64::INFINITY, "none".into()), |(run, of)| (run.calls, of.words()));
    let told = format!(
        "{name}: {} ({:?}), error {:.3}, {} calls; best of the grid {best}, {least} calls; {:.1} s",
        choice.chosen.words(),
        choice.basis,
        own.error,
        own.calls,
        choice.seconds
    );
    let is_good = own.error <= WANTED && own.calls <= DEARER * least && choice.basis != Basis::Nothing;
    if is_good { Ok(told) } else { Err(told) }
}

#[test]
fn every_example_is_good_enough_and_cheap_enough() {
    let judged: Vec<Result<String, String>> = paths().iter().map(|(name, path)| judge(name, path)).collect();
    assert!(judged.len() > 25, "{}", judged.len());
    let bad: Vec<&String> = judged.iter().filter_map(|one| one.as_ref().err()).collect();
    assert!(bad.is_empty(), "{bad:#?}\n{judged:#?}");
}
