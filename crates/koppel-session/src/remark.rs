//! What is to be said of a run beside its result.

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To be known.
    Note,
    /// To be looked at.
    Warning,
}

/// Something to be said of a run, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// How much it matters.
    pub kind: Kind,
    /// What.
    pub text: String,
}

/// Who is told.
pub type Tell<'a> = &'a dyn Fn(&Remark);

impl Remark {
    /// A note.
    pub fn note(text: impl Into<String>) -> Self {
        Remark { kind: Kind::Note, text: text.into() }
    }

    /// A warning.
    pub fn warning(text: impl Into<String>) -> Self {
        Remark { kind: Kind::Warning, text: text.into() }
    }
}
