//! Arguments of `cargo xtask papers`.

use std::path::PathBuf;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use koppel_papers::Paper;

const EXAMPLES: &str = "\
Examples:
  cargo xtask papers --quick                        all papers with small designs
  cargo xtask papers glumac chen --out again        two papers in full
  cargo xtask papers genser --threads 1

Each table and figure shows our numbers beside the paper's and says whether they agree, or why they differ.
An interrupted study continues where it stopped.";

/// Reproduces tables and figures of the papers koppel's methods come from, and compares them.
#[derive(Debug, Parser)]
#[command(name = "koppel-papers", bin_name = "cargo xtask papers", max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Which papers [default: all].
    #[arg(value_name = "PAPER", value_parser = PossibleValuesParser::new(Paper::ALL.map(Paper::name)))]
    pub(crate) papers: Vec<String>,
    /// Folder for results.
    #[arg(long, short, value_name = "DIR", default_value = "papers")]
    pub(crate) out: PathBuf,
    /// Smaller designs; reduced exhibits are listed.
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
