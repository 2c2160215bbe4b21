//! What can be determined of a run before it, on its way, or after it. Nothing here copies a method: the real engine is driven.
//!
//! [`Forecast::of`] says everything at once. What it is made of can be asked by itself, for settings of one's own:
//!
//! ```text
//! LinearSystem::new(run)                   matrices in place of subsystems, where the run stands
//!     .growth(config)                      the same for any method, by running the stand-ins if it has no matrix
//!     .reference(config)                   the monolithic system
//!     .global_error(config, reference)     the error to be expected
//! StepMatrix::of(system, config)           modes, spectral radius, stability radius
//! consistency, Cost::of, Stiffness::of     how inputs fit outputs, what it costs, how its rates lie apart
//! blame, ideal_wire                        the same system with one connection ideal
//! candidates, limits, recommend            methods and schedules, their stable steps, steps for a wanted error
//! robustness(run, ..)                      parameters varied
//! ```
//!
//! | file                | what                                                                                                              |
//! | ------------------- | ----------------------------------------------------------------------------------------------------------------- |
//! | `forecast.rs`       | [`Forecast`], everything before a run; `trust.rs`, how far to trust it; `structure.rs`, loops and their cuts      |
//! | `linear_system.rs`  | [`LinearSystem`], matrices in place of subsystems                                                                 |
//! | `step_matrix.rs`    | [`StepMatrix`], by driving the engine; `reduce.rs`, `modes.rs`, `hessenberg.rs`, what follows from it             |
//! | `growth.rs`         | whether disturbances grow; `intervals.rs`, `limits.rs`, at which steps, of which methods                          |
//! | `global_error.rs`   | the error to be expected; `recommend.rs`, the steps for a wanted error; `blame.rs`, the connection that causes it |
//! | `consistency.rs`    | how far inputs are from what is connected to them; `cost.rs`, calls and stiffness                                 |
//! | `robustness.rs`     | other values of the parameters                                                                                    |
//! | `zero_stability.rs` | loops with frozen states (`frozen.rs`); `filters.rs`, the filter that makes one stable                            |
//! | `certificate/`      | the error after a run, and its verdict                                                                            |

mod blame;
mod certificate;
mod consistency;
mod cost;
mod filters;
mod forecast;
mod frozen;
mod global_error;
mod growth;
mod hessenberg;
mod intervals;
mod limits;
mod linear_system;
mod modes;
mod recommend;
mod reduce;
mod robustness;
mod step_matrix;
mod structure;
mod trust;
mod zero_stability;

pub use blame::{Blame, Standing, blame, ideal_wire};
pub use certificate::{
    Band, BondReport, Certificate, Certifier, Confirmation, Evidence, Gap, Points, RunVerdict, Shadow,
    Shadows, SignalError,
};
pub use consistency::consistency;
pub use cost::{Cost, Stiffness};
pub use filters::{FilterChoice, choose_filter};
pub use forecast::{Accepts, Forecast, ForecastOptions, Verdict};
pub(crate) use global_error::ReferenceCache;
pub use global_error::{Excitation, GlobalError, OutputError, Reference};
pub use growth::{Found, Growth};
pub use intervals::{Interval, Scan, stable_steps};
pub use limits::{Limit, Methods, candidates, limits};
pub use linear_system::LinearSystem;
pub(crate) use linear_system::is_learning;
pub use modes::{Mode, Scaling, Spectrum};
pub(crate) use recommend::rounded_down;
pub use recommend::{Recommendation, recommend};
pub use robustness::{ParameterRange, Robustness, robustness};
pub use step_matrix::StepMatrix;
pub use structure::{
    ConnectionReport, LoopReport, StepLoopReport, StructureReport, SubsystemReport, structure,
};
pub use trust::{ModelTrust, Trust};
pub use zero_stability::{LoopStability, ZeroStability, zero_stability};
