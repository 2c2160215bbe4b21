//! Power bonds: two connections that run against each other and carry an effort and a flow.
//!
//! What A gives is y_A u_A, what B takes u_B y_B; with ideal coupling, u_B = y_A and u_A = y_B, they are equal. With
//! predicted inputs their difference is the residual power (Sadjina et al. 2017): created or lost in the connection.

use super::graph::{SubsystemId, SystemGraph, Wire};
use crate::unit::Unit;

/// Two wires whose outputs make power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bond {
    pub(crate) forth: Wire,
    pub(crate) back: Wire,
    /// From the product of both outputs to W.
    factor: f64,
}

impl Bond {
    /// All bonds of a system: declared by a terminal of one of both subsystems, or found by units.
    pub(crate) fn all(graph: &SystemGraph) -> Vec<Bond> {
        let mut bonds = Vec::new();
        for forth in graph.wires() {
            let to = graph.subsystem_of_input(forth.target);
            let backwards = graph.wires_from(to).iter().map(|number| graph.wires()[*number]);
            for back in backwards
                .filter(|back| forth.from < to && graph.subsystem_of_input(back.target) == forth.from)
            {
                let is_declared = is_declared(graph, forth.from, forth.source, back.target)
                    || is_declared(graph, to, back.source, forth.target);
                let factor = if is_declared { Some(1.0) } else { watts(graph, forth, &back) };
                if let Some(factor) = factor.filter(|_| is_plain(graph, forth, &back)) {
                    bonds.push(Bond { forth: *forth, back, factor });
                }
            }
        }
        bonds
    }

    /// Power given and power taken, in W, with all outputs and what all inputs were given.
    #[inline]
    pub(crate) fn powers(&self, outputs: &[f64], given: &[f64]) -> (f64, f64) {
        // Both in the units of the outputs; the sign of a gain is a convention of the ports.
        let Bond { forth, back, factor } = self;
        let gives = factor * outputs[forth.source] * given[back.target] / back.gain;
        let takes = factor * given[forth.target] / forth.gain * outputs[back.source];
        (gives, takes)
    }
}

/// True if a terminal of a subsystem says that this output and this input of it make power.
fn is_declared(graph: &SystemGraph, id: SubsystemId, output: usize, input: usize) -> bool {
    let (output, input) = (&graph.output_variable(output).name, &graph.input_variable(input).name);
    let bonds = graph.ports(id).terminals.iter().filter_map(|terminal| terminal.power_bond());
    bonds.into_iter().any(|bond| {
        (bond.effort == output && bond.flow == input) || (bond.effort == input && bond.flow == output)
    })
}

/// One wire per input, without offsets of units.
fn is_plain(graph: &SystemGraph, forth: &Wire, back: &Wire) -> bool {
    let has_one_way = graph.wires_into(forth.target).len() == 1 && graph.wires_into(back.target).len() == 1;
    has_one_way && forth.gain != 0.0 && back.gain != 0.0
}

/// The factor to W if the product of two outputs is a power.
fn watts(graph: &SystemGraph, forth: &Wire, back: &Wire) -> Option<f64> {
    let unit = |wire: &Wire| Unit::parse(graph.output_variable(wire.source).unit.as_deref()?).ok();
    let (a, b) = (unit(forth)?, unit(back)?);
    let watt = Unit::parse("W").ok()?;
    // An angle has no dimension of its own here: N m times rad/s is W.
    let same = (0..a.exponents.len() - 1).all(|i| a.exponents[i] + b.exponents[i] == watt.exponents[i]);
    (same && a.offset == 0.0 && b.offset == 0.0).then_some(a.factor * b.factor)
}
