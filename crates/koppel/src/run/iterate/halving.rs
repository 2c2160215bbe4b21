//! Steps in halves where a loop has not converged.

use super::config::Otherwise;
use crate::error::{Error, Result};
use crate::run::simulation::Simulation;
use crate::run::state::RunState;
use crate::signal::Step;

/// A step is cut into at most 2 to this power.
const MOST_HALVINGS: u32 = 10;

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
        let saved = self.save(&mut before);
        let done = saved.and_then(|()| self.exchange_once::<false>(step, end));
        let is_unsolved = |error: &Error| matches!(error, Error::LoopNotSolved { .. });
        let again = done.as_ref().is_err_and(|error| is_unsolved(error)) && depth < MOST_HALVINGS;
        let restored = if again { self.restore(&before) } else { Ok(()) };
        self.halving = Some(before);
        if !again {
            return done;
        }
        restored?;
        self.halvings += 1;
        let half = 0.5 * step.size;
        let middle = step.start + half;
        self.exchange_halved(Step { size: half, ..step }, middle, depth + 1)?;
        // Within a macro step the state must not be checked against its grid.
        self.inside = Some(middle);
        let rest = Step { index: step.index, start: middle, size: end - middle };
        let done = self.exchange_halved(rest, end, depth + 1);
        self.inside = None;
        done
    }

    /// How often a step was halved because a loop did not converge.
    pub fn halvings(&self) -> u64 {
        self.halvings
    }
}

/// Room to go back, if steps are to be halved.
pub(in crate::run) fn room(otherwise: Option<Otherwise>) -> Option<Box<RunState>> {
    (otherwise == Some(Otherwise::Halve)).then(Box::default)
}
