//! Whether disturbances grow with given settings: from the step matrix, or where there is none by running the stand-ins.
//!
//! Methods that learn while they run have no step matrix. Their stand-ins are run from a disturbance, and what outputs
//! move from one communication point to the next is compared between two parts of the run,
//!
//!   ρ ≈ (largest move in the last tenth / largest move in the tenth from the middle on)^{1/Δk}           (1)

use super::linear_system::LinearSystem;
use crate::error::{Error, Result};
use crate::run::{RunConfig, Simulation};
use serde::Serialize;

/// Macro steps of a run that is watched.
const STEPS: usize = 2000;
/// Moves that have become so small beside the first ones have died out.
const GONE: f64 = 1e-9;
/// Moves that have become so large have grown.
const FAR: f64 = 1e9;

/// How growth was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// As the spectral radius of the step matrix.
    StepMatrix,
    /// By running the stand-ins.
    Running,
}

/// Growth per macro step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The spectral radius, or (1).
    pub radius: f64,
    /// True if nothing grows.
    pub is_bounded: bool,
    /// How it was found.
    pub found: Found,
}

impl LinearSystem {
    /// Growth with these settings.
    ///
    /// # Errors
    ///
    /// Whatever refuses the settings themselves.
    pub fn growth(&self, config: &RunConfig) -> Result<Growth> {
        match self.step_matrix(config) {
            Ok(matrix) => {
                let spectrum = matrix.spectrum()?;
                let (radius, is_bounded) = (spectrum.radius, spectrum.is_bounded());
                Ok(Growth { radius, is_bounded, found: Found::StepMatrix })
            }
            Err(error) if matches!(*error, Error::Unsupported { .. }) => self.growth_by_running(config),
            Err(error) => Err(error),
        }
    }

    fn growth_by_running(&self, config: &RunConfig) -> Result<Growth> {
        let mut simulation = self.disturbed(config, STEPS as u64)?;
        let outputs = |simulation: &Simulation| -> Vec<f64> {
            (0..simulation.graph().len()).flat_map(|id| simulation.outputs(id).to_vec()).collect()
        };
        let found = |radius: f64| Growth { radius, is_bounded: radius <= 1.0, found: Found::Running };
        let mut moves = Vec::with_capacity(STEPS);
        let mut before = outputs(&simulation);
        for k in 0..STEPS {
            if simulation.advance().is_err() {
                return Ok(found(f64::INFINITY));
            }
            let now = outputs(&simulation);
            moves.push(now.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max));
            before = now;
            let (first, last) = (largest(&moves[..moves.len().min(STEPS / 10)]), moves[k]);
            if k > STEPS / 5 && last > FAR * first {
                return Ok(found((last / first).powf(1.0 / (k as f64))));
            }
        }
        let tenth = STEPS / 10;
        let (first, middle, last) = (
            largest(&moves[..tenth]),
            largest(&moves[STEPS / 2..][..tenth]),
            largest(&moves[STEPS - tenth..]),
        );
        if last <= GONE * first {
            let k = moves.iter().rposition(|moved| *moved > GONE * first).unwrap_or(0).max(1);
            return Ok(found(GONE.powf(1.0 / k as f64)));
        }
        Ok(found((last / middle).powf(1.0 / (STEPS - tenth - STEPS / 2) as f64)))
    }
}

fn largest(moves: &[f64]) -> f64 {
    moves.iter().copied().fold(f64::MIN_POSITIVE, f64::max)
}
