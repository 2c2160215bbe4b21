//! Reads a text of equations into statements.
//!
//! ```text
//! parameter m = 1200 [kg] "mass", cd = 0.3      parameters may be formulas of others
//! input F [N] "force of the engine"
//! output v [m/s]
//! state v = 0 [m/s]                            start values; `discrete` for those that `when` sets, `variable` for units
//!
//! drag = 0.5 * rho * cd * A * v * abs(v)       intermediate variables, in any order
//! der(v) = (F - drag) / m
//! when x > 100 then  v = -0.9 * v  end          at a crossing
//! when every(0.01) then  n = n + 1  end         at instants; every(period, offset)
//! ```
//!
//! A statement ends with its line or `;`; `#` and `//` begin comments. What is not understood is noted and the next statement read.

use super::delay;
use super::mistake::{Kind, Mistake};
use crate::expression::{ExpressionError, Formula, Functions, Layout, Parser, Token};
use std::ops::Range;

type Span = Range<usize>;

/// A name and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

/// `name = formula`.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub(super) target: Name,
    /// Nothing where it was not understood.
    pub(super) formula: Option<Formula>,
}

/// When the assignments of a `when` are carried out.
#[derive(Debug, Clone)]
pub(super) enum Trigger {
    /// When this becomes true.
    Becomes(Formula),
    /// At instants: period and offset.
    Every(Formula, Option<Formula>),
    /// Not understood.
    Unknown,
}

#[derive(Debug, Clone)]
pub(super) struct When {
    pub(super) trigger: Trigger,
    pub(super) span: Span,
    pub(super) body: Vec<Assignment>,
    /// What messages call its period.
    pub(super) what: &'static str,
}

/// A declaration in the text.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    pub(super) kind: Kind,
    pub(super) name: Name,
    pub(super) value: Option<Formula>,
    pub(super) unit: Option<String>,
    pub(super) about: String,
}

/// Everything a text says.
#[derive(Debug, Clone, Default)]
pub(super) struct Statements {
    pub(super) declared: Vec<Declared>,
    /// `der(x) = formula`, by x.
    pub(super) derivatives: Vec<Assignment>,
    pub(super) equations: Vec<Assignment>,
    pub(super) whens: Vec<When>,
}

/// Reads a text; mistakes are added to those that are known.
pub(super) fn read(text: &str, mistakes: &mut Vec<Mistake>) -> Statements {
    let mut statements = Statements::default();
    match Parser::new(text, Layout::Statements, Functions::Any) {
        Ok(parser) => Reader { parser, text, mistakes, statements: &mut statements }.all(),
        Err(error) => mistakes.push(Mistake::syntax(&error, text)),
    }
    delay::expand(&mut statements, mistakes);
    statements
}

