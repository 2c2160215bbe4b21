//! Prints the largest step at which each coupling is within 5 % of the reference, for the problems of the papers, and what it
//! takes there: communications and sub-steps, with and without probing.
//!
//! `cargo run --release --package koppel-experiments --bin steps [-- [--errors | --cost] [--vfps] [PROBLEM]]`

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../../../../crates/koppel/tests/common/cases/mod.rs"]
mod cases;
#[expect(dead_code, reason = "tests use the rest")]
#[path = "../../../../crates/koppel/tests/vfps/problems.rs"]
mod problems;

use koppel::coupling::CouplingConfig;
use koppel_experiments::couplings;
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
        println!("\n| communications; sub-steps; with probing | {} |", names.join(" | "));
        println!("| --- |{}", " --- |".repeat(names.len()));
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

/// What each coupling takes at its largest step: communications as steps + those taken again, sub-steps of all subsystems
/// together, and with those of probing, if there is any.
fn count(
    problem: &Problem,
    outcomes: &[Vec<Outcome>],
    couplings: &[(&str, CouplingConfig, usize)],
) -> String {
    let parts = problem.case.parts.len() as u64;
    let stop = problem.case.run.stop * 1e3;
    let one = |k: usize| {
        let Some(at) = reach(outcomes, k) else { return "-".to_owned() };
        let Outcome { repetitions: again, nodes, probing, .. } = outcomes[at][k];
        let steps = (stop / problem.steps[at]).ceil() as u64;
        let nodes = if nodes > 0 { nodes } else { couplings[k].2 };
        // A step that is taken again is exchanged again.
        let sub_steps = (steps + again) * parts * nodes as u64;
        let mut report = steps.to_string();
        if again > 0 {
            report += &format!(" + {again}");
        }
        report += &format!("; {sub_steps}");
        if probing > 0 {
            report += &format!("; {}", sub_steps + probing);
        }
        report
    };
    let cells: Vec<String> = (0..couplings.len()).map(one).collect();
    format!("| {} | {} |", problem.name, cells.join(" | "))
}
