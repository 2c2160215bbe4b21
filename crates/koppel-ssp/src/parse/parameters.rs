//! SSV, SSM and SSB files, alone or inline.

use super::common::{ANNOTATIONS, DIMENSION, ORIGIN, TRANSFORMATIONS, doubles, list, type_children};
use super::document;
use super::reader::{Child, Count, META, Namespace, Reader, SIGNATURE, child, integer, truth};
use crate::finding::{Report, Rule};
use crate::model::{
    BaseType, DictionaryEntry, Dimension, MappingEntry, Parameter, ParameterMapping, ParameterSet,
    SignalDictionary, Value,
};
use roxmltree::Node;

/// Reads a parameter set file.
pub(crate) fn parse_parameters(bytes: &[u8], file: &str, report: &mut Report) -> Option<ParameterSet> {
    document(bytes, file, report, (Namespace::Ssv, "ParameterSet"), |r, node| r.parameter_set(node))
}

/// Reads a parameter mapping file.
pub(crate) fn parse_mapping(bytes: &[u8], file: &str, report: &mut Report) -> Option<ParameterMapping> {
    document(bytes, file, report, (Namespace::Ssm, "ParameterMapping"), |r, node| r.parameter_mapping(node))
}

/// Reads a signal dictionary file.
pub(crate) fn parse_dictionary(bytes: &[u8], file: &str, report: &mut Report) -> Option<SignalDictionary> {
    document(bytes, file, report, (Namespace::Ssb, "SignalDictionary"), |r, node| r.signal_dictionary(node))
}

const ENUMERATIONS: fn(Namespace) -> Child = |n| child(10, n, "Enumerations", Count::Optional);
const UNITS: fn(Namespace) -> Child = |n| child(11, n, "Units", Count::Optional);

fn annotations(namespace: Namespace) -> Child {
    Child { namespace, ..ANNOTATIONS }
}

