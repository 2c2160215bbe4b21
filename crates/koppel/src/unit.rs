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
//! `N.m`, and `rad/s` meets `1/s`). The one trap of that rule is refused: `Hz` and `1/min` count turns, so `Hz` to `rad/s`
//! is an error; write `rev/s` for turns or `1/s` for a plain rate. Turns meet turns: `1/min` is `rpm`.
//!
//! Expressions: product `.` `*` `·` or a blank, quotient `/`, powers `m2` `m^2` `m²` `s-1`, parentheses. A product
//! right of a quotient (`W/m2.K`) is refused because authors mean either reading; write `W/(m2.K)`.
//! `degC` and `degF` carry their offset only when they stand alone; in `J/degC` they are differences.
//! Square brackets around a whole unit (`[m]`) are read past. `Nm` is `N.m`, but `Nm2` is refused: (N.m)2 or N.m2.

mod parse;
mod table;

use crate::diagnostic::Diagnostic;
use parse::Parser;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;
use table::{OFFSETS, SPELLINGS};
use thiserror::Error;

/// Names of the base units, in the order of [`Unit::exponents`].
pub const BASE: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];

const RADIAN: usize = 7;

/// Rates per minute and per hour, which hardly anybody counts radians in.
const TURN_RATES: [f64; 2] = [1.0 / 60.0, 1.0 / 3600.0];

/// Relative difference of factors that files give with few digits.
const GIVEN_DIGITS: f64 = 1e-4;

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
    #[error("empty unit")]
    Empty,
    #[error("unit `{unit}`, byte {position}: expected {expected}, found {found}")]
    Syntax { unit: String, position: usize, expected: &'static str, found: String },
    #[error("unit `{unit}`: a product right of a quotient can be read in two ways")]
    Ambiguous { unit: String, position: usize },
    #[error("unit `{unit}`: unknown name `{name}`")]
    Unknown { unit: String, name: String, close: Vec<String> },
    #[error("unit `{unit}`: an exponent is beyond ±{LARGEST_EXPONENT}")]
    Exponent { unit: String },
    #[error("unit `{unit}`: parentheses nested deeper than {DEEPEST_NESTING}")]
    Nesting { unit: String },
    #[error("unit `{unit}`: factor {factor} and offset {offset} must be finite and the factor not zero")]
    Factor { unit: String, factor: f64, offset: f64 },
    #[error("unit `{from}` ({from_dimension}) does not convert to `{to}` ({to_dimension})")]
    Dimension { from: String, to: String, from_dimension: String, to_dimension: String },
    #[error("unit `{from}` does not convert to `{to}`: one counts turns, the other angle")]
    TurnOrAngle { from: String, to: String },
}

impl UnitError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            UnitError::Empty => "write `1` or `-` for a number without unit".to_owned(),
            UnitError::Ambiguous { .. } => "write `a/(b.c)` or `a.c/b`".to_owned(),
            UnitError::Unknown { close, .. } if !close.is_empty() => {
                format!("did you mean `{}`?", close.join("`, `"))
            }
            UnitError::TurnOrAngle { .. } => {
                "write `rev/s` for turns per second, `1/s` or `rad/s` for a rate; or give the connection a gain and units = \"ignore\"".to_owned()
            }
            UnitError::Syntax { .. }
            | UnitError::Unknown { .. }
            | UnitError::Exponent { .. }
            | UnitError::Nesting { .. }
            | UnitError::Factor { .. }
            | UnitError::Dimension { .. } => return None,
        })
    }
}

impl Diagnostic for UnitError {
    fn hints(&self) -> Vec<String> {
        self.hint().into_iter().collect()
    }

    fn known(&self) -> Vec<String> {
        match self {
            UnitError::Unknown { close, .. } => close.clone(),
            _ => Vec::new(),
        }
    }
}

impl Unit {
    /// Reads a unit expression such as `km/h`, `kJ/(kg.K)` or `degC`.
    pub fn parse(text: &str) -> Result<Unit, UnitError> {
        let trimmed = text.trim();
        let inner = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).map(str::trim);
        let text = inner.unwrap_or(text);
        if text.trim().is_empty() {
            return Err(UnitError::Empty);
        }
        let spelled = SPELLINGS.iter().find(|(other, _)| *other == text.trim()).map(|(_, name)| *name);
        let text = spelled.unwrap_or(text);
        let product = Parser { unit: text, rest: text, depth: 0 }.whole()?;
        let exponents = product.exponents.map(|e| e as i8);
        let offset = OFFSETS.iter().find(|(name, _)| *name == text.trim()).map_or(0.0, |(_, offset)| *offset);
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
        let mut factor = from.factor / to.factor;
        if from.exponents[RADIAN] != to.exponents[RADIAN] && (from.counts_turns() || to.counts_turns()) {
            match (from.is_in_turns(), to.is_in_turns()) {
                (true, _) if to.counts_turns() => factor /= TAU,
                (_, true) if from.counts_turns() => factor *= TAU,
                _ => return Err(UnitError::TurnOrAngle { from: from.name.clone(), to: to.name.clone() }),
            }
            // Turns per minute are turns per minute, without the round-off of 2π and of files.
            if (factor - 1.0).abs() < GIVEN_DIGITS {
                factor = 1.0;
            }
        }
        Ok(Conversion { factor, offset: (from.offset - to.offset) / to.factor })
    }

    /// True if both mean the same: dimension, factor and offset, up to the digits in which files give them. Radians count
    /// as nothing, and turns as angles.
    pub fn agrees(&self, other: &Unit) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= GIVEN_DIGITS * a.abs().max(b.abs());
        let is_close = |factor: f64| close(self.factor * factor, other.factor);
        self.exponents[..RADIAN] == other.exponents[..RADIAN]
            && close(self.offset, other.offset)
            && (is_close(1.0)
                || self.exponents[RADIAN] != other.exponents[RADIAN]
                    && (self.counts_turns() || other.counts_turns())
                    && (is_close(TAU) || is_close(1.0 / TAU)))
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

    /// The unit in base units, such as `1000 kg.m.s-2`, with its zero if that is not zero.
    pub fn in_base_units(&self) -> String {
        let zero = if self.offset == 0.0 { String::new() } else { format!(" from {}", self.offset) };
        format!("{} {}{zero}", self.factor, self.dimension())
    }

    /// True of cycles per time without an angle in their dimension.
    fn counts_turns(&self) -> bool {
        let is_rate = self.exponents == [0, 0, -1, 0, 0, 0, 0, 0];
        // Files give factors with few digits.
        let is_near = |rate: &f64| (self.factor / rate - 1.0).abs() < GIVEN_DIGITS;
        self.exponents[RADIAN] == 0 && (self.name.contains("Hz") || is_rate && TURN_RATES.iter().any(is_near))
    }

    /// True of an angle per time that is written in turns.
    fn is_in_turns(&self) -> bool {
        let turns = self.factor / TAU;
        let is_whole = |rate: f64| (turns / rate - 1.0).abs() < GIVEN_DIGITS;
        self.exponents == [0, 0, -1, 0, 0, 0, 0, 1] && (is_whole(1.0) || TURN_RATES.into_iter().any(is_whole))
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
