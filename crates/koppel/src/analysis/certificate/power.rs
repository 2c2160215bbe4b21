//! Power that connections create or lose (see [`crate::system::Bond`]).

use crate::run::Run;
use crate::system::{Bond, SystemGraph};
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

/// What has passed one bond so far.
struct Passed {
    bond: Bond,
    energy: f64,
    residual: f64,
    net: f64,
}

/// All bonds of a system.
pub(super) struct Bonds(Vec<Passed>);

impl Bonds {
    pub(super) fn new(graph: &SystemGraph) -> Self {
        let one = |bond| Passed { bond, energy: 0.0, residual: 0.0, net: 0.0 };
        Bonds(Bond::all(graph).into_iter().map(one).collect())
    }

    /// Notes the step that was just made.
    pub(super) fn note(&mut self, run: &Run, size: f64) {
        for Passed { bond, energy, residual, net } in &mut self.0 {
            let (gives, takes) = bond.powers(run.network().outputs(), run.network().applied());
            *energy += size * gives.abs().max(takes.abs());
            *residual += size * (takes - gives).abs();
            *net += size * (takes - gives);
        }
    }

    pub(super) fn reports(&self, graph: &SystemGraph) -> Vec<BondReport> {
        let report = |passed: &Passed| BondReport {
            forth: graph.connection_name(passed.bond.forth.target),
            back: graph.connection_name(passed.bond.back.target),
            energy: passed.energy,
            residual: passed.residual,
            net: passed.net,
        };
        self.0.iter().map(report).collect()
    }
}
