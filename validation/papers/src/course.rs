//! Runs of the engine, and their errors.

use crate::cases::Case;
use koppel::record::Trajectory;
use koppel::run::{Flow, Parallel, Run, RunConfig};
use koppel::signal::{Bounds, Deviation};
use koppel::system::System;
use koppel_io::plot::Curve;

use crate::Result;
use crate::exhibit::curve;

/// What a run has shown, by communication point.
pub(crate) struct Course {
    names: Vec<String>,
    pub(crate) table: Trajectory,
    /// False if it ended in numbers that are none; the rows before are kept.
    pub(crate) is_whole: bool,
}

impl Course {
    pub(crate) fn new(system: System, config: &RunConfig) -> Result<Course> {
        let config = RunConfig { threads: Parallel::Never, ..config.clone() };
        let mut run = Run::new(system, &config)?;
        let mut table = Trajectory::default();
        let is_whole = run.run(&mut table, &mut |_| Ok(Flow::Continue)).is_ok();
        let names = run.columns().iter().map(|column| column.name.clone()).collect();
        Ok(Course { names, table, is_whole })
    }

    /// A co-simulation.
    pub(crate) fn of(case: &Case, config: &RunConfig) -> Result<Course> {
        Course::new(case.system()?, config)
    }

    /// The same equations as one system, at the communication points of `config`.
    pub(crate) fn reference(case: &Case, config: &RunConfig) -> Result<Course> {
        let plain = RunConfig {
            start: config.start,
            record: config.record.clone(),
            ..RunConfig::new(config.stop, config.step)
        };
        Course::new(case.reference()?, &plain)
    }

    /// Names of the signals that begin like this.
    pub(crate) fn names<'n>(&'n self, begin: &'n str) -> impl Iterator<Item = &'n str> {
        self.names.iter().map(String::as_str).filter(move |name| name.starts_with(begin))
    }

    /// A signal; of a reference by the same name. Empty if there is none.
    pub(crate) fn column(&self, name: &str) -> Vec<f64> {
        let matches = |known: &String| known == name || known.strip_prefix("monolith.") == Some(name);
        self.names.iter().position(matches).map_or(Vec::new(), |at| self.table.column(at).collect())
    }

    pub(crate) fn curve(&self, label: &str, signal: &str) -> Curve {
        curve(label, self.table.times.iter().copied().zip(self.column(signal)))
    }

    /// A curve that ends where the run has left `times` the range of the reference, so that pictures stay readable.
    pub(crate) fn clipped(&self, label: &str, signal: &str, reference: &Course, times: f64) -> Curve {
        let Bounds { low, high } = Bounds::of(reference.column(signal));
        let room = times * (high - low);
        let points = self.table.times.iter().copied().zip(self.column(signal));
        curve(label, points.take_while(|(_, y)| (low - room..=high + room).contains(y)))
    }

    /// Chen et al. 2021, (15): root mean square of the difference over the range of the reference.
    pub(crate) fn nrms(&self, reference: &Course, name: &str) -> f64 {
        let (own, exact) = (self.column(name), reference.column(name));
        if own.len() < exact.len() || exact.is_empty() {
            return f64::INFINITY;
        }
        let range = Bounds::of(exact.iter().copied()).range();
        own.into_iter().zip(exact).collect::<Deviation>().rms() / range
    }
}

/// Smallest and largest.
pub(crate) fn range(values: &[f64]) -> (f64, f64) {
    let Bounds { low, high } = Bounds::of(values.iter().copied());
    (low, high)
}

/// Genser 2020, (3.9) and (3.10): per subsystem the mean over its outputs of |y - y_ref| relative to the range of y_ref,
/// mean over the communication points after the start, Euclidean norm over the subsystems. Infinite if the run was lost.
pub(crate) fn global_error(case: &Case, course: &Course, reference: &Course) -> Result<f64> {
    if !course.is_whole || course.table.times.len() != reference.table.times.len() {
        return Ok(f64::INFINITY);
    }
    let graph = case.system()?.graph;
    let mut square = 0.0;
    for id in 0..graph.len() {
        let outputs = graph.outputs_of(id);
        let count = outputs.len() as f64;
        let mut sum = 0.0;
        for output in outputs {
            let name = graph.output_name(output);
            let (own, exact) = (course.column(&name), reference.column(&name));
            let range = Bounds::of(exact.iter().copied()).range();
            let deviation: Deviation = own.into_iter().zip(exact).skip(1).collect();
            sum += deviation.mean() / (range + 1e-12);
        }
        square += (sum / count).powi(2);
    }
    Ok(square.sqrt())
}
