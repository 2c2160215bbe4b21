//! The working process: what it asks of its supervisor. Without a supervisor nothing here does anything.

use std::fmt;
use std::path::Path;

use koppel::diagnostic::{Diagnosis, Diagnostic, Place};
use koppel::system::Message;
use koppel_io::results::{Finished, Metadata};
use koppel_study::{LostRuns, Moment};

#[cfg(target_os = "linux")]
use koppel_fmi::supervise::supervised;

#[cfg(target_os = "linux")]
use super::request::TEXT;
use super::request::{Answer, Done, Request};
use crate::exit::Exit;
use crate::output::Sketch;

/// A result file that the supervisor writes.
#[derive(Debug)]
pub(crate) struct Remote {
    rows: u64,
    notes: Vec<String>,
}

/// What the supervisor could not do.
#[derive(Clone, Debug)]
pub(crate) struct Refusal(Vec<Diagnosis>);

type Result<T> = std::result::Result<T, Refusal>;

#[cfg(target_os = "linux")]
pub(super) fn begin(parent: &str) -> std::io::Result<()> {
    koppel_fmi::supervise::begin(parent).map(|_| ())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn begin(_: &str) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Asks the supervisor; `None` if there is none.
#[cfg(target_os = "linux")]
fn ask(request: &Request) -> Option<Result<Done>> {
    let supervised = supervised()?;
    let broken = |error: &dyn fmt::Display| {
        Refusal(vec![Diagnosis::words(format!("the supervisor of this run does not answer: {error}"), None)])
    };
    let reply = serde_json::to_vec(request)
        .map_err(|error| broken(&error))
        .and_then(|request| supervised.ask(&request).map_err(|error| broken(&error)));
    Some(reply.and_then(|reply| match serde_json::from_slice::<Answer>(&reply) {
        Ok(answer) => answer.map_err(Refusal),
        Err(error) => Err(broken(&error)),
    }))
}

#[cfg(not(target_os = "linux"))]
fn ask(_: &Request) -> Option<Result<Done>> {
    None
}

/// Has the supervisor listen to Ctrl-C; `false` without one.
pub(crate) fn listen() -> bool {
    ask(&Request::Listen).is_some()
}

/// True once the user wants the run to end.
#[cfg(target_os = "linux")]
pub(crate) fn is_asked() -> bool {
    supervised().is_some_and(koppel_fmi::supervise::Supervised::is_asked)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_asked() -> bool {
    false
}

/// What earlier processes of this study came to: after a crash the supervisor starts another.
pub(crate) fn casualties() -> LostRuns {
    match ask(&Request::LostRuns) {
        Some(Ok(done)) => done.casualties,
        _ => LostRuns::default(),
    }
}

/// Tells the supervisor that a run of a study begins or ends.
pub(crate) fn observe(run: u64, moment: Moment) {
    #[cfg(target_os = "linux")]
    if let Some(supervised) = supervised() {
        supervised.note(run, if moment == Moment::Begin { b"begin" } else { b"end" });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (run, moment);
}

/// Has the supervisor write this page if the run ends its process.
pub(crate) fn promise_report(sketch: Sketch) {
    ask(&Request::Promise(Box::new(sketch)));
}

/// The files of the run are complete.
pub(crate) fn run_is_over() {
    ask(&Request::RunIsOver);
}

/// Has the supervisor print a text on standard output; `None` without one.
pub(crate) fn print(text: &str) -> Option<Result<()>> {
    ask(&Request::Print(text.to_owned())).map(|done| done.map(|_| ()))
}

/// Has the supervisor print a text on standard error, without waiting for that; `false` without one.
#[cfg(target_os = "linux")]
pub(crate) fn say(text: &str) -> bool {
    supervised().map(|supervised| supervised.note(TEXT, text.as_bytes())).is_some()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn say(_: &str) -> bool {
    false
}

/// All is done.
pub(super) fn leave(code: Exit) {
    ask(&Request::Leave(code.number()));
}

impl Remote {
    /// A result file, to be continued after `rows` rows if that is given; `None` without a supervisor.
    pub(crate) fn open(path: &Path, metadata: &Metadata, rows: Option<u64>) -> Option<Result<Remote>> {
        let request = Request::Open { path: path.to_owned(), metadata: Box::new(metadata.clone()), rows };
        let opened = ask(&request)?;
        Some(opened.map(|done| Remote { rows: rows.unwrap_or(0), notes: done.notes }))
    }

    /// What the user should be told.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Passes a row on. One that cannot be written may be noticed some rows later.
    #[inline]
    pub(crate) fn row(&mut self, time: f64, values: &[f64], messages: &[Message]) -> Result<()> {
        self.rows += 1;
        #[cfg(target_os = "linux")]
        if let Some(supervised) = supervised() {
            if !messages.is_empty() {
                supervised.aside(&serde_json::to_vec(messages).unwrap_or_default());
            }
            if !supervised.row(time, values) {
                return self.sync().map(|_| ());
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (time, values, messages);
        Ok(())
    }

    /// Brings all rows to the disk; how many there are.
    pub(crate) fn sync(&self) -> Result<u64> {
        ask(&Request::Sync).map_or(Ok(self.rows), |done| done.map(|done| done.rows))
    }

    /// Adds something to the metadata.
    pub(crate) fn add_metadata(&self, key: &str, value: serde_json::Value) {
        ask(&Request::Add { key: key.to_owned(), value });
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Result<Option<Finished>> {
        ask(&Request::Finish).map_or(Ok(None), |done| done.map(|done| done.finished))
    }
}

impl Refusal {
    /// All that is wrong.
    pub(crate) fn into_diagnoses(self) -> Vec<Diagnosis> {
        self.0
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.first().map_or(Ok(()), |first| f.write_str(&first.what))
    }
}

impl std::error::Error for Refusal {}

impl Diagnostic for Refusal {
    fn place(&self) -> Place {
        self.0.first().map(|first| first.place.clone()).unwrap_or_default()
    }

    fn hints(&self) -> Vec<String> {
        self.0.first().map(|first| first.hints.clone()).unwrap_or_default()
    }

    fn others(&self) -> Vec<Diagnosis> {
        self.0.iter().skip(1).cloned().collect()
    }
}
