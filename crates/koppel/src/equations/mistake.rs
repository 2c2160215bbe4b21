//! Mistakes in equations, with their places.

use crate::expression::ExpressionError;
use std::ops::Range;

/// Where something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    /// Bytes of the text.
    Text(Range<usize>),
    /// A name that was declared outside of the text: which kind, and the name.
    Declared(Kind, String),
    /// The model as a whole.
    Whole,
}

/// What is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A constant of the model.
    Parameter,
    /// Given to the model.
    Input,
    /// Given by the model.
    Output,
    /// A state, a discrete or an intermediate variable: its start value or its unit.
    Variable,
    /// A lookup table.
    Map,
    /// The period of a block that is sampled as a whole.
    Every,
}

impl Kind {
    /// The keyword of a declaration.
    pub(super) fn of(word: &str) -> Option<Kind> {
        Some(match word {
            "parameter" => Kind::Parameter,
            "input" => Kind::Input,
            "output" => Kind::Output,
            "state" | "discrete" | "variable" => Kind::Variable,
            _ => return None,
        })
    }
}

/// One mistake.
#[derive(Debug, Clone, PartialEq)]
pub struct Mistake {
    /// Where.
    pub spot: Spot,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: Option<String>,
    /// Names that are known where an unknown one stands: of which kind, what was written, and the names.
    pub unknown: Option<(String, Vec<String>)>,
}

impl Mistake {
    pub(super) fn new(spot: Spot, what: impl Into<String>) -> Self {
        Mistake { spot, what: what.into(), hint: None, unknown: None }
    }

    pub(super) fn at(span: &Range<usize>, what: impl Into<String>) -> Self {
        Mistake::new(Spot::Text(span.clone()), what)
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn unknown(spot: Spot, kind: &str, name: &str, known: Vec<String>) -> Self {
        let what = format!("unknown {kind} `{name}`");
        Mistake { unknown: Some((name.to_owned(), known)), ..Mistake::new(spot, what) }
    }

    /// A text that was not understood, from its position to the end of the word there.
    pub(super) fn syntax(error: &ExpressionError, text: &str) -> Self {
        let at = error.position().min(text.len());
        let rest = &text[at..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let length = word.max(rest.chars().next().map_or(1, char::len_utf8)).min(rest.len());
        Mistake { hint: error.hint(), ..Mistake::at(&(at..at + length), error.problem()) }
    }
}
