//! From initial values to a consistent start.

use super::Network;
use super::evaluation::{Instant, LateStart};
use crate::error::{Error, Result};
use crate::system::VariableId;

/// What was set in each subsystem since it was initialised.
pub(crate) type Settings = Vec<Vec<(VariableId, f64)>>;

impl Network {
    /// All subsystems go to their initial states.
    pub(crate) fn initialize(&mut self, time: f64) -> Result<()> {
        for (id, slot) in self.slots.iter_mut().enumerate() {
            let failed = |source| Error::Subsystem { subsystem: self.graph.name(id).into(), time, source };
            slot.subsystem.initialize(time).map_err(failed)?;
        }
        Ok(())
    }

    /// From initialised subsystems to the first communication point.
    pub(crate) fn start(&mut self, time: f64, settings: Settings) -> Result<()> {
        self.find_consistent_start(time)?;
        if !self.messages.is_empty() {
            self.carry_messages(0..self.slots.len(), time)?;
            // Once more: outputs may follow what was received.
            self.find_consistent_start(time)?;
        }
        self.leave_initialization(time, settings)?;
        self.check_tables(time)?;
        self.check_finite(0..self.graph.outputs(), time)?;
        for input in 0..self.graph.inputs() {
            self.board.applied[input] = self.board.history.arrivals()[input];
            self.board.note_read(input, self.board.applied[input]);
            self.board.predicted.hold(input, self.board.applied[input]);
        }
        Ok(())
    }

    /// Brings subsystems that were started again, and have forgotten their inputs, back to the start.
    pub(crate) fn start_again(&mut self, time: f64, settings: Settings) -> Result<()> {
        self.find_consistent_start(time)?;
        self.leave_initialization(time, settings)
    }

    fn find_consistent_start(&mut self, time: f64) -> Result<()> {
        let Network { graph, slots, board, inputs, evaluation, .. } = self;
        evaluation.initialize(&mut Instant { graph, slots, board, inputs, time, late: None })
    }

    /// All leave their initialization, with inputs that belong to what the others give then.
    fn leave_initialization(&mut self, time: f64, settings: Settings) -> Result<()> {
        // A subsystem that is started again forgets what it has received.
        let has_messages = !self.messages.is_empty();
        let may_start = |id: usize| !has_messages && self.subsystem(id).capabilities().not_to_probe.is_none();
        let may_start = (0..self.slots.len()).map(may_start).collect();
        let mut late = LateStart::new(settings, may_start);
        let Network { graph, slots, board, inputs, evaluation, .. } = self;
        let mut now = Instant { graph, slots, board, inputs, time, late: None };
        evaluation.leave_initialization(&mut now, &mut late)
    }
}
