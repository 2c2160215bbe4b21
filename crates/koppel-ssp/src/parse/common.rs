//! Types, dimensions, units, enumerations and transformations.

use super::reader::{Child, Count, Namespace, Reader, child, child_of_two, integer};
use crate::finding::Rule;
use crate::model::{BaseType, ClockType, DataType, Dimension, Enumeration, Transformation, UnitDefinition};
use koppel::unit::BASE;
use koppel_fmi::xml::{boolean, read_number};
use roxmltree::Node;

/// Annotations close an element.
pub(crate) const ANNOTATIONS: Child = child(210, Namespace::Ssc, "Annotations", Count::Optional);

/// The type elements, all of one rank.
pub(crate) const fn type_children(namespace: Namespace) -> [Child; 17] {
    let mut children = [child(1, namespace, "", Count::Any); 17];
    let mut i = 0;
    while i < 17 {
        children[i].name = BaseType::ALL[i].name();
        i += 1;
    }
    children
}

pub(crate) const DIMENSION: Child = child_of_two(2, Namespace::Ssc, "Dimension", Count::Any);

pub(crate) const TRANSFORMATIONS: [Child; 4] = [
    child(1, Namespace::Ssc, "LinearTransformation", Count::Optional),
    child(1, Namespace::Ssc, "BooleanMappingTransformation", Count::Optional),
    child(1, Namespace::Ssc, "IntegerMappingTransformation", Count::Optional),
    child(1, Namespace::Ssc, "EnumerationMappingTransformation", Count::Optional),
];

const INTERVALS: [&str; 6] = ["constant", "fixed", "tunable", "changing", "countdown", "triggered"];

/// Attributes of roots that say who made the file.
pub(crate) const ORIGIN: [&str; 6] =
    ["author", "fileversion", "copyright", "license", "generationTool", "generationDateAndTime"];

/// A type element of a connector or a dictionary entry.
pub(super) fn data_type(r: &mut Reader, node: Node) -> Option<DataType> {
    let base = BaseType::named(node.tag_name().name())?;
    r.needs(node, base.since(), base.name());
    let mut data = DataType::new(base);
    data.at = r.at(node);
    match base {
        BaseType::Real | BaseType::Float64 | BaseType::Float32 => {
            r.attributes(node, &["unit"]);
            data.unit = node.attribute("unit").map(str::to_owned);
        }
        BaseType::Enumeration => {
            r.attributes(node, &["name"]);
            data.enumeration = r.required(node, "name").map(str::to_owned);
        }
        BaseType::Binary => {
            r.attributes(node, &["mime-type"]);
            data.mime = node.attribute("mime-type").map(str::to_owned);
        }
        BaseType::Clock => data.clock = Some(clock(r, node)),
        _ => r.attributes(node, &[]),
    }
    r.children(node, &[]);
    Some(data)
}

fn clock(r: &mut Reader, node: Node) -> ClockType {
    r.attributes(
        node,
        &[
            "intervalVariability",
            "intervalDecimal",
            "shiftDecimal",
            "supportsFraction",
            "resolution",
            "intervalCounter",
            "shiftCounter",
            "priority",
        ],
    );
    let count = "a whole number";
    ClockType {
        interval_variability: r.read(node, "intervalVariability", "one of the FMI 3 words", |text| {
            INTERVALS.contains(&text.trim()).then(|| text.trim().to_owned())
        }),
        interval_decimal: r.number(node, "intervalDecimal"),
        shift_decimal: r.number(node, "shiftDecimal"),
        supports_fraction: r.boolean(node, "supportsFraction"),
        resolution: r.read(node, "resolution", count, integer),
        interval_counter: r.read(node, "intervalCounter", count, integer),
        shift_counter: r.read(node, "shiftCounter", count, integer),
        priority: r.read(node, "priority", count, integer),
    }
}

pub(super) fn dimension(r: &mut Reader, node: Node) -> Dimension {
    r.attributes(node, &["size", "sizeConnector"]);
    let size = r.read(node, "size", "a whole number", integer);
    match (size, node.attribute("sizeConnector")) {
        (Some(size), None) => Dimension::Fixed(size),
        (None, Some(name)) => Dimension::Connector(name.to_owned()),
        (None, None) => Dimension::Open,
        (Some(size), Some(_)) => {
            r.lapse(node, Rule::OneContent, "either `size` or `sizeConnector`, not both; `size` is used");
            Dimension::Fixed(size)
        }
    }
}

pub(super) fn units(r: &mut Reader, node: Node) -> Vec<UnitDefinition> {
    let nodes = r.list(node, Namespace::Ssc, "Unit", Count::Many);
    let units: Vec<_> = nodes.into_iter().filter_map(|n| unit(r, n)).collect();
    r.unique("unit", units.iter().map(|u| (u.name.as_str(), u.at)));
    units
}

