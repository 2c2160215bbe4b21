//! TOML as a tree that knows where everything stands.

use koppel::linalg::Matrix;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::{Mark, Span};

type Result<T> = std::result::Result<T, Mark>;

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its place.
    pub span: Span,
    /// What it is.
    pub value: Value,
}

/// A value of TOML.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of TOML")]
pub enum Value {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Date(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key, its place, and what it stands for.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub name: String,
    /// Its place.
    pub key: Span,
    /// What it stands for.
    pub node: Node,
}

/// Reads a whole document. Numbers that are not finite are refused here, once for all.
pub(super) fn parse(text: &str) -> Result<Node> {
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..text.len());
        let mark =
            Mark::new(on_characters(text, span.clone()), format!("not valid TOML: {}", error.message()));
        match text.get(span) {
            Some(key @ ("connections" | "inputs" | "at")) => {
                mark.hint(format!("write [[{key}]], once for each"))
            }
            Some("subsystems") => mark.hint("write [subsystems.NAME], once for each"),
            _ => mark,
        }
    })?;
    let mut root = table_node(table.get_ref(), 0..text.len())?;
    root.span = 0..0;
    Ok(root)
}

fn node(value: &Spanned<DeValue<'_>>) -> Result<Node> {
    let span = value.span();
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Integer(digits) => {
            let number = i64::from_str_radix(digits.as_str(), digits.radix());
            Value::Integer(number.map_err(|_| Mark::new(span.clone(), "this integer is too large"))?)
        }
        DeValue::Float(digits) => Value::Float(finite(digits.as_str(), &span)?),
        DeValue::Array(list) => Value::List(list.iter().map(node).collect::<Result<_>>()?),
        DeValue::Table(table) => return table_node(table, span),
    };
    Ok(Node { span, value })
}

fn finite(digits: &str, span: &Span) -> Result<f64> {
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(number) => Err(Mark::new(span.clone(), format!("this number is not finite ({number})"))
            .hint("every number in a system file must be finite")),
        Err(_) => Err(Mark::new(span.clone(), "this is not a number")),
    }
}

/// Entries in the order in which they are written.
fn table_node(table: &DeTable<'_>, span: Span) -> Result<Node> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        entries.push(Entry { name: key.get_ref().to_string(), key: key.span(), node: node(value)? });
    }
    koppel::sort::sort_by_key(&mut entries, |entry| entry.key.start);
    Ok(Node { span, value: Value::Table(entries) })
}

