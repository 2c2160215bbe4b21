//! What a subsystem is to first order, where it stands.

use super::Workbench;
use crate::error::{Error, Result};
use crate::identify::Surrogate;
use crate::linalg::{Matrix, default_cutoff, pinv, rank};
use crate::network::{Network, Slot, failed};
use crate::solver::SolverConfig;
use crate::system::{
    Drive, LinearPart, Snapshot, StateSpace, SubsystemId, SystemGraph, VariableId, VariableKind,
};
use std::fmt::Write as _;

impl Workbench<'_> {
    /// A linear stand-in for one subsystem, without its filters. Micro solvers of a fixed step are kept; others count as exact.
    /// The run is left as it was.
    pub fn linear_part(&mut self, id: SubsystemId) -> Result<LinearPart> {
        if let Some(part) = self.identified_part(id) {
            return Ok(part);
        }
        let (found, is_exact) = self.linear_model(id)?;
        let (u, step) = (self.network.read_inputs(id, self.time), self.step);
        let Network { graph, slots, board, .. } = &mut *self.network;
        let slot = &mut slots[id];
        let solver = match slot.subsystem.capabilities().solver_config {
            Some(fixed @ (SolverConfig::Euler { .. } | SolverConfig::Rk4 { .. })) => fixed,
            _ => SolverConfig::Exact {},
        };
        let name = graph.name(id);
        let (mut states, mut outputs) = (found.states(), found.outputs());
        for variable in &graph.ports(id).outputs {
            if let Some(filtered) = &variable.filtered {
                states -= filtered.filter.matrices(&variable.name)?.states();
                outputs -= 1;
            }
        }
        let drive = match has_filters(graph, id) {
            true => None,
            false => {
                let y = &board.outputs[slot.outputs.clone()];
                drive(slot, &found, &u, y).map_err(|source| failed(graph, slot, step, source))?
            }
        };
        let StateSpace { a, b, c, d } = found;
        let inputs = b.cols();
        let matrices = StateSpace::new(
            name,
            a.block(0, 0, states, states),
            b.block(0, 0, states, inputs),
            c.block(0, 0, outputs, states),
            d.block(0, 0, outputs, inputs),
        )?;
        Ok(LinearPart { matrices, solver, is_exact, drive, reads_stale: false })
    }

    /// What exciting it has shown, from where it stood then.
    fn identified_part(&self, id: SubsystemId) -> Option<LinearPart> {
        let Surrogate { matrices, rates, reads_stale, .. } = self.findings.surrogate(id)?;
        let network = &*self.network;
        let (u, y) = (network.read_inputs(id, self.time), &network.outputs()[network.graph.outputs_of(id)]);
        let watched = y.iter().copied().take(matrices.outputs()).collect();
        let drive = rates.clone().filter(|_| !has_filters(&network.graph, id)).map(|rates| Drive {
            states: minus(&matrices.b, rates, &u),
            outputs: minus(&matrices.d, watched, &u),
        });
        Some(LinearPart {
            matrices: matrices.clone(),
            solver: SolverConfig::Exact {},
            is_exact: false,
            drive,
            reads_stale: *reads_stale,
        })
    }

    /// The matrices of one subsystem with its filters where it stands, and whether it is exactly that. The run is left as it
    /// was.
    pub(crate) fn linear_model(&mut self, id: SubsystemId) -> Result<(StateSpace, bool)> {
        let (u, step) = (self.network.read_inputs(id, self.time), self.step);
        let Network { graph, slots, .. } = &mut *self.network;
        let slot = &mut slots[id];
        if let Some(matrices) = slot.subsystem.linear() {
            return Ok((matrices, true));
        }
        let found = slot.subsystem.linearize(&u).map_err(|source| failed(graph, slot, step, source))?;
        let Some(found) = found else {
            let lack = slot.subsystem.lack_of_model();
            let mut reason = lack.unwrap_or_else(|| "has no matrices and gives no derivatives".into());
            if let Some(found) = self.findings.lack(id) {
                let _ = write!(reason, "; probing gave no model either: {found}");
            }
            return Err(Error::Unsupported {
                what: "a linear model".into(),
                reason: format!("`{}` {reason}", self.network.graph.name(id)),
            }
            .into());
        };
        Ok((found, false))
    }

    /// What [`Workbench::linear_part`] is if parameters have these values. The run is left as it was.
    pub fn linear_part_under(&mut self, id: SubsystemId, values: &[(usize, f64)]) -> Result<LinearPart> {
        if self.identified(id).is_some() {
            return Err(Error::Unsupported {
                what: "a linear model".into(),
                reason: format!(
                    "`{}` has a model from probing with its current parameters",
                    self.network.graph.name(id)
                ),
            }
            .into());
        }
        let mut before = Snapshot::default();
        let is_saved = self.network.subsystem_mut(id).save(&mut before).is_ok();
        let old = values.iter().map(|(index, _)| Ok((*index, self.parameter(id, *index)?)));
        let old: Vec<(usize, f64)> = old.collect::<Result<_>>()?;
        let part = self.set_all(id, values).and_then(|()| self.linear_part(id));
        let back = self.set_all(id, &old);
        if is_saved {
            self.network.subsystem_mut(id).restore(&before)?;
        }
        back?;
        part
    }

    fn set_all(&mut self, id: SubsystemId, values: &[(usize, f64)]) -> Result<()> {
        let subsystem = self.network.subsystem_mut(id);
        let parameter = |index: usize| VariableId { kind: VariableKind::Parameter, index };
        values.iter().try_for_each(|(index, value)| subsystem.set(parameter(*index), *value))
    }
}

fn has_filters(graph: &SystemGraph, id: SubsystemId) -> bool {
    graph.ports(id).outputs.iter().any(|variable| variable.filtered.is_some())
}

/// What moves a subsystem where it stands: f = x' - B u and g = y - D u, with states counted from there.
fn drive(slot: &mut Slot, found: &StateSpace, u: &[f64], y: &[f64]) -> Result<Option<Drive>> {
    let mut rates = vec![0.0; found.states()];
    if !slot.subsystem.state_rates(u, &mut rates)? {
        let mut of_outputs = vec![0.0; found.outputs()];
        // Outputs tell how fast states change if they tell the states apart.
        let tells = rank(&found.c, default_cutoff(&found.c)).is_ok_and(|rank| rank == found.states());
        if !tells || !slot.subsystem.rates(u, &mut of_outputs)? {
            return Ok(None);
        }
        let failed = |source| Error::Linalg { what: "rates of states".into(), source };
        rates = pinv(&found.c, default_cutoff(&found.c)).map_err(failed)?.mul_vec(&of_outputs);
    }
    Ok(Some(Drive { states: minus(&found.b, rates, u), outputs: minus(&found.d, y.to_vec(), u) }))
}

/// What is left of a list without the part of the inputs.
fn minus(of: &Matrix, mut list: Vec<f64>, u: &[f64]) -> Vec<f64> {
    list.iter_mut().zip(of.mul_vec(u)).for_each(|(x, part)| *x -= part);
    list
}
