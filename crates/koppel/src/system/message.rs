//! What is no number: texts, bytes and ticks of clocks. They travel between subsystems at communication points only and are
//! never extrapolated.

use serde::{Deserialize, Serialize};

/// The value of a message port.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// A text.
    Text(String),
    /// Any bytes.
    Bytes(Vec<u8>),
    /// Whether a clock ticked since the last communication point.
    Tick(bool),
}

/// What a message port carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MessageKind {
    /// Texts.
    Text,
    /// Bytes.
    Bytes,
    /// Ticks of a clock.
    Tick,
}

impl MessageKind {
    /// In words, with its article.
    pub fn name(self) -> &'static str {
        match self {
            MessageKind::Text => "a text",
            MessageKind::Bytes => "bytes",
            MessageKind::Tick => "a clock",
        }
    }

    /// An empty message of this kind.
    pub fn empty(self) -> Message {
        match self {
            MessageKind::Text => Message::Text(String::new()),
            MessageKind::Bytes => Message::Bytes(Vec::new()),
            MessageKind::Tick => Message::Tick(false),
        }
    }
}

impl Message {
    /// What it carries.
    pub fn kind(&self) -> MessageKind {
        match self {
            Message::Text(_) => MessageKind::Text,
            Message::Bytes(_) => MessageKind::Bytes,
            Message::Tick(_) => MessageKind::Tick,
        }
    }

    /// Becomes this text, reusing the buffer.
    pub fn set_text(&mut self, new: &str) {
        match self {
            Message::Text(text) => {
                text.clear();
                text.push_str(new);
            }
            other => *other = Message::Text(new.into()),
        }
    }

    /// Becomes these bytes, reusing the buffer.
    pub fn set_bytes(&mut self, new: &[u8]) {
        match self {
            Message::Bytes(bytes) => {
                bytes.clear();
                bytes.extend_from_slice(new);
            }
            other => *other = Message::Bytes(new.into()),
        }
    }
}

impl Clone for Message {
    fn clone(&self) -> Self {
        match self {
            Message::Text(text) => Message::Text(text.clone()),
            Message::Bytes(bytes) => Message::Bytes(bytes.clone()),
            Message::Tick(tick) => Message::Tick(*tick),
        }
    }

    /// Reuses the buffer.
    fn clone_from(&mut self, source: &Self) {
        match source {
            Message::Text(text) => self.set_text(text),
            Message::Bytes(bytes) => self.set_bytes(bytes),
            Message::Tick(tick) => *self = Message::Tick(*tick),
        }
    }
}

/// An input or output that carries messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePort {
    /// Name within the subsystem.
    pub name: String,
    /// What it carries.
    pub kind: MessageKind,
    /// One line for the reader.
    pub description: String,
}

impl MessagePort {
    /// A port without description.
    pub fn new(name: impl Into<String>, kind: MessageKind) -> Self {
        MessagePort { name: name.into(), kind, description: String::new() }
    }
}
