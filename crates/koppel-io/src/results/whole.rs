//! What is whole in a file that may end anywhere.

/// What is whole in a part file that may end anywhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CompleteRows {
    /// Complete rows.
    pub(super) rows: u64,
    /// Time of the last complete row.
    pub(super) last_time: Option<f64>,
    /// Bytes up to the end of the last complete row.
    pub(super) bytes: u64,
    /// More than one unfinished row or batch follows.
    pub(super) damaged: bool,
}
