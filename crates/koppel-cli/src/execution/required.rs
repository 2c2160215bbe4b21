//! How good a run must be.

use clap::ValueEnum;
use koppel::analysis::RunVerdict;

/// What `--require` asks of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Required {
    /// The error is small.
    Trusted,
    /// The error may be large or unknown.
    #[value(alias = "doubtful")]
    Unconfirmed,
}

impl Required {
    /// Whether a certificate is good enough.
    pub(crate) fn is_met(self, verdict: RunVerdict) -> bool {
        match self {
            Required::Trusted => verdict == RunVerdict::Trusted,
            Required::Unconfirmed => verdict >= RunVerdict::Unconfirmed,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Required::Trusted => "trusted",
            Required::Unconfirmed => "unconfirmed",
        }
    }
}
