//! Types, dimensions, units, enumerations and transformations.

use super::reader::{Child, Count, Namespace, Reader, child, child_of_two, double, integer, truth};
use crate::finding::{Place, Position, Rule};
use crate::model::{
    BaseType, ClockType, DataType, Dimension, Enumeration, Transformation, UnitDefinition, Version,
};
use koppel::unit::BASE;
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

impl Reader<'_> {
    /// A type element of a connector or a dictionary entry.
    pub(crate) fn data_type(&mut self, node: Node) -> Option<DataType> {
        let base = BaseType::named(node.tag_name().name())?;
        self.needs(node, base.since(), base.name());
        let mut data = DataType::new(base);
        data.at = self.at(node);
        match base {
            BaseType::Real | BaseType::Float64 | BaseType::Float32 => {
                self.attributes(node, &["unit"]);
                data.unit = node.attribute("unit").map(str::to_owned);
            }
            BaseType::Enumeration => {
                self.attributes(node, &["name"]);
                data.enumeration = self.required(node, "name").map(str::to_owned);
            }
            BaseType::Binary => {
                self.attributes(node, &["mime-type"]);
                data.mime = node.attribute("mime-type").map(str::to_owned);
            }
            BaseType::Clock => data.clock = Some(self.clock(node)),
            _ => self.attributes(node, &[]),
        }
        self.children(node, &[]);
        Some(data)
    }

    fn clock(&mut self, node: Node) -> ClockType {
        self.attributes(
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
            interval_variability: self.read(node, "intervalVariability", "one of the FMI 3 words", |text| {
                INTERVALS.contains(&text.trim()).then(|| text.trim().to_owned())
            }),
            interval_decimal: self.number(node, "intervalDecimal"),
            shift_decimal: self.number(node, "shiftDecimal"),
            supports_fraction: self.boolean(node, "supportsFraction"),
            resolution: self.read(node, "resolution", count, integer),
            interval_counter: self.read(node, "intervalCounter", count, integer),
            shift_counter: self.read(node, "shiftCounter", count, integer),
            priority: self.read(node, "priority", count, integer),
        }
    }

    /// Reports what only version 2.0 knows.
    pub(crate) fn needs(&mut self, node: Node, since: Version, what: &str) {
        if since > self.version {
            self.lapse(node, Rule::NewInTwo, format!("`{what}` needs version 2.0"));
        }
    }

    pub(crate) fn dimension(&mut self, node: Node) -> Dimension {
        self.attributes(node, &["size", "sizeConnector"]);
        let size = self.read(node, "size", "a whole number", integer);
        match (size, node.attribute("sizeConnector")) {
            (Some(size), None) => Dimension::Fixed(size),
            (None, Some(name)) => Dimension::Connector(name.to_owned()),
            (None, None) => Dimension::Open,
            (Some(size), Some(_)) => {
                self.lapse(
                    node,
                    Rule::OneContent,
                    "either `size` or `sizeConnector`, not both; `size` is used",
                );
                Dimension::Fixed(size)
            }
        }
    }

    pub(crate) fn units(&mut self, node: Node) -> Vec<UnitDefinition> {
        self.attributes(node, &[]);
        let nodes = self.children(node, &[child(0, Namespace::Ssc, "Unit", Count::Many)]);
        let units: Vec<_> = nodes.into_iter().filter_map(|n| self.unit(n)).collect();
        self.unique("unit", units.iter().map(|u| (u.name.as_str(), u.at)));
        units
    }

    fn unit(&mut self, node: Node) -> Option<UnitDefinition> {
        self.attributes(node, &["name"]);
        let name = self.required(node, "name").map(str::to_owned);
        let base = child(0, Namespace::Ssc, "BaseUnit", Count::Once);
        let nodes = self.children(node, &[base, ANNOTATIONS]);
        let base = nodes.into_iter().find(|n| n.tag_name().name() == "BaseUnit")?;
        let mut allowed = BASE.to_vec();
        allowed.extend(["factor", "offset"]);
        self.attributes(base, &allowed);
        let mut exponents = [0; 8];
        for (exponent, base_name) in exponents.iter_mut().zip(BASE) {
            *exponent = self.read(base, base_name, "a whole number", integer).unwrap_or(0);
        }
        let factor = self.finite(base, "factor").unwrap_or(1.0);
        let offset = self.finite(base, "offset").unwrap_or(0.0);
        let definition = UnitDefinition { name: name?, exponents, factor, offset, at: self.at(node) };
        if let Err(error) = definition.unit() {
            self.fault(node, Rule::Unit, error.to_string());
            return None;
        }
        Some(definition)
    }

    pub(crate) fn enumerations(&mut self, node: Node) -> Vec<Enumeration> {
        self.attributes(node, &[]);
        let nodes = self.children(node, &[child(0, Namespace::Ssc, "Enumeration", Count::Many)]);
        let all: Vec<_> = nodes.into_iter().filter_map(|n| self.enumeration(n)).collect();
        self.unique("enumeration", all.iter().map(|e| (e.name.as_str(), e.at)));
        all
    }

    fn enumeration(&mut self, node: Node) -> Option<Enumeration> {
        self.attributes(node, &["name"]);
        let name = self.required(node, "name").map(str::to_owned);
        let item = child(0, Namespace::Ssc, "Item", Count::Many);
        let mut items = Vec::new();
        for inner in self.children(node, &[item, ANNOTATIONS]) {
            if inner.tag_name().name() != "Item" {
                continue;
            }
            self.attributes(inner, &["name", "value"]);
            let item = self.required(inner, "name").map(str::to_owned);
            self.required(inner, "value");
            let value = self.read(inner, "value", "a whole number", integer);
            if let (Some(item), Some(value)) = (item, value) {
                items.push((item, value));
            }
        }
        let at = self.at(node);
        self.unique("item", items.iter().map(|(name, _)| (name.as_str(), at)));
        Some(Enumeration { name: name?, items, at })
    }

    /// Reports names that stand more than once, where they stand again.
    pub(crate) fn unique<'n>(&mut self, what: &str, names: impl Iterator<Item = (&'n str, Position)>) {
        let mut seen = std::collections::HashSet::new();
        for (name, at) in names.filter(|(name, _)| !name.is_empty()) {
            if !seen.insert(name) {
                let place = Place::new(self.file, at, format!("{what} {name}"));
                self.report.fault(&place, Rule::UniqueName, format!("{what} `{name}` is defined twice"));
            }
        }
    }

    /// The transformation among the children of a connection or mapping entry.
    pub(crate) fn transformation(&mut self, nodes: &[Node]) -> Option<Transformation> {
        let is_one = |n: &&Node| n.tag_name().name().ends_with("Transformation");
        let mut all = nodes.iter().filter(is_one);
        let node = *all.next()?;
        if let Some(second) = all.next() {
            self.fault(*second, Rule::ElementCount, "only one transformation may stand here");
        }
        Some(match node.tag_name().name() {
            "LinearTransformation" => {
                self.attributes(node, &["factor", "offset"]);
                self.children(node, &[]);
                let factor = self.finite(node, "factor").unwrap_or(1.0);
                let offset = self.finite(node, "offset").unwrap_or(0.0);
                Transformation::Linear { factor, offset }
            }
            "BooleanMappingTransformation" => {
                Transformation::Boolean(self.table(node, "`true` or `false`", truth))
            }
            "IntegerMappingTransformation" => {
                Transformation::Integer(self.table(node, "a whole number", generic_integer))
            }
            _ => Transformation::Enumeration(self.table(node, "an item name", |t| Some(t.to_owned()))),
        })
    }

    fn table<T: PartialEq>(
        &mut self,
        node: Node,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Vec<(T, T)> {
        self.attributes(node, &[]);
        let mut entries: Vec<(T, T)> = Vec::new();
        for inner in self.children(node, &[child(0, Namespace::Ssc, "MapEntry", Count::Many)]) {
            self.attributes(inner, &["source", "target"]);
            self.required(inner, "source");
            self.required(inner, "target");
            let source = self.read(inner, "source", expected, &read);
            let target = self.read(inner, "target", expected, &read);
            let (Some(source), Some(target)) = (source, target) else { continue };
            if entries.iter().any(|(known, _)| *known == source) {
                self.fault(inner, Rule::UniqueName, "this source value has an entry already");
            } else {
                entries.push((source, target));
            }
        }
        entries
    }
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
    list(text, double)
}
