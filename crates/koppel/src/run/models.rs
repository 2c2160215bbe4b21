//! Keeps the coupling's models of the subsystems up to date.

use super::config::Reading;
use super::failure::failed;
use super::simulation::Simulation;
use crate::coupling::ModelNeeds;
use crate::error::{Error, Result};
use crate::identify::ModelConfig;
use crate::signal::Step;

impl Simulation {
    /// New matrices where they are due, and c of all models, before anybody moves.
    #[inline]
    pub(super) fn refresh_models(&mut self, step: Step) -> Result<()> {
        match self.needs.models {
            Some(needs) => self.take_models(step, needs),
            None => Ok(()),
        }
    }

    fn take_models(&mut self, step: Step, needs: ModelNeeds) -> Result<()> {
        let every = u64::from(needs.source.every());
        let is_due = self.are_models_old || (every > 0 && step.index.is_multiple_of(every));
        self.are_models_old = false;
        // Stale outputs were read before an external signal jumps at this instant, fresh ones after it.
        let time = match self.reading {
            Reading::Fresh => step.start,
            Reading::Stale => step.start - 1e-9 * step.size,
        };
        let Simulation { graph, slots, board, inputs, rates, coupling, .. } = self;
        for (id, slot) in slots.iter_mut().enumerate() {
            let u = &mut inputs[..slot.inputs.len()];
            for (u, input) in u.iter_mut().zip(slot.inputs.clone()) {
                let read_with = board.read_with()[input];
                *u = read_with + slot.external(graph, input, time);
            }
            if is_due {
                let taken = match needs.source {
                    ModelConfig::Exact => {
                        let matrices = slot.subsystem.linear();
                        matrices.map_or(Ok(()), |matrices| board.models.set(graph, id, &matrices))
                    }
                    ModelConfig::Given => match coupling.given(graph.name(id)) {
                        None => Ok(()),
                        Some(given) => {
                            let ports = (slot.inputs.len(), slot.outputs.len());
                            let (matrices, constant) = given.matrices(graph.name(id), ports.0, ports.1)?;
                            board.models.set_constant(id, &constant);
                            board.models.set(graph, id, &matrices)
                        }
                    },
                    _ => match slot.subsystem.linearize_into(u, board.models.draft()) {
                        Ok(true) => board.models.adopt(graph, id),
                        Ok(false) => {
                            // Words are asked for once, not at every step.
                            if board.models.lack(id).is_none() {
                                board.models.set_lack(id, slot.subsystem.lack_of_model());
                            }
                            Ok(())
                        }
                        Err(error) => Err(error),
                    },
                };
                taken.map_err(|source| failed(graph, slot, step, source))?;
            }
            if needs.is_pinned {
                let rates = &mut rates[..slot.outputs.len()];
                let is_told = slot.subsystem.rates(u, rates);
                if is_told.map_err(|source| failed(graph, slot, step, source))? {
                    if let Some(bad) = rates.iter().find(|rate| !rate.is_finite()) {
                        let place = format!("the rates of the outputs of {}", graph.name(id));
                        let source = Error::NotFinite { place, value: *bad }.into();
                        return Err(failed(graph, slot, step, source));
                    }
                    board.models.pin(id, rates, &board.outputs[slot.outputs.clone()], u);
                }
            }
        }
        Ok(())
    }
}
