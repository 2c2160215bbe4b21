//! Steps in halves where a loop has not converged.

use super::scheme::Scheme;
use super::staged::Staged;
use crate::error::{Error, Result, Subject};
use crate::iteration::{Counts, IterationConfig, LoopWork, OnNonConvergence};
use crate::network::Network;
use crate::signal::Step;
use crate::system::{Horizon, Message, Snapshot, SubsystemId};
use crate::tape::{StateData, Tape};

/// A step is cut into at most 2 to this power.
const MOST_HALVINGS: u32 = 10;

/// A scheme whose step is taken in two halves where a loop of it has not converged, each of which may be halved again.
pub(super) struct Halved<S> {
    inner: S,
    /// Steps that were halved.
    count: u64,
    /// Whether models were to be updated.
    are_models_old: bool,
    /// Where to roll back to. Only one is needed: the second half begins where the first has ended.
    numbers: StateData,
    messages: Vec<Message>,
    subsystems: Vec<Snapshot>,
    /// What was counted up to there, loop by loop.
    marks: Vec<Counts>,
}

impl<S: Scheme> Halved<S> {
    /// Refuses subsystems that cannot roll back.
    pub(super) fn new(inner: S, network: &Network) -> Result<Self> {
        for id in 0..network.len() {
            network.subsystem(id).can_roll_back().map_err(|source| Error::Unsupported {
                what: Subject::named("halve", "otherwise = \"halve\""),
                reason: format!(
                    "`{}` cannot roll back ({source}); use otherwise = \"stop\" or \"accept\"",
                    network.graph.name(id)
                ),
            })?;
        }
        let subsystems = (0..network.len()).map(|_| Snapshot::new(Horizon::Step)).collect();
        Ok(Halved {
            inner,
            count: 0,
            are_models_old: false,
            numbers: StateData::default(),
            messages: Vec::new(),
            subsystems,
            marks: Vec::new(),
        })
    }

    fn halve(&mut self, network: &mut Network, step: Step, end: f64, depth: u32) -> Result<()> {
        self.keep(network)?;
        let done = self.inner.step(network, step, end);
        let is_unsolved = |error: &Error| matches!(error, Error::LoopNotSolved { .. });
        if depth == MOST_HALVINGS || !done.as_ref().is_err_and(|error| is_unsolved(error)) {
            return done;
        }
        self.roll_back(network)?;
        self.count += 1;
        let half = 0.5 * step.size;
        let middle = step.start + half;
        self.halve(network, Step { size: half, ..step }, middle, depth + 1)?;
        if self.inner.staged().outcome.termination.is_some() {
            return Ok(());
        }
        // What has jumped at the start of the step has not jumped in the middle.
        network.board.has_jumped.fill(false);
        let rest = Step { index: step.index, start: middle, size: end - middle };
        self.halve(network, rest, end, depth + 1)
    }

    fn keep(&mut self, network: &mut Network) -> Result<()> {
        self.are_models_old = network.are_models_old;
        self.marks.clear();
        let of_steps = (0..).map_while(|number| self.inner.loop_work(number));
        self.marks.extend(network.loop_works().chain(of_steps).map(LoopWork::mark));
        let mut tape = Tape::write(&mut self.numbers);
        network.state(&mut tape);
        self.inner.state(&mut tape);
        network.messages.save(&mut self.messages);
        let pairs = network.slots.iter_mut().zip(&mut self.subsystems);
        pairs.into_iter().try_for_each(|(slot, snapshot)| slot.subsystem.save(snapshot))
    }

    fn roll_back(&mut self, network: &mut Network) -> Result<()> {
        let mut marks = self.marks.iter();
        network.loop_works_mut().zip(&mut marks).for_each(|(work, mark)| work.roll_back(mark));
        for (number, mark) in marks.enumerate() {
            self.inner.loop_work_mut(number).into_iter().for_each(|work| work.roll_back(mark));
        }
        self.inner.staged_mut().outcome.forget_requests();
        network.are_models_old = self.are_models_old;
        network.messages.restore(&self.messages);
        let mut tape = Tape::read(&self.numbers);
        network.state(&mut tape);
        self.inner.state(&mut tape);
        let pairs = network.slots.iter_mut().zip(&self.subsystems);
        pairs.into_iter().try_for_each(|(slot, snapshot)| slot.subsystem.restore(snapshot))
    }
}

impl<S: Scheme> Scheme for Halved<S> {
    fn step(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        self.halve(network, step, end, 0)
    }

    fn advance(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        self.inner.advance(network, step, end)
    }

    fn staged(&self) -> &Staged {
        self.inner.staged()
    }

    fn staged_mut(&mut self) -> &mut Staged {
        self.inner.staged_mut()
    }

    fn snapshot(&self, id: SubsystemId) -> Option<&Snapshot> {
        self.inner.snapshot(id)
    }

    fn keeps_states(&self) -> bool {
        self.inner.keeps_states()
    }

    fn loop_work(&self, number: usize) -> Option<&LoopWork> {
        self.inner.loop_work(number)
    }

    fn loop_work_mut(&mut self, number: usize) -> Option<&mut LoopWork> {
        self.inner.loop_work_mut(number)
    }

    fn halvings(&self) -> u64 {
        self.count
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        self.inner.state(tape);
    }
}

/// Refuses half steps of subsystems with different rates.
pub(in crate::run) fn check_rates(iteration: Option<&IterationConfig>, is_multi_rate: bool) -> Result<()> {
    if !is_halved(iteration) || !is_multi_rate {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: Subject::named("halve", "otherwise = \"halve\""),
        reason: "subsystems with different rates have no common half steps; remove `every`, or use otherwise = \"stop\" or \"accept\""
            .into(),
    }
    .into())
}

/// True if steps may be halved.
pub(in crate::run) fn is_halved(iteration: Option<&IterationConfig>) -> bool {
    iteration.is_some_and(|settings| settings.otherwise == OnNonConvergence::Halve)
}
