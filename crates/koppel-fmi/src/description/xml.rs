//! Elements of descriptions: attributes and children, and what is wrong with them.

use super::problem::{DescriptionError, Place, Problem, Warning};
use crate::xml::{self, Malformed, Refused};
use roxmltree::{Document, Node};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};

/// Deepest nesting of elements that are read.
pub const MAX_XML_DEPTH: usize = 100;
/// Most warnings that are kept.
pub const MAX_WARNINGS: usize = 200;

pub(super) type Result<T> = std::result::Result<T, DescriptionError>;

/// The warnings of one file.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    pub(super) list: RefCell<Vec<Warning>>,
    pub(super) more: Cell<usize>,
}

impl Warnings {
    fn push(&self, warning: impl FnOnce() -> Warning) {
        if self.list.borrow().len() < MAX_WARNINGS {
            let warning = warning();
            self.list.borrow_mut().push(warning);
        } else {
            self.more.set(self.more.get() + 1);
        }
    }
}

/// The text of an XML file.
pub(super) fn decode<'a>(bytes: &'a [u8], file: &str, warnings: &Warnings) -> Result<Cow<'a, str>> {
    let text = xml::Text::new(bytes).map_err(|refused| {
        let problem = match refused {
            Refused::TooLarge => Problem::TooLarge { size: bytes.len(), limit: xml::MAX_XML_SIZE },
            Refused::Encoding(_) => Problem::Encoding,
            Refused::TooManyAttributes => Problem::TooManyAttributes { limit: xml::MAX_XML_ATTRIBUTES },
        };
        DescriptionError { place: place(file, 1, 1), problem }
    })?;
    if text.is_latin1 {
        warnings.push(|| Warning { place: place(file, 1, 1), problem: Problem::Latin1 });
    }
    Ok(text.text)
}

/// Parses the text.
pub(super) fn parse<'a>(text: &'a str, file: &str) -> Result<Document<'a>> {
    xml::parse(text).map_err(|Malformed { reason, line, column, .. }| DescriptionError {
        place: place(file, line, column),
        problem: Problem::Xml { reason },
    })
}

fn place(file: &str, line: u32, column: u32) -> Box<Place> {
    Box::new(Place { file: file.into(), line, column, element: String::new() })
}

/// An element with all that is needed to complain about it.
#[derive(Clone, Copy)]
pub(super) struct Element<'a> {
    node: Node<'a, 'a>,
    file: &'a str,
    warnings: &'a Warnings,
}

