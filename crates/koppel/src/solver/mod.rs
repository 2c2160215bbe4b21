//! Micro solvers for x' = f(t, x).

mod config;
mod control;
mod crossing;
mod dormand_prince;
mod error;
mod fixed;
mod micro;
mod rhs;
mod rodas;

pub use config::{SolverConfig, Tolerances};
pub use crossing::{Bracket, has_crossed};
pub use error::SolverError;
pub use micro::Solver;
pub use rhs::{Point, Rhs, difference_jacobian};
