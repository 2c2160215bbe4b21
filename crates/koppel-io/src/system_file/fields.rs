//! Tables with known keys.

use super::mistake::{Mark, Marks, Span};
use super::tree::{Entry, Node};

/// A table with known keys. Mistakes are kept until [`Fields::or`] tells them all.
pub struct Fields<'a> {
    what: String,
    span: Span,
    entries: &'a [Entry],
    marks: Marks,
    has_unknown: bool,
}

impl Node {
    /// The table called `what`. Every key that is not `known` is a mistake of its own; the others can be read all the same.
    ///
    /// # Errors
    ///
    /// If it is no table.
    pub fn fields(&self, what: &str, known: &[&str]) -> Result<Fields<'_>, Mark> {
        let entries = self.table(what)?;
        let unknown = entries.iter().filter(|entry| !known.contains(&entry.name.as_str()));
        let marks: Marks =
            unknown.map(|entry| Mark::unknown_key(entry.key.clone(), &entry.name, what, known)).collect();
        let (what, span, has_unknown) = (what.to_owned(), self.span.clone(), !marks.is_empty());
        Ok(Fields { what, span, entries, marks, has_unknown })
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
    /// If it is not, or others stand there that nobody knows: one of them may be it, misspelt.
    pub fn need(&self, key: &str) -> Result<&'a Node, Marks> {
        self.get(key).ok_or_else(|| match self.has_unknown {
            true => Marks::default(),
            false => Mark::new(self.span.clone(), format!("{} needs `{key}`", self.what)).into(),
        })
    }

    /// What `read` makes of a key, if it is there.
    pub fn read<T, M: Into<Marks>>(
        &mut self,
        key: &str,
        read: impl FnOnce(&'a Node) -> Result<T, M>,
    ) -> Option<T> {
        let node = self.get(key)?;
        self.marks.note(read(node))
    }

    /// What `read` makes of a key that must be there; its default after a mistake, which [`Fields::or`] tells.
    pub fn want<T: Default, M: Into<Marks>>(
        &mut self,
        key: &str,
        read: impl FnOnce(&'a Node) -> Result<T, M>,
    ) -> T {
        let node = self.need(key);
        self.note(node).and_then(|node| self.note(read(node))).unwrap_or_default()
    }

    /// The text of a key that must be there.
    pub fn text(&mut self, key: &str) -> String {
        self.want(key, |node| node.text(key).map(str::to_owned))
    }

    /// The number of a key, or the default.
    pub fn number(&mut self, key: &str, default: f64) -> f64 {
        self.read(key, |node| node.number(key)).unwrap_or(default)
    }

    /// The same table, if it has no mistakes so far.
    ///
    /// # Errors
    ///
    /// All mistakes.
    pub fn checked(mut self) -> Result<Self, Marks> {
        std::mem::take(&mut self.marks).or(self)
    }

    /// Keeps mistakes with the others.
    pub fn note<T>(&mut self, result: Result<T, impl Into<Marks>>) -> Option<T> {
        self.marks.note(result)
    }

    /// True if there were mistakes so far.
    #[must_use]
    pub fn has_mistakes(&self) -> bool {
        !self.marks.is_empty()
    }

    /// The value, if there are no mistakes.
    ///
    /// # Errors
    ///
    /// All mistakes.
    pub fn or<T>(self, value: T) -> Result<T, Marks> {
        self.marks.or(value)
    }
}
