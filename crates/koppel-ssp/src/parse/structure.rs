//! The root of an SSD, connectors, connections.

use super::common::{
    ANNOTATIONS, DIMENSION, ORIGIN, TRANSFORMATIONS, data_type, dimension, doubles, enumerations, list,
    transformation, type_children, units,
};
use super::document;
use super::reader::{Child, Count, META, Namespace, Reader, SIGNATURE, child, child_of_two, integer};
use super::system::system;
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
    document(bytes, file, report, (NS, "SystemStructureDescription"), structure)
}

pub(super) fn structure(r: &mut Reader, node: Node) -> SystemStructure {
    let version = r.read_version(node);
    let mut allowed = ORIGIN.to_vec();
    allowed.extend(["version", "name"]);
    r.attributes(node, &allowed);
    let name = r.required(node, "name").unwrap_or("").to_owned();
    let mut structure =
        SystemStructure { file: r.file.to_owned(), name, version, ..SystemStructure::default() };
    let children = [
        child(0, NS, "System", Count::Once),
        child(1, NS, "Enumerations", Count::Optional),
        child(2, NS, "Units", Count::Optional),
        child(3, NS, "DefaultExperiment", Count::Optional),
        META,
        SIGNATURE,
        SSD_ANNOTATIONS,
    ];
    for inner in r.children(node, &children) {
        match inner.tag_name().name() {
            "System" => structure.system = system(r, inner, 0),
            "Enumerations" => structure.enumerations = enumerations(r, inner),
            "Units" => structure.units = units(r, inner),
            "DefaultExperiment" => structure.experiment = Some(experiment(r, inner)),
            "Annotations" => structure.annotations = r.annotations(inner),
            _ => {}
        }
    }
    check_ids(r, node);
    structure
}

fn experiment(r: &mut Reader, node: Node) -> DefaultExperiment {
    r.attributes(node, &["startTime", "stopTime"]);
    let start = r.finite(node, "startTime");
    let stop = r.finite(node, "stopTime");
    if let (Some(start), Some(stop)) = (start, stop)
        && stop < start
    {
        let message = format!("the stop time {stop} comes before the start time {start}");
        r.fault(node, Rule::AttributeValue, message);
    }
    let nodes = r.children(node, &[SSD_ANNOTATIONS]);
    let annotations = nodes.into_iter().flat_map(|n| r.annotations(n)).collect();
    DefaultExperiment { start, stop, annotations }
}

/// `id` attributes are unique in the file.
fn check_ids(r: &mut Reader, root: Node) {
    let mut seen = std::collections::HashSet::new();
    for node in root.descendants().filter(|n| n.is_element()) {
        let ours = node.tag_name().namespace().is_some_and(|u| Namespace::ALL.iter().any(|n| n.uri() == u));
        if let Some(id) = node.attribute("id")
            && ours
            && !seen.insert(id)
        {
            r.lapse(node, Rule::UniqueName, format!("id `{id}` is used twice in this file"));
        }
    }
}

pub(super) fn connectors(r: &mut Reader, node: Node) -> Vec<Connector> {
    let nodes = r.list(node, NS, "Connector", Count::Many);
    let connectors: Vec<_> = nodes.into_iter().filter_map(|n| connector(r, n)).collect();
    r.unique("connector", connectors.iter().map(|c| (c.name.as_str(), c.at)));
    connectors
}

