//! Tuning: the search itself, and what it finds.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "figures for the reader, shown with --nocapture")]

mod analytic;
#[path = "../common/cases/mod.rs"]
mod cases;
#[path = "../common/chain.rs"]
mod chain;
mod complete;
mod engine;
mod glumac;
mod large;

use crate::cases::Case;
use koppel::analysis::LinearSystem;
use koppel::run::Run;

/// The system of a case, linearised at its start.
fn linear(case: &Case) -> LinearSystem {
    let mut run = Run::new(case.system().unwrap(), &case.run).unwrap();
    LinearSystem::new(&mut run).unwrap()
}

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

/// Inputs that connections of a case end at.
fn connections(case: &Case) -> Vec<String> {
    case.connections.iter().map(|connection| connection.to.clone()).collect()
}
