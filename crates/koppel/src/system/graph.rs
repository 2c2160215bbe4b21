//! The wiring: which output feeds which input, with gain, offset and unit conversion.
//!
//!   u = L y + o + e(t)
//!
//! Inputs and outputs are numbered through all subsystems, those of one subsystem contiguously. A [`Wire`] is one
//! non-zero entry of L. Wiring is data: every coupling reads it, none owns it.

use super::ports::{Dependencies, Ports, Variable, VariableId, VariableKind};
use super::subsystem::Subsystem;
use super::transfer::ValueMap;
use super::wiring::{self, MessageWire};
use crate::diagnostic::Remark;
use crate::error::{Error, Result};
use crate::signal::external::External;
use crate::tape::Tape;
use std::collections::HashMap;
use std::ops::Range;

/// Number of a subsystem.
pub type SubsystemId = usize;
/// Number of an input among all inputs.
pub type InputId = usize;
/// Number of an output among all outputs.
pub type OutputId = usize;

/// One source feeding one input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    /// The output it starts from.
    pub source: OutputId,
    /// The subsystem of that output.
    pub from: SubsystemId,
    /// The input it ends at.
    pub target: InputId,
    /// Gain times unit factor.
    pub gain: f64,
}

/// A table that a parameter follows.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterTable {
    /// Whose.
    pub subsystem: SubsystemId,
    /// The parameter.
    pub variable: VariableId,
    /// When it changes; of several rows at one time the last counts.
    pub times: Vec<f64>,
    /// To what.
    pub values: Vec<f64>,
}

/// Names, ports and wires of a system.
#[derive(Clone, Debug, Default)]
pub struct SystemGraph {
    pub(super) names: Vec<String>,
    numbers: HashMap<String, SubsystemId>,
    ports: Vec<Ports>,
    pub(super) first_input: Vec<InputId>,
    pub(super) first_output: Vec<OutputId>,
    /// Sorted by target; `wire_start[i]..wire_start[i + 1]` end at input i.
    wires: Vec<Wire>,
    wire_start: Vec<usize>,
    /// Per subsystem, the wires that start there.
    wires_from: Vec<Vec<usize>>,
    pub(super) offsets: Vec<f64>,
    pub(super) externals: Vec<(InputId, External)>,
    pub(super) message_wires: Vec<MessageWire>,
    /// Sorted by input.
    pub(super) maps: Vec<(InputId, ValueMap)>,
    /// Tables that drive parameters.
    pub(super) drives: Vec<ParameterTable>,
    /// What is not certain about the wiring.
    pub(super) remarks: Vec<Remark>,
}

impl SystemGraph {
    /// How many subsystems.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there is no subsystem.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Name of a subsystem.
    pub fn name(&self, id: SubsystemId) -> &str {
        &self.names[id]
    }

    /// Names of all subsystems.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Finds a subsystem by name.
    pub fn find(&self, name: &str) -> Result<SubsystemId> {
        self.numbers.get(name).copied().ok_or_else(|| {
            Error::Unknown { kind: "subsystem", name: name.into(), known: self.names.clone() }.into()
        })
    }

    /// Ports of a subsystem.
    pub fn ports(&self, id: SubsystemId) -> &Ports {
        &self.ports[id]
    }

    /// Numbers of a subsystem's inputs.
    #[inline]
    pub fn inputs_of(&self, id: SubsystemId) -> Range<InputId> {
        self.first_input[id]..self.first_input[id + 1]
    }

    /// Numbers of a subsystem's outputs.
    #[inline]
    pub fn outputs_of(&self, id: SubsystemId) -> Range<OutputId> {
        self.first_output[id]..self.first_output[id + 1]
    }

    /// How many inputs there are in all.
    pub fn inputs(&self) -> usize {
        self.offsets.len()
    }

    /// How many outputs there are in all.
    pub fn outputs(&self) -> usize {
        self.first_output.last().copied().unwrap_or(0)
    }

    /// The subsystem an input belongs to.
    pub fn subsystem_of_input(&self, input: InputId) -> SubsystemId {
        self.first_input.partition_point(|first| *first <= input) - 1
    }

    /// The subsystem an output belongs to.
    pub fn subsystem_of_output(&self, output: OutputId) -> SubsystemId {
        self.first_output.partition_point(|first| *first <= output) - 1
    }

    /// All wires, sorted by the input they end at.
    pub fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// Numbers of the wires that end at an input.
    #[inline]
    pub fn wires_into(&self, input: InputId) -> Range<usize> {
        self.wire_start[input]..self.wire_start[input + 1]
    }