/// Reads one formula that stands outside of the text.
pub(super) fn formula(text: &str) -> Result<Formula, ExpressionError> {
    let mut parser = Parser::new(text, Layout::Formula, Functions::Any)?;
    let formula = parser.formula()?;
    match parser.peek() {
        Token::End => Ok(formula),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Reader<'a> {
    parser: Parser<'a>,
    text: &'a str,
    mistakes: &'a mut Vec<Mistake>,
    statements: &'a mut Statements,
}

impl Reader<'_> {
    fn all(mut self) {
        loop {
            while self.parser.eat(&Token::Break) {}
            match self.parser.peek() {
                Token::End => return,
                Token::When => self.when(),
                Token::EndWhen => {
                    let (_, span) = self.parser.take();
                    self.mistakes.push(
                        Mistake::at(&span, "`end` without `when`")
                            .hint("`end` ends a `when`, and nothing else"),
                    );
                }
                Token::If => {
                    let (_, span) = self.parser.take();
                    let hint = "choose inside of a formula: y = if c then a else b";
                    self.mistakes.push(Mistake::at(&span, "an `if` is no statement").hint(hint));
                    self.skip();
                }
                Token::Name { name, plain: true }
                    if Kind::of(name).is_some()
                        && matches!(self.parser.peek_second(), Token::Name { .. }) =>
                {
                    self.declarations();
                }
                _ => self.equation(),
            }
        }
    }

    /// Keeps a mistake of the syntax and goes on with the next statement.
    fn note<T>(&mut self, result: Result<T, ExpressionError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let mut mistake = Mistake::syntax(&error, self.text);
                mistake.hint = mistake.hint.or_else(|| self.advice(&error));
                self.mistakes.push(mistake);
                self.skip();
                None
            }
        }
    }

    /// What was probably meant.
    fn advice(&self, error: &ExpressionError) -> Option<String> {
        let at = error.position().min(self.text.len());
        let rest = &self.text[at..];
        let before = at.checked_sub(1).and_then(|before| self.text.get(before..)).unwrap_or_default();
        let starts = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
        Some(match () {
            () if before.starts_with("**") => "powers are written `a^b`".into(),
            () if starts(&[":="]) => "write `=`".into(),
            () if starts(&["?"]) => "write `if c then a else b`".into(),
            () if starts(&["=="]) => "an equation has one `=`".into(),
            () if starts(&["'"]) => "a derivative is written `der(x)`".into(),
            () => return None,
        })
    }

    fn skip(&mut self) {
        while !matches!(self.parser.peek(), Token::Break | Token::End | Token::EndWhen) {
            self.parser.take();
        }
    }

    /// Nothing but the end of the statement may follow.
    fn finish(&mut self) {
        if !matches!(self.parser.peek(), Token::Break | Token::End | Token::EndWhen) {
            let error = self.parser.unexpected("an operator or the end of the statement");
            self.note::<()>(Err(error));
        }
    }

    fn equation(&mut self) {
        let Some((target, is_derivative)) = self.target() else { return };
        let formula = self.right_side();
        let assignment = Assignment { target, formula };
        if is_derivative {
            self.statements.derivatives.push(assignment);
        } else {
            self.statements.equations.push(assignment);
        }
    }

    /// The left side of an equation and its `=`; true for `der(x)`.
    fn target(&mut self) -> Option<(Name, bool)> {
        let Token::Name { name, plain } = self.parser.peek().clone() else {
            let error = self.parser.unexpected("an equation such as `y = ..` or `der(x) = ..`");
            return self.note(Err(error));
        };
        let (_, span) = self.parser.take();
        let is_derivative = plain && name == "der" && self.parser.peek() == &Token::Open;
        let target = if is_derivative {
            let state = self.parser.derivative_of();
            let text = self.note(state)?;
            Name { text, span: span.start..self.parser.end() }
        } else {
            Name { text: name, span }
        };
        let equals = self.parser.expect(&Token::Equals, "`=`");
        self.note(equals)?;
        Some((target, is_derivative))
    }

    fn right_side(&mut self) -> Option<Formula> {
        let formula = self.parser.formula();
        let formula = self.note(formula)?;
        self.finish();
        Some(formula)
    }

    fn when(&mut self) {
        let (_, start) = self.parser.take();
        let trigger = self.trigger();
        let span = start.start..self.parser.end();
        let is_known = !matches!(trigger, Trigger::Unknown);
        if is_known {
            let then = self.parser.expect(&Token::Then, "`then`");
            self.note(then);
        } else {
            // The condition is not understood; what follows `then` is a statement all the same.
            self.parser.eat(&Token::Then);
        }
        let mut body = Vec::new();
        loop {
            while self.parser.eat(&Token::Break) {}
            match self.parser.peek() {
                Token::EndWhen => {
                    self.parser.take();
                    self.parser.eat(&Token::When);
                    self.finish();
                    break;
                }
                Token::End | Token::When => {
                    self.mistakes.push(
                        Mistake::at(&start, "this `when` has no `end`")
                            .hint("write `when CONDITION then ASSIGNMENTS end`"),
                    );
                    break;
                }
                _ => {
                    let Some((target, is_derivative)) = self.target() else { continue };
                    let formula = self.right_side();
                    if is_derivative {
                        let what = "a `when` sets states and discrete variables, not derivatives";
                        let hint = "let the equation follow a discrete variable that `when` sets";
                        self.mistakes.push(Mistake::at(&target.span, what).hint(hint));
                    } else {
                        body.push(Assignment { target, formula });
                    }
                }
            }
        }
        self.statements.whens.push(When { trigger, span, body, what: "the period" });
    }

    fn trigger(&mut self) -> Trigger {
        let is_every = matches!(self.parser.peek(), Token::Name { name, plain: true } if name == "every")
            && self.parser.peek_second() == &Token::Open;
        if !is_every {
            return match self.condition() {
                Some(formula) => Trigger::Becomes(formula),
                None => Trigger::Unknown,
            };
        }
        self.parser.take();
        self.parser.take();
        let Some(period) = self.condition() else { return Trigger::Unknown };
        let offset = if self.parser.eat(&Token::Comma) {
            let Some(offset) = self.condition() else { return Trigger::Unknown };
            Some(offset)
        } else {
            None
        };
        let close = self.parser.expect(&Token::Close, "`)`: every(period) or every(period, offset)");
        match self.note_condition(close) {
            Some(()) => Trigger::Every(period, offset),
            None => Trigger::Unknown,
        }
    }

    fn condition(&mut self) -> Option<Formula> {
        let formula = self.parser.formula();
        self.note_condition(formula)
    }

    /// As `note`, but goes on at `then`.
    fn note_condition<T>(&mut self, result: Result<T, ExpressionError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let mut mistake = Mistake::syntax(&error, self.text);
                mistake.hint = mistake.hint.or_else(|| self.advice(&error));
                self.mistakes.push(mistake);
                while !matches!(self.parser.peek(), Token::Then | Token::Break | Token::End | Token::EndWhen)
                {
                    self.parser.take();
                }
                None
            }
        }
    }

    /// `parameter m = 1200 [kg] "mass", cd = 0.3`.
    fn declarations(&mut self) {
        let (word, _) = self.parser.take();
        let kind = match word {
            Token::Name { name, .. } => Kind::of(&name).unwrap_or(Kind::Variable),
            _ => Kind::Variable,
        };
        loop {
            let Token::Name { name, .. } = self.parser.peek().clone() else {
                let error = self.parser.unexpected("a name");
                self.note::<()>(Err(error));
                return;
            };
            let (_, span) = self.parser.take();
            let name = Name { text: name, span };
            let mut value = None;
            if self.parser.eat(&Token::Equals) {
                let formula = self.parser.formula();
                let Some(formula) = self.note(formula) else { return };
                value = Some(formula);
            }
            let unit = self.word(|token| if let Token::Unit(text) = token { Some(text) } else { None });
            let about = self.word(|token| if let Token::Text(text) = token { Some(text) } else { None });
            let about = about.unwrap_or_default();
            self.statements.declared.push(Declared { kind, name, value, unit, about });
            if !self.parser.eat(&Token::Comma) {
                break;
            }
        }
        self.finish();
    }

    fn word(&mut self, wanted: impl Fn(Token) -> Option<String>) -> Option<String> {
        let found = wanted(self.parser.peek().clone());
        if found.is_some() {
            self.parser.take();
        }
        found
    }
}
