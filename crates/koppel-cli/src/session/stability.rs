//! Zero-stability of the loops: before the run, and where feed-through may change on its way.

use koppel::Result;
use koppel::analysis::zero_stability;
use koppel::run::{RunConfig, Simulation};

/// How often loops are judged in a run.
const LOOKS: u64 = 100;

/// Judges loops now and then.
pub(super) struct Stability {
    config: Option<Box<RunConfig>>,
    stride: u64,
    countdown: u64,
}

impl Stability {
    /// Refuses a run that is not zero-stable, unless that is accepted.
    pub(super) fn new(simulation: &mut Simulation, config: &RunConfig, is_accepted: bool) -> Result<Self> {
        let stride = (simulation.steps() / LOOKS).max(1);
        let mut stability = Stability { config: None, stride, countdown: stride };
        if is_accepted {
            return Ok(stability);
        }
        let told = zero_stability(simulation, config)?;
        told.refuse_unstable(config)?;
        // Loops that are solved at every communication point stay so.
        if told.zero_stability_radius > 0.0 {
            stability.config = Some(Box::new(config.clone()));
        }
        Ok(stability)
    }

    /// Called after every macro step.
    #[inline]
    pub(super) fn look(&mut self, simulation: &mut Simulation) -> Result<()> {
        let Some(config) = &self.config else { return Ok(()) };
        self.countdown -= 1;
        if self.countdown > 0 {
            return Ok(());
        }
        self.countdown = self.stride;
        zero_stability(simulation, config)?.refuse_unstable(config)
    }
}
