//! What can be written on the command line.

mod check;
mod fmu;
mod hinf;
mod probe;
mod study;
#[cfg(test)]
mod tests;
mod tune;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use koppel_session::{Confirm, Kind, Remark};

use crate::execution::{CheckpointEvery, LogLevel, Required};
use crate::exit;
use crate::failure::show_remark;
pub(crate) use check::CheckArguments;
pub(crate) use fmu::{ExportArguments, FmuCommand};
pub(crate) use hinf::HinfArguments;
pub(crate) use probe::{CacheArguments, ProbeArguments};
pub(crate) use study::{StudyArguments, StudyCommand};
pub(crate) use tune::{Kept, TuneArguments};

/// Co-simulation: couples subsystems that have their own solvers and exchange values at communication points.
#[derive(Debug, Parser)]
#[command(name = "koppel", version, arg_required_else_help = true, after_help = after_help())]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Works in this process alone, without a supervisor: for debuggers.
    #[arg(long, global = true, hide = true)]
    pub(crate) in_process: bool,
}

fn after_help() -> String {
    format!(
        "Examples:
  koppel new first.toml                      a commented system file to start from
  koppel run first.toml --out first.csv      run it
  koppel models                              list the built-in models

{}",
        exit::TABLE
    )
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a system file, a system structure (SSP), or one FMU.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArguments>),
    /// Analyses a system without running it: stable steps, predicted error, feed-through, loops, zero-stability.
    #[command(after_help = check::EXAMPLES)]
    Check(Box<CheckArguments>),
    /// Searches step, method, order of subsystems and method parameters for the best trade-offs and writes one into the file.
    #[command(after_help = tune::EXAMPLES)]
    Tune(Box<TuneArguments>),
    /// Probes each subsystem alone, shows the identified models and caches them for later runs.
    #[command(after_help = probe::EXAMPLES)]
    Probe(Box<ProbeArguments>),
    /// Continues an interrupted run from its checkpoint.
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(ResumeArguments),
    /// Recovers a result file from the partial file of a killed run.
    #[command(after_help = RECOVER_EXAMPLES)]
    Recover(RecoverArguments),
    /// Lists the built-in models and example systems, or describes one.
    #[command(after_help = MODELS_EXAMPLES)]
    Models(ModelsArguments),
    /// Inspects, checks and exports FMUs.
    #[command(subcommand)]
    Fmu(FmuCommand),
    /// Checks and writes system structures (SSP).
    #[command(subcommand)]
    Ssp(SspCommand),
    /// Designs a compensator for the H-infinity coupling.
    #[command(after_help = hinf::EXAMPLES)]
    Hinf(HinfArguments),
    /// Runs a study: many runs with varied settings, and their analysis.
    #[command(after_help = study::EXAMPLES)]
    Study(Box<StudyArguments>),
    /// Writes a system file to start from.
    #[command(after_help = NEW_EXAMPLES)]
    New(NewArguments),
    /// Shows which FMUs this machine can run, and what to install for the others.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor {
        /// Prints one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Writes a completion script for a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Hosts an FMU for another koppel.
    #[command(hide = true)]
    IsolatedFmu {
        /// The process that started it.
        parent: String,
    },
    /// Shows what the exit codes mean.
    #[command(after_help = exit::TABLE)]
    ExitCodes,
}

impl Command {
    /// True if FMUs may run, and do harm, in the process that carries it out.
    pub(crate) fn runs_fmus(&self) -> bool {
        matches!(
            self,
            Command::Run(_)
                | Command::Resume(_)
                | Command::Check(_)
                | Command::Tune(_)
                | Command::Probe(_)
                | Command::Study(_)
        )
    }