/// Widens a span so that it cuts no character.
pub(super) fn on_characters(text: &str, span: Span) -> Span {
    let end = span.end.min(text.len());
    let start = span.start.min(end);
    let start = (0..=start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    start..end
}

impl Node {
    /// What it is, in words.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Bool(_) => "true or false",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "text",
            Value::Date(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// Refuses it, naming what was wanted.
    pub fn wanted(&self, what: &str, wanted: &str) -> Mark {
        Mark::new(self.span.clone(), format!("`{what}` must be {wanted}, found {}", self.kind()))
    }

    /// A number, whole or not; `what` is named where it is none.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn number(&self, what: &str) -> Result<f64> {
        match self.value {
            Value::Integer(number) => Ok(number as f64),
            Value::Float(number) => Ok(number),
            _ => Err(self.wanted(what, "a number")),
        }
    }

    /// Text.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn text(&self, what: &str) -> Result<&str> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wanted(what, "text in quotes")),
        }
    }

    /// True or false.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn flag(&self, what: &str) -> Result<bool> {
        match self.value {
            Value::Bool(value) => Ok(value),
            _ => Err(self.wanted(what, "true or false")),
        }
    }

    /// The members of a list.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn list(&self, what: &str) -> Result<&[Node]> {
        match &self.value {
            Value::List(list) => Ok(list),
            _ => Err(self.wanted(what, "a list")),
        }
    }

    /// The entries of a table.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn table(&self, what: &str) -> Result<&[Entry]> {
        match &self.value {
            Value::Table(entries) => Ok(entries),
            _ => Err(self.wanted(what, "a table")),
        }
    }

    /// The entries of a table; none for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The members of a list; none for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(list) => list,
            _ => &[],
        }
    }

    /// The entry of a table.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.name == key).map(|entry| &entry.node)
    }

    /// True if the node or one inside it, or a key, stands at this place.
    fn holds(&self, span: &Span) -> bool {
        self.span == *span
            || self.items().iter().any(|node| node.holds(span))
            || self.entries().iter().any(|entry| entry.key == *span || entry.node.holds(span))
    }

    /// Removes the innermost entry that stands at this place or holds it; false if there is none.
    pub(super) fn remove(&mut self, span: &Span) -> bool {
        match &mut self.value {
            Value::List(list) => list.iter_mut().any(|node| node.remove(span)),
            Value::Table(entries) => {
                let found = entries.iter().position(|entry| entry.key == *span || entry.node.holds(span));
                let Some(at) = found else { return false };
                if !entries[at].node.remove(span) {
                    entries.remove(at);
                }
                true
            }
            _ => false,
        }
    }

    /// A list of numbers.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn numbers(&self, what: &str) -> Result<Vec<f64>> {
        self.list(what)?.iter().map(|node| node.number(what)).collect()
    }

    /// A list of rows of equal length.
    pub(super) fn matrix(&self, what: &str) -> Result<Matrix> {
        let shape = "a matrix: a list of rows, such as [[1, 0], [0, 1]]";
        let Value::List(nodes) = &self.value else { return Err(self.wanted(what, shape)) };
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let Value::List(_) = node.value else { return Err(self.wanted(what, shape)) };
            let row = node.numbers(what)?;
            let expected = rows.first().map_or(row.len(), Vec::len);
            if row.len() != expected {
                let message = format!(
                    "row {} of matrix {what} has {} entries, the first row has {expected}",
                    index + 1,
                    row.len()
                );
                return Err(Mark::new(node.span.clone(), message));
            }
            rows.push(row);
        }
        let columns = rows.first().map_or(0, Vec::len);
        Ok(Matrix::from_fn(rows.len(), columns, |i, j| rows[i][j]))
    }

    /// The same without places.
    #[must_use]
    pub fn plain(&self) -> toml::Value {
        match &self.value {
            Value::Bool(value) => toml::Value::Boolean(*value),
            Value::Integer(number) => toml::Value::Integer(*number),
            Value::Float(number) => toml::Value::Float(*number),
            Value::Text(text) | Value::Date(text) => toml::Value::String(text.clone()),
            Value::List(list) => toml::Value::Array(list.iter().map(Node::plain).collect()),
            Value::Table(entries) => {
                toml::Value::Table(entries.iter().map(|e| (e.name.clone(), e.node.plain())).collect())
            }
        }
    }

    /// Moves all places by `offset`.
    pub(super) fn shift(&mut self, offset: isize) {
        let moved =
            |span: &Span| span.start.saturating_add_signed(offset)..span.end.saturating_add_signed(offset);
        self.span = moved(&self.span);
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|node| node.shift(offset)),
            Value::Table(entries) => entries.iter_mut().for_each(|entry| {
                entry.key = moved(&entry.key);
                entry.node.shift(offset);
            }),
            _ => {}
        }
    }

    /// A name of a coupling or a solver becomes `{ method = name }`.
    pub(super) fn spell_out(&mut self) {
        if let Value::Text(_) = self.value {
            let method = Entry { name: "method".into(), key: self.span.clone(), node: self.clone() };
            self.value = Value::Table(vec![method]);
        }
    }

    /// Puts `node`, whose last key stands at `key`, at a path of keys, replacing what is there; members of lists are
    /// numbered from 0, tables on the way are made, names on the way spelt out.
    pub(super) fn put(&mut self, path: &[&str], key: &Span, node: Node) {
        let Some((first, rest)) = path.split_first() else {
            *self = node;
            return;
        };
        if let Value::List(list) = &mut self.value
            && let Some(member) = first.parse::<usize>().ok().and_then(|index| list.get_mut(index))
        {
            return member.put(rest, key, node);
        }
        self.spell_out();
        if !matches!(self.value, Value::Table(_)) {
            self.value = Value::Table(Vec::new());
        }
        let Value::Table(entries) = &mut self.value else { return };
        let at = entries.iter().position(|entry| entry.name == *first).unwrap_or_else(|| {
            let empty = Node { span: node.span.clone(), value: Value::Table(Vec::new()) };
            entries.push(Entry { name: (*first).to_owned(), key: key.clone(), node: empty });
            entries.len() - 1
        });
        if rest.is_empty() {
            entries[at].key = key.clone();
        }
        entries[at].node.put(rest, key, node);
    }
}
