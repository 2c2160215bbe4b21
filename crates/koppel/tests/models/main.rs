//! The catalogue of models, the cases made of them, and the example files.
//!
//! Models are held against differences and textbook results, cases against matrices written by hand and against their
//! monolithic reference, example files against the cases.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/cases/mod.rs"]
mod cases;
mod catalogue;
mod every_case;
mod examples;
mod limits;
mod linear_cases;
mod nonlinear_cases;
mod steering;

use crate::cases::Case;
use koppel::Result;
use koppel::coupling::{CouplingConfig, Hold};
use koppel::record::Trajectory;
use koppel::run::{Flow, Reading, Run, RunConfig, ScheduleConfig};
use koppel::system::System;
use std::collections::BTreeMap;

/// Parameters from a list.
fn parameters(list: &[(&str, f64)]) -> BTreeMap<String, f64> {
    list.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// Names of the columns, and the rows.
fn run(system: System, config: &RunConfig) -> Result<(Vec<String>, Trajectory)> {
    let mut run = Run::new(system, config)?;
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue))?;
    Ok((run.columns().iter().map(|column| column.name.clone()).collect(), table))
}

/// The run of the uncut system with the same communication points.
fn reference_run(case: &Case, config: &RunConfig) -> Result<(Vec<String>, Trajectory)> {
    let config = RunConfig {
        reading: Reading::Fresh,
        hold: Hold::Constant,
        coupling: CouplingConfig::zoh(),
        schedule: ScheduleConfig::PARALLEL,
        ..config.clone()
    };
    run(case.reference()?, &config)
}

/// Lowest and highest value.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

/// Numbers without pattern, for points to test at.
struct Numbers(u64);

impl Numbers {
    /// Uniform in [-1, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self, length: usize, scale: f64) -> Vec<f64> {
        (0..length).map(|_| scale * self.next()).collect()
    }
}
