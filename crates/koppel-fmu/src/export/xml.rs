//! XML, written element by element.

use std::fmt::{Display, Write};

/// A document under way.
pub(super) struct Xml {
    text: String,
    open: Vec<&'static str>,
}

/// The attributes of an element.
#[derive(Default)]
pub(super) struct Attributes(String);

impl Attributes {
    pub(super) fn new() -> Self {
        Attributes::default()
    }

    pub(super) fn with(mut self, name: &str, value: impl Display) -> Self {
        let _ = write!(self.0, " {name}=\"{}\"", escaped(&value.to_string()));
        self
    }

    pub(super) fn flag(self, name: &str, value: bool) -> Self {
        if value { self.with(name, "true") } else { self }
    }

    pub(super) fn some(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl Xml {
    pub(super) fn new() -> Self {
        Xml { text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".into(), open: Vec::new() }
    }

    pub(super) fn open(&mut self, name: &'static str, attributes: Attributes) {
        self.line(&format!("<{name}{}>", attributes.0));
        self.open.push(name);
    }

    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.line(&format!("</{name}>"));
        }
    }

    pub(super) fn empty(&mut self, name: &str, attributes: Attributes) {
        self.line(&format!("<{name}{}/>", attributes.0));
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}{text}", "  ".repeat(self.open.len()));
    }

    /// The whole document.
    pub(super) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }
}

/// Text that stands for itself in XML and HTML; line breaks become blanks.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A number that XML Schema reads as the same one.
pub(super) fn number(value: f64) -> String {
    format!("{value:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_elements_are_closed() {
        let mut xml = Xml::new();
        xml.open("a", Attributes::new().with("n", "x < \"y\" & z\n"));
        xml.empty("b", Attributes::new().flag("yes", true).flag("no", false));
        let text = xml.finish();
        assert!(
            text.ends_with("<a n=\"x &lt; &quot;y&quot; &amp; z \">\n  <b yes=\"true\"/>\n</a>\n"),
            "{text}"
        );
        assert_eq!(number(1e-7), "1e-7");
    }
}
