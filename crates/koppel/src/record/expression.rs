//! Expressions over recorded variables, for stop conditions and measures.
//!
//! From weakest to strongest:
//!
//!   or ||   and &&   not !   < <= > >= == !=   + -   * /   unary -   ^ (to the right)   ( )
//!
//! with the functions abs, min, max, sqrt, exp, log (natural), sin, cos, tan and sign. `time` is the time in s. Other
//! names are variables: `body.x[1]`, or `` `odd name` `` and `` body.`der(x)` `` for names that are not plain words.
//! Conditions are 1 or 0; a number other than 0 counts as true.
//!
//! The text becomes a program in postfix order for a stack of fixed size; its depth is checked when it is read, so
//! evaluation neither allocates nor fails.

use thiserror::Error;

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
#[derive(Debug, Clone, PartialEq, Error)]
#[expect(missing_docs, reason = "the fields are named by the messages")]
pub enum ExpressionError {
    #[error("expected {what}, found {found} (byte {position})")]
    Unexpected { position: usize, what: &'static str, found: String },
    #[error("{what} (byte {position})")]
    Malformed { position: usize, what: &'static str },
    #[error("unknown function `{name}` (byte {position})\n  hint: known are {}", known_functions())]
    UnknownFunction { position: usize, name: String },
    #[error("function `{name}` takes {expected}, found {found} (byte {position})")]
    Arguments { position: usize, name: String, expected: &'static str, found: usize },
    #[error(
        "`{name}` is a function (byte {position})\n  hint: write `{name}(..)`, or the name of a variable in backticks"
    )]
    BareFunction { position: usize, name: String },
    #[error("comparisons cannot be chained (byte {position})\n  hint: write `a < b and b < c`")]
    Chained { position: usize },
    #[error("nested deeper than {limit} levels (byte {position})")]
    TooDeep { position: usize, limit: usize },
}

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
}

