//! Models of subsystems as a coupling sees them: how outputs follow inputs, and how far to trust it.
//!
//! One type, [`InterfaceModel`], whatever it comes from: exact matrices, derivatives of the equations, or a fit to what was
//! seen. Couplings read models from [`Models`] and know nothing of subsystems.
//!
//! | file                 | what                                                                                                   |
//! | -------------------- | ------------------------------------------------------------------------------------------------------ |
//! | `interface_model.rs` | [`InterfaceModel`]; `models.rs`, those of all subsystems; `config.rs`, where they come from            |
//! | `identifier.rs`      | a model learned during the run: `rls.rs`, least squares; `moesp.rs`, subspace identification           |
//! | `realization.rs`     | a difference equation as a state-space model; `learned.rs`, learned models as plain data               |
//! | `window.rs`          | the triangular factor of the newest data; `triangle.rs`, of any data                                   |
//! | `quality.rs`         | how well a model predicted the last step; `excitation.rs`, whether the data determine it               |
//! | `given.rs`           | a model given with the settings                                                                        |
//! | `roll_back.rs`       | a linear model from trial steps of a black box that can roll back                                      |
//! | `probe.rs`, `probe/` | probing: each subsystem excited alone before the run                                                   |
//! | `node_model.rs`      | the model found by probing; `node_fit.rs`, its fit; `surrogate.rs`, a linear model from step responses |

mod config;
mod excitation;
mod given;
mod identifier;
mod interface_model;
mod learned;
mod models;
mod moesp;
mod node_fit;
mod node_model;
mod probe;
mod quality;
mod realization;
mod rls;
mod roll_back;
mod surrogate;
mod triangle;
mod window;

pub use config::ModelConfig;
pub(crate) use excitation::LEAST as LEAST_EXCITATION;
pub use given::{GivenInterface, GivenModel, GivenStateSpace};
pub use identifier::IdentifyConfig;
pub(crate) use identifier::{Identifier, parameter_names};
pub use interface_model::InterfaceModel;
pub use learned::{Learned, LearnedMoesp, LearnedRls};
pub use models::Models;
pub(crate) use moesp::Moesp;
pub use moesp::MoespConfig;
pub use node_fit::NodeFit;
pub use node_model::{NodeModel, Size};
pub use probe::{
    Answer, KnownRanges, LinearQuery, Memory, Origin, Place, Probe, ProbeNeeds, ProbeStore, Probed, Question,
    QuestionKind, Range, Subject,
};
pub(crate) use quality::Quality;
pub use realization::realize;
pub(crate) use rls::Rls;
pub use rls::RlsConfig;
pub use roll_back::{RollBack, Window};
pub use surrogate::Surrogate;
