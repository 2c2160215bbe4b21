//! `auto` on the examples: stable, within the wanted error against the system uncut, and no dearer than 1.5 times the best of a
//! grid of methods and steps. Counted in calls, which are the same on every machine; `cargo xtask proof` measures seconds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod grid;

use grid::{Example, WANTED, paths};
use koppel::analysis::{LinearSystem, StepMatrix};
use koppel::run::RunConfig;
use koppel_session::Session;

/// Of the calls of the best of the grid.
const DEARER: f64 = 1.5;

/// Examples whose runs take too long for every test: `cargo xtask proof` has them.
const LONG: [&str; 6] =
    ["epas", "epas-fast", "helicopter", "prestep/helicopter", "loops/filtered", "loops/steps"];

/// One example; tells what is wrong with it.
fn judge(example: &Example) -> Result<String, String> {
    let coupling = "{ method = \"auto\", save = \"calls\" }";
    let mut file = example.with(&[("coupling", coupling), ("step", "\"auto\"")]);
    file.choose_settings(&|_| {}).map_err(|error| error.to_string())?;
    let choice = file.chosen().unwrap();
    let own = example.run(&file.spec.run);
    let (best, least) = best_of_grid(example, &file);
    let report = format!(
        "{}: {} ({:?}), error {:.3}, {} calls; best of the grid {best}, {least} calls; chosen with {:.0} calls",
        example.name,
        choice.chosen.words(),
        choice.basis,
        own.error,
        own.calls,
        choice.calls
    );
    let is_good = own.error <= WANTED && own.calls <= DEARER * least;
    if is_good { Ok(report) } else { Err(report) }
}

/// False if disturbances grow, however slowly: such settings are no choice, even if the run ends before it shows. Told of linear
/// systems by their step matrix.
fn is_stable(example: &Example, config: &RunConfig) -> bool {
    let mut file = example.file.clone();
    file.spec.run = config.clone();
    let system = file.build_run().ok().and_then(|mut run| LinearSystem::new(&mut run).ok());
    match system.filter(LinearSystem::is_exact) {
        Some(system) if StepMatrix::of(&system, config).is_ok() => system.growth(config).unwrap().is_bounded,
        _ => true,
    }
}

/// Longer steps take fewer calls: of each method the longest one that keeps the error is its best.
fn best_of_grid(example: &Example, file: &Session) -> (String, f64) {
    let mut best = ("none".to_owned(), f64::INFINITY);
    let all = example.grid(1);
    for method in all.chunk_by(|a, b| a.coupling == b.coupling && a.schedule == b.schedule) {
        for candidate in method.iter().rev() {
            let run = example.run(&candidate.on(&file.spec.run));
            if run.calls.is_finite() && run.calls >= best.1 {
                break;
            }
            if run.error <= WANTED && is_stable(example, &candidate.on(&file.spec.run)) {
                best = (candidate.words(), run.calls);
                break;
            }
        }
    }
    best
}

/// Whose friction makes its runs stiff: one period of what drives it, in a test of its own.
const FRICTION: &str = "lugre-mass";

#[test]
fn examples_are_good_enough_and_cheap_enough() {
    let is_short = |name: &str| !LONG.contains(&name) && name != FRICTION;
    let paths: Vec<_> = paths().into_iter().filter(|(name, _)| is_short(name)).collect();
    assert!(paths.len() > 20, "{}", paths.len());
    let judged: Vec<Result<String, String>> =
        paths.iter().map(|(name, path)| judge(&Example::new(name, path))).collect();
    let bad: Vec<&String> = judged.iter().filter_map(|one| one.as_ref().err()).collect();
    assert!(bad.is_empty(), "{bad:#?}\n{judged:#?}");
}

#[test]
fn a_mass_with_friction_is_good_enough_and_cheap_enough() {
    let (name, path) = paths().into_iter().find(|(name, _)| name == FRICTION).unwrap();
    judge(&Example::until(&name, &path, 1.0)).unwrap();
}
