//! SSV, SSM and SSB files, alone or inline.

use super::common::{
    ANNOTATIONS, DIMENSION, ORIGIN, TRANSFORMATIONS, data_type, dimension, doubles, enumerations, list,
    transformation, type_children, units,
};
use super::document;
use super::reader::{Child, Count, META, Namespace, Reader, SIGNATURE, child, integer};
use crate::finding::{Report, Rule};
use crate::model::{
    BaseType, DictionaryEntry, Dimension, MappingEntry, Parameter, ParameterMapping, ParameterSet,
    SignalDictionary, Value,
};
use koppel_fmi::xml::boolean;
use koppel_fmi::xml::hexadecimal;
use roxmltree::Node;

/// Reads a parameter set file.
pub(crate) fn parse_parameters(bytes: &[u8], file: &str, report: &mut Report) -> Option<ParameterSet> {
    document(bytes, file, report, (Namespace::Ssv, "ParameterSet"), parameter_set)
}

/// Reads a parameter mapping file.
pub(crate) fn parse_mapping(bytes: &[u8], file: &str, report: &mut Report) -> Option<ParameterMapping> {
    document(bytes, file, report, (Namespace::Ssm, "ParameterMapping"), parameter_mapping)
}

/// Reads a signal dictionary file.
pub(crate) fn parse_dictionary(bytes: &[u8], file: &str, report: &mut Report) -> Option<SignalDictionary> {
    document(bytes, file, report, (Namespace::Ssb, "SignalDictionary"), signal_dictionary)
}

const ENUMERATIONS: fn(Namespace) -> Child = |n| child(10, n, "Enumerations", Count::Optional);
const UNITS: fn(Namespace) -> Child = |n| child(11, n, "Units", Count::Optional);

fn annotations(namespace: Namespace) -> Child {
    Child { namespace, ..ANNOTATIONS }
}

/// A parameter set; inline ones have a version of their own.
pub(super) fn parameter_set(r: &mut Reader, node: Node) -> ParameterSet {
    let outer = r.version;
    let version = r.read_version(node);
    let mut allowed = ORIGIN.to_vec();
    allowed.extend(["version", "name"]);
    r.attributes(node, &allowed);
    let name = r.required(node, "name").unwrap_or("").to_owned();
    let mut set = ParameterSet { file: r.file.to_owned(), name, version, ..ParameterSet::default() };
    let ns = Namespace::Ssv;
    let list = child(1, ns, "Parameters", Count::Once);
    let children = [list, ENUMERATIONS(ns), UNITS(ns), META, SIGNATURE, annotations(ns)];
    for inner in r.children(node, &children) {
        match inner.tag_name().name() {
            "Parameters" => set.parameters = parameters(r, inner),
            "Enumerations" => set.enumerations = enumerations(r, inner),
            "Units" => set.units = units(r, inner),
            _ => {}
        }
    }
    r.unique("parameter", set.parameters.iter().map(|p| (p.name.as_str(), p.at)));
    r.version = outer;
    set
}

pub(super) fn parameters(r: &mut Reader, node: Node) -> Vec<Parameter> {
    let nodes = r.list(node, Namespace::Ssv, "Parameter", Count::Any);
    nodes.into_iter().filter_map(|n| parameter(r, n)).collect()
}

pub(super) fn parameter(r: &mut Reader, node: Node) -> Option<Parameter> {
    r.attributes(node, &["name"]);
    let name = r.required(node, "name").map(str::to_owned);
    let mut children = type_children(Namespace::Ssv)[..16].to_vec();
    children.extend([DIMENSION, annotations(Namespace::Ssv)]);
    let nodes = r.children(node, &children);
    let dimensions: Vec<_> =
        nodes.iter().filter(|n| n.tag_name().name() == "Dimension").map(|n| dimension(r, *n)).collect();
    let mut typed = nodes.iter().filter_map(|n| Some((*n, BaseType::named(n.tag_name().name())?)));
    let Some((inner, base)) = typed.next() else {
        r.fault(node, Rule::MissingElement, "the value is missing, such as <ssv:Real value=\"1\"/>");
        return None;
    };
    if let Some((second, _)) = typed.next() {
        r.fault(second, Rule::ElementCount, "a parameter has one value element");
    }
    r.needs(inner, base.since(), base.name());
    let value = value(r, inner, base)?;
    check_size(r, inner, &value, &dimensions);
    Some(Parameter {
        name: name?,
        base,
        value,
        unit: inner.attribute("unit").map(str::to_owned),
        enumeration: inner.attribute("name").filter(|_| base == BaseType::Enumeration).map(str::to_owned),
        dimensions,
        at: r.at(node),
    })
}

fn check_size(r: &mut Reader, node: Node, value: &Value, dimensions: &[Dimension]) {
    if dimensions.is_empty() && value.len() != 1 {
        let message = format!("a scalar has one value, found {}", value.len());
        r.lapse(node, Rule::AttributeValue, message);
    }
    let sizes: Option<Vec<u64>> =
        dimensions.iter().map(|d| if let Dimension::Fixed(n) = d { Some(*n) } else { None }).collect();
    let product = sizes.and_then(|s| s.iter().try_fold(1_u64, |p, n| p.checked_mul(*n)));
    if let Some(size) = product
        && !dimensions.is_empty()
        && size != value.len() as u64
    {
        let message = format!("the dimensions ask for {size} values, found {}", value.len());
        r.fault(node, Rule::AttributeValue, message);
    }
}

