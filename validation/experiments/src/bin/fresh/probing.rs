//! What exciting subsystems before the run is worth: the same runs without, where everything is learned on the way.

use super::problems::Fresh;
use super::{Outcome, good, largest, outcomes, vfps};
use koppel::coupling::{CouplingConfig, VfpsConfig};
use rayon::prelude::*;

/// Largest steps with and without, and at the largest that both reach: error, and sub-steps of all subsystems together.
pub(crate) fn compare(list: &[Fresh]) {
    println!("| problem | largest step | not excited | at | error, sub-steps + probing | not excited |");
    println!("| --- |{}", " --- |".repeat(5));
    let line = |problem: &Fresh| {
        let graph = (problem.build)().graph;
        let spare = (0..graph.len()).map(|id| graph.name(id).to_owned()).collect();
        let configs = [vfps(), VfpsConfig { spare, ..vfps() }].map(CouplingConfig::from);
        let both = outcomes(problem, &configs);
        let [with, without] = [0, 1].map(|k| largest(problem, &both[k]).to_string());
        let Some(at) = good(&both[0]).min(good(&both[1])).checked_sub(1) else {
            return format!("| {} | {with} | {without} | - | - | - |", problem.name);
        };
        let step = problem.smallest * f64::from(1 << at);
        let steps = (problem.stop / step).ceil() as u64;
        let cell = |outcome: &Outcome| {
            let sub_steps = (steps + outcome.repetitions) * (graph.len() * outcome.nodes) as u64;
            let probing = if outcome.probing > 0 { format!(" + {}", outcome.probing) } else { String::new() };
            format!("{:.4}, {sub_steps}{probing}", outcome.error)
        };
        let cells = [cell(&both[0][at]), cell(&both[1][at])];
        format!("| {} | {with} | {without} | {step} | {} |", problem.name, cells.join(" | "))
    };
    let lines: Vec<String> = list.par_iter().map(line).collect();
    println!("{}", lines.join("\n"));
}
