//! The step matrix of a run, by driving the engine itself.
//!
//!   z' = Φ z                                                                                    (1)
//!
//! z is everything the next step depends on: states of subsystems, outputs, held values, memory of the coupling. Column j of
//! Φ is what the engine makes of a unit vector in one macro step (or as many as several rates have in common), from a
//! run that rests at zero: there, numbers that are no signals (times, sizes, figures of quality) change nothing. What no
//! output sees, no disturbance of a subsystem reaches, or is always a combination of other numbers, is left out.
//!
//! Glumac & Kovacic 2018, 2; differs in: Φ is not put together from matrices of each slave and master.

use super::linear_system::{LinearSystem, is_learning, unknown};
use super::reduce::{observable, reduce};
use crate::error::{Error, Result};
use crate::linalg::{Complex, Matrix, block, spectral_radius};
use crate::run::{Run, RunConfig, RunState, Schedule, StateEntry, StateLayout};
use std::ops::Range;

/// Macro steps before the first column: past the start, with all memory filled.
const WARM_UP: u64 = 4;

/// Macro steps up to which it spans several rates.
const LONGEST: u64 = 4096;

/// Numbers of a state, and those of them that an output sees, up to which eigenvalues are found sooner than growth in a run.
const MOST_NUMBERS: usize = 4000;
const MOST_OBSERVED: usize = 160;

/// How far a step may be from linear, relative to the numbers it is summed from.
const NOT_LINEAR: f64 = 1e-6;

/// What counts as round-off beside the largest output.
const ROUND_OFF: f64 = 1e-12;

/// Equation (1) on a state without redundant numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct StepMatrix {
    /// Φ.
    pub matrix: Matrix,
    /// What the numbers of the state are.
    pub states: Vec<String>,
    /// What the outputs are at the end of the step: outputs by states.
    pub outputs: Matrix,
    /// Their names.
    pub output_names: Vec<String>,
    /// Typical sizes of the numbers of the state, if all of them are declared.
    pub nominals: Option<Vec<f64>>,
    /// Macro steps it spans: several if subsystems move at several rates.
    pub steps: u64,
    /// Communication step, in s.
    pub step: f64,
    /// Φ in orthonormal coordinates.
    pub(super) core: Matrix,
    /// Eigenvalues of the blocks of Φ that act on themselves, see [`reduce`].
    pub(super) of_blocks: Option<Vec<Complex>>,
}

impl StepMatrix {
    /// A number per macro step that is not below the spectral radius, at a part of the work: the largest eigenvalue before anything is
    /// left out but what no output sees. Nothing if a step depends on so many numbers that a run tells sooner.
    pub(super) fn bound(system: &LinearSystem, config: &RunConfig) -> Result<Option<f64>> {
        if system.states() > MOST_OBSERVED && !is_learning(&config.coupling) {
            return Ok(None);
        }
        let steps = period(system, config)?;
        let mut run = system.run(config, (WARM_UP + 8) * steps, &vec![0.0; system.states()])?;
        let mut engine = Engine::new(&mut run, steps, WARM_UP * steps)?;
        if engine.layout.all.len() > MOST_NUMBERS {
            return Ok(None);
        }
        let phi = engine.columns(1.0)?;
        if !engine.is_linear(&phi)? {
            return Err(not_linear(config));
        }
        let is_observable = observable(&phi, &engine.layout.outputs);
        let observed: Vec<usize> = (0..phi.rows()).filter(|k| is_observable[*k]).collect();
        if observed.len() > MOST_OBSERVED {
            return Ok(None);
        }
        let radius = spectral_radius(&block(&phi, &observed, &observed))
            .map_err(|source| Error::Linalg { what: "bound of the step matrix".into(), source })?;
        Ok(Some(radius.powf(1.0 / steps as f64)))
    }

