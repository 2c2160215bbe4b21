//! Couplings that can be chosen, and what can be chosen about them.

use crate::coupling::{
    CorrectorConfig, CouplingConfig, ErrorEquationConfig, HinfConfig, PrestepConfig, VfpsConfig,
};
use crate::identify::ModelConfig;

/// A method with what can be chosen about it: levels from 0 on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Method {
    /// Its settings but for the level.
    base: CouplingConfig,
}

impl Method {
    /// Names of all that can be searched, those that learn on the way last.
    pub(super) const NAMES: [&'static str; 10] =
        ["zoh", "foh", "soh", "relaxed", "anti-aliasing", "nepce", "corrector", "prestep", "hinf", "vfps"];

    /// A method by its name, with the run's own settings of it if it has any.
    pub(super) fn named(name: &str, own: &CouplingConfig, is_linear: bool) -> Option<Self> {
        let name = Method::NAMES.into_iter().find(|known| *known == name)?;
        let base = parts(own).into_iter().find(|part| part.name() == name);
        let base = base.cloned().unwrap_or_else(|| default(name, is_linear));
        Some(Method { base })
    }

    /// Whether other connections may have other methods.
    pub(super) fn may_mix(&self) -> bool {
        !matches!(self.base, CouplingConfig::Vfps(_))
    }

    /// How many levels it has.
    pub(super) fn levels(&self) -> usize {
        match &self.base {
            CouplingConfig::Relaxed { .. } => 99,
            CouplingConfig::Nepce { .. } | CouplingConfig::Corrector(_) => 20,
            CouplingConfig::AntiAliasing { .. } | CouplingConfig::Prestep(_) => 2,
            CouplingConfig::Hinf(_) => 3,
            _ => 1,
        }
    }

    /// Some of them, for a first look.
    pub(super) fn coarse_levels(&self) -> Vec<usize> {
        match &self.base {
            CouplingConfig::Relaxed { .. } => (9..99).step_by(10).collect(),
            CouplingConfig::Nepce { .. } | CouplingConfig::Corrector(_) => vec![0, 10],
            _ => (0..self.levels()).collect(),
        }
    }

    /// The settings at a level.
    pub(super) fn coupling(&self, level: usize) -> CouplingConfig {
        let count = self.levels();
        let level = level.min(count - 1);
        // Levels of a gain up to 1, the whole of it first; those of α lie inside (0, 1).
        let gain = || rounded((count - level) as f64 / count as f64);
        match self.base.clone() {
            CouplingConfig::Relaxed { .. } => {
                CouplingConfig::Relaxed { alpha: rounded((level + 1) as f64 / (count + 1) as f64) }
            }
            CouplingConfig::AntiAliasing { .. } => CouplingConfig::AntiAliasing { order: level },
            CouplingConfig::Nepce { against, anti_aliasing, .. } => {
                CouplingConfig::Nepce { gain: gain(), against, anti_aliasing }
            }
            CouplingConfig::Corrector(base) => {
                CouplingConfig::Corrector(CorrectorConfig { gain: gain(), ..base })
            }
            CouplingConfig::Prestep(base) => CouplingConfig::Prestep(PrestepConfig {
                error_equation: [ErrorEquationConfig::Off, ErrorEquationConfig::Carried][level],
                ..base
            }),
            CouplingConfig::Hinf(base) => {
                CouplingConfig::Hinf(HinfConfig { weight_order: level + 1, ..base })
            }
            other => other,
        }
    }
}

/// The methods of a coupling, each once.
fn parts(coupling: &CouplingConfig) -> Vec<&CouplingConfig> {
    let CouplingConfig::Mixed { default, connections } = coupling else { return vec![coupling] };
    let mut all = vec![&**default];
    for one in connections.values().filter(|one| **one != **default) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

fn default(name: &str, is_linear: bool) -> CouplingConfig {
    let model = if is_linear { ModelConfig::Exact } else { ModelConfig::Derivatives };
    match name {
        "foh" => CouplingConfig::Foh { start: Default::default() },
        "soh" => CouplingConfig::Soh { start: Default::default() },
        "relaxed" => CouplingConfig::Relaxed { alpha: 0.5 },
        "anti-aliasing" => CouplingConfig::AntiAliasing { order: 0 },
        "nepce" => CouplingConfig::Nepce { gain: 1.0, against: Default::default(), anti_aliasing: false },
        "corrector" => CouplingConfig::Corrector(CorrectorConfig { model, ..CorrectorConfig::default() }),
        "prestep" => CouplingConfig::Prestep(PrestepConfig { model, ..PrestepConfig::default() }),
        "hinf" => CouplingConfig::Hinf(HinfConfig::default()),
        "vfps" => CouplingConfig::Vfps(VfpsConfig::default()),
        _ => CouplingConfig::Zoh {},
    }
}

/// To two decimals, as it is written.
fn rounded(part: f64) -> f64 {
    (100.0 * part).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_all_different_and_lie_where_the_method_allows() {
        for name in Method::NAMES {
            let method = Method::named(name, &CouplingConfig::Zoh {}, true).unwrap();
            let all: Vec<_> = (0..method.levels()).map(|level| method.coupling(level)).collect();
            for (at, one) in all.iter().enumerate() {
                assert_eq!(one.name(), name);
                assert!(!all[..at].contains(one), "{one:?}");
            }
            assert!(method.coarse_levels().iter().all(|level| *level < all.len()));
        }
        assert!(Method::named("mixed", &CouplingConfig::Zoh {}, true).is_none());
    }

    #[test]
    fn the_runs_own_settings_of_a_method_are_kept() {
        let own = CouplingConfig::Hinf(HinfConfig { samples: 20, ..HinfConfig::default() });
        let mixed = CouplingConfig::Mixed {
            default: Box::default(),
            connections: [("a.u".to_owned(), own.clone()), ("b.u".to_owned(), own)].into(),
        };
        let method = Method::named("hinf", &mixed, true).unwrap();
        let CouplingConfig::Hinf(found) = method.coupling(1) else { panic!("{method:?}") };
        assert_eq!((found.samples, found.weight_order), (20, 2));
    }
}
