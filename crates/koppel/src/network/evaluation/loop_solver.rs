//! Solves one algebraic loop at an instant: y = g(L y) for the outputs of a strongly connected component.
//!
//! Damped simplified Newton, z ← z + (I - G)⁻¹ (g(z) - z), G = ∂g/∂z by derivatives where all members know theirs, else by
//! differences. G is kept from one instant to the next and renewed when convergence is slow: linear loops are solved directly.

use super::Instant;
use super::loop_derivatives::LoopDerivatives;
use super::reaction::Reaction;
use crate::diagnostic::Seconds;
use crate::error::{Error, Result};
use crate::linalg::{Lu, Matrix};
use crate::system::{AlgebraicLoop, OutputId, SubsystemId, SystemGraph, Wire};
use crate::tape::Tape;

const MAX_ITERATIONS: usize = 100;
/// Where members are re-initialised for every evaluation, they may be little exact: iterations, accepted residual, differences.
const MAX_ITERATIONS_ANEW: usize = 20;
const ROUND_OFF_ANEW: f64 = 1e-5;
const DELTA_ANEW: f64 = 1e-4;
/// Residual, relative to the unknowns as they are, at which the loop counts as solved.
const TOLERANCE: f64 = 1e-12;
/// Residual, relative to the largest values so far, that is accepted where round-off hides the last digits.
const ROUND_OFF: f64 = 1e-10;
/// By how much unknowns are moved to see what follows, relative to their size.
const DELTA: f64 = 1e-7;
/// A step that lowers the residual by less than this renews G.
const SLOW: f64 = 0.3;
/// A step that makes the residual this much larger is taken back by half.
const WORSE: f64 = 2.0;

pub(super) struct LoopSolver {
    unknowns: Vec<OutputId>,
    members: Vec<SubsystemId>,
    path: String,
    derivatives: LoopDerivatives,
    /// I - G.
    matrix: Matrix,
    /// Its factors, once known.
    lu: Option<Lu>,
    /// Largest value of each unknown at any solution so far.
    scale: Vec<f64>,
    z: Vec<f64>,
    residual: Vec<f64>,
    /// The last step taken.
    change: Vec<f64>,
    disturbed: Vec<f64>,
    /// Evaluations and relative residual of the last solution.
    evaluations: u32,
    last_residual: f64,
    /// The unknown with the largest relative residual.
    worst: usize,
    /// Largest values on the way to the present solution.
    peak: Vec<f64>,
    reaction: Reaction,
}

impl LoopSolver {
    pub(super) fn new(graph: &SystemGraph, unknowns: Vec<OutputId>) -> Self {
        let mut members: Vec<SubsystemId> = unknowns.iter().map(|o| graph.subsystem_of_output(*o)).collect();
        members.sort_unstable();
        members.dedup();
        let (n, reaction) = (unknowns.len(), Reaction::new(&unknowns));
        let path = AlgebraicLoop::new(graph, unknowns.clone()).path(graph);
        LoopSolver {
            derivatives: LoopDerivatives::new(graph, &unknowns, &unknowns),
            unknowns,
            members,
            path,
            matrix: Matrix::zeros(n, n),
            lu: None,
            scale: vec![0.0; n],
            z: vec![0.0; n],
            residual: vec![0.0; n],
            change: vec![0.0; n],
            disturbed: vec![0.0; n],
            evaluations: 0,
            last_residual: 0.0,
            worst: 0,
            peak: vec![0.0; n],
            reaction,
        }
    }

    /// Before the first solution: an output whose input has a start value begins there.
    pub(super) fn guess(&self, now: &mut Instant<'_>) {
        let graph = now.graph;
        for &output in &self.unknowns {
            let alone = |wire: &&Wire| wire.source == output && graph.wires_into(wire.target).len() == 1;
            let Some(wire) = graph.wires().iter().find(alone) else { continue };
            let start = graph.input_variable(wire.target).start;
            if start != 0.0 && wire.gain != 0.0 {
                now.board.outputs[output] = (start - graph.offset(wire.target)) / wire.gain;
            }
        }
    }

    pub(super) fn members(&self) -> &[SubsystemId] {
        &self.members
    }

    /// Notes at the start which members follow their inputs.
    pub(super) fn note_reactions(&mut self, now: &mut Instant<'_>) -> Result<()> {
        self.reaction.note(now, &self.members)
    }

    /// Refuses members that do so no more.
    #[inline]
    pub(super) fn check_reactions(&mut self, now: &mut Instant<'_>) -> Result<()> {
        self.reaction.check(now, &self.path)
    }

    /// True if all members have come to this instant.
    pub(super) fn is_here(&self, now: &Instant<'_>) -> bool {
        self.members.iter().all(|id| now.is_here(*id))
    }

    pub(super) fn solve(&mut self, now: &mut Instant<'_>) -> Result<()> {
        if !self.is_here(now) {
            return self.read_those_here(now);
        }
        for (z, output) in self.z.iter_mut().zip(&self.unknowns) {
            *z = now.board.outputs[*output];
        }
        self.evaluations = 0;
        self.peak.fill(0.0);
        let (mut last, mut stalls) = (f64::INFINITY, 0);
        let (iterations, round_off) = match now.late {
            Some(_) => (MAX_ITERATIONS_ANEW, ROUND_OFF_ANEW),
            None => (MAX_ITERATIONS, ROUND_OFF),
        };
        for iteration in 0..iterations {
            let (size, of_largest) = self.evaluate(now)?;
            stalls = if size > 0.5 * last { stalls + 1 } else { 0 };
            if size <= TOLERANCE || (stalls > 2 && of_largest <= round_off) {
                self.last_residual = size;
                self.accept(now);
                return Ok(());
            }
            if iteration > 0 && size > WORSE * last {
                self.take_back_half();
                continue;
            }
            if self.lu.is_none() || size > SLOW * last {
                self.renew(now)?;
            }
            last = size;
            if let Some(lu) = &self.lu {
                lu.solve_in_place(&mut self.residual);
            }
            self.change.copy_from_slice(&self.residual);
            self.z.iter_mut().zip(&self.change).for_each(|(z, d)| *z += d);
        }
        let (residual, _) = self.evaluate(now)?;
        let (path, time) = (self.path.clone(), now.time);
        let worst = now.graph.output_name(self.unknowns[self.worst]);
        Err(Error::LoopNotSolved { path, time, residual, iterations, worst }.into())
    }

