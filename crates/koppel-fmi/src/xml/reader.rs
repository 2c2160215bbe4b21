//! Reading XML: from bytes to a tree, within limits.
//!
//! `roxmltree` parses without recursion and refuses document types, so neither nesting nor entities can exhaust memory.
//! What remains is bounded here: the size of the file, the number of nodes, and the attributes per element, which the
//! parser compares pairwise. Readers that recurse bound the depth themselves.

use roxmltree::{Document, Error, ParsingOptions};
use std::borrow::Cow;

/// Largest XML file in bytes: 128 MiB.
pub const MAX_XML_SIZE: usize = 128 << 20;
/// Most XML nodes in a file.
pub const MAX_XML_NODES: u32 = 8_000_000;
/// Most attributes of an element.
pub const MAX_XML_ATTRIBUTES: usize = 500;

/// Why bytes are not read as XML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// More bytes than [`MAX_XML_SIZE`].
    TooLarge,
    /// The text is not UTF-8 from this byte on.
    Encoding(usize),
    /// An element has more than [`MAX_XML_ATTRIBUTES`].
    TooManyAttributes,
}

/// The text of an XML file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// Without a byte order mark.
    pub text: Cow<'a, str>,
    /// True if the file is not UTF-8 but declares Latin-1, and was read so.
    pub is_latin1: bool,
}

impl<'a> Text<'a> {
    /// The text of these bytes.
    ///
    /// # Errors
    ///
    /// The limit or the encoding that is not kept.
    pub fn new(bytes: &'a [u8]) -> Result<Text<'a>, Refused> {
        if bytes.len() > MAX_XML_SIZE {
            return Err(Refused::TooLarge);
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let (text, is_latin1) = match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), false),
            Err(_) if declares_latin1(bytes) => {
                (Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()), true)
            }
            Err(error) => return Err(Refused::Encoding(error.valid_up_to())),
        };
        if has_too_many_attributes(text.as_bytes()) {
            return Err(Refused::TooManyAttributes);
        }
        Ok(Text { text, is_latin1 })
    }
}

fn declares_latin1(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).to_lowercase();
    let declaration = head.split("?>").next().unwrap_or_default();
    ["iso-8859-1", "latin1", "latin-1", "windows-1252"].iter().any(|name| declaration.contains(name))
}

/// Counts what looks like an attribute from one `<` to the next: a cheap bound before the real parser sees the text.
fn has_too_many_attributes(text: &[u8]) -> bool {
    let mut count = 0;
    for pair in text.windows(2) {
        match pair {
            [b'<', _] => count = 0,
            [b'=', b'"' | b'\''] | [b'=', b' ' | b'\t' | b'\r' | b'\n'] => count += 1,
            _ => {}
        }
        if count > MAX_XML_ATTRIBUTES {
            return true;
        }
    }
    false
}

/// Text that is not well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What the parser says.
    pub reason: String,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// A prefix that is used without declaration.
    pub undeclared: Option<String>,
}

/// Parses the text.
///
/// # Errors
///
/// The first place at which it is not well-formed.
pub fn parse(text: &str) -> Result<Document<'_>, Malformed> {
    let options = ParsingOptions { nodes_limit: MAX_XML_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| {
        let at = error.pos();
        let reason = error.to_string();
        // What is missing at the end has no place of its own.
        let (line, column) = if reason.contains(&at.to_string()) { (at.row, at.col) } else { end_of(text) };
        let undeclared = match error {
            Error::UnknownNamespace(prefix, _) => Some(prefix),
            _ => None,
        };
        Malformed { reason, line, column, undeclared }
    })
}

/// Line and column after the last character that is no blank.
fn end_of(text: &str) -> (u32, u32) {
    let text = text.trim_end();
    let last = text.rsplit('\n').next().unwrap_or_default();
    (text.matches('\n').count() as u32 + 1, last.chars().count() as u32 + 1)
}
