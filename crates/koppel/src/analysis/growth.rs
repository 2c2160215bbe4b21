//! Whether disturbances grow with given settings: from the step matrix, or where there is none by running the stand-ins.
//!
//! A system that grows by itself, such as a pendulum that stands upright, is not blamed on its coupling: only what grows more
//! than twice as fast as the monolithic system counts.
//!
//! Methods that learn while they run have no step matrix. Their stand-ins are run from a disturbance, and what outputs
//! move from one communication point to the next is compared between two parts of the run,
//!
//!   ρ ≈ (largest move in the last tenth / largest move in the tenth from the middle on)^{1/Δk}           (1)

use super::cost::Cost;
use super::linear_system::{LinearSystem, unknown};
use super::modes::ON_CIRCLE;
use super::step_matrix::StepMatrix;
use crate::error::{Error, Result};
use crate::linalg::eigenvalues;
use crate::run::{Run, RunConfig};
use serde::Serialize;

/// Macro steps of a run that is watched: the most, and the fewest if each of them has many micro steps.
const STEPS: usize = 2000;
const FEWEST_STEPS: usize = 300;
/// Work of a run that is watched, in steps of subsystems, if each step of the method takes much.
const WORK: f64 = 5e5;
/// Micro steps of a run that is watched.
const MICRO_STEPS: f64 = 4e5;
/// Moves that have become so small beside the first ones have died out.
const GONE: f64 = 1e-9;
/// For so many steps.
const QUIET: usize = 50;
/// Moves that have become so large have grown.
const FAR: f64 = 1e9;

/// A system that grows by itself may do so up to twice as fast when it is cut: that is an error, but no instability of its coupling.
const TOLERATED: f64 = 2.0;
/// Growth from one part of a run to the other that is no accident of where its peaks lie.
const NOTICED: f64 = 1.05;

/// How growth was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// As the spectral radius of the step matrix.
    StepMatrix,
    /// By running the stand-ins.
    Running,
}

