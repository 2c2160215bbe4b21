//! Making the runs: all cores, one run each, every finished run on the disk at once.
//!
//! | file         | what                                                             |
//! | ------------ | ---------------------------------------------------------------- |
//! | `prepare.rs` | what all runs share, found and checked once                      |
//! | `course.rs`  | references                                                       |
//! | `meter.rs`   | measures that follow a run row by row                            |
//! | `one.rs`     | one run, from its number to its row                              |

mod meter;
mod one;
mod prepare;
mod reference_signals;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use koppel::diagnostic::{Diagnostic, in_one_line};
pub use prepare::Prepared;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::log::{Header, Log, Row};

/// A part of a study: every run whose number leaves `part - 1` when divided by `parts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub part: u64,
    /// How many parts there are.
    pub parts: u64,
}

impl Shard {
    /// The whole study.
    pub const WHOLE: Self = Shard { part: 1, parts: 1 };

    fn has(self, run: u64) -> bool {
        run % self.parts == self.part - 1
    }
}

/// How runs are made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Runs in parallel; all cores if 0.
    pub threads: usize,
    /// Which of them.
    pub shard: Shard,
    /// Also those that take days.
    pub is_large_accepted: bool,
}

/// Where a study stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Runs of this part.
    pub runs: u64,
    /// Finished before.
    pub before: u64,
    /// Finished now.
    pub finished: u64,
    /// Failed, of all that are finished.
    pub failed: u64,
    /// Seconds so far.
    pub seconds: f64,
}

impl Progress {
    /// Seconds that are left, as far as can be determined.
    #[must_use]
    pub fn left(&self) -> Option<f64> {
        let rest = self.runs.checked_sub(self.before + self.finished)?;
        (self.finished > 0).then(|| self.seconds / self.finished as f64 * rest as f64)
    }
}

/// What the caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// End; what is finished is kept.
    Stop,
}

/// Longest study that is begun unasked, in h.
const LONG: f64 = 24.0;
/// Most runs that are begun unasked.
const MANY: u64 = 10_000_000;
/// Time between two looks at the log and the progress.
const LOOK: Duration = Duration::from_millis(100);
/// Time between two times at which rows are forced onto the disk.
pub(crate) const SYNC: Duration = Duration::from_secs(1);
/// Time before the length of a study is judged.
const JUDGED: f64 = 2.0;

/// What earlier processes that worked at a study came to: an FMU can take its process along.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRuns {
    /// Runs that ended their process, with how: they count as failed.
    pub lost: Vec<(u64, String)>,
    /// Runs that were under way when a process ended: they are made first, one at a time.
    pub suspects: Vec<u64>,
}

/// What happens to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It begins.
    Begin,
    /// It has ended.
    End,
}

/// Makes all runs that are not in the log of `folder` yet; the rows of all that are finished then.
///
/// # Errors
///
/// If the log belongs to another study or cannot be written, or the study is too large. Finished runs are kept.
pub fn run(
    prepared: &Prepared,
    folder: &Path,
    options: Options,
    watch: &mut dyn FnMut(&Progress) -> Control,
) -> Result<(Header, Vec<Row>, Progress)> {
    run_after(prepared, folder, options, &LostRuns::default(), &|_, _| {}, watch)
}

