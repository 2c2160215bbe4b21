//! koppel's own settings in a structure: an annotation of type `org.koppel.run` at the root, holding a TOML text.

use crate::model::{Annotation, SystemStructure};

/// Type of the annotation.
pub const ANNOTATION: &str = "org.koppel.run";
/// Namespace of the element inside it.
pub const NAMESPACE: &str = "urn:org.koppel:run:1";

/// The TOML text, if there is one.
pub(crate) fn find(structure: &SystemStructure) -> Option<String> {
    structure.annotations.iter().find(|a| a.kind == ANNOTATION).map(|a| a.text.clone())
}

/// The annotation that carries a TOML text.
pub(crate) fn annotation(toml: &str) -> Annotation {
    let xml = format!(
        "<koppel:Settings xmlns:koppel=\"{NAMESPACE}\" format=\"toml\">{}</koppel:Settings>",
        koppel_fmi::xml::escape_text(toml)
    );
    Annotation { kind: ANNOTATION.into(), xml, text: toml.into(), namespaces: Vec::new() }
}
