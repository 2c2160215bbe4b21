//! The search for the cheapest settings that keep an error: method by method, each at the longest step it can take.
//!
//! A method begins at the step of the best one so far. From there it climbs while it keeps the error, or goes down until it
//! does, unless it has become dearer than the best on the way. The last gap is halved. What is taken is stable at a
//! longer step, too, and keeps the error at a shorter one: settings that are good by chance are not.

use super::candidate::Candidate;
use super::choice::{Refused, Tried};
use super::wish::{Steps, Wish};
use crate::error::{Error, Result};
use std::time::Instant;

/// From one step that is tried to the next.
const RATIO: f64 = 1.6;
/// Halvings of the last gap.
const HALVINGS: usize = 3;
/// Of the wanted error what settings may have when they are chosen: the rest is for what the judgement does not see.
const SHARE: f64 = 0.8;
/// A longer step that must be stable.
const LONGER: f64 = 1.25;
/// A shorter one that must keep the error.
const SHORTER: f64 = 0.85;
/// Part of the time that is left which one method may take: one of so many.
const SHARES: u32 = 4;
/// A method this much dearer than the best at a step that is still too long for it is given up.
const HOPELESS: f64 = 1.5;

/// What is known of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    /// Over the range of each output, the worst; infinite if it is not stable.
    pub(super) error: f64,
    /// Of the whole run.
    pub(super) cost: f64,
}

/// Tells what settings are worth.
pub(super) trait Judge {
    /// Error and cost.
    fn judge(&mut self, candidate: &Candidate) -> Result<Judged>;
    /// Whether it is stable, however exact.
    fn is_stable(&mut self, candidate: &Candidate) -> bool;
}

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Settings that keep the error, one for each method.
    pub(super) kept: Vec<(Candidate, Judged)>,
    /// The most exact ones of those that do not.
    pub(super) missed: Vec<(Candidate, Judged)>,
    pub(super) refused: Vec<Refused>,
}

impl Found {
    /// For the reader.
    pub(super) fn tried(&self) -> Vec<Tried> {
        let one = |(candidate, judged): &(Candidate, Judged), keeps: bool| Tried {
            method: candidate.method(),
            step: candidate.step,
            error: Some(judged.error).filter(|error| error.is_finite()),
            cost: Some(judged.cost).filter(|cost| cost.is_finite()),
            keeps,
        };
        let (mut kept, mut missed) = (self.kept.clone(), self.missed.clone());
        kept.sort_by(|a, b| a.1.cost.total_cmp(&b.1.cost));
        missed.sort_by(|a, b| a.1.error.total_cmp(&b.1.error));
        kept.iter().map(|each| one(each, true)).chain(missed.iter().map(|each| one(each, false))).collect()
    }

    fn least_cost(&self) -> f64 {
        self.kept.iter().map(|(_, judged)| judged.cost).fold(f64::INFINITY, f64::min)
    }
}

/// Looks through all methods until `deadline`.
pub(super) fn search(
    wish: &Wish,
    judge: &mut dyn Judge,
    deadline: Instant,
    progress: &dyn Fn(&str),
) -> Found {
    let mut found = Found::default();
    for method in wish.methods() {
        if Instant::now() > deadline {
            found.refused.push(Refused {
                method: method.method(),
                reason: "not tried: choosing had taken long enough".into(),
            });
            continue;
        }
        progress(&method.method());
        let from = found.kept.iter().min_by(|a, b| a.1.cost.total_cmp(&b.1.cost));
        let from = from.map_or(method.step, |(best, _)| best.step);
        // One method alone must not use up the time of all.
        let now = Instant::now();
        let own = now + deadline.saturating_duration_since(now) / SHARES;
        let mut climb = Climb { wish, judge, deadline: own, limit: found.least_cost(), nearest: None };
        match climb.of(&method.at(wish.allowed(from.min(wish.range().0)))) {
            Ok(Some(kept)) => found.kept.push(kept),
            Ok(None) => found.missed.extend(climb.nearest),
            Err(error) => found.refused.push(Refused { method: method.method(), reason: reason(&error) }),
        }
    }
    found
}

/// One method.
struct Climb<'a> {
    wish: &'a Wish,
    judge: &'a mut dyn Judge,
    deadline: Instant,
    /// Cost of the best of the others.
    limit: f64,
    /// The most exact setting that was seen.
    nearest: Option<(Candidate, Judged)>,
}

