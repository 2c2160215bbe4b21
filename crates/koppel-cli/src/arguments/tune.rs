//! Arguments of `koppel tune`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use koppel::plan::tune::{self, Objective};

use super::{CacheArguments, SettingArguments, count, part, positive};

pub(super) const EXAMPLES: &str = "\
Examples:
  koppel tune system.toml                                  the best trade-offs between stability, error and cost
  koppel tune system.toml --error 0.01 --apply             writes the cheapest settings with an error up to 1 %
  koppel tune system.toml --apply 7                        writes those of row 7
  koppel tune system.toml --methods zoh,relaxed --objectives radius,consistency --steps 1e-3:10
  koppel tune system.toml --keep step,connections          keeps the step; one method for all connections
  koppel tune system.toml --plot front.svg --json          a figure, and everything as JSON";

/// An objective to minimise.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ObjectiveArgument {
    /// Spectral radius: growth per macro step.
    Radius,
    /// Relative consistency: difference between inputs and what is connected to them.
    Consistency,
    /// Predicted error over the range of each output.
    Error,
    /// Calls of subsystems.
    Cost,
}

impl From<ObjectiveArgument> for Objective {
    fn from(argument: ObjectiveArgument) -> Self {
        match argument {
            ObjectiveArgument::Radius => Objective::Radius,
            ObjectiveArgument::Consistency => Objective::Consistency,
            ObjectiveArgument::Error => Objective::Error,
            ObjectiveArgument::Cost => Objective::Cost,
        }
    }
}

/// Settings to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kept {
    /// The communication step.
    Step,
    /// The coupling with all its settings.
    Method,
    /// Order and groups of subsystems.
    Schedule,
    /// One method for all connections.
    Connections,
}

/// Arguments of `koppel tune`.
#[derive(Debug, Args)]
pub(crate) struct TuneArguments {
    /// The system file (.toml), or a system structure (.ssp, .ssd).
    pub(crate) file: PathBuf,
    /// Writes the settings of row N of the table into the file; without N, the cheapest that meet the error target.
    #[arg(long, value_name = "N", num_args = 0..=1, value_parser = row)]
    pub(crate) apply: Option<Option<usize>>,
    /// Error target, relative to the range of each output.
    #[arg(long, value_name = "FRACTION", default_value_t = 0.05, value_parser = part, allow_hyphen_values = true)]
    pub(crate) error: f64,
    /// Objectives to minimise, separated by commas [default: radius,error,cost; consistency if no error is known].
    #[arg(long, value_name = "WHICH", value_delimiter = ',')]
    pub(crate) objectives: Vec<ObjectiveArgument>,
    /// Methods to choose from, separated by commas [default: all that the system supports].
    #[arg(long, value_name = "WHICH", value_delimiter = ',', value_parser = PossibleValuesParser::new(tune::methods()))]
    pub(crate) methods: Vec<String>,
    /// Smallest and largest step in s, or one step [default: around the run's own].
    #[arg(long, value_name = "A:B", value_parser = steps, allow_hyphen_values = true)]
    pub(crate) steps: Option<(f64, f64)>,
    /// Connections that may have their own method, named by their inputs, separated by commas [default: all].
    #[arg(long, value_name = "INPUTS", value_delimiter = ',')]
    pub(crate) connections: Vec<String>,
    /// Settings to keep, separated by commas.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) keep: Vec<Kept>,
    /// Maximum number of evaluated settings; all combinations if there are fewer [default: 64 to 1000, by the work per setting].
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true)]
    pub(crate) evaluations: Option<usize>,
    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Draws the Pareto front (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Prints everything as one JSON document.
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

fn row(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("must be the number of a row, 1 or above".into()),
    }
}

fn steps(text: &str) -> Result<(f64, f64), String> {
    let (from, to) = text.split_once(':').unwrap_or((text, text));
    match (positive(from.trim()), positive(to.trim())) {
        (Ok(from), Ok(to)) if from <= to => Ok((from, to)),
        (Ok(from), Ok(to)) => Err(format!("the smaller step comes first: {to}:{from}")),
        _ => Err("write two steps in s above zero, such as 1e-3:0.1, or one".into()),
    }
}
