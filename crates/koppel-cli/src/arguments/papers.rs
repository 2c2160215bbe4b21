//! Arguments of `koppel papers`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use koppel_papers::Paper;

pub(super) const EXAMPLES: &str = "\
Examples:
  koppel papers --quick                        all papers with small designs
  koppel papers glumac chen --out again        two papers in full
  koppel papers genser --threads 1

Tables and figures of the papers koppel's methods come from, made again: ours beside the paper's, with agreement or the
reason for the difference. Without a name, all papers. A study that was interrupted goes on where it was.";

/// Arguments of `koppel papers`.
#[derive(Debug, Args)]
pub(crate) struct PapersArguments {
    /// Which papers [default: all].
    #[arg(value_name = "PAPER", value_parser = PossibleValuesParser::new(Paper::ALL.map(Paper::name)))]
    pub(crate) papers: Vec<String>,
    /// Folder for results.
    #[arg(long, short, value_name = "DIR", default_value = "papers")]
    pub(crate) out: PathBuf,
    /// Smaller designs; what is reduced is told.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Runs side by side [default: all cores].
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Prints the summary as one JSON document on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress and no summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
