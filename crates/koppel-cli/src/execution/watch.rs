//! What is looked at between macro steps: Ctrl-C and messages after a few of them, the clock more rarely.

use std::time::{Duration, Instant};

use koppel::diagnostic::Remark;
use koppel::run::{Flow, Run, Termination};
use koppel::{Error, Result};
use koppel_fmi::Surroundings;
use koppel_io::Error as Io;

use super::checkpoint::{Checkpoints, Written};
use super::interrupt;
use super::log::Log;
use super::pace::{Overruns, Pace};
use super::progress::Progress;
use super::recording::Shared;
use crate::arguments::SessionArguments;
use crate::failure::note;

/// How often the clock is looked at.
const INTERVAL: Duration = Duration::from_millis(50);

/// Most steps without a look: so few that Ctrl-C is heard soon even if steps suddenly take long, so many that looking costs
/// next to nothing.
const MOST_STEPS: u64 = 64;

/// A run that takes longer than this may be interrupted before its end.
const LONG: Duration = Duration::from_secs(10);

/// What to expect of Ctrl-C.
fn once_interrupted(names: &[String], are_logged: bool) -> Remark {
    let more = if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
    Remark::new(
        format!("`{}`{more} cannot save its state: if interrupted, this run cannot be continued", names[0]),
        if are_logged {
            "koppel logs the inputs of other FMUs, but not the messages that this one exchanges"
        } else {
            "with --out, --checkpoint or --checkpoint-every, koppel logs the inputs of such an FMU, and it can"
        },
    )
}

/// Watches a run.
pub(super) struct Watch {
    progress: Option<Progress>,
    pace: Option<Pace>,
    checkpoints: Checkpoints,
    rows: Shared,
    log: Log,
    /// The step after which the clock is looked at next, and how many there are between two looks.
    clock: u64,
    stride: u64,
    /// After how many steps the next checkpoint is due, if it is due after a step.
    checkpoint: u64,
    last_look: Instant,
    /// What FMUs may have changed when a file is to be written.
    surroundings: Surroundings,
    /// From when on the run counts as long.
    long: Instant,
    /// FMUs that make it impossible to continue the run, until that was said.
    cannot_continue: Vec<String>,
    /// Inputs of FMUs are logged.
    are_logged: bool,
}

impl Watch {
    pub(super) fn new(
        run: &Run,
        options: &SessionArguments,
        checkpoints: Checkpoints,
        rows: Shared,
        log: Log,
        (cannot_continue, are_logged): (Vec<String>, bool),
    ) -> Self {
        // How long a run in real time takes is known; one that writes results is worth a word.
        let rest = run.steps().saturating_sub(run.index()) as f64 * run.largest_step();
        let is_long = options.realtime && rest / options.speed > LONG.as_secs_f64();
        let long = if is_long || are_logged { Duration::ZERO } else { LONG };
        Watch {
            progress: Progress::new(run, options.quiet),
            pace: options.realtime.then(|| Pace::new(run.time(), options.speed)),
            checkpoint: checkpoints.next(run.steps_taken()).unwrap_or(u64::MAX),
            checkpoints,
            rows,
            log,
            clock: run.index() + 1,
            stride: 1,
            last_look: Instant::now(),
            surroundings: Surroundings::now(),
            long: Instant::now() + long,
            cannot_continue,
            are_logged,
        }
    }

    /// Called after macro steps; others want a look after the step `next`.
    #[inline]
    pub(super) fn look(&mut self, run: &mut Run, next: u64) -> Result<Flow> {
        if let Some(pace) = &mut self.pace {
            pace.wait(run.time());
        }
        let progress = &self.progress;
        self.log.show(|show| match progress {
            Some(progress) => progress.aside(show),
            None => show(),
        });
        if interrupt::is_asked() {
            return Ok(Flow::Stop);
        }
        // From where a subsystem has ended the run, nobody goes on.
        if run.termination().is_some() {
            return Ok(Flow::Continue);
        }
        let (index, taken) = (run.index(), run.steps_taken());
        if taken >= self.checkpoint {
            self.checkpoint_now(run)?;
            self.checkpoint = self.checkpoints.next(taken).unwrap_or(u64::MAX);
        }
        if index >= self.clock {
            self.look_at_clock(run)?;
        }
        if self.pace.is_some() {
            return Ok(Flow::Continue);
        }
        let checkpoint = index.saturating_add(self.checkpoint - taken);
        let next = next.min(checkpoint).min(self.clock).min(index + MOST_STEPS);
        Ok(Flow::ContinueFor(next - index))
    }

    #[cold]
    fn look_at_clock(&mut self, run: &mut Run) -> Result<()> {
        let passed = self.last_look.elapsed();
        if passed * 2 < INTERVAL {
            self.stride = (self.stride * 2).min(1 << 20);
        } else if passed > INTERVAL * 2 {
            self.stride = (self.stride / 2).max(1);
        }
        self.clock = run.index() + self.stride;
        self.last_look = Instant::now();
        if let Some(progress) = &mut self.progress {
            progress.show(run);
        }
        if let Some(text) = self.pace.as_mut().and_then(Pace::news) {
            self.aside(|| note("warning", text));
        }
        if !self.cannot_continue.is_empty() && Instant::now() >= self.long {
            let names = std::mem::take(&mut self.cannot_continue);
            self.aside(|| note("note", once_interrupted(&names, self.are_logged)));
        }
        if self.checkpoints.is_time_up() {
            self.checkpoint_now(run)?;
        }
        Ok(())
    }

    /// Rows first, then the checkpoint: it never promises rows that are not on the disk.
    pub(super) fn checkpoint_now(&mut self, run: &mut Run) -> Result<()> {
        self.surroundings.restore();
        let failed = |source| Error::Recorder { source };
        let rows = self.rows.sync().map_err(failed)?;
        let warning = self.checkpoints.write(run, rows).map_err(|error| match *error {
            Io::Engine(error) => error,
            error => Box::new(failed(error.into())),
        })?;
        if let Some(text) = warning {
            self.aside(|| note("warning", &text));
        }
        Ok(())
    }

    /// Shows something beside the progress bar.
    fn aside(&self, show: impl FnOnce()) {
        match &self.progress {
            Some(progress) => progress.aside(show),
            None => show(),
        }
    }

    /// A subsystem has ended the run.
    pub(super) fn note_end(&self, request: &Termination) {
        self.checkpoints.note_end(request);
    }

    pub(super) fn last_checkpoint(&self) -> Option<Written> {
        self.checkpoints.last()
    }

    /// Time in which nothing was done but to wait for the clock.
    pub(super) fn waiting(&self) -> Duration {
        self.pace.as_ref().map_or(Duration::ZERO, Pace::waited)
    }

    pub(super) fn overruns(&self) -> Option<Overruns> {
        self.pace.as_ref().map(Pace::overruns)
    }

    pub(super) fn end(&self) {
        self.progress.iter().for_each(Progress::end);
    }
}
