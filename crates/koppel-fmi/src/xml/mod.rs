//! XML of FMUs and system structures: reading within limits, writing, and values as XML schema has them.

mod reader;
mod value;
mod writer;

pub use reader::{MAX_XML_ATTRIBUTES, MAX_XML_NODES, MAX_XML_SIZE, Malformed, Refused, Text, parse};
pub use value::{boolean, hexadecimal, number, read_number};
pub use writer::{Writer, escape_text};
