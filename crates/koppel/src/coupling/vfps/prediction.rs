//! The coupled prediction of the nodes ahead, and the inputs that follow from it.
//!
//!   ŷ_j = (I - b_0 L)⁻¹ r_j,     u_j = L ŷ_j + s + e_j
//!
//! Where it makes no sense, the experts behind it are replaced by ever simpler ones.

use super::View;
use super::member::Member;
use crate::identify::Probed;
use crate::linalg::{Lu, Matrix};
use crate::system::{InputId, SubsystemId};

/// Why a prediction is of no use.
pub(super) enum Refused {
    Singular,
    /// The outputs of a subsystem go where they have never been.
    RunsAway(SubsystemId),
}

/// The subsystems and what is predicted for them.
#[derive(Default)]
pub(super) struct Prediction {
    pub(super) members: Vec<Member>,
    /// Parts of a step.
    pub(super) parts: usize,
    /// The communication step the models are made for.
    pub(super) size: f64,
    /// Inputs it fills, in ascending order.
    inputs: Vec<InputId>,
    /// What they are given at nodes 0..=m of the step ahead, without external signals: input by input.
    pub(super) nodes: Vec<f64>,
    /// I - b_0 L, and r_j.
    matrix: Matrix,
    lu: Lu,
    right: Vec<f64>,
}

impl Prediction {
    pub(super) fn new(parts: usize) -> Self {
        Prediction { parts, ..Prediction::default() }
    }

    /// Starts with these models, to fill these inputs.
    pub(super) fn build(&mut self, view: &View<'_>, probed: &[Probed], inputs: &[InputId]) {
        self.size = view.step.size;
        self.inputs = inputs.to_vec();
        let member = |(id, probed)| Member::new(view, id, probed, inputs, self.parts);
        self.members = probed.iter().enumerate().map(member).collect();
        let ranges = self.ranges();
        self.members.iter_mut().for_each(|member| member.connect(view, &ranges));
        let outputs = view.graph.outputs();
        self.nodes = vec![0.0; inputs.len() * (self.parts + 1)];
        self.matrix = Matrix::identity(outputs);
        self.lu = Lu::default();
        // Room for the factors, whatever the models.
        let _ = self.lu.refactor(&self.matrix);
        self.right = vec![0.0; outputs];
    }

    /// Ranges of all outputs.
    pub(super) fn ranges(&self) -> Vec<f64> {
        self.members.iter().flat_map(Member::output_ranges).copied().collect()
    }

    /// True for steps of the size the models are made for.
    pub(super) fn is_whole(&self, size: f64) -> bool {
        (size - self.size).abs() <= 1e-9 * self.size
    }

    /// What an input is given at the nodes of the step ahead; nothing if it is not filled.
    pub(super) fn nodes_of(&self, input: InputId) -> Option<&[f64]> {
        let at = self.inputs.binary_search(&input).ok()?;
        Some(&self.nodes[at * (self.parts + 1)..][..=self.parts])
    }

    /// Plans the inputs of the step ahead.
    pub(super) fn plan(&mut self, view: &View<'_>) {
        if self.predict_somehow(view) { self.plan_predicted(view) } else { self.plan_arrivals(view) }
    }

    /// (2) with the selected experts.
    pub(super) fn predict(&mut self, view: &View<'_>) -> Result<(), Refused> {
        let Prediction { members, matrix, lu, right, .. } = self;
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
    fn predict_somehow(&mut self, view: &View<'_>) -> bool {
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
    fn plan_predicted(&mut self, view: &View<'_>) {
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
    fn plan_arrivals(&mut self, view: &View<'_>) {
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
