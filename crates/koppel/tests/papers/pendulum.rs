//! The stiff pendulum-oscillator of Genser & Benedikt 2018, with derivatives taken anew at every communication point.

use super::{prestep, run, stale};
use crate::cases::{Case, case};
use koppel::coupling::{CouplingConfig, ErrorEquationConfig, Shape};
use koppel::identify::ModelConfig;
use koppel::run::RunConfig;
use koppel::solver::{SolverConfig, Tolerances};

/// (66): the largest sum of all outputs' errors, against the uncut system solved to 1e-11.
fn largest_error(case: &Case, config: &RunConfig) -> f64 {
    let tolerances = Tolerances { rtol: 1e-11, atol: 1e-13, ..Tolerances::default() };
    let mut fine = case.clone();
    fine.parts.iter_mut().for_each(|part| part.solver = SolverConfig::Adaptive(tolerances));
    let Ok((names, table)) = run(case.system().unwrap(), config) else { return f64::INFINITY };
    let plain = RunConfig::new(config.stop, config.step);
    let (exact_names, exact) = run(fine.reference().unwrap(), &plain).unwrap();
    let outputs = ["pendulum.alpha", "pendulum.omega", "oscillator.x", "oscillator.v"];
    let place = |list: &[String], name: &str| list.iter().position(|n| n == name).unwrap();
    let columns = outputs.map(|n| (place(&names, n), place(&exact_names, &format!("monolith.{n}"))));
    let sum = |k: usize| columns.iter().map(|(a, b)| (table.rows[k][*a] - exact.rows[k][*b]).abs()).sum();
    (0..table.times.len()).map(sum).fold(0.0, f64::max)
}

/// The border is the error at H = 1e-4, the micro step; it is kept while the error is at most 1.25 times as large (docs/problems.md).
/// The paper: zero-order hold reaches it at 2e-4, the pre-step method to 6e-3; "unstable" is an error above 1. Seen here: border
/// 0.017; zero-order hold 0.021 at 2e-4 and 0.053 at 4e-4; pre-step with linear inputs 0.017 at 6e-3 and 0.14 at 0.04 without
/// step 1, 0.013 at 0.04 with it; with the paper's constant inputs and step 1 0.017 and 0.089.
#[test]
fn the_error_border_is_kept_at_thirty_times_the_step() {
    let case = case("pendulum-oscillator").unwrap();
    let error = |coupling, step| largest_error(&case, &stale(coupling, 1.0, step));
    let border = error(CouplingConfig::zoh(), 1e-4);
    assert!((0.01..0.03).contains(&border), "{border}");
    let zoh = [2e-4, 4e-4].map(|step| error(CouplingConfig::zoh(), step) / border);
    assert!(zoh[0] > 1.25 && zoh[1] > 2.0, "{zoh:?}");
    for input in [Shape::Linear, Shape::Constant] {
        for error_equation in [ErrorEquationConfig::Off, ErrorEquationConfig::Carried] {
            let method = |step: f64| {
                prestep(|config| {
                    config.model = ModelConfig::Derivatives;
                    config.input = input;
                    config.error_equation = error_equation;
                    config.error_steps = (step / 1e-4).round() as u32;
                })
            };
            for step in [1e-4, 1e-3, 2e-3, 4e-3, 6e-3] {
                let seen = error(method(step), step);
                assert!(seen <= 1.25 * border, "{input:?}, {error_equation:?}, {step}: {seen}");
            }
            for step in [0.01, 0.02, 0.04] {
                let seen = error(method(step), step);
                assert!(seen < 1.0, "{input:?}, {error_equation:?}, {step}: {seen}");
            }
        }
    }
}
