//! Models of subsystems as a coupling sees them: how outputs follow inputs, and how far to trust it.
//!
//! One type, [`InterfaceModel`], whatever it comes from: exact matrices, derivatives of the equations, or a fit to what was
//! seen. Couplings read models from [`Models`] and know nothing of subsystems.

mod config;
mod interface_model;
mod models;
mod quality;
mod rls;
mod roll_back;

pub use config::ModelConfig;
pub use interface_model::InterfaceModel;
pub use models::Models;
pub(crate) use quality::Quality;
pub(crate) use rls::Rls;
pub use rls::{Learned, RlsConfig};
pub use roll_back::{RollBack, Window};
