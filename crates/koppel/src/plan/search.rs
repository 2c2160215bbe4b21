//! The search for the cheapest settings that keep an error.
//!
//! ```text
//! the step is given      methods in the order of what they cost; of the first that keep the error at about the same cost the most
//!                        accurate is taken
//! the step is free       of every method the longest step that keeps the error, from the longest one down,
//!                        unless it takes more calls than a simpler method
//! ```
//!
//! Methods that do much before the run are not looked at if that alone costs more than a whole run with another. What is
//! taken is stable at a longer step, too, and keeps the error at a shorter one: settings that are good by chance are not.

use super::candidate::Candidate;
use super::choice::{RefusedMethod, TriedSettings};
use super::climb::Climb;
use super::task::{Steps, Task};
use crate::coupling::{CouplingConfig, Preparation};
use crate::diagnostic::{Diagnostic, in_one_line};
use crate::error::{Error, Result};

/// Part of the calls that are left which one method may take: one of so many.
const SHARES: f64 = 4.0;
/// A method that takes so many times the calls of a simpler one is given up.
const HOPELESS: f64 = 1.2;
/// Settings that cost no more than this over the cheapest cost about the same: the most accurate of them is taken...
const SAME: f64 = 1.15;
/// ... but the simplest one unless its error is so many times as large.
const WORSE: f64 = 1.25;
/// Levels of shorter steps that are looked at to name one where the given step is too long.
const SHORTER_LEVELS: usize = 8;

/// What is known of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    /// Over the range of each output, the worst.
    pub(super) error: f64,
    /// Of the whole run; infinite if it was not looked at.
    pub(super) cost: f64,
}

/// Tells what settings are worth.
pub(super) trait Judge {
    /// The error; infinite if it is far too large. What keeps the wanted error is stable.
    fn error(&mut self, candidate: &Candidate) -> Result<f64>;
    /// Whether it is stable, however exact.
    fn is_stable(&mut self, candidate: &Candidate) -> bool;
    /// Of the wanted error what settings may have when they are chosen: the rest is for what the judgement does not see.
    fn share(&self) -> f64;
    /// The longest step that can be judged, in s.
    fn longest_step(&self) -> f64;
    /// Calls or communications, counted: comparable between settings, what is done before the run left out.
    fn counted(&self, candidate: &Candidate) -> Result<f64>;
    /// The same with what is done before the run.
    fn cost(&mut self, candidate: &Candidate) -> Result<f64>;
    /// What is done before the run costs; nothing if it is not known.
    fn cost_before(&mut self, candidate: &Candidate) -> Result<Option<f64>>;
    /// Calls that all looks have taken so far.
    fn spent(&self) -> f64;
}

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Settings that keep the error, one for each method, the simplest method first.
    pub(super) kept: Vec<(Candidate, Judged)>,
    /// The most exact ones of those that do not.
    pub(super) missed: Vec<(Candidate, Judged)>,
    pub(super) refused: Vec<RefusedMethod>,
    /// Where the given step is too long, settings with a shorter one that would do.
    pub(super) shorter: Option<Candidate>,
}

impl Found {
    /// For the reader.
    pub(super) fn tried(&self) -> Vec<TriedSettings> {
        let one = |(candidate, judged): &(Candidate, Judged), keeps: bool| TriedSettings {
            method: candidate.method(),
            step: candidate.step,
            error: Some(judged.error).filter(|error| error.is_finite()),
            cost: Some(judged.cost).filter(|cost| cost.is_finite()),
            keeps,
        };
        let (mut kept, mut missed) = (self.kept.clone(), self.missed.clone());
        crate::sort::sort_by(&mut kept, |a, b| a.1.cost.total_cmp(&b.1.cost));
        crate::sort::sort_by(&mut missed, |a, b| a.1.error.total_cmp(&b.1.error));
        kept.iter().map(|each| one(each, true)).chain(missed.iter().map(|each| one(each, false))).collect()
    }

    /// The most accurate of the cheapest; the simplest of those that are about as accurate.
    pub(super) fn best(&self) -> Option<&(Candidate, Judged)> {
        let least = self.least_cost();
        let near = || self.kept.iter().filter(|(_, judged)| judged.cost <= SAME * least);
        let error = near().map(|(_, judged)| judged.error).fold(f64::INFINITY, f64::min);
        near().find(|(_, judged)| judged.error <= WORSE * error)
    }

    fn least_cost(&self) -> f64 {
        self.kept.iter().map(|(_, judged)| judged.cost).fold(f64::INFINITY, f64::min)
    }

    fn refuse(&mut self, method: &Candidate, reason: impl Into<String>) {
        self.refused.push(RefusedMethod { method: method.method(), reason: reason.into() });
    }
}

/// Looks through all methods until the judge has spent so many calls.
pub(super) fn search(task: &Task, judge: &mut dyn Judge, end: f64, progress: &dyn Fn(&str)) -> Found {
    let mut search = Search { task, judge, end, progress, found: Found::default() };
    match task.steps {
        Steps::Given => search.at_given_step(),
        Steps::Free | Steps::Dividing | Steps::Within(_) => search.at_any_step(),
    }
    search.found
}

struct Search<'a> {
    task: &'a Task,
    judge: &'a mut dyn Judge,
    end: f64,
    progress: &'a dyn Fn(&str),
    found: Found,
}

