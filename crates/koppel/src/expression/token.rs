//! Cuts a text into tokens.
//!
//! A formula of its own is one text, in which the end of a line means nothing. In a text of statements it ends the statement, unless
//! the line is not complete: within parentheses, after an operator, or where the next line goes on with one.

use super::ExpressionError;
use super::program::Binary;
use std::ops::Range;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
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
    If,
    Then,
    ElseIf,
    Else,
    /// `when`, in statements.
    When,
    /// `end`, in statements.
    EndWhen,
    /// `=`, in statements.
    Equals,
    /// The end of a line or `;`, in statements.
    Break,
    /// What stands in brackets, in statements.
    Unit(String),
    /// What stands in quotes, in statements.
    Text(String),
    /// What is no token, to the end of its line; in statements, where the others can be read all the same.
    Bad(Box<ExpressionError>),
    /// The end of the text.
    End,
}

#[derive(Debug)]
pub(crate) struct PlacedToken {
    pub(crate) token: Token,
    pub(crate) span: Range<usize>,
}

/// What a text consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One formula.
    Formula,
    /// Statements.
    Statements,
}

pub(crate) fn tokenize(text: &str, layout: Layout) -> Result<Vec<PlacedToken>, ExpressionError> {
    let mut tokens: Vec<PlacedToken> = vec![];
    let (mut position, mut depth) = (0, 0_usize);
    let statements = layout == Layout::Statements;
    loop {
        position += skipped(&text[position..], layout);
        let rest = &text[position..];
        let Some(first) = rest.chars().next() else {
            tokens.push(PlacedToken { token: Token::End, span: position..position });
            return Ok(tokens);
        };
        let (token, length) = match token(rest, position, first, layout) {
            Ok(found) => found,
            Err(error) if statements => {
                (Token::Bad(error.into()), rest.find('\n').unwrap_or(rest.len()).max(first.len_utf8()))
            }
            Err(error) => return Err(error),
        };
        match token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        let begins_statement = first == '\n' && is_statement(&rest[1..]);
        if begins_statement {
            depth = 0;
        }
        let is_incomplete = || match tokens.last().map(|last| &last.token) {
            // Declarations go on behind a comma, and these have a `=`, too.
            Some(Token::Comma) => true,
            Some(last) => wants_more(last) && !begins_statement,
            None => false,
        };
        let goes_on = first == '\n' && statements && (depth > 0 || is_incomplete());
        let span = position..position + length;
        position += length;
        if statements {
            // The line before was not complete after all.
            while goes_on_with(&token) && tokens.last().is_some_and(|last| is_line_end(last, text)) {
                tokens.pop();
            }
        }
        if !goes_on {
            tokens.push(PlacedToken { token, span });
        }
    }
}

fn token(
    rest: &str,
    position: usize,
    first: char,
    layout: Layout,
) -> Result<(Token, usize), ExpressionError> {
    let statements = layout == Layout::Statements;
    match first {
        '0'..='9' | '.' => number(rest, position),
        '\n' | ';' if statements => Ok((Token::Break, 1)),
        '=' if statements && !rest.starts_with("==") => Ok((Token::Equals, 1)),
        '[' if statements => quoted(rest, position, ']', "a bracket is not closed").map(unit),
        '"' if statements => quoted(rest, position, '"', "a quote is not closed").map(description),
        '`' | '_' => name(rest, position, layout),
        _ if first.is_alphabetic() => name(rest, position, layout),
        _ => sign(rest, position),
    }
}

/// True if the first line has a `=` that compares nothing: it is a statement of its own, whatever was not closed before.
fn is_statement(rest: &str) -> bool {
    let line = rest.split(['\n', '#']).next().unwrap_or(rest).as_bytes();
    let is_alone = |at: usize| {
        let before = if at == 0 { b' ' } else { line[at - 1] };
        line[at] == b'=' && !b"<>=!".contains(&before) && line.get(at + 1) != Some(&b'=')
    };
    (0..line.len()).any(is_alone)
}

/// Blanks and comments. The end of a line is one unless it ends statements.
fn skipped(rest: &str, layout: Layout) -> usize {
    let is_blank = |c: char| c.is_whitespace() && (layout == Layout::Formula || c != '\n');
    let mut at = 0;
    loop {
        at += rest[at..].len() - rest[at..].trim_start_matches(is_blank).len();
        if layout == Layout::Formula || !rest[at..].starts_with(['#']) && !rest[at..].starts_with("//") {
            return at;
        }
        at += rest[at..].find('\n').unwrap_or(rest[at..].len());
    }
}

fn wants_more(token: &Token) -> bool {
    use Token::{Break, Comma, Else, ElseIf, Equals, If, Not, Open, Operator, Then, When};
    matches!(token, Operator(_) | Not | Open | Comma | If | Then | ElseIf | Else | When | Equals | Break)
}

fn goes_on_with(token: &Token) -> bool {
    matches!(
        token,
        Token::Operator(_) | Token::Then | Token::ElseIf | Token::Else | Token::Close | Token::Comma
    )
}

fn is_line_end(placed: &PlacedToken, text: &str) -> bool {
    placed.token == Token::Break && text[placed.span.clone()] == *"\n"
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

/// What stands between the first character and `end` on the same line.
fn quoted<'a>(
    rest: &'a str,
    position: usize,
    end: char,
    what: &'static str,
) -> Result<(&'a str, usize), ExpressionError> {
    let line = rest.find('\n').map_or(rest, |at| &rest[..at]);
    match line[1..].find(end) {
        Some(at) => Ok((&line[1..=at], at + 2)),
        None => Err(ExpressionError::Malformed { position, what }),
    }
}

fn unit((text, length): (&str, usize)) -> (Token, usize) {
    (Token::Unit(text.to_owned()), length)
}

fn description((text, length): (&str, usize)) -> (Token, usize) {
    (Token::Text(text.to_owned()), length)
}

/// Words and quoted parts joined by dots; a word may carry indices in brackets.
fn name(rest: &str, position: usize, layout: Layout) -> Result<(Token, usize), ExpressionError> {
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
        while is_index(&rest[length..], layout) {
            let end = rest[length..].find(']').ok_or(malformed(length, "a bracket is not closed"))?;
            name.push_str(&rest[length..=length + end]);
            length += end + 1;
        }
        if !rest[length..].starts_with('.') {
            return Ok((word(name, plain, layout), length));
        }
        name.push('.');
        length += 1;
    }
}

/// In statements, brackets may hold a unit.
fn is_index(rest: &str, layout: Layout) -> bool {
    let Some(inside) = rest.strip_prefix('[') else { return false };
    layout == Layout::Formula || inside.starts_with(|c: char| c.is_ascii_digit()) && !inside.starts_with("1/")
}

fn word(name: String, plain: bool, layout: Layout) -> Token {
    match name.as_str() {
        _ if !plain => Token::Name { name, plain },
        "and" => Token::Operator(Binary::And),
        "or" => Token::Operator(Binary::Or),
        "not" => Token::Not,
        "if" => Token::If,
        "then" => Token::Then,
        "elseif" => Token::ElseIf,
        "else" => Token::Else,
        "when" if layout == Layout::Statements => Token::When,
        "end" if layout == Layout::Statements => Token::EndWhen,
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