    /// Numbers of the wires that start at a subsystem.
    #[inline]
    pub fn wires_from(&self, id: SubsystemId) -> &[usize] {
        &self.wires_from[id]
    }

    /// What is added to an input: a connection's offset, or the value of an unconnected input.
    #[inline]
    pub fn offset(&self, input: InputId) -> f64 {
        self.offsets[input]
    }

    /// Changes what is added to an input.
    pub fn set_offset(&mut self, input: InputId, value: f64) {
        self.offsets[input] = value;
    }

    /// All offsets.
    pub fn offsets(&self) -> &[f64] {
        &self.offsets
    }

    /// External signals with the inputs they act on, sorted by input.
    pub fn externals(&self) -> &[(InputId, External)] {
        &self.externals
    }

    /// Tables that drive parameters.
    pub fn drives(&self) -> &[ParameterTable] {
        &self.drives
    }

    /// Wires of texts, bytes and ticks, sorted by source.
    pub fn message_wires(&self) -> &[MessageWire] {
        &self.message_wires
    }

    /// What the user should know of the wiring, such as units that are not known.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// Inputs whose one wire passes a table, sorted; the gain of such a wire is 0.
    pub fn maps(&self) -> &[(InputId, ValueMap)] {
        &self.maps
    }

    /// The table before an input.
    pub fn map(&self, input: InputId) -> Option<&ValueMap> {
        let at = self.maps.binary_search_by_key(&input, |(target, _)| *target).ok()?;
        Some(&self.maps[at].1)
    }

    /// Opens every input that has neither a wire nor a signal to signals given while the run goes on; they begin with
    /// the value it has. Returns their names.
    pub fn open_inputs(&mut self) -> Vec<String> {
        let is_driven = |input: &InputId| self.externals.iter().any(|(other, _)| other == input);
        let open: Vec<InputId> =
            (0..self.inputs()).filter(|input| self.is_free(*input) && !is_driven(input)).collect();
        for &input in &open {
            let value = std::mem::replace(&mut self.offsets[input], 0.0);
            self.externals.push((input, External::live(value)));
        }
        crate::sort::sort_by_key(&mut self.externals, |(input, _)| *input);
        open.into_iter().map(|input| self.input_name(input)).collect()
    }

    /// The signal of an input that is given while the run goes on, if it has one.
    pub fn live_mut(&mut self, input: InputId) -> Option<&mut External> {
        let from = self.externals.partition_point(|(other, _)| *other < input);
        let (other, signal) = self.externals.get_mut(from)?;
        (*other == input && signal.is_live()).then_some(signal)
    }

