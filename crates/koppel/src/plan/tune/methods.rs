//! Couplings that can be chosen, and what can be chosen about them.

use crate::coupling::{CouplingConfig, MethodInfo, Search, method};

/// A method with what can be chosen about it: levels from 0 on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Method {
    /// Its settings but for the level.
    base: CouplingConfig,
}

impl Method {
    /// A method by its name, with the run's own settings of it if it has any.
    pub(super) fn named(name: &str, own: &CouplingConfig, is_linear: bool) -> Option<Self> {
        let info = method(name)?;
        let base = parts(own).into_iter().find(|part| part.name() == name);
        Some(Method { base: base.cloned().unwrap_or_else(|| usual(info, is_linear)) })
    }

    /// Whether other connections may have other methods.
    pub(super) fn may_mix(&self) -> bool {
        !self.base.excites()
    }

    fn search(&self) -> Option<Search> {
        method(self.base.name())?.search()
    }

    /// How many levels it has.
    pub(super) fn levels(&self) -> usize {
        self.search().map_or(1, |search| search.count)
    }

    /// Some of them, for a first look.
    pub(super) fn coarse_levels(&self) -> Vec<usize> {
        let (first, distance) = self.search().map_or((0, 1), |search| search.coarse);
        (first..self.levels()).step_by(distance).collect()
    }

    /// The settings at a level.
    pub(super) fn coupling(&self, level: usize) -> CouplingConfig {
        let level = level.min(self.levels() - 1);
        let CouplingConfig::Method(own) = &self.base else { return self.base.clone() };
        own.at_level(level).unwrap_or_else(|| self.base.clone())
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

fn usual(info: &MethodInfo, is_linear: bool) -> CouplingConfig {
    let usual = (info.usual)();
    match &usual {
        CouplingConfig::Method(own) if !is_linear => own.for_nonlinear().unwrap_or_else(|| usual.clone()),
        _ => usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::{HinfConfig, methods};

    #[test]
    fn levels_are_all_different_and_lie_where_the_method_allows() {
        for name in methods().iter().map(|info| info.name) {
            let method = Method::named(name, &CouplingConfig::zoh(), true).unwrap();
            let all: Vec<_> = (0..method.levels()).map(|level| method.coupling(level)).collect();
            for (at, one) in all.iter().enumerate() {
                assert_eq!(one.name(), name);
                assert!(!all[..at].contains(one), "{one:?}");
            }
            assert!(method.coarse_levels().iter().all(|level| *level < all.len()));
        }
        assert!(Method::named("mixed", &CouplingConfig::zoh(), true).is_none());
    }

    #[test]
    fn the_runs_own_settings_of_a_method_are_kept() {
        let own = CouplingConfig::from(HinfConfig { samples: 20, ..HinfConfig::default() });
        let mixed = CouplingConfig::Mixed {
            default: Box::default(),
            connections: [("a.u".to_owned(), own.clone()), ("b.u".to_owned(), own)].into(),
        };
        let method = Method::named("hinf", &mixed, true).unwrap();
        let found = method.coupling(1);
        let found = found.settings::<HinfConfig>().unwrap();
        assert_eq!((found.samples, found.weight_order), (20, 2));
    }
}