/// The same after processes that did not come to their end; `observe` is called, from any thread, when a run begins and ends.
///
/// # Errors
///
/// As above.
pub fn run_after(
    prepared: &Prepared,
    folder: &Path,
    options: Options,
    casualties: &LostRuns,
    observe: &(dyn Fn(u64, Moment) + Sync),
    watch: &mut dyn FnMut(&Progress) -> Control,
) -> Result<(Header, Vec<Row>, Progress)> {
    let header = Header::new(prepared)?;
    let mut log = Log::open(folder, &header)?;
    let mut rows = std::mem::take(&mut log.rows);
    for (run, failure) in &casualties.lost {
        if rows.iter().all(|row| row.run != *run) {
            let row = one::lost(prepared, *run, failure);
            log.push(&row);
            rows.push(row);
        }
    }
    let done: std::collections::HashSet<u64> = rows.iter().map(|row| row.run).collect();
    let own = header.runs / options.shard.parts
        + u64::from(options.shard.part <= header.runs % options.shard.parts);
    if own > MANY && !options.is_large_accepted {
        return Err(Error::TooLarge { runs: own, hours: None });
    }
    let mut todo: Vec<u64> =
        (0..header.runs).filter(|run| options.shard.has(*run) && !done.contains(run)).collect();
    let is_suspect = |run: &u64| casualties.suspects.contains(run);
    todo.sort_by_key(|run| !is_suspect(run));
    let suspects = todo.iter().filter(|run| is_suspect(run)).count();
    let mut progress = Progress {
        runs: own,
        before: own - todo.len() as u64,
        failed: rows.iter().filter(|row| options.shard.has(row.run) && row.failure.is_some()).count() as u64,
        ..Progress::default()
    };
    let threads = threads(prepared, options, todo.len());
    let stop = AtomicBool::new(watch(&progress) == Control::Stop);
    let next = AtomicUsize::new(0);
    let make = |index: usize| {
        let number = *todo.get(index)?;
        observe(number, Moment::Begin);
        let row = one::run(prepared, number, &stop);
        observe(number, Moment::End);
        row
    };
    // Suspects alone: if one ends this process, it is known which.
    while !stop.load(Ordering::Relaxed) && next.load(Ordering::Relaxed) < suspects {
        let Some(row) = make(next.fetch_add(1, Ordering::Relaxed)) else { break };
        progress.finished += 1;
        progress.failed += u64::from(row.failure.is_some());
        log.push(&row);
        log.flush()?;
        rows.push(row);
        stop.store(watch(&progress) == Control::Stop, Ordering::Relaxed);
    }
    let result = std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads {
            let (sender, stop, next, make) = (sender.clone(), &stop, &next, &make);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let Some(row) = make(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    if sender.send(row).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut keeper =
            Keeper { log: &mut log, rows: &mut rows, progress: &mut progress, synced: Instant::now() };
        let result = keeper.keep(&receiver, options, &mut |progress| {
            let control = watch(progress);
            if control == Control::Stop {
                stop.store(true, Ordering::Relaxed);
            }
        });
        if result.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        // Runs that end only now are kept too, as far as the disk allows.
        for row in receiver.iter() {
            keeper.note(row);
        }
        let written = keeper.log.sync();
        result.and(written)
    });
    result?;
    koppel::sort::sort_by_key(&mut rows, |row| row.run);
    Ok((header, rows, progress))
}

/// Makes some runs here, in sequence; those that were ended on the way are missing.
pub fn make(prepared: &Prepared, runs: &[u64], is_ended: &AtomicBool) -> Vec<Row> {
    let runs = runs.iter().filter(|run| **run < prepared.design.runs());
    runs.map_while(|run| one::run(prepared, *run, is_ended)).collect()
}

fn threads(prepared: &Prepared, options: Options, runs: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = if options.threads == 0 { cores } else { options.threads };
    if prepared.is_single { 1 } else { wanted.min(runs).max(1) }
}

/// Takes finished runs and keeps them.
struct Keeper<'a> {
    log: &'a mut Log,
    rows: &'a mut Vec<Row>,
    progress: &'a mut Progress,
    synced: Instant,
}

impl Keeper<'_> {
    fn keep(
        &mut self,
        receiver: &mpsc::Receiver<Row>,
        options: Options,
        look: &mut dyn FnMut(&Progress),
    ) -> Result<()> {
        let begin = Instant::now();
        let mut looked = Instant::now();
        let mut is_judged = options.is_large_accepted;
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(row) => self.note(row),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.progress.seconds = begin.elapsed().as_secs_f64();
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                self.log.flush()?;
                if self.synced.elapsed() >= SYNC {
                    self.log.sync()?;
                    self.synced = Instant::now();
                }
                look(self.progress);
            }
            if !is_judged && self.progress.seconds > JUDGED && self.progress.finished > 0 {
                is_judged = true;
                let hours = self.progress.left().unwrap_or(0.0) / 3600.0;
                if hours > LONG {
                    return Err(Error::TooLarge { runs: self.progress.runs, hours: Some(hours) });
                }
            }
        }
        look(self.progress);
        Ok(())
    }

    fn note(&mut self, row: Row) {
        self.progress.finished += 1;
        self.progress.failed += u64::from(row.failure.is_some());
        self.log.push(&row);
        self.rows.push(row);
    }
}

/// The message of an error without place and hint.
pub(crate) fn one_line(error: &koppel_io::Error) -> String {
    in_one_line(&error.what(), 1)
}