    /// Shows `tape` what changes during a run: offsets and live signals.
    pub(crate) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.numbers(&mut self.offsets);
        self.externals.iter_mut().for_each(|(_, signal)| signal.state(tape));
    }

    /// The same wiring without offsets and external signals: what is linear in it.
    pub(super) fn silent(&self) -> SystemGraph {
        SystemGraph { offsets: vec![0.0; self.inputs()], externals: Vec::new(), ..self.clone() }
    }

    /// True if no wire ends at the input.
    pub fn is_free(&self, input: InputId) -> bool {
        self.wires_into(input).is_empty()
    }

    /// True if the error of an output can be determined by its distance from what it should be: not of those that jump, such as
    /// counters, unless there are no others.
    pub fn is_signal(&self, output: OutputId) -> bool {
        !self.output_variable(output).is_held
            || self.ports.iter().flat_map(|ports| &ports.outputs).all(|output| output.is_held)
    }

    /// `subsystem.variable` of an input.
    pub fn input_name(&self, input: InputId) -> String {
        let id = self.subsystem_of_input(input);
        format!("{}.{}", self.names[id], self.ports[id].inputs[input - self.first_input[id]].name)
    }

    /// `subsystem.variable` of an output.
    pub fn output_name(&self, output: OutputId) -> String {
        let id = self.subsystem_of_output(output);
        format!("{}.{}", self.names[id], self.ports[id].outputs[output - self.first_output[id]].name)
    }

    /// The connection into an input as text, `a.x + b.x -> c.u`. Of many sources the first are named.
    pub fn connection_name(&self, input: InputId) -> String {
        const SHOWN: usize = 8;
        let mut wires = self.wires_into(input);
        let sources: Vec<_> =
            wires.by_ref().take(SHOWN).map(|w| self.output_name(self.wires[w].source)).collect();
        let more = match wires.count() {
            0 => String::new(),
            more => format!(" + {more} more"),
        };
        format!("{}{more} -> {}", sources.join(" + "), self.input_name(input))
    }

    /// Variable of an output.
    pub fn output_variable(&self, output: OutputId) -> &Variable {
        let id = self.subsystem_of_output(output);
        &self.ports[id].outputs[output - self.first_output[id]]
    }

    /// The inputs of its subsystem that act on an output: at once, or behind its filter.
    pub fn reaching(&self, output: OutputId) -> &Dependencies {
        let id = self.subsystem_of_output(output);
        let outputs = &self.ports[id].outputs;
        let variable = &outputs[output - self.first_output[id]];
        variable.filtered.as_ref().map_or(&variable.depends, |filtered| &outputs[filtered.of].depends)
    }

    /// Variable of an input.
    pub fn input_variable(&self, input: InputId) -> &Variable {
        let id = self.subsystem_of_input(input);
        &self.ports[id].inputs[input - self.first_input[id]]
    }

    /// Finds an input by its full name.
    pub fn find_input(&self, name: &str) -> Result<InputId> {
        let (id, index) = self.find_port(name, VariableKind::Input, "input")?;
        Ok(self.first_input[id] + index)
    }

    /// Finds an output by its full name.
    pub fn find_output(&self, name: &str) -> Result<OutputId> {
        let (id, index) = self.find_port(name, VariableKind::Output, "output")?;
        Ok(self.first_output[id] + index)
    }

    /// Sorts the wires by target and indexes them from both ends.
    pub(super) fn set_wires(&mut self, mut wires: Vec<Wire>) {
        crate::sort::sort_by_key(&mut wires, |w| w.target);
        for (number, w) in wires.iter().enumerate() {
            self.wire_start[w.target + 1] = number + 1;
            self.wires_from[w.from].push(number);
        }
        for i in 1..self.wire_start.len() {
            self.wire_start[i] = self.wire_start[i].max(self.wire_start[i - 1]);
        }
        self.wires = wires;
    }

    fn find_port(&self, name: &str, kind: VariableKind, word: &'static str) -> Result<(usize, usize)> {
        let (id, variable) = self.split_name(name, word)?;
        match self.ports[id].find(kind, variable) {
            Some(index) => Ok((id, index)),
            None => Err(wiring::no_such_port(self, id, name, kind, word)),
        }
    }

    /// Splits `subsystem.variable`; subsystem names may contain dots, the longest that fits wins.
    pub fn split_name<'a>(&self, name: &'a str, word: &'static str) -> Result<(SubsystemId, &'a str)> {
        for (dot, _) in name.rmatch_indices('.') {
            if let Some(id) = self.numbers.get(&name[..dot]) {
                return Ok((*id, &name[dot + 1..]));
            }
        }
        match name.split_once('.') {
            Some((subsystem, _)) => {
                Err(Error::Unknown { kind: "subsystem", name: subsystem.into(), known: self.names.clone() }
                    .into())
            }
            None => Err(Error::Setting {
                what: word.into(),
                value: name.into(),
                problem: "must be written `subsystem.variable`".into(),
            }
            .into()),
        }
    }
}

/// Names and ports, and nothing wired.
pub(super) fn number_ports(names: Vec<String>, subsystems: &[Box<dyn Subsystem>]) -> SystemGraph {
    from_ports(names, subsystems.iter().map(|s| s.ports().clone()).collect())
}

/// The same from ports alone.
pub(super) fn from_ports(names: Vec<String>, ports: Vec<Ports>) -> SystemGraph {
    let running = |count: fn(&Ports) -> usize| {
        let mut sums = vec![0];
        for p in &ports {
            sums.push(sums[sums.len() - 1] + count(p));
        }
        sums
    };
    let first_input = running(|p| p.inputs.len());
    let first_output = running(|p| p.outputs.len());
    let offsets: Vec<f64> = ports.iter().flat_map(|p| p.inputs.iter().map(|v| v.start)).collect();
    let wires_from = vec![Vec::new(); names.len()];
    let wire_start = vec![0; offsets.len() + 1];
    let numbers = names.iter().cloned().enumerate().map(|(id, name)| (name, id)).collect();
    SystemGraph {
        names,
        numbers,
        ports,
        first_input,
        first_output,
        wires_from,
        wire_start,
        offsets,
        ..SystemGraph::default()
    }
}
