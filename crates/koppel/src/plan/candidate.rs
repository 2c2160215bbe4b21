//! One way to run a system.

use crate::coupling::CouplingConfig;
use crate::run::{RunConfig, ScheduleConfig};
use serde::Serialize;
use std::collections::BTreeMap;

/// What may be chosen about a run: everything else stays as its settings say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The macro step, in s.
    pub step: f64,
    /// How inputs are predicted; [`CouplingConfig::Mixed`] where connections differ.
    pub coupling: CouplingConfig,
    /// Who moves when: order and groups.
    pub schedule: ScheduleConfig,
    /// Subsystems that move every n-th step only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub every: BTreeMap<String, u32>,
}

impl Candidate {
    /// What these settings choose.
    pub fn of(config: &RunConfig) -> Self {
        Candidate {
            step: config.step,
            coupling: config.coupling.clone(),
            schedule: config.schedule.clone(),
            every: config.every.clone(),
        }
    }

    /// The settings with this choice in them.
    pub fn on(&self, config: &RunConfig) -> RunConfig {
        RunConfig {
            step: self.step,
            coupling: self.coupling.clone(),
            schedule: self.schedule.clone(),
            every: self.every.clone(),
            ..config.clone()
        }
    }

    /// The same at another step.
    pub fn at(&self, step: f64) -> Self {
        Candidate { step, ..self.clone() }
    }

    /// In a few words: `prestep, parallel, 0.04 s`.
    pub fn words(&self) -> String {
        format!("{}, {} s", self.method(), self.step)
    }

    /// The coupling and the schedule: `foh, sequence`.
    pub fn method(&self) -> String {
        format!("{}, {}", self.coupling.words(), self.schedule.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::PrestepConfig;

    #[test]
    fn a_candidate_changes_its_own_settings_and_no_others() {
        let config = RunConfig { record_every: 7, ..RunConfig::new(2.0, 0.1) };
        let foh = CouplingConfig::foh(Default::default());
        let candidate =
            Candidate { coupling: foh, schedule: ScheduleConfig::SEQUENCE, ..Candidate::of(&config) }.at(0.2);
        let changed = candidate.on(&config);
        assert_eq!(Candidate::of(&changed), candidate);
        assert_eq!((changed.stop, changed.record_every), (2.0, 7));
        assert_eq!(candidate.words(), "foh, sequence, 0.2 s");
    }

    #[test]
    fn mixed_couplings_are_named_by_their_methods() {
        let zoh = CouplingConfig::zoh();
        let connections = [("a.u", zoh.clone()), ("b.u", CouplingConfig::from(PrestepConfig::default()))]
            .map(|(input, c)| (input.into(), c));
        let mixed = CouplingConfig::Mixed { default: Box::new(zoh), connections: connections.into() };
        let config = RunConfig { coupling: mixed, ..RunConfig::new(1.0, 0.1) };
        assert_eq!(Candidate::of(&config).method(), "zoh + prestep, parallel");
    }
}
