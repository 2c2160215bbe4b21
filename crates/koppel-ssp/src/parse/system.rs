//! Systems, components, parameter bindings and signal dictionaries of an SSD.

use super::parameters::{parameter_mapping, parameter_set, signal_dictionary};
use super::reader::{Child, Count, META, Namespace, Reader, SIGNATURE, child};
use super::structure::{SSD_ANNOTATIONS, connections, connectors, geometry};
use crate::finding::{Rule, suggest};
use crate::model::{
    Component, Dictionary, DictionaryReference, Element, Implementation, MappingBinding, ParameterBinding,
    SourceBase, System, Version,
};
use roxmltree::Node;

const NS: Namespace = Namespace::Ssd;
const DEEPEST: usize = 64;

const ELEMENT: [Child; 5] = [
    child(0, NS, "Connectors", Count::Optional),
    child(1, NS, "ElementGeometry", Count::Optional),
    child(2, NS, "ParameterBindings", Count::Optional),
    // these two come before what a system adds
    Child { rank: 3, ..META },
    Child { rank: 4, ..SIGNATURE },
];

const PARAMETER_SET: &str = "application/x-ssp-parameter-set";
const PARAMETER_MAPPING: &str = "application/x-ssp-parameter-mapping";
const SIGNAL_DICTIONARY: &str = "application/x-ssp-signal-dictionary";

pub(super) fn system(r: &mut Reader, node: Node, depth: usize) -> System {
    r.attributes(node, &["name"]);
    let mut system = System { at: r.at(node), ..System::default() };
    system.name = element_name(r, node);
    system.id = node.attribute("id").map(str::to_owned);
    system.description = node.attribute("description").map(str::to_owned);
    if depth > DEEPEST {
        r.fault(node, Rule::Nesting, format!("systems are nested deeper than {DEEPEST}"));
        return system;
    }
    let mut children = ELEMENT.to_vec();
    children.extend([
        child(10, NS, "Elements", Count::Optional),
        child(11, NS, "Connections", Count::Optional),
        child(12, NS, "SignalDictionaries", Count::Optional),
        child(13, NS, "SystemGeometry", Count::Optional),
        child(14, NS, "GraphicalElements", Count::Optional),
        SSD_ANNOTATIONS,
    ]);
    for inner in r.children(node, &children) {
        match inner.tag_name().name() {
            "Connectors" => system.connectors = connectors(r, inner),
            "ElementGeometry" | "SystemGeometry" => geometry(r, inner, &["x1", "y1", "x2", "y2"], &[]),
            "GraphicalElements" => graphics(r, inner),
            "ParameterBindings" => system.bindings = bindings(r, inner),
            "Elements" => system.elements = elements(r, inner, depth),
            "Connections" => system.connections = connections(r, inner),
            "SignalDictionaries" => system.dictionaries = dictionaries(r, inner),
            "Annotations" => system.annotations = r.annotations(inner),
            _ => {}
        }
    }
    system
}

fn element_name(r: &mut Reader, node: Node) -> String {
    let name = r.required(node, "name").unwrap_or("").to_owned();
    if name.is_empty() && node.attribute("name").is_some() {
        r.fault(node, Rule::AttributeValue, "attribute `name` must not be empty");
    }
    name
}

pub(super) fn elements(r: &mut Reader, node: Node, depth: usize) -> Vec<Element> {
    r.attributes(node, &[]);
    let children = [
        child(0, NS, "Component", Count::Any),
        child(0, NS, "System", Count::Any),
        child(0, NS, "SignalDictionaryReference", Count::Any),
    ];
    let mut elements = Vec::new();
    for inner in r.children(node, &children) {
        elements.push(match inner.tag_name().name() {
            "Component" => Element::Component(component(r, inner)),
            "System" => Element::System(system(r, inner, depth + 1)),
            _ => Element::Reference(reference(r, inner)),
        });
    }
    if elements.is_empty() {
        r.lapse(node, Rule::MissingElement, "`Elements` must not be empty");
    }
    r.unique("element", elements.iter().map(|e| (e.name(), e.at())));
    elements
}

