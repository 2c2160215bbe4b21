//! Arguments of `koppel probe`, and of everything that probes.

use std::path::PathBuf;

use clap::Args;

use super::SettingArguments;

pub(super) const EXAMPLES: &str = "\
Examples:
  koppel probe system.toml                     probes each subsystem; cached for later runs
  koppel probe system.toml --step 0.02         for another step: models depend on the step
  koppel probe system.toml --no-cache --json   without the cache, as JSON
  koppel probe --clear                         clears the cache";

/// Arguments of `koppel probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeArguments {
    /// The system file (.toml), or a system structure (.ssp, .ssd).
    #[arg(required_unless_present = "clear")]
    pub(crate) file: Option<PathBuf>,
    /// Clears the cache.
    #[arg(long, conflicts_with_all = ["file", "no_cache"])]
    pub(crate) clear: bool,
    /// Prints the findings as one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    /// Tolerates minor violations of the SSP standard and lists them.
    #[arg(long)]
    pub(crate) tolerant: bool,
    #[command(flatten)]
    pub(crate) cache: CacheArguments,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
}

/// Where probing results of FMUs are kept.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Cache of probing results")]
pub(crate) struct CacheArguments {
    /// Cache folder [default: KOPPEL_CACHE, or koppel in the user cache directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Does not use the cache: FMUs are probed again.
    #[arg(long, conflicts_with = "cache")]
    pub(crate) no_cache: bool,
}
