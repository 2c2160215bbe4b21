//! Known values, spellings, and what is refused.

use super::table::{UNITS, lookup};
use super::*;
use std::f64::consts::PI;

fn unit(text: &str) -> Unit {
    Unit::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn convert(from: &str, to: &str) -> Conversion {
    Unit::conversion(&unit(from), &unit(to)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_row_of_the_table_is_defined_and_named_once() {
    for (index, row) in UNITS.iter().enumerate() {
        assert!(lookup(row.0).is_some(), "`{}` = `{}`", row.0, row.1);
        assert!(UNITS[..index].iter().all(|other| other.0 != row.0), "`{}` twice", row.0);
        assert!(Conversion::IDENTITY == convert(row.0, row.0));
    }
}

#[test]
fn spellings_of_one_unit_are_exactly_equal() {
    let groups: [&[&str]; 10] = [
        &["m/s2", "m/s^2", "m.s-2", "m·s⁻²", "m s^-2", "m*s**-2", "m/s/s", "(m/s)/s", "N/kg"],
        &["N.m", "N*m", "N·m", "N m", "J", "W.s", "kg.m2/s2", "Pa.m3", "V.A.s"],
        &["kJ/(kg.K)", "kJ/kg/K", "J/(g.K)", "kJ.kg-1.K-1", "J/(g.degC)"],
        &["l", "L", "dm3", "dm^3"],
        &["1/s", "s-1", "Hz", "1 / s"],
        &["rpm", "r/min", "rev/min", "RPM", "U/min", "1/min"],
        &["kN.m", "kNm", "kJ", "[kN.m]"],
        &["N.m.s/rad", "Nms/rad", "Nm.s/rad"],
        &["1", "-", "[-]", "pu", "p.u."],
        &["degC", "deg C", "°C", "Celsius"],
    ];
    for group in groups {
        for other in group {
            assert!(convert(group[0], other).is_identity(), "{} {other}", group[0]);
            assert_eq!(unit(group[0]).exponents[..7], unit(other).exponents[..7], "{} {other}", group[0]);
        }
    }
}

#[test]
fn known_factors_are_met() {
    let exact = [
        ("deg", "rad", PI / 180.0),
        ("km/h", "m/s", 1000.0 / 3600.0),
        ("rpm", "rad/s", PI / 30.0),
        ("rev", "rad", 2.0 * PI),
        ("bar", "Pa", 1e5),
        ("mbar", "Pa", 1e2),
        ("kWh", "J", 3.6e6),
        ("t", "kg", 1e3),
        ("g", "kg", 1e-3),
        ("ug", "kg", 1e-9),
        ("%", "1", 0.01),
        ("min", "s", 60.0),
        ("d", "h", 24.0),
        ("in", "m", 0.0254),
        ("ft", "m", 0.3048),
        ("mile", "m", 1609.344),
        ("kn", "m/s", 1852.0 / 3600.0),
        ("mm2", "m2", 1e-6),
        ("MW", "kg.m2/s3", 1e6),
        ("mH", "Wb/A", 1e-3),
        ("N/mm", "N/m", 1e3),
        ("-", "1", 1.0),
    ];
    for (from, to, factor) in exact {
        assert_eq!(convert(from, to), Conversion { factor, offset: 0.0 }, "{from} to {to}");
    }
    let near = [
        ("lbf", "N", 4.448_221_615_260_5),
        ("psi", "Pa", 6_894.757_293_168),
        ("hp", "W", 745.699_871_582_27),
        ("PS", "W", 735.498_75),
        ("eV", "J", 1.602_176_634e-19),
        ("gal", "l", 3.785_411_784),
        ("slug", "kg", 14.593_902_937_206),
        ("mph", "km/h", 1.609_344),
    ];
    for (from, to, factor) in near {
        let found = convert(from, to).factor;
        assert!((found / factor - 1.0).abs() < 1e-12, "{from} to {to}: {found}");
    }
}

#[test]
fn offsets_count_only_for_a_unit_alone() {
    assert_eq!(convert("degC", "K"), Conversion { factor: 1.0, offset: 273.15 });
    assert!((convert("degF", "degC").apply(212.0) - 100.0).abs() < 1e-12);
    assert!((convert("degC", "degF").apply(-40.0) + 40.0).abs() < 1e-12);
    assert!(convert("degC", "degC").is_identity());
    assert!(convert("degC/s", "K/s").is_identity());
    assert_eq!(convert("W/degF", "W/K").offset, 0.0);
    assert!((convert("W/degF", "W/K").factor - 1.8).abs() < 1e-15);
}

#[test]
fn radians_meet_numbers_but_not_turns() {
    assert!(convert("N.m/rad", "N.m").is_identity());
    assert_eq!(convert("deg/s", "1/s").factor, PI / 180.0);
    let refused = Unit::conversion(&unit("Hz"), &unit("rad/s"));
    assert!(matches!(refused, Err(UnitError::TurnOrAngle { .. })));
    assert!(convert("kHz", "1/s").factor == 1e3);
    let refused = Unit::conversion(&unit("1/min"), &unit("rad/s"));
    assert!(matches!(refused, Err(UnitError::TurnOrAngle { .. })), "most people mean rpm");
    assert!((convert("rpm", "Hz").factor * 60.0 - 1.0).abs() < 1e-15);
    assert!((convert("Hz", "rev/s").factor - 1.0).abs() < 1e-15);
    assert_eq!(convert("1/min", "1/s").factor, 1.0 / 60.0);
    // The same of units whose factors files give with few digits.
    let given = Unit::from_base("1/min", [0, 0, -1, 0, 0, 0, 0, 0], 0.016_666_7, 0.0).unwrap();
    let refused = Unit::conversion(&given, &unit("rad/s"));
    assert!(matches!(refused, Err(UnitError::TurnOrAngle { .. })), "{refused:?}");
    let turns = Unit::from_base("rpm", [0, 0, -1, 0, 0, 0, 0, 1], 0.104_72, 0.0).unwrap();
    assert!(Unit::conversion(&given, &turns).unwrap().is_identity());
}

#[test]
fn mistakes_are_named() {
    let error = Unit::conversion(&unit("kN"), &unit("km/h")).unwrap_err();
    assert_eq!(error.to_string(), "unit `kN` (kg.m.s-2) does not convert to `km/h` (m.s-1)");
    assert!(matches!(Unit::parse("W/m2.K"), Err(UnitError::Ambiguous { position: 4, .. })));
    assert!(matches!(Unit::parse("W/m2 K"), Err(UnitError::Ambiguous { .. })));
    assert!(matches!(Unit::parse("m/"), Err(UnitError::Syntax { position: 2, .. })));
    assert!(matches!(Unit::parse("(m"), Err(UnitError::Syntax { expected: "`)`", .. })));
    assert!(matches!(Unit::parse("m)"), Err(UnitError::Syntax { position: 1, .. })));
    assert!(matches!(Unit::parse("N-m"), Err(UnitError::Syntax { expected: "an exponent", .. })));
    assert!(matches!(Unit::parse(" "), Err(UnitError::Empty)));
    assert!(matches!(Unit::parse("m999999999999"), Err(UnitError::Exponent { .. })));
    assert!(matches!(Unit::parse("m99.m99"), Err(UnitError::Exponent { .. })));
    assert!(matches!(Unit::parse(&"(".repeat(100_000)), Err(UnitError::Nesting { .. })));
    assert!(matches!(Unit::parse("0.m"), Err(UnitError::Syntax { .. })));
    assert!(matches!(Unit::parse("Nm2"), Err(UnitError::Unknown { .. })), "(N.m)2 or N.m2");
    assert!(matches!(Unit::parse("kNm^2"), Err(UnitError::Unknown { .. })));
    assert!(matches!(Unit::parse("[]"), Err(UnitError::Empty)));
    assert!(Unit::from_base("u", [0; 8], 0.0, 0.0).is_err());
    assert!(Unit::from_base("u", [0; 8], 1.0, f64::NAN).is_err());
    let cases =
        [("KW", "kW"), ("PSI", "psi"), ("Rpm", "rpm"), ("metre", ""), ("degc", "degC"), ("newton", "")];
    for (text, expected) in cases {
        let Err(UnitError::Unknown { close, .. }) = Unit::parse(text) else {
            panic!("{text} was understood")
        };
        assert!(expected.is_empty() || close[0] == expected, "{text}: {close:?}");
    }
}

#[test]
fn own_definitions_of_a_file_convert() {
    let own = Unit::from_base("Grad", [0, 0, 0, 0, 0, 0, 0, 1], PI / 180.0, 0.0).unwrap();
    assert!(Unit::conversion(&own, &unit("deg")).unwrap().is_identity());
    let celsius = Unit::from_base("C", [0, 0, 0, 0, 1, 0, 0, 0], 1.0, 273.15).unwrap();
    assert!((Unit::conversion(&celsius, &unit("degF")).unwrap().apply(100.0) - 212.0).abs() < 1e-10);
}