impl Climb<'_> {
    /// The longest step that keeps the error.
    fn of(&mut self, first: &Candidate) -> Result<Option<(Candidate, Judged)>> {
        let judged = self.judge(first)?;
        if self.wish.steps == Steps::Given {
            let is_kept = self.keeps(&judged) && self.judge.is_stable(&first.at(LONGER * first.step));
            return Ok(is_kept.then(|| (first.clone(), judged)));
        }
        let bracket = match self.keeps(&judged) {
            true => Some(self.up((first.clone(), judged))?),
            false => self.down(first, judged)?,
        };
        let Some((mut good, mut bad)) = bracket else { return Ok(None) };
        for _ in 0..HALVINGS {
            let Some(above) = bad else { break };
            let middle = good.0.at(self.wish.allowed((good.0.step * above).sqrt()));
            if middle.step <= good.0.step * 1.01 || self.is_late() {
                break;
            }
            let judged = self.judge(&middle)?;
            match self.keeps(&judged) {
                true => good = (middle, judged),
                false => bad = Some(middle.step),
            }
        }
        self.with_margins(good)
    }

    /// Longer and longer steps; with the first that does not keep the error.
    fn up(&mut self, mut good: (Candidate, Judged)) -> Result<((Candidate, Judged), Option<f64>)> {
        let (longest, _) = self.wish.range();
        loop {
            let next = good.0.at(self.wish.allowed((RATIO * good.0.step).min(longest)));
            if next.step <= good.0.step * 1.01 || self.is_late() {
                return Ok((good, None));
            }
            let judged = self.judge(&next)?;
            if !self.keeps(&judged) {
                return Ok((good, Some(next.step)));
            }
            good = (next, judged);
        }
    }

    /// Shorter and shorter steps.
    #[expect(clippy::type_complexity, reason = "the same as of `up`, or nothing")]
    fn down(
        &mut self,
        first: &Candidate,
        judged: Judged,
    ) -> Result<Option<((Candidate, Judged), Option<f64>)>> {
        let (mut bad, mut judged) = (first.step, judged);
        let (_, shortest) = self.wish.range();
        loop {
            let next = first.at(self.wish.allowed(bad / RATIO));
            // Shorter steps cost more; unstable ones may have ended early.
            let is_hopeless = judged.error.is_finite() && judged.cost > HOPELESS * self.limit;
            if next.step < shortest || next.step >= bad || is_hopeless || self.is_late() {
                return Ok(None);
            }
            judged = self.judge(&next)?;
            if self.keeps(&judged) {
                return Ok(Some(((next, judged), Some(bad))));
            }
            bad = next.step;
        }
    }

    /// Shortened until it is stable above and exact below.
    fn with_margins(&mut self, mut good: (Candidate, Judged)) -> Result<Option<(Candidate, Judged)>> {
        let (_, shortest) = self.wish.range();
        loop {
            let step = good.0.step;
            let is_stable = self.judge.is_stable(&good.0.at(LONGER * step));
            let shorter = good.0.at(self.wish.allowed(SHORTER * step));
            let judged = self.judge(&shorter)?;
            if is_stable && judged.error <= self.wish.aim.error {
                return Ok(Some(good));
            }
            if self.is_late() {
                // The shorter one has the longer one above it.
                return Ok(self.keeps(&judged).then_some((shorter, judged)));
            }
            if shorter.step < shortest || shorter.step >= step {
                return Ok(None);
            }
            good = (shorter, judged);
            if !self.keeps(&judged) {
                return match self.down(&good.0.clone(), judged)? {
                    Some((lower, _)) => self.with_margins(lower),
                    None => Ok(None),
                };
            }
        }
    }

    fn judge(&mut self, candidate: &Candidate) -> Result<Judged> {
        let judged = self.judge.judge(candidate)?;
        if judged.error.is_finite()
            && self.nearest.as_ref().is_none_or(|(_, known)| judged.error < known.error)
        {
            self.nearest = Some((candidate.clone(), judged));
        }
        Ok(judged)
    }

    fn keeps(&self, judged: &Judged) -> bool {
        judged.error <= SHARE * self.wish.aim.error
    }

    fn is_late(&self) -> bool {
        Instant::now() > self.deadline
    }
}

fn reason(error: &Error) -> String {
    match error {
        Error::Unsupported { reason, .. } => reason.clone(),
        other => other.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}
