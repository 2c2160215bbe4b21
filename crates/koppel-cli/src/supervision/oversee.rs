//! The supervisor of a command.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use koppel::diagnostic::{Diagnosis, Seconds, in_one_line};
use koppel::system::Message;
use koppel_fmi::isolate::Ending;
use koppel_fmi::supervise::{Event, Supervisor, Whereabouts};
use koppel_io::Error as Io;
use koppel_io::results::{ResultWriter, Table, read_table};
use koppel_study::LostRuns;

use super::SUPERVISED;
use super::request::{Answer, Done, Request, TEXT};
use crate::execution::{interrupt, nearby};
use crate::exit::Exit;
use crate::failure::{Failure, note};
use crate::output::{self, Sketch};

/// Set when the run is to be ended without waiting for its step.
static IS_TO_END_AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Carries out the command with these arguments in a process of its own; `None` if none can be started.
pub(super) fn oversee(arguments: &[OsString], as_json: bool) -> Option<ExitCode> {
    let mut keeper = Keeper::default();
    interrupt::listen();
    loop {
        let mut supervisor = Supervisor::start(SUPERVISED, arguments.iter().cloned()).ok()?;
        let how = watch(&mut supervisor, &mut keeper);
        if IS_TO_END_AT_ONCE.load(Ordering::Relaxed) {
            let what = aborted(&supervisor.whereabouts());
            supervisor.clean_up();
            let kept = keeper.complete(&what);
            keeper.keep_promise(&Diagnosis::words(what.clone(), None), kept.as_deref());
            if kept.is_none() {
                note("note", what);
            }
            std::process::exit(Exit::Interrupted.number().into());
        }
        if let Some(code) = keeper.code {
            if how == Ending::Exit(code.into()) {
                return Some(ExitCode::from(code));
            }
            supervisor.clean_up();
            after_the_end(how).show();
            return Some(if code == 0 { Exit::RunFailed.number() } else { code }.into());
        }
        let told = diagnosis(how, &supervisor.whereabouts(), supervisor.has_seen_fmus());
        supervisor.clean_up();
        if keeper.lose(&told) {
            continue;
        }
        let kept = keeper.complete("the run has failed");
        keeper.keep_promise(&told, kept.as_deref());
        let failure = Failure::Failed(Box::new(told));
        if as_json && let Err(unsaid) = output::print_json(&output::failure_document(&failure)) {
            unsaid.show();
        }
        failure.show();
        return Some(failure.code().into());
    }
}

/// Serves the other process until it has ended.
fn watch(supervisor: &mut Supervisor, keeper: &mut Keeper) -> Ending {
    let mut has_passed_on = false;
    loop {
        let is_to_end = IS_TO_END_AT_ONCE.load(Ordering::Relaxed);
        if is_to_end || interrupt::is_asked() && !keeper.is_listening {
            IS_TO_END_AT_ONCE.store(true, Ordering::Relaxed);
            supervisor.kill();
        } else if interrupt::is_asked() && !has_passed_on {
            supervisor.ask_to_end();
            has_passed_on = true;
        }
        match supervisor.event() {
            Event::Row(time, values, aside) => {
                if !keeper.row(time, values, aside) {
                    supervisor.report_trouble();
                }
            }
            // Whoever is being ended gets no answer.
            Event::Request(_) if is_to_end => {}
            Event::Request(request) => {
                let answer = keeper.answer(&request);
                supervisor.reply(&serde_json::to_vec(&answer).unwrap_or_default());
                if keeper.code.is_some() {
                    supervisor.wait();
                }
            }
            Event::Note(TEXT, text) => keeper.say(String::from_utf8_lossy(&text).into_owned()),
            Event::Note(run, moment) if moment == b"begin" => _ = keeper.under_way.insert(run),
            Event::Note(run, _) => keeper.has_made_runs |= keeper.under_way.remove(&run),
            Event::Nothing => {}
            Event::Ended(how) => return how,
        }
    }
}

/// So often a study goes on after a process that ended between its runs.
const STRAYS: u32 = 10;

