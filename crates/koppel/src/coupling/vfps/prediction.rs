//! The coupled prediction of the nodes ahead, and the inputs that follow from it.
//!
//!   ŷ_j = (I - b_0 L)⁻¹ r_j,     u_j = L ŷ_j + s + e_j
//!
//! Where it makes no sense, the experts behind it are replaced by ever simpler ones.

use super::member::Member;
use super::{Vfps, View};
use crate::linalg::Matrix;
use crate::system::SubsystemId;

/// Why a prediction is of no use.
pub(super) enum Refused {
    Singular,
    /// The outputs of a subsystem go where they have never been.
    RunsAway(SubsystemId),
}

impl Vfps {
    /// (2) with the selected experts.
    pub(super) fn predict(&mut self, view: &View<'_>) -> Result<(), Refused> {
        let Vfps { members, matrix, lu, right, .. } = self;
        fill_matrix(members, matrix);
        if lu.refactor(matrix).is_err() {
            return Err(Refused::Singular);
        }
        let tau = self.size / self.parts as f64;
        let wanted = (view.step.size / tau - 1e-9).ceil() as usize;
        for node in 1..=wanted.min(self.parts) {
            let time = view.step.start + node as f64 * tau;
            for member in members.iter_mut() {
                member.set_known(view, node, time);
                member.right(node, &mut right[member.outputs.clone()]);
            }
            lu.solve_in_place(right);
            for (id, member) in members.iter_mut().enumerate() {
                member.set_node(node, right);
                if member.has_run_away(node) {
                    return Err(Refused::RunsAway(id));
                }
            }
        }
        Ok(())
    }

    /// Predicts with ever simpler experts until the prediction makes sense; false if none does.
    pub(super) fn predict_somehow(&mut self, view: &View<'_>) -> bool {
        for _ in 0..=2 * self.members.len() {
            match self.predict(view) {
                Ok(()) => return true,
                Err(Refused::RunsAway(id)) if self.members[id].pool.simplify() => {}
                Err(_) => {
                    if !self.members.iter_mut().fold(false, |any, member| member.pool.simplify() | any) {
                        return false;
                    }
                }
            }
        }
        false
    }

    /// Writes the nodes of the inputs it fills.
    pub(super) fn plan(&mut self, view: &View<'_>) {
        let m = self.parts;
        let stretch = view.step.size / self.size;
        let mut at = 0;
        for member in &self.members {
            for k in member.owned() {
                let nodes = &mut self.nodes[at * (m + 1)..][..=m];
                nodes[0] = view.applied[member.inputs[k]];
                for j in 1..=m {
                    // A shorter step has its nodes between those of the models.
                    let place = j as f64 * stretch;
                    let before = (place + 1e-9).floor().min(m as f64);
                    let (a, share) = (before as usize, (place - before).max(0.0));
                    let of = |node: usize| if node == 0 { nodes[0] } else { member.planned(k, node) };
                    nodes[j] = if share < 1e-6 { of(a) } else { of(a) * (1.0 - share) + of(a + 1) * share };
                }
                at += 1;
            }
        }
    }

    /// Inputs that go to what has arrived.
    pub(super) fn plan_arrivals(&mut self, view: &View<'_>) {
        for (input, nodes) in self.inputs.iter().zip(self.nodes.chunks_exact_mut(self.parts + 1)) {
            nodes.fill(view.arrival(*input));
            nodes[0] = view.applied[*input];
        }
    }
}

/// I - b_0 L.
fn fill_matrix(members: &[Member], matrix: &mut Matrix) {
    matrix.as_mut_slice().fill(0.0);
    for member in members {
        for (row, output) in member.outputs.clone().enumerate() {
            matrix[(output, output)] += 1.0;
            for wire in member.wires.iter().filter(|_| member.defect.is_coupled()) {
                matrix[(output, wire.source)] -= member.pool.expert().direct(row, wire.input) * wire.gain;
            }
        }
    }
}
