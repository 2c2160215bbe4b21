//! A whole run: to the end, with rows for a recorder and calls of a watcher, which may end it. Between two rows or calls, steps are
//! taken in batches.

use super::recording::{Now, Recording};
use super::run::Run;
use super::scheme::{end_inside_step, restore_step_start};
use super::statistics::Statistics;
use crate::error::{Error, Result};
use crate::network::{Termination, termination};
use crate::record::{Recorder, Trajectory};
use crate::signal::Step;

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// At the stop time.
    Reached,
    /// Because the stop condition became true.
    Condition {
        /// When.
        time: f64,
    },
    /// Because the watcher stopped it.
    Interrupted {
        /// When.
        time: f64,
    },
    /// Because a subsystem asked for it.
    Terminated(Termination),
}

/// What the watcher of a run returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue, and call the watcher after the next macro step.
    Continue,
    /// Continue, and call the watcher after at most this many macro steps (ticks, if the step adapts). Steps that are not watched
    /// cost less.
    ContinueFor(u64),
    /// End the run here.
    Stop,
}

/// A watcher of a run. It is called after every exchange of values, or less often if it returns [`Flow::ContinueFor`]: after macro
/// steps, and after the parts of steps that are split (see [`Run::is_inside_step`]). Inside a step the run does not end, and rows are
/// recorded only if rows at events were requested.
pub type Watch<'a> = dyn FnMut(&mut Run) -> Result<Flow> + Send + 'a;

impl Run {
    /// Runs to the end and records rows; `watch` is called after every exchange of values, unless it asks to be called later.
    ///
    /// Once threads are known to save time, the whole loop moves onto one of them, so that handing work to the others is cheap.
    pub fn run(&mut self, recorder: &mut dyn Recorder, watch: &mut Watch<'_>) -> Result<Ending> {
        let error = match self.run_to_the_end(recorder, watch) {
            Ok(ending) => return Ok(ending),
            Err(error) => error,
        };
        let is_begin = self.time() <= self.clock.time(0);
        match self.end_on_request(&error) {
            // A run without a single step is no result.
            Some((_, false)) if is_begin => Err(error),
            Some((request, is_there)) => {
                self.write_last_row(recorder, is_there).map(|()| Ending::Terminated(request))
            }
            None => Err(error),
        }
    }

    /// Ends the run if this failure is a request by a subsystem to end it; any other failure is returned. All subsystems advance to the
    /// time that subsystem has reached, if they can, and [`Run::time`] is that time. Otherwise the run ends at the last communication
    /// point.
    pub fn end_by(&mut self, error: Box<Error>) -> Result<Termination> {
        self.end_on_request(&error).map(|(request, _)| request).ok_or(error)
    }

    /// Ends the run if this failure is a request to end it. True if all subsystems have reached the time of the request; otherwise the
    /// board is back at the last communication point, and the subsystems may be elsewhere.
    fn end_on_request(&mut self, error: &Error) -> Option<(Termination, bool)> {
        let (request, reached) = termination(error)?;
        let start = self.time();
        let step = Step { index: self.steps_taken(), start, size: self.clock.size() };
        let reached = reached.filter(|time| *time > start + self.margin());
        let (scheme, network) = (&mut *self.scheme, &mut self.network);
        let there = reached.and_then(|time| end_inside_step(scheme, network, step, time, &request.subsystem));
        match there {
            Some(time) => self.inside = Some(time),
            // What is left is the board as it was.
            None => restore_step_start(scheme, network),
        }
        let request = Termination { time: self.time(), ..request };
        self.scheme.staged_mut().outcome.termination = Some(request.clone());
        self.plain_until = 0;
        Some((request, there.is_some()))
    }

    /// Runs to the end and returns the rows.
    pub fn run_to_table(&mut self) -> Result<Trajectory> {
        let mut table = Trajectory::default();
        self.run(&mut table, &mut |_| Ok(Flow::Continue))?;
        Ok(table)
    }

    /// The last row of a run that ended inside a step: at the time all have reached, or at the last point they had in common.
    fn write_last_row(&mut self, recorder: &mut dyn Recorder, is_there: bool) -> Result<()> {
        match self.recording.unwritten.take() {
            _ if is_there => self.record(recorder),
            Some(time) => {
                let margin = self.margin();
                self.recording.write(&mut self.network, time, margin, recorder)
            }
            // Its outputs have come back.
            None if !self.recording.is_row(self.index) => self.record(recorder),
            None => Ok(()),
        }
    }

