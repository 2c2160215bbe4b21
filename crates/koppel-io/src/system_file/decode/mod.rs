//! Settings that are serde data (couplings, solvers, signals), read from a node.
//!
//! serde knows the names of fields and variants, the tree knows the places: [`reader`] brings both together, so that a new
//! setting of the library needs no code here. A table whose kind is told by one of its keys (`method`, `kind`) is taken in whole
//! before it is read, and what is refused then has lost its place; [`search`] finds it again by reading less and less of the
//! table.
//!
//! | file        | what                                     |
//! | ----------- | ---------------------------------------- |
//! | `fault.rs`  | what serde refuses, by its parts         |
//! | `reader.rs` | a tree as serde reads it                 |
//! | `search.rs` | the place inside a table taken whole  |

mod fault;
mod reader;
mod search;

#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;

use super::mistake::{Mark, Marks, Span};
use super::tree::{Entry, Node, Value};
pub(super) use fault::Refusal;
use fault::{Expectation, Found};

/// Keys whose value names the thing itself.
const TAGS: [&str; 3] = ["method", "kind", "identify"];

/// Something in a node that does not fit, and where it stands.
pub(super) struct Fault {
    pub(super) refusal: Refusal,
    pub(super) span: Span,
    /// The key that the value stands under, if it is not the whole node.
    key: Option<String>,
    /// True if the value is a date, which serde takes for text.
    is_date: bool,
}

/// Reads `node`; `what` names it in messages.
pub(super) fn decode<T: DeserializeOwned>(node: &Node, what: &str) -> Result<T, Marks> {
    read_all(node, |fault| fault.mark(what))
}

/// Reads `node`. After a mistake the rest is read without it, so that each is found.
pub(super) fn read_all<T: DeserializeOwned>(node: &Node, words: impl Fn(Fault) -> Mark) -> Result<T, Marks> {
    let mut fault = match read(node) {
        Ok(value) => return Ok(value),
        Err(fault) => fault,
    };
    let (mut rest, mut marks) = (node.clone(), Marks::default());
    loop {
        let is_removed = rest.remove(&fault.span);
        marks.add(words(fault));
        fault = match read::<T>(&rest) {
            Err(fault) if is_removed => fault,
            _ => return Err(marks),
        };
        // These may be about what was left out.
        if matches!(fault.refusal, Refusal::MissingKey(_) | Refusal::Words(_)) {
            return Err(marks);
        }
    }
}

/// Reads `node`, or tells by its parts what does not fit.
fn read<T: DeserializeOwned>(node: &Node) -> Result<T, Fault> {
    reader::read::<T>(node).map_err(|refused| {
        let refused = search::culprit::<T>(node, refused);
        let mut refusal = refused.refusal;
        if let Refusal::Wrong { wanted: Expectation::Name(known), .. } = &mut refusal
            && known.is_empty()
        {
            *known = search::names::<T>(node, refused.node);
        }
        Fault {
            refusal,
            span: refused.at_key.unwrap_or(&refused.node.span).clone(),
            key: refused.key.map(ToOwned::to_owned),
            is_date: matches!(refused.node.value, Value::Date(_)),
        }
    })
}

/// Reads a table with a `tag`, or a bare name that stands for `{ tag = name }`.
///
/// # Errors
///
/// If a name or a value does not fit.
pub fn decode_tagged<T: DeserializeOwned>(node: &Node, what: &str, tag: &str) -> Result<T, Marks> {
    let Value::Text(name) = &node.value else {
        node.table(what).map_err(|_| node.wanted(what, &format!("a name or a table with `{tag}`")))?;
        return decode(node, what);
    };
    let entry = Entry { name: tag.to_owned(), key: node.span.clone(), node: node.clone() };
    let table = Node { span: node.span.clone(), value: Value::Table(vec![entry]) };
    read_all(&table, |fault| match &fault.refusal {
        Refusal::MissingKey(field) => {
            Mark::new(node.span.clone(), format!("{what} `{name}` needs `{field}`"))
                .hint(format!("write {what} = {{ {tag} = \"{name}\", {field} = ... }}"))
        }
        _ => fault.mark(what),
    })
}

impl Fault {
    /// In words; `what` is the whole node.
    pub(super) fn mark(self, what: &str) -> Mark {
        let Fault { refusal, span, key, is_date } = self;
        let place = key.as_ref().map_or(what.to_owned(), |key| format!("`{key}`"));
        match refusal {
            Refusal::UnknownKey { name, known } => Mark::unknown_key(span, &name, what, &known),
            Refusal::UnknownName { name, known } => {
                let known: Vec<String> = known.iter().map(ToString::to_string).collect();
                let mark = Mark::unknown(span, what, &name, &known);
                match key.filter(|key| !TAGS.contains(&key.as_str())) {
                    Some(key) => Mark { message: format!("unknown value `{name}` of `{key}`"), ..mark },
                    None => mark,
                }
            }
            Refusal::MissingKey(name) => Mark::new(span, format!("{place} needs `{name}`")),
            Refusal::Wrong { found, wanted } => wrong(span, &place, &found, wanted, is_date),
            Refusal::Words(words) => Mark::new(span, format!("{place}: {words}")),
        }
    }
}

/// Another value than is wanted.
fn wrong(span: Span, place: &str, found: &Found, wanted: Expectation, is_date: bool) -> Mark {
    let wanted = match wanted {
        Expectation::Name(known) if !known.is_empty() => {
            let names: Vec<String> = known.iter().map(|name| format!("\"{name}\"")).collect();
            let (names, found) = (names.join(" or "), kind(found, is_date));
            return Mark::new(span, format!("{place} must be {names}, found {found}"));
        }
        Expectation::Name(_) => "a name in quotes".to_owned(),
        Expectation::Words(words) => words,
    };
    let found = match found {
        Found::Number(number) => {
            let before = format!("{place}: found the number `");
            return Mark::with_number(span, &before, number, &format!("`, expected {wanted}"));
        }
        Found::Text(text) if !is_date => format!("the text {text:?}"),
        Found::Bool(value) => format!("`{value}`"),
        other => kind(other, is_date).to_owned(),
    };
    Mark::new(span, format!("{place}: found {found}, expected {wanted}"))
}

/// What was found, in a word or two.
fn kind(found: &Found, is_date: bool) -> &str {
    match found {
        Found::Number(_) => "a number",
        Found::Text(_) if is_date => "a date",
        Found::Text(_) => "text",
        Found::Bool(_) => "true or false",
        Found::List => "a list",
        Found::Table => "a table",
        Found::Other(words) => words,
    }
}
