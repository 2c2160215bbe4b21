//! Units of formulas, as far as they are known.
//!
//! A sum, a comparison, a choice and an equation have the same unit on both sides; functions such as `exp` take numbers without one.
//! Where a unit is not known nothing is said. A number in a formula has whatever unit fits, but for 1/2, 1, 2, 3 and 4 in a product,
//! which are taken for pure numbers: `0.5 * m * v^2` has a unit, `9.81 * m` has none that is known.
//!
//! Radians count as nothing. Units of one dimension and different size, km/h and m/s, do not fit: nothing is converted inside of
//! formulas.

use super::mistake::{Mistake, Spot};
use super::names::{Names, Placed, Role};
use super::order::order;
use crate::expression::{Binary, Formula, Instruction, Ternary, Unary as Operation};
use crate::unit::Unit;
use std::collections::HashMap;
use std::ops::Range;

/// Exponents of kg, m, s, A, K, mol and cd.
const BASES: usize = 7;
const NAMES: [&str; BASES] = ["kg", "m", "s", "A", "K", "mol", "cd"];
const SECOND: usize = 2;
/// Units with names that say more than their base units.
const NAMED: [&str; 17] =
    ["N", "J", "W", "Pa", "V", "Ohm", "C", "F", "H", "T", "m/s", "m/s2", "N/m", "N.s/m", "km/h", "kN", "bar"];

/// What is known of the unit of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Size {
    /// Nothing.
    Unknown,
    /// A number in a formula: its value.
    Number(f64),
    Known(Dimension),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Dimension {
    exponents: [f64; BASES],
    /// Base units per unit.
    factor: f64,
}

impl Dimension {
    const NONE: Dimension = Dimension { exponents: [0.0; BASES], factor: 1.0 };

    fn of(unit: &Unit) -> Option<Dimension> {
        // Temperatures with a zero of their own are no factors.
        let exponents = std::array::from_fn(|k| f64::from(unit.exponents[k]));
        (unit.offset == 0.0).then_some(Dimension { exponents, factor: unit.factor })
    }

    fn times(self, other: Dimension, sign: f64) -> Dimension {
        let exponents = std::array::from_fn(|k| self.exponents[k] + sign * other.exponents[k]);
        Dimension { exponents, factor: self.factor * other.factor.powf(sign) }
    }

    fn power(self, exponent: f64) -> Dimension {
        let exponents = self.exponents.map(|own| own * exponent);
        Dimension { exponents, factor: self.factor.powf(exponent) }
    }

    fn fits(self, other: Dimension) -> bool {
        let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(b.abs());
        let mut pairs = self.exponents.iter().zip(other.exponents);
        pairs.all(|(a, b)| (a - b).abs() < 1e-9) && is_near(self.factor, other.factor)
    }

    fn second() -> Dimension {
        let mut exponents = [0.0; BASES];
        exponents[SECOND] = 1.0;
        Dimension { exponents, factor: 1.0 }
    }

    /// With the unit's own name if it has one, else in base units.
    fn words(self) -> String {
        let is_meant = |name: &&&str| {
            Unit::parse(name).ok().as_ref().and_then(Dimension::of).is_some_and(|unit| unit.fits(self))
        };
        NAMED.iter().find(is_meant).map_or_else(|| self.in_base_units(), |name| (*name).to_owned())
    }

    fn in_base_units(self) -> String {
        let power = |(name, exponent): (&&str, f64)| match exponent {
            0.0 => None,
            1.0 => Some((*name).to_owned()),
            _ => Some(format!("{name}{exponent}")),
        };
        let units: Vec<String> = NAMES.iter().zip(self.exponents).filter_map(power).collect();
        let unit = if units.is_empty() { "1".to_owned() } else { units.join(".") };
        let factor = format!("{:.6}", self.factor).trim_end_matches('0').trim_end_matches('.').to_owned();
        match (self.factor - 1.0).abs() < 1e-9 {
            true => unit,
            false if factor.len() > 8 || factor == "0" => format!("{:.4e} {unit}", self.factor),
            false => format!("{factor} {unit}"),
        }
    }
}

/// Notes where units do not fit.
pub(super) fn check(names: &Names, mistakes: &mut Vec<Mistake>) {
    let mut checker = Checker { names, known: HashMap::new(), mistakes };
    checker.definitions();
    checker.rest();
}