    /// With a member ahead of time there is nothing to solve yet; the others are read with what has arrived.
    fn read_those_here(&self, now: &mut Instant<'_>) -> Result<()> {
        for &id in &self.members {
            if now.is_here(id) {
                now.read(id)?;
                now.deliver(id);
            }
        }
        Ok(())
    }

    fn take_back_half(&mut self) {
        for (z, d) in self.z.iter_mut().zip(&mut self.change) {
            *d *= 0.5;
            *z -= *d;
        }
    }

    /// residual = g(z) - z; returns its size relative to the unknowns as they are, and to their largest values so far.
    fn evaluate(&mut self, now: &mut Instant<'_>) -> Result<(f64, f64)> {
        self.evaluations += 1;
        let LoopSolver { z, residual, scale, unknowns, members, worst, peak, .. } = self;
        results(now, unknowns, members, z, residual)?;
        let (mut size, mut of_largest): (f64, f64) = (0.0, 0.0);
        for (i, ((r, z), scale)) in residual.iter_mut().zip(z).zip(scale).enumerate() {
            peak[i] = peak[i].max(z.abs());
            // A solution that is zero has no size of its own: beside the first guess it is round-off.
            let present = z.abs().max(r.abs()).max(1e-4 * peak[i]);
            *r -= *z;
            if !r.is_finite() {
                *worst = i;
                return Ok((f64::INFINITY, f64::INFINITY));
            }
            if *r != 0.0 {
                if r.abs() / present > size {
                    (size, *worst) = (r.abs() / present, i);
                }
                of_largest = of_largest.max(r.abs() / present.max(*scale));
            }
        }
        Ok((size, of_largest))
    }

    /// I - G around z; `residual` stays.
    fn renew(&mut self, now: &mut Instant<'_>) -> Result<()> {
        let n = self.z.len();
        if let Some(known) = self.derivatives.at(now)? {
            for i in 0..n {
                for j in 0..n {
                    self.matrix[(i, j)] = f64::from(u8::from(i == j)) - known[(i, j)];
                }
            }
            return self.factor(now.time);
        }
        self.difference(now)?;
        self.factor(now.time)
    }

    /// The same by forward differences.
    fn difference(&mut self, now: &mut Instant<'_>) -> Result<()> {
        for j in 0..self.z.len() {
            let kept = self.z[j];
            let size = self.scale[j].max(kept.abs());
            let part = if now.late.is_some() { DELTA_ANEW } else { DELTA };
            let delta = part * if size > 0.0 { size } else { 1.0 };
            self.z[j] += delta;
            let moved = self.z[j] - kept;
            self.evaluations += 1;
            results(now, &self.unknowns, &self.members, &self.z, &mut self.disturbed)?;
            self.z[j] = kept;
            for i in 0..self.z.len() {
                let g = self.residual[i] + self.z[i];
                self.matrix[(i, j)] = f64::from(u8::from(i == j)) - (self.disturbed[i] - g) / moved;
            }
        }
        Ok(())
    }

    fn factor(&mut self, time: f64) -> Result<()> {
        let done = match &mut self.lu {
            Some(lu) => lu.refactor(&self.matrix),
            None => Lu::new(&self.matrix).map(|lu| self.lu = Some(lu)),
        };
        done.map_err(|source| {
            // Half-made factors are of no use later.
            self.lu = None;
            let what = format!("algebraic loop {} at t = {} s", self.path, Seconds(time));
            Error::Linalg { what, source }.into()
        })
    }

    /// Leaves outputs and wires with the solution.
    fn accept(&mut self, now: &mut Instant<'_>) {
        for ((z, output), scale) in self.z.iter().zip(&self.unknowns).zip(&mut self.scale) {
            now.board.outputs[*output] = *z;
            *scale = scale.max(z.abs());
        }
        self.members.iter().for_each(|id| now.deliver(*id));
    }

    /// Evaluations of the last solution.
    pub(super) fn evaluations(&self) -> u32 {
        self.evaluations
    }

    /// Relative residual of the last solution.
    pub(super) fn residual(&self) -> f64 {
        self.last_residual
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        let mut is_known = self.lu.is_some();
        tape.flag(&mut is_known);
        tape.numbers(&mut self.scale);
        tape.numbers(self.matrix.as_mut_slice());
        if tape.is_reading() {
            self.lu = if is_known { Lu::new(&self.matrix).ok() } else { None };
        }
    }
}

/// out = g(z): sends z along the wires and reads all members.
fn results(
    now: &mut Instant<'_>,
    unknowns: &[OutputId],
    members: &[SubsystemId],
    z: &[f64],
    out: &mut [f64],
) -> Result<()> {
    for (z, output) in z.iter().zip(unknowns) {
        now.board.outputs[*output] = *z;
    }
    members.iter().for_each(|id| now.deliver(*id));
    members.iter().try_for_each(|id| now.read(*id))?;
    for (g, output) in out.iter_mut().zip(unknowns) {
        *g = now.board.outputs[*output];
    }
    Ok(())
}
