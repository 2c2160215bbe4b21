//! A structure as a file (SSD). What came from another file is written as a reference to it.

use super::finished;
use super::parameters::{
    blanks, data_type, dictionary, dimensions, enumerations, mapping, parameter_set, transformation, units,
};
use crate::error::Result;
use crate::model::{
    Annotation, Component, Connection, Connector, Element, Implementation, ParameterBinding, SourceBase,
    System, SystemStructure,
};
use crate::parse::Namespace;
use koppel_fmi::xml::{Writer, number};

const NS: Namespace = Namespace::Ssd;

/// A structure as a file of its own (SSD).
pub fn write_structure(structure: &SystemStructure) -> Result<Vec<u8>> {
    let mut w = Writer::default();
    w.open(NS.tag("SystemStructureDescription"));
    Namespace::ALL.iter().for_each(|namespace| namespace.declare(&mut w));
    w.attribute("version", structure.version.text()).attribute("name", &structure.name);
    w.attribute("generationTool", concat!("koppel ", env!("CARGO_PKG_VERSION")));
    system(&mut w, &structure.system);
    enumerations(&mut w, NS, &structure.enumerations);
    units(&mut w, NS, &structure.units);
    if let Some(experiment) = &structure.experiment {
        w.open(NS.tag("DefaultExperiment"));
        w.optional("startTime", experiment.start.map(number))
            .optional("stopTime", experiment.stop.map(number));
        annotations(&mut w, &experiment.annotations);
        w.close();
    }
    annotations(&mut w, &structure.annotations);
    w.close();
    finished(w, &structure.name)
}

fn system(w: &mut Writer, system_: &System) {
    w.open(NS.tag("System")).attribute("name", &system_.name);
    w.optional("id", system_.id.as_deref()).optional("description", system_.description.as_deref());
    connectors(w, &system_.connectors);
    bindings(w, &system_.bindings);
    if !system_.elements.is_empty() {
        w.open(NS.tag("Elements"));
        for element in &system_.elements {
            match element {
                Element::System(inner) => system(w, inner),
                Element::Component(inner) => component(w, inner),
                Element::Reference(inner) => {
                    w.open(NS.tag("SignalDictionaryReference")).attribute("name", &inner.name);
                    w.attribute("dictionary", &inner.dictionary);
                    connectors(w, &inner.connectors);
                    w.close();
                }
            }
        }
        w.close();
    }
    if !system_.connections.is_empty() {
        w.open(NS.tag("Connections"));
        system_.connections.iter().for_each(|c| connection(w, c));
        w.close();
    }
    if !system_.dictionaries.is_empty() {
        w.open(NS.tag("SignalDictionaries"));
        for entry in &system_.dictionaries {
            w.open(NS.tag("SignalDictionary")).optional("source", entry.source.as_deref());
            w.attribute("name", &entry.name);
            if let (None, Some(content)) = (&entry.source, &entry.content) {
                dictionary(w, content);
            }
            w.close();
        }
        w.close();
    }
    annotations(w, &system_.annotations);
    w.close();
}

fn component(w: &mut Writer, component: &Component) {
    w.open(NS.tag("Component")).attribute("name", &component.name);
    w.optional("id", component.id.as_deref()).optional("description", component.description.as_deref());
    w.optional("type", component.kind.as_deref()).optional("source", component.source.as_deref());
    let implementation = component.implementation;
    w.optional("implementation", (implementation != Implementation::Any).then(|| implementation.text()));
    connectors(w, &component.connectors);
    bindings(w, &component.bindings);
    annotations(w, &component.annotations);
    w.close();
}

fn connectors(w: &mut Writer, connectors: &[Connector]) {
    if connectors.is_empty() {
        return;
    }
    w.open(NS.tag("Connectors"));
    for connector in connectors {
        w.open(NS.tag("Connector"))
            .attribute("name", &connector.name)
            .attribute("kind", connector.kind.text());
        w.optional("description", connector.description.as_deref());
        if let Some(data) = &connector.data {
            data_type(w, data);
        }
        dimensions(w, &connector.dimensions);
        for clock in &connector.clocks {
            w.open(NS.tag("Clock")).attribute("name", clock).close();
        }
        w.close();
    }
    w.close();
}

fn connection(w: &mut Writer, connection: &Connection) {
    w.open(NS.tag("Connection"));
    let ends = [
        (&connection.start, ["startElement", "startConnector", "startIndices"]),
        (&connection.end, ["endElement", "endConnector", "endIndices"]),
    ];
    for (end, [element, connector, indices]) in ends {
        w.optional(element, end.element.as_deref()).attribute(connector, &end.connector);
        w.optional(indices, (!end.indices.is_empty()).then(|| blanks(&end.indices)));
    }
    w.flag("suppressUnitConversion", connection.suppress_unit_conversion);
    if let Some(step) = &connection.transformation {
        transformation(w, step);
    }
    w.close();
}

fn bindings(w: &mut Writer, bindings: &[ParameterBinding]) {
    if bindings.is_empty() {
        return;
    }
    let base = |base| (base == SourceBase::Component).then_some("component");
    w.open(NS.tag("ParameterBindings"));
    for binding in bindings {
        w.open(NS.tag("ParameterBinding")).optional("source", binding.source.as_deref());
        w.optional("sourceBase", base(binding.base));
        w.optional("prefix", Some(&binding.prefix).filter(|prefix| !prefix.is_empty()));
        if let (None, Some(set)) = (&binding.source, &binding.set) {
            w.open(NS.tag("ParameterValues"));
            parameter_set(w, set, &[]);
            w.close();
        }
        if let Some(inner) = &binding.mapping {
            w.open(NS.tag("ParameterMapping")).optional("source", inner.source.as_deref());
            w.optional("sourceBase", base(inner.base));
            if let (None, Some(content)) = (&inner.source, &inner.mapping) {
                mapping(w, content);
            }
            w.close();
        }
        w.close();
    }
    w.close();
}

fn annotations(w: &mut Writer, annotations: &[Annotation]) {
    if annotations.is_empty() {
        return;
    }
    w.open(NS.tag("Annotations"));
    for annotation in annotations {
        w.open(Namespace::Ssc.tag("Annotation"));
        let known = |prefix: &str| Namespace::ALL.iter().any(|n| n.prefix() == prefix);
        for (prefix, uri) in annotation.namespaces.iter().filter(|(prefix, _)| !known(prefix)) {
            w.attribute(&format!("xmlns:{prefix}"), uri);
        }
        w.attribute("type", &annotation.kind).raw(&annotation.xml).close_raw();
    }
    w.close();
}
