//! How the network advances from one communication point to the next.
//!
//! | file          | scheme                                                                              |
//! | ------------- | ----------------------------------------------------------------------------------- |
//! | `staged.rs`   | `Staged`, **the macro step**: stage by stage, several rates, messages, fresh reading |
//! | `plain.rs`    | `Plain`, its fast path where nothing but an exchange of values happens              |
//! | `iterated.rs` | `Iterated`: loops repeat their stages until inputs and outputs fit                 |
//! | `repeated.rs` | `Repeated`: the coupling may ask for the step once more, with better inputs        |
//! | `halved.rs`   | `Halved`: a step whose loop does not converge is taken in two halves              |
//!
//! Beside the step: `executor.rs` advances the members of a stage (`stage.rs`), measures their times and decides about threads;
//! `early_end.rs` ends a run inside a step, with the state kept in `step_start.rs`; `defects.rs` records the largest difference
//! between each input and what is connected to it. `scheme.rs` is the trait of all schemes. A scheme is chosen once, when a run is
//! set up (`choose.rs`), and knows nothing of rows or the stop time.

mod choose;
mod defects;
mod early_end;
mod executor;
mod halved;
mod iterated;
mod plain;
mod repeated;
#[expect(clippy::module_inception, reason = "the file is named for the trait it holds")]
mod scheme;
mod stage;
mod staged;
mod step_start;

pub(super) use choose::choose;
pub(super) use early_end::{can_end_early, end_inside_step, restore_step_start};
pub(super) use halved::{check_rates, is_halved};
pub(super) use scheme::Scheme;
pub(super) use stage::{Stage, stages};
pub(super) use staged::Staged;