impl Reader<'_> {
    /// A parameter set; inline ones have a version of their own.
    pub(crate) fn parameter_set(&mut self, node: Node) -> ParameterSet {
        let outer = self.version;
        let version = self.read_version(node);
        let mut allowed = ORIGIN.to_vec();
        allowed.extend(["version", "name"]);
        self.attributes(node, &allowed);
        let name = self.required(node, "name").unwrap_or("").to_owned();
        let mut set = ParameterSet { file: self.file.to_owned(), name, version, ..ParameterSet::default() };
        let ns = Namespace::Ssv;
        let parameters = child(1, ns, "Parameters", Count::Once);
        let children = [parameters, ENUMERATIONS(ns), UNITS(ns), META, SIGNATURE, annotations(ns)];
        for inner in self.children(node, &children) {
            match inner.tag_name().name() {
                "Parameters" => set.parameters = self.parameters(inner),
                "Enumerations" => set.enumerations = self.enumerations(inner),
                "Units" => set.units = self.units(inner),
                _ => {}
            }
        }
        self.unique("parameter", set.parameters.iter().map(|p| (p.name.as_str(), p.at)));
        self.version = outer;
        set
    }

    fn parameters(&mut self, node: Node) -> Vec<Parameter> {
        self.attributes(node, &[]);
        let nodes = self.children(node, &[child(0, Namespace::Ssv, "Parameter", Count::Any)]);
        nodes.into_iter().filter_map(|n| self.parameter(n)).collect()
    }

    fn parameter(&mut self, node: Node) -> Option<Parameter> {
        self.attributes(node, &["name"]);
        let name = self.required(node, "name").map(str::to_owned);
        let mut children = type_children(Namespace::Ssv)[..16].to_vec();
        children.extend([DIMENSION, annotations(Namespace::Ssv)]);
        let nodes = self.children(node, &children);
        let dimensions: Vec<_> =
            nodes.iter().filter(|n| n.tag_name().name() == "Dimension").map(|n| self.dimension(*n)).collect();
        let mut typed = nodes.iter().filter_map(|n| Some((*n, BaseType::named(n.tag_name().name())?)));
        let Some((inner, base)) = typed.next() else {
            self.fault(node, Rule::MissingElement, "the value is missing, such as <ssv:Real value=\"1\"/>");
            return None;
        };
        if let Some((second, _)) = typed.next() {
            self.fault(second, Rule::ElementCount, "a parameter has one value element");
        }
        self.needs(inner, base.since(), base.name());
        let value = self.value(inner, base)?;
        self.check_size(inner, &value, &dimensions);
        Some(Parameter {
            name: name?,
            base,
            value,
            unit: inner.attribute("unit").map(str::to_owned),
            enumeration: inner.attribute("name").filter(|_| base == BaseType::Enumeration).map(str::to_owned),
            dimensions,
            at: self.at(node),
        })
    }

    fn check_size(&mut self, node: Node, value: &Value, dimensions: &[Dimension]) {
        if dimensions.is_empty() && value.len() != 1 {
            let message = format!("a scalar has one value, found {}", value.len());
            self.lapse(node, Rule::AttributeValue, message);
        }
        let sizes: Option<Vec<u64>> =
            dimensions.iter().map(|d| if let Dimension::Fixed(n) = d { Some(*n) } else { None }).collect();
        let product = sizes.and_then(|s| s.iter().try_fold(1_u64, |p, n| p.checked_mul(*n)));
        if let Some(size) = product
            && !dimensions.is_empty()
            && size != value.len() as u64
        {
            let message = format!("the dimensions ask for {size} values, found {}", value.len());
            self.fault(node, Rule::AttributeValue, message);
        }
    }

    fn value(&mut self, node: Node, base: BaseType) -> Option<Value> {
        match base {
            BaseType::Real | BaseType::Float64 | BaseType::Float32 => {
                self.attributes(node, &["value", "unit"]);
                self.required(node, "value")?;
                self.read(node, "value", "a number", doubles).map(Value::Float)
            }
            BaseType::Boolean => {
                self.attributes(node, &["value"]);
                self.required(node, "value")?;
                self.read(node, "value", "`true` or `false`", |t| list(t, truth)).map(Value::Boolean)
            }
            BaseType::String => {
                self.attributes(node, &["value"]);
                self.values(node, "a text", |t| Some(t.to_owned())).map(Value::String)
            }
            BaseType::Enumeration => {
                self.attributes(node, &["value", "name"]);
                self.values(node, "an item name", |t| Some(t.to_owned())).map(Value::Enumeration)
            }
            BaseType::Binary => {
                self.attributes(node, &["value", "mime-type"]);
                self.values(node, "pairs of hexadecimal digits", hexadecimal).map(Value::Binary)
            }
            _ => {
                let (low, high) = base.range()?;
                self.attributes(node, &["value"]);
                self.required(node, "value")?;
                let expected = format!("a whole number from {low} to {high}");
                let one = |text: &str| integer::<i128>(text).filter(|v| (low..=high).contains(v));
                self.read(node, "value", &expected, |t| list(t, one)).map(Value::Integer)
            }
        }
    }

    /// The `value` attribute, or `Value` elements instead of it.
    fn values<T>(&mut self, node: Node, expected: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
        let nodes = self.children(node, &[child(0, Namespace::Ssv, "Value", Count::Any)]);
        if nodes.is_empty() {
            self.required(node, "value")?;
            return self.read(node, "value", expected, read).map(|v| vec![v]);
        }
        if node.attribute("value").is_some() {
            self.lapse(node, Rule::OneContent, "either `value` or `Value` elements; the elements are used");
        }
        let mut all = Vec::new();
        for inner in nodes {
            self.needs(inner, crate::model::Version::Two, "Value");
            self.attributes(inner, &["value"]);
            self.required(inner, "value")?;
            all.push(self.read(inner, "value", expected, &read)?);
        }
        Some(all)
    }

    /// A parameter mapping; inline ones have a version of their own.
    pub(crate) fn parameter_mapping(&mut self, node: Node) -> ParameterMapping {
        let outer = self.version;
        let version = self.read_version(node);
        let mut allowed = ORIGIN.to_vec();
        allowed.push("version");
        self.attributes(node, &allowed);
        let ns = Namespace::Ssm;
        let entry = child(0, ns, "MappingEntry", Count::Any);
        let nodes = self.children(node, &[entry, META, SIGNATURE, annotations(ns)]);
        let entries = nodes
            .into_iter()
            .filter(|n| n.tag_name().name() == "MappingEntry")
            .filter_map(|n| self.mapping_entry(n))
            .collect::<Vec<_>>();
        self.unique("target", entries.iter().map(|e| (e.target.as_str(), e.at)));
        self.version = outer;
        ParameterMapping { file: self.file.to_owned(), version, entries }
    }

    fn mapping_entry(&mut self, node: Node) -> Option<MappingEntry> {
        self.attributes(node, &["source", "target", "suppressUnitConversion"]);
        let source = self.required(node, "source").map(str::to_owned);
        let target = self.required(node, "target").map(str::to_owned);
        let suppress_unit_conversion = self.boolean(node, "suppressUnitConversion").unwrap_or(false);
        let mut children = TRANSFORMATIONS.to_vec();
        children.push(annotations(Namespace::Ssm));
        let nodes = self.children(node, &children);
        let transformation = self.transformation(&nodes);
        let at = self.at(node);
        Some(MappingEntry { source: source?, target: target?, transformation, suppress_unit_conversion, at })
    }

    /// A signal dictionary; inline ones have a version of their own.
    pub(crate) fn signal_dictionary(&mut self, node: Node) -> SignalDictionary {
        let outer = self.version;
        let version = self.read_version(node);
        let mut allowed = ORIGIN.to_vec();
        allowed.push("version");
        self.attributes(node, &allowed);
        let mut dictionary =
            SignalDictionary { file: self.file.to_owned(), version, ..SignalDictionary::default() };
        let ns = Namespace::Ssb;
        let entry = child(0, ns, "DictionaryEntry", Count::Any);
        let children = [entry, ENUMERATIONS(ns), UNITS(ns), META, SIGNATURE, annotations(ns)];
        for inner in self.children(node, &children) {
            match inner.tag_name().name() {
                "DictionaryEntry" => dictionary.entries.extend(self.dictionary_entry(inner)),
                "Enumerations" => dictionary.enumerations = self.enumerations(inner),
                "Units" => dictionary.units = self.units(inner),
                _ => {}
            }
        }
        self.unique("entry", dictionary.entries.iter().map(|e| (e.name.as_str(), e.at)));
        self.version = outer;
        dictionary
    }

    fn dictionary_entry(&mut self, node: Node) -> Option<DictionaryEntry> {
        self.attributes(node, &["name"]);
        let name = self.required(node, "name").map(str::to_owned);
        let mut children = type_children(Namespace::Ssc).to_vec();
        children.extend([DIMENSION, annotations(Namespace::Ssb)]);
        let nodes = self.children(node, &children);
        let data = nodes.iter().find_map(|n| self.data_type(*n));
        if data.is_none() {
            self.lapse(node, Rule::MissingElement, "the type is missing, such as <ssc:Real/>");
        }
        let dimensions =
            nodes.iter().filter(|n| n.tag_name().name() == "Dimension").map(|n| self.dimension(*n)).collect();
        Some(DictionaryEntry { name: name?, data, dimensions, at: self.at(node) })
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    if !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(text.get(i..i + 2)?, 16).ok()).collect()
}
