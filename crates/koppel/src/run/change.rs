//! Changes of parameters and free inputs at given times.

use super::config::RunConfig;
use super::simulation::{Simulation, view};
use crate::error::{Error, Result, bad};
use crate::signal::Step;
use crate::signal::external::External;
use crate::system::{InputId, SubsystemId, SystemGraph, VariableId, VariableKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[[at]] time = 1.0, set = { "left.m" = 12 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub time: f64,
    /// New values by full name.
    pub set: BTreeMap<String, f64>,
}

/// What a change acts on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    Variable(SubsystemId, VariableId),
    FreeInput(InputId),
}

/// One value to be set at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Assignment {
    pub(super) time: f64,
    pub(super) target: Target,
    pub(super) value: f64,
}

/// All assignments of a run in order of time: timed changes, and tables of parameters.
pub(super) fn resolve(config: &RunConfig, graph: &SystemGraph) -> Result<Vec<Assignment>> {
    let (mut assignments, mut mistakes) = (driven(config, graph), Vec::new());
    for change in &config.at {
        for (name, value) in &change.set {
            match assignment(config, graph, change.time, (name, *value)) {
                Ok(assignment) => assignments.push(assignment),
                Err(error) => mistakes.push(*error),
            }
        }
    }
    Error::several(mistakes)?;
    crate::sort::sort_by(&mut assignments, |a, b| a.time.total_cmp(&b.time));
    Ok(assignments)
}

fn assignment(
    config: &RunConfig,
    graph: &SystemGraph,
    time: f64,
    (name, value): (&str, f64),
) -> Result<Assignment> {
    for (what, number) in [("time", time), (name, value)] {
        if !number.is_finite() {
            return Err(Error::NotFinite { place: format!("at.{what}"), value: number }.into());
        }
    }
    let target = target(name, graph)?;
    if let Target::Variable(id, variable) = target
        && time > config.start
        && graph.ports(id).variable(variable).is_fixed
    {
        return Err(bad("at.set", name, "is fixed once the run is under way; set it at its start"));
    }
    Ok(Assignment { time, target, value })
}

/// The rows of the tables that drive parameters, each at the first communication point from its time on.
fn driven(config: &RunConfig, graph: &SystemGraph) -> Vec<Assignment> {
    let RunConfig { start, step, .. } = *config;
    let mut assignments: Vec<Assignment> = Vec::new();
    for drive in graph.drives() {
        let target = Target::Variable(drive.subsystem, drive.variable);
        let mut last: Option<f64> = None;
        for (row, (&time, &value)) in drive.times.iter().zip(&drive.values).enumerate() {
            // Of several rows at one time the last counts; before the first rows, their first does.
            let is_replaced =
                drive.times.get(row + 1).is_some_and(|next| *next <= start || row > 0 && *next == time);
            if is_replaced || last == Some(value) {
                continue;
            }
            let point = start + ((time - start) / step - 1e-9).ceil().max(0.0) * step;
            // The first value holds from the start.
            let time = if last.is_none() { start } else { point };
            assignments.push(Assignment { time, target, value });
            last = Some(value);
        }
    }
    assignments
}

/// Parameters, states and inputs that nothing is connected to can be set.
pub(super) fn target(name: &str, graph: &SystemGraph) -> Result<Target> {
    let (id, variable) = graph.split_name(name, "variable")?;
    let ports = graph.ports(id);
    let settable = ports.all().filter(|(v, _)| v.kind != VariableKind::Output);
    let known = || settable.map(|(_, v)| format!("{}.{}", graph.name(id), v.name)).collect();
    // What can be set comes first: a state may share its name with an output.
    let order = [VariableKind::Parameter, VariableKind::Input, VariableKind::Local, VariableKind::Output];
    let found = order.into_iter().find_map(|kind| {
        let index = ports.find(kind, variable)?;
        Some(VariableId { kind, index })
    });
    match found {
        None => Err(Error::Unknown { kind: "parameter or input", name: name.into(), known: known() }.into()),
        Some(VariableId { kind: VariableKind::Input, index }) => {
            let input = graph.inputs_of(id).start + index;
            if graph.is_free(input) {
                Ok(Target::FreeInput(input))
            } else {
                Err(bad("at.set", name, "is connected; only unconnected inputs can be set"))
            }
        }
        Some(VariableId { kind: VariableKind::Output, .. }) => {
            Err(bad("at.set", name, "is an output; only parameters and unconnected inputs can be set"))
        }
        Some(variable) => Ok(Target::Variable(id, variable)),
    }
}

/// A `reduced` start cuts the first macro step into parts that double: H/1024, H/1024, H/512, ...
const CASCADE: u32 = 10;

impl Simulation {
    /// Where the next part of the step from `start` to `end` ends, if it is walked in parts.
    #[inline]
    pub(super) fn next_part(&mut self, start: f64, end: f64) -> Option<f64> {
        if self.parts_done == self.parts.len() && !self.is_cut(start, end) {
            return None;
        }
        self.parts_done += 1;
        self.parts.get(self.parts_done - 1).copied()
    }