impl<'a> Element<'a> {
    /// The root, which must have this name.
    pub(super) fn root(
        document: &'a Document<'a>,
        file: &'a str,
        warnings: &'a Warnings,
        name: &'static str,
    ) -> Result<Element<'a>> {
        let root = Element { node: document.root_element(), file, warnings };
        if root.name() == name { Ok(root) } else { Err(root.error(Problem::Root { expected: name })) }
    }

    pub(super) fn name(&self) -> &'a str {
        self.node.tag_name().name()
    }

    fn place(&self) -> Place {
        let at = self.node.document().text_pos_at(self.node.range().start);
        let element = match self.node.attribute("name") {
            Some(name) => format!("{} name=\"{name}\"", self.name()),
            None => self.name().into(),
        };
        Place { file: self.file.into(), line: at.row, column: at.col, element }
    }

    pub(super) fn error(&self, problem: Problem) -> DescriptionError {
        DescriptionError { place: Box::new(self.place()), problem }
    }

    pub(super) fn warn(&self, problem: Problem) {
        self.warnings.push(|| Warning { place: Box::new(self.place()), problem });
    }

    pub(super) fn children(&self) -> impl Iterator<Item = Element<'a>> + use<'a> {
        let Element { file, warnings, .. } = *self;
        self.node.children().filter(Node::is_element).map(move |node| Element { node, file, warnings })
    }

    /// Children with this name; others draw a warning, except annotations.
    pub(super) fn only(&self, name: &'static str) -> impl Iterator<Item = Element<'a>> + use<'a> {
        self.children().filter(move |child| {
            if child.name() != name && !matches!(child.name(), "Annotations" | "VendorAnnotations") {
                child.warn(Problem::UnknownElement);
            }
            child.name() == name
        })
    }

    /// The one child with this name.
    pub(super) fn child(&self, name: &'static str) -> Result<Option<Element<'a>>> {
        let mut found = self.children().filter(|child| child.name() == name);
        let first = found.next();
        match found.next() {
            Some(second) => Err(second.error(Problem::Duplicate { what: "element", name: name.into() })),
            None => Ok(first),
        }
    }

    pub(super) fn raw(&self, attribute: &str) -> Option<&'a str> {
        self.node.attribute(attribute)
    }

    pub(super) fn text(&self, attribute: &str) -> Option<String> {
        self.raw(attribute).map(str::to_owned)
    }

    pub(super) fn required(&self, attribute: &'static str) -> Result<&'a str> {
        self.raw(attribute).ok_or_else(|| self.error(Problem::MissingAttribute { name: attribute }))
    }

    /// The value of an attribute, if it is there.
    pub(super) fn get<T: XmlValue>(&self, attribute: &'static str) -> Result<Option<T>> {
        self.raw(attribute).map(|value| self.convert(attribute, value)).transpose()
    }

    /// The value of an attribute that must be there.
    pub(super) fn require<T: XmlValue>(&self, attribute: &'static str) -> Result<T> {
        self.convert(attribute, self.required(attribute)?)
    }

    /// A flag, false by default.
    pub(super) fn flag(&self, attribute: &'static str) -> Result<bool> {
        Ok(self.get(attribute)?.unwrap_or(false))
    }

    /// The values of a list attribute, separated by blanks.
    pub(super) fn list<T: XmlValue>(&self, attribute: &'static str) -> Result<Option<Vec<T>>> {
        let convert =
            |text: &'a str| text.split_ascii_whitespace().map(|v| self.convert(attribute, v)).collect();
        self.raw(attribute).map(convert).transpose()
    }

    pub(super) fn convert<T: XmlValue>(&self, attribute: &str, value: &str) -> Result<T> {
        T::from_xml(value.trim()).ok_or_else(|| self.bad(attribute, value, T::EXPECTED))
    }

    pub(super) fn bad(&self, attribute: &str, value: &str, expected: &'static str) -> DescriptionError {
        let value = if value.chars().count() > 60 {
            format!("{}...", value.chars().take(60).collect::<String>())
        } else {
            value.to_owned()
        };
        self.error(Problem::BadValue { attribute: attribute.into(), value, expected })
    }
}

/// A type of attribute values.
pub(super) trait XmlValue: Sized {
    const EXPECTED: &'static str;
    fn from_xml(text: &str) -> Option<Self>;
}

impl XmlValue for f64 {
    const EXPECTED: &'static str = "a number";

    fn from_xml(text: &str) -> Option<f64> {
        // Beyond the standard's: `inf`, `nan`.
        xml::read_number(text).or_else(|| text.parse().ok())
    }
}

impl XmlValue for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_xml(text: &str) -> Option<bool> {
        xml::boolean(&text.to_ascii_lowercase())
    }
}

impl XmlValue for Vec<u8> {
    const EXPECTED: &'static str = "pairs of hexadecimal digits";

    fn from_xml(text: &str) -> Option<Vec<u8>> {
        xml::hexadecimal(text)
    }
}

macro_rules! integers {
    ($($type:ty: $expected:literal;)*) => {$(
        impl XmlValue for $type {
            const EXPECTED: &'static str = $expected;

            fn from_xml(text: &str) -> Option<$type> {
                text.parse().ok()
            }
        }
    )*};
}

integers! {
    i8: "an integer from -128 to 127";
    i32: "a 32-bit integer";
    u32: "a 32-bit integer, not negative";
    i64: "a 64-bit integer";
    u64: "a 64-bit integer, not negative";
    i128: "an integer";
}

/// Makes an enum readable from the standard's words.
macro_rules! words {
    ($type:ty: $expected:literal; $($word:literal => $value:expr,)*) => {
        impl $crate::description::xml::XmlValue for $type {
            const EXPECTED: &'static str = $expected;

            fn from_xml(text: &str) -> Option<$type> {
                match text {
                    $($word => Some($value),)*
                    _ => None,
                }
            }
        }
    };
}
pub(super) use words;
