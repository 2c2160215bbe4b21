//! Connections as edges, with the checks that need both ends.

use super::graph::{Builder, Built, Content, Edge, Ends};
use super::values::{check_shapes, check_transformation, check_types};
use crate::finding::{Place, Rule, suggest};
use crate::model::{Connection, DataType, End, Kind};
use koppel::unit::Unit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Source,
    Target,
    Either,
}

/// A connection's end with its connector found.
struct Terminal {
    role: Role,
    own: bool,
    ends: Ends,
}

impl Builder<'_> {
    /// A step between a dictionary's entry and its use.
    pub(super) fn link(&mut self, from: usize, to: usize, place: &Place) {
        let edge = Edge {
            from,
            from_indices: Vec::new(),
            to,
            to_indices: Vec::new(),
            transformation: None,
            suppress_unit_conversion: false,
            file: place.file.to_owned(),
            at: place.at,
            label: place.element.clone(),
        };
        self.check_edge(&edge);
        self.graph.edges.push(edge);
    }

    pub(super) fn connection(&mut self, connection: &Connection, built: &Built) {
        let label = format!("Connection {} -> {}", connection.start.text(), connection.end.text());
        let place = Place::new(built.scope.file, connection.at, label.clone());
        let start = self.terminal(&connection.start, built, &place);
        let end = self.terminal(&connection.end, built, &place);
        let (Some(start), Some(end)) = (start, end) else { return };
        let Some(forward) = self.direction(connection, &start, &end, &place) else { return };
        let ((source, source_end), (target, target_end)) = if forward {
            ((&start, &connection.start), (&end, &connection.end))
        } else {
            ((&end, &connection.end), (&start, &connection.start))
        };
        let edge = Edge {
            from: source.ends.out,
            from_indices: source_end.indices.clone(),
            to: target.ends.into,
            to_indices: target_end.indices.clone(),
            transformation: connection.transformation.clone(),
            suppress_unit_conversion: connection.suppress_unit_conversion,
            file: built.scope.file.to_owned(),
            at: connection.at,
            label,
        };
        self.check_edge(&edge);
        self.graph.edges.push(edge);
    }

    fn terminal(&mut self, end: &End, built: &Built, place: &Place) -> Option<Terminal> {
        let Content::System(system, _, elements) = &built.content else { return None };
        let (ports, own, whose) = match &end.element {
            None => (&built.ports, true, format!("system `{}`", system.name)),
            Some(name) => match elements.iter().find(|(known, _)| known == name) {
                Some((_, element)) => (&element.ports, false, format!("element `{name}`")),
                None => {
                    let close = suggest(name, elements.iter().map(|(n, _)| n.as_str()));
                    let message = format!("there is no element `{name}` in `{}`{close}", system.name);
                    self.report.fault(place, Rule::KnownName, message);
                    return None;
                }
            },
        };
        let Some(ends) = ports.get(&end.connector).copied() else {
            let mut known: Vec<_> = ports.keys().map(String::as_str).collect();
            known.sort_unstable();
            let close = suggest(&end.connector, known);
            let message = format!("{whose} has no connector `{}`{close}", end.connector);
            self.report.fault(place, Rule::KnownName, message);
            return None;
        };
        Some(Terminal { role: role(ends.kind, own), own, ends })
    }

    /// Whether the value flows from start to end.
    fn direction(
        &mut self,
        connection: &Connection,
        start: &Terminal,
        end: &Terminal,
        place: &Place,
    ) -> Option<bool> {
        let forward = match (start.role, end.role) {
            (Role::Source, Role::Target | Role::Either) | (Role::Either, Role::Target) => true,
            (Role::Target, Role::Source | Role::Either) | (Role::Either, Role::Source) => false,
            (Role::Either, Role::Either) => {
                self.report.fault(place, Rule::Kind, "both ends leave open which way the value flows");
                return None;
            }
            (Role::Source, Role::Source) | (Role::Target, Role::Target) => {
                let word = if start.role == Role::Source { "give" } else { "take" };
                let words = |end: &End, terminal: &Terminal| {
                    let whose = if terminal.own { " of the system itself" } else { "" };
                    format!("`{}` ({}{whose})", end.text(), terminal.ends.kind.text())
                };
                let (first, second) = (words(&connection.start, start), words(&connection.end, end));
                let message = format!("{first} and {second} both {word} a value");
                self.report.fault(place, Rule::Kind, message);
                return None;
            }
        };
        if let (Some(first), Some(second)) = (sort(start.ends.kind), sort(end.ends.kind))
            && first != second
        {
            let message = format!(
                "`{}` is a {first} ({}), `{}` is a {second} ({})",
                connection.start.text(),
                start.ends.kind.text(),
                connection.end.text(),
                end.ends.kind.text()
            );
            self.report.lapse(place, Rule::Kind, message);
        }
        Some(forward)
    }

    fn check_edge(&mut self, edge: &Edge) {
        let (from, to) = (&self.graph.nodes[edge.from], &self.graph.nodes[edge.to]);
        let place = edge.place();
        if let (Some(source), Some(target)) = (&from.connector.data, &to.connector.data) {
            check_types(source, target, edge.transformation.as_ref(), &place, self.report);
        }
        if let Some(transformation) = &edge.transformation {
            let known = |data: &Option<DataType>| data.as_ref().map(|d| d.base.class());
            let classes = [known(&from.connector.data), known(&to.connector.data)];
            check_transformation(transformation, classes, &place, self.report);
        }
        if let (Some(source), Some(target)) = (&from.unit, &to.unit)
            && !edge.suppress_unit_conversion
            && let Err(error) = Unit::conversion(source, target)
        {
            self.report.lapse(&place, Rule::Unit, error.to_string());
        }
        check_shapes(
            (&from.connector.dimensions, &edge.from_indices),
            (&to.connector.dimensions, &edge.to_indices),
            &place,
            self.report,
        );
    }
}

/// What a connector does seen from inside the system that holds the connection.
fn role(kind: Kind, own: bool) -> Role {
    let gives_outside = match kind {
        Kind::Output | Kind::CalculatedParameter | Kind::Local | Kind::Constant => true,
        Kind::Input | Kind::Parameter | Kind::StructuralParameter => false,
        Kind::Inout | Kind::Unspecified => return Role::Either,
    };
    if gives_outside == own { Role::Target } else { Role::Source }
}

/// Signals connect with signals, parameters with parameters.
pub(super) fn sort(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Input | Kind::Output | Kind::Local => Some("signal"),
        Kind::Parameter | Kind::CalculatedParameter | Kind::StructuralParameter => Some("parameter"),
        Kind::Constant | Kind::Inout | Kind::Unspecified => None,
    }
}
