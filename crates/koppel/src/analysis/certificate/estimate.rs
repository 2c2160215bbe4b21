//! The global error of a run, from the defects of its connections.
//!
//! A coupled run is the system under a disturbance: with u = L y + δ(t) its error obeys
//!
//!   e' = A e + B w,    e_y = C e + D w,    w = δ + L e_y                                        (1)
//!
//! δ is what the inputs were given less what was connected to them, at every instant: given inputs are known, outputs inside
//! a step are solved (see [`super::inside`]). (1) is exact for linear subsystems, and [`super::spread`] solves it; there is no estimate of
//! others. Solvers count as exact, but for explicit Euler's late look at its inputs.

use super::inside::{Inside, Within};
use super::spread::{Part, Spread};
use super::stride::Stride;
use crate::analysis::linear_system::not_linear;
use crate::error::{Error, Result};
use crate::linalg::{Complex, Matrix, eigenvalues, spectral_radius};
use crate::run::Run;
use crate::solver::SolverConfig;
use crate::system::{StateSpace, SubsystemId, SystemGraph, monolithic_matrices};
use std::f64::consts::PI;

/// Parts of a step: at least, and at most, unless inputs have more pieces.
const PARTS: (f64, f64) = (4.0, 32.0);
/// Parts of each piece at least, if inputs have several pieces in a step.
const IN_A_PIECE: usize = 3;

/// How far the fastest mode may go in one part, as |λ| h.
const PART: f64 = 0.7;

/// Of larger matrices no eigenvalues are taken.
const MOST_STATES: usize = 100;

/// Damping ratio below which a pole vibrates.
const LIGHT: f64 = 0.2;

/// How many lengths of steps are remembered.
const REMEMBERED: usize = 32;

/// Solutions over steps of one length.
struct Length {
    size: f64,
    /// Over one part, of each subsystem, and of the errors.
    strides: Vec<Stride>,
    part: Part,
}

/// Follows a run.
pub(super) struct Estimate {
    parts: Vec<Inside>,
    lengths: Vec<Length>,
    /// (1).
    spread: Spread,
    /// What connections gave, inputs with external signals, outputs and defects at the ends of the parts of a step.
    given: Matrix,
    inputs: Matrix,
    outputs: Matrix,
    pub(super) defects: Matrix,
    /// Defects at the end of the step.
    ends: Vec<f64>,
    /// Per input, the step of the solver behind it, in s, if that looks back: explicit Euler takes what was given at the begin
    /// of each of its own steps. Otherwise 0.
    lags: Vec<f64>,
    /// e_y at the end of the step.
    pub(super) error: Vec<f64>,
    /// When it began.
    start: f64,
    /// Length of the last step.
    size: f64,
    changes: usize,
}

impl Estimate {
    /// For a run as it stands.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] with the reason if there is no linear model of it.
    pub(super) fn new(run: &mut Run) -> Result<Self> {
        refuse_unknown(run)?;
        let parts = inside(run)?;
        if let Some(id) = (0..parts.len()).find(|id| !parts[*id].gives_outputs(run, *id)) {
            return Err(not_exact(run, id));
        }
        let mut spread = Spread::new(run.graph(), &parts)?;
        let pieces = count_parts(run, &parts, &mut spread);
        let (inputs, outputs) = (run.graph().inputs(), run.graph().outputs());
        Ok(Estimate {
            lengths: Vec::new(),
            spread,
            given: Matrix::zeros(pieces + 1, inputs),
            inputs: Matrix::zeros(pieces + 1, inputs),
            outputs: Matrix::zeros(pieces + 1, outputs),
            defects: Matrix::zeros(pieces + 1, inputs),
            ends: vec![0.0; inputs],
            lags: lags(run),
            error: vec![0.0; outputs],
            start: run.time(),
            size: run.step_size(),
            changes: run.changes().made(),
            parts,
        })
    }

    /// Goes on by the step of this length that was just made.
    pub(super) fn follow(&mut self, run: &mut Run, size: f64) -> Result<()> {
        if run.changes().made() != self.changes {
            self.jump(run)?;
        }
        let at = self.fit(run.graph(), size)?;
        self.size = size;
        self.note_inputs(run);
        let Length { strides, part, .. } = &mut self.lengths[at];
        for (id, (inside, stride)) in self.parts.iter_mut().zip(&mut *strides).enumerate() {
            inside.follow(run, id, &self.inputs, Within { stride, out: &mut self.outputs });
        }
        note_defects(run, &self.given, &self.outputs, &mut self.defects);
        self.ends.copy_from_slice(self.defects.row(self.defects.rows() - 1));
        look_back(&self.lags, size, &mut self.defects);
        self.spread.follow(run.graph(), &self.parts, (part, strides), &self.defects);
        if run.network().reads_fresh() {
            self.ends.fill(0.0);
        }
        self.spread.outputs(run.graph(), &self.parts, &self.ends, &mut self.error);
        Ok(())
    }

