//! Systems, components and dictionaries as nodes.

use super::scope::{Dictionaries, Scope};
use super::{FlatComponent, ResourceRef, UnitLookup};
use crate::finding::{Origin, Place, Position, Report, Rule, suggest};
use crate::load::FMU;
use crate::model::{
    Class, Component, Connector, Dictionary, DictionaryReference, Dimension, Element, Enumeration, Kind,
    Nested, System, SystemStructure, Transformation,
};
use koppel::unit::Unit;
use std::collections::HashMap;
use std::rc::Rc;

/// Whose connector a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Top,
    Component(usize),
    /// An inner system, a dictionary or a reference to one: dissolved.
    Between,
}

pub(super) struct Node {
    pub(super) owner: Owner,
    pub(super) connector: Connector,
    pub(super) unit: Option<Unit>,
    pub(super) enumeration: Option<Enumeration>,
    pub(super) origin: Origin,
    /// Edges that end here.
    pub(super) incoming: Vec<usize>,
    pub(super) outgoing: Vec<usize>,
}

pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) from_indices: Vec<u64>,
    pub(super) to: usize,
    pub(super) to_indices: Vec<u64>,
    pub(super) transformation: Option<Transformation>,
    pub(super) suppress_unit_conversion: bool,
    pub(super) file: String,
    pub(super) at: Position,
    pub(super) label: String,
}

impl Edge {
    pub(super) fn place(&self) -> Place<'_> {
        Place::new(&self.file, self.at, self.label.clone())
    }
}

/// Everything but the parameters.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    pub(super) components: Vec<FlatComponent>,
    /// Per component, the node of each connector.
    pub(super) component_nodes: Vec<HashMap<String, usize>>,
    pub(super) units: Vec<Unit>,
    pub(super) enumerations: Vec<Enumeration>,
}

/// An element with the nodes of its connectors, kept for the parameters.
pub(super) struct Built<'s> {
    pub(super) scope: Scope<'s>,
    pub(super) content: Content<'s>,
    pub(super) ports: HashMap<String, Ends>,
}

pub(super) enum Content<'s> {
    Component(&'s Component, usize),
    /// A system; the component that stands for it, if it was one, with its own scope.
    System(&'s System, Option<(&'s Component, Scope<'s>)>, Vec<(String, Built<'s>)>),
    Reference,
}

/// Nodes of a connector: where values go in and where they come out; two for a dictionary reference.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) kind: Kind,
    pub(super) into: usize,
    pub(super) out: usize,
}

pub(super) struct Builder<'r> {
    pub(super) graph: Graph,
    pub(super) report: &'r mut Report,
    units: UnitLookup<'r>,
}

impl<'r> Builder<'r> {
    pub(super) fn new(report: &'r mut Report, units: UnitLookup<'r>) -> Self {
        Builder { graph: Graph::default(), report, units }
    }

    pub(super) fn finish(self) -> Graph {
        let mut graph = self.graph;
        for (number, edge) in graph.edges.iter().enumerate() {
            graph.nodes[edge.to].incoming.push(number);
            graph.nodes[edge.from].outgoing.push(number);
        }
        graph
    }