    /// True if the answer is to be JSON.
    pub(crate) fn as_json(&self) -> bool {
        match self {
            Command::Run(arguments) => arguments.session.json,
            Command::Resume(arguments) => arguments.session.json,
            Command::Check(arguments) => arguments.json,
            Command::Tune(arguments) => arguments.json,
            Command::Probe(arguments) => arguments.json,
            Command::Study(arguments) => arguments.json,
            Command::Hinf(arguments) => arguments.json,
            Command::Models(arguments) => arguments.json,
            Command::Doctor { json } => *json,
            _ => false,
        }
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  koppel run system.toml                                     run, and show a summary
  koppel run system.toml --out r.csv --report r.html         keep the results, plot them
  koppel run system.toml --step 1e-3 --coupling foh          other settings than in the file
  koppel run system.toml --coupling '{ method = \"foh\", start = \"reduced\" }'
  koppel run system.toml --schedule '[[\"left\", \"right\"], [\"road\"]]'
  koppel run system.toml --set left.m=12 --set left.x0=0.1   parameters, start values, any key
  koppel run system.toml --dry-run                           check everything, run nothing
  koppel run system.toml --out r.parquet --checkpoint-every 60s
  koppel run system.toml --realtime --speed 2                twice as fast as the clock
  koppel run vehicle.ssp --step 1e-3 --out r.csv             a system structure with its FMUs
  koppel run engine.fmu --input u.csv --set m=2 --out r.csv  one FMU with its default experiment";

const RESUME_EXAMPLES: &str = "\
Examples:
  koppel resume r.csv.checkpoint               to the end of the run as planned
  koppel resume r.csv.checkpoint --stop 20     to another stop time";

const RECOVER_EXAMPLES: &str = "\
Examples:
  koppel recover r.csv.part                    makes r.csv
  koppel recover r.parquet.part --out what-is-left.parquet";

const MODELS_EXAMPLES: &str = "\
Examples:
  koppel models                                list of models and example systems
  koppel models spring-mass                    ports, parameters, units, source
  koppel models spring-mass --example          a system file that uses it";

const NEW_EXAMPLES: &str = "\
Examples:
  koppel new                                   writes system.toml, with the main settings explained
  koppel new car --from quarter-truck          writes car.toml, a copy of an example system
  koppel new --list                            names of the example systems";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  koppel doctor                                what this machine can run
  koppel doctor --json                         the same for programs";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  koppel completions bash > ~/.local/share/bash-completion/completions/koppel
  koppel completions fish > ~/.config/fish/completions/koppel.fish";

/// Arguments of `koppel run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The system file (.toml), a system structure (.ssp, .ssd), or one FMU (.fmu).
    pub(crate) file: PathBuf,
    /// For one FMU: a table (.csv, .parquet) with the time in its first column and the inputs by their names.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Result file, .csv or .parquet; written while running, finished at the end.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Checks everything and shows what would be run.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Tolerates minor violations of the SSP standard and lists them.
    #[arg(long)]
    pub(crate) tolerant: bool,
    /// Lists every candidate of `auto`, and why it was or was not chosen.
    #[arg(long)]
    pub(crate) explain: bool,
    /// The former name of `--confirm always`.
    #[arg(long, hide = true, conflicts_with_all = ["no_certificate", "confirm"])]
    pub(crate) second_run: bool,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
}

/// Every method of the list.
fn coupling_help() -> String {
    let names: Vec<&str> = koppel::coupling::methods().into_iter().map(|info| info.name).collect();
    format!(
        "A method ({}), `auto`, which chooses one (the default), or an inline table of a method (or of `mixed`) with its settings; docs/couplings.md lists them",
        names.join(", ")
    )
}

/// Settings that replace those of the file.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Settings that replace those of the file")]
pub(crate) struct SettingArguments {
    /// Communication step, in s; `auto` chooses one; `{ at_most = H }` chooses a fraction of H and records a row every H.
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    pub(crate) step: Option<String>,
    /// Stop time, in s.
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) stop: Option<String>,
    #[arg(long, value_name = "C", help = coupling_help())]
    pub(crate) coupling: Option<String>,
    /// `parallel`, `sequence`, or a list of subsystems or of groups of them.
    #[arg(long, value_name = "S")]
    pub(crate) schedule: Option<String>,
    /// When outputs with feed-through are read: with the inputs of the same instant, or with those of the finished step.
    #[arg(long, value_parser = PossibleValuesParser::new(["fresh", "stale"]))]
    pub(crate) reading: Option<String>,
    /// Shape of inputs given as one value per step.
    #[arg(long, value_parser = PossibleValuesParser::new(["constant", "continuous"]))]
    pub(crate) hold: Option<String>,
    /// Variables to record: `all`, a name, or a pattern with `*` and `?`; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) record: Vec<String>,
    /// Records one row every N steps.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) record_every: Option<String>,
    /// Also records rows at events of FMUs and at changes between communication points.
    #[arg(long)]
    pub(crate) record_events: bool,
    /// Ends the run when this becomes true, such as 'left.x > 0.2'.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) stop_when: Option<String>,
    /// A parameter, start value or other key, such as left.m=12; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,
    /// Use of threads within a stage: `auto` (if it saves time), `never` or `always`.
    #[arg(long, value_parser = PossibleValuesParser::new(["auto", "never", "always"]))]
    pub(crate) threads: Option<String>,
    /// Runs each FMU in its own process and in a sandbox, so that it affects nothing else (Linux).
    #[arg(long)]
    pub(crate) isolate: bool,
    /// Longest time for one call of an FMU, in s (Linux).
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub(crate) step_timeout: Option<String>,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as left.m=12")?;
    match (name.trim(), value.trim()) {
        ("", _) | (_, "") => Err("write NAME=VALUE, such as left.m=12".into()),
        (name, value) => Ok((name.to_owned(), value.to_owned())),
    }
}

