//! Iteration of loops: solves z = g(z), whatever is evaluated.
//!
//! Two rooms own loops: `network` iterates outputs at a communication point, `run` whole steps.
//!
//! | file            | what                                                                  |
//! | --------------- | --------------------------------------------------------------------- |
//! | `config.rs`     | settings                                                              |
//! | `search.rs`     | one loop's guesses: residual, stop rule, differences                  |
//! | `acceleration/` | how the next guess is made                                            |
//! | `tally.rs`      | how many evaluations it took, and what was left                       |

mod acceleration;
mod config;
mod search;
mod tally;

pub use config::{AccelerationKind, IterationConfig, IterationKind, OnNonConvergence};
pub(crate) use search::{Search, Verdict};
pub use tally::LoopWork;
pub(crate) use tally::{Counts, column_value, columns};
