//! What can be told of a run before it, on its way, or after it. Nothing here copies a method: the real engine is driven.

mod certificate;
mod consistency;
mod filters;
mod forecast;
mod frozen;
mod intervals;
mod linear_system;
mod modes;
mod reduce;
mod step_matrix;
mod structure;
mod zero_stability;

pub use certificate::{Band, BondReport, Certificate, Certifier, Evidence, Gap, SignalError, Worth};
pub use filters::{FilterChoice, choose_filter};
pub use forecast::{Forecast, Limit, Verdict, forecast};
pub use intervals::{Interval, Scan, stable_steps};
pub use linear_system::LinearSystem;
pub use modes::{Mode, Scaling, Spectrum};
pub use step_matrix::StepMatrix;
pub use structure::{
    ConnectionReport, LoopReport, StepLoopReport, StructureReport, SubsystemReport, structure,
};
pub use zero_stability::{LoopStability, ZeroStability, zero_stability};
