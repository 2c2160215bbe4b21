//! Files that a system reads.

use std::path::PathBuf;

use super::tree::Node;
use super::{Document, SystemSpec};

/// Files that a system reads: tables, models, FMUs and the packages they lie in.
#[must_use]
pub fn files_read(spec: &SystemSpec) -> Vec<PathBuf> {
    let mut all = tables(&spec.document);
    all.extend(spec.document.files.iter().cloned());
    all.extend(spec.fmus().into_iter().map(|(_, path)| koppel_fmi::archive::split(&path).0));
    all
}

fn tables(document: &Document) -> Vec<PathBuf> {
    let inputs = document.root.get("inputs").map_or(&[][..], Node::items);
    let signals = inputs.iter().filter_map(|input| input.get("signal"));
    let files = signals.flat_map(|signal| match signal.items() {
        [] => std::slice::from_ref(signal),
        list => list,
    });
    let names = files.filter_map(|signal| signal.get("file")?.text("file").ok());
    names.map(|name| document.folder.join(name)).collect()
}