    /// Gives the current row to `recorder`, after the rows at events since the last one.
    pub fn record(&mut self, recorder: &mut dyn Recorder) -> Result<()> {
        self.with_recording(|recording, now| recording.record(now, recorder))
    }

    fn with_recording(
        &mut self,
        work: impl FnOnce(&mut Recording, &mut Now<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut now = Now {
            time: self.time(),
            step: self.clock.step(self.index, 1),
            last_size: self.control.as_ref().map_or(self.clock.size(), |control| control.last_size()),
            margin: self.margin(),
            network: &mut self.network,
            scheme: &*self.scheme,
        };
        work(&mut self.recording, &mut now)
    }

    fn run_to_the_end(&mut self, recorder: &mut dyn Recorder, watch: &mut Watch<'_>) -> Result<Ending> {
        if self.index == 0 && !self.is_inside_step() {
            self.record(recorder)?;
            if self.is_condition_met()? {
                return Ok(Ending::Condition { time: self.time() });
            }
        } else {
            self.with_recording(Recording::recall)?;
            if self.recording.keeps_all {
                self.with_recording(Recording::keep)?;
            }
        }
        let mut look = self.index + 1;
        while self.scheme.staged().executor.pool().is_none() {
            if let Some(ending) = self.advance_and_record(recorder, watch, &mut look)? {
                return Ok(ending);
            }
        }
        let pool = self.scheme.staged().executor.pool().cloned();
        let mut rest = || {
            loop {
                if let Some(ending) = self.advance_and_record(recorder, watch, &mut look)? {
                    return Ok(ending);
                }
            }
        };
        match pool {
            Some(pool) => pool.install(rest),
            None => rest(),
        }
    }

    /// Takes macro steps up to the next row or call of the watcher, records the row and calls the watcher; the ending, if the run has
    /// ended. `look` is the step after which the watcher is called next.
    fn advance_and_record(
        &mut self,
        recorder: &mut dyn Recorder,
        watch: &mut Watch<'_>,
        look: &mut u64,
    ) -> Result<Option<Ending>> {
        if self.is_done() {
            let request = self.termination().cloned().filter(|_| self.is_ended());
            return Ok(Some(request.map_or(Ending::Reached, Ending::Terminated)));
        }
        match self.batch_steps(*look) {
            1 => self.advance_part()?,
            steps => self.advance_by(steps)?,
        }
        if self.is_inside_step() && !self.is_ended() {
            if self.recording.has_events() {
                self.record(recorder)?;
            }
            if *look <= self.index + 1 {
                watch(self)?;
            }
            return Ok(None);
        }
        let stop = self.is_condition_met()?;
        if self.recording.is_row(self.index) || self.is_done() || stop {
            self.record(recorder)?;
        } else if self.recording.keeps_all {
            self.with_recording(Recording::keep)?;
        }
        let time = self.time();
        if stop {
            return Ok(Some(Ending::Condition { time }));
        }
        if self.index < *look && !self.is_done() {
            return Ok(None);
        }
        let steps = match watch(self)? {
            Flow::Stop if !self.is_done() => return Ok(Some(Ending::Interrupted { time })),
            Flow::Continue | Flow::Stop => 1,
            Flow::ContinueFor(steps) => steps.max(1),
        };
        *look = self.index.saturating_add(steps);
        Ok(None)
    }

    /// How many steps can be taken in one batch: to the next row or call of the watcher, and only steps that do nothing but exchange
    /// values.
    fn batch_steps(&self, look: u64) -> u64 {
        let to_look = look.saturating_sub(self.index).min(self.plain_until.saturating_sub(self.index));
        self.recording.batch_steps(self.index).min(to_look).max(1)
    }

    /// Statistics of the run so far.
    pub fn statistics(&self) -> Statistics {
        Statistics::of(self)
    }

    pub(crate) fn is_condition_met(&mut self) -> Result<bool> {
        let time = self.time();
        self.recording.is_condition_met(&mut self.network, time)
    }
}
