//! What is simulated: subsystems, their ports, and the wiring between them.
//!
//! | file               | what                                                                                                       |
//! | ------------------ | ---------------------------------------------------------------------------------------------------------- |
//! | `subsystem.rs`     | [`Subsystem`], the trait of every simulated model; `capabilities.rs`, what it can do                       |
//! | `ports.rs`         | variables by name; `terminal.rs`, ports that belong together; `message.rs`, texts, bytes and ticks         |
//! | `snapshot.rs`      | the saved state of a subsystem; `reinitialize.rs`, back to the start of the run without one                |
//! | `ode_model.rs`     | an ordinary differential equation with a solver; `ode_events.rs`, `events.rs`, its events                  |
//! | `linear_ode.rs`    | constant matrices as an equation; `exact.rs`, their exact solution; `linearization.rs`                     |
//! | `builder.rs`       | [`SystemBuilder`]: subsystems and connections as the user gives them                                       |
//! | `graph.rs`         | [`SystemGraph`], the wiring; `wiring.rs`, `transfer.rs`, from connections to wires; `bond.rs`, power bonds |
//! | `feedthrough.rs`   | the order in which outputs are evaluated; `algebraic_loop.rs`, `tearing.rs`, loops and their cuts          |
//! | `filtered.rs`      | a subsystem with filters behind its outputs; `filter.rs`, the filters                                      |
//! | `linear_part.rs`   | a system of linear stand-ins; `merged.rs`, two of them as one                                              |
//! | `monolith.rs`      | the whole system as one model: the reference solution                                                      |
//! | `stale_reading.rs` | a subsystem that evaluates its outputs in a step only                                                      |

mod algebraic_loop;
mod bond;
mod builder;
mod capabilities;
mod events;
mod exact;
mod feedthrough;
mod filter;
mod filtered;
mod graph;
mod linear_ode;
mod linear_part;
mod linearization;
mod merged;
mod message;
mod monolith;
mod ode_events;
mod ode_model;
mod ports;
mod reinitialize;
mod snapshot;
mod stale_reading;
mod subsystem;
mod tearing;
mod terminal;
mod transfer;
mod wiring;

pub(crate) use crate::linalg::strongly_connected;
pub use crate::state_space::{Discrete, StateSpace};
pub use algebraic_loop::{AlgebraicLoop, algebraic_loops};
pub(crate) use bond::Bond;
pub use builder::{Connection, Scaling, System, SystemBuilder};
pub use capabilities::{CacheKey, Capabilities, ModelSource};
pub use events::{Event, EventLog};
pub use feedthrough::{Component, Reach, evaluation_order};
pub(crate) use feedthrough::{are_in_cycles, evaluation_order_with, feeders, is_cycle};
pub use filter::{FilterConfig, Filtered};
pub use graph::{InputId, OutputId, ParameterTable, SubsystemId, SystemGraph, Wire};
pub use linear_ode::LinearOde;
pub use linear_part::{Drive, LinearPart};
pub(crate) use linear_part::{driven_system, linear_system, uncut};
pub(crate) use merged::{Merged, with_ideal_wire};
pub use message::{Message, MessageKind, MessagePort};
pub use monolith::{monolith, monolithic_matrices};
pub use ode_events::{Moment, OdeEvents, States};
pub(crate) use ode_model::NO_TIME;
pub use ode_model::{Ode, OdeModel, OdeSlopes};
pub use ports::{Dependencies, Ports, Variable, VariableId, VariableKind};
pub(crate) use reinitialize::{InitialConditions, reinitialize};
pub use snapshot::{Hold, Holds, Horizon, Snapshot};
pub use subsystem::{LinearModel, Mailbox, Subsystem};
pub use tearing::{Signal, Tearing, tear};
pub use terminal::{Flow, PowerBond, Terminal, TerminalMember};
pub use transfer::{UnitRule, ValueMap};
pub use wiring::MessageWire;
