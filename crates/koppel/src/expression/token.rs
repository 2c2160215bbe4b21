//! Cuts the text of an expression into tokens.

use super::ExpressionError;
use super::program::Binary;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
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

pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) start: usize,
    pub(super) text: String,
}

pub(super) fn tokenize(text: &str) -> Result<Vec<Placed>, ExpressionError> {
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
