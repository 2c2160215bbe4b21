//! Physical units in the base-unit model of FMI.
//!
//! A unit is a product of powers of eight base units with a factor and an offset:
//!
//!   value in base units = factor · value in this unit + offset                          (1)
//!
//! so that a value moves from unit a to unit b of the same dimension by
//!
//!   value_b = (factor_a / factor_b) · value_a + (offset_a - offset_b) / factor_b        (2)
//!
//! The base units are kg, m, s, A, K, mol, cd and rad. FMI 3.0.1, section 2.4.4.
//!
//! Differs from the standard in: `rad` and `1` convert into each other with factor 1, as in SI (so `N.m/rad` meets
//! `N.m`, and `rad/s` meets `1/s`). The one trap of that rule is refused: `Hz` counts turns, so `Hz` to `rad/s` is an
//! error; write `rev/s` for turns or `1/s` for a plain rate.
//!
//! Expressions: product `.` `*` `·` or a blank, quotient `/`, powers `m2` `m^2` `m²` `s-1`, parentheses. A product
//! right of a quotient (`W/m2.K`) is refused because authors mean either reading; write `W/(m2.K)`.
//! `degC` and `degF` carry their offset only when they stand alone; in `J/degC` they are differences.

mod parse;
mod table;

use parse::Parser;
use serde::{Deserialize, Serialize};
use table::OFFSETS;
use thiserror::Error;

/// Names of the base units, in the order of [`Unit::exponents`].
pub const BASE: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];

const RADIAN: usize = 7;

const LARGEST_EXPONENT: i32 = 99;

const DEEPEST_NESTING: usize = 32;

/// A unit: powers of the base units, and how its values turn into base units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// The name as it was written.
    pub name: String,
    /// Exponents of kg, m, s, A, K, mol, cd, rad.
    pub exponents: [i8; 8],
    /// Base units per unit.
    pub factor: f64,
    /// Value in base units of the zero of this unit.
    pub offset: f64,
}

/// `value_to = factor · value_from + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conversion {
    /// Multiplies the value.
    pub factor: f64,
    /// Added after the multiplication.
    pub offset: f64,
}

/// Why a unit was not understood, or two units do not meet.
#[derive(Debug, Clone, PartialEq, Error)]
#[expect(missing_docs, reason = "the fields are named by the messages")]
pub enum UnitError {
    #[error("empty unit\n  hint: write `1` or `-` for a number without unit")]
    Empty,
    #[error("unit `{unit}`, byte {position}: expected {expected}, found {found}")]
    Syntax { unit: String, position: usize, expected: &'static str, found: String },
    #[error(
        "unit `{unit}`: a product right of a quotient can be read in two ways\n  hint: write `a/(b.c)` or `a.c/b`"
    )]
    Ambiguous { unit: String, position: usize },
    #[error("unit `{unit}`: unknown name `{name}`{}", suggestion(close))]
    Unknown { unit: String, name: String, close: Vec<String> },
    #[error("unit `{unit}`: an exponent is beyond ±{LARGEST_EXPONENT}")]
    Exponent { unit: String },
    #[error("unit `{unit}`: parentheses nested deeper than {DEEPEST_NESTING}")]
    Nesting { unit: String },
    #[error("unit `{unit}`: factor {factor} and offset {offset} must be finite and the factor not zero")]
    Factor { unit: String, factor: f64, offset: f64 },
    #[error("unit `{from}` ({from_dimension}) does not convert to `{to}` ({to_dimension})")]
    Dimension { from: String, to: String, from_dimension: String, to_dimension: String },
    #[error(
        "unit `{from}` does not convert to `{to}`: one counts turns, the other angle\n  hint: write `rev/s` for turns per second, `1/s` or `rad/s` for a rate"
    )]
    TurnOrAngle { from: String, to: String },
}

fn suggestion(close: &[String]) -> String {
    if close.is_empty() { String::new() } else { format!("\n  hint: did you mean `{}`?", close.join("`, `")) }
}

impl Unit {
    /// Reads a unit expression such as `km/h`, `kJ/(kg.K)` or `degC`.
    pub fn parse(text: &str) -> Result<Unit, UnitError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(UnitError::Empty);
        }
        if trimmed == "-" {
            return Unit::from_base(trimmed, [0; 8], 1.0, 0.0);
        }
        let product = Parser { unit: text, rest: text, depth: 0 }.whole()?;
        let exponents = product.exponents.map(|e| e as i8);
        let offset = OFFSETS.iter().find(|(name, _)| *name == trimmed).map_or(0.0, |(_, offset)| *offset);
        Unit::from_base(trimmed, exponents, product.factor(), offset)
    }

    /// A unit defined by its base units, as FMI files carry them.
    pub fn from_base(
        name: impl Into<String>,
        exponents: [i8; 8],
        factor: f64,
        offset: f64,
    ) -> Result<Unit, UnitError> {
        let name = name.into();
        if !factor.is_finite() || factor == 0.0 || !offset.is_finite() {
            return Err(UnitError::Factor { unit: name, factor, offset });
        }
        Ok(Unit { name, exponents, factor, offset })
    }

    /// How values in `from` become values in `to`, equation (2).
    pub fn conversion(from: &Unit, to: &Unit) -> Result<Conversion, UnitError> {
        if from.exponents[..RADIAN] != to.exponents[..RADIAN] {
            return Err(UnitError::Dimension {
                from: from.name.clone(),
                to: to.name.clone(),
                from_dimension: from.dimension(),
                to_dimension: to.dimension(),
            });
        }
        if from.exponents[RADIAN] != to.exponents[RADIAN] && (from.counts_turns() || to.counts_turns()) {
            return Err(UnitError::TurnOrAngle { from: from.name.clone(), to: to.name.clone() });
        }
        Ok(Conversion { factor: from.factor / to.factor, offset: (from.offset - to.offset) / to.factor })
    }

    /// The dimension in base units, such as `kg.m2.s-3`, or `1`.
    pub fn dimension(&self) -> String {
        let powers = BASE.iter().zip(self.exponents).filter(|(_, exponent)| *exponent != 0);
        let words: Vec<String> = powers
            .map(
                |(name, exponent)| {
                    if exponent == 1 { (*name).to_owned() } else { format!("{name}{exponent}") }
                },
            )
            .collect();
        if words.is_empty() { "1".to_owned() } else { words.join(".") }
    }

    fn counts_turns(&self) -> bool {
        self.name.contains("Hz")
    }
}

impl Conversion {
    /// Nothing changes.
    pub const IDENTITY: Conversion = Conversion { factor: 1.0, offset: 0.0 };

    /// The converted value.
    pub fn apply(&self, value: f64) -> f64 {
        self.factor * value + self.offset
    }

    /// Whether values stay as they are.
    pub fn is_identity(&self) -> bool {
        *self == Conversion::IDENTITY
    }
}

#[cfg(test)]
mod tests;
