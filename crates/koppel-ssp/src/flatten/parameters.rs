//! Start values: prefixes, mappings, names, and who wins.
//!
//! Bindings of inner elements come first and those of the systems around them after; what comes later replaces what came
//! before. A value given to a system's connector goes on along its connections.

use super::chain::Chain;
use super::graph::{Built, Content, Graph, Owner};
use super::scope::Scope;
use super::values::{check_transformation, fit, transform};
use super::{FlatParameter, FlatSystem, UnitLookup};
use crate::finding::{Place, Report, Rule, suggest};
use crate::model::{
    DataType, Enumeration, MappingEntry, Parameter, ParameterBinding, ParameterSet, Transformation, Value,
};
use koppel::unit::Unit;

/// Applies all bindings.
pub(super) fn apply(
    graph: &Graph,
    top: &Built,
    units: UnitLookup,
    flat: &mut FlatSystem,
    report: &mut Report,
) {
    let mut binder = Binder { graph, units, flat, report };
    binder.element(top);
}

struct Binder<'a> {
    graph: &'a Graph,
    units: UnitLookup<'a>,
    flat: &'a mut FlatSystem,
    report: &'a mut Report,
}

/// A value on its way to its variable.
struct Given<'a> {
    value: Value,
    /// Enumeration the value's items belong to.
    enumeration: Option<Enumeration>,
    unit: Option<Unit>,
    transformation: Option<&'a Transformation>,
    suppress_unit_conversion: bool,
    place: Place<'a>,
}

impl Given<'_> {
    /// An enumeration mapping of item names needs no numbers.
    fn map_items(&mut self) -> Result<(), String> {
        let (Value::Enumeration(items), Some(Transformation::Enumeration(table))) =
            (&mut self.value, self.transformation)
        else {
            return Ok(());
        };
        for item in items {
            let Some((_, target)) = table.iter().find(|(source, _)| source == item) else {
                return Err(format!("the mapping has no entry for `{item}`"));
            };
            item.clone_from(target);
        }
        self.enumeration = None;
        self.transformation = None;
        Ok(())
    }
}

/// Where a name leads.
enum Target {
    Variable(usize, String),
    Connector(usize),
}

