//! Arguments of `koppel study`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use koppel_study::Shard;

pub(super) const EXAMPLES: &str = "\
Examples:
  koppel study study.toml                      all runs on all cores, results in the folder `study`
  koppel study study.toml --dry-run            how many runs, which factors and measures
  koppel study study.toml --shard 3/10         every tenth run, from the third on
  koppel study merge part-1 part-2 -o whole    merges the folders of parts
  koppel study analyse whole                   repeats the analyses: tables, pictures, page
  koppel study jobs study.toml --shards 10 --for slurm > study.sh

The same command continues an interrupted study.";

/// Arguments of `koppel study`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct StudyArguments {
    #[command(subcommand)]
    pub(crate) command: Option<StudyCommand>,
    /// The study file (.toml).
    #[arg(required = true)]
    pub(crate) file: Option<PathBuf>,
    /// Folder for results [default: named after the study file; for a part, followed by -shard-K-of-N].
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of parallel runs [default: all cores].
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Runs only part K of N.
    #[arg(long, value_name = "K/N", value_parser = shard)]
    pub(crate) shard: Option<Shard>,
    /// Runs a study even if it takes more than a day or has more than ten million runs.
    #[arg(long)]
    pub(crate) accept_large: bool,
    /// Checks everything and shows what would be run.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Prints the summary as one JSON document on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Shows no progress and no summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What else can be done with studies.
#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// Merges parts of a study; reports missing and duplicate runs. Exit code 1 if runs are missing.
    Merge {
        /// Folders of the parts.
        #[arg(required = true, value_name = "DIR")]
        parts: Vec<PathBuf>,
        /// Folder for the merged study.
        #[arg(long, short, value_name = "DIR")]
        out: PathBuf,
    },
    /// Repeats the analyses of a study: tables, pictures and the page.
    Analyse {
        /// The folder of a study, complete or not.
        folder: PathBuf,
    },
    /// Prints a job file that runs a study in parts on a cluster.
    Jobs {
        /// The study file (.toml).
        file: PathBuf,
        /// Number of parts.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
        shards: u64,
        /// The scheduler that runs the parts.
        #[arg(long = "for", value_name = "SCHEDULER", value_parser = PossibleValuesParser::new(["slurm", "hq"]))]
        scheduler: String,
        /// Processors per part.
        #[arg(long, value_name = "N", default_value_t = 1)]
        cpus: usize,
        /// Folder for results [default: named after the study file].
        #[arg(long, short, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

fn shard(text: &str) -> Result<Shard, String> {
    let parsed =
        text.split_once('/').and_then(|(k, n)| Some((k.parse::<u64>().ok()?, n.parse::<u64>().ok()?)));
    match parsed {
        Some((part, parts)) if (1..=parts).contains(&part) => Ok(Shard { part, parts }),
        _ => Err("write K/N with K from 1 to N, such as 3/10".into()),
    }
}
