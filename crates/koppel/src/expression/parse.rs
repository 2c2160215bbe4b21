//! Turns tokens into formulas in postfix order.

use super::program::{Binary, FUNCTIONS, Function, Instruction, Ternary, Unary};
use super::token::{Layout, PlacedToken, Token, tokenize};
use super::{DEEPEST_NESTING, ExpressionError, STACK};
use std::ops::Range;

/// A formula in postfix order, each instruction with the bytes of the text it was read from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Formula {
    pub(crate) program: Vec<Instruction>,
    /// For each instruction: its operands and itself.
    pub(crate) spans: Vec<Range<usize>>,
    /// Variables in order of their first use.
    pub(crate) names: Vec<String>,
    /// Functions that the language itself does not have.
    pub(crate) calls: Vec<Call>,
}

/// A function that the language itself does not have, with the number of its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: usize,
    /// Its name in the text.
    pub(crate) span: Range<usize>,
}

/// Which functions there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Functions {
    /// Those of the language.
    Known,
    /// Others, too: whoever reads the formula knows them.
    Any,
}

/// One function per level of precedence; each leaves one value on the stack.
pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<PlacedToken>,
    next: usize,
    nesting: usize,
    functions: Functions,
    /// Where the values on the stack begin in the text.
    begins: Vec<usize>,
    formula: Formula,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, layout: Layout, functions: Functions) -> Result<Self, ExpressionError> {
        let tokens = tokenize(text, layout)?;
        let formula = Formula::default();
        Ok(Parser { text, tokens, next: 0, nesting: 0, functions, begins: vec![], formula })
    }

    /// Reads a formula, as far as it goes.
    pub(crate) fn formula(&mut self) -> Result<Formula, ExpressionError> {
        self.formula = Formula::default();
        self.begins.clear();
        self.nesting = 0;
        self.expression()?;
        Ok(std::mem::take(&mut self.formula))
    }

    fn expression(&mut self) -> Result<(), ExpressionError> {
        if self.peek() == &Token::If { self.conditional() } else { self.disjunction() }
    }

    /// `if a then b elseif c then d else e`; what follows `else` goes as far as it can.
    fn conditional(&mut self) -> Result<(), ExpressionError> {
        let mut begins = vec![];
        loop {
            begins.push(self.position());
            self.next += 1;
            self.nested(Parser::expression)?;
            self.expect(&Token::Then, "`then`")?;
            self.nested(Parser::expression)?;
            if self.peek() != &Token::ElseIf {
                break;
            }
        }
        self.expect(&Token::Else, "`else`, which an `if` inside a formula needs")?;
        self.nested(Parser::expression)?;
        while let Some(begin) = begins.pop() {
            self.emit(Instruction::Ternary(Ternary::Select))?;
            *self.begins.last_mut().expect("a value was left") = begin;
            self.formula.spans.last_mut().expect("an instruction was emitted").start = begin;
        }
        Ok(())
    }

    fn disjunction(&mut self) -> Result<(), ExpressionError> {
        self.conjunction()?;
        while self.eat_operator(&[Binary::Or]).is_some() {
            self.conjunction()?;
            self.emit(Instruction::Binary(Binary::Or))?;
        }
        Ok(())
    }

    fn conjunction(&mut self) -> Result<(), ExpressionError> {
        self.negation()?;
        while self.eat_operator(&[Binary::And]).is_some() {
            self.negation()?;
            self.emit(Instruction::Binary(Binary::And))?;
        }
        Ok(())
    }

    fn negation(&mut self) -> Result<(), ExpressionError> {
        let position = self.position();
        if !self.eat(&Token::Not) {
            return self.comparison();
        }
        self.nested(Parser::negation)?;
        self.emit_from(position, Instruction::Unary(Unary::Not))
    }

    fn comparison(&mut self) -> Result<(), ExpressionError> {
        use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        const COMPARISONS: [Binary; 6] = [Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual];
        self.sum()?;
        if let Some(operation) = self.eat_operator(&COMPARISONS) {
            self.sum()?;
            self.emit(Instruction::Binary(operation))?;
        }
        let position = self.position();
        match self.eat_operator(&COMPARISONS) {
            Some(_) => Err(ExpressionError::Chained { position }),
            None => Ok(()),
        }
    }

    fn sum(&mut self) -> Result<(), ExpressionError> {
        self.product()?;
        while let Some(operation) = self.eat_operator(&[Binary::Plus, Binary::Minus]) {
            self.product()?;
            self.emit(Instruction::Binary(operation))?;
        }
        Ok(())
    }

    fn product(&mut self) -> Result<(), ExpressionError> {
        self.signed()?;
        while let Some(operation) = self.eat_operator(&[Binary::Times, Binary::Divide]) {
            self.signed()?;
            self.emit(Instruction::Binary(operation))?;
        }
        Ok(())
    }

    fn signed(&mut self) -> Result<(), ExpressionError> {
        let position = self.position();
        match self.eat_operator(&[Binary::Minus, Binary::Plus]) {
            Some(Binary::Minus) => {
                self.nested(Parser::signed)?;
                self.emit_from(position, Instruction::Unary(Unary::Minus))
            }
            Some(_) => self.nested(Parser::signed),
            None => self.power(),
        }
    }

    fn power(&mut self) -> Result<(), ExpressionError> {
        self.operand()?;
        if self.eat_operator(&[Binary::Power]).is_some() {
            self.nested(Parser::signed)?;
            self.emit(Instruction::Binary(Binary::Power))?;
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<(), ExpressionError> {
        let position = self.position();
        match self.peek().clone() {
            Token::Number(value) => {
                self.next += 1;
                self.emit(Instruction::Number(value))
            }
            Token::Open => {
                self.next += 1;
                self.nested(Parser::expression)?;
                self.close()?;
                *self.begins.last_mut().expect("a value was left") = position;
                Ok(())
            }
            Token::Name { name, plain } => {
                self.next += 1;
                self.named(name, plain, position)
            }
            Token::If => Err(ExpressionError::Malformed { position, what: "`if` needs parentheses here" }),
            _ => Err(self.unexpected("a number or a name")),
        }
    }

    fn named(&mut self, name: String, plain: bool, position: usize) -> Result<(), ExpressionError> {
        let function =
            FUNCTIONS.iter().find(|(known, _)| plain && *known == name).map(|(_, function)| *function);
        if self.peek() == &Token::Open {
            if self.functions == Functions::Any && plain && name == "der" {
                return self.derivative(position);
            }
            self.next += 1;
            return match (function, self.functions) {
                (Some(function), _) => self.call(function, name, position),
                (None, Functions::Any) => self.other_call(name, position),
                (None, Functions::Known) => Err(ExpressionError::UnknownFunction { position, name }),
            };
        }
        if function.is_some() {
            return Err(ExpressionError::BareFunction { position, name });
        }
        if plain && name == "time" {
            return self.emit_from(position, Instruction::Time);
        }
        self.variable(name, position)
    }

    fn variable(&mut self, name: String, position: usize) -> Result<(), ExpressionError> {
        let names = &mut self.formula.names;
        let index = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        self.emit_from(position, Instruction::Variable(index))
    }

    /// `der(x)` is a variable of that name.
    fn derivative(&mut self, position: usize) -> Result<(), ExpressionError> {
        let name = self.derivative_of()?;
        self.variable(format!("der({name})"), position)
    }

    /// The name in `(x)` of `der(x)`.
    pub(crate) fn derivative_of(&mut self) -> Result<String, ExpressionError> {
        self.expect(&Token::Open, "`(`")?;
        let Token::Name { name, .. } = self.peek().clone() else {
            return Err(self.unexpected("the name of a state"));
        };
        self.next += 1;
        if self.peek() != &Token::Close {
            return Err(self.unexpected("`)`: `der` is of one state, not of a formula"));
        }
        self.next += 1;
        Ok(name)
    }

    fn call(&mut self, function: Function, name: String, position: usize) -> Result<(), ExpressionError> {
        let mut found = 0;
        loop {
            self.nested(Parser::expression)?;
            found += 1;
            if let Function::Many(operation) = function
                && found > 1
            {
                self.emit(Instruction::Binary(operation))?;
            }
            if !self.eat(&Token::Comma) {
                break;
            }
        }
        self.close()?;
        let (is_right, expected) = match function {
            Function::One(_) => (found == 1, "one argument"),
            Function::Two(_) => (found == 2, "two arguments"),
            Function::Three(_) => (found == 3, "three arguments"),
            Function::Many(_) => (found > 1, "two or more arguments"),
        };
        if !is_right {
            return Err(ExpressionError::Arguments { position, name, expected, found });
        }
        match function {
            Function::One(operation) => self.emit_from(position, Instruction::Unary(operation)),
            Function::Two(operation) => self.emit_from(position, Instruction::Binary(operation)),
            Function::Three(operation) => self.emit_from(position, Instruction::Ternary(operation)),
            Function::Many(_) => {
                self.formula.spans.last_mut().expect("an instruction was emitted").start = position;
                *self.begins.last_mut().expect("a value was left") = position;
                Ok(())
            }
        }
    }

    /// A function that is known to whoever reads the formula.
    fn other_call(&mut self, name: String, position: usize) -> Result<(), ExpressionError> {
        let span = position..position + name.len();
        let mut arguments = 0;
        if !self.eat(&Token::Close) {
            loop {
                self.nested(Parser::expression)?;
                arguments += 1;
                if !self.eat(&Token::Comma) {
                    break;
                }
            }
            self.close()?;
        }
        self.formula.calls.push(Call { name, arguments, span });
        self.emit_from(position, Instruction::Call(self.formula.calls.len() - 1))
    }

    fn nested(
        &mut self,
        inner: impl FnOnce(&mut Parser<'a>) -> Result<(), ExpressionError>,
    ) -> Result<(), ExpressionError> {
        self.nesting += 1;
        if self.nesting > DEEPEST_NESTING {
            return Err(ExpressionError::TooDeep { position: self.position(), limit: DEEPEST_NESTING });
        }
        inner(self)?;
        self.nesting -= 1;
        Ok(())
    }

    fn emit(&mut self, instruction: Instruction) -> Result<(), ExpressionError> {
        // A number or a name is the token before; what has operands begins where the first of them does.
        let operands = self.operands(instruction);
        let begin = match operands {
            0 => self.tokens[self.next - 1].span.start,
            _ => self.begins[self.begins.len() - operands],
        };
        self.emit_from(begin, instruction)
    }

    fn operands(&self, instruction: Instruction) -> usize {
        match instruction {
            Instruction::Number(_) | Instruction::Time | Instruction::Variable(_) => 0,
            Instruction::Unary(_) => 1,
            Instruction::Binary(_) => 2,
            Instruction::Ternary(_) => 3,
            Instruction::Call(call) => self.formula.calls[call].arguments,
        }
    }

    fn emit_from(&mut self, begin: usize, instruction: Instruction) -> Result<(), ExpressionError> {
        let depth = self.begins.len() - self.operands(instruction);
        self.begins.truncate(depth);
        self.begins.push(begin);
        if self.begins.len() > STACK {
            return Err(ExpressionError::TooDeep { position: self.position(), limit: STACK });
        }
        self.formula.program.push(instruction);
        self.formula.spans.push(begin..self.tokens[self.next - 1].span.end);
        Ok(())
    }

    pub(crate) fn peek(&self) -> &Token {
        &self.tokens[self.next].token
    }

    /// The token after the next.
    pub(crate) fn peek_second(&self) -> &Token {
        &self.tokens[(self.next + 1).min(self.tokens.len() - 1)].token
    }

    /// Takes the next token; the end stays.
    pub(crate) fn take(&mut self) -> (Token, Range<usize>) {
        let PlacedToken { token, span } = &self.tokens[self.next];
        let taken = (token.clone(), span.clone());
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        taken
    }

    pub(crate) fn position(&self) -> usize {
        self.tokens[self.next].span.start
    }

    /// Where the token before ends.
    pub(crate) fn end(&self) -> usize {
        self.tokens[self.next.saturating_sub(1)].span.end
    }

    pub(crate) fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        self.next += usize::from(found);
        found
    }

    pub(crate) fn expect(&mut self, token: &Token, what: &'static str) -> Result<(), ExpressionError> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    fn eat_operator(&mut self, wanted: &[Binary]) -> Option<Binary> {
        match *self.peek() {
            Token::Operator(operation) if wanted.contains(&operation) => {
                self.next += 1;
                Some(operation)
            }
            _ => None,
        }
    }

    fn close(&mut self) -> Result<(), ExpressionError> {
        self.expect(&Token::Close, "`)` or an operator")
    }

    pub(crate) fn unexpected(&self, what: &'static str) -> ExpressionError {
        let PlacedToken { token, span } = &self.tokens[self.next];
        let found = match token {
            Token::Bad(error) => return (**error).clone(),
            Token::End => "the end".to_owned(),
            Token::Break if self.text[span.clone()] == *"\n" => "the end of the line".to_owned(),
            _ => format!("`{}`", &self.text[span.clone()]),
        };
        ExpressionError::Unexpected { position: span.start, what, found }
    }
}
