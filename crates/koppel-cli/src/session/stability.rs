//! Zero-stability of the loops: before the run, and where feed-through may change on its way.

use koppel::Result;
use koppel::analysis::zero_stability;
use koppel::run::{Reading, RunConfig, Simulation};

/// How often loops are judged in a run.
const LOOKS: u64 = 100;

/// Judges loops now and then.
pub(super) struct Stability {
    config: Option<Box<RunConfig>>,
    stride: u64,
    /// The step after which they are judged next.
    due: u64,
}

impl Stability {
    /// Refuses a run that is not zero-stable, unless that is accepted.
    pub(super) fn new(simulation: &mut Simulation, config: &RunConfig, is_accepted: bool) -> Result<Self> {
        let stride = (simulation.steps() / LOOKS).max(1);
        let mut stability = Stability { config: None, stride, due: simulation.index() + stride };
        if is_accepted {
            return Ok(stability);
        }
        let told = zero_stability(simulation, config);
        told.refuse_unstable(config)?;
        // Loops that are solved at every communication point stay so.
        let is_solved = config.reading == Reading::Fresh || config.iteration.is_some();
        if told.loops.iter().any(|l| l.is_filtered || !is_solved) {
            stability.config = Some(Box::new(config.clone()));
        }
        Ok(stability)
    }

    /// Called after macro steps; the step after which to call again.
    #[inline]
    pub(super) fn look(&mut self, simulation: &mut Simulation) -> Result<u64> {
        let Some(config) = &self.config else { return Ok(u64::MAX) };
        if simulation.index() >= self.due {
            self.due = simulation.index() + self.stride;
            zero_stability(simulation, config).refuse_unstable(config)?;
        }
        Ok(self.due)
    }
}
