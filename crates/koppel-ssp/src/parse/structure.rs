//! The root of an SSD, connectors, connections.

use super::common::{ANNOTATIONS, DIMENSION, ORIGIN, TRANSFORMATIONS, doubles, list, type_children};
use super::document;
use super::reader::{Child, Count, META, Namespace, Reader, SIGNATURE, child, child_of_two, integer};
use crate::finding::{Report, Rule, suggest};
use crate::model::{
    BaseType, Connection, Connector, DataType, DefaultExperiment, End, Kind, SystemStructure, Version,
};
use roxmltree::Node;

const NS: Namespace = Namespace::Ssd;

/// Annotations in the namespace of the SSD.
pub(super) const SSD_ANNOTATIONS: Child = Child { namespace: NS, ..ANNOTATIONS };

/// Reads a system structure description.
pub(crate) fn parse_structure(bytes: &[u8], file: &str, report: &mut Report) -> Option<SystemStructure> {
    document(bytes, file, report, (NS, "SystemStructureDescription"), |r, node| r.structure(node))
}

impl Reader<'_> {
    fn structure(&mut self, node: Node) -> SystemStructure {
        let version = self.read_version(node);
        let mut allowed = ORIGIN.to_vec();
        allowed.extend(["version", "name"]);
        self.attributes(node, &allowed);
        let name = self.required(node, "name").unwrap_or("").to_owned();
        let mut structure =
            SystemStructure { file: self.file.to_owned(), name, version, ..SystemStructure::default() };
        let children = [
            child(0, NS, "System", Count::Once),
            child(1, NS, "Enumerations", Count::Optional),
            child(2, NS, "Units", Count::Optional),
            child(3, NS, "DefaultExperiment", Count::Optional),
            META,
            SIGNATURE,
            SSD_ANNOTATIONS,
        ];
        for inner in self.children(node, &children) {
            match inner.tag_name().name() {
                "System" => structure.system = self.system(inner, 0),
                "Enumerations" => structure.enumerations = self.enumerations(inner),
                "Units" => structure.units = self.units(inner),
                "DefaultExperiment" => structure.experiment = Some(self.experiment(inner)),
                "Annotations" => structure.annotations = self.annotations(inner),
                _ => {}
            }
        }
        self.check_ids(node);
        structure
    }

    fn experiment(&mut self, node: Node) -> DefaultExperiment {
        self.attributes(node, &["startTime", "stopTime"]);
        let start = self.finite(node, "startTime");
        let stop = self.finite(node, "stopTime");
        if let (Some(start), Some(stop)) = (start, stop)
            && stop < start
        {
            let message = format!("the stop time {stop} comes before the start time {start}");
            self.fault(node, Rule::AttributeValue, message);
        }
        let nodes = self.children(node, &[SSD_ANNOTATIONS]);
        let annotations = nodes.into_iter().flat_map(|n| self.annotations(n)).collect();
        DefaultExperiment { start, stop, annotations }
    }

    /// `id` attributes are unique in the file.
    fn check_ids(&mut self, root: Node) {
        let mut seen = std::collections::HashSet::new();
        for node in root.descendants().filter(|n| n.is_element()) {
            let ours =
                node.tag_name().namespace().is_some_and(|u| Namespace::ALL.iter().any(|n| n.uri() == u));
            if let Some(id) = node.attribute("id")
                && ours
                && !seen.insert(id)
            {
                self.lapse(node, Rule::UniqueName, format!("id `{id}` is used twice in this file"));
            }
        }
    }

    pub(super) fn connectors(&mut self, node: Node) -> Vec<Connector> {
        self.attributes(node, &[]);
        let nodes = self.children(node, &[child(0, NS, "Connector", Count::Many)]);
        let connectors: Vec<_> = nodes.into_iter().filter_map(|n| self.connector(n)).collect();
        self.unique("connector", connectors.iter().map(|c| (c.name.as_str(), c.at)));
        connectors
    }

    fn connector(&mut self, node: Node) -> Option<Connector> {
        self.attributes(node, &["name", "kind"]);
        let name = self.required(node, "name").map(str::to_owned);
        let kind = self.kind(node);
        let mut children = type_children(Namespace::Ssc).to_vec();
        children.extend([
            DIMENSION,
            child_of_two(3, NS, "Clock", Count::Any),
            child(4, NS, "ConnectorGeometry", Count::Optional),
            SSD_ANNOTATIONS,
        ]);
        let mut connector = Connector::new("", Kind::Unspecified, None);
        for inner in self.children(node, &children) {
            let own = inner.tag_name().namespace() == Some(NS.uri());
            match inner.tag_name().name() {
                "Dimension" => connector.dimensions.push(self.dimension(inner)),
                "Clock" if own => {
                    self.attributes(inner, &["name"]);
                    connector.clocks.extend(self.required(inner, "name").map(str::to_owned));
                }
                "ConnectorGeometry" => self.geometry(inner, &["x", "y"], &["systemInnerX", "systemInnerY"]),
                "Annotations" => {
                    self.annotations(inner);
                }
                _ if connector.data.is_some() => {
                    self.fault(inner, Rule::ElementCount, "a connector has one type");
                }
                _ => connector.data = self.data_type(inner),
            }
        }
        if connector.data.is_none() {
            // drafts of the standard had it as an attribute, which has been reported
            let base = node.attribute("type").and_then(BaseType::named);
            connector.data = base.filter(|b| *b != BaseType::Enumeration).map(DataType::new);
        }
        connector.name = name?;
        // an unknown kind has been reported; what is connected here is checked all the same
        connector.kind = kind.unwrap_or(Kind::Unspecified);
        connector.description = node.attribute("description").map(str::to_owned);
        connector.at = self.at(node);
        Some(connector)
    }

    fn kind(&mut self, node: Node) -> Option<Kind> {
        let text = self.required(node, "kind")?.trim();
        let Some(kind) = Kind::ALL.into_iter().find(|k| k.text() == text) else {
            let message = format!("kind `{text}` is not known{}", suggest(text, Kind::ALL.map(Kind::text)));
            self.fault(node, Rule::AttributeValue, message);
            return None;
        };
        if matches!(kind, Kind::StructuralParameter | Kind::Constant | Kind::Local | Kind::Unspecified) {
            self.needs(node, Version::Two, text);
        }
        Some(kind)
    }

    /// Geometry is checked and dropped.
    pub(super) fn geometry(&mut self, node: Node, required: &[&str], optional: &[&str]) {
        let mut allowed = required.to_vec();
        allowed.extend(optional);
        allowed.extend(["rotation", "iconSource", "iconRotation", "iconFlip", "iconFixedAspectRatio"]);
        self.attributes(node, &allowed);
        for name in required {
            if node.attribute(*name).is_none() {
                self.lapse(node, Rule::MissingAttribute, format!("attribute `{name}` is missing"));
            }
            if let Some(text) = node.attribute(*name)
                && *name != "text"
                && doubles(text).is_none()
            {
                self.lapse(node, Rule::AttributeValue, format!("attribute `{name}` must be a number"));
            }
        }
    }

    pub(super) fn connections(&mut self, node: Node) -> Vec<Connection> {
        self.attributes(node, &[]);
        let nodes = self.children(node, &[child(0, NS, "Connection", Count::Many)]);
        nodes.into_iter().filter_map(|n| self.connection(n)).collect()
    }

    fn connection(&mut self, node: Node) -> Option<Connection> {
        let allowed = [
            "startElement",
            "startConnector",
            "startIndices",
            "endElement",
            "endConnector",
            "endIndices",
            "suppressUnitConversion",
        ];
        self.attributes(node, &allowed);
        let start = self.end(node, ["startElement", "startConnector", "startIndices"]);
        let end = self.end(node, ["endElement", "endConnector", "endIndices"]);
        let suppress_unit_conversion = self.boolean(node, "suppressUnitConversion").unwrap_or(false);
        let mut children = TRANSFORMATIONS.to_vec();
        children.extend([child(2, NS, "ConnectionGeometry", Count::Optional), SSD_ANNOTATIONS]);
        let nodes = self.children(node, &children);
        for inner in &nodes {
            match inner.tag_name().name() {
                "ConnectionGeometry" => self.geometry(*inner, &["pointsX", "pointsY"], &[]),
                "Annotations" => {
                    self.annotations(*inner);
                }
                _ => {}
            }
        }
        let transformation = self.transformation(&nodes);
        let at = self.at(node);
        Some(Connection { start: start?, end: end?, transformation, suppress_unit_conversion, at })
    }

    fn end(&mut self, node: Node, [element, connector, indices]: [&str; 3]) -> Option<End> {
        if node.attribute(indices).is_some() {
            self.needs(node, Version::Two, indices);
        }
        let whole = "a list of whole numbers";
        let indices = self.read(node, indices, whole, |t| list(t, integer)).unwrap_or_default();
        let connector = self.required(node, connector)?.to_owned();
        let element = node.attribute(element).map(str::to_owned);
        if element.as_deref() == Some("") {
            // some tools write an empty name for the system itself
            self.lapse(
                node,
                Rule::AttributeValue,
                "an element's name is not empty; read as the system itself",
            );
            return Some(End { element: None, connector, indices });
        }
        Some(End { element, connector, indices })
    }
}