impl Search<'_> {
    /// Methods come in the order of what they cost.
    fn at_given_step(&mut self) {
        let mut methods = self.task.methods();
        let cost = |method: &Candidate| cost_of(method, &*self.judge);
        crate::sort::sort_by(&mut methods, |a, b| {
            let by_cost = cost(a).total_cmp(&cost(b));
            prepares(&a.coupling).cmp(&prepares(&b.coupling)).then(by_cost)
        });
        let all = methods.len();
        for (number, method) in methods.into_iter().enumerate() {
            // The strongest is tried however late it is: nothing else has kept the error.
            let is_last_resort = number + 1 == all && self.found.kept.is_empty();
            if !is_last_resort && self.is_too_late(&method) {
                continue;
            }
            let own = cost_of(&method, &*self.judge);
            // What costs about the same may be more accurate.
            let first = self.found.kept.first().map(|(_, judged)| judged.cost);
            if first.is_some_and(|first| own > SAME * first || prepares(&method.coupling)) {
                break;
            }
            let mut climb = self.climb(f64::INFINITY);
            match climb.at(&method) {
                Ok(Some((candidate, judged))) => {
                    self.found.kept.push((candidate, Judged { cost: own, ..judged }))
                }
                Ok(None) => {
                    let nearest = climb.nearest;
                    self.found.missed.extend(nearest);
                }
                Err(error) => self.found.refuse(&method, reason(&error)),
            }
        }
        if self.found.kept.is_empty() {
            self.leave_unstable_out();
            self.find_shorter();
        }
    }

    fn at_any_step(&mut self) {
        for method in self.task.methods() {
            if self.is_too_late(&method) || self.is_too_dear(&method) {
                continue;
            }
            let least = self.found.kept.iter().map(|(known, _)| self.judge.counted(known));
            let least = least.filter_map(Result::ok).fold(f64::INFINITY, f64::min);
            let mut climb = self.climb(HOPELESS * least);
            match climb.longest(&method) {
                Ok(Some(kept)) => self.found.kept.push(kept),
                Ok(None) => {
                    let nearest = climb.nearest;
                    self.found.missed.extend(nearest);
                }
                Err(error) => self.found.refuse(&method, reason(&error)),
            }
        }
        if self.found.kept.is_empty() {
            self.leave_unstable_out();
        }
        self.measure();
    }

    fn climb(&mut self, limit: f64) -> Climb<'_> {
        // One method alone must not use up what there is for all.
        let spent = self.judge.spent();
        let end = spent + (self.end - spent).max(0.0) / SHARES;
        Climb { task: self.task, judge: &mut *self.judge, end, limit, errors: Vec::new(), nearest: None }
    }

    fn is_too_late(&mut self, method: &Candidate) -> bool {
        let is_late = self.judge.spent() > self.end;
        match is_late {
            true => self.found.refuse(method, "not tried: the calls for choosing were used up"),
            false => (self.progress)(&method.method()),
        }
        is_late
    }

    /// True if what a method does before the run costs more than a run with another.
    fn is_too_dear(&mut self, method: &Candidate) -> bool {
        if !prepares(&method.coupling) || self.found.kept.is_empty() {
            return false;
        }
        self.measure();
        let longest = self.judge.longest_step().min(self.task.range().0);
        let longest = method.at(self.task.allowed(longest));
        match self.judge.cost_before(&longest) {
            Ok(Some(cost)) if cost > self.found.least_cost() => {
                self.found.refuse(
                    method,
                    "its work before the run costs more than a whole run with another method",
                );
                true
            }
            Ok(_) => false,
            Err(error) => {
                self.found.refuse(method, reason(&error));
                true
            }
        }
    }

    /// What those cost of which that is not known yet.
    fn measure(&mut self) {
        let Search { judge, found, .. } = self;
        for (candidate, judged) in found.kept.iter_mut().filter(|(_, judged)| judged.cost.is_infinite()) {
            judged.cost = judge.cost(candidate).unwrap_or(f64::INFINITY);
        }
    }

    /// Where nothing keeps the error, the most exact of those that are stable is the next best.
    fn leave_unstable_out(&mut self) {
        let judge = &mut *self.judge;
        crate::sort::sort_by(&mut self.found.missed, |a, b| a.1.error.total_cmp(&b.1.error));
        let first = self.found.missed.iter().position(|(candidate, _)| judge.is_stable(candidate));
        self.found.missed.drain(..first.unwrap_or(self.found.missed.len()));
    }

    /// A shorter step that would do where the given one is too long, with a method that holds inputs.
    fn find_shorter(&mut self) {
        for method in self.task.methods().into_iter().filter(|method| !prepares(&method.coupling)).take(3) {
            let mut step = method.step;
            for _ in 0..SHORTER_LEVELS {
                step /= 2.0;
                if self.judge.spent() > self.end {
                    return;
                }
                let shorter = method.at(step);
                let is_kept = self.judge.error(&shorter).is_ok_and(|error| error <= self.task.aim.error);
                if is_kept && self.found.shorter.as_ref().is_none_or(|known| known.step < step) {
                    self.found.shorter = Some(shorter);
                    break;
                }
            }
        }
    }
}

/// What settings cost by themselves.
fn cost_of(candidate: &Candidate, judge: &dyn Judge) -> f64 {
    judge.counted(candidate).unwrap_or(f64::INFINITY)
}

/// True if a method excites subsystems or designs something before the run.
fn prepares(coupling: &CouplingConfig) -> bool {
    coupling.parts().iter().any(|one| one.info().preparation != Preparation::None)
}

fn reason(error: &Error) -> String {
    match error {
        Error::Unsupported { reason, .. } => reason.clone(),
        other => in_one_line(&other.what(), 1),
    }
}
