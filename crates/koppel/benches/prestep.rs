//! What the pre-step method costs: time per macro step beyond that of zero-order hold, on the same subsystems.
//!
//! Linear subsystems with exact solution, parallel schedule, one thread, nothing recorded. Two subsystems with three signals
//! are the dual-mass oscillator; twenty with sixty are a ring of subsystems with three states, inputs and outputs each.
//! Rounds of both sides alternate and the fastest of each counts.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

use koppel::coupling::{CouplingConfig, ErrorEquationConfig, PrestepConfig};
use koppel::identify::ModelConfig;
use koppel::linalg::Matrix;
use koppel::models::cases::case;
use koppel::run::{Parallel, RunConfig, Simulation};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};
use std::time::Instant;

fn dual_mass() -> System {
    let mut case = case("dual-mass").unwrap();
    case.parts.iter_mut().for_each(|part| part.solver = SolverConfig::Exact {});
    case.system().unwrap()
}

fn ring(count: usize) -> System {
    let names = |letter: &str| (1..=3).map(|i| Variable::new(format!("{letter}{i}"))).collect::<Vec<_>>();
    let mut builder = SystemBuilder::new();
    for k in 0..count {
        let own = 1.0 + 0.1 * k as f64;
        let a = Matrix::from_fn(3, 3, |i, j| if i == j { -own } else { 0.1 * (i as f64 - j as f64) });
        let matrices =
            StateSpace::new("s", a, &Matrix::identity(3) * 0.3, Matrix::identity(3), Matrix::zeros(3, 3));
        let ode = LinearOde::new(matrices.unwrap(), names("u"), names("y"), &[1.0, 0.0, -1.0]).unwrap();
        builder =
            builder.add(&format!("s{k}"), OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap());
    }
    for k in 0..count {
        for i in 1..=3 {
            let from = format!("s{}.y{i}", (k + 1) % count);
            builder = builder.connect(Connection::new(&from, &format!("s{k}.u{i}")));
        }
    }
    builder.build().unwrap()
}

/// Seconds per macro step of the fastest round.
fn fastest(system: impl Fn() -> System, couplings: &[CouplingConfig], rounds: u64, steps: u64) -> Vec<f64> {
    let start = |coupling: &CouplingConfig| {
        let stop = (rounds + 1) as f64 * steps as f64 * 1e-3;
        let config =
            RunConfig { coupling: coupling.clone(), threads: Parallel::Never, ..RunConfig::new(stop, 1e-3) };
        let mut simulation = Simulation::new(system(), &config).unwrap();
        (0..20).for_each(|_| simulation.advance().unwrap());
        simulation
    };
    let mut simulations: Vec<Simulation> = couplings.iter().map(start).collect();
    let mut best = vec![f64::MAX; couplings.len()];
    for _ in 0..rounds {
        for (simulation, best) in simulations.iter_mut().zip(&mut best) {
            let begin = Instant::now();
            (0..steps).for_each(|_| simulation.advance().unwrap());
            *best = best.min(begin.elapsed().as_secs_f64() / steps as f64);
        }
    }
    best
}

fn main() {
    let prestep = |change: fn(&mut PrestepConfig)| {
        let mut config = PrestepConfig::default();
        change(&mut config);
        CouplingConfig::Prestep(config)
    };
    let couplings = [
        CouplingConfig::Zoh {},
        prestep(|_| ()),
        prestep(|config| config.error_equation = ErrorEquationConfig::Carried),
        prestep(|config| config.model = ModelConfig::Derivatives),
    ];
    println!(
        "| subsystems | signals | zoh, µs | pre-step, fixed models: µs more | with step 1 (20 parts): µs more | models taken anew each step: µs more |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    let small = fastest(dual_mass, &couplings, 20, 2000);
    let large = fastest(|| ring(20), &couplings, 10, 20);
    for (name, times) in [("2 | 3", small), ("20 | 60", large)] {
        let more: Vec<String> = times[1..].iter().map(|t| format!("{:.2}", (t - times[0]) * 1e6)).collect();
        println!("| {name} | {:.2} | {} |", times[0] * 1e6, more.join(" | "));
    }
}
