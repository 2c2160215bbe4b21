//! Power that connections create or lose.
//!
//! Two subsystems that feed each other an effort and a flow exchange power. What A gives is y_A u_A, what B takes u_B y_B;
//! with ideal coupling, u_B = y_A and u_A = y_B, they are equal. With held inputs their difference, the residual power
//! (Sadjina et al. 2017), is created or lost in the connection.

use crate::run::Simulation;
use crate::system::unit::Unit;
use crate::system::{SystemGraph, Wire};
use serde::Serialize;

/// Power between two subsystems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BondReport {
    /// `a.x -> b.u`.
    pub forth: String,
    /// `b.y -> a.v`.
    pub back: String,
    /// Energy that passed, ∫|P| dt, in J.
    pub energy: f64,
    /// Energy that was created or lost, ∫|residual power| dt, in J.
    pub residual: f64,
    /// What was created less what was lost, in J.
    pub net: f64,
}

/// Two wires that run against each other.
struct Bond {
    forth: Wire,
    back: Wire,
    /// To W.
    factor: f64,
    energy: f64,
    residual: f64,
    net: f64,
}

/// All bonds of a system.
pub(super) struct Bonds(Vec<Bond>);

impl Bonds {
    /// Pairs of wires between two subsystems whose units make power.
    pub(super) fn new(graph: &SystemGraph) -> Self {
        let mut bonds = Vec::new();
        for forth in graph.wires() {
            let to = graph.subsystem_of_input(forth.target);
            let pairs = graph.wires_from(to).iter().map(|number| graph.wires()[*number]);
            for back in
                pairs.filter(|back| forth.from < to && graph.subsystem_of_input(back.target) == forth.from)
            {
                if let Some(factor) = watts(graph, forth, &back) {
                    bonds.push(Bond { forth: *forth, back, factor, energy: 0.0, residual: 0.0, net: 0.0 });
                }
            }
        }
        Bonds(bonds)
    }

    /// Notes the step that was just made.
    pub(super) fn note(&mut self, simulation: &Simulation) {
        let (size, y, u) = (simulation.step_size(), simulation.all_outputs(), simulation.applied());
        for bond in &mut self.0 {
            // Both in the units of the outputs; the sign of a gain is a convention of the ports.
            let given = bond.factor * y[bond.forth.source] * u[bond.back.target] / bond.back.gain;
            let taken = bond.factor * u[bond.forth.target] / bond.forth.gain * y[bond.back.source];
            bond.energy += size * given.abs().max(taken.abs());
            bond.residual += size * (taken - given).abs();
            bond.net += size * (taken - given);
        }
    }

    pub(super) fn reports(&self, graph: &SystemGraph) -> Vec<BondReport> {
        let report = |bond: &Bond| BondReport {
            forth: graph.connection_name(bond.forth.target),
            back: graph.connection_name(bond.back.target),
            energy: bond.energy,
            residual: bond.residual,
            net: bond.net,
        };
        self.0.iter().map(report).collect()
    }
}

/// The factor to W if the product of two outputs is a power.
fn watts(graph: &SystemGraph, forth: &Wire, back: &Wire) -> Option<f64> {
    let unit = |wire: &Wire| Unit::parse(graph.output_variable(wire.source).unit.as_deref()?).ok();
    let (a, b) = (unit(forth)?, unit(back)?);
    let watt = Unit::parse("W").ok()?;
    let has_one_way = graph.wires_into(forth.target).len() == 1 && graph.wires_into(back.target).len() == 1;
    // An angle has no dimension of its own here: N m times rad/s is W.
    let same = (0..a.exponents.len() - 1).all(|i| a.exponents[i] + b.exponents[i] == watt.exponents[i]);
    let is_plain = a.offset == 0.0 && b.offset == 0.0 && forth.gain != 0.0 && back.gain != 0.0;
    (same && is_plain && has_one_way).then_some(a.factor * b.factor)
}