/// What is kept for the other process.
#[derive(Default)]
struct Keeper {
    results: Option<ResultWriter>,
    /// Why rows can no longer be written.
    trouble: Option<Box<Io>>,
    /// Its exit code, once it has done everything.
    code: Option<u8>,
    /// Ctrl-C is to end the run in good order, not at once.
    is_listening: bool,
    /// Runs of a study were made since its newest process was started.
    has_made_runs: bool,
    /// Processes of a study that ended between its runs.
    strays: u32,
    /// Runs of a study that have begun and not ended.
    under_way: BTreeSet<u64>,
    casualties: LostRuns,
    /// The page of the run, to be written if it ends its process.
    promised: Option<Sketch>,
    /// Texts of a study that were printed on standard error.
    said: BTreeSet<String>,
}

impl Keeper {
    /// The end of a process that worked at a study: one run is lost, or some are suspects. `false` for anything else.
    fn lose(&mut self, told: &Diagnosis) -> bool {
        let runs: Vec<u64> = std::mem::take(&mut self.under_way).into_iter().collect();
        match runs.as_slice() {
            // Whatever it was, what is left of the study goes on; but not for ever.
            [] if std::mem::take(&mut self.has_made_runs) && self.strays < STRAYS => self.strays += 1,
            [] => return false,
            [one] => {
                self.casualties.suspects.retain(|run| run != one);
                self.casualties.lost.push((*one, in_one_line(&told.what, 1)));
            }
            several => self.casualties.suspects.extend(several),
        }
        true
    }

    /// Writes a row; `false` if that cannot be done.
    fn row(&mut self, time: f64, values: &[f64], aside: Option<Vec<u8>>) -> bool {
        let Some(results) = &mut self.results else { return self.trouble.is_none() };
        let messages: Vec<Message> =
            aside.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        // The other process may have been damaged.
        let is_whole = results.fits(values.len(), messages.len());
        if is_whole && self.trouble.is_none() {
            self.trouble = results.row_with(time, values, &messages).err();
        }
        self.trouble.is_none()
    }

    /// Prints a text. A process that goes on with the work of another has the same to say at its start.
    fn say(&mut self, text: String) {
        if self.casualties == LostRuns::default() || !self.said.contains(&text) {
            crate::failure::say(&text);
            self.said.insert(text);
        }
    }

    fn answer(&mut self, request: &[u8]) -> Answer {
        let words = |text: String| vec![Diagnosis::words(text, None)];
        let request = serde_json::from_slice(request)
            .map_err(|error| words(format!("a request to the supervisor makes no sense: {error}")))?;
        self.carry_out(request).map_err(|failure| failure.diagnoses())
    }

    fn carry_out(&mut self, request: Request) -> crate::failure::Result<Done> {
        let mut done = Done::default();
        match request {
            Request::Listen => {
                self.is_listening = true;
                interrupt::prepare(|| {
                    IS_TO_END_AT_ONCE.store(true, Ordering::Relaxed);
                    // The first thread ends the process.
                    loop {
                        std::thread::park();
                    }
                });
            }
            Request::Open { path, metadata, rows } => {
                let results = match rows {
                    Some(rows) => ResultWriter::resume(&path, *metadata, rows)?,
                    None => ResultWriter::create(&path, *metadata)?,
                };
                done.notes = results.notes().to_vec();
                self.results = Some(results);
            }
            Request::Add { key, value } => {
                self.results.iter_mut().for_each(|results| results.add_metadata(&key, value.clone()));
            }
            Request::Sync => {
                self.check()?;
                if let Some(results) = &mut self.results {
                    results.sync().map_err(Failure::Write)?;
                    done.rows = results.rows();
                }
            }
            Request::Finish => {
                self.check()?;
                done.finished =
                    self.results.take().map(ResultWriter::finish).transpose().map_err(Failure::Write)?;
            }
            Request::Promise(sketch) => self.promised = Some(*sketch),
            Request::LostRuns => done.casualties = self.casualties.clone(),
            Request::RunIsOver => {
                interrupt::run_is_over();
                self.promised = None;
            }
            Request::Print(text) => output::print(&text)?,
            Request::Leave(code) => self.code = Some(code),
        }
        Ok(done)
    }

    /// Rows that could not be written are told of once.
    fn check(&mut self) -> crate::failure::Result<()> {
        match self.trouble.take() {
            Some(error) => {
                self.results = None;
                Err(Failure::Write(error))
            }
            None => Ok(()),
        }
    }

