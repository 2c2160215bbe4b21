//! The instructions of a formula, in postfix order, and the functions there are.

/// One instruction; it takes its operands from the stack and leaves its value there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Instruction {
    Number(f64),
    Time,
    /// A name, by its place in the list of names.
    Variable(usize),
    Unary(Unary),
    Binary(Binary),
    Ternary(Ternary),
    /// A function that the language itself does not have, by its place in the list of calls.
    Call(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Unary {
    Minus,
    Not,
    Abs,
    Sqrt,
    Exp,
    Log,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Tanh,
    Sign,
    Floor,
}

impl Unary {
    pub(crate) fn apply(self, x: f64) -> f64 {
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
            Unary::Asin => x.asin(),
            Unary::Acos => x.acos(),
            Unary::Atan => x.atan(),
            Unary::Tanh => x.tanh(),
            Unary::Sign => {
                if x == 0.0 {
                    0.0
                } else {
                    x.signum()
                }
            }
            Unary::Floor => x.floor(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Binary {
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
    Atan2,
    Mod,
}

impl Binary {
    pub(crate) fn apply(self, a: f64, b: f64) -> f64 {
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
            Binary::Atan2 => a.atan2(b),
            Binary::Mod => a - (a / b).floor() * b,
        }
    }

    pub(crate) fn is_comparison(self) -> bool {
        use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(self, Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual)
    }
}

/// Functions of three values, the first of which was pushed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ternary {
    /// `if a then b else c`.
    Select,
    /// a, but at least b and at most c; b where the two cross.
    Clamp,
}

impl Ternary {
    pub(crate) fn apply(self, a: f64, b: f64, c: f64) -> f64 {
        match self {
            Ternary::Select => {
                if a != 0.0 {
                    b
                } else {
                    c
                }
            }
            // As `max(min(a, c), b)`, but what is no number stays none.
            Ternary::Clamp => {
                let below = if a > c { c } else { a };
                if below < b { b } else { below }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Function {
    One(Unary),
    Two(Binary),
    Three(Ternary),
    /// Two or more arguments, folded from the left.
    Many(Binary),
}

pub(super) const FUNCTIONS: [(&str, Function); 19] = [
    ("abs", Function::One(Unary::Abs)),
    ("min", Function::Many(Binary::Min)),
    ("max", Function::Many(Binary::Max)),
    ("clamp", Function::Three(Ternary::Clamp)),
    ("sqrt", Function::One(Unary::Sqrt)),
    ("exp", Function::One(Unary::Exp)),
    ("log", Function::One(Unary::Log)),
    ("pow", Function::Two(Binary::Power)),
    ("sin", Function::One(Unary::Sin)),
    ("cos", Function::One(Unary::Cos)),
    ("tan", Function::One(Unary::Tan)),
    ("asin", Function::One(Unary::Asin)),
    ("acos", Function::One(Unary::Acos)),
    ("atan", Function::One(Unary::Atan)),
    ("atan2", Function::Two(Binary::Atan2)),
    ("tanh", Function::One(Unary::Tanh)),
    ("sign", Function::One(Unary::Sign)),
    ("floor", Function::One(Unary::Floor)),
    ("mod", Function::Two(Binary::Mod)),
];

/// The names of all functions.
pub(crate) fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

pub(super) fn known_functions() -> String {
    FUNCTIONS.map(|(name, _)| name).join(", ")
}