pub(super) fn value(r: &mut Reader, node: Node, base: BaseType) -> Option<Value> {
    match base {
        BaseType::Real | BaseType::Float64 | BaseType::Float32 => {
            r.attributes(node, &["value", "unit"]);
            r.required(node, "value")?;
            r.read(node, "value", "a number", doubles).map(Value::Float)
        }
        BaseType::Boolean => {
            r.attributes(node, &["value"]);
            r.required(node, "value")?;
            r.read(node, "value", "`true` or `false`", |t| list(t, boolean)).map(Value::Boolean)
        }
        BaseType::String => {
            r.attributes(node, &["value"]);
            values(r, node, "a text", |t| Some(t.to_owned())).map(Value::String)
        }
        BaseType::Enumeration => {
            r.attributes(node, &["value", "name"]);
            values(r, node, "an item name", |t| Some(t.to_owned())).map(Value::Enumeration)
        }
        BaseType::Binary => {
            r.attributes(node, &["value", "mime-type"]);
            values(r, node, "pairs of hexadecimal digits", hexadecimal).map(Value::Binary)
        }
        _ => {
            let (low, high) = base.range()?;
            r.attributes(node, &["value"]);
            r.required(node, "value")?;
            let expected = format!("a whole number from {low} to {high}");
            let one = |text: &str| integer::<i128>(text).filter(|v| (low..=high).contains(v));
            r.read(node, "value", &expected, |t| list(t, one)).map(Value::Integer)
        }
    }
}

/// The `value` attribute, or `Value` elements instead of it.
pub(super) fn values<T>(
    r: &mut Reader,
    node: Node,
    expected: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Option<Vec<T>> {
    let nodes = r.children(node, &[child(0, Namespace::Ssv, "Value", Count::Any)]);
    if nodes.is_empty() {
        r.required(node, "value")?;
        return r.read(node, "value", expected, read).map(|v| vec![v]);
    }
    if node.attribute("value").is_some() {
        r.lapse(node, Rule::OneContent, "either `value` or `Value` elements; the elements are used");
    }
    let mut all = Vec::new();
    for inner in nodes {
        r.needs(inner, crate::model::Version::Two, "Value");
        r.attributes(inner, &["value"]);
        r.required(inner, "value")?;
        all.push(r.read(inner, "value", expected, &read)?);
    }
    Some(all)
}

/// A parameter mapping; inline ones have a version of their own.
pub(super) fn parameter_mapping(r: &mut Reader, node: Node) -> ParameterMapping {
    let outer = r.version;
    let version = r.read_version(node);
    let mut allowed = ORIGIN.to_vec();
    allowed.push("version");
    r.attributes(node, &allowed);
    let ns = Namespace::Ssm;
    let entry = child(0, ns, "MappingEntry", Count::Any);
    let nodes = r.children(node, &[entry, META, SIGNATURE, annotations(ns)]);
    let entries = nodes
        .into_iter()
        .filter(|n| n.tag_name().name() == "MappingEntry")
        .filter_map(|n| mapping_entry(r, n))
        .collect::<Vec<_>>();
    r.unique("target", entries.iter().map(|e| (e.target.as_str(), e.at)));
    r.version = outer;
    ParameterMapping { file: r.file.to_owned(), version, entries }
}

fn mapping_entry(r: &mut Reader, node: Node) -> Option<MappingEntry> {
    r.attributes(node, &["source", "target", "suppressUnitConversion"]);
    let source = r.required(node, "source").map(str::to_owned);
    let target = r.required(node, "target").map(str::to_owned);
    let suppress_unit_conversion = r.boolean(node, "suppressUnitConversion").unwrap_or(false);
    let mut children = TRANSFORMATIONS.to_vec();
    children.push(annotations(Namespace::Ssm));
    let nodes = r.children(node, &children);
    let transformation = transformation(r, &nodes);
    let at = r.at(node);
    Some(MappingEntry { source: source?, target: target?, transformation, suppress_unit_conversion, at })
}

/// A signal dictionary; inline ones have a version of their own.
pub(super) fn signal_dictionary(r: &mut Reader, node: Node) -> SignalDictionary {
    let outer = r.version;
    let version = r.read_version(node);
    let mut allowed = ORIGIN.to_vec();
    allowed.push("version");
    r.attributes(node, &allowed);
    let mut dictionary = SignalDictionary { file: r.file.to_owned(), version, ..SignalDictionary::default() };
    let ns = Namespace::Ssb;
    let entry = child(0, ns, "DictionaryEntry", Count::Any);
    let children = [entry, ENUMERATIONS(ns), UNITS(ns), META, SIGNATURE, annotations(ns)];
    for inner in r.children(node, &children) {
        match inner.tag_name().name() {
            "DictionaryEntry" => dictionary.entries.extend(dictionary_entry(r, inner)),
            "Enumerations" => dictionary.enumerations = enumerations(r, inner),
            "Units" => dictionary.units = units(r, inner),
            _ => {}
        }
    }
    r.unique("entry", dictionary.entries.iter().map(|e| (e.name.as_str(), e.at)));
    r.version = outer;
    dictionary
}

fn dictionary_entry(r: &mut Reader, node: Node) -> Option<DictionaryEntry> {
    r.attributes(node, &["name"]);
    let name = r.required(node, "name").map(str::to_owned);
    let mut children = type_children(Namespace::Ssc).to_vec();
    children.extend([DIMENSION, annotations(Namespace::Ssb)]);
    let nodes = r.children(node, &children);
    let data = nodes.iter().find_map(|n| data_type(r, *n));
    if data.is_none() {
        r.lapse(node, Rule::MissingElement, "the type is missing, such as <ssc:Real/>");
    }
    let dimensions =
        nodes.iter().filter(|n| n.tag_name().name() == "Dimension").map(|n| dimension(r, *n)).collect();
    Some(DictionaryEntry { name: name?, data, dimensions, at: r.at(node) })
}
