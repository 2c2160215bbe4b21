//! From forecasts to settings: what could be set, what it would be worth, and what to take.
//!
//! ```text
//! Candidate                    a macro step, a coupling for every connection, a schedule
//! choose(task, start, ..)      `auto`: the cheapest settings that keep a wanted error, and why
//! tune::tune(system, ..)       all settings that no others beat in stability, accuracy and cost
//! evolution, pareto            how they are searched and compared
//! ```

mod auto;
mod candidate;
mod choice;
mod climb;
pub mod evolution;
mod forecasting;
pub mod pareto;
mod pilot;
mod search;
mod task;
pub mod tune;

pub use auto::{choose, held_inputs};
pub use candidate::Candidate;
pub use choice::{Basis, Choice, RefusedMethod, TriedSettings};
pub use pilot::Start;
pub use task::{Steps, Task};