impl Binder<'_> {
    fn element(&mut self, built: &Built) {
        match &built.content {
            Content::Reference => {}
            Content::Component(component, _) => {
                component.bindings.iter().for_each(|b| self.binding(b, built, built.scope));
            }
            Content::System(system, stands_for, elements) => {
                elements.iter().for_each(|(_, inner)| self.element(inner));
                system.bindings.iter().for_each(|b| self.binding(b, built, built.scope));
                // as if they stood in the system, after its own
                if let Some((component, scope)) = stands_for {
                    component.bindings.iter().for_each(|b| self.binding(b, built, *scope));
                }
            }
        }
    }

    fn binding(&mut self, binding: &ParameterBinding, built: &Built, scope: Scope) {
        let Some(set) = &binding.set else { return };
        for enumeration in &set.enumerations {
            if !self.flat.enumerations.contains(enumeration) {
                self.flat.enumerations.push(enumeration.clone());
            }
        }
        let entries = binding.mapping.as_ref().and_then(|m| m.mapping.as_ref());
        for parameter in &set.parameters {
            let place = Place::new(&set.file, parameter.at, format!("Parameter {}", parameter.name));
            let unit = self.unit(parameter, set, scope, &place);
            self.check_item(parameter, set, scope, &place);
            let name = format!("{}{}", binding.prefix, parameter.name);
            let mapped: Vec<&MappingEntry> =
                entries.iter().flat_map(|m| &m.entries).filter(|e| e.source == name).collect();
            let mut give = |target: &str, entry: Option<&MappingEntry>| {
                let enumeration = self.enumeration(parameter);
                let mut given = Given {
                    value: parameter.value.clone(),
                    enumeration,
                    unit: unit.clone(),
                    transformation: entry.and_then(|e| e.transformation.as_ref()),
                    suppress_unit_conversion: entry.is_some_and(|e| e.suppress_unit_conversion),
                    place: place.clone(),
                };
                match given.map_items() {
                    Ok(()) => self.give(target, &given, built),
                    Err(words) => self.report.fault(&place, Rule::Transformation, words),
                }
            };
            if mapped.is_empty() {
                give(&name, None);
            }
            mapped.iter().for_each(|entry| give(&entry.target, Some(entry)));
        }
        if let Some(mapping) = entries {
            self.check_sources(binding, set, &mapping.entries, &mapping.file);
        }
    }

    /// Mapping entries name parameters of the set.
    fn check_sources(
        &mut self,
        binding: &ParameterBinding,
        set: &ParameterSet,
        entries: &[MappingEntry],
        file: &str,
    ) {
        let names: Vec<_> = set.parameters.iter().map(|p| format!("{}{}", binding.prefix, p.name)).collect();
        for entry in entries.iter().filter(|e| !names.contains(&e.source)) {
            let place = Place::new(file, entry.at, format!("MappingEntry {}", entry.source));
            let close = suggest(&entry.source, names.iter().map(String::as_str));
            let message = format!("parameter set `{}` has no parameter `{}`{close}", set.name, entry.source);
            self.report.note(&place, Rule::Applied, message);
        }
    }

    fn unit(
        &mut self,
        parameter: &Parameter,
        set: &ParameterSet,
        scope: Scope,
        place: &Place,
    ) -> Option<Unit> {
        let name = parameter.unit.as_deref()?;
        let inline = set.file == scope.file;
        let known = set.units.iter().find(|u| u.name == name);
        let known = known.or_else(|| scope.units.iter().find(|u| inline && u.name == name));
        if let Some(definition) = known {
            let unit = definition.unit().ok()?;
            if !self.flat.units.contains(&unit) {
                self.flat.units.push(unit.clone());
            }
            return Some(unit);
        }
        Scope { file: &set.file, units: &set.units, enumerations: &set.enumerations }.unit(
            name,
            place,
            self.report,
        )
    }

    /// An item of an enumeration the set names exists.
    fn check_item(&mut self, parameter: &Parameter, set: &ParameterSet, scope: Scope, place: &Place) {
        let Some(name) = &parameter.enumeration else { return };
        let all = || set.enumerations.iter().chain(scope.enumerations);
        let Some(enumeration) = all().find(|e| e.name == *name) else {
            let close = suggest(name, all().map(|e| e.name.as_str()));
            self.report.lapse(place, Rule::KnownName, format!("enumeration `{name}` is not defined{close}"));
            return;
        };
        let Value::Enumeration(items) = &parameter.value else { return };
        for item in items.iter().filter(|i| enumeration.value(i).is_none()) {
            let close = suggest(item, enumeration.items.iter().map(|(n, _)| n.as_str()));
            let message = format!("enumeration `{name}` has no item `{item}`{close}");
            self.report.lapse(place, Rule::KnownName, message);
        }
    }

    fn give(&mut self, name: &str, given: &Given, built: &Built) {
        match resolve(name, built) {
            Ok(Target::Variable(component, variable)) => self.give_variable(component, &variable, given),
            Ok(Target::Connector(node)) => self.give_connector(node, given),
            Err(close) => {
                let message = format!("nothing is called `{name}`: the value is not used{close}");
                self.report.note(&given.place, Rule::Applied, message);
            }
        }
    }

    fn give_variable(&mut self, component: usize, variable: &str, given: &Given) {
        let node = self.graph.component_nodes[component].get(variable).map(|n| &self.graph.nodes[*n]);
        let unit = match node {
            Some(node) => node.unit.clone(),
            None => (self.units)(&self.flat.components[component].name, variable),
        };
        let mut chain = Chain::start(given.unit.clone());
        let target = node.and_then(|n| n.enumeration.as_ref());
        if !self.through_entry(&mut chain, given, unit.as_ref(), target) {
            return;
        }
        chain.flush();
        let data = node.and_then(|n| n.connector.data.as_ref());
        self.assign(Some(component), variable, &chain, given, data);
    }

    /// Conversion and transformation of the mapping entry; false if it cannot be done.
    fn through_entry(
        &mut self,
        chain: &mut Chain,
        given: &Given,
        unit: Option<&Unit>,
        target: Option<&Enumeration>,
    ) -> bool {
        let suppress = given.suppress_unit_conversion;
        if let (Some(from), Some(to), false) = (&given.unit, unit, suppress)
            && let Err(error) = Unit::conversion(from, to)
        {
            self.report.lapse(&given.place, Rule::Unit, error.to_string());
        }
        chain.arrive(unit, suppress);
        let Some(transformation) = given.transformation else { return true };
        let class = Some(given.value.class());
        check_transformation(transformation, [class, None], &given.place, self.report);
        let done = chain.apply(transformation, given.enumeration.as_ref(), target);
        if let Err(words) = &done {
            self.report.fault(&given.place, Rule::Transformation, words.clone());
        }
        done.is_ok()
    }

    fn enumeration(&self, parameter: &Parameter) -> Option<Enumeration> {
        let name = parameter.enumeration.as_deref()?;
        self.flat.enumerations.iter().find(|e| e.name == name).cloned()
    }

    /// A value given to a system's connector goes to all variables it is connected with.
    fn give_connector(&mut self, node: usize, given: &Given) {
        let here = &self.graph.nodes[node];
        let mut chain = Chain::start(given.unit.clone());
        if !self.through_entry(&mut chain, given, here.unit.as_ref(), here.enumeration.as_ref()) {
            return;
        }
        if here.owner == Owner::Top {
            let mut ended = chain.clone();
            ended.flush();
            let name = here.connector.name.clone();
            self.assign(None, &name, &ended, given, here.connector.data.as_ref());
        }
        let mut open = vec![(node, chain)];
        let mut reached = 0;
        let mut steps = 0;
        while let Some((at, chain)) = open.pop() {
            for number in &self.graph.nodes[at].outgoing {
                steps += 1;
                if steps > self.graph.edges.len() + 1 {
                    return;
                }
                let edge = &self.graph.edges[*number];
                if !edge.from_indices.is_empty() || !edge.to_indices.is_empty() {
                    self.report.note(&given.place, Rule::Applied, "is not passed on to elements of arrays");
                    continue;
                }
                let mut next = chain.clone();
                next.follow(edge, self.graph, self.report);
                let target = &self.graph.nodes[edge.to];
                if let Owner::Component(component) = target.owner {
                    next.flush();
                    let data = target.connector.data.as_ref();
                    self.assign(Some(component), &target.connector.name, &next, given, data);
                    reached += 1;
                } else if target.owner == Owner::Between {
                    open.push((edge.to, next));
                }
            }
        }
        if reached == 0 && here.owner != Owner::Top {
            self.report.note(
                &given.place,
                Rule::Applied,
                "the connector leads to no component: the value is not used",
            );
        }
    }

    fn assign(
        &mut self,
        component: Option<usize>,
        variable: &str,
        chain: &Chain,
        given: &Given,
        data: Option<&DataType>,
    ) {
        let fitted = transform(&given.value, chain, given.enumeration.as_ref())
            .and_then(|value| data.map_or(Ok((value.clone(), None)), |data| fit(value, data)));
        let value = match fitted {
            Ok((value, words)) => {
                if let Some(words) = words {
                    self.report.lapse(&given.place, Rule::Type, words);
                }
                value
            }
            Err(words) => {
                self.report.fault(&given.place, Rule::Type, format!("`{variable}`: {words}"));
                return;
            }
        };
        let (unit, origin) = (chain.unit.clone(), given.place.origin());
        let parameter = FlatParameter { variable: variable.to_owned(), value, unit, origin };
        match component {
            Some(number) => {
                let list = &mut self.flat.components[number].parameters;
                match list.iter_mut().find(|p| p.variable == variable) {
                    Some(known) => *known = parameter,
                    None => list.push(parameter),
                }
            }
            None => {
                let mut all = self.flat.inputs.iter_mut().chain(&mut self.flat.outputs);
                if let Some(connector) = all.find(|c| c.name == variable) {
                    connector.start = Some(parameter);
                }
            }
        }
    }
}

/// Follows a hierarchical name; element names may contain dots, the longest that fits is taken.
fn resolve(name: &str, built: &Built) -> Result<Target, String> {
    let elements = match &built.content {
        Content::Component(_, number) => return Ok(Target::Variable(*number, name.to_owned())),
        Content::Reference => return Err(String::new()),
        Content::System(_, _, elements) => elements,
    };
    if let Some(ends) = built.ports.get(name) {
        return Ok(Target::Connector(ends.into));
    }
    let rest =
        |element: &str| name.strip_prefix(element)?.strip_prefix('.').map(|r| (element.len(), r.to_owned()));
    let longest =
        elements.iter().filter_map(|(n, e)| rest(n).map(|(len, r)| (len, r, e))).max_by_key(|f| f.0);
    match longest {
        Some((_, rest, element)) => resolve(&rest, element),
        None => {
            let first = name.split('.').next().unwrap_or(name);
            let known =
                elements.iter().map(|(n, _)| n.as_str()).chain(built.ports.keys().map(String::as_str));
            Err(suggest(first, known))
        }
    }
}
