//! Elements and attributes, indented.

use crate::error::{Error, Result};
use crate::parse::Namespace;

/// Writes one document.
pub(super) struct Writer {
    text: String,
    open: Vec<String>,
    /// The start tag of the innermost element is not closed yet.
    pending: bool,
    /// A character that XML cannot hold was met.
    bad: Option<String>,
}

impl Writer {
    pub(super) fn new() -> Self {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>".to_owned();
        Writer { text, open: Vec::new(), pending: false, bad: None }
    }

    /// Opens an element.
    pub(super) fn open(&mut self, namespace: Namespace, name: &str) -> &mut Self {
        self.close_tag();
        let tag = format!("{}:{name}", namespace.prefix());
        self.indent();
        self.text.push('<');
        self.text.push_str(&tag);
        self.open.push(tag);
        self.pending = true;
        self
    }

    /// Declares namespaces at the root.
    pub(super) fn declare(&mut self, namespaces: &[Namespace]) -> &mut Self {
        for namespace in namespaces {
            self.attribute(&format!("xmlns:{}", namespace.prefix()), namespace.uri());
        }
        self
    }

    /// An attribute of the element just opened.
    pub(super) fn attribute(&mut self, name: &str, value: &str) -> &mut Self {
        self.check(value);
        self.text.push_str(&format!(" {name}=\"{}\"", escape_attribute(value)));
        self
    }

    pub(super) fn optional(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.attribute(name, value);
        }
        self
    }

    pub(super) fn number(&mut self, name: &str, value: f64) -> &mut Self {
        self.attribute(name, &double(value))
    }

    /// Content of the element just opened, as it is.
    pub(super) fn raw(&mut self, xml: &str) -> &mut Self {
        self.check(xml);
        if self.pending {
            self.text.push('>');
            self.pending = false;
        }
        self.text.push_str(xml);
        self
    }

    /// Closes the innermost element, on the same line if it has no element inside.
    pub(super) fn close(&mut self) -> &mut Self {
        let tag = self.open.pop().unwrap_or_default();
        if self.pending {
            self.text.push_str("/>");
            self.pending = false;
        } else {
            self.indent();
            self.text.push_str(&format!("</{tag}>"));
        }
        self
    }

    /// Closes an element that holds raw content.
    pub(super) fn close_raw(&mut self) -> &mut Self {
        let tag = self.open.pop().unwrap_or_default();
        self.text.push_str(&format!("</{tag}>"));
        self
    }

    pub(super) fn finish(mut self, name: &str) -> Result<Vec<u8>> {
        if let Some(text) = self.bad {
            let problem = format!("`{}` has a character XML cannot hold", text.escape_debug());
            return Err(Error::NotWritable { name: name.to_owned(), problem });
        }
        self.text.push('\n');
        Ok(self.text.into_bytes())
    }

    fn close_tag(&mut self) {
        if self.pending {
            self.text.push('>');
            self.pending = false;
        }
    }

    fn indent(&mut self) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n("  ", self.open.len()));
    }

    fn check(&mut self, text: &str) {
        let legal = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
        if self.bad.is_none() && !text.chars().all(legal) {
            self.bad = Some(text.chars().take(40).collect());
        }
    }
}

/// A number of XML schema that reads back as the same bits.
pub(super) fn double(value: f64) -> String {
    if value.is_nan() {
        "NaN".into()
    } else if value.is_infinite() {
        if value > 0.0 { "INF".into() } else { "-INF".into() }
    } else {
        format!("{value:?}")
    }
}

fn escape_attribute(text: &str) -> String {
    escape(text, |c| match c {
        '"' => Some("&quot;"),
        '\n' => Some("&#10;"),
        '\t' => Some("&#9;"),
        _ => None,
    })
}

/// Text between tags.
pub(crate) fn escape_text(text: &str) -> String {
    escape(text, |_| None)
}

fn escape(text: &str, more: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#13;"),
            c => match more(c) {
                Some(entity) => out.push_str(entity),
                None => out.push(c),
            },
        }
    }
    out
}
