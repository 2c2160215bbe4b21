//! Parameter studies of coupled systems.
//!
//! ```text
//! study file -> factors, plan, measures -> runs on all cores -> log -> tables, analysis, page
//! ```
//!
//! | module     | what                                                                   |
//! | ---------- | ---------------------------------------------------------------------- |
//! | `settings` | the study file                                                         |
//! | `design`   | which values run i tries; a function of its number alone               |
//! | `execute`  | making the runs                                                        |
//! | `collect`  | runs that are made elsewhere                                          |
//! | `log`      | finished runs, safe against a kill                                     |
//! | `analysis` | analysis of variance, sorting, regions, responses: mathematics only    |
//! | `results`  | tables, pictures and the page in the folder of a study                 |
//! | `merge`    | parts of a study joined                                                |
//! | `jobs`     | job files for clusters                                                 |

pub mod analysis;
mod collect;
pub mod design;
mod error;
pub mod execute;
mod jobs;
mod log;
mod merge;
mod results;
pub mod settings;

pub use collect::Collection;
pub use error::{Error, Result};
pub use execute::{Control, LostRuns, Moment, Options, Prepared, Progress, Shard, make, run, run_after};
pub use jobs::{Scheduler, job_file};
pub use log::{Contents, Header, LOG, Row, read};
pub use merge::{Merged, merge};
pub use results::{Written, analyse, table, write_results};
pub use settings::{Study, load};
