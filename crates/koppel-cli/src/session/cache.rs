//! What is known of FMUs from earlier runs.

use std::sync::Arc;

use koppel_io::probe_cache::ProbeCache;
use koppel_io::system_file::SystemFile;

use crate::arguments::CacheArguments;
use crate::failure::note;

/// The cache of this call, if there is one.
#[derive(Clone, Default)]
pub(crate) struct Cache(Option<Arc<ProbeCache>>);

impl Cache {
    /// As the command line says.
    pub(crate) fn new(arguments: &CacheArguments) -> Self {
        let folder = match arguments {
            CacheArguments { no_cache: true, .. } => None,
            CacheArguments { cache: Some(folder), .. } => Some(folder.clone()),
            CacheArguments { cache: None, .. } => ProbeCache::usual_folder(),
        };
        Cache(folder.map(|folder| Arc::new(ProbeCache::new(&folder))))
    }

    /// From now on the file's runs use it.
    pub(crate) fn serve(&self, file: &mut SystemFile) {
        if let Some(cache) = &self.0 {
            file.keep_probes(cache.clone());
        }
    }

    /// Says what went wrong with it.
    pub(crate) fn tell(&self) {
        if let Some(cache) = &self.0 {
            cache.warnings().iter().for_each(|text| note("warning", text));
        }
    }

    /// The cache itself.
    pub(crate) fn get(&self) -> Option<&ProbeCache> {
        self.0.as_deref()
    }
}
