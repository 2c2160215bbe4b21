//! Model-exchange FMUs with koppel's solvers, against closed forms. The FMUs are compiled from C by the tests; they refuse
//! calls that the standard does not allow in the mode they are in.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "some of the common functions serve other tests")]

mod clocks;
#[path = "../common/mod.rs"]
mod common;
mod events;
#[path = "../common/exchange.rs"]
mod exchange;
mod solving;
mod states;

use common::{MASS2, TestFmu};
use exchange::*;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{Snapshot, Subsystem, VariableId};
use koppel_fmi::Fmu;
use koppel_fmi::import::{ModelExchange, Options, Value};

fn make(
    fmu: &TestFmu,
    values: &[(&str, f64)],
    solver: Option<SolverConfig>,
) -> Result<ModelExchange, String> {
    let start_values = values.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
    let options = Options { name: "body".into(), start_values, ..Options::default() };
    let fmu = Fmu::open(&fmu.path()).map_err(|error| error.to_string())?;
    ModelExchange::new(&fmu, &options, solver.as_ref()).map_err(|error| error.to_string())
}

fn instance(fmu: &TestFmu, values: &[(&str, f64)], solver: SolverConfig) -> ModelExchange {
    make(fmu, values, Some(solver)).unwrap()
}

fn adaptive(rtol: f64) -> SolverConfig {
    SolverConfig::Adaptive(Tolerances { rtol, atol: 1e-2 * rtol, ..Tolerances::default() })
}

fn stiff(rtol: f64) -> SolverConfig {
    SolverConfig::Stiff(Tolerances { rtol, atol: 1e-2 * rtol, ..Tolerances::default() })
}

fn id(subsystem: &dyn Subsystem, name: &str) -> VariableId {
    subsystem.ports().find_any(name).unwrap_or_else(|| panic!("no variable {name}"))
}

fn get(body: &mut ModelExchange, name: &str) -> f64 {
    body.get(id(body, name)).unwrap()
}

/// Steps of size `h`; `u` gives the coefficients of the first input on a step, all others are zero. `see` gets time and
/// outputs after each.
fn drive(
    body: &mut dyn Subsystem,
    steps: std::ops::Range<u64>,
    h: f64,
    u: impl Fn(f64) -> Vec<f64>,
    mut see: impl FnMut(f64, &[f64]),
) -> Result<(), String> {
    let inputs = body.ports().inputs.len();
    let mut outputs = vec![0.0; body.ports().outputs.len()];
    let mut samples = Samples::new(Request::Nothing, outputs.len());
    for index in steps {
        let step = Step { index, start: h * index as f64, size: h };
        let mut coefficients = u(step.start);
        let terms = coefficients.len();
        coefficients.resize(inputs * terms, 0.0);
        let segment = Segment::new(&step, inputs, terms, &coefficients);
        body.step(&step, &segment, &mut outputs, &mut samples).map_err(|error| error.to_string())?;
        see(step.end(), &outputs);
    }
    Ok(())
}

fn start_and_drive(
    body: &mut dyn Subsystem,
    steps: u64,
    h: f64,
    u: impl Fn(f64) -> Vec<f64>,
    see: impl FnMut(f64, &[f64]),
) {
    body.initialize(0.0).unwrap();
    drive(body, 0..steps, h, u, see).unwrap_or_else(|error| panic!("{error}"));
}

fn nothing(_: f64) -> Vec<f64> {
    vec![0.0]
}

/// 0.3 - 2 t + 5 t², as polynomial of the time since the start of the step.
fn parabola(t: f64) -> Vec<f64> {
    vec![0.3 - 2.0 * t + 5.0 * t * t, -2.0 + 10.0 * t, 5.0]
}
