//! The structure of a system: who feeds whom at once, which loops that makes, where they are cut, and what can be iterated.

use crate::error::Result;
use crate::run::{Run, SubsystemLoop, subsystem_loops};
use crate::system::{AlgebraicLoop, Dependencies, Reach, SystemGraph, algebraic_loops};
use crate::workbench::Source;
use serde::Serialize;

/// A system's structure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StructureReport {
    /// Subsystem by subsystem, in the order in which they move.
    pub subsystems: Vec<SubsystemReport>,
    /// All connections, as `from` and `to`.
    pub connections: Vec<ConnectionReport>,
    /// Algebraic loops, those behind filters included.
    pub loops: Vec<LoopReport>,
    /// Subsystems that feed each other, algebraic loops or not: what an iteration of steps repeats.
    pub step_loops: Vec<StepLoopReport>,
}

/// Subsystems that feed each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepLoopReport {
    /// Their names.
    pub members: Vec<String>,
    /// Outputs that are guessed when their steps are iterated.
    pub torn: Vec<String>,
    /// True if no smaller set of outputs cuts the loop, false if a heuristic found it.
    pub is_smallest_cut: bool,
    /// Members that cannot roll back: with them it cannot be iterated.
    pub without_roll_back: Vec<String>,
}

/// What is known of one subsystem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubsystemReport {
    /// Its name.
    pub name: String,
    /// Where its feed-through is known from.
    pub source: Source,
    /// Outputs that follow inputs at once, with those inputs.
    pub feed_through: Vec<(String, Vec<String>)>,
    /// Outputs of unknown dependency that follow no input where the subsystem stands now.
    #[serde(rename = "no_effect_found")]
    pub unseen: Vec<String>,
    /// Whether its state can be saved and restored: needed to iterate steps.
    pub can_roll_back: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionReport {
    /// The output.
    pub from: String,
    /// The input.
    pub to: String,
    /// True if it has a filter.
    pub is_filtered: bool,
    /// True if it is part of an algebraic loop.
    pub is_in_loop: bool,
}

/// One loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoopReport {
    /// A shortest way round, port by port: `->` along a connection, `=>` through a subsystem.
    pub path: String,
    /// Its subsystems.
    pub members: Vec<String>,
    /// Its outputs.
    pub outputs: Vec<String>,
    /// The outputs that are guessed when it is iterated.
    pub torn: Vec<String>,
    /// True if no smaller set of outputs cuts the loop, false if a heuristic found it.
    pub is_smallest_cut: bool,
    /// True if a filter breaks it.
    pub is_filtered: bool,
    /// Members that cannot roll back: their steps cannot be iterated, their outputs can.
    pub without_roll_back: Vec<String>,
}

/// Looks at a run that stands at its start, or anywhere. The run is left as it was.
pub fn structure(run: &mut Run) -> Result<StructureReport> {
    let ids = 0..run.graph().len();
    let subsystems = ids.map(|id| subsystem(run, id)).collect::<Result<Vec<SubsystemReport>>>()?;
    let graph = run.graph();
    let loops = algebraic_loops(graph, Reach::ThroughFilters);
    let name = |output: &usize| graph.output_name(*output);
    let stuck = |members: &[usize]| -> Vec<String> {
        let stuck = members.iter().filter(|id| !subsystems[**id].can_roll_back);
        stuck.map(|id| graph.name(*id).to_owned()).collect()
    };
    let step_loop = |l: SubsystemLoop| StepLoopReport {
        members: l.members.iter().map(|id| graph.name(*id).to_owned()).collect(),
        torn: l.torn.iter().map(name).collect(),
        is_smallest_cut: l.is_smallest,
        without_roll_back: stuck(&l.members),
    };
    let step_loops = subsystem_loops(graph).into_iter().map(step_loop).collect();
    let report = |l: &AlgebraicLoop| LoopReport {
        path: l.path(graph),
        members: l.members.iter().map(|id| graph.name(*id).to_owned()).collect(),
        outputs: l.outputs.iter().map(name).collect(),
        torn: l.torn.iter().map(name).collect(),
        is_smallest_cut: l.is_smallest,
        is_filtered: l.outputs.iter().any(|o| graph.output_variable(*o).filtered.is_some()),
        without_roll_back: stuck(&l.members),
    };
    let in_loop = |source: usize, target: usize| {
        let id = graph.subsystem_of_input(target);
        let place = target - graph.inputs_of(id).start;
        let acts = |output: &usize| {
            graph.subsystem_of_output(*output) == id && graph.reaching(*output).may_include(place)
        };
        loops.iter().any(|l| l.outputs.contains(&source) && l.outputs.iter().any(acts))
    };
    let connections = graph.wires().iter().map(|wire| ConnectionReport {
        from: graph.output_name(wire.source),
        to: graph.input_name(wire.target),
        is_filtered: graph.output_variable(wire.source).filtered.is_some(),
        is_in_loop: in_loop(wire.source, wire.target),
    });
    let connections = connections.collect();
    let loops = loops.iter().map(report).collect();
    Ok(StructureReport { subsystems, connections, loops, step_loops })
}

fn subsystem(run: &mut Run, id: usize) -> Result<SubsystemReport> {
    let found = run.workbench().feed_through(id)?;
    let saved = run.network().subsystem(id).can_roll_back();
    let graph: &SystemGraph = run.graph();
    let ports = graph.ports(id);
    let acting = |i: usize| -> Vec<String> {
        let all = ports.outputs[i].depends.among(ports.inputs.len());
        let is_unknown = ports.outputs[i].depends == Dependencies::Unknown;
        let acts = |j: &usize| !is_unknown || found.matrix[(i, *j)] != 0.0;
        all.into_iter().filter(acts).map(|j| ports.inputs[j].name.clone()).collect()
    };
    let outputs = ports.outputs.iter().enumerate();
    let feed_through: Vec<(String, Vec<String>)> =
        outputs.map(|(i, output)| (output.name.clone(), acting(i))).collect();
    let is_unknown =
        |(i, _): &(usize, &(String, Vec<String>))| ports.outputs[*i].depends == Dependencies::Unknown;
    let unseen = feed_through.iter().enumerate().filter(is_unknown);
    let unseen = unseen.filter(|(_, (_, by))| by.is_empty()).map(|(_, (name, _))| name.clone());
    Ok(SubsystemReport {
        name: graph.name(id).to_owned(),
        source: found.source,
        unseen: unseen.collect(),
        feed_through: feed_through.iter().filter(|(_, by)| !by.is_empty()).cloned().collect(),
        can_roll_back: saved.is_ok(),
        problem: saved.err().map(|error| error.to_string()),
    })
}
