//! Where the messages of FMUs go.

use koppel_fmi::ffi::LogSink;

/// Where the messages of FMUs go.
#[derive(Clone)]
pub struct FmuLog {
    pub(crate) sink: LogSink,
    pub(crate) is_debug: bool,
}

impl FmuLog {
    /// To `sink`; with `is_debug`, FMUs are asked for their debug messages.
    #[must_use]
    pub fn new(sink: LogSink, is_debug: bool) -> Self {
        FmuLog { sink, is_debug }
    }
}

impl std::fmt::Debug for FmuLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FmuLog").field("is_debug", &self.is_debug).finish_non_exhaustive()
    }
}
