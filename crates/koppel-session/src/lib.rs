//! One way to carry out a run: build each part once, choose what is open, guard against loops that are not zero-stable, run, certify.
//!
//! ```text
//! SystemSpec -> Session (checked against its FMUs) -> Session::start -> Run::run
//! ```
//!
//! The command line, the Python package and each run of a study all use [`Session`]: a rule of a run that holds in one of them holds in
//! all. What is reported on the way goes to the caller as [`Remark`]s. An exported system is built by it, and judged when it is exported;
//! inside the FMU the engine runs alone, without guard on the way, warnings and certificate.
//!
//! | file           | what                                                                  |
//! | -------------- | --------------------------------------------------------------------- |
//! | `build.rs`     | the system with its FMUs, from plain data                              |
//! | `fmu.rs`       | FMUs as subsystems: in process, isolated, for trials                   |
//! | `choose.rs`    | settings in the place of `auto`                                        |
//! | `guard.rs`     | zero-stability: before the run, and on its way                         |
//! | `outlook.rs`   | a warning before a run that will go wrong                              |
//! | `advice.rs`    | a run in three lines: verdict, stability, what would be better        |
//! | `run.rs`       | a run that is ready, and its certificate                               |
//! | `confirm.rs`   | runs at other steps that confirm its error                             |
//! | `fmus.rs`      | what FMUs share, and what they can really do                           |
//! | `verify.rs`    | runs of copies, before settings are recommended                       |
//! | `monolith.rs`  | the monolithic system, as a reference                                       |
//! | `trials.rs`    | what FMUs can really do of what they declare                           |
//! | `replay.rs`    | FMUs that cannot save their state, continued from a log of their inputs |
//! | `probe_cache.rs` | what was found of FMUs, kept between runs                            |
//! | `log.rs`       | where messages of FMUs go; `remark.rs`, what is reported to the caller |

mod advice;
mod build;
mod choose;
mod confirm;
mod fmu;
mod fmus;
mod guard;
mod log;
mod monolith;
mod outlook;
pub mod probe_cache;
mod remark;
pub mod replay;
mod run;
mod trials;
mod verify;

#[cfg(test)]
mod tests;

use std::path::Path;

use koppel::plan::Choice;
use koppel::system::System;
pub use koppel_io::system_file::Confirm;
use koppel_io::system_file::{self, Document, Place, Setting, SystemSpec};
use koppel_ssp::Tolerance;

pub use advice::Advice;
use fmu::Purpose;
pub use fmus::Fmus;
pub use koppel::diagnostic::Remark;
pub use koppel_io::{Error, Result, number};
pub use log::FmuLog;
pub use monolith::{MONOLITH, monolith};
pub use remark::{Kind, RemarkSink};
pub use run::{Outcome, PreparedRun, RunOptions};
pub use verify::Verified;

/// A system that is ready to be run, and what its runs share.
#[derive(Clone, Debug)]
pub struct Session {
    /// The system and its run. A variant is a session whose data were changed.
    pub spec: SystemSpec,
    /// What its FMUs share.
    pub fmus: Fmus,
    /// What koppel chose in place of `auto`.
    chosen: Option<Box<Choice>>,
    /// What was predicted of it.
    promise: Option<Box<choose::Promise>>,
    /// True if that is a coupling, not a step alone.
    has_chosen_coupling: bool,
}

impl Session {
    /// Checks a system against its FMUs, of which no instance is made.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together.
    pub fn new(spec: SystemSpec) -> Result<Self> {
        let session =
            Session { spec, fmus: Fmus::default(), chosen: None, promise: None, has_chosen_coupling: false };
        session.check()?;
        Ok(session)
    }

    /// Checks whether the parts fit together; no instance of an FMU is made.
    ///
    /// # Errors
    ///
    /// If they do not.
    pub fn check(&self) -> Result<()> {
        self.fmus.build(&self.spec, Purpose::Check).map(|_| ())
    }

    /// Builds the system; may be called again and again. What FMUs declare is believed.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together.
    pub fn build(&self) -> Result<System> {
        self.fmus.build(&self.spec, Purpose::Any)
    }

    /// Reads and checks a system file or structure.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or holds a mistake; the error tells file, line and column.
    pub fn load(path: &Path, settings: &[Setting]) -> Result<Self> {
        Session::load_tolerant(path, settings, Tolerance::Strict)
    }

    /// The same; what is wrong in a structure but can be understood may be forgiven.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or holds a mistake; the error tells file, line and column.
    pub fn load_tolerant(path: &Path, settings: &[Setting], tolerance: Tolerance) -> Result<Self> {
        Session::new(match path {
            _ if system_file::is_structure(path) => system_file::load_structure(path, settings, tolerance)?,
            _ if system_file::is_fmu(path) => system_file::load_fmu(path, None, settings)?,
            _ => system_file::load_with(path, settings)?,
        })
    }

    /// One FMU with its default experiment, driven by a table of inputs.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or holds a mistake.
    pub fn load_fmu(path: &Path, inputs: &Path, settings: &[Setting]) -> Result<Self> {
        Session::new(system_file::load_fmu(path, Some(inputs), settings)?)
    }

    /// Reads and checks the text of a system file; `path` is shown in messages, and files it names are looked for beside it.
    ///
    /// # Errors
    ///
    /// If the text holds a mistake; the error tells file, line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        Session::new(system_file::parse(text, path)?)
    }

    /// The system that stands in a table of another document, such as a study.
    ///
    /// # Errors
    ///
    /// If there is no such table or it holds a mistake.
    pub fn part(document: &Document, key: &str) -> Result<Self> {
        Session::new(system_file::parse_part(document, key)?)
    }

    /// The same system with these values, as TOML, at these places; whether they fit together is found when it is built.
    ///
    /// # Errors
    ///
    /// If a value does not fit its place.
    pub fn with(&self, values: &[(&Place, &str)], origin: &str) -> Result<Self> {
        let spec = self.spec.with(values, origin)?;
        let fmus = self.fmus.clone();
        Ok(Session { spec, fmus, chosen: None, promise: None, has_chosen_coupling: false })
    }

    /// Replaces one setting; whether it fits the others is found when the system is built.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or the value does not fit it.
    pub fn set(&mut self, name: &str, value: &str, origin: &str) -> Result<()> {
        self.spec.set(name, value, origin)?;
        (self.chosen, self.promise, self.has_chosen_coupling) = (None, None, false);
        Ok(())
    }

    /// The same system for trials: each FMU in a process of its own, whatever the file says.
    #[must_use]
    pub fn trial(&self) -> Session {
        Session { fmus: Fmus { is_trial: true, ..self.fmus.clone() }, ..self.clone() }
    }
}
