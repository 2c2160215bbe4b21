//! What is simulated: subsystems, their ports, and the wiring between them.

mod exact;
mod feedthrough;
mod graph;
mod linear_ode;
mod message;
mod monolith;
mod ode_model;
mod ports;
mod state_space;
mod subsystem;
mod terminal;
mod transfer;
pub mod unit;
mod wiring;

pub(crate) use feedthrough::strongly_connected;
pub use feedthrough::{Component, evaluation_order};
pub use graph::{Connection, InputId, OutputId, SubsystemId, System, SystemBuilder, SystemGraph, Wire};
pub use linear_ode::LinearOde;
pub use message::{Message, MessageKind, MessagePort};
pub use monolith::{monolith, monolithic_matrices};
pub use ode_model::{Ode, OdeModel};
pub use ports::{Dependencies, Ports, Variable, VariableId, VariableKind};
pub use state_space::{Discrete, StateSpace};
pub use subsystem::{Snapshot, Subsystem};
pub use terminal::{Flow, PowerBond, Terminal, TerminalMember};
pub use transfer::{UnitRule, ValueMap};
pub use wiring::MessageWire;
