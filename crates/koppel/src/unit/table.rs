//! Known units, each defined by others, and SI prefixes.

use super::BASE;
use super::parse::{Parser, Product};

/// A name of the table, or a prefix and a name that takes prefixes.
pub(super) fn lookup(name: &str) -> Option<Product> {
    if let Some(row) = UNITS.iter().find(|row| row.0 == name) {
        return define(row.1);
    }
    PREFIXES.iter().find_map(|(prefix, decimals)| {
        let rest = name.strip_prefix(prefix)?;
        let row = UNITS.iter().find(|row| row.0 == rest && row.2 == PREFIXED)?;
        define(row.1).map(|unit| Product { decimals: unit.decimals + decimals, ..unit })
    })
}

/// The definition is an expression in other units; a base unit is defined by `=` and its name.
fn define(definition: &str) -> Option<Product> {
    let Some(base) = definition.strip_prefix('=') else {
        return Parser { unit: definition, rest: definition, depth: 0 }.whole().ok();
    };
    if base == "pi" {
        return Some(Product::number(std::f64::consts::PI));
    }
    let mut product = Product::ONE;
    let name = if base == "g" { "kg" } else { base };
    product.decimals = if base == "g" { -3 } else { 0 };
    product.exponents[BASE.iter().position(|known| *known == name)?] = 1;
    Some(product)
}

