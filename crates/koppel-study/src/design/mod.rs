//! Which values the runs of a study try.
//!
//! Run i of a plan is a function of its number, the factors and the seed alone: no run needs another, so that any machine can do
//! any part.
//!
//! | plan            | value of factor j in run i                                                    |
//! | --------------- | ----------------------------------------------------------------------------- |
//! | full factorial  | digit j of i, the last factor changing fastest                                |
//! | Latin hypercube | quantile of (π_j(i) + r) / n, π_j a permutation, r drawn                      |
//! | Sobol           | quantile of point i of a Sobol sequence, shifted digit by digit by the seed   |
//! | Monte Carlo     | quantile of a number drawn for i and j                                        |

mod random;
mod sobol;

pub(crate) use sobol::DIMENSIONS as SOBOL_DIMENSIONS;
pub use sobol::sobol_point;

use crate::settings::{Factor, Plan, PlanKind, Source, Value};
use random::{permutation, unit};
use statrs::distribution::{ContinuousCDF, Normal};

/// The number that a normal variable with mean 0 and deviation 1 stays below with probability `p`, 0 < p < 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// The value of one factor in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The number of the value among the factor's levels, if it has any.
    pub level: Option<usize>,
    /// The value.
    pub value: Value,
}

/// A plan with all it needs to tell the values of any run.
#[derive(Clone, Debug)]
pub struct Design {
    plan: Plan,
    axes: Vec<Axis>,
    runs: u64,
}

#[derive(Clone, Debug)]
struct Axis {
    source: Source,
    /// Of a factorial plan.
    levels: Option<Vec<Value>>,
    /// Of a Latin hypercube.
    order: Vec<u32>,
}

/// Most runs a plan may have; more cannot be counted in a lifetime.
const MOST_RUNS: u64 = 1_000_000_000_000;

impl Design {
    /// Prepares a plan; none if it has more runs than can be counted.
    #[must_use]
    pub fn new(factors: &[Factor], plan: &Plan) -> Option<Self> {
        let is_factorial = plan.kind == PlanKind::FullFactorial;
        let mut runs = plan.runs;
        let mut axes = Vec::with_capacity(factors.len());
        for (j, factor) in factors.iter().enumerate() {
            let levels = if is_factorial { factor.source.levels() } else { None };
            if let Some(levels) = &levels {
                runs = runs.checked_mul(levels.len() as u64).filter(|runs| *runs <= MOST_RUNS)?;
            }
            let order = match plan.kind {
                PlanKind::LatinHypercube => permutation(plan.seed, j as u64, u32::try_from(plan.runs).ok()?),
                _ => Vec::new(),
            };
            axes.push(Axis { source: factor.source.clone(), levels, order });
        }
        (runs <= MOST_RUNS).then_some(Design { plan: plan.clone(), axes, runs })
    }

    /// How many runs.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The values of a run, in the order of the factors.
    #[must_use]
    pub fn cells(&self, run: u64) -> Vec<Cell> {
        let mut cells: Vec<Option<Cell>> = vec![None; self.axes.len()];
        let mut rest = run;
        for (axis, cell) in self.axes.iter().zip(&mut cells).rev() {
            if let Some(levels) = &axis.levels {
                let level = (rest % levels.len() as u64) as usize;
                rest /= levels.len() as u64;
                *cell = Some(Cell { level: Some(level), value: levels[level].clone() });
            }
        }
        // In a factorial plan what is left is the number of the draw.
        let fill = |(j, (axis, cell)): (usize, (&Axis, Option<Cell>))| {
            cell.unwrap_or_else(|| {
                let (level, value) = axis.source.quantile(self.share(axis, rest, j));
                Cell { level, value }
            })
        };
        self.axes.iter().zip(cells).enumerate().map(fill).collect()
    }

    /// A number strictly between 0 and 1.
    fn share(&self, axis: &Axis, run: u64, j: usize) -> f64 {
        let Plan { kind, runs, seed } = self.plan;
        let drawn = || unit(seed, run, j as u64);
        match kind {
            PlanKind::FullFactorial | PlanKind::MonteCarlo => drawn(),
            PlanKind::LatinHypercube => (f64::from(axis.order[run as usize]) + drawn()) / runs as f64,
            PlanKind::Sobol => sobol::shifted(run, j, seed),
        }
    }
}

#[cfg(test)]
mod tests;
