//! Changes of parameters and free inputs at given times.

use super::config::RunConfig;
use crate::error::{Error, Result, bad};
use crate::network::{Network, Settings};
use crate::signal::external::External;
use crate::system::{InputId, SubsystemId, SystemGraph, VariableId, VariableKind};

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
        return Err(bad("at.set", name, "cannot change during the run; set it at the start"));
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

/// Timed changes of a run, in order of time.
pub(crate) struct Changes {
    list: Vec<Assignment>,
    /// Times closer than this are equal, in s.
    margin: f64,
    /// How many have been made.
    done: usize,
    /// Outputs before the last of them.
    before: Vec<f64>,
}

impl Changes {
    /// Times closer than `margin` are equal.
    pub(super) fn new(list: Vec<Assignment>, margin: f64, outputs: usize) -> Self {
        Changes { list, margin, done: 0, before: vec![0.0; outputs] }
    }

    /// How many have been made.
    pub(crate) fn made(&self) -> usize {
        self.done
    }

    /// So many have been made.
    pub(super) fn set_made(&mut self, count: usize) {
        self.done = count;
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// The step is done: what jumped at its start is no news any more.
    #[inline]
    pub(super) fn forget_jumps(&self, network: &mut Network) {
        if !self.list.is_empty() {
            network.board.has_jumped.fill(false);
        }
    }

    /// True if none is to come.
    pub(super) fn are_done(&self) -> bool {
        self.done == self.list.len()
    }

    /// Those that are still to come.
    pub(super) fn coming(&self) -> &[Assignment] {
        &self.list[self.done..]
    }

    /// When the next one is due; never, if none is.
    pub(super) fn next_time(&self) -> f64 {
        self.coming().first().map_or(f64::INFINITY, |change| change.time)
    }

    /// The states that were set by changes number `from` to now: whose, which, and to what.
    pub(crate) fn states_set(&self, from: usize) -> impl Iterator<Item = (SubsystemId, usize, f64)> {
        self.list[from..self.done].iter().filter_map(|change| match change.target {
            Target::Variable(id, VariableId { kind: VariableKind::Local, index }) => {
                Some((id, index, change.value))
            }
            _ => None,
        })
    }

    /// What has been set in each subsystem since it was initialised.
    pub(super) fn settings(&self, subsystems: usize) -> Settings {
        let mut settings = vec![Vec::new(); subsystems];
        for change in &self.list[..self.done] {
            if let Target::Variable(id, variable) = change.target {
                settings[id].push((variable, change.value));
            }
        }
        settings
    }

    /// Sets what is due before the start is consistent.
    pub(super) fn apply_initial(&mut self, network: &mut Network, time: f64) -> Result<()> {
        while self.next_time() <= time {
            self.apply_next(network)?;
        }
        Ok(())
    }

    /// Sets what is due at `time`, then makes the outputs follow. Where outputs jump, their past is forgotten.
    #[inline]
    pub(super) fn apply_due(&mut self, network: &mut Network, time: f64) -> Result<()> {
        if self.list.is_empty() { Ok(()) } else { self.apply_some(network, time) }
    }

    fn apply_some(&mut self, network: &mut Network, time: f64) -> Result<()> {
        let due = time + self.margin;
        if self.next_time() > due {
            return Ok(());
        }
        self.before.copy_from_slice(network.outputs());
        while self.next_time() <= due {
            let id = match self.list[self.done].target {
                Target::Variable(id, _) => id,
                Target::FreeInput(input) => network.graph.subsystem_of_input(input),
            };
            self.apply_next(network)?;
            network.read_again(id, time)?;
        }
        if network.is_evaluated() {
            network.evaluate(time)?;
        }
        network.check_finite(0..network.graph.outputs(), time)?;
        for id in 0..network.len() {
            let range = network.graph.outputs_of(id);
            if self.before[range.clone()] != network.board.outputs[range] {
                network.board.history.restart(id);
                network.board.has_jumped[id] = true;
            }
        }
        Ok(())
    }

    fn apply_next(&mut self, network: &mut Network) -> Result<()> {
        let Assignment { target, value, time } = self.list[self.done];
        self.done += 1;
        match target {
            Target::FreeInput(input) => {
                if let Some(signal) = network.graph.live_mut(input) {
                    // Outputs follow at once: for what comes there is no value before.
                    *signal = External::live(value);
                    return Ok(());
                }
                network.graph.set_offset(input, value);
                network.board.predicted.hold(input, value);
                network.board.history.set_arrival(input, value);
            }
            Target::Variable(id, variable) => {
                network.are_models_old = true;
                let set = network.subsystem_mut(id).set(variable, value);
                set.map_err(|source| Error::Subsystem {
                    subsystem: network.graph.name(id).into(),
                    time,
                    source,
                })?;
            }
        }
        Ok(())
    }
}