/// What happens around a run, new or continued.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output and control of the run")]
pub(crate) struct SessionArguments {
    /// Writes one self-contained HTML page with summary, settings and plots.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Writes the coupling's models of the subsystems at the end; another run can use them with model = { file = "FILE" }.
    #[arg(long, value_name = "FILE")]
    pub(crate) save_models: Option<PathBuf>,
    /// Prints the summary as one JSON document on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Checkpoint file; written at Ctrl-C and with --checkpoint-every [default: beside the result file].
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Writes a checkpoint every N steps (1000), or at intervals of time (30s, 5min).
    #[arg(long, value_name = "N|TIME", allow_hyphen_values = true)]
    pub(crate) checkpoint_every: Option<CheckpointEvery>,
    /// Runs even if a loop is not zero-stable (see `koppel check`).
    #[arg(long)]
    pub(crate) accept_unstable: bool,
    /// Confirms the error by runs at other steps if no linear model gives it: `off`; `auto`, if that is cheap; `always`.
    #[arg(long, value_name = "WHEN", value_parser = confirm, conflicts_with = "no_certificate")]
    pub(crate) confirm: Option<Confirm>,
    /// Ends with exit code 3 unless the certificate of the run is at least this good; `trusted` implies --confirm always.
    #[arg(long, value_name = "VERDICT", value_enum)]
    pub(crate) require: Option<Required>,
    /// Skips the certificate, which saves a little time.
    #[arg(long, conflicts_with = "require")]
    pub(crate) no_certificate: bool,
    /// Runs in real time.
    #[arg(long)]
    pub(crate) realtime: bool,
    /// With --realtime: simulated seconds per second.
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "realtime", allow_hyphen_values = true, value_parser = positive)]
    pub(crate) speed: f64,
    /// Messages of FMUs to show: off, error, warning, info, or debug, which asks FMUs for more.
    #[arg(long, value_name = "LEVEL", default_value = "warning", value_enum, hide_possible_values = true)]
    pub(crate) log: LogLevel,
    /// Shows no progress and no summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) cache: CacheArguments,
}

