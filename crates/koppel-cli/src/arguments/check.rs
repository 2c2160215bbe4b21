//! Arguments of `koppel check`.

use std::path::PathBuf;

use clap::Args;

use super::{CacheArguments, SettingArguments};

pub(super) const EXAMPLES: &str = "\
Examples:
  koppel check system.toml                                   loops, where they are cut, whether they are stable
  koppel check system.toml --set run.reading=stale --json    for programs
  koppel check system.toml --graph system.svg                a drawing
  koppel check system.toml --frequency --plot loop.svg       margins of the loop over frequency";

/// Arguments of `koppel check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The system file (.toml), or a system structure (.ssp, .ssd).
    pub(crate) file: PathBuf,
    /// Prints the findings as one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draws the system, its loops in red (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,
    /// Judges a system of two subsystems over frequency: margin, small gain, passivity, for its coupling and the usual ones.
    #[arg(long)]
    pub(crate) frequency: bool,
    /// Draws the loop transfer of each coupling near the critical point (SVG).
    #[arg(long, value_name = "FILE", requires = "frequency")]
    pub(crate) plot: Option<PathBuf>,
    /// Forgives what can be forgiven in a system structure, and lists it.
    #[arg(long)]
    pub(crate) tolerant: bool,
    #[command(flatten)]
    pub(crate) cache: CacheArguments,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
}
