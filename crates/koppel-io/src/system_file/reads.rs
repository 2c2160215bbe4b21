//! Files that a system reads.

use std::path::PathBuf;

use super::tree::Node;
use super::{SubsystemSpec, SystemSpec};

impl SystemSpec {
    /// Files that the system reads: tables, models, FMUs and the packages they lie in.
    #[must_use]
    pub fn reads(&self) -> Vec<PathBuf> {
        let mut all = self.tables();
        all.extend(self.document.files.iter().cloned());
        all.extend(self.fmus().into_iter().map(|(_, path)| koppel_fmi::archive::split(&path).0));
        all
    }

    fn tables(&self) -> Vec<PathBuf> {
        let inputs = self.document.root.get("inputs").map_or(&[][..], Node::items);
        let signals = inputs.iter().filter_map(|input| input.get("signal"));
        let files = signals.flat_map(|signal| match signal.items() {
            [] => std::slice::from_ref(signal),
            list => list,
        });
        let names = files.filter_map(|signal| signal.get("file")?.text("file").ok());
        names.map(|name| self.document.folder.join(name)).collect()
    }

    /// FMUs that the system file names, with the subsystems they are.
    #[must_use]
    pub fn fmus(&self) -> Vec<(String, PathBuf)> {
        let path = |one: &SubsystemSpec| Some((one.name.clone(), one.fmu.as_ref()?.path.clone()));
        self.subsystems.iter().filter_map(path).collect()
    }
}
