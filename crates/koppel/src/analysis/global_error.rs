//! The error to be expected: the stand-ins coupled as in the run, against the same system uncut.
//!
//!   e_i = √(1/K Σ_k (y_i^k - ŷ_i^k)²) / (max ŷ_i - min ŷ_i),     k = 1..K                             (1)
//!
//! ŷ is the exact solution of the whole linear system under the same offsets and signals, or with the micro solver that all
//! subsystems share if its step is fixed, so that only the coupling makes the difference. Chen et al. 2021, (15).

use super::linear_system::{LinearSystem, unknown};
use crate::error::{Error, Result};
use crate::run::{Run, RunConfig};
use crate::signal::{Bounds, Deviation};
use crate::solver::SolverConfig;
use crate::system::{Snapshot, System, driven_system, linear_system, uncut};
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Most steps of the run that are looked at.
const MOST_STEPS: f64 = 4000.0;
/// Fewest steps of any other step size over the same time: with fewer there is nothing to compare.
const FEWEST_STEPS: f64 = 10.0;

/// What moves the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Excitation {
    /// The run's own start and signals.
    Run,
    /// A disturbance of all states, because nothing moves the run, or it is not known what does.
    Disturbance,
}

/// The error of one output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputError {
    /// Its name.
    pub output: String,
    /// (1).
    pub error: f64,
    /// The largest one over its range.
    pub largest: f64,
}

/// The error of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GlobalError {
    /// The largest of all outputs: (1).
    pub overall: f64,
    /// Output by output, the worst first. Outputs that stand still are left out.
    pub outputs: Vec<OutputError>,
    /// Over how much time, in s.
    pub horizon: f64,
    /// What moves the system.
    pub excitation: Excitation,
}

/// What runs are compared with: the monolithic system.
#[derive(Clone, Debug)]
pub struct Reference {
    horizon: f64,
    excitation: Excitation,
    /// How far each output moves; 0 if it stands still.
    ranges: Vec<f64>,
}

impl Reference {
    /// Over how much time, in s.
    pub fn horizon(&self) -> f64 {
        self.horizon
    }

    /// The longest step that can be judged, in s.
    pub fn longest_step(&self) -> f64 {
        self.horizon / FEWEST_STEPS
    }
}

/// Courses of the monolithic system that were computed before, by the step.
#[derive(Debug, Default)]
pub(crate) struct ReferenceCache {
    by_step: BTreeMap<u64, Vec<f64>>,
}

/// How far a run lies from the monolithic system, output by output.
struct Distances {
    outputs: Vec<Deviation>,
    /// False if a number or an error left its limits.
    is_within: bool,
}

impl LinearSystem {
    /// The system uncut, over the run's time or its first 4000 steps.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Unsupported`] with the reason if nothing moves.
    pub fn reference(&self, config: &RunConfig) -> Result<Reference> {
        let horizon = (config.stop - self.time).min(MOST_STEPS * config.step).max(config.step);
        for excitation in [Excitation::Run, Excitation::Disturbance] {
            let mut reference = Reference { horizon, excitation, ranges: Vec::new() };
            let Some(mut run) = self.uncut(&reference, config)? else { continue };
            let mut bounds: Vec<Bounds> = outputs(&run).map(|y| Bounds::of([y])).collect();
            while !run.is_done() {
                run.advance()?;
                bounds.iter_mut().zip(outputs(&run)).for_each(|(bounds, y)| bounds.add(y));
            }
            reference.ranges = bounds.iter().map(Bounds::movement).collect();
            if reference.ranges.iter().any(|range| *range > 0.0) {
                return Ok(reference);
            }
        }
        Err(unknown("nothing excites the system, so there is no error".into()))
    }

    /// The error with these settings; infinite if the run leaves the range of numbers.
    pub fn global_error(&self, config: &RunConfig, reference: &Reference) -> Result<GlobalError> {
        let mut ideal = self.uncut(reference, config)?.ok_or_else(unfit)?;
        let far = self.distances(config, reference, f64::INFINITY, &mut |_, row| {
            ideal.advance()?;
            row.copy_from_slice(ideal.outputs(0));
            Ok(())
        })?;
        let judged = (0..far.outputs.len()).filter(|at| reference.ranges[*at] > 0.0);
        let over =
            |at: usize, error: f64| if far.is_within { error / reference.ranges[at] } else { f64::INFINITY };
        let mut outputs: Vec<OutputError> = judged
            .map(|at| OutputError {
                output: self.graph.output_name(at),
                error: over(at, far.outputs[at].rms()),
                largest: over(at, far.outputs[at].max()),
            })
            .collect();
        crate::sort::sort_by(&mut outputs, |a, b| b.error.total_cmp(&a.error));
        let overall = outputs.first().map_or(0.0, |worst| worst.error);
        Ok(GlobalError { overall, outputs, horizon: reference.horizon, excitation: reference.excitation })
    }

