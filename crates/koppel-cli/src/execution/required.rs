//! How good a run must be.

use clap::ValueEnum;
use koppel::analysis::Worth;

/// What `--require` asks of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Required {
    /// The error is small.
    Trusted,
    /// The error may be large or unknown.
    Doubtful,
}

impl Required {
    /// Whether a certificate is good enough.
    pub(crate) fn is_met(self, worth: Worth) -> bool {
        match self {
            Required::Trusted => worth == Worth::Trusted,
            Required::Doubtful => worth >= Worth::Doubtful,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Required::Trusted => "trusted",
            Required::Doubtful => "doubtful",
        }
    }
}
