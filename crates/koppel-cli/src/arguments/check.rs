//! Arguments of `koppel check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use koppel::analysis::Methods;

use super::{CacheArguments, SettingArguments};

pub(super) const EXAMPLES: &str = "\
Examples:
  koppel check system.toml                                   is it stable, and at which steps
  koppel check system.toml --error 0.01                      steps for an error of 1 %
  koppel check system.toml --vary 20                         parameters changed by 20 %
  koppel check system.toml --map steps.svg                   stable steps of all methods
  koppel check system.toml --set run.reading=stale --json    for programs
  koppel check system.toml --graph system.svg                a drawing
  koppel check system.toml --frequency --plot loop.svg       margins of the loop over frequency";

/// What `--require` asks of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RequiredVerdict {
    Stable,
}

/// Methods whose stable steps are looked for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MethodsArgument {
    Own,
    Holds,
    All,
}

impl From<MethodsArgument> for Methods {
    fn from(methods: MethodsArgument) -> Self {
        match methods {
            MethodsArgument::Own => Methods::Own,
            MethodsArgument::Holds => Methods::Holds,
            MethodsArgument::All => Methods::All,
        }
    }
}

/// Arguments of `koppel check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The system file (.toml), or a system structure (.ssp, .ssd).
    pub(crate) file: PathBuf,
    /// Prints the findings as one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draws the system with its loops in red (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,
    /// Error target, relative to the range of each output, for the recommended steps.
    #[arg(long, value_name = "FRACTION", default_value_t = 0.05)]
    pub(crate) error: f64,
    /// Varies every parameter by this percentage and reports whether the run stays stable.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) vary: Option<f64>,
    /// Ends with exit code 3 unless the run is stable.
    #[arg(long, value_name = "WHAT")]
    pub(crate) require: Option<RequiredVerdict>,
    /// Methods whose stable steps are searched: the run's own method, plus the holds, or all methods [default: as many as a fixed amount of work allows].
    #[arg(long, value_name = "WHICH")]
    pub(crate) methods: Option<MethodsArgument>,
    /// Draws the stable steps of every method (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Judges a system of two subsystems over frequency (margin, small gain, passivity) under its coupling and the usual ones.
    #[arg(long)]
    pub(crate) frequency: bool,
    /// Draws the loop transfer of each coupling near the critical point (SVG).
    #[arg(long, value_name = "FILE", requires = "frequency")]
    pub(crate) plot: Option<PathBuf>,
    /// Tolerates minor violations of the SSP standard and lists them.
    #[arg(long)]
    pub(crate) tolerant: bool,
    #[command(flatten)]
    pub(crate) cache: CacheArguments,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
}
