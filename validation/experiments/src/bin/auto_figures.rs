//! What `auto` chooses on every example, beside a grid of methods and steps that are all run.
//!
//! `cargo xtask proof` runs it and keeps what it prints in `docs/auto.md`. Names of examples as arguments: only these.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program of figures prints and may panic")]

#[path = "../../../../crates/koppel-session/tests/auto/grid.rs"]
mod grid;

use grid::{Example, paths};
use koppel::analysis::{LinearSystem, Scan, stable_steps};
use koppel::coupling::CouplingConfig;
use koppel::plan::Candidate;
use koppel::run::{RunConfig, ScheduleConfig};
use koppel_session::Session;
use std::time::{Duration, Instant};

/// Settings that take so many times as long as the best are looked at no further.
const DEARER: f64 = 5.0;
/// Rounds in which the best are timed against each other.
const ROUNDS: usize = 7;
/// Rounds between the chosen settings and the best of the grid, and when they end earlier.
const LAST_ROUNDS: usize = 50;
const PATIENCE: Duration = Duration::from_secs(3);

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    println!(
        "| example | chosen by `auto` | error | time over the best of the grid | best of the grid, error | calls for choosing |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let examples: Vec<Example> = paths()
        .iter()
        .filter(|(name, _)| is_wanted(name))
        .map(|(name, path)| Example::new(name, path))
        .collect();
    let ratios: Vec<f64> = examples.iter().map(beside_grid).collect();
    let good = ratios.iter().filter(|ratio| **ratio <= 1.5).count();
    println!("\nWithin 1.5 times the time of the best: {good} of {}.\n", ratios.len());
    println!(
        "| problem | zero-order hold is stable up to | `auto`, fewest communications | its step over that | error |"
    );
    println!("| --- | --- | --- | --- | --- |");
    let gains: Vec<f64> = examples.iter().filter_map(beside_limit).collect();
    let mean = gains.iter().sum::<f64>() / gains.len() as f64;
    println!("\nMean: {mean:.1} times.");
}

fn chosen(example: &Example, coupling: &str) -> Session {
    let mut file = example.with(&[("coupling", coupling), ("step", "\"auto\"")]);
    file.choose_settings(&|_| {}).unwrap();
    file
}

fn beside_grid(example: &Example) -> f64 {
    let file = chosen(example, "\"auto\"");
    let choice = file.chosen().unwrap();
    let own = example.run(&file.spec.run);
    let mut good = example.good(&file.spec.run, 2, DEARER);
    for _ in 0..ROUNDS {
        let least = good.iter().map(|(_, run)| run.seconds).fold(f64::INFINITY, f64::min);
        for (config, run) in good.iter_mut().filter(|(_, run)| run.seconds <= 2.0 * least) {
            run.seconds = run.seconds.min(example.run(config).seconds);
        }
    }
    let best = good.iter().min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
    // The best of many was measured more often than the one: now both as often, in turns.
    let ratio = best.map_or(0.0, |(config, _)| {
        let (begin, mut least) = (Instant::now(), [f64::INFINITY; 2]);
        for round in 0..LAST_ROUNDS {
            if round >= ROUNDS && begin.elapsed() > PATIENCE {
                break;
            }
            for (least, config) in least.iter_mut().zip([&file.spec.run, config]) {
                *least = least.min(example.run(config).seconds);
            }
        }
        least[0] / least[1]
    });
    let words = best.map_or("none keeps the error".to_owned(), |(config, run)| {
        format!("{}, {:.1} %", words(&Candidate::of(config)), 100.0 * run.error)
    });
    let (took, chosen) = (choice.calls, self::words(&choice.chosen));
    println!(
        "| {} | {chosen} | {:.1} % | {ratio:.2} | {words} | {took:.0} |",
        example.name,
        100.0 * own.error
    );
    ratio
}

fn words(candidate: &Candidate) -> String {
    format!("{}, {:.3} ms", candidate.method(), 1e3 * candidate.step)
}

/// Of linear ones.
fn beside_limit(example: &Example) -> Option<f64> {
    let zoh = RunConfig {
        coupling: CouplingConfig::zoh(),
        schedule: ScheduleConfig::PARALLEL,
        ..example.file.spec.run.clone()
    };
    let mut file = example.file.clone();
    file.spec.run = zoh.clone();
    let system = LinearSystem::new(&mut file.build_run().ok()?).ok().filter(LinearSystem::is_exact)?;
    let limit = stable_steps(&system, &zoh, Scan::around(zoh.step)).ok()?.first()?.to;
    let file = chosen(example, "{ method = \"auto\", save = \"communications\" }");
    let run = example.run(&file.spec.run);
    let (step, error) = (file.spec.run.step, 100.0 * run.error);
    println!(
        "| {} | {:.3} ms | {} | {:.1} | {error:.1} % |",
        example.name,
        1e3 * limit,
        words(&Candidate::of(&file.spec.run)),
        step / limit
    );
    Some(step / limit)
}
