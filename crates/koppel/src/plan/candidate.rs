//! One way to run a system.

use crate::coupling::{CouplingConfig, ErrorEquationConfig};
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
        format!("{}, {}", coupling_words(&self.coupling), self.schedule.words())
    }
}

/// `zoh`; of a mixed one all its methods, each once: `prestep + zoh`.
fn coupling_words(coupling: &CouplingConfig) -> String {
    let (default, connections) = match coupling {
        CouplingConfig::Mixed { default, connections } => (default, connections),
        CouplingConfig::Prestep(own) if own.error_equation != ErrorEquationConfig::Off => {
            return "prestep with error equation".into();
        }
        other => return other.name().into(),
    };
    let mut names = vec![coupling_words(default)];
    for name in connections.values().map(coupling_words) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_changes_its_own_settings_and_no_others() {
        let config = RunConfig { record_every: 7, ..RunConfig::new(2.0, 0.1) };
        let foh = CouplingConfig::Foh { start: Default::default() };
        let candidate =
            Candidate { coupling: foh, schedule: ScheduleConfig::SEQUENCE, ..Candidate::of(&config) }.at(0.2);
        let changed = candidate.on(&config);
        assert_eq!(Candidate::of(&changed), candidate);
        assert_eq!((changed.stop, changed.record_every), (2.0, 7));
        assert_eq!(candidate.words(), "foh, sequence, 0.2 s");
    }

    #[test]
    fn mixed_couplings_are_told_by_their_methods() {
        let zoh = CouplingConfig::Zoh {};
        let connections = [("a.u", zoh.clone()), ("b.u", CouplingConfig::Prestep(Default::default()))]
            .map(|(input, c)| (input.into(), c));
        let mixed = CouplingConfig::Mixed { default: Box::new(zoh), connections: connections.into() };
        let config = RunConfig { coupling: mixed, ..RunConfig::new(1.0, 0.1) };
        assert_eq!(Candidate::of(&config).method(), "zoh + prestep, parallel");
    }
}
