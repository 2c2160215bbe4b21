//! What the runs of a study have in common: mathematics only, no files.
//!
//! | file           | what                                                                            |
//! | -------------- | ------------------------------------------------------------------------------- |
//! | `data.rs`      | factors and measures as columns; what is drawn is put into bins                 |
//! | `anova.rs`     | analysis of variance for main and two-factor effects                            |
//! | `fisher.rs`    | the F distribution                                                              |
//! | `sorting.rs`   | runs in ascending order, nearly best runs, optimal parameters                   |
//! | `responses.rs` | a measure over one factor and over two, and its histogram                       |
//! | `regions.rs`   | where runs are stable, and how large that region is                             |

mod anova;
mod data;
mod fisher;
mod regions;
mod responses;
mod sorting;

pub use anova::{Anova, Term, anova};
pub(crate) use data::short;
pub use data::{Data, FactorData, Level};
pub use regions::{Region, regions};
pub use responses::{Bin, Interaction, Response, histogram, interaction, response};
pub use sorting::{Optimum, Sorting, sorting};
