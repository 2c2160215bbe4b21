//! Communication steps of changing length, without going back.
//!
//! All communication points lie on the grid of the run's clock: a step is a whole number of its ticks, so times stay
//! exact, and few lengths occur. `config.rs` has the settings, `control.rs` how long the next step is.

mod config;
mod control;

pub use config::{AdaptiveConfig, Watched};
pub(super) use control::Control;
use serde::{Deserialize, Serialize};

use super::config::RunConfig;
use super::iterate::IterationKind;
use super::schedule::Schedule;
use super::simulation::Simulation;
use crate::coupling::{Needs, StepNeeds, methods};
use crate::error::{Result, bad};
use crate::record::{Column, Source};
use crate::system::{SubsystemId, SystemGraph};

/// The lengths of the steps of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSizes {
    /// How often the step was changed.
    pub changes: u64,
    /// The smallest, in s.
    pub smallest: f64,
    /// The largest, in s.
    pub largest: f64,
    /// The mean, in s.
    pub mean: f64,
    /// Steps whose error was above the tolerance.
    pub missed: u64,
}

/// The control of a run, or why its steps cannot change.
pub(super) fn control(
    config: &RunConfig,
    graph: &SystemGraph,
    (schedule, order): (&Schedule, &[SubsystemId]),
    needs: &Needs,
) -> Result<Option<Box<Control>>> {
    let Some(settings) = &config.adaptive else { return Ok(None) };
    if let StepNeeds::OneSize(reason) = needs.steps {
        let problem = format!("cannot change its step: {reason}; remove `adaptive`, or use {}", adaptable());
        return Err(bad("run.coupling", config.coupling.name(), &problem));
    }
    if schedule.is_multi_rate() {
        let problem =
            "moves less often than the others, whose steps have one size then; remove `every` or `adaptive`";
        let slow = order.iter().position(|id| schedule.every[*id] > 1).unwrap_or(0);
        return Err(bad("run.every", graph.name(slow), problem));
    }
    if config.iteration.as_ref().is_some_and(|iteration| iteration.kind == IterationKind::Step) {
        let problem = "leaves no error of its connections by which the step could be chosen; use kind = \"outputs\", or remove `adaptive`";
        return Err(bad("run.iteration", "step", problem));
    }
    let control = Control::new(settings, config.step, needs.terms, graph);
    if !control.has_something_to_watch() {
        let problem = match settings.on {
            Watched::Power => {
                "has nothing to watch: no two subsystems give each other an effort and a flow, by their units or declared by terminals; use on = \"defect\""
            }
            Watched::Defect => "has nothing to watch: no connected input is predicted; remove `adaptive`",
        };
        return Err(bad("run.adaptive.on", settings.on.name(), problem));
    }
    Ok(Some(Box::new(control)))
}

/// A part of a tick that is no time.
const NO_TIME: f64 = 1e-9;

/// Couplings whose step may change, for messages: those that always may, then those that may under a condition.
fn adaptable() -> String {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, condition) in methods().into_iter().filter_map(|info| Some((info.name, info.changes_step?))) {
        let name = format!("`{name}`");
        match groups.iter_mut().find(|(known, _)| *known == condition) {
            Some((_, names)) => names.push(name),
            None => groups.push((condition, vec![name])),
        }
    }
    let words = |(condition, names): &(&str, Vec<String>)| match condition.is_empty() {
        true => names.join(", "),
        false => format!("{} {condition}", names.join(" or ")),
    };
    groups.iter().map(words).collect::<Vec<_>>().join(", or ")
}

/// The column that tells how long the last step was, if that changes.
pub(super) fn column(config: &RunConfig) -> Option<Column> {
    config.adaptive.as_ref()?;
    Some(Column {
        name: "step".into(),
        unit: Some("s".into()),
        description: "length of the last communication step".into(),
        source: Source::Step,
    })
}

impl Simulation {
    /// Ticks of the clock that the coming step spans: one, unless the step adapts. It ends at the stop time, at rows that
    /// were asked for, and at timed changes and known jumps, after which steps are small again.
    #[inline]
    pub(super) fn stride(&mut self) -> u64 {
        if self.control.is_none() || self.inside.is_some() { 1 } else { self.adapted_stride() }
    }

    fn adapted_stride(&mut self) -> u64 {
        let rows = match self.record_every {
            1 => u64::MAX,
            every => every - self.index % every,
        };
        let jump = (self.next_jump() - self.clock.time(self.index)) / self.clock.size();
        let Simulation { control: Some(control), clock, index, .. } = self else { return 1 };
        if jump < 1.0 - NO_TIME {
            control.restart();
        }
        let whole = (jump + NO_TIME).max(1.0) as u64;
        control.stride(*index, (clock.steps() - *index).min(rows).min(whole))
    }

    /// When something jumps next, from the begin of the coming step on: by a timed change or an external signal.
    fn next_jump(&self) -> f64 {
        let change = self.changes.get(self.changes_done).map_or(f64::INFINITY, |change| change.time);
        let before = self.clock.time(self.index) - NO_TIME * self.clock.size();
        let signals = self.graph.externals().iter();
        signals.filter_map(|(_, signal)| signal.next_event(before)).fold(change, f64::min)
    }

    /// Chooses the next step by the one of so many ticks that has ended.
    #[inline]
    pub(super) fn control_step(&mut self, ticks: u64) {
        let Simulation { control: Some(control), board, .. } = self else { return };
        control.end_step(ticks, &board.outputs, board.history.arrivals(), &board.applied);
    }

    /// Communication steps taken so far.
    pub fn steps_taken(&self) -> u64 {
        self.control.as_ref().map_or(self.index, |control| control.taken())
    }

    /// The lengths of the steps so far, if they change.
    pub fn step_sizes(&self) -> Option<StepSizes> {
        Some(self.control.as_ref()?.sizes(self.time() - self.clock.time(0)))
    }

    /// The largest communication step of the run, in s.
    pub fn largest_step(&self) -> f64 {
        self.clock.size() * self.control.as_ref().map_or(1, |control| control.most()) as f64
    }

    /// The largest communication step so far, in s.
    pub(crate) fn largest_step_taken(&self) -> f64 {
        self.step_sizes().map_or(self.clock.size(), |sizes| sizes.largest)
    }

    /// No step goes beyond this point of the grid.
    pub(super) fn limit_steps(&mut self, index: u64) {
        if let Some(control) = &mut self.control {
            control.limit = index;
        }
    }
}
