//! What is simulated: subsystems, their ports, and the wiring between them.

mod exact;
mod feedthrough;
mod graph;
mod linear_ode;
mod linearization;
mod monolith;
mod ode_model;
mod ports;
mod state_space;
mod subsystem;
pub mod unit;

pub(crate) use feedthrough::strongly_connected;
pub use feedthrough::{Component, evaluation_order};
pub use graph::{Connection, InputId, OutputId, SubsystemId, System, SystemBuilder, SystemGraph, Wire};
pub use linear_ode::LinearOde;
pub use monolith::{monolith, monolithic_matrices};
pub use ode_model::{Ode, OdeModel};
pub use ports::{Dependencies, Ports, Variable, VariableId, VariableKind};
pub use state_space::{Discrete, StateSpace};
pub use subsystem::{Snapshot, Subsystem};
