//! Prints the largest step at which each coupling is within 5 % of the reference, for the problems of the papers, and what it
//! takes there: communications and sub-steps, with and without probing.
//!
//! `cargo run --release --example steps [--errors | --cost] [--vfps] [PROBLEM]`

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../shared/couplings.rs"]
mod couplings;
mod problems;

use couplings::couplings;
use koppel::coupling::CouplingConfig;
use problems::{Outcome, Problem};

/// How many of the couplings, the last ones, are VFPS.
const VARIANTS: usize = 4;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_asked = |name: &str| arguments.iter().any(|argument| argument == name);
    let mut couplings = couplings();
    if is_asked("--vfps") || is_asked("--cost") {
        couplings.drain(..couplings.len() - if is_asked("--cost") { 1 } else { VARIANTS });
    }
    let configs: Vec<CouplingConfig> = couplings.iter().map(|(_, coupling, _)| coupling.clone()).collect();
    let names: Vec<&str> = couplings.iter().map(|(name, _, _)| *name).collect();
    let wanted = arguments.iter().find(|argument| !argument.starts_with("--"));
    if !is_asked("--cost") && !is_asked("--errors") {
        println!("| problem | {} |", names.join(" | "));
        println!("| --- |{}", " --- |".repeat(names.len()));
    }
    let mut counts = Vec::new();
    for problem in problems::problems().iter().filter(|p| wanted.is_none_or(|n| p.name.contains(n.as_str())))
    {
        if is_asked("--cost") {
            println!("{}: {}", problem.name, problem.cost(&configs[0]));
            continue;
        }
        let outcomes = problem.outcomes(&configs, is_asked("--errors"));
        if is_asked("--errors") {
            println!("{}", problem.name);
            for (k, name) in names.iter().enumerate() {
                let at = |(step, all): (&f64, &Vec<Outcome>)| {
                    let again = all[k].repetitions;
                    let again = if again > 0 { format!(" (+{again})") } else { String::new() };
                    let nodes = if all[k].nodes > 0 { format!(" m{}", all[k].nodes) } else { String::new() };
                    format!("{step}: {:.4}{again}{nodes}", all[k].error)
                };
                let errors: Vec<String> = problem.steps.iter().zip(&outcomes).map(at).collect();
                println!("  {name:15} {}", errors.join("  "));
            }
            continue;
        }
        let cells: Vec<String> = (0..configs.len()).map(|k| cell(problem, &outcomes, k)).collect();
        println!("| {} | {} |", problem.name, cells.join(" | "));
        if couplings.len() > VARIANTS {
            counts.push(count(problem, &outcomes, &couplings));
        }
    }
    if !counts.is_empty() {
        println!(
            "\n| problem | best other | its communications | its sub-steps | VFPS | sub-steps | with probing | VFPS, steps once | sub-steps | with probing | VFPS, auto nodes | sub-steps | with probing | VFPS, 1 node | sub-steps | with probing |"
        );
        println!("| --- |{}", " --- |".repeat(15));
        counts.iter().for_each(|line| println!("{line}"));
    }
}

/// Place of the largest step with an error of at most 5 % there and below.
fn reach(outcomes: &[Vec<Outcome>], coupling: usize) -> Option<usize> {
    outcomes.iter().take_while(|all| all[coupling].error <= 0.05).count().checked_sub(1)
}

fn cell(problem: &Problem, outcomes: &[Vec<Outcome>], coupling: usize) -> String {
    if outcomes[0][coupling].error.is_nan() {
        return "-".into();
    }
    let Some(at) = reach(outcomes, coupling) else { return "0".into() };
    let more = if at + 1 == problem.steps.len() { ">= " } else { "" };
    format!("{more}{}", problem.steps[at])
}

/// Communications as steps + repetitions, and sub-steps of all subsystems together at the largest step: the best of the
/// others, and VFPS.
fn count(
    problem: &Problem,
    outcomes: &[Vec<Outcome>],
    couplings: &[(&str, CouplingConfig, usize)],
) -> String {
    let parts = problem.case.parts.len() as u64;
    let stop = problem.case.run.stop * 1e3;
    let numbers = |k: usize| {
        let at = reach(outcomes, k)?;
        let (steps, again) = ((stop / problem.steps[at]).ceil() as u64, outcomes[at][k].repetitions);
        // A step that is taken again is exchanged again.
        let communications = steps + again;
        let nodes = if outcomes[at][k].nodes > 0 { outcomes[at][k].nodes } else { couplings[k].2 };
        let sub_steps = communications * parts * nodes as u64;
        let told = if again > 0 { format!("{steps} + {again}") } else { steps.to_string() };
        Some((communications, told, sub_steps, sub_steps + outcomes[at][k].probing))
    };
    let others = couplings.len() - VARIANTS;
    let best = (0..others).filter_map(|k| Some((k, numbers(k)?))).min_by_key(|(_, numbers)| numbers.0);
    let first = match best {
        Some((k, (_, communications, sub_steps, _))) => {
            format!("{} | {communications} | {sub_steps}", couplings[k].0)
        }
        None => "none | - | -".into(),
    };
    let own = |k: usize| match numbers(k) {
        Some((_, communications, sub_steps, all)) => format!("{communications} | {sub_steps} | {all}"),
        None => "- | - | -".into(),
    };
    format!(
        "| {} | {first} | {} | {} | {} | {} |",
        problem.name,
        own(others + 3),
        own(others + 2),
        own(others + 1),
        own(others)
    )
}