fn component(r: &mut Reader, node: Node) -> Component {
    r.attributes(node, &["name", "type", "source", "implementation"]);
    let mut component = Component { at: r.at(node), ..Component::default() };
    component.name = element_name(r, node);
    component.id = node.attribute("id").map(str::to_owned);
    component.description = node.attribute("description").map(str::to_owned);
    component.kind = node.attribute("type").map(str::to_owned);
    component.source = node.attribute("source").map(str::to_owned);
    component.implementation = implementation(r, node);
    let mut children = ELEMENT.to_vec();
    children.push(SSD_ANNOTATIONS);
    for inner in r.children(node, &children) {
        match inner.tag_name().name() {
            "Connectors" => component.connectors = connectors(r, inner),
            "ElementGeometry" => geometry(r, inner, &["x1", "y1", "x2", "y2"], &[]),
            "ParameterBindings" => component.bindings = bindings(r, inner),
            "Annotations" => component.annotations = r.annotations(inner),
            _ => {}
        }
    }
    component
}

fn implementation(r: &mut Reader, node: Node) -> Implementation {
    let Some(text) = node.attribute("implementation") else { return Implementation::Any };
    let Some(found) = Implementation::ALL.into_iter().find(|known| known.text() == text) else {
        let close = suggest(text, Implementation::ALL.map(Implementation::text));
        let message = format!("implementation `{text}` is not known{close}");
        r.fault(node, Rule::AttributeValue, message);
        return Implementation::Any;
    };
    if found == Implementation::ScheduledExecution {
        r.needs(node, Version::Two, text);
    }
    found
}

fn reference(r: &mut Reader, node: Node) -> DictionaryReference {
    r.attributes(node, &["name", "dictionary"]);
    let mut reference = DictionaryReference { at: r.at(node), ..DictionaryReference::default() };
    reference.name = element_name(r, node);
    reference.dictionary = r.required(node, "dictionary").unwrap_or("").to_owned();
    let mut children = ELEMENT.to_vec();
    children.push(SSD_ANNOTATIONS);
    for inner in r.children(node, &children) {
        match inner.tag_name().name() {
            "Connectors" => reference.connectors = connectors(r, inner),
            "ElementGeometry" => geometry(r, inner, &["x1", "y1", "x2", "y2"], &[]),
            "Annotations" => {
                r.annotations(inner);
            }
            _ => {}
        }
    }
    reference
}

fn graphics(r: &mut Reader, node: Node) {
    for inner in r.children(node, &[child(0, NS, "Note", Count::Many)]) {
        geometry(r, inner, &["x1", "y1", "x2", "y2", "text"], &[]);
    }
}

fn bindings(r: &mut Reader, node: Node) -> Vec<ParameterBinding> {
    let nodes = r.list(node, NS, "ParameterBinding", Count::Many);
    nodes.into_iter().map(|n| binding(r, n)).collect()
}

fn binding(r: &mut Reader, node: Node) -> ParameterBinding {
    r.attributes(node, &["type", "source", "sourceBase", "prefix"]);
    let known = media_type(r, node, PARAMETER_SET);
    let mut binding = ParameterBinding { at: r.at(node), ..ParameterBinding::default() };
    binding.source = source_attribute(r, node);
    binding.base = source_base(r, node);
    node.attribute("prefix").unwrap_or("").clone_into(&mut binding.prefix);
    let children = [
        child(0, NS, "ParameterValues", Count::Optional),
        child(1, NS, "ParameterMapping", Count::Optional),
        META,
        SIGNATURE,
        SSD_ANNOTATIONS,
    ];
    let mut inline = None;
    for inner in r.children(node, &children) {
        match inner.tag_name().name() {
            "ParameterValues" => inline = Some(inner),
            "ParameterMapping" => binding.mapping = Some(mapping_binding(r, inner)),
            _ => {}
        }
    }
    if known {
        let content = inline.and_then(|n| inline_content(r, n, Namespace::Ssv, "ParameterSet"));
        one_content(r, node, binding.source.is_some(), content.is_some());
        if binding.source.is_none() {
            binding.set = content.map(|n| parameter_set(r, n));
        }
    } else {
        binding.source = None;
    }
    binding
}

