//! Which runs can adapt their steps.

use super::config::Watched;
use super::control::Control;
use crate::coupling::{Needs, StepNeeds, methods};
use crate::error::{Result, bad};
use crate::iteration::IterationKind;
use crate::record::{Column, Source};
use crate::run::config::RunConfig;
use crate::run::schedule::Schedule;
use crate::system::{SubsystemId, SystemGraph};

/// The control of a run, or why its steps cannot change.
pub(in crate::run) fn control(
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
        let problem = "has a slower rate, which requires steps of one size; remove `every` or `adaptive`";
        let slow = order.iter().position(|id| schedule.every[*id] > 1).unwrap_or(0);
        return Err(bad("run.every", graph.name(slow), problem));
    }
    if config.iteration.as_ref().is_some_and(|iteration| iteration.kind == IterationKind::Step) {
        let problem = "leaves no defect to control the step by; use kind = \"outputs\", or remove `adaptive`";
        return Err(bad("run.iteration", "step", problem));
    }
    let control = Control::new(settings, config.step, needs.terms, graph);
    if !control.has_something_to_watch() {
        let problem = match settings.on {
            Watched::Power => {
                "has nothing to monitor: no two subsystems exchange an effort and a flow, by their units or declared by terminals; use on = \"defect\""
            }
            Watched::Defect => "has nothing to monitor: no connected input is predicted; remove `adaptive`",
        };
        return Err(bad("run.adaptive.on", settings.on.name(), problem));
    }
    Ok(Some(Box::new(control)))
}

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
pub(in crate::run) fn column(config: &RunConfig) -> Option<Column> {
    config.adaptive.as_ref()?;
    Some(Column {
        name: "step".into(),
        unit: Some("s".into()),
        description: "length of the last communication step".into(),
        source: Source::Step,
    })
}
