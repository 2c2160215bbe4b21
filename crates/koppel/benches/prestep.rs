//! What the pre-step method costs: time per macro step beyond that of zero-order hold, on the same subsystems.
//!
//! Subsystems with a little curvature, so that their models are new at every step; one Euler step each, parallel schedule, one
//! thread, nothing recorded. Two subsystems with three signals are the dual-mass oscillator; twenty with sixty are a ring of
//! subsystems with three states, inputs and outputs each. Rounds of all sides alternate and the fastest of each counts.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

use koppel::coupling::{CouplingConfig, ErrorEquationConfig, PrestepConfig};
use koppel::identify::ModelConfig;
use koppel::linalg::Matrix;
use koppel::run::{Parallel, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{
    Connection, LinearOde, Ode, OdeModel, Ports, StateSpace, System, SystemBuilder, Variable,
};
use std::time::Instant;

/// Linear equations with a little curvature, so that the models change at every step.
struct Bent {
    matrices: StateSpace,
    ports: Ports,
}

impl Bent {
    fn model(matrices: StateSpace) -> OdeModel {
        let names =
            |letter: &str, count| (1..=count).map(|i| Variable::new(format!("{letter}{i}"))).collect();
        let (inputs, outputs) = (names("u", matrices.inputs()), names("y", matrices.outputs()));
        let start = &[1.0, -0.5, 0.3][..matrices.states()];
        let ports = LinearOde::new(matrices.clone(), inputs, outputs, start).unwrap().ports().clone();
        let solver = SolverConfig::Euler { step: 1e-3 };
        OdeModel::new(Box::new(Bent { matrices, ports }), &solver).unwrap()
    }
}

impl Ode for Bent {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn states(&self) -> usize {
        self.matrices.states()
    }

    fn derivative(&self, _time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        self.matrices.a.mul_vec_into(x, dx);
        self.matrices.b.mul_vec_add(u, dx);
        dx.iter_mut().zip(x).for_each(|(dx, x)| *dx -= 1e-3 * x * x * x);
    }

    fn output(&self, _time: f64, x: &[f64], u: &[f64], y: &mut [f64]) {
        self.matrices.c.mul_vec_into(x, y);
        self.matrices.d.mul_vec_add(u, y);
    }

    fn parameter(&self, _index: usize) -> f64 {
        f64::NAN
    }

    fn set_parameter(&mut self, _index: usize, _value: f64) -> koppel::Result<()> {
        Ok(())
    }
}

/// The dual-mass oscillator, two subsystems with three signals and feed-through.
fn dual_mass() -> System {
    let matrix = Matrix::from_slice;
    let left = StateSpace {
        a: matrix(2, 2, &[0.0, 1.0, -1e5, -0.1]),
        b: matrix(2, 1, &[0.0, 0.1]),
        c: Matrix::identity(2),
        d: Matrix::zeros(2, 1),
    };
    let right = StateSpace {
        a: matrix(2, 2, &[0.0, 1.0, -1.02e6, -20.2]),
        b: matrix(2, 2, &[0.0, 0.0, 2e4, 20.0]),
        c: matrix(1, 2, &[2e5, 200.0]),
        d: matrix(1, 2, &[-2e5, -200.0]),
    };
    SystemBuilder::new()
        .add("left", Bent::model(left))
        .add("right", Bent::model(right))
        .connect(Connection::new("left.y1", "right.u1"))
        .connect(Connection::new("left.y2", "right.u2"))
        .connect(Connection::new("right.y1", "left.u1"))
        .build()
        .unwrap()
}

fn ring(count: usize) -> System {
    let mut builder = SystemBuilder::new();
    for k in 0..count {
        let own = 1.0 + 0.1 * k as f64;
        let a = Matrix::from_fn(3, 3, |i, j| if i == j { -own } else { 0.1 * (i as f64 - j as f64) });
        let matrices =
            StateSpace { a, b: &Matrix::identity(3) * 0.3, c: Matrix::identity(3), d: Matrix::zeros(3, 3) };
        builder = builder.add(&format!("s{k}"), Bent::model(matrices));
    }
    for k in 0..count {
        for i in 1..=3 {
            let from = format!("s{}.y{i}", (k + 1) % count);
            builder = builder.connect(Connection::new(&from, &format!("s{k}.u{i}")));
        }
    }
    builder.build().unwrap()
}

/// Steps before anything is measured.
const WARM_UP: u64 = 20;

/// Seconds per macro step of the fastest round.
fn fastest(system: impl Fn() -> System, couplings: &[CouplingConfig], rounds: u64, steps: u64) -> Vec<f64> {
    let start = |coupling: &CouplingConfig| {
        let stop = (WARM_UP + rounds * steps + 1) as f64 * 1e-3;
        let config =
            RunConfig { coupling: coupling.clone(), threads: Parallel::Never, ..RunConfig::new(stop, 1e-3) };
        let mut run = Run::new(system(), &config).unwrap();
        (0..WARM_UP).for_each(|_| run.advance().unwrap());
        run
    };
    let mut runs: Vec<Run> = couplings.iter().map(start).collect();
    let mut best = vec![f64::MAX; couplings.len()];
    for _ in 0..rounds {
        for (run, best) in runs.iter_mut().zip(&mut best) {
            let begin = Instant::now();
            (0..steps).for_each(|_| run.advance().unwrap());
            *best = best.min(begin.elapsed().as_secs_f64() / steps as f64);
        }
    }
    best
}

/// Taken once.
const FIXED: ModelConfig = ModelConfig::DerivativesEvery(u32::MAX);

fn main() {
    let prestep = |change: fn(&mut PrestepConfig)| {
        let mut config = PrestepConfig::default();
        change(&mut config);
        CouplingConfig::from(config)
    };
    let couplings = [
        CouplingConfig::zoh(),
        prestep(|config| config.model = FIXED),
        prestep(|config| {
            config.model = FIXED;
            config.error_equation = ErrorEquationConfig::Carried;
        }),
        prestep(|config| config.model = ModelConfig::Derivatives),
    ];
    println!(
        "| subsystems | signals | zoh, µs | pre-step, fixed models: µs more | with step 1 (20 parts): µs more | models taken anew each step: µs more |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    // Rounds of about a millisecond: on a busy machine some of them are undisturbed.
    let small = fastest(dual_mass, &couplings, 500, 60);
    let large = fastest(|| ring(20), &couplings, 150, 3);
    let mut missed = Vec::new();
    for (name, times, limit) in [("2 | 3", small, 5.0), ("20 | 60", large, 200.0)] {
        let more: Vec<f64> = times[1..].iter().map(|t| (t - times[0]) * 1e6).collect();
        let words: Vec<String> = more.iter().map(|t| format!("{t:.2}")).collect();
        println!("| {name} | {:.2} | {} |", times[0] * 1e6, words.join(" | "));
        if more[0] > limit || more[2] > 10.0 * limit {
            missed.push(format!(
                "{name}: at most {limit} µs with fixed models, ten times that when taken anew"
            ));
        }
    }
    assert!(missed.is_empty(), "limits that were missed: {}", missed.join("; "));
}
