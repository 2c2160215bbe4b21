//! A co-simulation engine: black-box subsystems coupled at large communication steps.
//!
//! Numbers in, numbers out: no file is opened here and nothing is printed. Start with [`system::SystemBuilder`] and
//! [`run::Run`].
//!
//! A first-order plant y' = u - y, y(0) = 1, under the PI controller u = -10 (y + ∫ y dt). Uncut it follows
//! y = (10 e^{-10 t} - e^{-t}) / 9:
//!
//! ```
//! use koppel::coupling::{CouplingConfig, StartUp};
//! use koppel::record::{Record, Trajectory};
//! use koppel::run::{Flow, Run, RunConfig};
//! use koppel::solver::SolverConfig;
//! use koppel::system::{Connection, OdeModel, SystemBuilder};
//!
//! let part = |model: &str, parameters: &[(&str, f64)]| {
//!     let parameters = parameters.iter().map(|(name, value)| (name.to_string(), *value)).collect();
//!     OdeModel::new(koppel::models::build(model, &parameters)?, &SolverConfig::Exact {})
//! };
//! let system = SystemBuilder::new()
//!     .add("plant", part("pt1", &[("K", 1.0), ("T", 1.0), ("y0", 1.0)])?)
//!     .add("controller", part("pi-controller", &[("KP", 10.0), ("KI", 10.0)])?)
//!     .connect(Connection::new("controller.u", "plant.u"))
//!     .connect(Connection::new("plant.y", "controller.e").gain(-1.0))
//!     .build()?;
//! let coupling = CouplingConfig::foh(StartUp::Constant);
//! let record = Record::One("plant.y".into());
//! let mut run = Run::new(system, &RunConfig { coupling, record, ..RunConfig::new(1.0, 0.01) })?;
//! let mut table = Trajectory::default();
//! run.run(&mut table, &mut |_| Ok(Flow::Continue))?;
//! for (t, y) in table.times.iter().zip(table.column(0)) {
//!     let exact = (10.0 * (-10.0 * t).exp() - (-t).exp()) / 9.0;
//!     assert!((y - exact).abs() < 0.01, "{y} at {t} s");
//! }
//! # Ok::<(), Box<koppel::Error>>(())
//! ```
//!
//! `examples/` compares methods, asks for stable steps and a certificate, and has a model of its own.

pub mod analysis;
pub mod coupling;
pub mod diagnostic;
pub mod equations;
pub mod error;
pub mod expression;
mod fnv;
pub mod frequency;
pub mod hinf;
pub mod identify;
pub mod iteration;
pub mod linalg;
pub mod models;
pub mod network;
pub mod plan;
pub mod record;
pub mod run;
pub mod signal;
pub mod solver;
pub mod sort;
mod splitmix;
pub mod state_space;
pub mod system;
pub mod tape;
pub mod unit;
pub mod workbench;

/// Whole systems for tests, which name the crate as its users do.
#[cfg(test)]
#[path = "../tests/common/cases/mod.rs"]
mod cases;
#[cfg(test)]
extern crate self as koppel;

pub use error::{Error, Result};
pub use fnv::fnv;
pub use splitmix::SplitMix64;
