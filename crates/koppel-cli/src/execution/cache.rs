//! What is known of FMUs from earlier runs.

use std::sync::Arc;

use koppel_session::Session;
use koppel_session::probe_cache::ProbeCache;

use crate::arguments::CacheArguments;

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
    pub(crate) fn serve(&self, session: &mut Session) {
        if let Some(cache) = &self.0 {
            session.fmus.cache = Some(cache.clone());
        }
    }

    /// The cache itself.
    pub(crate) fn get(&self) -> Option<&ProbeCache> {
        self.0.as_deref()
    }
}
