//! The forecast: step matrices, spectral radii and stable steps before a run.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod black_box;
mod blame;
mod by_hand;
#[path = "../common/cases/mod.rs"]
mod cases;
#[path = "../common/chain.rs"]
mod chain;
mod global_error;
mod helicopter;
mod large;
mod limits;
#[path = "../common/methods.rs"]
mod methods;
mod nonlinear;
mod one_way;
#[path = "../common/plain.rs"]
mod plain;
mod robustness;
mod running;
mod two_mass;

use crate::cases::Case;
use koppel::analysis::LinearSystem;
use koppel::run::Run;

/// The system of a case, linearised at its start.
fn linear(case: &Case) -> LinearSystem {
    let mut run = Run::new(case.system().unwrap(), &case.run).unwrap();
    LinearSystem::new(&mut run).unwrap()
}
