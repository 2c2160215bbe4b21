//! A run: a network, the scheme that advances it from one communication point to the next, and the schedule of events.
//!
//! | file            | what                                                                            |
//! | --------------- | ------------------------------------------------------------------------------- |
//! | `config.rs`     | [`RunConfig`], settings as plain data; `schedule.rs`, the order of advancing     |
//! | `setup.rs`      | from a system and settings to a run that stands at its start                     |
//! | `run.rs`        | [`Run`]: takes macro steps; changes and step control between them                 |
//! | `scheme/`       | **the macro step** (`staged.rs`), its fast path, iteration, halves, repetition    |
//! | `drive.rs`      | runs to the end, with rows for a recorder and calls of a watcher                 |
//! | `changes.rs`    | timed changes; `parts.rs`, steps that they split                                 |
//! | `adaptive/`     | adaptive steps; `step_sizes.rs`, subsystems that take steps of one size only     |
//! | `recording.rs`  | rows                                                                            |
//! | `state.rs`      | [`RunState`]: checkpoints, saved states; `layout.rs`, which of its numbers are values |
//! | `statistics.rs` | counts and times of a run                                                       |

mod adaptive;
mod changes;
mod config;
mod drive;
mod layout;
mod parts;
mod recording;
#[expect(clippy::module_inception, reason = "the file is named for the type it holds")]
mod run;
mod schedule;
mod scheme;
mod setup;
mod signal_jumps;
mod state;
mod statistics;
mod step_sizes;

pub use crate::iteration::{AccelerationKind, IterationConfig, IterationKind, LoopWork, OnNonConvergence};
pub use crate::network::{Reading, Termination};
pub use adaptive::{AdaptiveConfig, StepSizes, Watched};
pub use config::{Change, Parallel, RunConfig, ScheduleConfig};
pub use drive::{Ending, Flow, Watch};
pub(crate) use layout::{StateEntry, StateLayout};
pub use run::Run;
pub use schedule::{Schedule, SubsystemLoop, subsystem_loops};
pub use state::RunState;
pub use statistics::{Defect, Share, Statistics};
