//! Arguments of `koppel fmu`.

use std::path::PathBuf;

use koppel_fmu::export::Feature;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use super::{assignment, positive};

/// Commands on FMUs.
#[derive(Debug, Subcommand)]
pub(crate) enum FmuCommand {
    /// Shows what an FMU declares: interfaces, platforms, variables.
    #[command(after_help = "Examples:\n  koppel fmu info engine.fmu\n  koppel fmu info engine.fmu --json")]
    Info {
        /// The FMU.
        file: PathBuf,
        /// Prints everything it declares as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Tests what an FMU declares and reports the results.
    #[command(
        after_help = "The exit code is 1 if a test fails.\n\nExample:\n  koppel fmu check engine.fmu --step 1e-3"
    )]
    Check {
        /// The FMU.
        file: PathBuf,
        /// Communication step of the trials, in s [default: the FMU's own proposal, or 1e-3].
        #[arg(long, value_name = "H", allow_hyphen_values = true, value_parser = positive)]
        step: Option<f64>,
        /// Time limit for the plain steps at the start of each trial, in s; the rest may take 50 times as long, and at least 5 s.
        #[arg(long, value_name = "SECONDS", default_value = "60", allow_hyphen_values = true, value_parser = positive)]
        timeout: f64,
        /// Prints the findings as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Writes a built-in model, or a whole system with its coupling, as an FMU.
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArguments),
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  koppel fmu export mass -o mass.fmu --fmi 3                 a model (see `koppel models`)
  koppel fmu export mass -o m.fmu --set m=2 --solver '{ method = \"rk4\", step = 1e-4 }'
  koppel fmu export car.toml -o car.fmu --fmi 2              a system; unconnected inputs become inputs
  koppel fmu export car.toml -o car.fmu --plain --force      no state, no derivatives, like most FMUs";

/// Arguments of `koppel fmu export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// A built-in model, a system file (TOML), or a system structure (SSP).
    #[arg(value_name = "MODEL|FILE")]
    pub(crate) subject: String,
    /// The FMU to write [default: NAME.fmu].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replaces an existing file.
    #[arg(long)]
    pub(crate) force: bool,
    /// Version of FMI.
    #[arg(long, value_name = "VERSION", default_value = "2", value_parser = PossibleValuesParser::new(["2", "3"]))]
    pub(crate) fmi: String,
    /// Exports one subsystem of the system as a model, not the system. It must not be an FMU.
    #[arg(long, value_name = "NAME")]
    pub(crate) subsystem: Option<String>,
    /// Omits FMU state, directional derivatives and inputs that vary inside a step.
    #[arg(long)]
    pub(crate) plain: bool,
    /// Omits single features, separated by commas.
    #[arg(long, value_name = "FEATURES", value_delimiter = ',')]
    pub(crate) without: Vec<Omitted>,
    /// Exports a system even if a loop is not zero-stable.
    #[arg(long)]
    pub(crate) accept_unstable: bool,
    /// A parameter of the model (m=2); of a system, any setting (left.m=2, run.step=1e-3); may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,
    /// Solver of the model in co-simulation: a name, or an inline table with its settings.
    #[arg(long, value_name = "S")]
    pub(crate) solver: Option<String>,
    /// The library that becomes the FMU's binary [default: the one built with koppel; `cargo install` does not include it].
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Option<PathBuf>,
}

/// What an exported FMU can do without.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Omitted {
    /// Saving and restoring the FMU state.
    StateSaving,
    /// Writing a saved state as bytes.
    Serialization,
    /// Directional and adjoint derivatives.
    DirectionalDerivatives,
    /// Inputs that vary inside a step: intermediate update (FMI 3.0), input derivatives (FMI 2.0).
    IntermediateUpdate,
    /// Co-simulation: only model exchange is left.
    CoSimulation,
    /// Model exchange: only co-simulation is left.
    ModelExchange,
}

impl From<Omitted> for Feature {
    fn from(omitted: Omitted) -> Feature {
        match omitted {
            Omitted::StateSaving => Feature::StateSaving,
            Omitted::Serialization => Feature::Serialization,
            Omitted::DirectionalDerivatives => Feature::DirectionalDerivatives,
            Omitted::IntermediateUpdate => Feature::IntermediateUpdate,
            Omitted::CoSimulation => Feature::CoSimulation,
            Omitted::ModelExchange => Feature::ModelExchange,
        }
    }
}
