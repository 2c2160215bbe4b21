//! A mistake in a text, and its place.

use std::fmt;
use std::ops::Range;

use koppel::error::closest;

/// Bytes of a text.
pub type Span = Range<usize>;

/// A mistake in a system file or in an option, ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, or the option.
    pub place: String,
    /// Its whole text.
    pub text: String,
    /// The offending bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do, and what is known.
    pub hint: Option<String>,
    /// True if the text is right, but the FMU it names ended its process.
    pub is_crash: bool,
}

impl Mistake {
    /// Line and column, counted from 1, in characters.
    #[must_use]
    pub fn line_column(&self) -> (usize, usize) {
        let before = &self.text[..self.span.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// The offending line, the width in characters of what precedes the offending text, and the width of that text.
    #[must_use]
    pub fn excerpt(&self) -> (&str, usize, usize) {
        let start = self.text[..self.span.start].rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let marked =
            &self.text[self.span.start..self.span.end.clamp(self.span.start, end.max(self.span.start))];
        let before = self.text[start..self.span.start].chars().count();
        (self.text[start..end].trim_end(), before, marked.trim_end().chars().count().max(1))
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}: {}", self.place, self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "\n  hint: {hint}"))
    }
}

/// A mistake whose text is still to be looked up.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The place.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// True if an FMU ended its process.
    pub is_crash: bool,
}

impl Mark {
    /// A mistake at a place.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Mark { span, message: message.into(), hint: None, is_crash: false }
    }

    /// A message that may carry its own hint.
    pub(super) fn from_text(span: Span, text: &str) -> Self {
        match text.split_once("\n  hint: ") {
            Some((message, hint)) => Mark::new(span, message).hint(hint),
            None => Mark::new(span, text),
        }
    }

    /// The same with what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An unknown name, with the one that was probably meant and all that are known.
    pub fn unknown(span: Span, kind: &str, name: &str, known: &[String]) -> Self {
        Mark::new(span, format!("unknown {kind} `{name}`")).hint(known_names(name, known))
    }
}

/// The known name most like `name`, and the list of all.
pub fn known_names(name: &str, known: &[String]) -> String {
    const SHOWN: usize = 30;
    if known.is_empty() {
        return "there are none".into();
    }
    let mut different: Vec<&String> = Vec::new();
    for one in known {
        if !different.contains(&one) {
            different.push(one);
        }
    }
    let list: Vec<String> = different.iter().take(SHOWN).map(|k| format!("`{k}`")).collect();
    let more = if different.len() > SHOWN { ", ..." } else { "" };
    let list = format!("known: {}{more}", list.join(", "));
    match closest(name, known) {
        Some(best) => format!("did you mean `{best}`? {list}"),
        None => list,
    }
}
