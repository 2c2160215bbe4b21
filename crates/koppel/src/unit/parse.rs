//! Reads unit expressions.

use super::table::{close_names, is_compound, lookup};
use super::{DEEPEST_NESTING, LARGEST_EXPONENT, UnitError};

/// A unit while it is read. Powers of ten and the two sides of the quotient stay apart until the end, so that
/// `km/h` is the f64 nearest to 1000/3600 and `L` equals `dm3`.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) exponents: [i32; 8],
    pub(super) numerator: f64,
    pub(super) denominator: f64,
    pub(super) decimals: i32,
}

impl Product {
    pub(super) const ONE: Product =
        Product { exponents: [0; 8], numerator: 1.0, denominator: 1.0, decimals: 0 };

    pub(super) fn number(value: f64) -> Product {
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

    pub(super) fn factor(&self) -> f64 {
        let above = 10f64.powi(self.decimals.max(0));
        let below = 10f64.powi((-self.decimals).max(0));
        (self.numerator * above) / (self.denominator * below)
    }
}

/// `quotient := power ((product sign)? power | '/' power)*`, `power := (name | number | '(' quotient ')') exponent?`
pub(super) struct Parser<'a> {
    pub(super) unit: &'a str,
    pub(super) rest: &'a str,
    pub(super) depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn whole(mut self) -> Result<Product, UnitError> {
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
        let follows = self.rest.starts_with(raises) && !self.rest.starts_with('^');
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

    pub(super) fn number(&mut self) -> Result<Product, UnitError> {
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
        let rest = &self.rest[end..];
        let is_raised = is_compound(name) && (rest.starts_with(raises) || rest.starts_with("**"));
        let product = lookup(name).filter(|_| !is_raised).ok_or_else(|| UnitError::Unknown {
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

/// True of what an exponent begins with.
fn raises(c: char) -> bool {
    c.is_ascii_digit() || "^+-⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹".contains(c)
}

fn digit(c: char) -> Option<i32> {
    let raised = "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|raised| raised == c).map(|value| value as i32);
    raised.or_else(|| c.to_digit(10).map(|value| value as i32))
}
