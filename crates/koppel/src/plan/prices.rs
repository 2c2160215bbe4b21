//! What work costs, in seconds of this machine or in calls.
//!
//! A step of a subsystem over H costs a fixed part and one that grows with H, its micro steps:
//!
//!   s(H) = a + b H                                                                                      (1)
//!
//! Both are found from two runs with steps of different size. A coupling costs what a macro step with it takes beyond the
//! steps of the subsystems.

use crate::coupling::CouplingConfig;
use crate::error::Result;
use crate::run::{RunConfig, Simulation};
use std::collections::BTreeMap;
use std::time::Instant;

/// Macro steps that are timed.
const STEPS: u64 = 64;
/// Seconds after which timing ends at the latest.
const PATIENCE: f64 = 0.25;
/// Between the two steps of which (1) is found.
const RATIO: f64 = 4.0;

/// What work costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// a of (1) for each subsystem by its name, in s; one that is not here costs `call`.
    pub calls: BTreeMap<String, f64>,
    /// b of (1), in s per simulated second; nothing for one that is not here.
    pub rates: BTreeMap<String, f64>,
    /// A call of a subsystem of which nothing else is known.
    pub call: f64,
    /// One macro step of a coupling by its method, beside the steps of the subsystems; nothing for one that is not here.
    pub couplings: BTreeMap<String, f64>,
}

impl Default for Prices {
    fn default() -> Self {
        Prices::counted()
    }
}

impl Prices {
    /// Every call of a subsystem costs 1 and all else nothing: the same on every machine.
    pub fn counted() -> Self {
        Prices { calls: BTreeMap::new(), rates: BTreeMap::new(), call: 1.0, couplings: BTreeMap::new() }
    }

    /// Measured on copies of the run, which `start` brings to their beginning with other settings, at this step and at a quarter
    /// of it, with inputs held.
    ///
    /// # Errors
    ///
    /// If no copy can be started, or it fails in its first steps.
    pub fn measured(
        config: &RunConfig,
        start: &mut dyn FnMut(&RunConfig) -> Result<Simulation>,
    ) -> Result<Self> {
        let held = RunConfig { coupling: CouplingConfig::Zoh {}, iteration: None, ..config.clone() };
        let mut at = |step: f64| -> Result<(BTreeMap<String, f64>, f64)> {
            let mut run = start(&RunConfig { step, ..held.clone() })?;
            let seconds = timed(&mut run)?;
            let shares = run.statistics().shares.into_iter();
            Ok((shares.map(|share| (share.subsystem, share.seconds_per_step)).collect(), seconds))
        };
        let (long, whole) = at(config.step)?;
        let (short, _) = at(config.step / RATIO)?;
        let mut prices = Prices { call: 0.0, ..Prices::counted() };
        for (name, seconds) in &long {
            let rate = ((seconds - short[name]) / (config.step * (1.0 - 1.0 / RATIO))).max(0.0);
            prices.rates.insert(name.clone(), rate);
            prices.calls.insert(name.clone(), (seconds - rate * config.step).max(0.0));
        }
        let inside: f64 = long.values().sum();
        prices.couplings.insert("zoh".into(), (whole - inside).max(0.0));
        Ok(prices)
    }

    /// Measures a coupling on a copy of the run that has just begun: what its macro steps take beyond those of the subsystems.
    pub fn add_coupling(&mut self, method: &str, run: &mut Simulation, pieces: f64, step: f64) -> Result<()> {
        let whole = timed(run)?;
        let names = (0..run.graph().len()).map(|id| run.graph().name(id).to_owned()).collect::<Vec<_>>();
        let inside: f64 = names.iter().map(|name| self.steps_of(name, pieces, step)).sum();
        self.couplings.insert(method.to_owned(), (whole - inside).max(0.0));
        Ok(())
    }

    /// A macro step of this size of one subsystem, cut into so many pieces.
    pub fn steps_of(&self, subsystem: &str, pieces: f64, step: f64) -> f64 {
        let call = self.calls.get(subsystem).copied().unwrap_or(self.call);
        let rate = self.rates.get(subsystem).copied().unwrap_or(0.0);
        pieces * call + rate * step
    }

    /// One macro step of a coupling.
    pub fn coupling(&self, coupling: &CouplingConfig) -> f64 {
        let of = |one: &CouplingConfig| self.couplings.get(one.name()).copied().unwrap_or(0.0);
        match coupling {
            // The dearest of them: they share models and what is global.
            CouplingConfig::Mixed { default, connections } => {
                connections.values().map(of).fold(of(default), f64::max)
            }
            one => of(one),
        }
    }
}

/// Mean seconds of a macro step, over the first ones but the very first.
fn timed(run: &mut Simulation) -> Result<f64> {
    run.advance()?;
    let begin = Instant::now();
    let mut count = 0;
    while count < STEPS && !run.is_done() && (count == 0 || begin.elapsed().as_secs_f64() < PATIENCE) {
        run.advance()?;
        count += 1;
    }
    Ok(if count == 0 { 0.0 } else { begin.elapsed().as_secs_f64() / count as f64 })
}
