//! Systems, components, parameter bindings and signal dictionaries of an SSD.

use super::reader::{Child, Count, META, Namespace, Reader, SIGNATURE, child};
use super::structure::SSD_ANNOTATIONS;
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

impl Reader<'_> {
    pub(super) fn system(&mut self, node: Node, depth: usize) -> System {
        self.attributes(node, &["name"]);
        let mut system = System { at: self.at(node), ..System::default() };
        system.name = self.element_name(node);
        system.id = node.attribute("id").map(str::to_owned);
        system.description = node.attribute("description").map(str::to_owned);
        if depth > DEEPEST {
            self.fault(node, Rule::Nesting, format!("systems are nested deeper than {DEEPEST}"));
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
        for inner in self.children(node, &children) {
            match inner.tag_name().name() {
                "Connectors" => system.connectors = self.connectors(inner),
                "ElementGeometry" | "SystemGeometry" => self.geometry(inner, &["x1", "y1", "x2", "y2"], &[]),
                "GraphicalElements" => self.graphics(inner),
                "ParameterBindings" => system.bindings = self.bindings(inner),
                "Elements" => system.elements = self.elements(inner, depth),
                "Connections" => system.connections = self.connections(inner),
                "SignalDictionaries" => system.dictionaries = self.dictionaries(inner),
                "Annotations" => system.annotations = self.annotations(inner),
                _ => {}
            }
        }
        system
    }

    fn element_name(&mut self, node: Node) -> String {
        let name = self.required(node, "name").unwrap_or("").to_owned();
        if name.is_empty() && node.attribute("name").is_some() {
            self.fault(node, Rule::AttributeValue, "attribute `name` must not be empty");
        }
        name
    }

    fn elements(&mut self, node: Node, depth: usize) -> Vec<Element> {
        self.attributes(node, &[]);
        let children = [
            child(0, NS, "Component", Count::Any),
            child(0, NS, "System", Count::Any),
            child(0, NS, "SignalDictionaryReference", Count::Any),
        ];
        let mut elements = Vec::new();
        for inner in self.children(node, &children) {
            elements.push(match inner.tag_name().name() {
                "Component" => Element::Component(self.component(inner)),
                "System" => Element::System(self.system(inner, depth + 1)),
                _ => Element::Reference(self.reference(inner)),
            });
        }
        if elements.is_empty() {
            self.lapse(node, Rule::MissingElement, "`Elements` must not be empty");
        }
        self.unique("element", elements.iter().map(|e| (e.name(), e.at())));
        elements
    }

    fn component(&mut self, node: Node) -> Component {
        self.attributes(node, &["name", "type", "source", "implementation"]);
        let mut component = Component { at: self.at(node), ..Component::default() };
        component.name = self.element_name(node);
        component.id = node.attribute("id").map(str::to_owned);
        component.description = node.attribute("description").map(str::to_owned);
        component.kind = node.attribute("type").map(str::to_owned);
        component.source = node.attribute("source").map(str::to_owned);
        component.implementation = self.implementation(node);
        let mut children = ELEMENT.to_vec();
        children.push(SSD_ANNOTATIONS);
        for inner in self.children(node, &children) {
            match inner.tag_name().name() {
                "Connectors" => component.connectors = self.connectors(inner),
                "ElementGeometry" => self.geometry(inner, &["x1", "y1", "x2", "y2"], &[]),
                "ParameterBindings" => component.bindings = self.bindings(inner),
                "Annotations" => component.annotations = self.annotations(inner),
                _ => {}
            }
        }
        component
    }

    fn implementation(&mut self, node: Node) -> Implementation {
        let Some(text) = node.attribute("implementation") else { return Implementation::Any };
        let Some(found) = Implementation::ALL.into_iter().find(|known| known.text() == text) else {
            let close = suggest(text, Implementation::ALL.map(Implementation::text));
            let message = format!("implementation `{text}` is not known{close}");
            self.fault(node, Rule::AttributeValue, message);
            return Implementation::Any;
        };
        if found == Implementation::ScheduledExecution {
            self.needs(node, Version::Two, text);
        }
        found
    }

    fn reference(&mut self, node: Node) -> DictionaryReference {
        self.attributes(node, &["name", "dictionary"]);
        let mut reference = DictionaryReference { at: self.at(node), ..DictionaryReference::default() };
        reference.name = self.element_name(node);
        reference.dictionary = self.required(node, "dictionary").unwrap_or("").to_owned();
        let mut children = ELEMENT.to_vec();
        children.push(SSD_ANNOTATIONS);
        for inner in self.children(node, &children) {
            match inner.tag_name().name() {
                "Connectors" => reference.connectors = self.connectors(inner),
                "ElementGeometry" => self.geometry(inner, &["x1", "y1", "x2", "y2"], &[]),
                "Annotations" => {
                    self.annotations(inner);
                }
                _ => {}
            }
        }
        reference
    }

    fn graphics(&mut self, node: Node) {
        for inner in self.children(node, &[child(0, NS, "Note", Count::Many)]) {
            self.geometry(inner, &["x1", "y1", "x2", "y2", "text"], &[]);
        }
    }

    fn bindings(&mut self, node: Node) -> Vec<ParameterBinding> {
        self.attributes(node, &[]);
        let nodes = self.children(node, &[child(0, NS, "ParameterBinding", Count::Many)]);
        nodes.into_iter().map(|n| self.binding(n)).collect()
    }

    fn binding(&mut self, node: Node) -> ParameterBinding {
        self.attributes(node, &["type", "source", "sourceBase", "prefix"]);
        let known = self.media_type(node, PARAMETER_SET);
        let mut binding = ParameterBinding { at: self.at(node), ..ParameterBinding::default() };
        binding.source = self.source_attribute(node);
        binding.base = self.source_base(node);
        node.attribute("prefix").unwrap_or("").clone_into(&mut binding.prefix);
        let children = [
            child(0, NS, "ParameterValues", Count::Optional),
            child(1, NS, "ParameterMapping", Count::Optional),
            META,
            SIGNATURE,
            SSD_ANNOTATIONS,
        ];
        let mut inline = None;
        for inner in self.children(node, &children) {
            match inner.tag_name().name() {
                "ParameterValues" => inline = Some(inner),
                "ParameterMapping" => binding.mapping = Some(self.mapping_binding(inner)),
                _ => {}
            }
        }
        if known {
            let content = inline.and_then(|n| self.inline(n, Namespace::Ssv, "ParameterSet"));
            self.one_content(node, binding.source.is_some(), content.is_some());
            if binding.source.is_none() {
                binding.set = content.map(|n| self.parameter_set(n));
            }
        } else {
            binding.source = None;
        }
        binding
    }

    fn mapping_binding(&mut self, node: Node) -> MappingBinding {
        self.attributes(node, &["type", "source", "sourceBase"]);
        let known = self.media_type(node, PARAMETER_MAPPING);
        let mut binding = MappingBinding { at: self.at(node), ..MappingBinding::default() };
        binding.base = self.source_base(node);
        if !known {
            return binding;
        }
        binding.source = self.source_attribute(node);
        let content = self.inline(node, Namespace::Ssm, "ParameterMapping");
        self.one_content(node, binding.source.is_some(), content.is_some());
        if binding.source.is_none() {
            binding.mapping = content.map(|n| self.parameter_mapping(n));
        }
        binding
    }

    fn dictionaries(&mut self, node: Node) -> Vec<Dictionary> {
        self.attributes(node, &[]);
        let nodes = self.children(node, &[child(0, NS, "SignalDictionary", Count::Many)]);
        let mut all = Vec::new();
        for inner in nodes {
            self.attributes(inner, &["type", "source", "name"]);
            let mut dictionary = Dictionary { at: self.at(inner), ..Dictionary::default() };
            dictionary.name = self.required(inner, "name").unwrap_or("").to_owned();
            if self.media_type(inner, SIGNAL_DICTIONARY) {
                dictionary.source = self.source_attribute(inner);
                let content = self.inline(inner, Namespace::Ssb, "SignalDictionary");
                self.one_content(inner, dictionary.source.is_some(), content.is_some());
                if dictionary.source.is_none() {
                    dictionary.content = content.map(|n| self.signal_dictionary(n));
                }
            }
            all.push(dictionary);
        }
        self.unique("signal dictionary", all.iter().map(|d| (d.name.as_str(), d.at)));
        all
    }

    /// An address; an empty one is not an address.
    fn source_attribute(&mut self, node: Node) -> Option<String> {
        let source = node.attribute("source")?;
        if source.trim().is_empty() {
            self.lapse(node, Rule::Source, "attribute `source` is empty; read as missing");
            return None;
        }
        Some(source.to_owned())
    }

    fn source_base(&mut self, node: Node) -> SourceBase {
        let read = |text: &str| match text {
            "SSD" => Some(SourceBase::Document),
            "component" => Some(SourceBase::Component),
            _ => None,
        };
        self.read(node, "sourceBase", "`SSD` or `component`", read).unwrap_or_default()
    }

    /// Whether the content is of the standard's own type.
    fn media_type(&mut self, node: Node, own: &str) -> bool {
        match node.attribute("type") {
            None => true,
            Some(text) if text == own => true,
            Some(text) => {
                let message =
                    format!("type `{text}` is not known and its content is left out; expected `{own}`");
                self.lapse(node, Rule::MediaType, message);
                false
            }
        }
    }

    /// The one element that stands inline.
    fn inline<'n>(
        &mut self,
        node: Node<'n, 'n>,
        namespace: Namespace,
        name: &'static str,
    ) -> Option<Node<'n, 'n>> {
        let children = [child(0, namespace, name, Count::Optional), META, SIGNATURE];
        self.children(node, &children).into_iter().find(|n| n.tag_name().name() == name)
    }

    fn one_content(&mut self, node: Node, source: bool, inline: bool) {
        match (source, inline) {
            (true, true) => {
                self.lapse(node, Rule::OneContent, "has a source and content inline; the source is used");
            }
            (false, false) => self.lapse(node, Rule::OneContent, "has neither a source nor content inline"),
            _ => {}
        }
    }
}