struct Checker<'a> {
    names: &'a Names,
    /// Units of variables that were found.
    known: HashMap<String, Size>,
    mistakes: &'a mut Vec<Mistake>,
}

impl Checker<'_> {
    fn definitions(&mut self) {
        let definitions = &self.names.definitions;
        let index_of = |name: &String| match self.names.role(name) {
            Some(Role::Defined(index)) => Some(index),
            _ => None,
        };
        let needs: Vec<Vec<usize>> = definitions
            .iter()
            .map(|one| one.formula.as_ref())
            .map(|formula| formula.map_or(vec![], |one| one.names.iter().filter_map(index_of).collect()))
            .collect();
        for index in order(&needs).0 {
            let name = &definitions[index].name;
            let Some(formula) = &definitions[index].formula else { continue };
            let found = self.formula(&Placed { formula: formula.clone(), outside: None });
            let wanted = self.size(&name.text);
            self.must_fit(&name.text, wanted, found, &whole(formula));
            let known = if wanted == Size::Unknown { found } else { wanted };
            self.known.insert(name.text.clone(), known);
        }
    }

    /// Parameters, start values and what `when` sets.
    fn rest(&mut self) {
        for entry in self.names.parameters.iter().chain(self.names.variables.values()) {
            let Some(value) = &entry.value else { continue };
            let found = self.formula(value);
            let wanted = self.size(&entry.name);
            if value.outside.is_none() {
                self.must_fit(&entry.name, wanted, found, &whole(&value.formula));
            }
        }
        for when in &self.names.whens {
            match &when.trigger {
                super::statement::Trigger::Becomes(condition) => {
                    self.formula(&Placed { formula: condition.clone(), outside: None });
                }
                super::statement::Trigger::Every(period, offset) => {
                    for formula in [Some(period), offset.as_ref()].into_iter().flatten() {
                        let found = self.formula(&Placed { formula: formula.clone(), outside: None });
                        self.must_be_time(when.what, found, &whole(formula));
                    }
                }
                super::statement::Trigger::Unknown => {}
            }
            for assignment in &when.body {
                let Some(formula) = &assignment.formula else { continue };
                let found = self.formula(&Placed { formula: formula.clone(), outside: None });
                let wanted = self.size(&assignment.target.text);
                self.must_fit(&assignment.target.text, wanted, found, &whole(formula));
            }
        }
    }

    /// The unit of a name: declared, or found before. That of a derivative is that of the state per second.
    fn size(&self, name: &str) -> Size {
        if let Some(state) = name.strip_prefix("der(").and_then(|rest| rest.strip_suffix(')')) {
            return match self.size(state) {
                Size::Known(unit) => Size::Known(unit.times(Dimension::second(), -1.0)),
                _ => Size::Unknown,
            };
        }
        match self.names.unit(name).map(Dimension::of) {
            Some(Some(unit)) => Size::Known(unit),
            Some(None) => Size::Unknown,
            None => self.known.get(name).copied().unwrap_or(Size::Unknown),
        }
    }

    fn must_fit(&mut self, name: &str, wanted: Size, found: Size, span: &Range<usize>) {
        if let (Size::Known(wanted), Size::Known(found)) = (wanted, found)
            && !wanted.fits(found)
        {
            let own = self.names.unit(name).map_or_else(|| wanted.words(), |unit| unit.name.clone());
            let what = format!("`{name}` is in {own}, its formula in {}", found.words());
            self.mistakes.push(Mistake::at(span, what).hint(ADVICE));
        }
    }

    fn must_be_time(&mut self, what: &str, found: Size, span: &Range<usize>) {
        // What is no parameter is a mistake already.
        let is_told = self.mistakes.iter().any(|mistake| mistake.spot == Spot::Text(span.clone()));
        if let (Size::Known(found), false) = (found, is_told)
            && !found.fits(Dimension::second())
        {
            let what = format!("{what} is a time in s, this is in {}", found.words());
            self.mistakes.push(Mistake::at(span, what).hint(ADVICE));
        }
    }

    /// The unit of a formula.
    fn formula(&mut self, placed: &Placed) -> Size {
        let Formula { program, spans, names, calls } = &placed.formula;
        let mut stack: Vec<Size> = Vec::new();
        let mut is_told = placed.outside.is_some();
        for (instruction, span) in program.iter().zip(spans) {
            let mut clash = None;
            let size = match *instruction {
                Instruction::Number(value) => Size::Number(value),
                Instruction::Time => Size::Known(Dimension::second()),
                Instruction::Variable(index) if names[index] == "pi" => Size::Known(Dimension::NONE),
                Instruction::Variable(index) => self.size(&names[index]),
                Instruction::Unary(operation) => unary(operation, take(&mut stack), &mut clash),
                Instruction::Binary(operation) => {
                    let b = take(&mut stack);
                    binary(operation, take(&mut stack), b, &mut clash)
                }
                Instruction::Ternary(operation) => {
                    let (c, b) = (take(&mut stack), take(&mut stack));
                    let a = take(&mut stack);
                    match operation {
                        Ternary::Select => same(b, c, &mut clash),
                        Ternary::Clamp => {
                            let limits = same(b, c, &mut clash);
                            same(a, limits, &mut clash)
                        }
                    }
                }
                Instruction::Call(index) => {
                    stack.truncate(stack.len() - calls[index].arguments);
                    Size::Unknown
                }
            };
            // What follows from a mistake is none.
            stack.push(if clash.is_some() { Size::Unknown } else { size });
            if let Some(what) = clash
                && !std::mem::replace(&mut is_told, true)
            {
                self.mistakes.push(Mistake::at(span, what).hint(ADVICE));
            }
        }
        take(&mut stack)
    }
}