    /// Of a system with these settings.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Unsupported`] with the reason if a step with this coupling is not linear.
    pub fn of(system: &LinearSystem, config: &RunConfig) -> Result<StepMatrix> {
        let steps = period(system, config)?;
        let rest = vec![0.0; system.states()];
        let mut run = system.run(config, (WARM_UP + 8) * steps, &rest)?;
        let mut engine = Engine::new(&mut run, steps, WARM_UP * steps)?;
        let phi = engine.columns(1.0)?;
        if !engine.is_linear(&phi)? {
            return Err(not_linear(config));
        }
        let Engine { layout, run, .. } = engine;
        let order = order(system, run, &layout);
        let reduced = reduce(&phi, &layout.outputs, &order, system.states())?;
        let labels = reduced.kept.iter().map(|k| label(system, run, &layout, *k));
        let (states, nominals): (Vec<String>, Vec<Option<f64>>) = labels.unzip();
        let graph = run.graph();
        Ok(StepMatrix {
            matrix: reduced.matrix,
            states,
            outputs: reduced.outputs,
            output_names: (0..graph.outputs()).map(|output| graph.output_name(output)).collect(),
            nominals: nominals.into_iter().collect(),
            steps,
            step: config.step,
            core: reduced.core,
            of_blocks: reduced.of_blocks,
        })
    }
}

/// After how many macro steps all rates coincide.
fn period(system: &LinearSystem, config: &RunConfig) -> Result<u64> {
    let steps = Schedule::new(config, &system.graph)?.period();
    if steps > LONGEST {
        return Err(unknown(format!("its rates coincide only after {steps} steps")));
    }
    Ok(steps)
}

fn not_linear(config: &RunConfig) -> Box<Error> {
    unknown(format!("a step with `{}` is not linear", config.coupling.name()))
}

/// Which numbers are kept if some are combinations of others: states of subsystems first, then outputs, then memory.
fn order(system: &LinearSystem, run: &Run, layout: &StateLayout) -> Vec<usize> {
    let rank = |k: &usize| match (state(system, run, layout.all[*k]), layout.outputs.contains(k)) {
        (Some(_), _) => 0,
        (None, true) => 1,
        (None, false) => 2,
    };
    let mut order: Vec<usize> = (0..layout.all.len()).collect();
    order.sort_by_key(rank);
    order
}

/// Subsystem and number of a state, if the place holds one. In a saved model the time comes before its states.
fn state(system: &LinearSystem, run: &Run, entry: StateEntry) -> Option<(usize, usize)> {
    let StateEntry::Subsystem(id, at) = entry else { return None };
    let own = system.graph.find(run.graph().name(id)).ok()?;
    (1..=system.parts[own].matrices.states()).contains(&at).then_some((id, at))
}

fn label(system: &LinearSystem, run: &Run, layout: &StateLayout, k: usize) -> (String, Option<f64>) {
    let graph = run.graph();
    if let Some((id, at)) = state(system, run, layout.all[k]) {
        let own = system.graph.find(graph.name(id)).map_or(id, |own| own);
        let declared = system.graph.ports(own).locals.get(at - 1).and_then(|v| v.nominal);
        return (format!("{}.x[{at}]", graph.name(id)), declared);
    }
    match layout.outputs.iter().position(|entry| *entry == k) {
        Some(output) => (graph.output_name(output), graph.output_variable(output).nominal),
        None => ("memory of the coupling".into(), None),
    }
}

/// The engine at rest.
pub(super) struct Engine<'a> {
    run: &'a mut Run,
    /// Macro steps of one column.
    steps: u64,
    rest: RunState,
    /// A copy of it to move numbers in.
    moved: RunState,
    /// Where it goes by itself: counts may differ.
    unmoved: RunState,
    pub(super) layout: StateLayout,
}

/// Largest matrix.
const MOST_GIGABYTES: usize = 4;

/// Numbers that are moved together to see whether any of them matters.
const GROUP: usize = 32;

impl<'a> Engine<'a> {
    /// Past the start by `warm_up` steps, where the coupling may do other things.
    pub(super) fn new(run: &'a mut Run, steps: u64, warm_up: u64) -> Result<Self> {
        (0..warm_up).try_for_each(|_| run.advance())?;
        let mut rest = RunState::default();
        run.save(&mut rest)?;
        let layout = StateLayout::of(run, &rest);
        let moved = rest.clone();
        let mut engine = Engine { run, steps, rest, moved, unmoved: RunState::default(), layout };
        let mut unmoved = RunState::default();
        engine.advance(&mut unmoved)?;
        engine.unmoved = unmoved;
        Ok(engine)
    }

