//! A whole run: to the end, with rows for a recorder and a watcher that may end it. Between two rows and two looks of the
//! watcher, steps are taken in one go.

use super::board::Board;
use super::retreat::LastPoint;
use super::simulation::Simulation;
use super::slot::Slot;
use crate::error::Result;
use crate::record::{Recorder, Table};
use crate::system::{SubsystemId, SystemGraph, VariableId, VariableKind};

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

/// A subsystem asks to end the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Termination {
    /// Which.
    pub subsystem: String,
    /// When the run ends.
    pub time: f64,
    /// What it says.
    pub text: String,
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
/// of those that are cut (see [`Simulation::is_inside_step`]), where nothing is recorded (unless rows at events are asked for) and the run does not end.
pub type Watch<'a> = dyn FnMut(&mut Simulation) -> Result<Flow> + Send + 'a;

impl Simulation {
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

    /// Runs to the end and returns the rows.
    pub fn run_to_table(&mut self) -> Result<Table> {
        let mut table = Table::default();
        self.run(&mut table, &mut |_| Ok(Flow::Continue))?;
        Ok(table)
    }

    /// The last row of a run that was ended inside of a step: where all are, or the last point they had in common.
    fn write_last_row(&mut self, recorder: &mut dyn Recorder, is_there: bool) -> Result<()> {
        match self.unwritten.take() {
            _ if is_there => self.record(recorder),
            Some(time) => self.write_row(time, recorder),
            // Its outputs have come back.
            None if !self.index.is_multiple_of(self.record_every) => self.record(recorder),
            None => Ok(()),
        }
    }

    /// The subsystem that has asked to end the run, if one has.
    pub fn termination(&self) -> Option<&Termination> {
        self.termination.as_ref()
    }

    /// True where a subsystem has asked to end the run and all have come there.
    pub(super) fn is_ended(&self) -> bool {
        self.termination.as_ref().is_some_and(|request| self.time() >= request.time - self.margin())
    }

    fn run_to_the_end(&mut self, recorder: &mut dyn Recorder, watch: &mut Watch<'_>) -> Result<Ending> {
        if self.index == 0 && !self.is_inside_step() {
            self.record(recorder)?;
            if self.stop_condition()? {
                return Ok(Ending::Condition { time: self.time() });
            }
        } else {
            self.recall_row()?;
            if self.keeps_rows() {
                self.keep_row()?;
            }
        }
        let mut look = self.index + 1;
        while self.pool.is_none() {
            if let Some(ending) = self.advance_and_record(recorder, watch, &mut look)? {
                return Ok(ending);
            }
        }
        let pool = self.pool.clone();
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
            let request = self.termination.clone().filter(|_| self.is_ended());
            return Ok(Some(request.map_or(Ending::Reached, Ending::Terminated)));
        }
        match self.unseen_steps(*look) {
            1 => self.advance_part()?,
            steps => self.advance_by(steps)?,
        }
        if self.is_inside_step() && !self.is_ended() {
            if self.row.has_events() {
                self.record(recorder)?;
            }
            if *look <= self.index + 1 {
                watch(self)?;
            }
            return Ok(None);
        }
        let stop = self.stop_condition()?;
        if self.is_row_due() || stop {
            self.record(recorder)?;
        } else if self.keeps_rows() {
            self.keep_row()?;
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
    fn unseen_steps(&self, look: u64) -> u64 {
        if self.condition.is_some() || self.keeps_rows() {
            return 1;
        }
        let row = self.record_every - self.index % self.record_every;
        row.min(look.saturating_sub(self.index)).min(self.plain_until.saturating_sub(self.index)).max(1)
    }

    /// True at points that become rows.
    fn is_row_due(&self) -> bool {
        self.index.is_multiple_of(self.record_every) || self.is_done()
    }

    /// True if points between rows are looked at, too: where a subsystem ends the run in the step that follows, they are the last
    /// it has.
    fn keeps_rows(&self) -> bool {
        matches!(self.last_point, LastPoint::Row)
    }

    /// Present value of any variable of a subsystem, which is numbered in the order in which they move.
    pub fn value(&mut self, id: SubsystemId, variable: VariableId) -> Result<f64> {
        let time = self.time();
        value(&mut self.slots[id], variable, &self.graph, &self.board, time)
    }

    fn stop_condition(&mut self) -> Result<bool> {
        let time = self.time();
        let Simulation { condition, slots, graph, board, .. } = self;
        let Some(condition) = condition else { return Ok(false) };
        condition.holds(time, |id, variable| value(&mut slots[id], variable, graph, board, time))
    }
}

/// Present value of any variable; of an input, what it was given at the end of its last step. Outputs and inputs of a
/// slow subsystem that is ahead keep their last values until their time has come; its states are those it has reached.
pub(super) fn value(
    slot: &mut Slot,
    variable: VariableId,
    graph: &SystemGraph,
    board: &Board,
    time: f64,
) -> Result<f64> {
    let VariableId { kind, index } = variable;
    let input = slot.inputs.start + index;
    let is_ahead = !slot.before.is_empty() && board.history.reached(slot.id) > time;
    match kind {
        VariableKind::Output if is_ahead => Ok(slot.before[index]),
        VariableKind::Input if is_ahead => {
            Ok(slot.before[slot.outputs.len() + index] + slot.external(graph, input, time))
        }
        VariableKind::Output => Ok(board.outputs[slot.outputs.start + index]),
        VariableKind::Input => Ok(board.applied[input] + slot.external(graph, input, time)),
        VariableKind::Parameter | VariableKind::Local => slot.subsystem.get(variable),
    }
}
