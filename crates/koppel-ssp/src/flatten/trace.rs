//! From every target back to where its value comes from.

use super::chain::Chain;
use super::graph::{Graph, Owner};
use super::wire::sort;
use super::{Carries, FlatConnection, FlatConnector, FlatSystem, Port};
use crate::finding::{Report, Rule};
use crate::model::Kind;

/// Paths longer than this go round in a circle, or nearly.
const LONGEST: usize = 4096;
/// More steps than this come from a structure made to hurt.
const MOST_STEPS: usize = 5_000_000;

/// The flat system without parameters.
pub(super) fn connections(graph: &Graph, report: &mut Report) -> FlatSystem {
    let mut flat = FlatSystem {
        components: graph.components.clone(),
        units: graph.units.clone(),
        enumerations: graph.enumerations.clone(),
        ..FlatSystem::default()
    };
    for node in &graph.nodes {
        let connector = FlatConnector {
            name: node.connector.name.clone(),
            kind: node.connector.kind,
            data: node.connector.data.clone(),
            unit: node.unit.clone(),
            enumeration: node.enumeration.clone(),
            dimensions: node.connector.dimensions.clone(),
            clocks: node.connector.clocks.clone(),
            start: None,
            origin: node.origin.clone(),
        };
        match node.owner {
            Owner::Component(number) => flat.components[number].connectors.push(connector),
            Owner::Top if is_given(node.connector.kind, !node.incoming.is_empty()) => {
                flat.outputs.push(connector)
            }
            Owner::Top => flat.inputs.push(connector),
            Owner::Between => {}
        }
    }
    check_single_sources(graph, report);
    let visited = vec![0; graph.nodes.len()];
    let mut walk = Walk { graph, report, path: Vec::new(), visited, steps: 0, flat };
    for number in 0..graph.nodes.len() {
        let node = &graph.nodes[number];
        if node.owner != Owner::Between && !node.incoming.is_empty() {
            walk.back(number, number, Vec::new(), Vec::new());
        }
    }
    walk.check_loops();
    walk.flat
}

/// Whether a connector of the top system is one of its outputs.
fn is_given(kind: Kind, fed: bool) -> bool {
    match kind {
        Kind::Output | Kind::CalculatedParameter | Kind::Local | Kind::Constant => true,
        Kind::Input | Kind::Parameter | Kind::StructuralParameter => false,
        Kind::Inout | Kind::Unspecified => fed,
    }
}

/// No two edges end at the same place.
fn check_single_sources(graph: &Graph, report: &mut Report) {
    for node in graph.nodes.iter().filter(|n| n.incoming.len() > 1) {
        let mut seen: Vec<&[u64]> = Vec::new();
        for number in &node.incoming {
            let edge = &graph.edges[*number];
            let indices = edge.to_indices.as_slice();
            if seen.iter().any(|other| other.starts_with(indices) || indices.starts_with(other)) {
                let name = &node.connector.name;
                report.fault(&edge.place(), Rule::OneSource, format!("`{name}` has another source already"));
            }
            if seen.len() < 64 {
                seen.push(indices);
            }
        }
    }
}

struct Walk<'g, 'r> {
    graph: &'g Graph,
    report: &'r mut Report,
    /// Edges from the target back to where the walk is.
    path: Vec<usize>,
    /// 0: not seen; otherwise the number of the walk that came by.
    visited: Vec<usize>,
    steps: usize,
    flat: FlatSystem,
}

impl Walk<'_, '_> {
    /// `filled`: which element of the target is looked at; `needed`: which element of this node.
    fn back(&mut self, target: usize, node: usize, filled: Vec<u64>, needed: Vec<u64>) {
        self.visited[node] = usize::MAX;
        let here = &self.graph.nodes[node];
        let is_source = node != target && here.owner != Owner::Between;
        if is_source {
            self.arrive(target, node, filled, needed);
            return;
        }
        for number in &here.incoming {
            let edge = &self.graph.edges[*number];
            self.steps += 1;
            if self.steps > MOST_STEPS {
                self.report.fault(
                    &edge.place(),
                    Rule::Nesting,
                    "too many paths lead from sources to targets",
                );
                return;
            }
            let Some((filled, needed)) = step(&edge.to_indices, &edge.from_indices, &filled, &needed) else {
                continue;
            };
            if self.path.contains(number) || self.path.len() > LONGEST {
                self.report.fault(&edge.place(), Rule::Loop, "the value comes back to where it started");
                continue;
            }
            self.path.push(*number);
            self.back(target, edge.from, filled, needed);
            self.path.pop();
        }
    }

    fn arrive(&mut self, target: usize, source: usize, filled: Vec<u64>, needed: Vec<u64>) {
        let graph = self.graph;
        let mut chain = Chain::start(graph.nodes[source].unit.clone());
        for number in self.path.iter().rev() {
            chain.follow(&graph.edges[*number], graph, self.report);
        }
        chain.flush();
        let port = |node: usize, indices: Vec<u64>| Port {
            component: match graph.nodes[node].owner {
                Owner::Component(number) => Some(number),
                _ => None,
            },
            connector: graph.nodes[node].connector.name.clone(),
            indices,
        };
        let kinds = [graph.nodes[source].connector.kind, graph.nodes[target].connector.kind];
        let is_parameter = kinds.into_iter().any(|k| sort(k) == Some("parameter"));
        let signal = kinds.into_iter().any(|k| sort(k) == Some("signal"));
        self.flat.connections.push(FlatConnection {
            from: port(source, needed),
            to: port(target, filled),
            carries: if is_parameter && !signal { Carries::Parameter } else { Carries::Signal },
            factor: chain.factor,
            offset: chain.offset,
            mapping: chain.mapping,
            units: (graph.nodes[source].unit.clone(), chain.unit),
            suppresses_units: self.path.iter().any(|edge| graph.edges[*edge].suppress_unit_conversion),
            origin: self
                .path
                .first()
                .map_or_else(Default::default, |edge| graph.edges[*edge].place().origin()),
        });
    }

    /// Loops that no target reaches.
    fn check_loops(&mut self) {
        for start in 0..self.graph.nodes.len() {
            let walk = start + 1;
            let mut node = start;
            while self.visited[node] == 0 {
                self.visited[node] = walk;
                let Some(number) = self.graph.nodes[node].incoming.first() else { break };
                let edge = &self.graph.edges[*number];
                node = edge.from;
                if self.visited[node] == walk {
                    let words = "the value comes back to where it started";
                    self.report.fault(&edge.place(), Rule::Loop, words);
                }
            }
        }
    }
}

/// How an edge moves what is filled at the target and what is needed here; `None` if the edge gives something else.
fn step(to: &[u64], from: &[u64], filled: &[u64], needed: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
    if let Some(rest) = needed.strip_prefix(to) {
        return Some((filled.to_vec(), [from, rest].concat()));
    }
    let rest = to.strip_prefix(needed)?;
    Some(([filled, rest].concat(), from.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::step;

    #[test]
    fn indices_move_along() {
        // the whole from the whole
        assert_eq!(step(&[], &[], &[], &[]), Some((vec![], vec![])));
        // element 2 here is a scalar there
        assert_eq!(step(&[2], &[], &[], &[]), Some((vec![2], vec![])));
        // element 3 of what is element 2 here
        assert_eq!(step(&[2], &[7], &[], &[2, 3]), Some((vec![], vec![7, 3])));
        // another element
        assert_eq!(step(&[2], &[], &[], &[1]), None);
    }
}
