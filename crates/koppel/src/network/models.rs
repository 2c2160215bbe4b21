//! Keeps the coupling's models of the subsystems up to date.

use super::failure::failed;
use super::{Network, Reading};
use crate::coupling::ModelNeeds;
use crate::error::{Error, Result};
use crate::identify::ModelConfig;
use crate::signal::Step;
use crate::system::SubsystemId;

impl Network {
    /// Judges the models by the last step and updates those that are due, before any subsystem advances.
    #[inline]
    pub(crate) fn judge_and_update_models(&mut self, step: Step) -> Result<()> {
        if self.needs.models.is_none() {
            return Ok(());
        }
        if let Some(coupling) = self.coupling.model_based() {
            coupling.judge(&self.board.view(&self.graph, step));
        }
        self.update_models(step)
    }

    /// Updates the matrices of models that are due, and c of all models.
    pub(crate) fn update_models(&mut self, step: Step) -> Result<()> {
        let Some(needs) = self.needs.models else { return Ok(()) };
        let are_all_due = std::mem::take(&mut self.are_models_old) || is_time(needs, step);
        // Stale outputs were read before an external signal jumps at this instant, fresh ones after it.
        let time = match self.board.reading {
            Reading::Fresh => step.start,
            Reading::Stale => step.start - 1e-9 * step.size,
        };
        let Network { graph, slots, board, inputs, rates, coupling, .. } = self;
        for (id, slot) in slots.iter_mut().enumerate() {
            let u = &mut inputs[..slot.inputs.len()];
            for (u, input) in u.iter_mut().zip(slot.inputs.clone()) {
                let read_with = board.read_with()[input];
                *u = read_with + slot.external(graph, input, time);
            }
            if are_all_due || is_bad(needs, coupling.report().quality(), id) {
                let taken = match needs.source {
                    ModelConfig::Exact => {
                        let matrices = slot.subsystem.linear();
                        matrices.map_or(Ok(()), |matrices| board.models.set(graph, id, &matrices))
                    }
                    ModelConfig::Given => match coupling.report().given(graph.name(id)) {
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
                            // The reason is asked for once, not at every step.
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

/// True if the models are updated at this step whatever they are like.
fn is_time(needs: ModelNeeds, step: Step) -> bool {
    let every = u64::from(needs.source.every());
    every > 0 && step.index.is_multiple_of(every)
}

/// True if a model has predicted the last step worse than it may.
fn is_bad(needs: ModelNeeds, figures: &[f64], id: SubsystemId) -> bool {
    let figure = figures.get(id);
    needs.source.above().is_some_and(|above| figure.is_some_and(|figure| *figure > above))
}
