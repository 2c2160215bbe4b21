//! The longest step of one method that keeps the error, with margins.

use super::candidate::Candidate;
use super::search::{Judge, Judged};
use super::task::Task;
use crate::error::Result;

/// From one step that is tried to the next.
const RATIO: f64 = 1.8;
/// Halvings of the last gap.
const HALVINGS: usize = 4;
/// A longer step that must be stable.
const LONGER: f64 = 1.25;
/// A shorter one that must keep the error.
const SHORTER: f64 = 0.85;

/// One method.
pub(super) struct Climb<'a> {
    pub(super) task: &'a Task,
    pub(super) judge: &'a mut dyn Judge,
    /// What all looks together may have taken when it gives up.
    pub(super) end: f64,
    /// Calls from which on it is given up.
    pub(super) limit: f64,
    /// Steps that were looked at, with their errors.
    pub(super) errors: Vec<(f64, f64)>,
    /// The most exact setting that was seen.
    pub(super) nearest: Option<(Candidate, Judged)>,
}

impl Climb<'_> {
    /// At its own step.
    pub(super) fn at(&mut self, method: &Candidate) -> Result<Option<(Candidate, Judged)>> {
        let kept = self.look(method)?.then(|| self.kept(method));
        Ok(kept.flatten().filter(|_| self.judge.is_stable(&method.at(LONGER * method.step))))
    }

    /// The longest step that keeps the error.
    pub(super) fn longest(&mut self, method: &Candidate) -> Result<Option<(Candidate, Judged)>> {
        let longest = self.judge.longest_step().min(self.task.range().0);
        let Some((mut good, mut bad)) = self.down(&method.at(self.task.allowed(longest)), None)? else {
            return Ok(None);
        };
        for _ in 0..HALVINGS {
            let Some(above) = bad else { break };
            let middle = good.at(self.task.allowed((good.step * above).sqrt()));
            if middle.step <= good.step * 1.01 || self.is_late() {
                break;
            }
            match self.look(&middle)? {
                true => good = middle,
                false => bad = Some(middle.step),
            }
        }
        self.with_margins(good)
    }

    /// The first that keeps the error, from this step down, and the step above it that does not.
    fn down(&mut self, first: &Candidate, above: Option<f64>) -> Result<Option<(Candidate, Option<f64>)>> {
        let (_, shortest) = self.task.range();
        let (mut next, mut bad) = (first.clone(), above);
        loop {
            if self.judge.counted(&next)? > self.limit || self.is_late() {
                return Ok(None);
            }
            if self.look(&next)? {
                return Ok(Some((next, bad)));
            }
            bad = Some(next.step);
            let step = self.task.allowed(next.step / RATIO);
            if step < shortest || step >= next.step {
                return Ok(None);
            }
            next = next.at(step);
        }
    }

    /// Shortened until it is stable above and exact below.
    fn with_margins(&mut self, mut good: Candidate) -> Result<Option<(Candidate, Judged)>> {
        let (_, shortest) = self.task.range();
        loop {
            let shorter = good.at(self.task.allowed(SHORTER * good.step));
            let is_exact = self.error(&shorter)? <= self.task.aim.error;
            if is_exact && self.judge.is_stable(&good.at(LONGER * good.step)) {
                return Ok(self.kept(&good));
            }
            if shorter.step < shortest || shorter.step >= good.step {
                return Ok(None);
            }
            if self.is_late() {
                // The shorter one has the longer one above it.
                return Ok(self.look(&shorter)?.then(|| self.kept(&shorter)).flatten());
            }
            good = match self.look(&shorter)? {
                true => shorter,
                false => match self.down(&shorter.at(self.task.allowed(shorter.step / RATIO)), None)? {
                    Some((lower, _)) => lower,
                    None => return Ok(None),
                },
            };
        }
    }

    /// Whether settings keep the error, with what the judgement does not see.
    fn look(&mut self, candidate: &Candidate) -> Result<bool> {
        let error = self.error(candidate)?;
        let is_nearer = |(_, known): &(Candidate, Judged)| error < known.error;
        if error.is_finite() && self.nearest.as_ref().is_none_or(is_nearer) {
            self.nearest = Some((candidate.clone(), Judged { error, cost: f64::INFINITY }));
        }
        Ok(error <= self.judge.share() * self.task.aim.error)
    }

    fn error(&mut self, candidate: &Candidate) -> Result<f64> {
        if let Some((_, error)) = self.errors.iter().find(|(step, _)| *step == candidate.step) {
            return Ok(*error);
        }
        let error = self.judge.error(candidate)?;
        self.errors.push((candidate.step, error));
        Ok(error)
    }

    /// Settings that were looked at, with their error.
    fn kept(&mut self, candidate: &Candidate) -> Option<(Candidate, Judged)> {
        let error = self.error(candidate).ok()?;
        Some((candidate.clone(), Judged { error, cost: f64::INFINITY }))
    }

    fn is_late(&self) -> bool {
        self.judge.spent() > self.end
    }
}
