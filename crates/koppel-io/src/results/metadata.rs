//! What a result file says about itself.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Name of the first column.
pub(super) const TIME: &str = "time";

/// What a result file says about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Version of koppel that made the file.
    pub koppel_version: String,
    /// When the run was started, RFC 3339 in UTC.
    pub created: String,
    /// Name of the simulated system.
    pub system: String,
    /// The complete settings of the run.
    pub settings: serde_json::Value,
    /// The recorded signals, without the time.
    pub columns: Vec<Column>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// One recorded signal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name, usually `subsystem.signal`.
    pub name: String,
    /// Unit, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What the signal is, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Metadata {
    /// Names of all columns of the file, `time` first.
    pub(super) fn names(&self) -> Vec<String> {
        std::iter::once(TIME.to_string())
            .chain(self.columns.iter().map(|column| column.name.clone()))
            .collect()
    }

    /// Fails if two columns of `path` would have the same name.
    pub(super) fn check_names(&self, path: &Path) -> Result<()> {
        let mut seen = HashSet::from([TIME]);
        for column in &self.columns {
            if !seen.insert(&column.name) {
                return Err(Box::new(Error::DuplicateColumn {
                    path: path.to_path_buf(),
                    name: column.name.clone(),
                }));
            }
        }
        Ok(())
    }
}
