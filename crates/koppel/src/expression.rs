//! Expressions over recorded variables, for stop conditions and measures.
//!
//! From weakest to strongest:
//!
//!   if c then a elseif d then b else e   or ||   and &&   not !   < <= > >= == !=   + -   * /   unary -   ^ (to the right)   ( )
//!
//! with the functions abs, min, max, clamp(x, low, high), sqrt, exp, log (natural), pow, sin, cos, tan, asin, acos, atan,
//! atan2, tanh, sign, floor and mod (of the sign of its second argument). `time` is the time in s. Other
//! names are variables: `body.x[1]`, or `` `odd name` `` and `` body.`der(x)` `` for names that are not plain words.
//! Conditions are 1 or 0; a number other than 0 counts as true.
//!
//! The text becomes a program in postfix order for a stack of fixed size; its depth is checked when it is read, so
//! evaluation neither allocates nor fails. `koppel::equations` reads statements of the same formulas.

mod parse;
mod program;
mod token;

use crate::diagnostic::Diagnostic;
pub(crate) use parse::{Formula, Functions, Parser};
use program::known_functions;
pub(crate) use program::{Binary, Instruction, Ternary, Unary, functions};
use std::fmt;
pub(crate) use token::{Layout, Token};

const STACK: usize = 64;

const DEEPEST_NESTING: usize = 64;

/// A compiled expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: String,
    program: Vec<Instruction>,
    names: Vec<String>,
}

/// Why an expression was not understood. Positions count bytes from 0.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields are named by the messages")]
pub enum ExpressionError {
    Unexpected { position: usize, what: &'static str, found: String },
    Malformed { position: usize, what: &'static str },
    UnknownFunction { position: usize, name: String },
    Arguments { position: usize, name: String, expected: &'static str, found: usize },
    BareFunction { position: usize, name: String },
    Chained { position: usize },
    TooDeep { position: usize, limit: usize },
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.problem(), self.position())
    }
}

impl std::error::Error for ExpressionError {}

impl ExpressionError {
    /// Byte of the text where it went wrong.
    pub fn position(&self) -> usize {
        match *self {
            ExpressionError::Unexpected { position, .. }
            | ExpressionError::Malformed { position, .. }
            | ExpressionError::UnknownFunction { position, .. }
            | ExpressionError::Arguments { position, .. }
            | ExpressionError::BareFunction { position, .. }
            | ExpressionError::Chained { position }
            | ExpressionError::TooDeep { position, .. } => position,
        }
    }

    /// What is wrong without the position, for those who show the place.
    pub fn problem(&self) -> String {
        match self {
            ExpressionError::Unexpected { what, found, .. } => format!("expected {what}, found {found}"),
            ExpressionError::Malformed { what, .. } => (*what).to_owned(),
            ExpressionError::UnknownFunction { name, .. } => format!("unknown function `{name}`"),
            ExpressionError::Arguments { name, expected, found, .. } => {
                format!("function `{name}` takes {expected}, found {found}")
            }
            ExpressionError::BareFunction { name, .. } => format!("`{name}` is a function"),
            ExpressionError::Chained { .. } => "comparisons cannot be chained".to_owned(),
            ExpressionError::TooDeep { limit, .. } => format!("nested deeper than {limit} levels"),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            ExpressionError::UnknownFunction { .. } => format!("known are {}", known_functions()),
            ExpressionError::BareFunction { name, .. } => {
                format!("write `{name}(..)`, or the name of a variable in backticks")
            }
            ExpressionError::Chained { .. } => "write `a < b and b < c`".to_owned(),
            ExpressionError::Unexpected { .. }
            | ExpressionError::Malformed { .. }
            | ExpressionError::Arguments { .. }
            | ExpressionError::TooDeep { .. } => return None,
        })
    }
}

impl Diagnostic for ExpressionError {
    fn hints(&self) -> Vec<String> {
        self.hint().into_iter().collect()
    }
}

impl Expression {
    /// Reads and compiles.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        let mut parser = Parser::new(text, Layout::Formula, Functions::Known)?;
        let Formula { program, names, .. } = parser.formula()?;
        match parser.peek() {
            Token::End => Ok(Expression { text: text.to_owned(), program, names }),
            _ => Err(parser.unexpected("an operator or the end")),
        }
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Variables in order of their first use; `time` is not one.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the outermost operation is a comparison or a boolean one.
    pub fn is_condition(&self) -> bool {
        match self.program.last() {
            Some(Instruction::Binary(operation)) => {
                operation.is_comparison() || matches!(operation, Binary::And | Binary::Or)
            }
            last => matches!(last, Some(Instruction::Unary(Unary::Not))),
        }
    }

    /// The value at `time` (s) with `values` in the order of [`Expression::names`].
    pub fn evaluate(&self, time: f64, values: &[f64]) -> f64 {
        assert!(values.len() == self.names.len(), "one value for every name of the expression");
        let mut stack = [0.0; STACK];
        let mut top = 0;
        for instruction in &self.program {
            match *instruction {
                Instruction::Number(number) => push(&mut stack, &mut top, number),
                Instruction::Time => push(&mut stack, &mut top, time),
                Instruction::Variable(index) => push(&mut stack, &mut top, values[index]),
                Instruction::Unary(operation) => stack[top - 1] = operation.apply(stack[top - 1]),
                Instruction::Binary(operation) => {
                    top -= 1;
                    stack[top - 1] = operation.apply(stack[top - 1], stack[top]);
                }
                Instruction::Ternary(operation) => {
                    top -= 2;
                    stack[top - 1] = operation.apply(stack[top - 1], stack[top], stack[top + 1]);
                }
                Instruction::Call(_) => unreachable!("only functions of the language are read"),
            }
        }
        stack[0]
    }

    /// Whether the condition holds.
    pub fn holds(&self, time: f64, values: &[f64]) -> bool {
        self.evaluate(time, values) != 0.0
    }
}

fn push(stack: &mut [f64; STACK], top: &mut usize, value: f64) {
    stack[*top] = value;
    *top += 1;
}

#[cfg(test)]
mod tests;
