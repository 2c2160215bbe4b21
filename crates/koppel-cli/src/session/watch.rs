//! What is looked at after every macro step: Ctrl-C always; the clock only every so many steps.

use std::time::{Duration, Instant};

use koppel::run::{Flow, Simulation};
use koppel::{Error, Result};
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

/// Watches a run.
pub(super) struct Watch {
    progress: Option<Progress>,
    pace: Option<Pace>,
    checkpoints: Checkpoints,
    rows: Shared,
    log: Log,
    /// Steps until the clock is looked at.
    countdown: u64,
    stride: u64,
    last_look: Instant,
}

impl Watch {
    pub(super) fn new(
        simulation: &Simulation,
        options: &SessionArguments,
        checkpoints: Checkpoints,
        rows: Shared,
        log: Log,
    ) -> Self {
        Watch {
            progress: Progress::new(simulation, options.quiet),
            pace: options.realtime.then(|| Pace::new(simulation.time(), options.speed)),
            checkpoints,
            rows,
            log,
            countdown: 1,
            stride: 1,
            last_look: Instant::now(),
        }
    }

    /// Called after every macro step.
    #[inline]
    pub(super) fn look(&mut self, simulation: &Simulation) -> Result<Flow> {
        if let Some(pace) = &mut self.pace {
            pace.wait(simulation.time());
        }
        let progress = &self.progress;
        self.log.show(|show| match progress {
            Some(progress) => progress.aside(show),
            None => show(),
        });
        if interrupt::is_asked() {
            return Ok(Flow::Stop);
        }
        if self.checkpoints.is_due_at(simulation.steps_taken()) {
            self.checkpoint_now(simulation)?;
        }
        self.countdown -= 1;
        if self.countdown == 0 {
            self.look_at_clock(simulation)?;
        }
        Ok(Flow::Continue)
    }

    #[cold]
    fn look_at_clock(&mut self, simulation: &Simulation) -> Result<()> {
        let passed = self.last_look.elapsed();
        if passed * 2 < INTERVAL {
            self.stride = (self.stride * 2).min(1 << 20);
        } else if passed > INTERVAL * 2 {
            self.stride = (self.stride / 2).max(1);
        }
        self.countdown = self.stride;
        self.last_look = Instant::now();
        if let Some(progress) = &mut self.progress {
            progress.show(simulation);
        }
        if self.checkpoints.is_time_up() {
            self.checkpoint_now(simulation)?;
        }
        Ok(())
    }

    /// Rows first, then the checkpoint: it never promises rows that are not on the disk.
    pub(super) fn checkpoint_now(&mut self, simulation: &Simulation) -> Result<()> {
        let failed = |source| Error::Recorder { source };
        let rows = self.rows.sync().map_err(failed)?;
        let warning = self.checkpoints.write(simulation, rows).map_err(|error| match *error {
            Io::Engine(error) => error,
            error => Box::new(failed(error.into())),
        })?;
        if let Some(text) = warning {
            let show = || note("warning", &text);
            self.progress.as_ref().map_or_else(show, |progress| progress.aside(show));
        }
        Ok(())
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
