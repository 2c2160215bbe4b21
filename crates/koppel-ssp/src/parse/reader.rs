//! Reads elements by their rules: which attributes, which children, how often, in which order.

use super::text::Source;
use crate::finding::{Place, Position, Report, Rule, suggest};
use crate::model::{Annotation, Version};
use koppel_fmi::xml::{Writer, boolean, read_number};
use roxmltree::Node;

/// The namespaces of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    Ssc,
    Ssd,
    Ssv,
    Ssm,
    Ssb,
}

impl Namespace {
    pub(crate) const ALL: [Namespace; 5] =
        [Namespace::Ssc, Namespace::Ssd, Namespace::Ssv, Namespace::Ssm, Namespace::Ssb];

    pub(crate) fn uri(self) -> &'static str {
        match self {
            Namespace::Ssc => "http://ssp-standard.org/SSP1/SystemStructureCommon",
            Namespace::Ssd => "http://ssp-standard.org/SSP1/SystemStructureDescription",
            Namespace::Ssv => "http://ssp-standard.org/SSP1/SystemStructureParameterValues",
            Namespace::Ssm => "http://ssp-standard.org/SSP1/SystemStructureParameterMapping",
            Namespace::Ssb => "http://ssp-standard.org/SSP1/SystemStructureSignalDictionary",
        }
    }

    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Namespace::Ssc => "ssc",
            Namespace::Ssd => "ssd",
            Namespace::Ssv => "ssv",
            Namespace::Ssm => "ssm",
            Namespace::Ssb => "ssb",
        }
    }

    /// The tag of an element.
    pub(crate) fn tag(self, name: &str) -> String {
        format!("{}:{name}", self.prefix())
    }

    /// Declares it at the root.
    pub(crate) fn declare(self, writer: &mut Writer) {
        writer.attribute(&format!("xmlns:{}", self.prefix()), self.uri());
    }

    fn of(node: Node) -> Option<Namespace> {
        let uri = node.tag_name().namespace()?;
        Namespace::ALL.into_iter().find(|n| n.uri() == uri)
    }
}

/// How often a child may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Once,
    Optional,
    Any,
    Many,
}

/// A child in the order of the schema. Children that share a rank may mix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Child {
    pub(crate) rank: u8,
    pub(crate) namespace: Namespace,
    pub(crate) name: &'static str,
    pub(crate) count: Count,
    pub(crate) since: Version,
}

pub(crate) const fn child(rank: u8, namespace: Namespace, name: &'static str, count: Count) -> Child {
    Child { rank, namespace, name, count, since: Version::One }
}

pub(crate) const fn child_of_two(rank: u8, namespace: Namespace, name: &'static str, count: Count) -> Child {
    Child { rank, namespace, name, count, since: Version::Two }
}

/// Meta data, signatures and annotations close most elements; they are not read further.
pub(crate) const META: Child = child_of_two(200, Namespace::Ssc, "MetaData", Count::Any);
pub(crate) const SIGNATURE: Child = child_of_two(201, Namespace::Ssc, "Signature", Count::Any);

/// Reads one file.
pub(crate) struct Reader<'a> {
    pub(crate) file: &'a str,
    pub(crate) source: &'a Source,
    pub(crate) report: &'a mut Report,
    pub(crate) version: Version,
}