    /// Where the solutions over steps of this length are.
    fn fit(&mut self, graph: &SystemGraph, size: f64) -> Result<usize> {
        let is_same = |length: &Length| (length.size - size).abs() <= 1e-9 * size;
        if let Some(at) = self.lengths.iter().position(is_same) {
            return Ok(at);
        }
        if self.lengths.len() == REMEMBERED {
            self.lengths.remove(0);
        }
        let count = self.defects.rows() - 1;
        let part = size / count as f64;
        let strides: Vec<Stride> =
            self.parts.iter().map(|inside| inside.solve(part)).collect::<Result<_>>()?;
        let part = self.spread.part(graph, &self.parts, &strides)?;
        self.lengths.push(Length { size, strides, part });
        Ok(self.lengths.len() - 1)
    }

    /// Timed changes were made at the begin of the step: subsystems are others, and what was set has no error.
    fn jump(&mut self, run: &mut Run) -> Result<()> {
        let from = std::mem::replace(&mut self.changes, run.changes().made());
        self.renew(run)?;
        for (id, index, value) in run.changes().states_set(from) {
            if index < self.parts[id].matrices.states() {
                self.parts[id].set_state(index, value);
                self.spread.clear_state(id, index);
            }
        }
        Ok(())
    }

    /// Vibrations that are faster than the communication: of lightly damped poles beyond half its frequency.
    pub(super) fn signs(&self, run: &Run) -> Vec<String> {
        let (graph, limit) = (run.graph(), PI / run.largest_step_taken());
        let one = |(id, part): (usize, &Inside)| {
            let poles = eigenvalues(&part.matrices.a).ok()?;
            let is_fast = |p: &&Complex| p.im > limit && p.re > -LIGHT * p.abs();
            let slowest = poles.iter().filter(is_fast).map(|p| p.im).reduce(f64::min)?;
            let (hz, at_most) = (slowest / (2.0 * PI), limit / (2.0 * PI));
            Some(format!(
                "`{}` vibrates at {hz:.3} Hz, above half the communication frequency ({at_most:.3} Hz)",
                graph.name(id)
            ))
        };
        self.parts.iter().enumerate().filter_map(one).collect()
    }

    /// A solver with fixed steps that makes a mode grow which does not, if there is one: within the run by e.
    ///
    /// If all subsystems share it, that of the whole system counts; else those of each subsystem alone.
    pub(super) fn unstable_solver(&self, run: &Run) -> Option<String> {
        let graph = run.graph();
        let solvers: Vec<_> =
            (0..graph.len()).map(|id| run.network().subsystem(id).capabilities().solver_config).collect();
        let is_shared = solvers.iter().all(|solver| *solver == solvers[0]);
        let time = run.time() - self.start;
        let grows = |solver: Option<SolverConfig>, a: &Matrix| {
            let solver = solver?;
            let modes = eigenvalues(a).ok()?;
            // Less what the mode does by itself.
            let excess = |p: &Complex| Some(solver.growth_rate(*p)? - p.re.max(0.0));
            let is_too_fast =
                |p: &Complex| excess(p).is_some_and(|rate| rate * time > 1.0 && rate > p.re.max(0.0));
            solver.fixed_step().filter(|_| modes.iter().any(is_too_fast))
        };
        let words = |whose: &str, step: f64| {
            format!(
                "{whose} solver is unstable at its step of {step:e} s, even without coupling; use a smaller step"
            )
        };
        let states: usize = self.parts.iter().map(|part| part.matrices.states()).sum();
        if is_shared && states <= MOST_STATES {
            let closed = close(run, &self.parts).ok()?;
            return grows(solvers[0], &closed.a).map(|step| words("the subsystems'", step));
        }
        let one = |(id, part): (usize, &Inside)| {
            let step = grows(solvers[id], &part.matrices.a)?;
            Some(words(&format!("`{}`'s", graph.name(id)), step))
        };
        self.parts.iter().enumerate().find_map(one)
    }

    /// What the inputs were given, without external signals and with them.
    fn note_inputs(&mut self, run: &Run) {
        let last = self.inputs.rows() - 1;
        let part = self.size / last as f64;
        for j in 0..=last {
            let tau = part * j as f64;
            let row = self.given.row_mut(j);
            row.iter_mut().enumerate().for_each(|(input, value)| *value = run.network().given(input, tau));
        }
        self.inputs.as_mut_slice().copy_from_slice(self.given.as_slice());
        let begin = run.time() - self.size;
        for (input, _) in run.graph().externals() {
            let id = run.graph().subsystem_of_input(*input);
            for j in 0..=last {
                // A signal may jump at the end of the step; that belongs to the next one.
                let tau = part * j as f64 * if j < last { 1.0 } else { 1.0 - 1e-9 };
                self.inputs[(j, *input)] =
                    self.given[(j, *input)] + run.network().external(id, *input, begin + tau);
            }
        }
    }