const ADVICE: &str = "give numbers with a unit a name: parameters = { g = { value = 9.81, unit = \"m/s2\" } }; convert by a factor";

fn whole(formula: &Formula) -> Range<usize> {
    formula.spans.last().cloned().unwrap_or_default()
}

fn take(stack: &mut Vec<Size>) -> Size {
    stack.pop().unwrap_or(Size::Unknown)
}

/// A number in a product.
fn factor(size: Size) -> Option<Dimension> {
    match size {
        Size::Known(unit) => Some(unit),
        Size::Number(value) if [0.5, 1.0, 2.0, 3.0, 4.0].contains(&value.abs()) => Some(Dimension::NONE),
        Size::Number(_) | Size::Unknown => None,
    }
}

fn same(a: Size, b: Size, clash: &mut Option<String>) -> Size {
    match (a, b) {
        (Size::Known(left), Size::Known(right)) => {
            if !left.fits(right) {
                *clash = Some(format!("{} and {} do not fit together", left.words(), right.words()));
            }
            a
        }
        (Size::Known(_), _) => a,
        (_, Size::Known(_)) => b,
        _ => Size::Unknown,
    }
}

fn unary(operation: Operation, a: Size, clash: &mut Option<String>) -> Size {
    let none = Size::Known(Dimension::NONE);
    match (operation, a) {
        (Operation::Minus, Size::Number(value)) => Size::Number(-value),
        (Operation::Minus | Operation::Abs | Operation::Floor, _) => a,
        (Operation::Sqrt, Size::Known(unit)) => Size::Known(unit.power(0.5)),
        (Operation::Sqrt, _) => Size::Unknown,
        (Operation::Not | Operation::Sign, _) => none,
        (_, Size::Known(unit)) if !unit.fits(Dimension::NONE) => {
            *clash = Some(format!("this function takes a number without unit, found {}", unit.words()));
            none
        }
        _ => none,
    }
}

fn binary(operation: Binary, a: Size, b: Size, clash: &mut Option<String>) -> Size {
    let none = Size::Known(Dimension::NONE);
    match operation {
        Binary::Plus | Binary::Minus | Binary::Min | Binary::Max | Binary::Mod => match (a, b) {
            (Size::Number(left), Size::Number(right)) => Size::Number(operation.apply(left, right)),
            _ => same(a, b, clash),
        },
        Binary::Times | Binary::Divide => {
            if let (Size::Number(left), Size::Number(right)) = (a, b) {
                return Size::Number(operation.apply(left, right));
            }
            let sign = if operation == Binary::Times { 1.0 } else { -1.0 };
            match (factor(a), factor(b)) {
                (Some(left), Some(right)) => Size::Known(left.times(right, sign)),
                _ => Size::Unknown,
            }
        }
        Binary::Power => match (a, b) {
            (Size::Known(unit), Size::Number(exponent)) => Size::Known(unit.power(exponent)),
            (Size::Known(unit), _) if unit == Dimension::NONE => none,
            _ => Size::Unknown,
        },
        Binary::Atan2 => {
            same(a, b, clash);
            none
        }
        Binary::Or | Binary::And => none,
        _ => {
            same(a, b, clash);
            none
        }
    }
}
