//! From XML to the model, with all rules that one file alone can break.

mod common;
mod parameters;
mod reader;
mod structure;
mod system;
mod text;

pub(crate) use parameters::{parse_dictionary, parse_mapping, parse_parameters};
pub(crate) use reader::Namespace;
pub(crate) use structure::parse_structure;

use crate::finding::{Report, Rule};
use crate::model::Version;
use reader::Reader;
use roxmltree::Node;
use text::Source;

/// Parses a file whose root must be `name`, then reads it.
fn document<T>(
    bytes: &[u8],
    file: &str,
    report: &mut Report,
    root: (Namespace, &str),
    read: impl FnOnce(&mut Reader, Node) -> T,
) -> Option<T> {
    if let (Ok(text), false) = (std::str::from_utf8(bytes), report.documents.contains_key(file)) {
        report.documents.insert(file.to_owned(), text.trim_start_matches('\u{feff}').to_owned());
    }
    let source = Source::new(bytes, file, report)?;
    let tree = source.tree()?;
    let node = tree.root_element();
    let mut reader = Reader { file, source: &source, report, version: Version::One };
    let (namespace, name) = root;
    if node.tag_name().name() != name {
        let message = format!("the root must be `{name}`, found `{}`", node.tag_name().name());
        reader.fault(node, Rule::Root, message);
        return None;
    }
    if node.tag_name().namespace() != Some(namespace.uri()) {
        let found = node.tag_name().namespace().unwrap_or("none");
        let message = format!("the root's namespace must be `{}`, found `{found}`", namespace.uri());
        reader.lapse(node, Rule::Root, message);
    }
    Some(read(&mut reader, node))
}