    /// [`GlobalError::overall`], infinite as soon as it is certain to lie above `limit`. The course of the monolithic system is computed
    /// once for each step.
    pub(crate) fn error_within(
        &self,
        config: &RunConfig,
        reference: &Reference,
        limit: f64,
        cache: &mut ReferenceCache,
    ) -> Result<f64> {
        let outputs_of_reference = match cache.by_step.entry(config.step.to_bits()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(self.course(config, reference)?),
        };
        self.error_against(outputs_of_reference, config, reference, limit)
    }

    /// All outputs of the monolithic system after each step of this size, step by step.
    pub(super) fn course(&self, config: &RunConfig, reference: &Reference) -> Result<Vec<f64>> {
        let mut ideal = self.uncut(reference, config)?.ok_or_else(unfit)?;
        let mut outputs_of_reference = Vec::new();
        while !ideal.is_done() {
            ideal.advance()?;
            outputs_of_reference.extend_from_slice(ideal.outputs(0));
        }
        Ok(outputs_of_reference)
    }

    /// [`LinearSystem::error_within`] against a course that is known.
    pub(super) fn error_against(
        &self,
        outputs_of_reference: &[f64],
        config: &RunConfig,
        reference: &Reference,
        limit: f64,
    ) -> Result<f64> {
        let width = self.graph.outputs();
        let far = self.distances(config, reference, limit, &mut |k, row| {
            row.copy_from_slice(&outputs_of_reference[k * width..(k + 1) * width]);
            Ok(())
        })?;
        let errors = far.outputs.iter().zip(&reference.ranges).filter(|(_, range)| **range > 0.0);
        let overall = errors.map(|(deviation, range)| deviation.rms() / range).fold(0.0, f64::max);
        Ok(if far.is_within { overall } else { f64::INFINITY })
    }

    /// How far the stand-ins lie from what `ideal` gives for each step.
    fn distances(
        &self,
        config: &RunConfig,
        reference: &Reference,
        limit: f64,
        ideal: &mut dyn FnMut(usize, &mut [f64]) -> Result<()>,
    ) -> Result<Distances> {
        let system = self.excited(reference.excitation)?.ok_or_else(unfit)?;
        let count = steps(reference.horizon, config.step);
        let mut run = Run::new(system, &self.settings(config, count))?;
        let (order, width) = (self.places(&run), self.graph.outputs());
        let most: Vec<f64> =
            reference.ranges.iter().map(|range| (limit * range).powi(2) * count as f64).collect();
        let mut row = vec![0.0; width];
        let mut far = Distances { outputs: vec![Deviation::default(); width], is_within: true };
        let mut k = 0;
        while !run.is_done() && far.is_within {
            ideal(k, &mut row)?;
            far.is_within = run.advance().is_ok();
            for (((y, most), deviation), (id, place)) in
                row.iter().zip(&most).zip(&mut far.outputs).zip(&order)
            {
                let error = run.outputs(*id)[*place] - y;
                deviation.add(error);
                // Outputs that stand still are not judged.
                let is_beyond = *most > 0.0 && deviation.squares() > *most;
                far.is_within &= error.is_finite() && !is_beyond;
            }
            k += 1;
        }
        Ok(far)
    }

    /// The stand-ins from a disturbance, with nothing else that moves them.
    pub(super) fn disturbed(&self, config: &RunConfig, steps: u64) -> Result<Run> {
        let system = linear_system(&self.graph, &self.parts, &self.disturbance())?;
        Run::new(system, &self.settings(config, steps))
    }

    /// The system uncut from the same disturbance.
    pub(super) fn disturbed_uncut(&self, config: &RunConfig, steps: u64) -> Result<Run> {
        let horizon = (steps as f64 + 0.5) * config.step;
        let reference = Reference { horizon, excitation: Excitation::Disturbance, ranges: Vec::new() };
        self.uncut(&reference, config)?.ok_or_else(|| unknown("a subsystem is not linear".into()))
    }