pub(super) fn unit(r: &mut Reader, node: Node) -> Option<UnitDefinition> {
    r.attributes(node, &["name"]);
    let name = r.required(node, "name").map(str::to_owned);
    let base = child(0, Namespace::Ssc, "BaseUnit", Count::Once);
    let nodes = r.children(node, &[base, ANNOTATIONS]);
    let base = nodes.into_iter().find(|n| n.tag_name().name() == "BaseUnit")?;
    let mut allowed = BASE.to_vec();
    allowed.extend(["factor", "offset"]);
    r.attributes(base, &allowed);
    let mut exponents = [0; 8];
    for (exponent, base_name) in exponents.iter_mut().zip(BASE) {
        *exponent = r.read(base, base_name, "a whole number", integer).unwrap_or(0);
    }
    let factor = r.finite(base, "factor").unwrap_or(1.0);
    let offset = r.finite(base, "offset").unwrap_or(0.0);
    let definition = UnitDefinition { name: name?, exponents, factor, offset, at: r.at(node) };
    if let Err(error) = definition.unit() {
        r.fault(node, Rule::Unit, error.to_string());
        return None;
    }
    Some(definition)
}

pub(super) fn enumerations(r: &mut Reader, node: Node) -> Vec<Enumeration> {
    let nodes = r.list(node, Namespace::Ssc, "Enumeration", Count::Many);
    let all: Vec<_> = nodes.into_iter().filter_map(|n| enumeration(r, n)).collect();
    r.unique("enumeration", all.iter().map(|e| (e.name.as_str(), e.at)));
    all
}

pub(super) fn enumeration(r: &mut Reader, node: Node) -> Option<Enumeration> {
    r.attributes(node, &["name"]);
    let name = r.required(node, "name").map(str::to_owned);
    let item = child(0, Namespace::Ssc, "Item", Count::Many);
    let mut items = Vec::new();
    for inner in r.children(node, &[item, ANNOTATIONS]) {
        if inner.tag_name().name() != "Item" {
            continue;
        }
        r.attributes(inner, &["name", "value"]);
        let item = r.required(inner, "name").map(str::to_owned);
        r.required(inner, "value");
        let value = r.read(inner, "value", "a whole number", integer);
        if let (Some(item), Some(value)) = (item, value) {
            items.push((item, value));
        }
    }
    let at = r.at(node);
    r.unique("item", items.iter().map(|(name, _)| (name.as_str(), at)));
    Some(Enumeration { name: name?, items, at })
}

/// The transformation among the children of a connection or mapping entry.
pub(super) fn transformation(r: &mut Reader, nodes: &[Node]) -> Option<Transformation> {
    let is_one = |n: &&Node| n.tag_name().name().ends_with("Transformation");
    let mut all = nodes.iter().filter(is_one);
    let node = *all.next()?;
    if let Some(second) = all.next() {
        r.fault(*second, Rule::ElementCount, "only one transformation may stand here");
    }
    Some(match node.tag_name().name() {
        "LinearTransformation" => {
            r.attributes(node, &["factor", "offset"]);
            r.children(node, &[]);
            let factor = r.finite(node, "factor").unwrap_or(1.0);
            let offset = r.finite(node, "offset").unwrap_or(0.0);
            Transformation::Linear { factor, offset }
        }
        "BooleanMappingTransformation" => {
            Transformation::Boolean(table(r, node, "`true` or `false`", boolean))
        }
        "IntegerMappingTransformation" => {
            Transformation::Integer(table(r, node, "a whole number", generic_integer))
        }
        _ => Transformation::Enumeration(table(r, node, "an item name", |t| Some(t.to_owned()))),
    })
}

fn table<T: PartialEq>(
    r: &mut Reader,
    node: Node,
    expected: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Vec<(T, T)> {
    r.attributes(node, &[]);
    let mut entries: Vec<(T, T)> = Vec::new();
    for inner in r.children(node, &[child(0, Namespace::Ssc, "MapEntry", Count::Many)]) {
        r.attributes(inner, &["source", "target"]);
        r.required(inner, "source");
        r.required(inner, "target");
        let source = r.read(inner, "source", expected, &read);
        let target = r.read(inner, "target", expected, &read);
        let (Some(source), Some(target)) = (source, target) else { continue };
        if entries.iter().any(|(known, _)| *known == source) {
            r.fault(inner, Rule::UniqueName, "this source value has an entry already");
        } else {
            entries.push((source, target));
        }
    }
    entries
}

/// Integers of all sizes the standard knows.
fn generic_integer(text: &str) -> Option<i128> {
    integer(text).filter(|v| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(v))
}

/// A list of values separated by blanks.
pub(crate) fn list<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text.split_ascii_whitespace().map(read).collect()
}

/// A list of numbers.
pub(crate) fn doubles(text: &str) -> Option<Vec<f64>> {
    list(text, read_number)
}
