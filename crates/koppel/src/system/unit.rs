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

use thiserror::Error;

/// Names of the base units, in the order of [`Unit::exponents`].
pub const BASE: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];

const RADIAN: usize = 7;
const LARGEST_EXPONENT: i32 = 99;
const DEEPEST_NESTING: usize = 32;

/// A unit: powers of the base units, and how its values turn into base units.
#[derive(Debug, Clone, PartialEq)]
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

/// A unit while it is read. Powers of ten and the two sides of the quotient stay apart until the end, so that
/// `km/h` is the f64 nearest to 1000/3600 and `L` equals `dm3`.
#[derive(Clone, Copy)]
struct Product {
    exponents: [i32; 8],
    numerator: f64,
    denominator: f64,
    decimals: i32,
}

impl Product {
    const ONE: Product = Product { exponents: [0; 8], numerator: 1.0, denominator: 1.0, decimals: 0 };

    fn number(value: f64) -> Product {
        Product { numerator: value, ..Product::ONE }
    }

    fn times(mut self, other: Product) -> Product {
        for (mine, theirs) in self.exponents.iter_mut().zip(other.exponents) {
            *mine += theirs;
        }
        self.numerator *= other.numerator;
        self.denominator *= other.denominator;
        self.decimals += other.decimals;
        self
    }

    fn power(self, n: i32) -> Product {
        let (numerator, denominator) =
            if n < 0 { (self.denominator, self.numerator) } else { (self.numerator, self.denominator) };
        let size = n.abs();
        Product {
            exponents: self.exponents.map(|e| e * n),
            numerator: numerator.powi(size),
            denominator: denominator.powi(size),
            decimals: self.decimals * n,
        }
    }

    fn in_range(&self) -> bool {
        self.exponents.iter().all(|e| e.abs() <= LARGEST_EXPONENT) && self.decimals.abs() <= 300
    }

    fn factor(&self) -> f64 {
        let above = 10f64.powi(self.decimals.max(0));
        let below = 10f64.powi((-self.decimals).max(0));
        (self.numerator * above) / (self.denominator * below)
    }
}

/// `quotient := power ((product sign)? power | '/' power)*`, `power := (name | number | '(' quotient ')') exponent?`
struct Parser<'a> {
    unit: &'a str,
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn whole(mut self) -> Result<Product, UnitError> {
        let product = self.quotient()?;
        if self.rest.is_empty() { Ok(product) } else { Err(self.expected("a product sign, `/` or the end")) }
    }

    fn quotient(&mut self) -> Result<Product, UnitError> {
        let mut product = self.power()?;
        let mut divided = false;
        loop {
            self.blanks();
            let position = self.position();
            if self.eat(&["/"]) {
                product = product.times(self.power()?.power(-1));
                divided = true;
            } else if self.eat(&[".", "*", "·", "⋅", "×"]) || self.at_operand() {
                if divided {
                    return Err(UnitError::Ambiguous { unit: self.unit.to_owned(), position });
                }
                product = product.times(self.power()?);
            } else {
                return Ok(product);
            }
            self.check(&product)?;
        }
    }

    fn power(&mut self) -> Result<Product, UnitError> {
        self.blanks();
        let base = match self.rest.chars().next() {
            Some('(') => self.parenthesis()?,
            Some(c) if c.is_ascii_digit() => {
                let number = self.number()?;
                return Ok(if self.eat(&["**", "^"]) { number.power(self.exponent()?) } else { number });
            }
            Some(c) if is_name(c) => self.name()?,
            _ => return Err(self.expected("a unit, `1` or `(`")),
        };
        let marked = self.eat(&["**", "^"]);
        let follows = self.rest.starts_with(|c: char| c.is_ascii_digit() || "+-⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹".contains(c));
        let power = if marked || follows { base.power(self.exponent()?) } else { base };
        self.check(&power)?;
        Ok(power)
    }

    fn parenthesis(&mut self) -> Result<Product, UnitError> {
        self.depth += 1;
        if self.depth > DEEPEST_NESTING {
            return Err(UnitError::Nesting { unit: self.unit.to_owned() });
        }
        self.eat(&["("]);
        let inner = self.quotient()?;
        self.depth -= 1;
        if self.eat(&[")"]) { Ok(inner) } else { Err(self.expected("`)`")) }
    }

    fn number(&mut self) -> Result<Product, UnitError> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(self.rest);
        let fraction = self.rest[length..].strip_prefix('.').map_or(0, digits);
        if fraction > 0 {
            length += 1 + fraction;
        }
        let value: f64 = self.rest[..length].parse().map_err(|_| self.expected("a number"))?;
        if value == 0.0 || !value.is_finite() {
            return Err(self.expected("a finite number above zero"));
        }
        self.rest = &self.rest[length..];
        Ok(Product::number(value))
    }

    fn exponent(&mut self) -> Result<i32, UnitError> {
        let negative = self.eat(&["-", "⁻"]);
        if !negative {
            self.eat(&["+", "⁺"]);
        }
        let mut value = None;
        while let Some((digit, length)) =
            self.rest.chars().next().and_then(|c| Some((digit(c)?, c.len_utf8())))
        {
            let next = value.unwrap_or(0) * 10 + digit;
            if next > LARGEST_EXPONENT {
                return Err(UnitError::Exponent { unit: self.unit.to_owned() });
            }
            value = Some(next);
            self.rest = &self.rest[length..];
        }
        let value = value.ok_or_else(|| self.expected("an exponent"))?;
        Ok(if negative { -value } else { value })
    }

    fn name(&mut self) -> Result<Product, UnitError> {
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let name = &self.rest[..end];
        let product = lookup(name).ok_or_else(|| UnitError::Unknown {
            unit: self.unit.to_owned(),
            name: name.to_owned(),
            close: close_names(name),
        })?;
        self.rest = &self.rest[end..];
        Ok(product)
    }

    fn at_operand(&self) -> bool {
        self.rest.starts_with(|c: char| is_name(c) || c == '(' || c.is_ascii_digit())
    }

    fn check(&self, product: &Product) -> Result<(), UnitError> {
        if product.in_range() { Ok(()) } else { Err(UnitError::Exponent { unit: self.unit.to_owned() }) }
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, signs: &[&str]) -> bool {
        let shorter = signs.iter().find_map(|sign| self.rest.strip_prefix(sign));
        self.rest = shorter.unwrap_or(self.rest);
        shorter.is_some()
    }

    fn position(&self) -> usize {
        self.unit.len() - self.rest.len()
    }

    fn expected(&self, expected: &'static str) -> UnitError {
        let found = self.rest.chars().next().map_or("the end".to_owned(), |c| format!("`{c}`"));
        UnitError::Syntax { unit: self.unit.to_owned(), position: self.position(), expected, found }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | '%' | '°' | 'µ' | '\'' | '"')
}

