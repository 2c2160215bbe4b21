//! The loop: schedules, the macro step, consistent starts, and the state between two steps.

mod board;
mod change;
mod config;
mod consistent;
mod drive;
mod failure;
mod feed_through;
mod iterate;
mod linear_part;
mod live;
mod loop_solver;
mod messages;
mod models;
mod places;
mod probe_report;
mod probing;
mod reaction;
mod schedule;
mod setup;
mod simulation;
mod slot;
mod stage;
mod state;
mod statistics;
mod step_sizes;

pub use change::Change;
pub use config::{Parallel, Reading, RunConfig, ScheduleConfig};
pub use drive::{Ending, Flow, Watch};
pub use feed_through::{FeedThrough, Told};
pub use iterate::{AccelerationKind, IterationConfig, IterationKind, LoopWork, Otherwise};
pub(crate) use places::{Place, Places};
pub use probe_report::{Pole, PortRange, ProbeReport};
pub use schedule::{Schedule, SubsystemLoop, subsystem_loops};
pub use simulation::Simulation;
pub use state::RunState;
pub use statistics::{Defect, Share, Statistics};
