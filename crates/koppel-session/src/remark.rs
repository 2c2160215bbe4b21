//! What is to be said of a run beside its result.

use koppel::diagnostic::Remark;

/// How much a remark matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To be known.
    Note,
    /// To be looked at.
    Warning,
}

/// Receives remarks.
pub type RemarkSink<'a> = &'a dyn Fn(Kind, &Remark);

/// Tells what is to be known.
pub(crate) fn note(sink: RemarkSink<'_>, remark: impl Into<Remark>) {
    sink(Kind::Note, &remark.into());
}

/// Tells what is to be looked at.
pub(crate) fn warn(sink: RemarkSink<'_>, remark: impl Into<Remark>) {
    sink(Kind::Warning, &remark.into());
}
