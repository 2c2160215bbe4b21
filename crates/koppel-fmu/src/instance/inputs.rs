//! The inputs of an instance over the step to come.

use crate::interface::{Interface, Role};
use crate::polynomial::{NODES, Polynomial};
use std::ops::{Deref, DerefMut};

/// What the importer has given.
pub(crate) struct Inputs {
    polynomials: Vec<Polynomial>,
    /// Values seen inside the step.
    nodes: Vec<[f64; NODES]>,
}

impl Inputs {
    /// Their start values.
    pub(super) fn at_start(interface: &Interface) -> Inputs {
        let inputs = interface.variables.iter().filter(|variable| matches!(variable.role, Role::Input(_)));
        let polynomials: Vec<_> = inputs.map(|variable| Polynomial::constant(variable.start)).collect();
        Inputs { nodes: vec![[0.0; NODES]; polynomials.len()], polynomials }
    }

    /// Notes the values as the importer gives them at point `k` of the step to come.
    pub(crate) fn note_node(&mut self, k: usize) {
        for (node, input) in self.nodes.iter_mut().zip(&self.polynomials) {
            node[k] = input.now();
        }
    }

    /// Takes the values noted as those of the step to come.
    pub(crate) fn take_nodes(&mut self, size: f64) {
        for (node, input) in self.nodes.iter().zip(&mut self.polynomials) {
            *input = Polynomial::through(*node, size);
        }
    }

    /// After a step: the values it ended with.
    pub(super) fn hold_at(&mut self, end: f64) {
        for input in &mut self.polynomials {
            *input = Polynomial::constant(input.value(end));
        }
    }
}

impl Deref for Inputs {
    type Target = [Polynomial];

    fn deref(&self) -> &[Polynomial] {
        &self.polynomials
    }
}

impl DerefMut for Inputs {
    fn deref_mut(&mut self) -> &mut [Polynomial] {
        &mut self.polynomials
    }
}
