//! The workbench: what subsystems are, where they stand. Linear models, feed-through, identification by excitation.
//!
//! | file              | what                                                                         |
//! | ----------------- | ---------------------------------------------------------------------------- |
//! | `mod.rs`          | [`Workbench`]: asks one subsystem of a network                                |
//! | `linear_part.rs`  | what a subsystem is to first order, also under other parameters              |
//! | `feed_through.rs` | how outputs follow inputs at once                                            |
//! | `excitation.rs`   | all subsystems, each alone, excited where it stands                          |
//! | `probing.rs`      | the same for a coupling that asks for it, before a run                       |
//! | `surrogates.rs`   | the same for subsystems without a linear model, for forecasts                |

mod excitation;
mod feed_through;
mod linear_part;
mod preparation;
mod probe_report;
mod probing;
mod surrogates;

pub use feed_through::{FeedThrough, Source};
pub use preparation::{Copies, Preparation};
pub use probe_report::{Pole, PortRange, ProbeReport};
pub(crate) use probing::probe;
pub(crate) use surrogates::Findings;
pub use surrogates::{Identified, NotProbed};

use crate::error::Result;
use crate::network::{Network, failed};
use crate::signal::Step;
use crate::system::{SubsystemId, VariableId, VariableKind};

/// Subsystems of a run, where they stand. Whatever is asked leaves the run as it was.
pub struct Workbench<'a> {
    network: &'a mut Network,
    findings: &'a mut Findings,
    time: f64,
    /// The step that is due, or the last one.
    step: Step,
}

impl<'a> Workbench<'a> {
    pub(crate) fn new(network: &'a mut Network, findings: &'a mut Findings, time: f64, step: Step) -> Self {
        Workbench { network, findings, time, step }
    }

    /// D of one subsystem, with the inputs its outputs were last read with.
    pub fn feed_through(&mut self, id: SubsystemId) -> Result<FeedThrough> {
        feed_through::feed_through(self.network, id, self.time, self.step)
    }

    /// The value of a parameter, by its place among the parameters of a subsystem.
    pub fn parameter(&mut self, id: SubsystemId, index: usize) -> Result<f64> {
        let value = self.network.subsystem_mut(id).get(VariableId { kind: VariableKind::Parameter, index });
        value.map_err(|source| failed(&self.network.graph, &self.network.slots[id], self.step, source))
    }

    /// Where the linear model of a subsystem comes from; nothing if that is its equations.
    pub fn model_source(&self, id: SubsystemId) -> Option<String> {
        self.network.subsystem(id).model_source()
    }

    /// How the model of a subsystem was found, if by exciting it.
    pub fn identified(&self, id: SubsystemId) -> Option<&Identified> {
        self.findings.identified(id)
    }
}
