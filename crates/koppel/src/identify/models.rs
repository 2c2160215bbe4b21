//! The interface models of all subsystems of a run.

use super::InterfaceModel;
use crate::error::{Error, Result};
use crate::system::{StateSpace, SubsystemId, SystemGraph};

/// One model per subsystem, if it has one.
#[derive(Clone, Debug, Default)]
pub struct Models {
    list: Vec<InterfaceModel>,
    is_known: Vec<bool>,
    /// States of the matrices that models were made of.
    states: Vec<usize>,
    version: u64,
}

impl Models {
    /// Nothing is known of any subsystem yet.
    pub fn new(graph: &SystemGraph) -> Self {
        let hold = |id| InterfaceModel::hold(graph.inputs_of(id).len(), graph.outputs_of(id).len());
        let list: Vec<_> = (0..graph.len()).map(hold).collect();
        Models { is_known: vec![false; list.len()], states: vec![0; list.len()], list, version: 0 }
    }

    /// The model of a subsystem; one that holds its outputs if nothing is known.
    #[inline]
    pub fn of(&self, id: SubsystemId) -> &InterfaceModel {
        &self.list[id]
    }

    /// False if nothing is known of the subsystem.
    pub fn is_known(&self, id: SubsystemId) -> bool {
        self.is_known[id]
    }

    /// States of a subsystem, if they are more than its outputs show: then its model is a surrogate.
    pub fn hidden_states(&self, id: SubsystemId) -> Option<usize> {
        Some(self.states[id]).filter(|states| *states > self.list[id].outputs())
    }

    /// Changes whenever a matrix does; constants may change without it.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Takes the matrices of a subsystem; c is kept.
    pub(crate) fn set(&mut self, graph: &SystemGraph, id: SubsystemId, matrices: &StateSpace) -> Result<()> {
        let name = graph.name(id);
        let mut model = InterfaceModel::from_state_space(name, matrices)?;
        if !(model.s_y.is_finite() && model.s_u.is_finite() && model.s_d.is_finite()) {
            return Err(Error::Unsupported {
                what: format!("an interface model of `{name}`"),
                reason: "its derivatives are not finite here".into(),
            }
            .into());
        }
        model.constant.copy_from_slice(&self.list[id].constant);
        self.list[id] = model;
        self.is_known[id] = true;
        self.states[id] = matrices.states();
        self.version += 1;
        Ok(())
    }

    /// Takes c as it is given.
    pub(crate) fn set_constant(&mut self, id: SubsystemId, constant: &[f64]) {
        self.list[id].constant.copy_from_slice(constant);
    }

    /// Sets c so that the model is right where the subsystem stands.
    pub(crate) fn pin(&mut self, id: SubsystemId, rates: &[f64], y: &[f64], u: &[f64]) {
        self.list[id].pin(rates, y, u);
    }

    /// Appends everything to `memory`.
    pub(crate) fn save(&self, memory: &mut Vec<f64>) {
        for model in &self.list {
            for matrix in [&model.s_y, &model.s_u, &model.s_d] {
                memory.extend_from_slice(matrix.as_slice());
            }
            memory.extend_from_slice(&model.constant);
        }
    }

    /// Takes back what `save` wrote and returns the rest.
    pub(crate) fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        let mut rest = memory;
        for model in &mut self.list {
            let InterfaceModel { s_y, s_u, s_d, constant, .. } = model;
            for list in [s_y.as_mut_slice(), s_u.as_mut_slice(), s_d.as_mut_slice(), constant] {
                let (mine, others) = rest.split_at(list.len());
                list.copy_from_slice(mine);
                rest = others;
            }
        }
        self.version += 1;
        rest
    }
}
