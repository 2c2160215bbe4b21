//! One algebraic loop: its outputs, where it is cut, in which order it is evaluated, and its path in words.

use super::feedthrough::{Reach, direct_sources_with, is_cycle, sources_of};
use super::graph::{InputId, OutputId, SubsystemId, SystemGraph};
use super::tearing::{Signal, tear};
use crate::linalg::strongly_connected;
use std::collections::VecDeque;

/// Outputs that depend on each other at the same instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlgebraicLoop {
    /// Its outputs, in ascending order.
    pub outputs: Vec<OutputId>,
    /// The subsystems they belong to.
    pub members: Vec<SubsystemId>,
    /// Outputs that are guessed; then the others follow.
    pub torn: Vec<OutputId>,
    /// Members in the order in which they are read, given the torn outputs; one may come twice.
    pub reads: Vec<SubsystemId>,
    /// True if no smaller set of torn outputs exists, false if a heuristic found it.
    pub is_smallest: bool,
}

/// Guessing an output is preferred by this little where a start value tells what to guess.
const GUESSED: u64 = 1023;
const UNKNOWN: u64 = 1024;

impl AlgebraicLoop {
    /// Cuts the loop of these outputs, a strongly connected component of the feed-through graph.
    pub fn new(graph: &SystemGraph, outputs: Vec<OutputId>) -> Self {
        let sources = inner_sources(graph, &outputs);
        let weight = |output: OutputId| {
            let has_start = |w: &&usize| {
                let wire = graph.wires()[**w];
                wire.source == output && graph.input_variable(wire.target).start != 0.0
            };
            let from = graph.subsystem_of_output(output);
            if graph.wires_from(from).iter().any(|w| has_start(&w)) { GUESSED } else { UNKNOWN }
        };
        let reached = |from: usize| (0..outputs.len()).filter(|to| sources[*to].contains(&from)).collect();
        let signal = |from| Signal { from, to: reached(from), weight: weight(outputs[from]) };
        let signals: Vec<Signal> = (0..outputs.len()).map(signal).collect();
        let tearing = tear(outputs.len(), &signals);
        let owners: Vec<SubsystemId> = outputs.iter().map(|o| graph.subsystem_of_output(*o)).collect();
        let reads = reads(&sources, &owners, &tearing.torn);
        let mut members = owners;
        members.sort_unstable();
        members.dedup();
        let torn = tearing.torn.iter().map(|s| outputs[*s]).collect();
        AlgebraicLoop { outputs, members, torn, reads, is_smallest: tearing.is_smallest }
    }

    /// The same loop with every output guessed and every member read once: no cut at all.
    pub fn untorn(mut self) -> Self {
        self.torn = self.outputs.clone();
        self.reads = self.members.clone();
        self.is_smallest = false;
        self
    }

    /// A shortest way round the loop, port by port: `lower.F1 -> upper.F1 => upper.a1 -> lower.a1 => lower.F1`. An arrow `->` is a
    /// connection, `=>` leads through a subsystem.
    pub fn path(&self, graph: &SystemGraph) -> String {
        let sources = inner_sources(graph, &self.outputs);
        let start = self.torn.first().and_then(|o| self.outputs.iter().position(|other| other == o));
        let cycle = shortest_cycle(&sources, start.unwrap_or(0));
        let mut text = graph.output_name(self.outputs[cycle[0]]);
        for pair in cycle.windows(2) {
            let (from, to) = (self.outputs[pair[0]], self.outputs[pair[1]]);
            let input = between(graph, from, to).map_or_else(String::new, |input| graph.input_name(input));
            text.push_str(&format!(" -> {input} => {}", graph.output_name(to)));
        }
        text
    }
}

/// All algebraic loops; through filters too, which take an instant, if asked for.
pub fn algebraic_loops(graph: &SystemGraph, reach: Reach) -> Vec<AlgebraicLoop> {
    let sources = direct_sources_with(graph, reach);
    let components = strongly_connected(&sources);
    let loops = components.into_iter().filter(|component| is_cycle(&sources, component));
    loops.map(|outputs| AlgebraicLoop::new(graph, outputs)).collect()
}

/// For each output, those of the loop that act on it at once, by their places.
fn inner_sources(graph: &SystemGraph, outputs: &[OutputId]) -> Vec<Vec<usize>> {
    let has_filter = outputs.iter().any(|o| graph.output_variable(*o).filtered.is_some());
    let reach = if has_filter { Reach::ThroughFilters } else { Reach::ToFilters };
    let place = |output: &OutputId| outputs.binary_search(output).ok();
    outputs.iter().map(|o| sources_of(graph, *o, reach).iter().filter_map(place).collect()).collect()
}

/// The input by which one output acts on another.
fn between(graph: &SystemGraph, from: OutputId, to: OutputId) -> Option<InputId> {
    let id = graph.subsystem_of_output(to);
    let first = graph.inputs_of(id).start;
    let wires = graph.wires_from(graph.subsystem_of_output(from)).iter().map(|w| graph.wires()[*w]);
    let mut into = wires.filter(|wire| wire.source == from && graph.inputs_of(id).contains(&wire.target));
    into.find(|wire| graph.reaching(to).may_include(wire.target - first)).map(|wire| wire.target)
}

/// In which order members are read so that every output is evaluated after those it needs, with as few reads as come.
fn reads(sources: &[Vec<usize>], owners: &[SubsystemId], torn: &[usize]) -> Vec<SubsystemId> {
    let mut is_known: Vec<bool> = (0..owners.len()).map(|k| torn.contains(&k)).collect();
    let mut is_done = vec![false; owners.len()];
    let mut reads = Vec::new();
    while is_done.contains(&false) {
        let is_ready = |k: usize| !is_done[k] && sources[k].iter().all(|s| is_known[*s]);
        let ready = (0..owners.len()).filter(|k| is_ready(*k));
        let rank = |k: &usize| {
            let own = (0..owners.len()).filter(|other| owners[*other] == owners[*k] && !is_done[*other]);
            let (now, later): (Vec<usize>, Vec<usize>) = own.partition(|other| is_ready(*other));
            (later.len(), usize::MAX - now.len(), *k)
        };
        let Some(next) = ready.min_by_key(rank).map(|k| owners[k]) else { break };
        let now: Vec<usize> = (0..owners.len()).filter(|k| owners[*k] == next && is_ready(*k)).collect();
        for k in now {
            (is_done[k], is_known[k]) = (true, true);
        }
        reads.push(next);
    }
    reads
}

/// A shortest cycle through `start`, with `start` at both ends.
fn shortest_cycle(sources: &[Vec<usize>], start: usize) -> Vec<usize> {
    // Backwards from the start, along what it depends on.
    let mut next: Vec<Option<usize>> = vec![None; sources.len()];
    let mut waiting = VecDeque::from([start]);
    while let Some(node) = waiting.pop_front() {
        for &source in &sources[node] {
            if source == start {
                let mut cycle = vec![start];
                let mut at = Some(node);
                while let Some(node) = at.filter(|node| *node != start) {
                    cycle.push(node);
                    at = next[node];
                }
                cycle.push(start);
                return cycle;
            }
            if next[source].is_none() {
                next[source] = Some(node);
                waiting.push_back(source);
            }
        }
    }
    vec![start, start]
}
