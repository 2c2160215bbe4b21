//! In which order outputs can be evaluated at one instant.
//!
//! Output b follows output a when a is wired to an input that acts on b directly. Strongly connected components of that
//! graph are algebraic loops; everything else is an order.

use super::graph::{OutputId, SubsystemId, SystemGraph};
use crate::linalg::strongly_connected;

/// One step of evaluating all outputs at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Component {
    /// Outputs that follow from earlier ones: read these subsystems once.
    Direct(Vec<SubsystemId>),
    /// Outputs that depend on each other: a loop to be solved.
    Loop(Vec<OutputId>),
}

/// The components in order of evaluation. Outputs that depend on states and constant inputs alone do not appear: they are
/// known.
pub fn evaluation_order(graph: &SystemGraph) -> Vec<Component> {
    evaluation_order_with(graph, Reach::ToFilters)
}

/// The same, through filters if asked for.
pub(crate) fn evaluation_order_with(graph: &SystemGraph, reach: Reach) -> Vec<Component> {
    let sources = direct_sources_with(graph, reach);
    let mut order = Vec::new();
    for component in strongly_connected(&sources) {
        if is_cycle(&sources, &component) {
            order.push(Component::Loop(component));
        } else if !sources[component[0]].is_empty() || is_fed_from_outside(graph, component[0]) {
            append(&mut order, graph.subsystem_of_output(component[0]), graph);
        }
    }
    order
}

/// True if an external signal acts on the output at the same instant.
fn is_fed_from_outside(graph: &SystemGraph, output: OutputId) -> bool {
    let id = graph.subsystem_of_output(output);
    let inputs = graph.inputs_of(id);
    let variable = &graph.ports(id).outputs[output - graph.outputs_of(id).start];
    // Signals are sorted by input.
    let signals = graph.externals();
    let from = signals.partition_point(|(input, _)| *input < inputs.start);
    let to = signals.partition_point(|(input, _)| *input < inputs.end);
    signals[from..to].iter().any(|(input, _)| variable.depends.may_include(input - inputs.start))
}

/// Adds a reading of `id`, joined to an earlier one where nothing in between feeds it.
fn append(order: &mut Vec<Component>, id: SubsystemId, graph: &SystemGraph) {
    if let Some(Component::Direct(last)) = order.last_mut() {
        if last.last() == Some(&id) {
            return;
        }
        let feeds = |from: &SubsystemId| {
            graph.wires_from(*from).iter().any(|w| graph.inputs_of(id).contains(&graph.wires()[*w].target))
        };
        if !last.contains(&id) && !last.iter().any(feeds) {
            last.push(id);
            return;
        }
    }
    order.push(Component::Direct(vec![id]));
}

/// How far a direct action reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Filters end it.
    ToFilters,
    /// As if filters were not there: at a consistent start, and to see which loops they break.
    ThroughFilters,
}

/// For every output, the outputs that act on it at the same instant, or but for filters would.
pub(crate) fn direct_sources_with(graph: &SystemGraph, reach: Reach) -> Vec<Vec<OutputId>> {
    (0..graph.outputs()).map(|output| sources_of(graph, output, reach)).collect()
}

/// The outputs that act on one output at the same instant, in ascending order.
pub(crate) fn sources_of(graph: &SystemGraph, output: OutputId, reach: Reach) -> Vec<OutputId> {
    let inputs = graph.inputs_of(graph.subsystem_of_output(output));
    let depends = match reach {
        Reach::ToFilters => &graph.output_variable(output).depends,
        Reach::ThroughFilters => graph.reaching(output),
    };
    let sources = |input| graph.wires_into(input).map(|wire| graph.wires()[wire].source);
    let acting = depends.among(inputs.len()).into_iter();
    let mut all: Vec<OutputId> = acting.flat_map(|place| sources(inputs.start + place)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether the nodes of a strongly connected component follow themselves.
pub(crate) fn is_cycle(sources: &[Vec<usize>], component: &[usize]) -> bool {
    component.len() > 1 || sources[component[0]].contains(&component[0])
}

/// For every subsystem, those that feed it.
pub(crate) fn feeders(graph: &SystemGraph) -> Vec<Vec<SubsystemId>> {
    let mut sources = vec![Vec::new(); graph.len()];
    for wire in graph.wires() {
        sources[graph.subsystem_of_input(wire.target)].push(wire.from);
    }
    for wire in graph.message_wires().iter().filter(|wire| wire.from != wire.to) {
        sources[wire.to].push(wire.from);
    }
    sources
}

/// Whether each subsystem follows itself, at once or not.
pub(crate) fn are_in_cycles(graph: &SystemGraph) -> Vec<bool> {
    let sources = feeders(graph);
    let mut are = vec![false; graph.len()];
    for members in strongly_connected(&sources) {
        members.iter().for_each(|id| are[*id] = is_cycle(&sources, &members));
    }
    are
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_after_what_they_depend_on() {
        // 0 <- 1 <- 2 <-> 3, 4 alone, 5 feeds itself
        let sources = vec![vec![1], vec![2], vec![3], vec![2], vec![], vec![5, 0]];
        let components = strongly_connected(&sources);
        assert_eq!(components, [vec![2, 3], vec![1], vec![0], vec![4], vec![5]]);
    }

    #[test]
    fn a_long_chain_does_not_overflow() {
        let n = 200_000;
        let sources: Vec<Vec<usize>> = (0..n).map(|i| if i + 1 < n { vec![i + 1] } else { vec![] }).collect();
        assert_eq!(strongly_connected(&sources).len(), n);
    }
}
