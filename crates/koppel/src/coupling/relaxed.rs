//! Relaxed hold: a first-order filter on every arrival.
//!
//!   w^k = α w^{k-1} + (1 - α) (L y)^k,     û = w^k
//!
//! | symbol | meaning                        | here      |
//! | w      | value the input had last       | `applied` |
//! | α      | 0 is ZOH, towards 1 is slower  | `alpha`   |
//!
//! Glumac & Kovacic 2018, (45), there called NEPCE.

use super::harmonic::Harmonic;
use super::method::{Method, MethodInfo, Search, SettingInfo, rounded};
use super::{Coupling, CouplingConfig, Hold, Needs, Polynomials, View, Work, terms_of, write_value};
use crate::error::{Result, bad};
use crate::linalg::Complex;
use crate::system::InputId;
use serde::{Deserialize, Serialize};

/// The method.
pub(super) static RELAXED: MethodInfo = MethodInfo {
    settings: &[SettingInfo {
        name: "alpha",
        line: "in [0, 1): 0 is `zoh`, towards 1 is slower",
        default: "0.5",
        search: Some(Search { values: "0.01, 0.02, ... 0.99", count: 99, coarse: (9, 10) }),
    }],
    order: "1",
    only_extrapolates: true,
    changes_step: Some(""),
    candidates: Vec::new,
    ..MethodInfo::new::<RelaxedConfig>("relaxed", "relaxed hold: w = alpha w + (1 - alpha) L y")
};

/// Settings of the relaxed hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RelaxedConfig {
    /// α in [0, 1): 0 is ZOH.
    pub alpha: f64,
}

impl Default for RelaxedConfig {
    fn default() -> Self {
        RelaxedConfig { alpha: 0.5 }
    }
}

impl Method for RelaxedConfig {
    fn info(&self) -> &'static MethodInfo {
        &RELAXED
    }

    fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        if !(0.0..1.0).contains(&self.alpha) {
            return Err(bad("relaxed.alpha", self.alpha, "must lie in [0, 1)"));
        }
        Ok(Box::new(RelaxedHold { alpha: self.alpha, size: f64::INFINITY, hold }))
    }

    fn takes_hold(&self) -> bool {
        true
    }

    /// (1 - α)/(1 - α e^{-x}) times what is held.
    fn transfer(&self, signal: &Harmonic) -> Result<Option<Complex>> {
        let alpha = self.alpha;
        Ok(Some(signal.held() * (1.0 - alpha) / (Complex::ONE - signal.delay() * alpha)))
    }

    /// Levels of α lie inside (0, 1).
    fn at_level(&self, level: usize) -> Option<CouplingConfig> {
        Some(RelaxedConfig { alpha: rounded((level + 1) as f64 / 100.0) }.into())
    }
}

/// The filter.
#[derive(Clone, Copy, Debug)]
struct RelaxedHold {
    /// α in [0, 1).
    alpha: f64,
    /// The run's communication step H; another length counts as that many of it: α^(length/H).
    size: f64,
    /// Shape over the step.
    hold: Hold,
}

impl Coupling for RelaxedHold {
    fn needs(&self) -> Needs {
        Needs { depth: 1, terms: terms_of(self.hold), work: Work::Input, ..Needs::default() }
    }

    fn start(&mut self, view: &View<'_>, _inputs: &[InputId]) -> Result<()> {
        self.size = view.step.size;
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let is_other = view.step.size != self.size;
        let alpha = if is_other { self.alpha.powf(view.step.size / self.size) } else { self.alpha };
        for &id in inputs {
            let value = alpha * view.applied[id] + (1.0 - alpha) * view.arrival(id);
            write_value(self.hold, view, id, value, out.of(id));
        }
        Ok(())
    }
}
