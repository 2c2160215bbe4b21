//! Writing XML: elements and attributes, indented.

use std::fmt::{Display, Write};

/// Writes one document.
pub struct Writer {
    text: String,
    open: Vec<String>,
    /// The start tag of the innermost element is not closed yet.
    pending: bool,
    /// A text with a character that XML cannot hold was met.
    illegal: Option<String>,
}

impl Default for Writer {
    fn default() -> Writer {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>".to_owned();
        Writer { text, open: Vec::new(), pending: false, illegal: None }
    }
}

impl Writer {
    /// Opens an element.
    pub fn open(&mut self, tag: impl Into<String>) -> &mut Self {
        self.end_tag();
        self.indent();
        let tag = tag.into();
        let _ = write!(self.text, "<{tag}");
        self.open.push(tag);
        self.pending = true;
        self
    }

    /// An attribute of the element just opened.
    pub fn attribute(&mut self, name: &str, value: impl Display) -> &mut Self {
        let value = value.to_string();
        self.check(&value);
        let _ = write!(self.text, " {name}=\"{}\"", escape_attribute(&value));
        self
    }

    /// An attribute that may be left out.
    pub fn optional(&mut self, name: &str, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.attribute(name, value),
            None => self,
        }
    }

    /// An attribute that is false where it is left out.
    pub fn flag(&mut self, name: &str, value: bool) -> &mut Self {
        self.optional(name, value.then_some("true"))
    }

    /// Content of the element just opened, as it is.
    pub fn raw(&mut self, xml: &str) -> &mut Self {
        self.check(xml);
        self.end_tag();
        self.text.push_str(xml);
        self
    }

    /// Closes the innermost element, on the same line if it has no element inside.
    pub fn close(&mut self) -> &mut Self {
        if !self.pending {
            self.indent_to(self.open.len().saturating_sub(1));
            return self.close_raw();
        }
        self.open.pop();
        self.pending = false;
        self.text.push_str("/>");
        self
    }

    /// Closes an element that holds raw content.
    pub fn close_raw(&mut self) -> &mut Self {
        let tag = self.open.pop().unwrap_or_default();
        let _ = write!(self.text, "</{tag}>");
        self
    }

    /// The whole document.
    ///
    /// # Errors
    ///
    /// The first text that has a character which XML cannot hold.
    pub fn finish(mut self) -> Result<String, String> {
        while !self.open.is_empty() {
            self.close();
        }
        self.text.push('\n');
        self.illegal.map_or(Ok(self.text), Err)
    }

    fn end_tag(&mut self) {
        if std::mem::take(&mut self.pending) {
            self.text.push('>');
        }
    }

    fn indent(&mut self) {
        self.indent_to(self.open.len());
    }

    fn indent_to(&mut self, depth: usize) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n("  ", depth));
    }

    fn check(&mut self, text: &str) {
        let legal = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
        if self.illegal.is_none() && !text.chars().all(legal) {
            self.illegal = Some(text.chars().take(40).collect());
        }
    }
}

fn escape_attribute(text: &str) -> String {
    escape_text(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}

/// Text between tags.
pub fn escape_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\r', "&#13;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_elements_are_closed() {
        let mut writer = Writer::default();
        writer.open("a").attribute("n", "x < \"y\" & z\n");
        writer.open("b").flag("yes", true).flag("no", false).close();
        writer.open("c").raw("<d/>").close_raw();
        let expected =
            "\n<a n=\"x &lt; &quot;y&quot; &amp; z&#10;\">\n  <b yes=\"true\"/>\n  <c><d/></c>\n</a>\n";
        let text = writer.finish().unwrap();
        assert!(text.ends_with(expected), "{text}");
        let mut writer = Writer::default();
        writer.open("a").attribute("n", '\0');
        assert_eq!(writer.finish(), Err("\0".into()));
    }
}
