//! Tables with known keys.

use super::mistake::{Mark, Marks, Span};
use super::tree::{Entry, Node};

type Result<T> = std::result::Result<T, Mark>;

/// A table all of whose keys are known.
pub struct Fields<'a> {
    what: String,
    span: Span,
    entries: &'a [Entry],
}

impl Node {
    /// The table called `what`, if it has no other keys than `known`.
    ///
    /// # Errors
    ///
    /// If it has, or is no table.
    pub fn fields(&self, what: &str, known: &[&str]) -> Result<Fields<'_>> {
        let entries = self.table(what)?;
        match entries.iter().find(|entry| !known.contains(&entry.name.as_str())) {
            None => Ok(Fields { what: what.to_owned(), span: self.span.clone(), entries }),
            Some(entry) => Err(Mark::unknown_key(entry.key.clone(), &entry.name, what, known)),
        }
    }
}

impl Node {
    /// The same, where every unknown key is a mistake of its own and the others can be read all the same.
    ///
    /// # Errors
    ///
    /// If it is no table.
    pub fn fields_with(&self, what: &str, known: &[&str], marks: &mut Marks) -> Result<Fields<'_>> {
        let entries = self.table(what)?;
        for entry in entries.iter().filter(|entry| !known.contains(&entry.name.as_str())) {
            marks.add(Mark::unknown_key(entry.key.clone(), &entry.name, what, known));
        }
        Ok(Fields { what: what.to_owned(), span: self.span.clone(), entries })
    }
}

impl<'a> Fields<'a> {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|entry| entry.name == key).map(|entry| &entry.node)
    }

    /// The value of a key that must be there.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub fn need(&self, key: &str) -> Result<&'a Node> {
        self.get(key).ok_or_else(|| Mark::new(self.span.clone(), format!("{} needs `{key}`", self.what)))
    }

    /// The number of a key, or the default.
    ///
    /// # Errors
    ///
    /// If it is no number.
    pub fn number(&self, key: &str, default: f64) -> Result<f64> {
        self.get(key).map_or(Ok(default), |node| node.number(key))
    }
}