    /// Takes the matrices as they are now.
    fn renew(&mut self, run: &mut Run) -> Result<()> {
        let parts = inside(run)?;
        let states = |parts: &[Inside]| parts.iter().map(|part| part.matrices.states()).sum::<usize>();
        if states(&parts) != states(&self.parts) {
            return Err(unknown("the number of its states has changed".into()));
        }
        self.lengths.clear();
        self.parts.iter_mut().zip(parts).for_each(|(old, new)| old.renew(new));
        self.spread.renew(run.graph(), &self.parts)
    }
}

/// What connected inputs were given less what was connected to them. What is free has no defect.
fn note_defects(run: &Run, given: &Matrix, outputs: &Matrix, defects: &mut Matrix) {
    let graph = run.graph();
    for input in 0..defects.cols() {
        let (wires, offset) = (&graph.wires()[graph.wires_into(input)], graph.offset(input));
        if wires.is_empty() {
            continue;
        }
        for j in 0..defects.rows() {
            let y = outputs.row(j);
            let arrives = wires.iter().map(|wire| wire.gain * y[wire.source]).sum::<f64>();
            defects[(j, input)] = given[(j, input)] - offset - arrives;
        }
    }
}

/// Solvers that look back see defects late, by their own step in s.
fn look_back(lags: &[f64], size: f64, defects: &mut Matrix) {
    let last = defects.rows() - 1;
    for (input, step) in lags.iter().enumerate().filter(|(_, step)| **step > 0.0) {
        let lag = 1.0 / (size / step).round().max(1.0);
        for j in (1..=last).rev() {
            let at = j as f64 * (1.0 - lag);
            let (from, share) = (at as usize, at.fract());
            let (a, b) = (defects[(from, input)], defects[((from + 1).min(last), input)]);
            defects[(j, input)] = a + share * (b - a);
        }
    }
}

fn inside(run: &mut Run) -> Result<Vec<Inside>> {
    let mut parts = Vec::new();
    for id in 0..run.graph().len() {
        parts.push(Inside::new(run, id)?.ok_or_else(|| not_exact(run, id))?);
    }
    Ok(parts)
}

/// In how many parts steps are followed: enough for the fastest mode, coupled or not, and a multiple of the pieces of inputs.
fn count_parts(run: &Run, parts: &[Inside], spread: &mut Spread) -> usize {
    let mut fastest = spread.fastest(run.graph(), parts);
    for a in parts.iter().map(|part| &part.matrices.a) {
        if (1..=MOST_STATES).contains(&a.rows()) {
            fastest = spectral_radius(a).map_or(fastest, |radius| fastest.max(radius));
        }
    }
    let wanted = (fastest * run.largest_step() / PART).ceil().clamp(PARTS.0, PARTS.1) as usize;
    let pieces = run.network().pieces();
    // Pieces may meet what they stand for at their ends, and miss it in between.
    let least = if pieces > 1 { IN_A_PIECE } else { 1 };
    pieces * wanted.div_ceil(pieces).max(least)
}

/// How far the solver behind each input looks back, in s: explicit Euler by one of its own steps.
fn lags(run: &Run) -> Vec<f64> {
    let graph = run.graph();
    let of = |input: usize| match run
        .network()
        .subsystem(graph.subsystem_of_input(input))
        .capabilities()
        .solver_config
    {
        Some(SolverConfig::Euler { step }) => step,
        _ => 0.0,
    };
    (0..graph.inputs()).map(of).collect()
}

fn close(run: &Run, parts: &[Inside]) -> Result<StateSpace> {
    let matrices: Vec<StateSpace> = parts.iter().map(|part| part.matrices.clone()).collect();
    monolithic_matrices(run.graph(), &matrices)
}

fn refuse_unknown(run: &Run) -> Result<()> {
    let graph = run.graph();
    if let Some(reason) = not_linear(graph) {
        return Err(unknown(reason));
    }
    if !run.has_one_rate() {
        return Err(unknown("its subsystems have several rates".into()));
    }
    Ok(())
}

fn not_exact(run: &Run, id: SubsystemId) -> Box<Error> {
    unknown(format!("`{}` is not linear", run.graph().name(id)))
}

fn unknown(reason: String) -> Box<Error> {
    Error::Unsupported { what: "an estimate of the error".into(), reason }.into()
}
