//! Arguments of `koppel hinf`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{count, number};

pub(super) const EXAMPLES: &str = "\
Examples:
  koppel hinf --step 0.01                                    with the proposed settings
  koppel hinf --step 0.01 --weight-order 3 --weight-hz 6     more weight on low frequencies
  koppel hinf --step 0.05 --disc 0.001 --plot error.svg      faster poles; the error over frequency
  koppel hinf --step 0.01 --json                             everything, for programs";

/// What the compensator is for. The names are those of `coupling = { method = \"hinf\", ... }`.
#[derive(Debug, Args)]
pub(crate) struct HinfArguments {
    /// Communication step, in s.
    #[arg(long, value_name = "H", allow_hyphen_values = true, value_parser = number)]
    pub(crate) step: f64,
    /// Corner frequency of the weight, in Hz [default: 0.01, 0.03 or 0.06 over the step, by order].
    #[arg(long, value_name = "F", allow_hyphen_values = true, value_parser = number)]
    pub(crate) weight_hz: Option<f64>,
    /// Order of the weight, 1 to 3.
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true, value_parser = count)]
    pub(crate) weight_order: usize,
    /// Corner frequency of the smoother, in Hz [default: 0.5 over the step].
    #[arg(long, value_name = "F", allow_hyphen_values = true, value_parser = number)]
    pub(crate) smoother_hz: Option<f64>,
    /// Order of the smoother, 1 to 4.
    #[arg(long, value_name = "N", default_value_t = 2, allow_hyphen_values = true, value_parser = count)]
    pub(crate) smoother_order: usize,
    /// Time constant D of the disc of poles, in s: poles lie within 1/D around -1/D [default: a tenth of the step].
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = number)]
    pub(crate) disc: Option<f64>,
    /// How sent values are held.
    #[arg(long, default_value = "zoh", value_parser = PossibleValuesParser::new(["zoh", "foh", "soh"]))]
    pub(crate) hold: String,
    /// Draws the error over frequency together with those of the holds (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Prints one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}