impl Expression {
    /// Reads and compiles.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        let tokens = tokenize(text)?;
        let mut compiler = Compiler { tokens, next: 0, nesting: 0, depth: 0, program: vec![], names: vec![] };
        compiler.disjunction()?;
        match compiler.peek() {
            Token::End => {
                Ok(Expression { text: text.to_owned(), program: compiler.program, names: compiler.names })
            }
            _ => Err(compiler.unexpected("an operator or the end")),
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
        use Binary::{And, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual, Or};
        matches!(
            self.program.last(),
            Some(
                Instruction::Binary(And | Or | Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual)
                    | Instruction::Unary(Unary::Not)
            )
        )
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

#[derive(Debug, Clone, Copy, PartialEq)]
enum Instruction {
    Number(f64),
    Time,
    Variable(usize),
    Unary(Unary),
    Binary(Binary),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Unary {
    Minus,
    Not,
    Abs,
    Sqrt,
    Exp,
    Log,
    Sin,
    Cos,
    Tan,
    Sign,
}

impl Unary {
    fn apply(self, x: f64) -> f64 {
        match self {
            Unary::Minus => -x,
            Unary::Not => f64::from(x == 0.0),
            Unary::Abs => x.abs(),
            Unary::Sqrt => x.sqrt(),
            Unary::Exp => x.exp(),
            Unary::Log => x.ln(),
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Tan => x.tan(),
            Unary::Sign => {
                if x == 0.0 {
                    0.0
                } else {
                    x.signum()
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Binary {
    Or,
    And,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Plus,
    Minus,
    Times,
    Divide,
    Power,
    Min,
    Max,
}

impl Binary {
    fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Or => f64::from(a != 0.0 || b != 0.0),
            Binary::And => f64::from(a != 0.0 && b != 0.0),
            Binary::Less => f64::from(a < b),
            Binary::LessEqual => f64::from(a <= b),
            Binary::Greater => f64::from(a > b),
            Binary::GreaterEqual => f64::from(a >= b),
            Binary::Equal => f64::from(a == b),
            Binary::NotEqual => f64::from(a != b),
            Binary::Plus => a + b,
            Binary::Minus => a - b,
            Binary::Times => a * b,
            Binary::Divide => a / b,
            Binary::Power => a.powf(b),
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Function {
    One(Unary),
    /// Two or more arguments, folded from the left.
    Many(Binary),
}

const FUNCTIONS: [(&str, Function); 10] = [
    ("abs", Function::One(Unary::Abs)),
    ("min", Function::Many(Binary::Min)),
    ("max", Function::Many(Binary::Max)),
    ("sqrt", Function::One(Unary::Sqrt)),
    ("exp", Function::One(Unary::Exp)),
    ("log", Function::One(Unary::Log)),
    ("sin", Function::One(Unary::Sin)),
    ("cos", Function::One(Unary::Cos)),
    ("tan", Function::One(Unary::Tan)),
    ("sign", Function::One(Unary::Sign)),
];

fn known_functions() -> String {
    FUNCTIONS.map(|(name, _)| name).join(", ")
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    /// A name as written, and whether nothing of it was in backticks.
    Name {
        name: String,
        plain: bool,
    },
    Operator(Binary),
    Not,
    Open,
    Close,
    Comma,
    End,
}

struct Placed {
    token: Token,
    start: usize,
    text: String,
}

fn tokenize(text: &str) -> Result<Vec<Placed>, ExpressionError> {
    let mut tokens = vec![];
    let mut position = 0;
    loop {
        position += text[position..].len() - text[position..].trim_start().len();
        let rest = &text[position..];
        let Some(first) = rest.chars().next() else {
            tokens.push(Placed { token: Token::End, start: position, text: String::new() });
            return Ok(tokens);
        };
        let (token, length) = if first.is_ascii_digit() || first == '.' {
            number(rest, position)?
        } else if first.is_alphabetic() || first == '_' || first == '`' {
            name(rest, position)?
        } else {
            sign(rest, position)?
        };
        tokens.push(Placed { token, start: position, text: rest[..length].to_owned() });
        position += length;
    }
}

fn number(rest: &str, position: usize) -> Result<(Token, usize), ExpressionError> {
    let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(0);
    if rest[length..].starts_with('.') {
        length += 1 + digits(length + 1);
    }
    if rest[length..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    match rest[..length].parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Token::Number(value), length)),
        _ => Err(ExpressionError::Unexpected {
            position,
            what: "a number",
            found: format!("`{}`", &rest[..length]),
        }),
    }
}

/// Words and quoted parts joined by dots; a word may carry indices in brackets.
fn name(rest: &str, position: usize) -> Result<(Token, usize), ExpressionError> {
    let (mut name, mut plain, mut length) = (String::new(), true, 0);
    let malformed = |at: usize, what| ExpressionError::Malformed { position: position + at, what };
    loop {
        let part = &rest[length..];
        if let Some(quoted) = part.strip_prefix('`') {
            let end = quoted.find('`').ok_or(malformed(length, "a backtick is not closed"))?;
            if end == 0 {
                return Err(malformed(length, "a name in backticks is empty"));
            }
            name.push_str(&quoted[..end]);
            plain = false;
            length += end + 2;
        } else if part.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
            name.push_str(&part[..end]);
            length += end;
        } else {
            return Err(malformed(length, "a name cannot end in a dot"));
        }
        while rest[length..].starts_with('[') {
            let end = rest[length..].find(']').ok_or(malformed(length, "a bracket is not closed"))?;
            name.push_str(&rest[length..=length + end]);
            length += end + 1;
        }
        if !rest[length..].starts_with('.') {
            return Ok((word(name, plain), length));
        }
        name.push('.');
        length += 1;
    }
}

fn word(name: String, plain: bool) -> Token {
    match name.as_str() {
        "and" if plain => Token::Operator(Binary::And),
        "or" if plain => Token::Operator(Binary::Or),
        "not" if plain => Token::Not,
        _ => Token::Name { name, plain },
    }
}

fn sign(rest: &str, position: usize) -> Result<(Token, usize), ExpressionError> {
    const SIGNS: [(&str, Token); 17] = [
        ("<=", Token::Operator(Binary::LessEqual)),
        (">=", Token::Operator(Binary::GreaterEqual)),
        ("==", Token::Operator(Binary::Equal)),
        ("!=", Token::Operator(Binary::NotEqual)),
        ("&&", Token::Operator(Binary::And)),
        ("||", Token::Operator(Binary::Or)),
        ("<", Token::Operator(Binary::Less)),
        (">", Token::Operator(Binary::Greater)),
        ("+", Token::Operator(Binary::Plus)),
        ("-", Token::Operator(Binary::Minus)),
        ("*", Token::Operator(Binary::Times)),
        ("/", Token::Operator(Binary::Divide)),
        ("^", Token::Operator(Binary::Power)),
        ("!", Token::Not),
        ("(", Token::Open),
        (")", Token::Close),
        (",", Token::Comma),
    ];
    if let Some((sign, token)) = SIGNS.into_iter().find(|(sign, _)| rest.starts_with(sign)) {
        return Ok((token, sign.len()));
    }
    let what =
        if rest.starts_with('=') { "`==` for a comparison" } else { "an operator, a number or a name" };
    let found = rest.chars().next().map_or(String::new(), |c| format!("`{c}`"));
    Err(ExpressionError::Unexpected { position, what, found })
}

/// One function per level of precedence; each leaves one value on the stack.
struct Compiler {
    tokens: Vec<Placed>,
    next: usize,
    nesting: usize,
    /// Values on the stack after the program so far.
    depth: usize,
    program: Vec<Instruction>,
    names: Vec<String>,
}

impl Compiler {
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

    fn peek(&self) -> &Token {
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

    fn unexpected(&self, what: &'static str) -> ExpressionError {
        let placed = &self.tokens[self.next];
        let found =
            if placed.token == Token::End { "the end".to_owned() } else { format!("`{}`", placed.text) };
        ExpressionError::Unexpected { position: placed.start, what, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Expression {
        Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn value(text: &str) -> f64 {
        parse(text).evaluate(2.5, &[])
    }

    #[test]
    fn precedence_is_that_of_mathematics() {
        let cases = [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("2 - 3 - 4", -5.0),
            ("24 / 4 / 2", 3.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ -1", 0.5),
            ("2 * -3", -6.0),
            ("--4", 4.0),
            ("1e-3 * 1E3 + .5 + 2.", 3.5),
            ("1 + 1 < 3", 1.0),
            ("1 < 2 and 3 < 2", 0.0),
            ("1 or 0 and 0", 1.0),
            ("(1 or 0) and 0", 0.0),
            ("not 1 == 2", 1.0),
            ("not 0 and 0", 0.0),
            ("!(1 > 2) && 2 >= 2 || 0", 1.0),
            ("1 != 1", 0.0),
            ("time * 2", 5.0),
            ("min(3, 1 + 1, 5) + max(1, 2)", 4.0),
            ("abs(-3) + sqrt(16) + exp(0) + log(1) + sin(0) + cos(0) + tan(0)", 9.0),
            ("sign(-7) + sign(0) * 10 + sign(3) * 100", 99.0),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn names_come_in_order_of_first_use() {
        let expression =
            parse("abs(body.x[1]) + b * body.x[1] - `odd name` + body.`der(x)`.y[2,3] + `time` + time");
        assert_eq!(expression.names(), ["body.x[1]", "b", "odd name", "body.der(x).y[2,3]", "time"]);
        assert_eq!(
            expression.evaluate(1000.0, &[-1.0, 2.0, 10.0, 100.0, 0.5]),
            1.0 - 2.0 - 10.0 + 100.0 + 0.5 + 1000.0
        );
        assert_eq!(parse("andy + orbit + `min`").names(), ["andy", "orbit", "min"]);
    }

    #[test]
    fn conditions_are_told_from_numbers() {
        for text in ["a < 1", "(a >= 1)", "not a", "a and b", "a == b || c > 2"] {
            assert!(parse(text).is_condition(), "{text}");
        }
        for text in ["a", "-(a < 1)", "(a < 1) + 1", "max(a < 1, b < 2)", "abs(a > 0)"] {
            assert!(!parse(text).is_condition(), "{text}");
        }
        assert!(!parse("x > 0").holds(0.0, &[f64::NAN]));
        assert!(parse("x > 0").holds(0.0, &[1e-300]));
    }

    #[test]
    fn errors_say_what_and_where() {
        let cases = [
            ("1 + > 2", "expected a number or a name, found `>` (byte 4)"),
            ("", "expected a number or a name, found the end (byte 0)"),
            ("(1 + 2", "expected `)` or an operator, found the end (byte 6)"),
            ("a b", "expected an operator or the end, found `b` (byte 2)"),
            ("2x", "expected an operator or the end, found `x` (byte 1)"),
            ("a = 2", "expected `==` for a comparison, found `=` (byte 2)"),
            ("a ? 2", "expected an operator, a number or a name, found `?` (byte 2)"),
            ("äö + é €", "expected an operator, a number or a name, found `€` (byte 10)"),
            ("a < b < c", "comparisons cannot be chained (byte 6)\n  hint: write `a < b and b < c`"),
            ("sin(1, 2)", "function `sin` takes one argument, found 2 (byte 0)"),
            ("1 + max(1)", "function `max` takes two or more arguments, found 1 (byte 4)"),
            ("`a", "a backtick is not closed (byte 0)"),
            ("b.x[1", "a bracket is not closed (byte 3)"),
            ("a. + 1", "a name cannot end in a dot (byte 2)"),
            ("1e999", "expected a number, found `1e999` (byte 0)"),
        ];
        for (text, expected) in cases {
            assert_eq!(Expression::parse(text).unwrap_err().to_string(), expected, "{text}");
        }
        let error = Expression::parse("1 + sinus(2)").unwrap_err();
        assert!(error.to_string().contains("known are abs, min, max"), "{error}");
        assert_eq!(error.position(), 4);
        assert!(matches!(
            Expression::parse("min < 2"),
            Err(ExpressionError::BareFunction { position: 0, .. })
        ));
    }

    #[test]
    fn deep_nesting_is_refused_and_long_chains_are_not() {
        for deep in ["(", "-", "not ", "2^", "abs(", "!"] {
            let text = deep.repeat(100_000) + "1";
            assert!(matches!(Expression::parse(&text), Err(ExpressionError::TooDeep { .. })), "{deep}");
        }
        let nested = "(".repeat(60) + "1" + &")".repeat(60);
        assert_eq!(value(&nested), 1.0);
        assert_eq!(value(&("1".to_owned() + &" + 1".repeat(10_000))), 10_001.0);
        let right = "1 + (".repeat(60) + "1" + &")".repeat(60);
        assert_eq!(value(&right), 61.0);
        // every level holds six values while the next is read: the stack ends before the nesting does
        let wide = "0 or 1 and 1 < 1 + 1 * 2 ^ (".repeat(20) + "1" + &")".repeat(20);
        assert!(matches!(Expression::parse(&wide), Err(ExpressionError::TooDeep { limit: STACK, .. })));
    }
}
