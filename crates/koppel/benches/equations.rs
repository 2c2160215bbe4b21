//! What models written as equations cost beside the same models built in, and how long large ones take to compile.
//!
//! Both sides take the same macro steps with the same solver, in turns; the fastest round of each counts.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

#[path = "../tests/equations/texts.rs"]
mod texts;

use koppel::equations::{Equations, Source};
use koppel::models;
use koppel::signal::{Samples, Segment, Step};
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{Ode, OdeModel, Subsystem};
use std::time::Instant;

const ROUNDS: u64 = 25;
const STEPS: u64 = 200;
/// Masses of the chain that is compiled: three equations each.
const MASSES: usize = 3334;

fn compiled(text: &str) -> Equations {
    Equations::new(&Source::new(text)).unwrap()
}

/// Seconds per macro step, over steps of this size from `begin` on.
fn step(model: &mut OdeModel, size: f64, begin: u64, inputs: &[f64]) -> f64 {
    let mut y = vec![0.0; model.ports().outputs.len()];
    let clock = Instant::now();
    for index in begin..begin + STEPS {
        let step = Step { index, start: index as f64 * size, size };
        let segment = Segment::held(&step, inputs);
        model.step(&step, &segment, &mut y, &mut Samples::default()).unwrap();
    }
    clock.elapsed().as_secs_f64() / STEPS as f64
}

/// Microseconds per macro step: equations, and the built-in model.
fn both(text: &str, name: &str, solver: &SolverConfig, size: f64, scale: f64) -> [f64; 2] {
    let built_in = models::build(name, &Default::default()).unwrap();
    let inputs = vec![scale; built_in.ports().inputs.len()];
    let mut models =
        [Box::new(compiled(text)) as Box<dyn Ode>, built_in].map(|ode| OdeModel::new(ode, solver).unwrap());
    models.iter_mut().for_each(|model| model.initialize(0.0).unwrap());
    let mut fastest = [f64::INFINITY; 2];
    for round in 0..ROUNDS {
        for (model, fastest) in models.iter_mut().zip(&mut fastest) {
            *fastest = fastest.min(step(model, size, round * STEPS, &inputs));
        }
    }
    fastest.map(|seconds| seconds * 1e6)
}

fn main() {
    let adaptive = SolverConfig::Adaptive(Tolerances::default());
    let (euler, rk4) = (SolverConfig::Euler { step: 1e-5 }, SolverConfig::Rk4 { step: 2.5e-4 });
    println!("| model | solver | equations, µs per step | built in, µs | ratio |");
    println!("| --- | --- | ---: | ---: | ---: |");
    for (text, name, solver, shown, size, scale) in [
        (texts::PROGRESSIVE, "progressive-spring-mass", &euler, "Euler", 5e-4, 0.1),
        (texts::PENDULUM, "pendulum", &adaptive, "adaptive", 2e-3, 0.2),
        (&texts::lugre_mass(), "lugre-mass", &adaptive, "adaptive", 1e-3, 400.0),
        (&texts::epas(), "epas", &rk4, "RK4", 0.02, 2.5),
    ] {
        let [own, built_in] = both(text, name, solver, size, scale);
        println!("| {name} | {shown} | {own:.2} | {built_in:.2} | {:.2} |", own / built_in);
    }
    let text = texts::chain(MASSES);
    let compile = || {
        let clock = Instant::now();
        std::hint::black_box(compiled(&text));
        clock.elapsed().as_secs_f64()
    };
    let seconds = (0..5).map(|_| compile()).fold(f64::INFINITY, f64::min);
    println!("\n{} equations are parsed and compiled in {:.0} ms.", 3 * MASSES - 1, seconds * 1e3);
}