    pub(super) fn top<'s>(&mut self, structure: &'s SystemStructure) -> Built<'s> {
        let scope = self.scope(structure);
        self.system(&structure.system, None, "", scope, None)
    }

    fn scope<'s>(&mut self, structure: &'s SystemStructure) -> Scope<'s> {
        self.define(structure.units.iter().filter_map(|u| u.unit().ok()), &structure.enumerations);
        Scope { file: &structure.file, units: &structure.units, enumerations: &structure.enumerations }
    }

    fn define(&mut self, units: impl Iterator<Item = Unit>, enumerations: &[Enumeration]) {
        for unit in units {
            if !self.graph.units.contains(&unit) {
                self.graph.units.push(unit);
            }
        }
        for enumeration in enumerations {
            if !self.graph.enumerations.contains(enumeration) {
                self.graph.enumerations.push(enumeration.clone());
            }
        }
    }

    fn system<'s>(
        &mut self,
        system: &'s System,
        stands_for: Option<(&'s Component, Scope<'s>)>,
        path: &str,
        scope: Scope<'s>,
        outer: Option<Rc<Dictionaries>>,
    ) -> Built<'s> {
        let is_top = path.is_empty();
        let owner = if is_top { Owner::Top } else { Owner::Between };
        let ports = self.connectors(&system.connectors, owner, path, scope);
        let own = system.dictionaries.iter().map(|d| (d.name.clone(), self.dictionary(d))).collect();
        let dictionaries = Rc::new(Dictionaries { own, outer });
        let mut elements = Vec::new();
        for element in &system.elements {
            let name = element.name().to_owned();
            let inner = if is_top { name.clone() } else { format!("{path}.{name}") };
            let built = match element {
                Element::System(s) => self.system(s, None, &inner, scope, Some(Rc::clone(&dictionaries))),
                Element::Component(c) => self.component(c, &inner, scope, &dictionaries),
                Element::Reference(r) => self.reference(r, scope, &dictionaries),
            };
            elements.push((name, built));
        }
        let content = Content::System(system, stands_for, elements);
        let built = Built { scope, content, ports };
        for connection in &system.connections {
            self.connection(connection, &built);
        }
        built
    }

    fn component<'s>(
        &mut self,
        component: &'s Component,
        path: &str,
        scope: Scope<'s>,
        dictionaries: &Rc<Dictionaries>,
    ) -> Built<'s> {
        if let Some(nested) = &component.nested {
            let inner = match nested {
                Nested::Document(structure) => self.scope(structure),
                Nested::Same(_) => scope,
            };
            let outer = matches!(nested, Nested::Same(_)).then(|| Rc::clone(dictionaries));
            let built = self.system(nested.system(), Some((component, scope)), path, inner, outer);
            self.check_interface(component, &built, scope);
            return built;
        }
        let number = self.graph.components.len();
        self.graph.components.push(FlatComponent {
            name: path.to_owned(),
            source: component.location.clone().map(|location| ResourceRef {
                location,
                media_type: component.kind.clone().unwrap_or_else(|| FMU.to_owned()),
            }),
            implementation: component.implementation,
            origin: Origin { file: scope.file.to_owned(), at: component.at },
            ..FlatComponent::default()
        });
        let ports = self.connectors(&component.connectors, Owner::Component(number), path, scope);
        self.graph.component_nodes.push(ports.iter().map(|(name, ends)| (name.clone(), ends.into)).collect());
        Built { scope, content: Content::Component(component, number), ports }
    }

    /// The connectors written at a component must be those of the system it stands for.
    fn check_interface(&mut self, component: &Component, built: &Built, scope: Scope) {
        for connector in &component.connectors {
            let element = format!("Connector {}.{}", component.name, connector.name);
            let place = Place::new(scope.file, connector.at, element);
            match built.ports.get(&connector.name) {
                None => {
                    let close = suggest(&connector.name, built.ports.keys().map(String::as_str));
                    let message =
                        format!("the system it stands for has no connector `{}`{close}", connector.name);
                    self.report.lapse(&place, Rule::Interface, message);
                }
                Some(ends) if ends.kind != connector.kind => {
                    let (own, inner) = (connector.kind.text(), ends.kind.text());
                    let message = format!("is `{own}` here but `{inner}` in the system it stands for");
                    self.report.lapse(&place, Rule::Interface, message);
                }
                Some(_) => {}
            }
        }
    }

    fn connectors(
        &mut self,
        connectors: &[Connector],
        owner: Owner,
        path: &str,
        scope: Scope,
    ) -> HashMap<String, Ends> {
        let mut ports = HashMap::new();
        for connector in connectors {
            let element = dotted("Connector", path, &connector.name);
            let place = Place::new(scope.file, connector.at, element);
            if connector.kind == Kind::Inout {
                self.report.lapse(&place, Rule::Kind, "`inout` is for signal dictionary references only");
            }
            self.check_siblings(connector, connectors, &place);
            let mut unit = scope.unit_of(connector.data.as_ref(), &place, self.report);
            let float = connector.data.as_ref().is_none_or(|d| d.base.class() == Class::Float);
            if unit.is_none() && float && matches!(owner, Owner::Component(_)) {
                unit = (self.units)(path, &connector.name);
            }
            let enumeration = scope.enumeration_of(connector.data.as_ref(), &place, self.report);
            let node = self.node(owner, connector.clone(), unit, enumeration);
            self.graph.nodes[node].origin = place.origin();
            ports.insert(connector.name.clone(), Ends { kind: connector.kind, into: node, out: node });
        }
        ports
    }

    /// Sizes and clocks refer to connectors of the same element.
    fn check_siblings(&mut self, connector: &Connector, all: &[Connector], place: &Place) {
        let sizes = connector.dimensions.iter().filter_map(|d| match d {
            Dimension::Connector(name) => Some(name),
            _ => None,
        });
        for name in sizes.chain(&connector.clocks) {
            if !all.iter().any(|c| c.name == *name) {
                let close = suggest(name, all.iter().map(|c| c.name.as_str()));
                self.report.lapse(place, Rule::KnownName, format!("there is no connector `{name}`{close}"));
            }
        }
    }

    fn node(
        &mut self,
        owner: Owner,
        connector: Connector,
        unit: Option<Unit>,
        enumeration: Option<Enumeration>,
    ) -> usize {
        let (incoming, outgoing) = (Vec::new(), Vec::new());
        let origin = Origin::default();
        self.graph.nodes.push(Node { owner, connector, unit, enumeration, origin, incoming, outgoing });
        self.graph.nodes.len() - 1
    }

    fn dictionary(&mut self, dictionary: &Dictionary) -> HashMap<String, usize> {
        let Some(content) = &dictionary.content else { return HashMap::new() };
        self.define(content.units.iter().filter_map(|u| u.unit().ok()), &content.enumerations);
        let scope = Scope { file: &content.file, units: &content.units, enumerations: &content.enumerations };
        let mut entries = HashMap::new();
        for entry in &content.entries {
            let place = Place::new(&content.file, entry.at, format!("DictionaryEntry {}", entry.name));
            let unit = scope.unit_of(entry.data.as_ref(), &place, self.report);
            let enumeration = scope.enumeration_of(entry.data.as_ref(), &place, self.report);
            let mut connector = Connector::new(&entry.name, Kind::Inout, entry.data.clone());
            connector.dimensions.clone_from(&entry.dimensions);
            let node = self.node(Owner::Between, connector, unit, enumeration);
            entries.insert(entry.name.clone(), node);
        }
        entries
    }

    fn reference<'s>(
        &mut self,
        reference: &'s DictionaryReference,
        scope: Scope<'s>,
        dictionaries: &Rc<Dictionaries>,
    ) -> Built<'s> {
        let mut ports = HashMap::new();
        let place =
            Place::new(scope.file, reference.at, format!("SignalDictionaryReference {}", reference.name));
        let entries = dictionaries.find(&reference.dictionary);
        if entries.is_none() {
            let close = suggest(&reference.dictionary, dictionaries.names());
            let message = format!(
                "there is no signal dictionary `{}` here or further out{close}",
                reference.dictionary
            );
            self.report.fault(&place, Rule::KnownName, message);
        }
        for connector in &reference.connectors {
            let element = format!("Connector {}.{}", reference.name, connector.name);
            let place = Place::new(scope.file, connector.at, element);
            let unit = scope.unit_of(connector.data.as_ref(), &place, self.report);
            let enumeration = scope.enumeration_of(connector.data.as_ref(), &place, self.report);
            let into = self.node(Owner::Between, connector.clone(), unit.clone(), enumeration.clone());
            let out = self.node(Owner::Between, connector.clone(), unit, enumeration);
            ports.insert(connector.name.clone(), Ends { kind: connector.kind, into, out });
            let Some(entries) = entries else { continue };
            let Some(entry) = entries.get(&connector.name).copied() else {
                let close = suggest(&connector.name, entries.keys().map(String::as_str));
                let message = format!("dictionary `{}` has no such entry{close}", reference.dictionary);
                self.report.fault(&place, Rule::KnownName, message);
                continue;
            };
            if connector.kind != Kind::Output {
                self.link(into, entry, &place);
            }
            if connector.kind != Kind::Input {
                self.link(entry, out, &place);
            }
        }
        Built { scope, content: Content::Reference, ports }
    }
}

fn dotted(tag: &str, path: &str, name: &str) -> String {
    if path.is_empty() { format!("{tag} {name}") } else { format!("{tag} {path}.{name}") }
}
