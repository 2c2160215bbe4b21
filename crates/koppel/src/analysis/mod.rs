//! What can be told of a run before it, or on its way. Nothing here copies a method: the real engine is driven.

mod filters;
mod frozen;
mod structure;
mod zero_stability;

pub use filters::{FilterChoice, choose_filter};
pub use structure::{
    ConnectionReport, LoopReport, StepLoopReport, StructureReport, SubsystemReport, structure,
};
pub use zero_stability::{LoopStability, ZeroStability, zero_stability};