pub(super) fn connector(r: &mut Reader, node: Node) -> Option<Connector> {
    r.attributes(node, &["name", "kind"]);
    let name = r.required(node, "name").map(str::to_owned);
    let kind = kind(r, node);
    let mut children = type_children(Namespace::Ssc).to_vec();
    children.extend([
        DIMENSION,
        child_of_two(3, NS, "Clock", Count::Any),
        child(4, NS, "ConnectorGeometry", Count::Optional),
        SSD_ANNOTATIONS,
    ]);
    let mut connector = Connector::new("", Kind::Unspecified, None);
    for inner in r.children(node, &children) {
        let own = inner.tag_name().namespace() == Some(NS.uri());
        match inner.tag_name().name() {
            "Dimension" => connector.dimensions.push(dimension(r, inner)),
            "Clock" if own => {
                r.attributes(inner, &["name"]);
                connector.clocks.extend(r.required(inner, "name").map(str::to_owned));
            }
            "ConnectorGeometry" => geometry(r, inner, &["x", "y"], &["systemInnerX", "systemInnerY"]),
            "Annotations" => {
                r.annotations(inner);
            }
            _ if connector.data.is_some() => {
                r.fault(inner, Rule::ElementCount, "a connector has one type");
            }
            _ => connector.data = data_type(r, inner),
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
    connector.at = r.at(node);
    Some(connector)
}

pub(super) fn kind(r: &mut Reader, node: Node) -> Option<Kind> {
    let text = r.required(node, "kind")?.trim();
    let Some(kind) = Kind::ALL.into_iter().find(|k| k.text() == text) else {
        let message = format!("kind `{text}` is not known{}", suggest(text, Kind::ALL.map(Kind::text)));
        r.fault(node, Rule::AttributeValue, message);
        return None;
    };
    if matches!(kind, Kind::StructuralParameter | Kind::Constant | Kind::Local | Kind::Unspecified) {
        r.needs(node, Version::Two, text);
    }
    Some(kind)
}

/// Geometry is checked and dropped.
pub(super) fn geometry(r: &mut Reader, node: Node, required: &[&str], optional: &[&str]) {
    let mut allowed = required.to_vec();
    allowed.extend(optional);
    allowed.extend(["rotation", "iconSource", "iconRotation", "iconFlip", "iconFixedAspectRatio"]);
    r.attributes(node, &allowed);
    for name in required {
        if node.attribute(*name).is_none() {
            r.lapse(node, Rule::MissingAttribute, format!("attribute `{name}` is missing"));
        }
        if let Some(text) = node.attribute(*name)
            && *name != "text"
            && doubles(text).is_none()
        {
            r.lapse(node, Rule::AttributeValue, format!("attribute `{name}` must be a number"));
        }
    }
}

pub(super) fn connections(r: &mut Reader, node: Node) -> Vec<Connection> {
    let nodes = r.list(node, NS, "Connection", Count::Many);
    nodes.into_iter().filter_map(|n| connection(r, n)).collect()
}

pub(super) fn connection(r: &mut Reader, node: Node) -> Option<Connection> {
    let allowed = [
        "startElement",
        "startConnector",
        "startIndices",
        "endElement",
        "endConnector",
        "endIndices",
        "suppressUnitConversion",
    ];
    r.attributes(node, &allowed);
    let start = end(r, node, ["startElement", "startConnector", "startIndices"]);
    let end = end(r, node, ["endElement", "endConnector", "endIndices"]);
    let suppress_unit_conversion = r.boolean(node, "suppressUnitConversion").unwrap_or(false);
    let mut children = TRANSFORMATIONS.to_vec();
    children.extend([child(2, NS, "ConnectionGeometry", Count::Optional), SSD_ANNOTATIONS]);
    let nodes = r.children(node, &children);
    for inner in &nodes {
        match inner.tag_name().name() {
            "ConnectionGeometry" => geometry(r, *inner, &["pointsX", "pointsY"], &[]),
            "Annotations" => {
                r.annotations(*inner);
            }
            _ => {}
        }
    }
    let transformation = transformation(r, &nodes);
    let at = r.at(node);
    Some(Connection { start: start?, end: end?, transformation, suppress_unit_conversion, at })
}

fn end(r: &mut Reader, node: Node, [element, connector, indices]: [&str; 3]) -> Option<End> {
    if node.attribute(indices).is_some() {
        r.needs(node, Version::Two, indices);
    }
    let whole = "a list of whole numbers";
    let indices = r.read(node, indices, whole, |t| list(t, integer)).unwrap_or_default();
    let connector = r.required(node, connector)?.to_owned();
    let element = node.attribute(element).map(str::to_owned);
    if element.as_deref() == Some("") {
        // some tools write an empty name for the system itself
        r.lapse(node, Rule::AttributeValue, "an element's name is not empty; read as the system itself");
        return Some(End { element: None, connector, indices });
    }
    Some(End { element, connector, indices })
}