fn digit(c: char) -> Option<i32> {
    let raised = "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|raised| raised == c).map(|value| value as i32);
    raised.or_else(|| c.to_digit(10).map(|value| value as i32))
}

/// A name of the table, or a prefix and a name that takes prefixes.
fn lookup(name: &str) -> Option<Product> {
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
fn close_names(name: &str) -> Vec<String> {
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

const OFFSETS: [(&str, f64); 4] =
    [("degC", 273.15), ("°C", 273.15), ("degF", 459.67 * 5.0 / 9.0), ("°F", 459.67 * 5.0 / 9.0)];

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
const UNITS: &[(&str, &str, bool)] = &[
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
    ("wk", "604800.s", PLAIN),
    ("yr", "31557600.s", PLAIN),
    ("deg", "pi.rad/180", PLAIN),
    ("°", "pi.rad/180", PLAIN),
    ("arcmin", "pi.rad/10800", PLAIN),
    ("arcsec", "pi.rad/648000", PLAIN),
    ("gon", "pi.rad/200", PLAIN),
    ("rev", "2.pi.rad", PLAIN),
    ("r", "2.pi.rad", PLAIN),
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
    ("kph", "km/h", PLAIN),
    ("ha", "10000.m2", PLAIN),
    ("l", "dm3", PREFIXED),
    ("L", "dm3", PREFIXED),
    ("gal", "231.in^3", PLAIN),
    ("lbf", "lb.980665.m/100000/s2", PLAIN),
    ("kgf", "kg.980665.m/100000/s2", PLAIN),
    ("kp", "kgf", PLAIN),
    ("dyn", "g.cm/s2", PLAIN),
    ("bar", "100000.Pa", PREFIXED),
    ("atm", "101325.Pa", PLAIN),
    ("Torr", "101325.Pa/760", PLAIN),
    ("mmHg", "133322387415.Pa/1000000000", PLAIN),
    ("psi", "lbf/in2", PLAIN),
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

#[cfg(test)]
mod tests {
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
        let groups: [&[&str]; 6] = [
            &["m/s2", "m/s^2", "m.s-2", "m·s⁻²", "m s^-2", "m*s**-2", "m/s/s", "(m/s)/s", "N/kg"],
            &["N.m", "N*m", "N·m", "N m", "J", "W.s", "kg.m2/s2", "Pa.m3", "V.A.s"],
            &["kJ/(kg.K)", "kJ/kg/K", "J/(g.K)", "kJ.kg-1.K-1", "J/(g.degC)"],
            &["l", "L", "dm3", "dm^3"],
            &["1/s", "s-1", "Hz", "1 / s"],
            &["rpm", "r/min", "rev/min"],
        ];
        for group in groups {
            for other in group {
                assert!(convert(group[0], other).is_identity(), "{} {other}", group[0]);
                assert_eq!(unit(group[0]).exponents, unit(other).exponents, "{} {other}", group[0]);
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
}