    /// Completes the result file of a run that did not come to its end.
    fn complete(&mut self, what: &str) -> Option<PathBuf> {
        let last = self.results.as_ref().and_then(ResultWriter::last_time);
        match self.results.take().map(ResultWriter::finish)? {
            Ok(finished) => {
                let time = last.map(|time| format!(" up to t = {} s", Seconds(time))).unwrap_or_default();
                let (rows, path) = (finished.rows, nearby(&finished.path));
                note("note", format!("{what}; the {rows} rows{time} are kept in {}", path.display()));
                Some(finished.path)
            }
            Err(error) => {
                Failure::Write(error).show();
                None
            }
        }
    }

    /// Writes the page of a run that did not come to its end, with the rows of its result file.
    fn keep_promise(&mut self, failure: &Diagnosis, results: Option<&Path>) {
        let Some(sketch) = self.promised.take() else { return };
        let table = results.map_or(Ok(Table::default()), read_table).map_err(Failure::Write);
        match table.and_then(|table| sketch.write_failed(failure, &table)) {
            Ok(()) => note("note", format!("wrote {}", nearby(sketch.path()).display())),
            Err(failure) => failure.show(),
        }
    }
}

/// Where a run was that the user has ended at once.
fn aborted(calls: &[Whereabouts]) -> String {
    match calls {
        [] => "aborted inside a step".into(),
        calls => format!("aborted inside {}", calls.iter().map(place).collect::<Vec<_>>().join(", ")),
    }
}

/// A call that was running: function, instance, time.
fn place(one: &Whereabouts) -> String {
    let time = one.time.map(|time| format!(", in the step from t = {} s", Seconds(time))).unwrap_or_default();
    format!("{} of {}{time}", one.call, instance(one))
}

/// The instance of a call.
fn instance(one: &Whereabouts) -> String {
    one.instance.as_ref().map_or_else(|| "an FMU".into(), |name| format!("`{name}`"))
}

/// What an FMU did once all was done: results, report and messages are complete.
fn after_the_end(how: Ending) -> Failure {
    let what = match how {
        Ending::Hung(seconds) => {
            format!("an FMU kept the process of this command from ending for {seconds} s")
        }
        other => format!("an FMU {other} when its library was unloaded"),
    };
    let told = "all files are complete; tell its author, or run with --isolate: then it costs a warning only";
    Failure::words(what, told)
}

/// How the other process ended, and which calls were running.
fn diagnosis(how: Ending, calls: &[Whereabouts], has_seen_fmus: bool) -> Diagnosis {
    let isolate = "run with --isolate: the message then names the inputs of the step, and koppel itself is out of reach of the FMU";
    let fault = match how {
        Ending::Signal(9) => "somebody killed it, or the machine ran out of memory",
        Ending::Hung(_) => "allow more time with step_timeout, or tell its author the call above",
        Ending::StackOverflow => "more stack may help (`ulimit -s`); if not, tell its author the call above",
        Ending::Exit(_) => "an FMU must not end its process: tell its author the call above",
        _ => "the fault is in the FMU: tell its author the call above",
    };
    let (what, hints) = match calls {
        [] => {
            let hint = match how {
                Ending::Signal(9) => fault,
                _ if has_seen_fmus => {
                    "no FMU was being called: a thread of an FMU may have done it; run with --isolate to see which"
                }
                _ => "no FMU was there: please report this with the system file",
            };
            (format!("the process of this command {how}"), vec![hint])
        }
        [one] => {
            let when = one
                .time
                .map(|time| format!(", in the step from t = {} s", Seconds(time)))
                .unwrap_or_default();
            (format!("{} {how} in {}{when}", instance(one), one.call), vec![fault, isolate])
        }
        several => {
            let mut all: Vec<String> =
                several.iter().map(|one| format!("{} in {}", instance(one), one.call)).collect();
            all.sort();
            (format!("an FMU {how}, one of {}", all.join(", ")), vec![isolate])
        }
    };
    let time = if let [one] = calls { one.time } else { None };
    let hints = hints.into_iter().map(str::to_owned).collect();
    Diagnosis { hints, time, ..Diagnosis::words(what, None) }
}
