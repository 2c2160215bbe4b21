//! What is simulated: subsystems, their ports, and the wiring between them.

mod algebraic_loop;
mod exact;
mod feedthrough;
mod filter;
mod filtered;
mod graph;
mod linear_ode;
mod linearization;
mod message;
mod monolith;
mod ode_model;
mod ports;
mod state_space;
mod subsystem;
mod tearing;
mod terminal;
mod transfer;
pub mod unit;
mod wiring;

pub use algebraic_loop::{AlgebraicLoop, algebraic_loops};
pub use feedthrough::{Component, Reach, evaluation_order};
pub(crate) use feedthrough::{evaluation_order_with, strongly_connected};
pub use filter::{FilterConfig, Filtered};
pub use graph::{Connection, InputId, OutputId, SubsystemId, System, SystemBuilder, SystemGraph, Wire};
pub use linear_ode::LinearOde;
pub use message::{Message, MessageKind, MessagePort};
pub use monolith::{monolith, monolithic_matrices};
pub use ode_model::{Ode, OdeModel};
pub use ports::{Dependencies, Ports, Variable, VariableId, VariableKind};
pub use state_space::{Discrete, StateSpace};
pub use subsystem::{Snapshot, Subsystem};
pub use tearing::{Signal, Tearing, tear};
pub use terminal::{Flow, PowerBond, Terminal, TerminalMember};
pub use transfer::{UnitRule, ValueMap};
pub use wiring::MessageWire;
