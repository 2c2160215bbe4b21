//! Subsystems that take steps of one size only: what would give them another is refused before the run.

use super::changes::Assignment;
use super::config::RunConfig;
use super::schedule::Schedule;
use super::scheme::is_halved;
use crate::coupling::Needs;
use crate::diagnostic::Seconds;
use crate::error::{Error, Result, Subject};
use crate::signal::Clock;
use crate::system::{SubsystemId, SystemGraph};

/// Refuses a shorter last step, changes inside steps, halved steps, and methods that begin with small ones.
pub(super) fn check(
    graph: &SystemGraph,
    (schedule, order): (&Schedule, &[SubsystemId]),
    config: &RunConfig,
    needs: &Needs,
    changes: &[Assignment],
) -> Result<()> {
    for id in (0..graph.len()).filter(|id| graph.ports(*id).one_step_size) {
        let every = u64::from(schedule.every[order[id]]);
        if let Some(reason) = problem(config, every, schedule.is_multi_rate(), needs, changes) {
            return Err(Error::Unsupported {
                what: Subject::named(
                    graph.name(id),
                    format!("a step of another size for `{}`", graph.name(id)),
                ),
                reason: format!("it accepts steps of one size only, but {reason}"),
            }
            .into());
        }
    }
    Ok(())
}

fn problem(
    config: &RunConfig,
    every: u64,
    is_multi_rate: bool,
    needs: &Needs,
    changes: &[Assignment],
) -> Option<String> {
    if config.adaptive.is_some() {
        return Some("`adaptive` changes the step; remove it".into());
    }
    let clock = Clock::new(config.start, config.stop, config.step);
    let (size, steps) = (config.step * every as f64, clock.steps());
    let last_start = steps.saturating_sub(1) / every * every;
    let last = clock.step(last_start, every).size;
    if (last - size).abs() > 1e-9 * size {
        return Some(format!(
            "the last step would be {} s instead of {} s long; choose a stop time that is a multiple of it",
            short(last),
            short(size)
        ));
    }
    if needs.reduced_start {
        return Some("start = \"reduced\" begins with small steps; use start = \"constant\"".into());
    }
    if needs.small_steps.is_some() {
        return Some("the method learns at smaller steps; learn with kind = \"hold\"".into());
    }
    if is_halved(config.iteration.as_ref()) {
        return Some(
            "a loop that does not converge would halve it; use otherwise = \"stop\" or \"accept\"".into(),
        );
    }
    let is_inside = |change: &&Assignment| {
        let steps = (change.time - config.start) / config.step;
        change.time > config.start && change.time < config.stop && (steps - steps.round()).abs() > 1e-9
    };
    let inside = changes.iter().find(is_inside).filter(|_| !is_multi_rate)?;
    Some(format!(
        "the change at t = {} s would split a step; move it to a multiple of {} s",
        Seconds(inside.time),
        config.step
    ))
}

/// Without the round-off of sums.
fn short(value: f64) -> f64 {
    format!("{value:.9e}").parse().unwrap_or(value)
}