impl SessionArguments {
    /// Whether runs at other steps are made to confirm the error, if that is not left to the system file.
    pub(crate) fn confirm(&self) -> Option<Confirm> {
        match (self.confirm, self.require) {
            _ if self.realtime => Some(Confirm::Off),
            (None, Some(Required::Trusted)) => Some(Confirm::Always),
            (given, _) => given,
        }
    }

    /// Shows remarks on a run: all, or without notes if it is to be quiet.
    pub(crate) fn remark_printer(&self) -> impl Fn(Kind, &Remark) {
        let is_quiet = self.quiet;
        move |kind, remark| {
            if !(is_quiet && kind == Kind::Note) {
                show_remark(kind, remark);
            }
        }
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.parse::<f64>().map_err(|_| "must be a number, such as 0.01".into())
}

fn confirm(text: &str) -> Result<Confirm, String> {
    let found = Confirm::NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, confirm)| *confirm).ok_or_else(|| "write off, auto or always".into())
}

fn count(text: &str) -> Result<usize, String> {
    text.parse::<usize>().map_err(|_| "must be a whole number, zero or above".into())
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("must be a number above zero".into()),
    }
}

/// An error to aim at.
fn part(text: &str) -> Result<f64, String> {
    match positive(text) {
        Ok(part) if part < 1.0 => Ok(part),
        _ => Err("must be a fraction of the range between 0 and 1, such as 0.05 for 5 %".into()),
    }
}

/// Arguments of `koppel resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// The checkpoint.
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint_file: PathBuf,
    /// Another stop time, in s.
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) stop: Option<String>,
    /// Another result file; the rows before the checkpoint are copied to it.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
}

/// Arguments of `koppel recover`.
#[derive(Debug, Args)]
pub(crate) struct RecoverArguments {
    /// The file that ends in .part.
    pub(crate) part: PathBuf,
    /// The result file to write [default: the name without .part].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// What can be asked of a system structure.
#[derive(Debug, Subcommand)]
pub(crate) enum SspCommand {
    /// Checks an .ssp or .ssd file against the standard; names element, line and rule.
    #[command(after_help = "Example:\n  koppel ssp check vehicle.ssp")]
    Check {
        /// The .ssp or .ssd file.
        file: PathBuf,
        /// Tolerates minor violations of the standard and lists them.
        #[arg(long)]
        tolerant: bool,
    },
    /// Writes a system file as a package (.ssp) with its FMUs inside.
    #[command(after_help = "Example:\n  koppel ssp export system.toml -o system.ssp")]
    Export {
        /// The system file (.toml), or another structure.
        file: PathBuf,
        /// The package to write.
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
        /// Version of the standard: 1 for SSP 1.0, 2 for SSP 2.0.
        #[arg(long, value_name = "VERSION", default_value = "2", value_parser = PossibleValuesParser::new(["1", "2"]))]
        ssp: String,
        /// Replaces an existing file.
        #[arg(long)]
        force: bool,
    },
}

/// Arguments of `koppel models`.
#[derive(Debug, Args)]
pub(crate) struct ModelsArguments {
    /// A built-in model or an example system.
    pub(crate) name: Option<String>,
    /// Prints a system file that uses it.
    #[arg(long, requires = "name")]
    pub(crate) example: bool,
    /// Prints the list as JSON.
    #[arg(long, conflicts_with = "example")]
    pub(crate) json: bool,
}

/// Arguments of `koppel new`.
#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// Name of the system: writes NAME.toml.
    #[arg(default_value = "system")]
    pub(crate) name: String,
    /// An example system to copy, instead of the starter with the main settings explained.
    #[arg(long, value_name = "EXAMPLE")]
    pub(crate) from: Option<String>,
    /// The file to write [default: NAME.toml].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replaces an existing file.
    #[arg(long)]
    pub(crate) force: bool,
    /// Lists the example systems.
    #[arg(long)]
    pub(crate) list: bool,
}
