//! One way to carry out a run: build each part once, choose what is open, guard against loops that are not zero-stable, run, certify.
//!
//! ```text
//! SystemSpec -> Session (checked against its FMUs) -> Session::start -> Run::run
//! ```
//!
//! The command line, the Python package, each run of a study and an exported system all use [`Session`]: a rule of a run that holds in
//! one of them holds in all. What is told on the way goes to the caller as [`Remark`]s.
//!
//! | file           | what                                                                  |
//! | -------------- | --------------------------------------------------------------------- |
//! | `build.rs`     | the system with its FMUs, from plain data                              |
//! | `fmu.rs`       | FMUs as subsystems: in process, isolated, for trials                   |
//! | `choose.rs`    | settings in the place of `auto`                                        |
//! | `guard.rs`     | zero-stability: before the run, and on its way                         |
//! | `outlook.rs`   | a warning before a run that will go wrong                              |
//! | `run.rs`       | a run that is ready, and its certificate                               |
//! | `black_box.rs` | subsystems that tell nothing of themselves                             |
//! | `monolith.rs`  | the system uncut, as a reference                                       |
//! | `trials.rs`    | what FMUs can really do of what they declare                           |
//! | `replay.rs`    | FMUs that cannot save their state, continued from a log of their inputs |
//! | `probe_cache.rs` | what was found of FMUs, kept between runs                            |

mod black_box;
mod build;
mod choose;
mod fmu;
mod guard;
mod log;
mod monolith;
mod outlook;
pub mod probe_cache;
mod remark;
pub mod replay;
mod run;
mod trials;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use koppel::plan::Choice;
use koppel_fmi::import::Without;
use koppel_io::system_file::{self, Document, Place, Setting, SystemSpec};
use koppel_ssp::Tolerance;

use fmu::Purpose;
pub use koppel::diagnostic::Remark;
pub use koppel_io::{Error, Result, number};
pub use log::FmuLog;
pub use monolith::MONOLITH;
use probe_cache::ProbeCache;
pub use remark::{Kind, Tell};
use replay::Journals;
pub use run::{PreparedRun, Start};
use trials::Trials;

/// A system that is ready to be run, and what its runs share.
#[derive(Clone, Debug)]
pub struct Session {
    /// The system and its run. A variant is a session whose data were changed.
    pub spec: SystemSpec,
    log: Option<FmuLog>,
    /// Where FMUs that cannot save their state log what they are given.
    journals: Option<Journals>,
    /// Where what is found by exciting FMUs is kept.
    cache: Option<Arc<ProbeCache>>,
    /// What koppel chose in place of `auto`.
    chosen: Option<Box<Choice>>,
    /// True if that is a coupling, not a step alone.
    has_chosen_coupling: bool,
    /// What is known of its FMUs by trial.
    trials: Arc<Trials>,
    /// True if its runs are trials: FMUs are in processes of their own.
    is_trial: bool,
    /// What FMUs are known to fail at, by subsystem.
    lacks: BTreeMap<String, Without>,
}

impl Session {
    /// Checks a system against its FMUs, of which no instance is made.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together.
    pub fn new(spec: SystemSpec) -> Result<Self> {
        let session = Session {
            spec,
            log: None,
            journals: None,
            cache: None,
            chosen: None,
            has_chosen_coupling: false,
            trials: Arc::default(),
            is_trial: false,
            lacks: BTreeMap::new(),
        };
        session.check()?;
        Ok(session)
    }

    /// Checks whether the parts fit together; no instance of an FMU is made.
    ///
    /// # Errors
    ///
    /// If they do not.
    pub fn check(&self) -> Result<()> {
        self.build_for(Purpose::Check).map(|_| ())
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
        Session::new(match system_file::is_structure(path) {
            true => system_file::load_structure(path, settings, tolerance)?,
            false => system_file::load_with(path, settings)?,
        })
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
        Ok(Session {
            spec: self.spec.with(values, origin)?,
            log: self.log.clone(),
            journals: self.journals.clone(),
            cache: self.cache.clone(),
            chosen: None,
            has_chosen_coupling: false,
            trials: self.trials.clone(),
            is_trial: self.is_trial,
            lacks: self.lacks.clone(),
        })
    }

    /// Replaces one setting; whether it fits the others is found when the system is built.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or the value does not fit it.
    pub fn set(&mut self, name: &str, value: &str, origin: &str) -> Result<()> {
        self.spec.set(name, value, origin)?;
        (self.chosen, self.has_chosen_coupling) = (None, false);
        Ok(())
    }

    /// The same system for trials: each FMU in a process of its own, whatever the file says.
    #[must_use]
    pub fn trial(&self) -> Session {
        Session { is_trial: true, ..self.clone() }
    }

    /// Tells where the messages of FMUs go from now on.
    pub fn log_to(&mut self, log: FmuLog) {
        self.log = Some(log);
    }

    /// From now on what is built logs the inputs of those FMUs that cannot save their state, so that a checkpoint can be
    /// continued all the same.
    pub fn log_inputs(&mut self, journals: Journals) {
        self.journals = Some(journals);
    }

    /// Files in which inputs are logged, as far as there are any.
    #[must_use]
    pub fn input_logs(&self) -> Vec<PathBuf> {
        let Some(journals) = &self.journals else { return Vec::new() };
        let logged = self.spec.subsystems().iter().enumerate().filter(|(_, one)| one.fmu.is_some());
        let paths = logged.map(|(index, one)| journals.of(index, &one.name).path());
        paths.filter(|path| path.exists()).collect()
    }

    /// From now on what is found by exciting FMUs before a run is kept there, and taken from there.
    pub fn keep_probes(&mut self, cache: Arc<ProbeCache>) {
        self.cache = Some(cache);
    }

    /// What was found of FMUs since this was asked last: functions that koppel does without, and trouble with what is kept of them.
    #[must_use]
    pub fn warnings_of_fmus(&self) -> Vec<Remark> {
        let of_cache = self.cache.iter().flat_map(|cache| cache.warnings());
        of_cache.chain(self.trials.warnings().into_iter().map(Remark::from)).collect()
    }
}
