//! What happens to a value between an output and an input: unit conversion, or a table in its place.

use super::ports::Variable;
use super::unit::{Conversion, Unit};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a connection does about the units of its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitRule {
    /// Values are converted where both ends have a unit.
    #[default]
    Convert,
    /// Values go as they are.
    Ignore,
}

impl UnitRule {
    /// True for the rule that needs not be written.
    pub fn is_default(&self) -> bool {
        *self == UnitRule::Convert
    }
}

/// A table from whole numbers to whole numbers, for Booleans, integers and enumerations: u = map(y).
///
/// Its values are held: no method predicts them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueMap {
    /// Sorted by the first.
    entries: Vec<(f64, f64)>,
}

impl ValueMap {
    /// From pairs; a problem in words if a number stands twice or is none.
    pub fn new(pairs: &[(f64, f64)]) -> std::result::Result<ValueMap, String> {
        let mut entries = pairs.to_vec();
        if let Some((from, to)) = entries.iter().find(|(from, to)| !from.is_finite() || !to.is_finite()) {
            return Err(format!("[{from}, {to}] is not finite"));
        }
        if let Some((from, _)) = entries.iter().find(|(from, _)| from.fract() != 0.0) {
            return Err(format!("{from} is no whole number"));
        }
        entries.sort_by(|a, b| a.0.total_cmp(&b.0));
        match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(format!("{} stands twice", pair[0].0)),
            None => Ok(ValueMap { entries }),
        }
    }

    /// What a value becomes; not a number if the table has no entry for it.
    pub fn value(&self, value: f64) -> f64 {
        let whole = value.round();
        let at = self.entries.partition_point(|(from, _)| *from < whole);
        self.entries.get(at).filter(|(from, _)| *from == whole).map_or(f64::NAN, |(_, to)| *to)
    }
}

/// Factor and offset between the units of both ends; none where a unit is missing.
pub(super) fn conversion(
    (from, output): (&str, &Variable),
    (to, input): (&str, &Variable),
    rule: UnitRule,
) -> Result<Conversion> {
    if rule == UnitRule::Ignore {
        return Ok(Conversion::IDENTITY);
    }
    if output.definition.is_none() && input.definition.is_none() && output.unit == input.unit {
        return Ok(Conversion::IDENTITY);
    }
    let (Some(a), Some(b)) = (meaning(output, from)?, meaning(input, to)?) else {
        return Ok(Conversion::IDENTITY);
    };
    let failed = |source| Error::ConnectionUnit { from: from.into(), to: to.into(), source }.into();
    Unit::conversion(&a, &b).map_err(failed)
}

/// The unit as defined, else as its name says.
fn meaning(variable: &Variable, place: &str) -> Result<Option<Unit>> {
    match (&variable.definition, &variable.unit) {
        (Some(unit), _) => Ok(Some(unit.clone())),
        (None, Some(text)) => {
            let failed = |source| Error::Unit { place: place.to_owned(), source };
            Ok(Some(Unit::parse(text).map_err(failed)?))
        }
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_its_entries_and_nothing_else() {
        let map = ValueMap::new(&[(3.0, -1.0), (1.0, 7.0)]).unwrap();
        assert_eq!((map.value(1.0), map.value(3.0)), (7.0, -1.0));
        assert!(map.value(2.0).is_nan());
        assert_eq!(map.value(3.0 + 1e-7), -1.0, "a whole number up to rounding");
    }

    #[test]
    fn tables_that_leave_something_open_are_refused() {
        assert_eq!(ValueMap::new(&[(1.0, 0.0), (1.0, 2.0)]), Err("1 stands twice".into()));
        assert_eq!(ValueMap::new(&[(0.5, 0.0)]), Err("0.5 is no whole number".into()));
        assert!(ValueMap::new(&[(0.0, f64::NAN)]).is_err());
    }

    #[test]
    fn a_definition_comes_before_the_name() {
        let speed = |name: &str, factor| {
            let unit = Unit::from_base(name, [0, 0, -1, 0, 0, 0, 0, 1], factor, 0.0).unwrap();
            Variable::new("w").defined(unit)
        };
        let (rad, rpm) = (speed("rad/s", 1.0), speed("1/min", std::f64::consts::PI / 30.0));
        let found = conversion(("a.w", &rad), ("b.w", &rpm), UnitRule::Convert).unwrap();
        assert!((found.factor - 30.0 / std::f64::consts::PI).abs() < 1e-12);
        let odd = Variable::new("w").unit("flurbs");
        assert!(conversion(("a.w", &odd), ("b.w", &rpm), UnitRule::Convert).is_err());
        assert!(conversion(("a.w", &odd), ("b.w", &rpm), UnitRule::Ignore).unwrap().is_identity());
        let torque = Variable::new("M").unit("N.m");
        let error = conversion(("a.w", &rad), ("b.M", &torque), UnitRule::Convert).unwrap_err().to_string();
        assert!(
            error.contains("`a.w` -> `b.M`") && error.contains("rad/s") && error.contains("N.m"),
            "{error}"
        );
    }
}
