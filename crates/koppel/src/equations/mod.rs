//! Models written as equations: a text becomes an [`Ode`](crate::system::Ode).
//!
//! ```text
//! text -> statements -> names -> graph -> programs for a register machine
//!                                 ^ derivatives: nodes of the same graph
//! ```
//!
//! All mistakes of a text are found in one go, each with its place. Nothing is parsed, looked up by name or allocated while a model
//! runs.
//!
//! | file            | what                                                                   |
//! | --------------- | ---------------------------------------------------------------------- |
//! | `source.rs`     | a model as it is given                                                 |
//! | `statement.rs`  | the text, read into statements                                         |
//! | `delay.rs`      | delays as chains of samples                                            |
//! | `names.rs`      | who is who: parameters, inputs, states, variables                      |
//! | `order.rs`      | what is computed first, and circles                                    |
//! | `build.rs`      | formulas as nodes                                                      |
//! | `graph.rs`      | nodes, each of which stands once                                       |
//! | `derivative.rs` | derivatives as nodes                                                   |
//! | `program.rs`    | nodes as programs                                                      |
//! | `map.rs`        | lookup tables                                                          |
//! | `dimension.rs`  | units of formulas                                                      |
//! | `model.rs`      | the model: equations, outputs, parameters                              |
//! | `slopes.rs`     | its exact linear models                                                |
//! | `actions.rs`    | its events                                                             |
//! | `explain.rs`    | why a value is not finite                                              |
//! | `mistake.rs`    | mistakes and their places                                              |
//!
//! ```
//! use koppel::equations::{Equations, Source};
//! use koppel::solver::SolverConfig;
//! use koppel::system::{OdeModel, Subsystem};
//!
//! let text = "
//!     parameter m = 2 [kg], d = 0.5 [N.s/m]
//!     input F [N]
//!     output v [m/s]
//!     der(v) = (F - d * v) / m
//! ";
//! let ode = Equations::new(&Source::new(text)).expect("no mistakes");
//! let mut mass = OdeModel::new(Box::new(ode), &SolverConfig::Exact {})?;
//! assert_eq!(mass.ports().outputs[0].unit.as_deref(), Some("m/s"));
//! # Ok::<(), Box<koppel::Error>>(())
//! ```

mod actions;
mod build;
mod delay;
mod derivative;
mod dimension;
mod explain;
mod graph;
mod map;
mod mistake;
mod model;
mod names;
mod order;
mod program;
mod slopes;
mod source;
mod statement;

pub use map::{Between, MapConfig, Outside};
pub use mistake::{Kind, Mistake, Spot};
pub use model::Equations;
pub use source::{Declaration, Source, Value};
