//! Communication steps of changing length, without going back.
//!
//! All communication points lie on the grid of the run's clock: a step is a whole number of its ticks, so times stay
//! exact, and few lengths occur. `config.rs` has the settings, `control.rs` how long the next step is, `setup.rs` which runs can adapt.

mod config;
mod control;
mod setup;

pub use config::{AdaptiveConfig, Watched};
pub(super) use control::Control;
pub use control::StepSizes;
pub(super) use setup::{column, control};
