//! Iteration of loops: of outputs at a communication point, or of whole steps.
//!
//! | file            | what                                                                  |
//! | --------------- | --------------------------------------------------------------------- |
//! | `config.rs`     | settings                                                              |
//! | `search.rs`     | one loop's guesses: residual, stop rule, differences                  |
//! | `acceleration/` | how the next guess is made                                            |
//! | `outputs.rs`    | y = g(x, L y) of one algebraic loop                                   |
//! | `steps.rs`      | the macro step of one loop, repeated with roll-back                   |
//! | `halving.rs`    | steps in halves where a loop has not converged                        |
//! | `tally.rs`      | how many evaluations it took, and what was left                       |

mod acceleration;
mod config;
mod halving;
mod outputs;
mod search;
mod steps;
mod tally;

pub use config::{AccelerationKind, IterationConfig, IterationKind, Otherwise};
pub(super) use halving::{Halving, is_halved, room};
pub(super) use outputs::OutputIteration;
pub(super) use steps::StepIteration;
pub use tally::LoopWork;
pub(super) use tally::{column_value, columns};
