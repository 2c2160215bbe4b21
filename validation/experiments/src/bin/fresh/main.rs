//! Couplings on problems they were not tuned on:
//! `cargo run --release --package koppel-experiments --bin fresh [-- --networks COUNT | --quality [--others] | --variants | --late | --probing | PROBLEM [PARAMETERS]] [--once]`.
//!
//! With `--once` VFPS takes every step once, as it does where subsystems cannot go back.
//! The reference is the same system with a first-order hold at a twentieth of the smallest step. `--variants` has the same
//! problems with other parameters, `--quality` judges the live quality figure of VFPS (with `--others` on problems that were not
//! in view when it was made), `--probing` what exciting subsystems is worth. Where the number of nodes is chosen, it stands
//! behind the step.

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../../../../../crates/koppel/tests/vfps/fresh/equations.rs"]
mod equations;
#[path = "../../../../../crates/koppel/tests/vfps/fresh/late.rs"]
mod late;
mod networks;
mod probing;
#[path = "../../../../../crates/koppel/tests/vfps/fresh/problems.rs"]
mod problems;
mod quality;

use koppel::coupling::{CouplingConfig, Nodes, StartUp, VfpsConfig};
use koppel::record::{Record, Trajectory};
use koppel::run::{Flow, Run, RunConfig};
use koppel_experiments::couplings;
use networks::random_network;
use problems::{Fresh, problems};
use rayon::prelude::*;

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
    nodes: usize,
    repetitions: u64,
    probing: u64,
}

/// What a coupling did at one step.
#[derive(Clone, Copy)]
struct Outcome {
    error: f64,
    /// Parts of a step, of VFPS.
    nodes: usize,
    /// How often a step was taken again.
    repetitions: u64,
    /// Sub-steps of probing.
    probing: u64,
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
    let mut run = Run::new((problem.build)(), &config).ok()?;
    let graph = run.graph();
    let names: Vec<String> = (0..graph.outputs()).map(|o| graph.output_name(o)).collect();
    let of = |name: &str| run.columns().iter().position(|column| column.name == name);
    let outputs: Vec<usize> = names.iter().map(|name| of(name)).collect::<Option<_>>()?;
    let figures: Vec<usize> = figures.iter().map(|name| of(name)).collect::<Option<_>>()?;
    let mut table = Trajectory::default();
    let is_complete = run.run(&mut table, &mut |_| Ok(Flow::Continue)).is_ok();
    let take = |list: &[usize]| list.iter().map(|column| table.column(*column).collect()).collect();
    Some(Seen {
        outputs: take(&outputs),
        figures: take(&figures),
        is_complete,
        nodes: run.probing_nodes(),
        repetitions: run.repetitions(),
        probing: run.statistics().review.and_then(|review| review.probing).unwrap_or(0),
    })
}

/// Mean over the outputs of the mean distance relative to the range; infinite where the run failed, NaN where the method
/// refuses the system.
fn judge(seen: Option<Seen>, exact: &[Vec<f64>], every: usize) -> Outcome {
    let Some(seen) = seen else { return Outcome { error: f64::NAN, nodes: 0, repetitions: 0, probing: 0 } };
    let mut sum = 0.0;
    for (seen, exact) in seen.outputs.iter().zip(exact) {
        let (low, high) =
            exact.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let pairs = seen.iter().zip(exact.iter().step_by(every));
        let mean = pairs.map(|(a, b)| (a - b).abs()).sum::<f64>() / seen.len() as f64;
        sum += mean / (high - low).max(1e-12);
    }
    let mean = sum / exact.len() as f64;
    let error = if mean.is_finite() && seen.is_complete { mean } else { f64::INFINITY };
    let Seen { nodes, repetitions, probing, .. } = seen;
    Outcome { error, nodes, repetitions, probing }
}

