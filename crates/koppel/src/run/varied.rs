//! Linear stand-ins of a subsystem under other parameters.

use super::failure::failed;
use super::simulation::Simulation;
use crate::error::{Error, Result};
use crate::system::{LinearPart, Snapshot, SubsystemId, VariableId, VariableKind};

impl Simulation {
    /// The value of a parameter now, by its place among the parameters of a subsystem.
    pub fn parameter(&mut self, id: SubsystemId, index: usize) -> Result<f64> {
        let step = self.clock.step(self.index.min(self.clock.steps().saturating_sub(1)), 1);
        let slot = &mut self.slots[id];
        let value = slot.subsystem.get(VariableId { kind: VariableKind::Parameter, index });
        value.map_err(|source| failed(&self.graph, slot, step, source))
    }

    /// Where the linear model of a subsystem comes from; nothing if that is its equations.
    pub fn model_source(&self, id: SubsystemId) -> Option<String> {
        self.slots[id].subsystem.model_source()
    }

    /// What [`Simulation::linear_part`] is if parameters have these values. The run is left as it was.
    pub fn linear_part_under(&mut self, id: SubsystemId, values: &[(usize, f64)]) -> Result<LinearPart> {
        if self.identified(id).is_some() {
            return Err(Error::Unsupported {
                what: "a linear model".into(),
                reason: format!(
                    "`{}` has a model that was found by exciting it with its parameters as they are",
                    self.graph.name(id)
                ),
            }
            .into());
        }
        let mut before = Snapshot::default();
        let is_saved = self.slots[id].subsystem.save(&mut before).is_ok();
        let old = values.iter().map(|(index, _)| Ok((*index, self.parameter(id, *index)?)));
        let old: Vec<(usize, f64)> = old.collect::<Result<_>>()?;
        let part = self.set_all(id, values).and_then(|()| self.linear_part(id));
        let back = self.set_all(id, &old);
        if is_saved {
            self.slots[id].subsystem.restore(&before)?;
        }
        back?;
        part
    }

    fn set_all(&mut self, id: SubsystemId, values: &[(usize, f64)]) -> Result<()> {
        let subsystem = &mut self.slots[id].subsystem;
        let parameter = |index: usize| VariableId { kind: VariableKind::Parameter, index };
        values.iter().try_for_each(|(index, value)| subsystem.set(parameter(*index), *value))
    }
}
