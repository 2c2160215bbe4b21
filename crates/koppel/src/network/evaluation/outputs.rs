//! Iteration of outputs: y = g(x, L y) of one algebraic loop at a communication point (Kübler & Schiehlen 2000, (20)).
//!
//! Guessed are the torn outputs; the members are then read in sequence, each with what the ones before it gave. States
//! do not move, so nothing is rolled back.

use super::Instant;
use super::loop_derivatives::LoopDerivatives;
use super::loop_solver::LoopSolver;
use crate::error::{Error, Result};
use crate::iteration::{AccelerationKind, IterationConfig, LoopWork, OnNonConvergence, Search, Verdict};
use crate::system::{AlgebraicLoop, SubsystemId, SystemGraph};
use crate::tape::Tape;

/// Size of differences: outputs are exact to round-off.
const DELTA: f64 = 1e-7;

pub(super) struct OutputIteration {
    search: Search,
    derivatives: LoopDerivatives,
    /// Subsystems whose outputs are guessed.
    owners: Vec<SubsystemId>,
    members: Vec<SubsystemId>,
    /// Outputs of the members before the search.
    before: Vec<f64>,
    reads: Vec<SubsystemId>,
    is_torn: bool,
    /// Whether the whole loop is solved by Newton's method where the cut amplifies round-off.
    can_solve_whole: bool,
    otherwise: OnNonConvergence,
    work: LoopWork,
}

impl OutputIteration {
    pub(super) fn new(graph: &SystemGraph, outputs: Vec<usize>, config: &IterationConfig) -> Self {
        let torn = AlgebraicLoop::new(graph, outputs);
        let path = torn.path(graph);
        let AlgebraicLoop { outputs, torn, reads, members, .. } =
            if config.torn { torn } else { torn.untorn() };
        let mut owners: Vec<SubsystemId> = torn.iter().map(|o| graph.subsystem_of_output(*o)).collect();
        owners.dedup();
        let unknowns = torn.iter().map(|o| graph.output_name(*o)).collect();
        let is_newton = matches!(config.acceleration, AccelerationKind::Broyden | AccelerationKind::Newton);
        OutputIteration {
            derivatives: LoopDerivatives::new(graph, &outputs, &torn),
            search: Search::new(graph, torn, config, DELTA),
            owners,
            before: Vec::with_capacity(members.iter().map(|id| graph.outputs_of(*id).len()).sum()),
            members,
            reads,
            is_torn: config.torn,
            can_solve_whole: config.torn && is_newton,
            otherwise: config.otherwise,
            work: LoopWork { kind: "outputs".into(), path, unknowns, ..LoopWork::default() },
        }
    }

    /// Makes the outputs of the loop belong together; all members have come to this instant.
    pub(super) fn solve(&mut self, now: &mut Instant<'_>, whole: &mut LoopSolver) -> Result<()> {
        self.search.begin(&now.board.outputs, now.time);
        self.keep(now);
        let verdict = loop {
            self.evaluate(now)?;
            let mut verdict = self.search.judge(&now.board.outputs);
            if verdict == Verdict::Derivatives {
                verdict = self.differentiate(now)?;
            }
            if verdict != Verdict::Again {
                break verdict;
            }
        };
        let (evaluations, residual) = (self.search.evaluations(), self.search.size());
        if verdict == Verdict::Converged {
            self.work.note(evaluations, residual);
            self.search.write(&mut now.board.outputs);
            self.owners.iter().for_each(|id| now.deliver(*id));
            self.search.remember(&now.board.outputs, now.time);
            return Ok(());
        }
        self.search.forget();
        if self.can_solve_whole {
            // From where the search began: where it has ended may be far off.
            self.roll_back(now);
            match whole.solve(now) {
                Ok(()) => {
                    self.work.note(evaluations + whole.evaluations(), whole.residual());
                    self.work.solved_whole += 1;
                    return Ok(());
                }
                Err(error) if matches!(*error, Error::LoopNotSolved { .. } | Error::Linalg { .. }) => {}
                Err(error) => return Err(error),
            }
            // The residual that is reported belongs to the last guess.
            self.roll_back(now);
            if residual.is_finite() {
                self.evaluate(now)?;
            }
        }
        self.work.note(evaluations, residual);
        self.work.note_unconverged(now.time);
        if self.otherwise == OnNonConvergence::Accept && residual.is_finite() {
            return Ok(());
        }
        Err(Error::LoopNotSolved {
            path: self.work.path.clone(),
            time: now.time,
            residual,
            iterations: evaluations as usize,
            worst: now.graph.output_name(self.search.worst()),
        }
        .into())
    }

    /// Derivatives at the guess as the members know them, else by differences.
    fn differentiate(&mut self, now: &mut Instant<'_>) -> Result<Verdict> {
        self.search.write(&mut now.board.outputs);
        self.owners.iter().for_each(|id| now.deliver(*id));
        Ok(match self.derivatives.at(now)? {
            Some(known) => self.search.learn(known),
            None => self.search.differences(),
        })
    }

    /// Keeps the outputs of the members.
    fn keep(&mut self, now: &Instant<'_>) {
        self.before.clear();
        for id in &self.members {
            self.before.extend_from_slice(&now.board.outputs[now.graph.outputs_of(*id)]);
        }
    }

    /// The outputs as they were kept.
    fn roll_back(&self, now: &mut Instant<'_>) {
        let mut rest = &self.before[..];
        for id in &self.members {
            let (own, others) = rest.split_at(now.graph.outputs_of(*id).len());
            now.board.outputs[now.graph.outputs_of(*id)].copy_from_slice(own);
            now.deliver(*id);
            rest = others;
        }
    }

    /// g(z): the guess is sent, then all members are read.
    fn evaluate(&mut self, now: &mut Instant<'_>) -> Result<()> {
        self.search.write(&mut now.board.outputs);
        self.owners.iter().for_each(|id| now.deliver(*id));
        for &id in &self.reads {
            now.read(id)?;
            if self.is_torn {
                now.deliver(id);
            }
        }
        if !self.is_torn {
            self.members.iter().for_each(|id| now.deliver(*id));
        }
        Ok(())
    }

    pub(super) fn work(&self) -> &LoopWork {
        &self.work
    }

    pub(super) fn work_mut(&mut self) -> &mut LoopWork {
        &mut self.work
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        self.search.state(tape);
    }
}