/// What happens at all steps, coupling by coupling.
fn outcomes(problem: &Fresh, couplings: &[CouplingConfig]) -> Vec<Vec<Outcome>> {
    let foh = CouplingConfig::foh(StartUp::Constant);
    let exact = run(problem, foh, problem.smallest / 20.0, 20, &[]).expect("the reference runs").outputs;
    let of = |coupling: &CouplingConfig| {
        let at = |k: u32| {
            let factor = 1_usize << k;
            let step = problem.smallest * factor as f64;
            judge(run(problem, coupling.clone(), step, 1, &[]), &exact, factor)
        };
        (0..problem.doublings).map(at).collect()
    };
    couplings.iter().map(of).collect()
}

/// How many steps, from the smallest, have an error of at most 5 %.
fn good(outcomes: &[Outcome]) -> usize {
    outcomes.iter().take_while(|outcome| outcome.error <= 0.05).count()
}

/// The largest step with an error of at most 5 % there and below.
fn largest(problem: &Fresh, outcomes: &[Outcome]) -> f64 {
    let good = good(outcomes);
    if good == 0 { 0.0 } else { problem.smallest * f64::from(1 << (good - 1)) }
}

/// Largest ratio of a coupling's error to the best of the signal-based ones, where that is at most 5 %.
fn worst_ratio(outcomes: &[Vec<Outcome>], coupling: usize) -> f64 {
    let own = &outcomes[coupling];
    let at = |k: usize| {
        let best = outcomes[..SIGNAL_BASED].iter().map(|all| all[k].error).fold(f64::INFINITY, f64::min);
        // Errors below 0.1 % are those of the reference.
        if best <= 0.05 { own[k].error.max(1e-3) / best.max(1e-3) } else { 0.0 }
    };
    (0..own.len()).map(at).fold(0.0, f64::max)
}

/// VFPS as asked for.
pub(crate) fn vfps() -> VfpsConfig {
    let is_once = std::env::args().any(|argument| argument == "--once");
    let default = VfpsConfig::default();
    VfpsConfig { trials: if is_once { 1 } else { default.trials }, ..default }
}

/// ZOH, FOH, NEPCE and VFPS, the last of them with every step once.
fn rivals() -> Vec<CouplingConfig> {
    let all = couplings().into_iter().map(|(_, coupling, _)| coupling);
    let own = [vfps(), VfpsConfig { trials: 1, ..vfps() }];
    all.take(SIGNAL_BASED).chain(own.map(CouplingConfig::from)).collect()
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
    if is_asked("--probing") {
        let all: Vec<Fresh> = problems(1.0).into_iter().chain(late::problems()).collect();
        return probing::compare(&all);
    }
    if is_asked("--variants") {
        return compare_variants();
    }
    let parameters = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let asked = arguments.iter().find(|argument| !argument.starts_with("--"));
    let list = if is_asked("--late") { late::problems() } else { problems(parameters) };
    compare(&list, asked.map(String::as_str));
}

/// All couplings on these problems, or on one of them with all errors.
fn compare(list: &[Fresh], asked: Option<&str>) {
    let all = couplings();
    let names: Vec<&str> = all.iter().map(|(name, _, _)| *name).collect();
    println!("| problem | {} | worst ratio | with auto nodes |", names.join(" | "));
    println!("| --- |{}", " --- |".repeat(names.len() + 2));
    let configs: Vec<CouplingConfig> = all.iter().map(|(_, coupling, _)| coupling.clone()).collect();
    let chosen = |coupling: &CouplingConfig| {
        coupling.settings::<VfpsConfig>().is_some_and(|own| own.nodes == Nodes::Auto)
    };
    let auto = configs.iter().position(chosen).expect("one has auto nodes");
    let line = |problem: &Fresh| {
        let outcomes = outcomes(problem, &configs);
        let show = |(k, of): (usize, &Vec<Outcome>)| {
            let nodes =
                good(of).checked_sub(1).filter(|_| k == auto).map(|at| format!(" ({})", of[at].nodes));
            let is_refused = of[0].error.is_nan();
            if is_refused {
                "-".into()
            } else {
                format!("{}{}", largest(problem, of), nodes.unwrap_or_default())
            }
        };
        let steps: Vec<String> = outcomes.iter().enumerate().map(show).collect();
        let ratios = [configs.len() - 1, auto].map(|k| format!("{:.2}", worst_ratio(&outcomes, k)));
        let mut text = format!("| {} | {} | {} |\n", problem.name, steps.join(" | "), ratios.join(" | "));
        if asked.is_some() {
            for of in &outcomes {
                let errors: Vec<f64> = of.iter().map(|outcome| outcome.error).collect();
                text += &format!("    {errors:.4?}\n");
            }
        }
        text
    };
    let wanted = |problem: &&Fresh| asked.is_none_or(|name| problem.name.contains(name));
    let list: Vec<&Fresh> = list.iter().filter(wanted).collect();
    let lines: Vec<String> = list.into_par_iter().map(line).collect();
    print!("{}", lines.concat());
}