/// How fast a system grows uncut, in 1/s; not above 0 if it does not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnRates {
    /// Solved exactly.
    exact: f64,
    /// With the micro solver that all subsystems share.
    solved: f64,
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
        // Of a step that depends on many numbers a run tells sooner.
        if matches!(StepMatrix::bound(self, config), Ok(None)) {
            return self.growth_by_running(config);
        }
        match StepMatrix::of(self, config) {
            Ok(matrix) => {
                let spectrum = matrix.spectrum()?;
                let radius = spectrum.radius;
                let is_bounded = spectrum.is_bounded() || radius <= self.own_growth(config);
                Ok(Growth { radius, is_bounded, found: Found::StepMatrix })
            }
            Err(error) if matches!(*error, Error::Unsupported { .. }) => self.growth_by_running(config),
            Err(error) => Err(error),
        }
    }

    /// ρ up to which nothing grows: 1, or what the system does uncut if that is more.
    pub(super) fn own_growth(&self, config: &RunConfig) -> f64 {
        let rates = self.own_rates.get_or_init(|| self.growth_uncut().unwrap_or_default());
        // A micro solver may add a little of its own; one that fails is no excuse.
        let added = (rates.solved - rates.exact.max(0.0)) * (config.stop - self.time);
        let rate = if added <= 1.0 { rates.exact.max(rates.solved) } else { rates.exact };
        if rate > 0.0 { (TOLERATED * rate * config.step).exp() } else { 1.0 }
    }

    /// The largest rates at which the monolithic system grows.
    fn growth_uncut(&self) -> Result<OwnRates> {
        let failed = |source| Error::Linalg { what: "rates of the system".into(), source };
        let values = eigenvalues(&self.matrices_uncut()?.a).map_err(failed)?;
        let size = values.iter().map(|z| z.abs()).fold(0.0, f64::max);
        let largest = |rates: &mut dyn Iterator<Item = f64>| rates.fold(f64::NEG_INFINITY, f64::max);
        // Round-off of a system that neither grows nor decays.
        let noticed = |rate: f64| if rate > 1e-9 * size { rate } else { 0.0 };
        let exact = noticed(largest(&mut values.iter().map(|z| z.re)));
        let solver = self.shared_solver();
        let mut solved = values.iter().filter_map(|z| solver.growth_rate(*z));
        Ok(OwnRates { exact, solved: noticed(largest(&mut solved)) })
    }

    /// Whether nothing grows with these settings, at less work than [`LinearSystem::growth`]; of a step that depends on many numbers, by
    /// running the stand-ins.
    pub fn is_bounded(&self, config: &RunConfig) -> Result<bool> {
        let found = match StepMatrix::bound(self, config) {
            Ok(Some(radius)) if radius <= 1.0 + ON_CIRCLE => return Ok(true),
            Ok(Some(_)) => self.growth(config)?,
            Ok(None) => self.growth_by_running(config)?,
            Err(error) if matches!(*error, Error::Unsupported { .. }) => self.growth_by_running(config)?,
            Err(error) => return Err(error),
        };
        Ok(found.is_bounded)
    }

    /// Macro steps after which a run of the stand-ins tells whether disturbances grow.
    pub(super) fn watched_steps(&self, config: &RunConfig) -> Result<usize> {
        let micro = self.finest_micro_step().map_or(1.0, |micro| config.step / micro);
        let affordable = (WORK / Cost::work_per_step(&self.graph, config)?).min(MICRO_STEPS / micro);
        Ok((affordable as usize).clamp(FEWEST_STEPS, STEPS))
    }

    /// How far disturbances go in a run of the stand-ins, which takes some hundred thousand steps of subsystems at most.
    pub(super) fn growth_by_running(&self, config: &RunConfig) -> Result<Growth> {
        let steps = self.watched_steps(config)?;
        let mut run = Moves::new(self.disturbed(config, steps as u64)?);
        // A system that does not grow uncut needs no comparison.
        let grows_uncut = self.has_filters() || self.own_growth(config) > 1.0;
        let mut ideal = match grows_uncut {
            true => Some(Moves::new(self.disturbed_uncut(config, steps as u64)?)),
            false => None,
        };
        let found = |radius: f64, is_bounded: bool| Growth { radius, is_bounded, found: Found::Running };
        for k in 0..steps {
            if !run.advance()? {
                return Ok(found(f64::INFINITY, false));
            }
            if let Some(ideal) = &mut ideal
                && !ideal.advance()?
            {
                return Err(unknown("the monolithic system exceeds the range of numbers".into()));
            }
            let (first, last) = (largest(&run.all[..run.all.len().min(steps / 10)]), run.all[k]);
            if k > steps / 5 && last > FAR * first {
                return Ok(found((last / first).powf(1.0 / k as f64), false));
            }
            if k > steps / 10 + QUIET && largest(&run.all[k - QUIET..]) <= GONE * first {
                return Ok(found(GONE.powf(1.0 / k as f64), true));
            }
        }
        let tenth = steps / 10;
        let (middle, end) = (steps / 2..steps / 2 + tenth, steps - tenth..steps);
        let last = largest(&run.all[end.clone()]);
        let grown = last / largest(&run.all[middle.clone()]);
        // What the system does by itself is no fault of the coupling.
        let uncut = |ideal: &Moves| largest(&ideal.all[end.clone()]) / largest(&ideal.all[middle.clone()]);
        let by_itself = ideal.as_ref().map_or(1.0, uncut).max(1.0);
        let radius = grown.powf(1.0 / (end.start - middle.start) as f64);
        Ok(found(radius, grown <= NOTICED * by_itself))
    }
}

/// How far outputs move in each step of a run.
struct Moves {
    run: Run,
    before: Vec<f64>,
    all: Vec<f64>,
}

impl Moves {
    fn new(run: Run) -> Self {
        Moves { before: outputs(&run), run, all: Vec::new() }
    }

    /// False if a number leaves the range of numbers.
    fn advance(&mut self) -> Result<bool> {
        match self.run.advance() {
            // What is not supported has not grown.
            Err(error) if matches!(*error, Error::Unsupported { .. }) => return Err(error),
            Err(_) => return Ok(false),
            Ok(_) => {}
        }
        let now = outputs(&self.run);
        self.all.push(now.iter().zip(&self.before).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max));
        self.before = now;
        Ok(true)
    }
}

fn outputs(run: &Run) -> Vec<f64> {
    (0..run.graph().len()).flat_map(|id| run.outputs(id)).copied().collect()
}

fn largest(moves: &[f64]) -> f64 {
    moves.iter().copied().fold(f64::MIN_POSITIVE, f64::max)
}
