//! Couplings on problems they were not tuned on:
//! `cargo run --release --example fresh [--networks COUNT | --quality | --variants | --late | PROBLEM [PARAMETERS]] [--once]`.
//!
//! With `--once` VFPS takes every step once, as it does where subsystems cannot go back.
//! The reference is the same system with a first-order hold at a twentieth of the smallest step. `--variants` has the same
//! problems with other parameters, `--quality` judges the live quality figure of VFPS.

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../shared/couplings.rs"]
mod couplings;
mod equations;
mod late;
mod networks;
mod problems;
mod quality;

use couplings::couplings;
use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};
use koppel::record::{Record, Table};
use koppel::run::{Flow, RunConfig, Simulation};
use networks::random_network;
use problems::{Fresh, problems};

/// Parameters that were held back while settings were chosen.
const HELD_BACK: [f64; 4] = [0.5, 0.8, 1.25, 2.0];

/// How many couplings, from the first, know nothing of the subsystems and are the yardstick.
const SIGNAL_BASED: usize = 3;

/// What a run has shown.
pub(crate) struct Seen {
    pub(crate) outputs: Vec<Vec<f64>>,
    /// Channels that were asked for.
    pub(crate) figures: Vec<Vec<f64>>,
    /// Whether it came to its end.
    pub(crate) is_complete: bool,
}

pub(crate) fn run(
    problem: &Fresh,
    coupling: CouplingConfig,
    step: f64,
    every: u64,
    figures: &[&str],
) -> Option<Seen> {
    let record = Record::Many(["all"].iter().chain(figures).map(|name| (*name).to_owned()).collect());
    let config = RunConfig { coupling, record, record_every: every, ..RunConfig::new(problem.stop, step) };
    let mut simulation = Simulation::new((problem.build)(), &config).ok()?;
    let graph = simulation.graph();
    let names: Vec<String> = (0..graph.outputs()).map(|o| graph.output_name(o)).collect();
    let of = |name: &str| simulation.columns().iter().position(|column| column.name == name);
    let outputs: Vec<usize> = names.iter().map(|name| of(name)).collect::<Option<_>>()?;
    let figures: Vec<usize> = figures.iter().map(|name| of(name)).collect::<Option<_>>()?;
    let mut table = Table::default();
    let is_complete = simulation.run(&mut table, &mut |_| Ok(Flow::Continue)).is_ok();
    let take = |list: &[usize]| list.iter().map(|column| table.column(*column).collect()).collect();
    Some(Seen { outputs: take(&outputs), figures: take(&figures), is_complete })
}

/// Mean over the outputs of the mean distance relative to the range; infinite where the run failed, NaN where the method
/// refuses the system.
fn error(seen: Option<Seen>, exact: &[Vec<f64>], every: usize) -> f64 {
    let Some(seen) = seen else { return f64::NAN };
    let mut sum = 0.0;
    for (seen, exact) in seen.outputs.iter().zip(exact) {
        let (low, high) =
            exact.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let pairs = seen.iter().zip(exact.iter().step_by(every));
        let mean = pairs.map(|(a, b)| (a - b).abs()).sum::<f64>() / seen.len() as f64;
        sum += mean / (high - low).max(1e-12);
    }
    let mean = sum / exact.len() as f64;
    if mean.is_finite() && seen.is_complete { mean } else { f64::INFINITY }
}

/// Errors at all steps, coupling by coupling.
fn errors(problem: &Fresh, couplings: &[CouplingConfig]) -> Vec<Vec<f64>> {
    let foh = CouplingConfig::Foh { start: StartUp::Constant };
    let exact = run(problem, foh, problem.smallest / 20.0, 20, &[]).expect("the reference runs").outputs;
    let of = |coupling: &CouplingConfig| {
        let at = |k: u32| {
            let factor = 1_usize << k;
            let step = problem.smallest * factor as f64;
            error(run(problem, coupling.clone(), step, 1, &[]), &exact, factor)
        };
        (0..problem.doublings).map(at).collect()
    };
    couplings.iter().map(of).collect()
}

/// The largest step with an error of at most 5 % there and below.
fn largest(problem: &Fresh, errors: &[f64]) -> f64 {
    let good = errors.iter().take_while(|error| **error <= 0.05).count();
    if good == 0 { 0.0 } else { problem.smallest * f64::from(1 << (good - 1)) }
}

/// Largest ratio of the last coupling's error, VFPS, to the best of the signal-based ones, where that is at most 5 %.
fn worst_ratio(errors: &[Vec<f64>]) -> f64 {
    let vfps = &errors[errors.len() - 1];
    let at = |k: usize| {
        let best = errors[..SIGNAL_BASED].iter().map(|e| e[k]).fold(f64::INFINITY, f64::min);
        // Errors below 0.1 % are those of the reference.
        if best <= 0.05 { vfps[k].max(1e-3) / best.max(1e-3) } else { 0.0 }
    };
    (0..vfps.len()).map(at).fold(0.0, f64::max)
}