/// Up to five known names within one or two edits.
pub(super) fn close_names(name: &str) -> Vec<String> {
    let allowed = if name.chars().count() <= 3 { 1 } else { 2 };
    let prefixed = UNITS
        .iter()
        .filter(|row| row.2 == PREFIXED)
        .flat_map(|row| PREFIXES.iter().map(move |(prefix, _)| (1, format!("{prefix}{}", row.0))));
    let mut close: Vec<(usize, usize, String)> = UNITS
        .iter()
        .map(|row| (0, row.0.to_owned()))
        .chain(prefixed)
        .filter_map(|(prefixed, known)| {
            let same_letters = known.to_lowercase() == name.to_lowercase();
            let distance = if same_letters { 0 } else { edits(name, &known) };
            (distance <= allowed).then_some((distance, prefixed, known))
        })
        .collect();
    close.sort();
    close.into_iter().take(5).map(|(_, _, known)| known).collect()
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

const PREFIXED: bool = true;

const PLAIN: bool = false;

pub(super) const OFFSETS: [(&str, f64); 4] =
    [("degC", 273.15), ("°C", 273.15), ("degF", 459.67 * 5.0 / 9.0), ("°F", 459.67 * 5.0 / 9.0)];

/// Spellings of whole units that the grammar would not read, or not as they are meant: `deg C` is no angle times charge.
pub(super) const SPELLINGS: [(&str, &str); 25] = [
    ("RPM", "rpm"),
    ("-", "1"),
    ("--", "1"),
    ("p.u.", "1"),
    ("pu", "1"),
    ("unitless", "1"),
    ("dimensionless", "1"),
    ("deg C", "degC"),
    ("deg_C", "degC"),
    ("degree C", "degC"),
    ("degree_C", "degC"),
    ("degrees C", "degC"),
    ("° C", "degC"),
    ("℃", "degC"),
    ("Celsius", "degC"),
    ("celsius", "degC"),
    ("deg F", "degF"),
    ("deg_F", "degF"),
    ("° F", "degF"),
    ("℉", "degF"),
    ("Fahrenheit", "degF"),
    ("Kelvin", "K"),
    ("kelvin", "K"),
    ("°K", "K"),
    ("degK", "K"),
];

/// Names made of others without a sign between them: what stands behind them is no exponent of the whole.
pub(super) fn is_compound(name: &str) -> bool {
    let is_listed = |row: &&str| name.strip_suffix(*row).is_some_and(|prefix| prefix.chars().count() <= 2);
    COMPOUNDS.iter().any(is_listed)
}

const COMPOUNDS: [&str; 8] = ["Nm", "Nms", "Ns", "Js", "Ws", "As", "Vs", "Pas"];

const PREFIXES: [(&str, i32); 22] = [
    ("da", 1),
    ("h", 2),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
    ("Z", 21),
    ("Y", 24),
    ("d", -1),
    ("c", -2),
    ("m", -3),
    ("u", -6),
    ("µ", -6),
    ("μ", -6),
    ("n", -9),
    ("p", -12),
    ("f", -15),
    ("a", -18),
    ("z", -21),
    ("y", -24),
];

/// Name, definition, whether it takes SI prefixes. Whole names win over prefix and name: `min` is a minute.
pub(super) const UNITS: &[(&str, &str, bool)] = &[
    ("pi", "=pi", PLAIN),
    ("g", "=g", PREFIXED),
    ("m", "=m", PREFIXED),
    ("s", "=s", PREFIXED),
    ("A", "=A", PREFIXED),
    ("K", "=K", PREFIXED),
    ("mol", "=mol", PREFIXED),
    ("cd", "=cd", PREFIXED),
    ("rad", "=rad", PREFIXED),
    ("sr", "1", PREFIXED),
    ("Hz", "1/s", PREFIXED),
    ("N", "kg.m/s2", PREFIXED),
    ("Pa", "N/m2", PREFIXED),
    ("J", "N.m", PREFIXED),
    ("W", "J/s", PREFIXED),
    ("C", "A.s", PREFIXED),
    ("V", "W/A", PREFIXED),
    ("F", "C/V", PREFIXED),
    ("Ohm", "V/A", PREFIXED),
    ("ohm", "V/A", PREFIXED),
    ("Ω", "V/A", PREFIXED),
    ("S", "A/V", PREFIXED),
    ("Wb", "V.s", PREFIXED),
    ("T", "Wb/m2", PREFIXED),
    ("H", "Wb/A", PREFIXED),
    ("lm", "cd", PREFIXED),
    ("lx", "cd/m2", PREFIXED),
    ("Bq", "1/s", PREFIXED),
    ("Gy", "J/kg", PREFIXED),
    ("Sv", "J/kg", PREFIXED),
    ("kat", "mol/s", PREFIXED),
    ("%", "1/100", PLAIN),
    ("ppm", "1/1000000", PLAIN),
    ("min", "60.s", PLAIN),
    ("h", "3600.s", PLAIN),
    ("d", "86400.s", PLAIN),
    ("day", "86400.s", PLAIN),
    ("sec", "s", PLAIN),
    ("hr", "h", PLAIN),
    ("hour", "h", PLAIN),
    ("wk", "604800.s", PLAIN),
    ("yr", "31557600.s", PLAIN),
    ("deg", "pi.rad/180", PLAIN),
    ("degree", "deg", PLAIN),
    ("degrees", "deg", PLAIN),
    ("°", "pi.rad/180", PLAIN),
    ("arcmin", "pi.rad/10800", PLAIN),
    ("arcsec", "pi.rad/648000", PLAIN),
    ("gon", "pi.rad/200", PLAIN),
    ("rev", "2.pi.rad", PLAIN),
    ("r", "2.pi.rad", PLAIN),
    ("U", "2.pi.rad", PLAIN),
    ("turn", "2.pi.rad", PLAIN),
    ("rpm", "pi.rad/30/s", PLAIN),
    ("rps", "2.pi.rad/s", PLAIN),
    ("t", "1000.kg", PREFIXED),
    ("lb", "45359237.kg/100000000", PLAIN),
    ("lbm", "45359237.kg/100000000", PLAIN),
    ("oz", "lb/16", PLAIN),
    ("slug", "lbf.s2/ft", PLAIN),
    ("in", "254.m/10000", PLAIN),
    ("ft", "3048.m/10000", PLAIN),
    ("yd", "9144.m/10000", PLAIN),
    ("mile", "1609344.m/1000", PLAIN),
    ("mi", "1609344.m/1000", PLAIN),
    ("nmi", "1852.m", PLAIN),
    ("mph", "mile/h", PLAIN),
    ("kn", "nmi/h", PLAIN),
    ("knot", "nmi/h", PLAIN),
    ("knots", "nmi/h", PLAIN),
    ("kph", "km/h", PLAIN),
    ("ha", "10000.m2", PLAIN),
    ("l", "dm3", PREFIXED),
    ("L", "dm3", PREFIXED),
    ("gal", "231.in^3", PLAIN),
    ("lpm", "l/min", PLAIN),
    ("gpm", "gal/min", PLAIN),
    ("cfm", "ft^3/min", PLAIN),
    ("lbf", "lb.980665.m/100000/s2", PLAIN),
    ("kgf", "kg.980665.m/100000/s2", PLAIN),
    ("kp", "kgf", PLAIN),
    ("dyn", "g.cm/s2", PLAIN),
    ("bar", "100000.Pa", PREFIXED),
    ("barA", "100000.Pa", PLAIN),
    ("bara", "100000.Pa", PLAIN),
    ("atm", "101325.Pa", PLAIN),
    ("Torr", "101325.Pa/760", PLAIN),
    ("mmHg", "133322387415.Pa/1000000000", PLAIN),
    ("psi", "lbf/in2", PLAIN),
    ("Nm", "N.m", PREFIXED),
    ("Nms", "N.m.s", PREFIXED),
    ("Ns", "N.s", PREFIXED),
    ("Js", "J.s", PREFIXED),
    ("Ws", "W.s", PREFIXED),
    ("As", "A.s", PREFIXED),
    ("Vs", "V.s", PREFIXED),
    ("Pas", "Pa.s", PREFIXED),
    ("Wh", "W.h", PREFIXED),
    ("Ah", "A.h", PREFIXED),
    ("VA", "V.A", PREFIXED),
    ("var", "V.A", PREFIXED),
    ("eV", "1602176634.J/10^28", PREFIXED),
    ("cal", "4184.J/1000", PREFIXED),
    ("Btu", "105505585262.J/100000000", PLAIN),
    ("hp", "550.ft.lbf/s", PLAIN),
    ("PS", "75.m.kgf/s", PLAIN),
    ("P", "g/cm/s", PREFIXED),
    ("St", "cm2/s", PREFIXED),
    ("degC", "K", PLAIN),
    ("°C", "K", PLAIN),
    ("degF", "5.K/9", PLAIN),
    ("°F", "5.K/9", PLAIN),
];
