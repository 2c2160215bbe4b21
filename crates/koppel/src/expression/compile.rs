//! Turns tokens into a program in postfix order.

use super::program::{Binary, FUNCTIONS, Function, Instruction, Unary};
use super::token::{Placed, Token};
use super::{DEEPEST_NESTING, ExpressionError, STACK};

/// One function per level of precedence; each leaves one value on the stack.
pub(super) struct Compiler {
    pub(super) tokens: Vec<Placed>,
    pub(super) next: usize,
    pub(super) nesting: usize,
    /// Values on the stack after the program so far.
    pub(super) depth: usize,
    pub(super) program: Vec<Instruction>,
    pub(super) names: Vec<String>,
}

impl Compiler {
    pub(super) fn disjunction(&mut self) -> Result<(), ExpressionError> {
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
        if !self.eat(&Token::Not) {
            return self.comparison();
        }
        self.nested(Compiler::negation)?;
        self.emit(Instruction::Unary(Unary::Not))
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
        match self.eat_operator(&[Binary::Minus, Binary::Plus]) {
            Some(Binary::Minus) => {
                self.nested(Compiler::signed)?;
                self.emit(Instruction::Unary(Unary::Minus))
            }
            Some(_) => self.nested(Compiler::signed),
            None => self.power(),
        }
    }

    fn power(&mut self) -> Result<(), ExpressionError> {
        self.operand()?;
        if self.eat_operator(&[Binary::Power]).is_some() {
            self.nested(Compiler::signed)?;
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
                self.nested(Compiler::disjunction)?;
                self.close()
            }
            Token::Name { name, plain } => {
                self.next += 1;
                self.named(name, plain, position)
            }
            _ => Err(self.unexpected("a number or a name")),
        }
    }

    fn named(&mut self, name: String, plain: bool, position: usize) -> Result<(), ExpressionError> {
        let function =
            FUNCTIONS.iter().find(|(known, _)| plain && *known == name).map(|(_, function)| *function);
        if self.eat(&Token::Open) {
            let function =
                function.ok_or(ExpressionError::UnknownFunction { position, name: name.clone() })?;
            return self.call(function, name, position);
        }
        if function.is_some() {
            return Err(ExpressionError::BareFunction { position, name });
        }
        if plain && name == "time" {
            return self.emit(Instruction::Time);
        }
        let index = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        self.emit(Instruction::Variable(index))
    }

    fn call(&mut self, function: Function, name: String, position: usize) -> Result<(), ExpressionError> {
        let mut found = 1;
        self.nested(Compiler::disjunction)?;
        while self.eat(&Token::Comma) {
            self.nested(Compiler::disjunction)?;
            found += 1;
            match function {
                Function::Many(operation) => self.emit(Instruction::Binary(operation))?,
                Function::One(_) => self.depth -= 1,
            }
        }
        self.close()?;
        match function {
            Function::One(operation) if found == 1 => self.emit(Instruction::Unary(operation)),
            Function::One(_) => {
                Err(ExpressionError::Arguments { position, name, expected: "one argument", found })
            }
            Function::Many(_) if found > 1 => Ok(()),
            Function::Many(_) => {
                Err(ExpressionError::Arguments { position, name, expected: "two or more arguments", found })
            }
        }
    }

    fn nested(
        &mut self,
        inner: impl FnOnce(&mut Compiler) -> Result<(), ExpressionError>,
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
        match instruction {
            Instruction::Number(_) | Instruction::Time | Instruction::Variable(_) => self.depth += 1,
            Instruction::Unary(_) => {}
            Instruction::Binary(_) => self.depth -= 1,
        }
        if self.depth > STACK {
            return Err(ExpressionError::TooDeep { position: self.position(), limit: STACK });
        }
        self.program.push(instruction);
        Ok(())
    }

    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.next].token
    }

    fn position(&self) -> usize {
        self.tokens[self.next].start
    }

    fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        self.next += usize::from(found);
        found
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
        if self.eat(&Token::Close) { Ok(()) } else { Err(self.unexpected("`)` or an operator")) }
    }

    pub(super) fn unexpected(&self, what: &'static str) -> ExpressionError {
        let placed = &self.tokens[self.next];
        let found =
            if placed.token == Token::End { "the end".to_owned() } else { format!("`{}`", placed.text) };
        ExpressionError::Unexpected { position: placed.start, what, found }
    }
}