fn mapping_binding(r: &mut Reader, node: Node) -> MappingBinding {
    r.attributes(node, &["type", "source", "sourceBase"]);
    let known = media_type(r, node, PARAMETER_MAPPING);
    let mut binding = MappingBinding { at: r.at(node), ..MappingBinding::default() };
    binding.base = source_base(r, node);
    if !known {
        return binding;
    }
    binding.source = source_attribute(r, node);
    let content = inline_content(r, node, Namespace::Ssm, "ParameterMapping");
    one_content(r, node, binding.source.is_some(), content.is_some());
    if binding.source.is_none() {
        binding.mapping = content.map(|n| parameter_mapping(r, n));
    }
    binding
}

fn dictionaries(r: &mut Reader, node: Node) -> Vec<Dictionary> {
    let nodes = r.list(node, NS, "SignalDictionary", Count::Many);
    let mut all = Vec::new();
    for inner in nodes {
        r.attributes(inner, &["type", "source", "name"]);
        let mut dictionary = Dictionary { at: r.at(inner), ..Dictionary::default() };
        dictionary.name = r.required(inner, "name").unwrap_or("").to_owned();
        if media_type(r, inner, SIGNAL_DICTIONARY) {
            dictionary.source = source_attribute(r, inner);
            let content = inline_content(r, inner, Namespace::Ssb, "SignalDictionary");
            one_content(r, inner, dictionary.source.is_some(), content.is_some());
            if dictionary.source.is_none() {
                dictionary.content = content.map(|n| signal_dictionary(r, n));
            }
        }
        all.push(dictionary);
    }
    r.unique("signal dictionary", all.iter().map(|d| (d.name.as_str(), d.at)));
    all
}

/// An address; an empty one is not an address.
fn source_attribute(r: &mut Reader, node: Node) -> Option<String> {
    let source = node.attribute("source")?;
    if source.trim().is_empty() {
        r.lapse(node, Rule::Source, "attribute `source` is empty; read as missing");
        return None;
    }
    Some(source.to_owned())
}

fn source_base(r: &mut Reader, node: Node) -> SourceBase {
    let read = |text: &str| match text {
        "SSD" => Some(SourceBase::Document),
        "component" => Some(SourceBase::Component),
        _ => None,
    };
    r.read(node, "sourceBase", "`SSD` or `component`", read).unwrap_or_default()
}

/// Whether the content is of the standard's own type.
fn media_type(r: &mut Reader, node: Node, own: &str) -> bool {
    match node.attribute("type") {
        None => true,
        Some(text) if text == own => true,
        Some(text) => {
            let message = format!("type `{text}` is not known and its content is left out; expected `{own}`");
            r.lapse(node, Rule::MediaType, message);
            false
        }
    }
}

/// The one element that stands inline.
fn inline_content<'n>(
    r: &mut Reader,
    node: Node<'n, 'n>,
    namespace: Namespace,
    name: &'static str,
) -> Option<Node<'n, 'n>> {
    let children = [child(0, namespace, name, Count::Optional), META, SIGNATURE];
    r.children(node, &children).into_iter().find(|n| n.tag_name().name() == name)
}

fn one_content(r: &mut Reader, node: Node, source: bool, inline: bool) {
    match (source, inline) {
        (true, true) => {
            r.lapse(node, Rule::OneContent, "has a source and content inline; the source is used");
        }
        (false, false) => r.lapse(node, Rule::OneContent, "has neither a source nor content inline"),
        _ => {}
    }
}
