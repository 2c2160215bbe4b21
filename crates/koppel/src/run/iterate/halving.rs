//! Steps in halves where a loop has not converged.

use super::config::{IterationConfig, Otherwise};
use super::tally::Mark;
use crate::error::{Error, Result, Subject};
use crate::run::simulation::Simulation;
use crate::run::state::RunState;
use crate::signal::Step;
use crate::system::Horizon;

/// A step is cut into at most 2 to this power.
const MOST_HALVINGS: u32 = 10;

/// Where to go back to.
pub(in crate::run) struct Halving {
    state: RunState,
    /// What was counted up to there, loop by loop.
    marks: Vec<Mark>,
}

impl Default for Halving {
    fn default() -> Self {
        Halving { state: RunState::new(Horizon::Step), marks: Vec::new() }
    }
}

impl Simulation {
    /// One exchange, or where a loop does not converge and the settings say so, two of half the length.
    #[inline]
    pub(in crate::run) fn exchange(&mut self, step: Step, end: f64) -> Result<()> {
        match &self.halving {
            None => self.exchange_once::<false>(step, end),
            Some(_) => self.exchange_halved(step, end, 0),
        }
    }

    fn exchange_halved(&mut self, step: Step, end: f64, depth: u32) -> Result<()> {
        let mut before = self.halving.take().unwrap_or_default();
        let saved = self.save(&mut before.state);
        before.marks.clear();
        before.marks.extend(self.loop_works().map(|work| work.mark()));
        let done = saved.and_then(|()| self.exchange_once::<false>(step, end));
        let is_unsolved = |error: &Error| matches!(error, Error::LoopNotSolved { .. });
        let again = done.as_ref().is_err_and(|error| is_unsolved(error)) && depth < MOST_HALVINGS;
        let restored = if again { self.take_back(&before) } else { Ok(()) };
        self.halving = Some(before);
        if !again {
            return done;
        }
        restored?;
        self.halvings += 1;
        let half = 0.5 * step.size;
        let (middle, inside) = (step.start + half, self.inside);
        self.exchange_halved(Step { size: half, ..step }, middle, depth + 1)?;
        if self.termination.is_some() {
            return Ok(());
        }
        // Within a macro step the state must not be checked against its grid.
        self.inside = Some(middle);
        let rest = Step { index: step.index, start: middle, size: end - middle };
        self.exchange_halved(rest, end, depth + 1)?;
        self.inside = inside;
        Ok(())
    }

    fn take_back(&mut self, before: &Halving) -> Result<()> {
        let works = self.consistency.works_mut().chain(self.steps.works_mut());
        works.zip(&before.marks).for_each(|(work, mark)| work.go_back(mark));
        self.put_back(&before.state)
    }

    /// How often a step was halved because a loop did not converge.
    pub fn halvings(&self) -> u64 {
        self.halvings
    }
}

/// Room to go back, if steps are to be halved.
pub(in crate::run) fn room(
    iteration: Option<&IterationConfig>,
    is_multi_rate: bool,
) -> Result<Option<Box<Halving>>> {
    if !is_halved(iteration) {
        return Ok(None);
    }
    if is_multi_rate {
        return Err(Error::Unsupported {
            what: Subject::named("halve", "otherwise = \"halve\""),
            reason: "subsystems with different rates have no common half steps; remove `every`, or use otherwise = \"stop\" or \"accept\""
                .into(),
        }
        .into());
    }
    Ok(Some(Box::default()))
}

/// True if steps may be halved.
pub(in crate::run) fn is_halved(iteration: Option<&IterationConfig>) -> bool {
    iteration.is_some_and(|settings| settings.otherwise == Otherwise::Halve)
}