/// The same problems with parameters that were held back.
fn compare_variants() {
    println!("| problem | gain in step, by parameters | worst ratio, by parameters | with every step once |");
    println!("| --- | --- | --- | --- |");
    let line = |number: usize| {
        let (mut gains, mut ratios, mut once, mut name) = (Vec::new(), Vec::new(), Vec::new(), String::new());
        for variant in HELD_BACK {
            let problem = problems(variant).swap_remove(number);
            let outcomes = outcomes(&problem, &rivals());
            let best = outcomes[..SIGNAL_BASED].iter().map(|e| largest(&problem, e)).fold(0.0, f64::max);
            let own = largest(&problem, &outcomes[SIGNAL_BASED]);
            gains.push(if best > 0.0 { format!("{}", own / best) } else { format!("{own} s / none") });
            let ratio = |coupling: usize| match worst_ratio(&outcomes, coupling) {
                0.0 => "-".into(),
                ratio => format!("{ratio:.2}"),
            };
            ratios.push(ratio(SIGNAL_BASED));
            once.push(ratio(SIGNAL_BASED + 1));
            name = problem.name;
        }
        format!("| {name} | {} | {} | {} |", gains.join(", "), ratios.join(", "), once.join(", "))
    };
    let lines: Vec<String> = (0..problems(1.0).len()).into_par_iter().map(line).collect();
    println!("{}", lines.join("\n"));
}

fn compare_networks(count: u64) {
    let of = |seed: u64| {
        let problem = random_network(seed);
        let outcomes = outcomes(&problem, &rivals());
        let best = outcomes[..SIGNAL_BASED].iter().map(|e| largest(&problem, e)).fold(0.0, f64::max);
        let gain = largest(&problem, &outcomes[SIGNAL_BASED]) / best.max(0.5 * problem.smallest);
        let fails = |coupling: usize| outcomes[coupling].iter().any(|outcome| outcome.error > 1.0);
        (gain, worst_ratio(&outcomes, SIGNAL_BASED) > 1.2, fails(SIGNAL_BASED), fails(1))
    };
    let all: Vec<(f64, bool, bool, bool)> = (0..count).into_par_iter().map(of).collect();
    let mut gains: Vec<f64> = all.iter().map(|(gain, ..)| *gain).collect();
    gains.sort_by(f64::total_cmp);
    let lost = gains.iter().filter(|gain| **gain < 1.0).count();
    let [worse, failed, failed_foh] = [
        all.iter().filter(|(_, worse, ..)| *worse).count(),
        all.iter().filter(|(_, _, failed, _)| *failed).count(),
        all.iter().filter(|(.., failed)| *failed).count(),
    ];
    let at = |share: f64| gains[((gains.len() - 1) as f64 * share) as usize];
    println!(
        "{count} networks: gain in step {} (least), {} (median), {} (most), lost on {lost}; worse than 1.2 times the best anywhere: \
         {worse}; errors above 100 % at some step: VFPS {failed}, FOH {failed_foh}",
        at(0.0),
        at(0.5),
        at(1.0)
    );
}
