//! How the network moves from one communication point to the next.
//!
//! | file          | scheme                                                                              |
//! | ------------- | ----------------------------------------------------------------------------------- |
//! | `staged.rs`   | [`Staged`], **the macro step**: stage by stage, several rates, messages, fresh reading |
//! | `plain.rs`    | [`Plain`], its fast path where nothing but an exchange of values happens              |
//! | `iterated.rs` | [`Iterated`]: loops repeat their stages until inputs and outputs fit                 |
//! | `repeated.rs` | [`Repeated`]: the coupling may ask for the step once more, with better inputs        |
//! | `halved.rs`   | [`Halved`]: a step whose loop does not converge is taken in two halves              |
//!
//! Beside the step: `crew.rs` moves the members of a stage, takes their times and decides about threads; `begin.rs` keeps what a
//! step begins with, for runs that a subsystem ends inside of it; `extremes.rs` notes how far inputs were from what they
//! should have been. A scheme is chosen once, when a run is set up ([`choose`]), and knows nothing of rows or the stop time.

mod begin;
mod crew;
mod extremes;
mod halved;
mod iterated;
mod plain;
mod repeated;
mod staged;

pub(super) use begin::{can_retreat, end_inside, restore_begin};
pub(super) use halved::{check_rates, is_halved};
pub(super) use staged::{Stage, Staged, stages};

use crate::error::Result;
use crate::iteration::{IterationConfig, LoopWork};
use crate::network::Network;
use crate::signal::Step;
use crate::system::{Snapshot, SubsystemId};
use crate::tape::Tape;
use halved::Halved;
use iterated::Iterated;
use plain::Plain;
use repeated::Repeated;
use std::ops::Range;

/// A way to take a communication step.
pub(super) trait Scheme: Send {
    /// Moves the network over `step`, to the communication point `end`.
    fn step(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        network.refresh_models(step)?;
        begin::keep(self, network);
        self.walk(network, step, end)
    }

    /// The same once models and the way back are taken care of: from the begin of the step on.
    fn walk(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()>;

    /// The stages, and what the last step has left behind.
    fn staged(&self) -> &Staged;

    /// The same, to be changed.
    fn staged_mut(&mut self) -> &mut Staged;

    /// From macro step `index` on: the first that [`Scheme::plain_steps`] cannot take.
    fn plain_until(&self, _index: u64) -> u64 {
        0
    }

    /// Takes macro steps in which nothing happens but an exchange of values, from `index` to `stop` or to a failure.
    fn plain_steps(&mut self, _network: &mut Network, _index: &mut u64, _stop: u64) -> Result<()> {
        Ok(())
    }

    /// The state of a subsystem at the begin of the step under way, if the scheme keeps it anyway.
    fn snapshot(&self, _id: SubsystemId) -> Option<&Snapshot> {
        None
    }

    /// True if it keeps the states of black boxes.
    fn keeps_states(&self) -> bool {
        false
    }

    /// The work on one of the loops whose steps are iterated.
    fn loop_work(&self, _number: usize) -> Option<&LoopWork> {
        None
    }

    /// The same, to be changed.
    fn loop_work_mut(&mut self, _number: usize) -> Option<&mut LoopWork> {
        None
    }

    /// How often a step was halved because a loop did not converge.
    fn halvings(&self) -> u64 {
        0
    }

    /// How often a step was taken again because the coupling saw that its inputs had been wrong.
    fn repetitions(&self) -> u64 {
        0
    }

    /// Shows `tape` what the next step depends on.
    fn state(&mut self, _tape: &mut Tape<'_>) {}
}

/// The scheme for this network, which stands at its start, and why steps are not taken again, if the coupling would do so and
/// cannot. `loops` are the stages that are repeated together.
pub(super) fn choose(
    staged: Staged,
    network: &mut Network,
    iteration: Option<&IterationConfig>,
    loops: &[Range<usize>],
    time: f64,
) -> Result<(Box<dyn Scheme>, Option<String>)> {
    let is_halved = is_halved(iteration);
    let is_wanted = network.needs.repeats;
    let lack = is_wanted.then(|| repeated::lack(&staged, network, is_halved || !loops.is_empty())).flatten();
    let chosen: Box<dyn Scheme> = match iteration {
        Some(settings) if !loops.is_empty() => {
            let iterated = Iterated::new(staged, network, loops, settings, time)?;
            if is_halved { Box::new(Halved::new(iterated, network)?) } else { Box::new(iterated) }
        }
        _ if is_halved => Box::new(Halved::new(staged, network)?),
        _ if is_wanted && lack.is_none() => Box::new(Repeated::new(staged, network)),
        _ if plain::is_plain(&staged, network) => Box::new(Plain::new(staged, network)),
        _ => Box::new(staged),
    };
    Ok((chosen, lack))
}
