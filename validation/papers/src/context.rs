//! Work on all cores, progress, and the wish to stop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::{Error, Result};

pub use koppel_study::Control;

/// How far the work is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is being made.
    pub stage: String,
    /// Share of all work that is done.
    pub done: f64,
    /// Seconds that are left, as far as can be told.
    pub left: Option<f64>,
}

/// What every stage is given.
pub(crate) struct Context<'a> {
    /// Smaller designs.
    pub(crate) is_quick: bool,
    /// Threads; all cores if 0.
    pub(crate) threads: usize,
    /// Folder of the paper, for studies.
    pub(crate) folder: std::path::PathBuf,
    pub(crate) watch: &'a (dyn Fn(&Progress) -> Control + Sync),
    pub(crate) begin: Instant,
    /// What is being made, and the shares of all work that lie before it and that it is.
    pub(crate) stage: (String, f64, f64),
}

/// Time between two looks at the progress.
const LOOK: Duration = Duration::from_millis(100);

impl Context<'_> {
    /// Tells how far a stage is; an error if the work is to end.
    pub(crate) fn tell(&self, part: f64) -> Result<()> {
        let (name, before, own) = &self.stage;
        let done = before + own * part.clamp(0.0, 1.0);
        let seconds = self.begin.elapsed().as_secs_f64();
        let left = (done > 0.01 && seconds > 1.0).then(|| seconds / done * (1.0 - done));
        let progress = Progress { stage: name.clone(), done, left };
        if (self.watch)(&progress) == Control::Stop { Err(Error::Stopped) } else { Ok(()) }
    }

    pub(crate) fn cores(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if self.threads == 0 { cores } else { self.threads }
    }

    /// `make` of every item, side by side; in the order of the items.
    pub(crate) fn map<T: Sync, R: Send>(
        &self,
        items: &[T],
        make: impl Fn(&T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let mut found: Vec<Option<R>> = items.iter().map(|_| None).collect();
        let mut failed = None;
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..self.cores().min(items.len()).max(1) {
                let (sender, next, stop, make) = (sender.clone(), &next, &stop, &make);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = items.get(at) else { break };
                        if sender.send((at, make(item))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let mut done = 0;
            let mut looked = Instant::now();
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok((at, Ok(result))) => {
                        found[at] = Some(result);
                        done += 1;
                    }
                    Ok((_, Err(error))) => {
                        failed.get_or_insert(error);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if looked.elapsed() >= LOOK && failed.is_none() {
                    looked = Instant::now();
                    failed = self.tell(f64::from(done) / items.len() as f64).err();
                }
                if failed.is_some() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(found.into_iter().flatten().collect()),
        }
    }
}
