//! A co-simulation engine: black-box subsystems coupled at large communication steps.
//!
//! Numbers in, numbers out: no file is opened here and nothing is printed. Start with [`system::SystemBuilder`] and
//! [`run::Simulation`].

pub mod analysis;
pub mod coupling;
pub mod error;
mod fnv;
pub mod frequency;
pub mod hinf;
pub mod identify;
pub mod linalg;
pub mod models;
pub mod plan;
pub mod record;
pub mod run;
pub mod signal;
pub mod solver;
mod splitmix;
pub mod system;

pub use error::{Error, Result};
pub use fnv::fnv;
pub use splitmix::SplitMix64;
