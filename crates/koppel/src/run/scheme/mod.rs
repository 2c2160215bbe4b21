//! How the network moves from one communication point to the next.
//!
//! | file          | scheme                                                                              |
//! | ------------- | ----------------------------------------------------------------------------------- |
//! | `staged.rs`   | `Staged`, **the macro step**: stage by stage, several rates, messages, fresh reading |
//! | `plain.rs`    | `Plain`, its fast path where nothing but an exchange of values happens              |
//! | `iterated.rs` | `Iterated`: loops repeat their stages until inputs and outputs fit                 |
//! | `repeated.rs` | `Repeated`: the coupling may ask for the step once more, with better inputs        |
//! | `halved.rs`   | `Halved`: a step whose loop does not converge is taken in two halves              |
//!
//! Beside the step: `crew.rs` moves the members of a stage (`stage.rs`), takes their times and decides about threads; `retreat.rs`
//! ends a run inside a step, with what `begin.rs` has kept; `extremes.rs` notes how far inputs were from what they
//! should have been. `scheme.rs` has what all schemes do. A scheme is chosen once, when a run is set up (`choose.rs`), and knows nothing
//! of rows or the stop time.

mod begin;
mod choose;
mod crew;
mod extremes;
mod halved;
mod iterated;
mod plain;
mod repeated;
mod retreat;
#[expect(clippy::module_inception, reason = "the file is named for the trait it holds")]
mod scheme;
mod stage;
mod staged;

pub(super) use choose::choose;
pub(super) use halved::{check_rates, is_halved};
pub(super) use retreat::{can_retreat, end_inside, restore_begin};
pub(super) use scheme::Scheme;
pub(super) use stage::{Stage, stages};
pub(super) use staged::Staged;
