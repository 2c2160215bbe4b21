//! Models of subsystems as a coupling sees them: how outputs follow inputs, and how far to trust it.
//!
//! One type, [`InterfaceModel`], whatever it comes from: exact matrices, derivatives of the equations, or a fit to what was
//! seen. Couplings read models from [`Models`] and know nothing of subsystems.

mod interface_model;
mod models;
mod quality;

pub use interface_model::InterfaceModel;
pub use models::{ModelConfig, Models};
pub(crate) use quality::Quality;