    /// True if the step from `start` to `end` is walked in parts, whose ends then stand in `parts`.
    #[inline]
    pub(super) fn is_cut(&mut self, start: f64, end: f64) -> bool {
        let has_changes = self.changes_done < self.changes.len();
        let starts_small = self.index == 0 && self.needs.reduced_start;
        self.parts.clear();
        self.parts_done = 0;
        if !has_changes && !starts_small && self.needs.small_steps.is_none() {
            return false;
        }
        self.cut_step(start, end);
        !self.parts.is_empty()
    }

    /// Ends of the parts of this step: none usually; more for the first one of a `reduced` start, and for changes inside.
    fn cut_step(&mut self, start: f64, end: f64) {
        let size = end - start;
        if self.index == 0 && self.inside.is_none() && self.needs.reduced_start {
            self.parts
                .extend((0..CASCADE).rev().map(|halvings| start + size * 0.5_f64.powi(halvings as i32 + 1)));
        }
        let margin = 1e-9 * size;
        if let Some((duration, parts)) = self.needs.small_steps
            && start < self.clock.time(0) + duration - margin
        {
            let part = |k: u32| start + size * f64::from(k) / f64::from(parts);
            self.parts.extend((1..parts).map(part));
        }
        if !self.is_multi_rate {
            let inside = |change: &&Assignment| change.time > start + margin && change.time < end - margin;
            let due = self.changes[self.changes_done..].iter().take_while(|c| c.time < end);
            self.parts.extend(due.filter(inside).map(|change| change.time));
        }
        if !self.parts.is_empty() {
            self.parts.sort_by(f64::total_cmp);
            self.parts.dedup_by(|later, earlier| *later - *earlier <= margin);
            self.parts.push(end);
        }
    }

    /// Walks the parts of a step that is cut by the end of [`Simulation::advance_to`].
    pub(super) fn advance_in_parts(&mut self, mut start: f64) -> Result<()> {
        for part in 0..self.parts.len() {
            let end = self.parts[part];
            if part > 0 {
                self.inside = Some(start);
            }
            self.exchange(Step { index: self.steps_taken(), start, size: end - start }, end)?;
            if self.termination.is_some() {
                return Ok(());
            }
            start = end;
        }
        self.parts_done = self.parts.len();
        Ok(())
    }

    /// Sets what is due, then makes the outputs follow. Where outputs jump, their past is forgotten.
    #[inline]
    pub(super) fn apply_changes(&mut self, time: f64) -> Result<()> {
        if self.changes_done == self.changes.len() { Ok(()) } else { self.apply_due(time) }
    }

    fn apply_due(&mut self, time: f64) -> Result<()> {
        let margin = 1e-9 * self.clock.size();
        let is_due = |change: &Assignment| change.time <= time + margin;
        if !self.changes.get(self.changes_done).is_some_and(is_due) {
            return Ok(());
        }
        self.outputs_before.copy_from_slice(&self.board.outputs);
        while self.changes.get(self.changes_done).is_some_and(is_due) {
            let id = match self.changes[self.changes_done].target {
                Target::Variable(id, _) => id,
                Target::FreeInput(input) => self.graph.subsystem_of_input(input),
            };
            self.apply_next_change()?;
            self.read_again(id, time)?;
        }
        if self.consistency.is_due(self.reading) {
            self.refresh(time)?;
        }
        self.check_finite(time)?;
        self.outputs_after.copy_from_slice(&self.board.outputs);
        for (id, slot) in self.slots.iter().enumerate() {
            let range = slot.outputs.clone();
            if self.outputs_before[range.clone()] != self.board.outputs[range] {
                self.board.history.restart(id);
                let view = view(&self.graph, &self.board, self.clock.step(self.index, 1));
                self.coupling.jumped(&view, id);
            }
        }
        Ok(())
    }

    /// Outputs of one subsystem with the inputs it was given last, and free inputs and external signals as they are now.
    fn read_again(&mut self, id: SubsystemId, time: f64) -> Result<()> {
        let slot = &mut self.slots[id];
        let inputs = &mut self.inputs[..slot.inputs.len()];
        for (u, input) in inputs.iter_mut().zip(slot.inputs.clone()) {
            let given =
                if self.graph.is_free(input) { self.graph.offset(input) } else { self.board.applied[input] };
            self.board.note_read(input, given);
            *u = given + slot.external(&self.graph, input, time);
        }
        let outputs = &mut self.board.outputs[slot.outputs.clone()];
        slot.subsystem.read(Some(inputs), outputs).map_err(|source| Error::Subsystem {
            subsystem: self.graph.name(id).into(),
            time,
            source,
        })?;
        self.board.deliver_one(&self.graph, id, self.board.history.reached(id));
        Ok(())
    }

    pub(super) fn apply_next_change(&mut self) -> Result<()> {
        let Assignment { target, value, time } = self.changes[self.changes_done];
        self.changes_done += 1;
        match target {
            Target::FreeInput(input) => {
                if let Some(signal) = self.graph.live_mut(input) {
                    // Outputs follow at once: for what comes there is no value before.
                    *signal = External::live(value);
                    return Ok(());
                }
                self.graph.set_offset(input, value);
                self.board.planned.hold(input, value);
                self.board.history.set_arrival(input, value);
            }
            Target::Variable(id, variable) => {
                self.are_models_old = true;
                self.slots[id].subsystem.set(variable, value).map_err(|source| Error::Subsystem {
                    subsystem: self.graph.name(id).into(),
                    time,
                    source,
                })?;
            }
        }
        Ok(())
    }
}
