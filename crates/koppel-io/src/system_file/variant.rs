//! The same system with other settings, again and again: places are found once, no file is read twice.

use super::{Document, Mark, SystemSpec, models, overrides};
use crate::Result;

/// Where a setting stands in the tree of a system file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    name: String,
    keys: Vec<String>,
}

impl Place {
    /// The setting as the user names it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True for what is about the run and its coupling, not about the system: all of `run` but `start` and `stop`.
    #[must_use]
    pub fn is_about_coupling(&self) -> bool {
        let is_time = ["start", "stop"].contains(&self.keys.get(1).map_or("", String::as_str));
        let is_own_coupling =
            self.keys[0] == "connections" && self.keys.get(2).is_some_and(|k| k == "coupling");
        (self.keys[0] == "run" && !is_time) || is_own_coupling
    }

    /// True if it is this setting of `[run]`.
    #[must_use]
    pub fn is_of_run(&self, key: &str) -> bool {
        self.keys == ["run", key]
    }
}

impl SystemSpec {
    /// Finds a setting: `left.m`, `run.step`, `run.coupling.model.forgetting`, `connections.left.F.gain`,
    /// `inputs.left.F.signal.amplitude`.
    ///
    /// # Errors
    ///
    /// If there is no such setting; keys below `run` are judged when a value is put there.
    pub fn place(&self, name: &str, origin: &str) -> Result<Place> {
        Ok(Place { name: name.to_owned(), keys: overrides::find(&self.document, name, origin)? })
    }

    /// The same system with these values, as TOML, at these places; whether they fit together is found when it is built.
    ///
    /// # Errors
    ///
    /// If a value does not fit its place.
    pub fn with(&self, values: &[(&Place, &str)], origin: &str) -> Result<SystemSpec> {
        let mut document = self.document.clone();
        for (place, value) in values {
            overrides::put(&mut document, &place.name, &place.keys, value, origin)
                .map_err(|marks| document.mistake(marks))?;
        }
        models::include(&mut document)?;
        let has_new_inputs = values.iter().any(|(place, _)| place.keys[0] == "inputs");
        let inputs = (!has_new_inputs).then_some(self.inputs.as_slice());
        Self::settings(&document, inputs).map_err(|marks| document.mistake(marks))
    }
}

/// The system that stands in a table of another document, such as a study.
///
/// # Errors
///
/// If there is no such table or it holds a mistake.
pub fn parse_part(document: &Document, key: &str) -> Result<SystemSpec> {
    let mut own = document.clone();
    own.root = match document.root.get(key) {
        Some(node) => node.clone(),
        None => return Err(document.mistake(Mark::new(0..0, format!("there is no table `{key}`")))),
    };
    SystemSpec::read(own)
}