impl Reader<'_> {
    pub(crate) fn at(&self, node: Node) -> Position {
        self.source.position(node.range().start)
    }

    pub(crate) fn fault(&mut self, node: Node, rule: Rule, message: impl Into<String>) {
        let place = Place::new(self.file, self.at(node), label(node));
        self.report.fault(&place, rule, message);
    }

    pub(crate) fn lapse(&mut self, node: Node, rule: Rule, message: impl Into<String>) {
        let place = Place::new(self.file, self.at(node), label(node));
        self.report.lapse(&place, rule, message);
    }

    /// Reports what only version 2.0 knows.
    pub(super) fn needs(&mut self, node: Node, since: Version, what: &str) {
        if since > self.version {
            self.lapse(node, Rule::NewInTwo, format!("`{what}` needs version 2.0"));
        }
    }

    /// Reports names that stand more than once, where they stand again.
    pub(super) fn unique<'n>(&mut self, what: &str, names: impl Iterator<Item = (&'n str, Position)>) {
        let mut seen = std::collections::HashSet::new();
        for (name, at) in names.filter(|(name, _)| !name.is_empty()) {
            if !seen.insert(name) {
                let place = Place::new(self.file, at, format!("{what} {name}"));
                self.report.fault(&place, Rule::UniqueName, format!("{what} `{name}` is defined twice"));
            }
        }
    }

    /// The attributes this element may have; `id` and `description` are always among them.
    pub(crate) fn attributes(&mut self, node: Node, allowed: &[&str]) {
        for attribute in node.attributes() {
            let name = attribute.name();
            let place = Place::new(self.file, self.source.position(attribute.range().start), label(node));
            match attribute.namespace() {
                None if allowed.contains(&name) || name == "id" || name == "description" => {}
                None => {
                    let known = allowed.iter().copied().chain(["id", "description"]);
                    let message = format!("unknown attribute `{name}`{}", suggest(name, known));
                    self.report.lapse(&place, Rule::UnknownAttribute, message);
                }
                Some(
                    "http://www.w3.org/2001/XMLSchema-instance" | "http://www.w3.org/XML/1998/namespace",
                ) => {}
                Some(uri) => {
                    let message =
                        format!("attribute `{name}` of namespace `{uri}` is not part of the standard");
                    self.report.lapse(&place, Rule::UnknownAttribute, message);
                }
            }
        }
    }

    /// The children of an element that holds a list and nothing else.
    pub(super) fn list<'n>(
        &mut self,
        node: Node<'n, 'n>,
        namespace: Namespace,
        name: &'static str,
        count: Count,
    ) -> Vec<Node<'n, 'n>> {
        self.attributes(node, &[]);
        self.children(node, &[child(0, namespace, name, count)])
    }

    /// The children that are known, after reporting those that are not, out of order, missing or too many.
    pub(crate) fn children<'n>(&mut self, node: Node<'n, 'n>, allowed: &[Child]) -> Vec<Node<'n, 'n>> {
        let mut found = Vec::new();
        let mut counts = vec![0_u32; allowed.len()];
        let mut rank = 0;
        for inner in node.children() {
            if inner.is_text() {
                self.stray_text(node, inner);
            }
            if !inner.is_element() {
                continue;
            }
            let Some(index) = self.which(inner, node, allowed) else { continue };
            let known = allowed[index];
            counts[index] += 1;
            if known.rank < rank {
                let message = format!("`{}` stands too late in `{}`", known.name, node.tag_name().name());
                self.lapse(inner, Rule::ElementOrder, message);
            }
            rank = rank.max(known.rank);
            if known.since > self.version {
                let message = format!("`{}` needs version 2.0", known.name);
                self.lapse(inner, Rule::NewInTwo, message);
            }
            let single = matches!(known.count, Count::Once | Count::Optional);
            if single && counts[index] > 1 {
                let message = format!("`{}` stands more than once", known.name);
                self.fault(inner, Rule::ElementCount, message);
                continue;
            }
            found.push(inner);
        }
        for (known, count) in allowed.iter().zip(counts) {
            if matches!(known.count, Count::Once | Count::Many) && count == 0 {
                let message = format!("`{}` is missing", known.name);
                match known.count {
                    Count::Once => self.fault(node, Rule::MissingElement, message),
                    _ => self.lapse(node, Rule::MissingElement, message),
                }
            }
        }
        found
    }

    fn which(&mut self, inner: Node, outer: Node, allowed: &[Child]) -> Option<usize> {
        let name = inner.tag_name().name();
        let namespace = Namespace::of(inner);
        if let Some(index) = allowed.iter().position(|c| c.name == name && Some(c.namespace) == namespace) {
            return Some(index);
        }
        let outer_name = outer.tag_name().name().to_owned();
        if let Some(index) = allowed.iter().position(|c| c.name == name) {
            let right = allowed[index].namespace;
            let found = inner.tag_name().namespace().unwrap_or("none");
            let message =
                format!("`{name}` in `{outer_name}` must be of namespace `{}`, found `{found}`", right.uri());
            self.lapse(inner, Rule::Namespace, message);
            return Some(index);
        }
        let message = match namespace {
            Some(_) => {
                let close = suggest(name, allowed.iter().map(|c| c.name));
                format!("unknown element `{name}` in `{outer_name}`{close}")
            }
            None => format!("foreign element `{name}` in `{outer_name}`; it belongs into an annotation"),
        };
        self.lapse(inner, Rule::UnknownElement, message);
        None
    }

    fn stray_text(&mut self, outer: Node, text: Node) {
        let content = text.text().unwrap_or("").trim();
        if content.is_empty() {
            return;
        }
        let shown: String = content.chars().take(20).collect();
        let place = Place::new(self.file, self.source.position(text.range().start), label(outer));
        self.report.lapse(&place, Rule::Text, format!("text `{shown}` has no meaning here"));
    }

    /// An attribute that must be there.
    pub(crate) fn required<'n>(&mut self, node: Node<'n, 'n>, name: &str) -> Option<&'n str> {
        let value = node.attribute(name);
        if value.is_none() {
            self.fault(node, Rule::MissingAttribute, format!("attribute `{name}` is missing"));
        }
        value
    }

    /// An attribute read by a function; a value it refuses is reported.
    pub(crate) fn read<T>(
        &mut self,
        node: Node,
        name: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = node.attribute(name)?;
        let value = read(text);
        if value.is_none() {
            let at = node.attribute_node(name).map_or(node.range().start, |a| a.range().start);
            let place = Place::new(self.file, self.source.position(at), label(node));
            let shown: String = text.chars().take(40).collect();
            let message = format!("attribute `{name}` must be {expected}, found `{shown}`");
            self.report.fault(&place, Rule::AttributeValue, message);
        }
        value
    }

    pub(crate) fn number(&mut self, node: Node, name: &str) -> Option<f64> {
        self.read(node, name, "a number", read_number)
    }

    pub(crate) fn finite(&mut self, node: Node, name: &str) -> Option<f64> {
        self.read(node, name, "a finite number", |text| read_number(text).filter(|v| v.is_finite()))
    }

    pub(crate) fn boolean(&mut self, node: Node, name: &str) -> Option<bool> {
        self.read(node, name, "`true` or `false`", boolean)
    }

    /// The version attribute of a root; it decides what else may be used.
    pub(crate) fn read_version(&mut self, node: Node) -> Version {
        let version = match node.attribute("version").map(str::trim) {
            None => {
                self.lapse(node, Rule::MissingAttribute, "attribute `version` is missing; read as 1.0");
                Version::One
            }
            Some("1.0") => Version::One,
            Some("2.0") => Version::Two,
            Some(other) => {
                let newer = other.starts_with('2') || other.starts_with("1.1");
                let version = if newer { Version::Two } else { Version::One };
                let shown: String = other.chars().take(40).collect();
                let message = format!("version `{shown}` is not known; read as {}", version.text());
                self.lapse(node, Rule::Version, message);
                version
            }
        };
        self.version = version;
        version
    }

    /// Annotations of an element.
    pub(crate) fn annotations(&mut self, node: Node) -> Vec<Annotation> {
        const CHILDREN: [Child; 1] = [child(0, Namespace::Ssc, "Annotation", Count::Many)];
        let mut annotations = Vec::new();
        for inner in self.children(node, &CHILDREN) {
            self.attributes(inner, &["type"]);
            let kind = self.required(inner, "type").unwrap_or("").to_owned();
            let (first, last) = (inner.first_child(), inner.last_child());
            let range = match (first, last) {
                (Some(first), Some(last)) => first.range().start..last.range().end,
                _ => 0..0,
            };
            let xml = self.source.slice(range).trim().to_owned();
            // blanks around the only element are layout, not content
            let mut elements = inner.children().filter(Node::is_element);
            let holder = match (elements.next(), elements.next()) {
                (Some(only), None) => only,
                _ => inner,
            };
            let text = holder.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect();
            let namespaces = inner
                .namespaces()
                .filter_map(|n| Some((n.name()?, n.uri())))
                .filter(|(prefix, _)| *prefix != "xml" && xml.contains(&format!("{prefix}:")))
                .map(|(prefix, uri)| (prefix.to_owned(), uri.to_owned()))
                .collect();
            annotations.push(Annotation { kind, xml, text, namespaces });
        }
        annotations
    }
}

/// `Component engine`, or what else names the element best.
pub(crate) fn label(node: Node) -> String {
    let tag = node.tag_name().name();
    if let (Some(from), Some(to)) = (node.attribute("startConnector"), node.attribute("endConnector")) {
        let dotted = |element: Option<&str>, connector: &str| match element {
            Some(element) => format!("{element}.{connector}"),
            None => connector.to_owned(),
        };
        let start = dotted(node.attribute("startElement"), from);
        return format!("{tag} {start} -> {}", dotted(node.attribute("endElement"), to));
    }
    for name in ["name", "source", "target"] {
        if let Some(value) = node.attribute(name) {
            return format!("{tag} {value}");
        }
    }
    tag.to_owned()
}

/// An integer of XML schema.
pub(crate) fn integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}
