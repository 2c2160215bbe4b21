//! Prints the largest step at which each coupling is within 5 % of the reference, for the problems of the papers.
//!
//! `cargo run --release --example steps [--errors | --cost] [--vfps] [PROBLEM]`

#![expect(clippy::print_stdout, reason = "it prints a table")]

mod problems;

use koppel::coupling::{Against, CouplingConfig, StartUp, VfpsConfig};

fn main() {
    let nepce = CouplingConfig::Nepce { gain: 1.0, against: Against::Extrapolated, anti_aliasing: false };
    let vfps = |nodes: usize| CouplingConfig::Vfps(VfpsConfig { nodes, ..VfpsConfig::default() });
    let couplings = [
        ("ZOH", CouplingConfig::Zoh {}),
        ("FOH", CouplingConfig::Foh { start: StartUp::Constant }),
        ("NEPCE", nepce),
        ("VFPS", vfps(10)),
        ("VFPS, 1 node", vfps(1)),
    ];
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_asked = |name: &str| arguments.iter().any(|argument| argument == name);
    let couplings = if is_asked("--vfps") { &couplings[3..4] } else { &couplings[..] };
    let with_errors = is_asked("--errors");
    let wanted = arguments.iter().find(|argument| !argument.starts_with("--"));
    let all = problems::problems();
    for problem in all.iter().filter(|p| wanted.is_none_or(|name| p.name.contains(name.as_str()))) {
        if is_asked("--cost") {
            println!("{}: {}", problem.name, problem.cost(&couplings[couplings.len().min(4) - 1].1));
        } else if with_errors {
            println!("{}", problem.name);
            for (name, coupling) in couplings {
                let errors: Vec<String> = problem
                    .steps
                    .iter()
                    .map(|h| format!("{h}: {:.4}", problem.error(coupling, *h)))
                    .collect();
                println!("  {name:12} {}", errors.join("  "));
            }
        } else {
            let steps: Vec<String> =
                couplings.iter().map(|(_, coupling)| problem.largest_step(coupling).to_string()).collect();
            println!("| {} | {} |", problem.name, steps.join(" | "));
        }
    }
}
