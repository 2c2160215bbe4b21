//! How the outputs of a loop follow each other, by derivatives its members know.
//!
//!   M = D L,     G = M_tt + M_tr (I - M_rr)⁻¹ M_rt                                                (1)
//!
//! | symbol | meaning                                                                   |
//! | D      | feed-through of the members                                               |
//! | L      | connections between them                                                  |
//! | t, r   | outputs that are guessed (torn), and the rest, which follows from them     |
//! | G      | ∂g/∂z of g(z), what the members make of the guess z                        |
//!
//! Derivatives are known of linear models and of FMUs whose directional derivatives have stood their test. With one member that knows
//! none, or a table on the way, there are none of the loop.

use super::Instant;
use crate::error::{Error, Result};
use crate::linalg::{Lu, Matrix};
use crate::system::{OutputId, SubsystemId, SystemGraph};

pub(super) struct LoopDerivatives {
    members: Vec<SubsystemId>,
    /// Outputs of the loop: those that are guessed, then the rest.
    outputs: Vec<OutputId>,
    guessed: usize,
    /// Wires inside the loop: receiver (place among members) and its input, source (place among outputs), gain.
    wires: Vec<(usize, usize, usize, f64)>,
    /// Owner of each output (place among members) and its number there.
    owners: Vec<(usize, usize)>,
    has_tables: bool,
    /// D of each member.
    feed_through: Vec<Matrix>,
    /// M.
    whole: Matrix,
    /// I - M_rr.
    rest: Matrix,
    lu: Lu,
    column: Vec<f64>,
    /// G.
    found: Matrix,
}

impl LoopDerivatives {
    /// Of a loop of these outputs, of which some are guessed.
    pub(super) fn new(graph: &SystemGraph, all: &[OutputId], guessed: &[OutputId]) -> Self {
        let rest = all.iter().filter(|output| !guessed.contains(output));
        let outputs: Vec<OutputId> = guessed.iter().chain(rest).copied().collect();
        let mut members: Vec<SubsystemId> = outputs.iter().map(|o| graph.subsystem_of_output(*o)).collect();
        members.sort_unstable();
        members.dedup();
        let member = |id: SubsystemId| members.binary_search(&id).ok();
        let own = |output: OutputId| {
            let id = graph.subsystem_of_output(output);
            (member(id).unwrap_or(0), output - graph.outputs_of(id).start)
        };
        let inner = graph.wires().iter().filter_map(|wire| {
            let id = graph.subsystem_of_input(wire.target);
            let source = outputs.iter().position(|output| *output == wire.source)?;
            Some((member(id)?, wire.target - graph.inputs_of(id).start, source, wire.gain, wire.target))
        });
        let inner: Vec<_> = inner.collect();
        let (count, guessed) = (outputs.len(), guessed.len());
        LoopDerivatives {
            has_tables: inner.iter().any(|(.., target)| graph.map(*target).is_some()),
            wires: inner
                .into_iter()
                .map(|(member, input, source, gain, _)| (member, input, source, gain))
                .collect(),
            owners: outputs.iter().map(|output| own(*output)).collect(),
            feed_through: members.iter().map(|_| Matrix::default()).collect(),
            whole: Matrix::zeros(count, count),
            rest: Matrix::zeros(count - guessed, count - guessed),
            lu: Lu::default(),
            column: vec![0.0; count - guessed],
            found: Matrix::zeros(guessed, guessed),
            members,
            outputs,
            guessed,
        }
    }

    /// G with the inputs that have arrived, if all members know their derivatives.
    pub(super) fn at(&mut self, now: &mut Instant<'_>) -> Result<Option<&Matrix>> {
        if self.has_tables {
            return Ok(None);
        }
        for (id, matrix) in self.members.iter().zip(&mut self.feed_through) {
            if !now.feed_through(*id, matrix)? {
                return Ok(None);
            }
        }
        self.whole.as_mut_slice().fill(0.0);
        for &(member, input, source, gain) in &self.wires {
            for (place, &(owner, output)) in self.owners.iter().enumerate() {
                if owner == member {
                    self.whole[(place, source)] += self.feed_through[member][(output, input)] * gain;
                }
            }
        }
        Ok(self.reduce().is_some().then_some(&self.found))
    }

    /// Equation (1); nothing if the rest does not follow from what is guessed.
    fn reduce(&mut self) -> Option<()> {
        let (t, n) = (self.guessed, self.outputs.len());
        if n > t {
            for i in 0..n - t {
                for j in 0..n - t {
                    self.rest[(i, j)] = f64::from(u8::from(i == j)) - self.whole[(t + i, t + j)];
                }
            }
            self.lu.refactor(&self.rest).ok()?;
        }
        for j in 0..t {
            for (i, value) in self.column.iter_mut().enumerate() {
                *value = self.whole[(t + i, j)];
            }
            if n > t {
                self.lu.solve_in_place(&mut self.column);
            }
            for i in 0..t {
                let through: f64 =
                    self.column.iter().enumerate().map(|(k, follows)| self.whole[(i, t + k)] * follows).sum();
                self.found[(i, j)] = self.whole[(i, j)] + through;
            }
        }
        Some(())
    }
}

impl Instant<'_> {
    /// Writes D of a subsystem where it stands under the inputs that have arrived; false if it knows no derivatives.
    fn feed_through(&mut self, id: SubsystemId, matrix: &mut Matrix) -> Result<bool> {
        self.gather(id, 0.0);
        let slot = &mut self.slots[id];
        let inputs = &self.inputs[..slot.inputs.len()];
        slot.subsystem.feed_through(inputs, matrix).map_err(|source| {
            let subsystem = self.graph.name(id).into();
            Error::Subsystem { subsystem, time: self.time, source }.into()
        })
    }
}
