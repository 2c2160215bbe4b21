//! What happens to a value between an output and an input: unit conversion, or a table in its place.

use super::ports::Variable;
use crate::diagnostic::Remark;
use crate::error::{Error, Result};
use crate::unit::{Conversion, Unit, UnitError};
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
        crate::sort::sort_by(&mut entries, |a, b| a.0.total_cmp(&b.0));
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

/// Factor and offset between the units of both ends; none where a unit is missing. What cannot be told of a unit is
/// noted in `unit_warnings`, and the value goes as it is.
pub(super) fn conversion(
    (from, output): (&str, &Variable),
    (to, input): (&str, &Variable),
    rule: UnitRule,
    unit_warnings: &mut UnitWarnings,
) -> Result<Conversion> {
    let (Some(sent), Some(wanted)) = (&output.unit, &input.unit) else { return Ok(Conversion::IDENTITY) };
    let has_definition = output.definition.is_some() || input.definition.is_some();
    if rule == UnitRule::Ignore || (!has_definition && sent == wanted) {
        return Ok(Conversion::IDENTITY);
    }
    let (a, b) = match (meaning(output), meaning(input)) {
        (Ok(a), Ok(b)) => (a, b),
        // Whatever it means, both ends mean the same.
        _ if sent == wanted => return Ok(Conversion::IDENTITY),
        (Err(error), _) | (_, Err(error)) => {
            unit_warnings.add(from, to, (sent, wanted), error);
            return Ok(Conversion::IDENTITY);
        }
    };
    for (name, variable) in [(from, output), (to, input)] {
        unit_warnings.add_disagreement(name, variable);
    }
    let failed = |source| Error::ConnectionUnit { from: from.into(), to: to.into(), source }.into();
    Unit::conversion(&a, &b).map_err(failed)
}

/// The unit as defined, else as its name says.
fn meaning(variable: &Variable) -> std::result::Result<Unit, UnitError> {
    match &variable.definition {
        Some(unit) => Ok(unit.clone()),
        None => Unit::parse(variable.unit.as_deref().unwrap_or_default()),
    }
}

/// What is not certain about the units of connections, once for each pair of units.
#[derive(Debug, Default)]
pub(super) struct UnitWarnings {
    /// Connection, units of both ends, problem, further connections of the same units.
    unknown: Vec<(String, (String, String), UnitError, usize)>,
    /// Name of the unit, and the text.
    disagreements: Vec<(String, String)>,
}

impl UnitWarnings {
    fn add(&mut self, from: &str, to: &str, (sent, wanted): (&str, &str), error: UnitError) {
        if let Some(known) =
            self.unknown.iter_mut().find(|(_, units, ..)| units.0 == sent && units.1 == wanted)
        {
            known.3 += 1;
            return;
        }
        self.unknown.push((format!("`{from}` -> `{to}`"), (sent.to_owned(), wanted.to_owned()), error, 0));
    }

    /// A definition that is not what its name says elsewhere.
    fn add_disagreement(&mut self, name: &str, variable: &Variable) {
        let Some(own) = &variable.definition else { return };
        let Ok(usual) = Unit::parse(&own.name) else { return };
        if own.agrees(&usual) || self.disagreements.iter().any(|(unit, _)| *unit == own.name) {
            return;
        }
        let text = format!(
            "`{name}`: its FMU defines unit `{}` as {}, which elsewhere is {}; the FMU's own definition is used",
            own.name,
            own.in_base_units(),
            usual.in_base_units()
        );
        self.disagreements.push((own.name.clone(), text));
    }

    /// One remark for each.
    pub(super) fn remarks(self) -> Vec<Remark> {
        let unknown = self.unknown.into_iter().map(|(connection, (sent, wanted), error, more)| {
            let others = match more {
                0 => String::new(),
                1 => "; so does 1 other connection of these units".to_owned(),
                _ => format!("; so do {more} other connections of these units"),
            };
            Remark::new(
                format!(
                    "connection {connection}: {error}. Values in `{sent}` pass unchanged to `{wanted}`{others}"
                ),
                "give the connection a `gain` and an `offset`, or units = \"ignore\" if the numbers are meant as they are",
            )
        });
        unknown.chain(self.disagreements.into_iter().map(|(_, text)| text.into())).collect()
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
        let mut unit_warnings = UnitWarnings::default();
        let mut between =
            |a: &Variable, b: &Variable, rule| conversion(("a.w", a), ("b.w", b), rule, &mut unit_warnings);
        let found = between(&rad, &rpm, UnitRule::Convert).unwrap();
        assert!((found.factor - 30.0 / std::f64::consts::PI).abs() < 1e-12);
        let odd = Variable::new("w").unit("flurbs");
        assert!(between(&odd, &rpm, UnitRule::Ignore).unwrap().is_identity());
        let torque = Variable::new("M").unit("N.m");
        let error = between(&rad, &torque, UnitRule::Convert).unwrap_err().to_string();
        assert!(
            error.contains("`a.w` -> `b.w`") && error.contains("rad/s") && error.contains("N.m"),
            "{error}"
        );
        assert!(unit_warnings.remarks().is_empty(), "1/min of turns is what people mean by it");
    }

    #[test]
    fn an_unknown_unit_is_told_once_for_each_pair() {
        let (odd, torque) = (Variable::new("w").unit("flurbs"), Variable::new("M").unit("N.m"));
        let mut unit_warnings = UnitWarnings::default();
        let mut between = |a: &Variable, b: &Variable| {
            assert!(
                conversion(("a.w", a), ("b.M", b), UnitRule::Convert, &mut unit_warnings)
                    .unwrap()
                    .is_identity()
            );
        };
        between(&odd, &torque);
        between(&odd, &torque);
        between(&odd, &odd);
        between(&odd, &Variable::new("x"));
        between(&torque, &odd);
        let texts: Vec<String> = unit_warnings.remarks().iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        let parts = ["`a.w` -> `b.M`", "unknown name `flurbs`", "`N.m`", "1 other connection", "`gain`"];
        assert!(parts.iter().all(|part| texts[0].contains(part)), "{}", texts[0]);
    }

    #[test]
    fn a_definition_against_its_name_is_used_and_told() {
        let kilonewton = Unit::from_base("kn", [1, 1, -2, 0, 0, 0, 0, 0], 1000.0, 0.0).unwrap();
        let (own, newton) = (Variable::new("F").defined(kilonewton), Variable::new("F").unit("N"));
        let mut unit_warnings = UnitWarnings::default();
        let found =
            conversion(("a.F", &own), ("b.F", &newton), UnitRule::Convert, &mut unit_warnings).unwrap();
        assert_eq!(found.factor, 1000.0);
        let texts: Vec<String> = unit_warnings.remarks().iter().map(ToString::to_string).collect();
        assert!(texts.len() == 1 && texts[0].contains("1000 kg.m.s-2"), "{texts:?}");
    }
}