/// VFPS as asked for.
pub(crate) fn vfps() -> VfpsConfig {
    let is_once = std::env::args().any(|argument| argument == "--once");
    let default = VfpsConfig::default();
    VfpsConfig { trials: if is_once { 1 } else { default.trials }, ..default }
}

/// ZOH, FOH, NEPCE and VFPS.
fn rivals() -> Vec<CouplingConfig> {
    let mut all: Vec<CouplingConfig> = couplings().into_iter().map(|(_, coupling, _)| coupling).collect();
    all.drain(SIGNAL_BASED..all.len() - 1);
    all[SIGNAL_BASED] = CouplingConfig::Vfps(vfps());
    all
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--once").collect();
    let is_asked = |name: &str| arguments.iter().any(|argument| argument == name);
    if let Some(at) = arguments.iter().position(|a| a == "--networks") {
        return compare_networks(arguments.get(at + 1).and_then(|count| count.parse().ok()).unwrap_or(100));
    }
    if is_asked("--quality") {
        return quality::report();
    }
    if is_asked("--variants") {
        return compare_variants();
    }
    let all = couplings();
    let names: Vec<&str> = all.iter().map(|(name, _, _)| *name).collect();
    println!("| problem | {} | worst ratio |", names.join(" | "));
    println!("| --- |{}", " --- |".repeat(names.len() + 1));
    let configs: Vec<CouplingConfig> = all.iter().map(|(_, coupling, _)| coupling.clone()).collect();
    let parameters = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let asked = arguments.iter().find(|argument| !argument.starts_with("--"));
    let wanted = |problem: &&Fresh| asked.is_none_or(|name| problem.name.contains(name.as_str()));
    let list = if is_asked("--late") { late::problems() } else { problems(parameters) };
    for problem in list.iter().filter(wanted) {
        let errors = errors(problem, &configs);
        let show = |e: &Vec<f64>| {
            if e[0].is_nan() { "-".into() } else { largest(problem, e).to_string() }
        };
        let steps: Vec<String> = errors.iter().map(show).collect();
        println!("| {} | {} | {:.2} |", problem.name, steps.join(" | "), worst_ratio(&errors));
        if asked.is_some() {
            errors.iter().for_each(|e| println!("    {e:.4?}"));
        }
    }
}

/// The same problems with parameters that were held back.
fn compare_variants() {
    println!("| problem | gain in step, by parameters | worst ratio, by parameters |\n| --- | --- | --- |");
    let count = problems(1.0).len();
    for number in 0..count {
        let (mut gains, mut ratios, mut name) = (Vec::new(), Vec::new(), String::new());
        for variant in HELD_BACK {
            let problem = problems(variant).swap_remove(number);
            let errors = errors(&problem, &rivals());
            let best = errors[..SIGNAL_BASED].iter().map(|e| largest(&problem, e)).fold(0.0, f64::max);
            let own = largest(&problem, &errors[SIGNAL_BASED]);
            gains.push(if best > 0.0 { format!("{}", own / best) } else { format!("{own} s / none") });
            ratios.push(format!("{:.2}", worst_ratio(&errors)));
            name = problem.name;
        }
        println!("| {name} | {} | {} |", gains.join(", "), ratios.join(", "));
    }
}

fn compare_networks(count: u64) {
    let mut gains = Vec::new();
    let (mut worse, mut failed, mut failed_foh, mut lost) = (0, 0, 0, 0);
    for seed in 0..count {
        let problem = random_network(seed);
        let errors = errors(&problem, &rivals());
        let best = errors[..SIGNAL_BASED].iter().map(|e| largest(&problem, e)).fold(0.0, f64::max);
        let gain = largest(&problem, &errors[SIGNAL_BASED]) / best.max(0.5 * problem.smallest);
        lost += u32::from(gain < 1.0);
        gains.push(gain);
        worse += u32::from(worst_ratio(&errors) > 1.2);
        failed += u32::from(errors[SIGNAL_BASED].iter().any(|e| *e > 1.0));
        failed_foh += u32::from(errors[1].iter().any(|e| *e > 1.0));
    }
    gains.sort_by(f64::total_cmp);
    let at = |share: f64| gains[((gains.len() - 1) as f64 * share) as usize];
    println!(
        "{count} networks: gain in step {} (least), {} (median), {} (most), lost on {lost}; worse than 1.2 times the best anywhere: \
         {worse}; errors above 100 % at some step: VFPS {failed}, FOH {failed_foh}",
        at(0.0),
        at(0.5),
        at(1.0)
    );
}
