//! What a way to run a system is worth, told on the linear models of its subsystems.
//!
//! Any candidate can be scored: methods with a step matrix by it, methods that learn by running the stand-ins.

use super::candidate::Candidate;
use super::prices::Prices;
use crate::analysis::{Cost, LinearSystem, Reference};
use crate::error::Result;
use crate::run::RunConfig;
use serde::Serialize;

/// Steps beside a candidate's own, relative to it, at which it must be stable, too: those of [`Scorer::new`].
const MARGINS: [f64; 2] = [1.1, 1.25];

/// What a candidate is worth. Small is good, but for the margin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Growth of the largest mode per macro step.
    pub spectral_radius: f64,
    /// True if nothing grows, or not faster than the system does uncut.
    pub is_stable: bool,
    /// So many times as long a step is still stable, as far as it was looked: 0 if not even this one is.
    pub margin: f64,
    /// Predicted global error, relative to the range of each output, the worst; nothing if nothing moves.
    pub error: Option<f64>,
    /// Relative consistency; nothing if it cannot be told.
    pub consistency: Option<f64>,
    /// What the whole run costs.
    pub expense: Expense,
}

/// Cost of a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Expense {
    /// Macro steps.
    pub steps: f64,
    /// Steps of subsystems.
    pub calls: f64,
    /// Cost of the steps of subsystems, in the unit of the prices: s, or calls.
    pub subsystems: f64,
    /// Cost of the coupling.
    pub coupling: f64,
}

impl Expense {
    /// Both together.
    pub fn total(&self) -> f64 {
        self.subsystems + self.coupling
    }
}

/// Scores candidates on one system.
#[derive(Clone, Debug)]
pub struct Scorer<'a> {
    system: &'a LinearSystem,
    config: RunConfig,
    reference: Option<Reference>,
    prices: Prices,
    margins: Vec<f64>,
}

impl<'a> Scorer<'a> {
    /// For runs with these settings but for what a candidate chooses. Errors are told over the time of the run, or its first 4000
    /// steps with the step of `config`.
    pub fn new(system: &'a LinearSystem, config: &RunConfig, prices: Prices) -> Self {
        let reference = system.reference(config).ok();
        Scorer { system, config: config.clone(), reference, prices, margins: MARGINS.to_vec() }
    }

    /// With other steps, relative to a candidate's own and growing, at which it must be stable, too. None makes scoring cheaper.
    #[must_use]
    pub fn with_margins(self, margins: &[f64]) -> Self {
        Scorer { margins: margins.to_vec(), ..self }
    }

    /// The system uncut, with which errors are told; nothing if nothing moves or connections have filters.
    pub fn reference(&self) -> Option<&Reference> {
        self.reference.as_ref()
    }

    /// The system.
    pub fn system(&self) -> &'a LinearSystem {
        self.system
    }

    /// The settings that candidates change.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// What a candidate is worth.
    ///
    /// # Errors
    ///
    /// Whatever refuses its settings; or if they cannot be judged, [`crate::Error::Unsupported`] with the reason.
    pub fn score(&self, candidate: &Candidate) -> Result<Score> {
        let config = candidate.on(&self.config);
        let growth = self.system.growth(&config)?;
        let margin = if growth.is_bounded { self.margin(candidate) } else { 0.0 };
        let error = self.reference.as_ref().filter(|_| growth.is_bounded);
        let error = error.map(|reference| self.system.global_error(&config, reference)).transpose()?;
        Ok(Score {
            spectral_radius: growth.radius,
            is_stable: growth.is_bounded,
            margin,
            error: match (&self.reference, growth.is_bounded) {
                (Some(_), false) => Some(f64::INFINITY),
                _ => error.map(|error| error.overall),
            },
            consistency: self.system.consistency(&config).ok(),
            expense: self.expense(candidate)?,
        })
    }

    /// What a candidate costs, without looking at anything else.
    ///
    /// # Errors
    ///
    /// Whatever refuses its coupling.
    pub fn expense(&self, candidate: &Candidate) -> Result<Expense> {
        let config = candidate.on(&self.config);
        let Cost { steps, calls, .. } = self.system.cost(&config)?;
        let graph = self.system.graph();
        let every = |name: &str| f64::from(config.every.get(name).copied().unwrap_or(1));
        let moved: f64 = (0..graph.len()).map(|id| 1.0 / every(graph.name(id))).sum();
        let pieces = calls / (steps * moved).max(1.0);
        let one = |id: usize| {
            let (name, often) = (graph.name(id), every(graph.name(id)));
            steps / often * self.prices.steps_of(name, pieces, often * config.step)
        };
        Ok(Expense {
            steps,
            calls,
            subsystems: (0..graph.len()).map(one).sum(),
            coupling: steps * self.prices.coupling(&config.coupling),
        })
    }

    /// The largest factor up to which it stays stable.
    fn margin(&self, candidate: &Candidate) -> f64 {
        let is_stable = |factor: f64| {
            let longer = candidate.at(candidate.step * factor).on(&self.config);
            self.system.growth(&longer).is_ok_and(|growth| growth.is_bounded)
        };
        self.margins.iter().copied().take_while(|factor| is_stable(*factor)).last().unwrap_or(1.0)
    }
}