    /// Subsystem and place of each output in a run, which may have another order.
    pub(super) fn places(&self, run: &Run) -> Vec<(usize, usize)> {
        let place = |output: usize| {
            let id = self.graph.subsystem_of_output(output);
            let own = run.graph().find(self.graph.name(id)).unwrap_or(id);
            (own, output - self.graph.outputs_of(id).start)
        };
        (0..self.graph.outputs()).map(place).collect()
    }

    /// The stand-ins, moved.
    fn excited(&self, excitation: Excitation) -> Result<Option<System>> {
        match excitation {
            Excitation::Run => driven_system(&self.graph, &self.parts),
            Excitation::Disturbance => linear_system(&self.graph, &self.parts, &self.disturbance()).map(Some),
        }
    }

    /// Filters are part of the system.
    fn uncut(&self, reference: &Reference, config: &RunConfig) -> Result<Option<Run>> {
        let Some(system) = self.excited(reference.excitation)? else { return Ok(None) };
        let x0 = match reference.excitation {
            _ if self.has_filters() => match self.start(reference.excitation, config)? {
                Some(x0) => x0,
                None => return Ok(None),
            },
            Excitation::Run => vec![0.0; self.states()],
            Excitation::Disturbance => self.disturbance(),
        };
        let Some(uncut) = uncut(system, &x0, &self.shared_solver())? else { return Ok(None) };
        let run = RunConfig {
            schedule: crate::run::ScheduleConfig::PARALLEL,
            every: Default::default(),
            coupling: Default::default(),
            iteration: None,
            ..self.settings(config, steps(reference.horizon, config.step))
        };
        Run::new(uncut, &run).map(Some)
    }

    /// Where the stand-ins start, filters included: those begin at rest, where their sources hold them.
    fn start(&self, excitation: Excitation, config: &RunConfig) -> Result<Option<Vec<f64>>> {
        let Some(system) = self.excited(excitation)? else { return Ok(None) };
        let mut run = Run::new(system, &self.settings(config, 1))?;
        let (mut x0, mut saved) = (Vec::new(), Snapshot::default());
        for (id, part) in self.parts.iter().enumerate() {
            let place = run.graph().find(self.graph.name(id))?;
            run.network_mut().subsystem_mut(place).save(&mut saved)?;
            let filtered =
                self.graph.ports(id).outputs.iter().filter_map(|v| Some((v, v.filtered.as_ref()?)));
            let states = filtered.map(|(v, own)| Ok(own.filter.matrices(&v.name)?.states()));
            let behind = states.sum::<Result<usize>>()?;
            // After the time its own states, at the end those of its filters.
            x0.extend_from_slice(&saved.reals[1..1 + part.matrices.states()]);
            x0.extend_from_slice(&saved.reals[saved.reals.len() - behind..]);
        }
        Ok(Some(x0))
    }

    /// Every state moved by its nominal value or 1, some more, some less.
    fn disturbance(&self) -> Vec<f64> {
        let nominal = |id: usize, at: usize| self.graph.ports(id).locals.get(at).and_then(|v| v.nominal);
        let states = |id: usize| (0..self.parts[id].matrices.states()).map(move |at| (id, at));
        let all = (0..self.parts.len()).flat_map(states).enumerate();
        all.map(|(j, (id, at))| nominal(id, at).unwrap_or(1.0) * (0.3 + 0.7 * (1.7 * j as f64).sin()))
            .collect()
    }

    /// The shortest micro step of those solvers that have a fixed one.
    pub fn finest_micro_step(&self) -> Option<f64> {
        self.parts.iter().filter_map(|part| part.solver.fixed_step()).min_by(f64::total_cmp)
    }

    /// The micro solver that all subsystems share, or none.
    pub(super) fn shared_solver(&self) -> SolverConfig {
        match self.parts.first().map(|part| part.solver) {
            Some(first) if self.parts.iter().all(|part| part.solver == first) => first,
            _ => SolverConfig::Exact {},
        }
    }
}

fn unfit() -> Box<Error> {
    unknown("the error is unknown because the excitation is unknown".into())
}

fn steps(horizon: f64, step: f64) -> u64 {
    ((horizon / step).floor() as u64).max(1)
}

fn outputs(run: &Run) -> impl Iterator<Item = f64> + '_ {
    run.outputs(0).iter().copied()
}
