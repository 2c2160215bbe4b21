//! A whole run: to the end, with rows for a recorder and a watcher that may end it. Between two rows and two looks of the
//! watcher, steps are taken in one go.

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
    /// Because the watcher said so.
    Interrupted {
        /// When.
        time: f64,
    },
    /// Because a subsystem asked for it.
    Terminated(Termination),
}

/// What the watcher of a run wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on, and ask again after the next macro step.
    Continue,
    /// Go on, and ask again after at most so many macro steps (ticks, if steps adapt): those in between cost less if nobody looks at them.
    ContinueFor(u64),
    /// End here.
    Stop,
}

/// Is asked after every exchange of values whether to go on, or as rarely as it wants: after macro steps, and after the parts
/// of those that are cut (see [`Run::is_inside_step`]), where nothing is recorded (unless rows at events are asked for) and the run does not end.
pub type Watch<'a> = dyn FnMut(&mut Run) -> Result<Flow> + Send + 'a;

impl Run {
    /// Runs to the end, recording rows; `watch` is asked after every exchange of values, unless it says that later is enough.
    ///
    /// Once threads are found to pay, the whole loop moves onto one of them, so that the others are a short call away.
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

    /// Ends the run because of this failure, if it is a request to do so by a subsystem. All subsystems go to where it stands
    /// ([`Run::time`] is then), if they can; else the run ends at the last communication point. Any other failure comes back.
    pub fn end_by(&mut self, error: Box<Error>) -> Result<Termination> {
        self.end_on_request(&error).map(|(request, _)| request).ok_or(error)
    }

    /// Ends the run because of this failure, if it is a request to do so: all go to where the subsystem stands that has asked, or
    /// stay at the last communication point, whose values are not those of the subsystems then. Tells which.
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

    /// The last row of a run that was ended inside a step: where all are, or the last point they had in common.
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

    /// Gives the present row to `recorder`, after those at events since the last one.
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

    /// Macro steps up to the next that somebody looks at, with what belongs to them; tells whether the run has ended. `look`
    /// is the step after which the watcher is asked next.
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

    /// How many steps can be taken in one go: to the next row or look, and not beyond the steps in which nothing happens but
    /// that values are exchanged.
    fn batch_steps(&self, look: u64) -> u64 {
        let to_look = look.saturating_sub(self.index).min(self.plain_until.saturating_sub(self.index));
        self.recording.batch_steps(self.index).min(to_look).max(1)
    }

    /// Numbers of the run so far.
    pub fn statistics(&self) -> Statistics {
        Statistics::of(self)
    }

    fn is_condition_met(&mut self) -> Result<bool> {
        let time = self.time();
        self.recording.is_condition_met(&mut self.network, time)
    }
}
