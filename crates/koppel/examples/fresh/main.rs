//! Couplings on problems they were not tuned on: `cargo run --release --example fresh [--networks COUNT] [PROBLEM]`.
//!
//! The reference is the same system with a first-order hold at a twentieth of the smallest step.

#![expect(clippy::print_stdout, reason = "it prints a table")]

mod equations;
mod networks;
mod problems;
mod quality;

use koppel::coupling::{Against, CouplingConfig, StartUp, VfpsConfig};
use koppel::record::Table;
use koppel::run::{Flow, RunConfig, Simulation};
use networks::random_network;
use problems::{Fresh, problems};

fn outputs(problem: &Fresh, coupling: CouplingConfig, step: f64, every: u64) -> Option<Vec<Vec<f64>>> {
    let config = RunConfig { coupling, record_every: every, ..RunConfig::new(problem.stop, step) };
    let mut simulation = Simulation::new((problem.build)(), &config).ok()?;
    let graph = simulation.graph();
    let names: Vec<String> = (0..graph.outputs()).map(|o| graph.output_name(o)).collect();
    let of = |name: &String| simulation.columns().iter().position(|column| column.name == *name);
    let columns: Vec<usize> = names.iter().map(of).collect::<Option<_>>()?;
    let mut table = Table::default();
    simulation.run(&mut table, &mut |_| Ok(Flow::Continue)).ok()?;
    Some(columns.iter().map(|column| table.column(*column).collect()).collect())
}

/// Mean over the outputs of the mean distance relative to the range; infinite where the run failed.
fn error(seen: Option<Vec<Vec<f64>>>, exact: &[Vec<f64>], every: usize) -> f64 {
    let Some(seen) = seen else { return f64::INFINITY };
    let mut sum = 0.0;
    for (seen, exact) in seen.iter().zip(exact) {
        let (low, high) =
            exact.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let pairs = seen.iter().zip(exact.iter().step_by(every));
        let mean = pairs.map(|(a, b)| (a - b).abs()).sum::<f64>() / seen.len() as f64;
        sum += mean / (high - low).max(1e-12);
    }
    let mean = sum / exact.len() as f64;
    if mean.is_finite() { mean } else { f64::INFINITY }
}

/// Errors at all steps, coupling by coupling.
fn errors(problem: &Fresh) -> Vec<Vec<f64>> {
    let foh = CouplingConfig::Foh { start: StartUp::Constant };
    let nepce = CouplingConfig::Nepce { gain: 1.0, against: Against::Extrapolated, anti_aliasing: false };
    let vfps = CouplingConfig::Vfps(VfpsConfig::default());
    let exact = outputs(problem, foh.clone(), problem.smallest / 20.0, 20).expect("the reference runs");
    [CouplingConfig::Zoh {}, foh, nepce, vfps]
        .into_iter()
        .map(|coupling| {
            let at = |k: u32| {
                let factor = 1_usize << k;
                let step = problem.smallest * factor as f64;
                error(outputs(problem, coupling.clone(), step, 1), &exact, factor)
            };
            (0..problem.doublings).map(at).collect()
        })
        .collect()
}

/// The largest step with an error of at most 5 % there and below.
fn largest(problem: &Fresh, errors: &[f64]) -> f64 {
    let good = errors.iter().take_while(|error| **error <= 0.05).count();
    if good == 0 { 0.0 } else { problem.smallest * f64::from(1 << (good - 1)) }
}

/// Largest ratio of the error of VFPS to the best of the others, where that is at most 5 %.
fn worst_ratio(errors: &[Vec<f64>]) -> f64 {
    let at = |k: usize| {
        let best = errors[..3].iter().map(|e| e[k]).fold(f64::INFINITY, f64::min);
        // Errors below 0.1 % are those of the reference.
        if best <= 0.05 { errors[3][k].max(1e-3) / best.max(1e-3) } else { 0.0 }
    };
    (0..errors[3].len()).map(at).fold(0.0, f64::max)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let variant: f64 = std::env::var("VARIANT").ok().and_then(|v| v.parse().ok()).unwrap_or(1.0);
    if arguments.first().is_some_and(|a| a == "--trace") {
        let all = problems(variant);
        let problem = all.iter().find(|p| p.name.contains(&arguments[1])).expect("known");
        let k: u32 = arguments[2].parse().expect("number");
        let foh = CouplingConfig::Foh { start: StartUp::Constant };
        let exact = outputs(problem, foh.clone(), problem.smallest / 20.0, 20 << k).expect("runs");
        let which = match arguments[3].as_str() {
            "foh" => foh,
            "zoh" => CouplingConfig::Zoh {},
            _ => CouplingConfig::Vfps(VfpsConfig::default()),
        };
        let seen = outputs(problem, which, problem.smallest * f64::from(1 << k), 1).expect("runs");
        for i in 0..seen[0].len() {
            let row: Vec<String> =
                seen.iter().zip(&exact).map(|(a, b)| format!("{:.5} {:.5}", a[i], b[i])).collect();
            println!("{} {:.5} {}", i, problem.smallest * f64::from(1 << k) * i as f64, row.join("  "));
        }
        return;
    }
    if arguments.first().is_some_and(|a| a == "--quality") {
        return quality::dump();
    }
    let networks =
        arguments.iter().position(|a| a == "--networks").map(|at| arguments[at + 1].parse().unwrap_or(0));
    if let Some(count) = networks {
        return compare_networks(count);
    }
    println!(
        "| problem | ZOH | FOH | NEPCE | VFPS | worst error ratio |\n| --- | --- | --- | --- | --- | --- |"
    );
    for problem in
        problems(variant).iter().filter(|p| arguments.iter().all(|name| p.name.contains(name.as_str())))
    {
        let errors = errors(problem);
        let steps: Vec<String> = errors.iter().map(|e| format!("{}", largest(problem, e))).collect();
        println!("| {} | {} | {:.2} |", problem.name, steps.join(" | "), worst_ratio(&errors));
        if !arguments.is_empty() {
            errors.iter().for_each(|e| println!("    {e:.4?}"));
        }
    }
}

fn compare_networks(count: u64) {
    let mut gains = Vec::new();
    let (mut worse, mut failed, mut failed_foh) = (0, 0, 0);
    for seed in 0..count {
        let problem = random_network(seed);
        let errors = errors(&problem);
        let best = errors[..3].iter().map(|e| largest(&problem, e)).fold(0.0, f64::max);
        gains.push(largest(&problem, &errors[3]) / best.max(0.5 * problem.smallest));
        worse += u32::from(worst_ratio(&errors) > 1.2);
        failed += u32::from(errors[3].iter().any(|e| *e > 1.0));
        failed_foh += u32::from(errors[1].iter().any(|e| *e > 1.0));
    }
    gains.sort_by(f64::total_cmp);
    let at = |share: f64| gains[((gains.len() - 1) as f64 * share) as usize];
    println!(
        "{count} networks: gain in step {} (least), {} (median), {} (most); worse than 1.2 times the best anywhere: {worse}; \
         errors above 100 % at some step: VFPS {failed}, FOH {failed_foh}",
        at(0.0),
        at(0.5),
        at(1.0)
    );
}
