//! The loop: schedules, the macro step, consistent starts, and the state between two steps.

mod board;
mod change;
mod config;
mod consistent;
mod loop_solver;
mod schedule;
mod simulation;
mod slot;
mod state;
mod statistics;

pub use change::Change;
pub use config::{Parallel, Reading, RunConfig, ScheduleConfig};
pub use schedule::Schedule;
pub use simulation::{Ending, Flow, Simulation};
pub use state::RunState;
pub use statistics::{Defect, Share, Statistics};