    fn advance(&mut self, into: &mut RunState) -> Result<()> {
        (0..self.steps).try_for_each(|_| self.run.advance())?;
        self.run.save(into)
    }

    /// Φ, a column for every number of the run's state, each of which is moved by `unit`. Most of them are written before they
    /// are read: these are found many at a time.
    pub(super) fn columns(&mut self, unit: f64) -> Result<Matrix> {
        let size = self.layout.all.len();
        let gigabytes = size.saturating_mul(size).saturating_mul(size_of::<f64>()) >> 30;
        if gigabytes > MOST_GIGABYTES {
            return Err(unknown(format!(
                "a step depends on {size} numbers, most of them outputs: their matrix takes {gigabytes} GB of memory"
            )));
        }
        let mut phi = Matrix::zeros(size, size);
        let mut after = RunState::default();
        for first in (0..size).step_by(GROUP) {
            let group = first..(first + GROUP).min(size);
            if group.len() > 1 {
                // No numbers that cancel each other.
                self.move_places(
                    group.clone(),
                    |j| unit * (0.3 + 0.7 * (1.7 * j as f64).sin().abs()),
                    &mut after,
                )?;
                if self.layout.all.iter().all(|entry| after.number(*entry) == self.unmoved.number(*entry)) {
                    continue;
                }
            }
            for j in group {
                self.move_places(j..j + 1, |_| unit, &mut after)?;
                for (i, row) in self.layout.all.iter().enumerate() {
                    let moved = after.number(*row) - self.unmoved.number(*row);
                    if moved != 0.0 {
                        phi[(i, j)] = moved / unit;
                    }
                }
            }
        }
        self.run.restore(&self.rest)?;
        Ok(phi)
    }

    /// Where the run comes to if these numbers are more by so much.
    fn move_places(
        &mut self,
        group: Range<usize>,
        by: impl Fn(usize) -> f64,
        after: &mut RunState,
    ) -> Result<()> {
        for j in group.clone() {
            *self.moved.number_mut(self.layout.all[j]) += by(j);
        }
        self.run.restore(&self.moved)?;
        for j in group {
            let entry = self.layout.all[j];
            *self.moved.number_mut(entry) = self.rest.number(entry);
        }
        self.advance(after)
    }

    /// Whether a run from other states than unit vectors is what Φ says.
    fn is_linear(&mut self, phi: &Matrix) -> Result<bool> {
        let mut state = self.rest.clone();
        for (j, entry) in self.layout.all.iter().enumerate() {
            if let StateEntry::Subsystem(_, at) = entry
                && *at > 0
            {
                // Any numbers will do that are not alike.
                *state.number_mut(*entry) += 0.3 + 0.7 * (1.7 * j as f64).sin();
            }
        }
        self.run.restore(&state)?;
        let (mut before, mut after) = (RunState::default(), RunState::default());
        // What was put in may not fit together; after two steps it does.
        self.advance(&mut after)?;
        self.advance(&mut before)?;
        self.advance(&mut after)?;
        let z: Vec<f64> = self.layout.all.iter().map(|p| before.number(*p) - self.rest.number(*p)).collect();
        let largest = self.layout.outputs.iter().fold(0.0, |most: f64, k| most.max(z[*k].abs()));
        let is_signal = |i: usize| phi.row(i).iter().any(|entry| *entry != 0.0);
        let fits = |i: usize| {
            let (mut sum, mut size) = (0.0, f64::MIN_POSITIVE);
            for (phi, z) in phi.row(i).iter().zip(&z) {
                sum += phi * z;
                size += (phi * z).abs();
            }
            let actual = after.number(self.layout.all[i]) - self.rest.number(self.layout.all[i]);
            (actual - sum).abs() <= NOT_LINEAR * size + ROUND_OFF * largest
        };
        // Of the rest, only what the outputs are matters: times and counts go on by themselves.
        Ok((0..phi.rows()).filter(|i| is_signal(*i) && self.is_seen(phi, *i)).all(fits))
    }

    fn is_seen(&self, phi: &Matrix, i: usize) -> bool {
        self.layout.outputs.contains(&i) || self.layout.outputs.iter().any(|o| phi[(*o, i)] != 0.0)
    }
}
