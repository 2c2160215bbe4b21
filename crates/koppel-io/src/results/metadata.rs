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
    /// What its cells hold. Columns of numbers come first.
    #[serde(default, skip_serializing_if = "Kind::is_number")]
    pub kind: Kind,
}

/// What the cells of a column hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Numbers.
    #[default]
    Number,
    /// Texts.
    Text,
    /// Bytes; Base64 in CSV.
    Bytes,
}

impl Kind {
    /// True for numbers.
    #[must_use]
    pub fn is_number(&self) -> bool {
        *self == Kind::Number
    }
}

impl Metadata {
    /// How many columns hold numbers, without the time.
    pub(super) fn numbers(&self) -> usize {
        self.columns.iter().filter(|column| column.kind.is_number()).count()
    }

    /// What the columns of texts and bytes hold.
    pub(super) fn message_kinds(&self) -> Vec<Kind> {
        self.columns.iter().map(|column| column.kind).filter(|kind| !kind.is_number()).collect()
    }

    /// Names of all columns of the file, `time` first.
    pub(super) fn names(&self) -> Vec<String> {
        std::iter::once(TIME.to_string())
            .chain(self.columns.iter().map(|column| column.name.clone()))
            .collect()
    }

    /// Fails if two columns of `path` would have the same name.
    pub(super) fn check_names(&self, path: &Path) -> Result<()> {
        assert!(
            self.columns.is_sorted_by_key(|column| !column.kind.is_number()),
            "columns of numbers come first"
        );
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
