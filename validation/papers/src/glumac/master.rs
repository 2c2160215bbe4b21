//! Table 1 of the paper: an order of the two slaves, and relaxed hold at the inputs of the first of them.

use crate::cases::{Case, case};
use koppel::analysis::{LinearSystem, StepMatrix, consistency};
use koppel::coupling::{CouplingConfig, RelaxedConfig};
use koppel::run::{Parallel, Reading, Run, RunConfig, ScheduleConfig};

use crate::Result;

/// One master.
#[derive(Clone, Copy)]
pub(super) struct Master {
    pub(super) name: &'static str,
    order: [&'static str; 2],
    /// Inputs with relaxed hold, and their α.
    alpha: [(&'static str, f64); 2],
}

/// Seidel masters are Control masters with α = 0, (49).
pub(super) const MASTERS: [Master; 4] = [
    control_12("Seidel12", [0.0, 0.0]),
    control_21("Seidel21", 0.0),
    control_12("Control12", [0.59, 0.36]),
    control_21("Control21", 0.6),
];

pub(super) const fn control_21(name: &'static str, alpha: f64) -> Master {
    Master { name, order: ["second", "first"], alpha: [("second.F", alpha), ("", 0.0)] }
}

pub(super) const fn control_12(name: &'static str, alpha: [f64; 2]) -> Master {
    Master { name, order: ["first", "second"], alpha: [("first.x", alpha[0]), ("first.v", alpha[1])] }
}

impl Master {
    /// The system at this step, with the run of this master.
    pub(super) fn case(&self, step: f64) -> Result<Case> {
        let case = case("two-mass")?;
        Ok(Case { run: self.run(step)?, ..case })
    }

    pub(super) fn run(&self, step: f64) -> Result<RunConfig> {
        let used = self.alpha.iter().filter(|(_, alpha)| *alpha != 0.0);
        let connections: std::collections::BTreeMap<_, _> = used
            .map(|(input, alpha)| {
                ((*input).to_owned(), CouplingConfig::from(RelaxedConfig { alpha: *alpha }))
            })
            .collect();
        let coupling = match connections.is_empty() {
            true => CouplingConfig::zoh(),
            false => CouplingConfig::Mixed { default: Box::default(), connections },
        };
        let schedule = ScheduleConfig::Order(self.order.map(str::to_owned).to_vec());
        let stop = (100.0 * step).max(100.0);
        let threads = Parallel::Never;
        Ok(RunConfig { schedule, coupling, reading: Reading::Stale, threads, ..RunConfig::new(stop, step) })
    }

    pub(super) fn radius(system: &LinearSystem, run: &RunConfig) -> Result<f64> {
        Ok(StepMatrix::of(system, run)?.spectrum()?.radius)
    }

    /// (65): spectral radius and relative consistency.
    pub(super) fn objectives(&self, system: &LinearSystem, step: f64) -> Result<[f64; 2]> {
        let run = self.run(step)?;
        Ok([Self::radius(system, &run)?, consistency(system, &run)?])
    }
}

/// The oscillator of the paper, whatever the step and the master.
pub(super) fn oscillator() -> Result<LinearSystem> {
    linear(&MASTERS[0].case(1.0)?)
}

/// The system of a case, linear as it is.
pub(super) fn linear(case: &Case) -> Result<LinearSystem> {
    let mut run = Run::new(case.system()?, &case.run)?;
    Ok(LinearSystem::new(&mut run)?)
}

/// `count` values from `low` to `high`, even in the logarithm.
pub(super) fn logarithmic(low: f64, high: f64, count: usize) -> Vec<f64> {
    (0..count).map(|k| low * (high / low).powf(k as f64 / (count - 1) as f64)).collect()
}
