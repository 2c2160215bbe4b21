//! The instructions of a compiled expression.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Instruction {
    Number(f64),
    Time,
    Variable(usize),
    Unary(Unary),
    Binary(Binary),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unary {
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
    pub(super) fn apply(self, x: f64) -> f64 {
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
pub(super) enum Binary {
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
    pub(super) fn apply(self, a: f64, b: f64) -> f64 {
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
pub(super) enum Function {
    One(Unary),
    /// Two or more arguments, folded from the left.
    Many(Binary),
}

pub(super) const FUNCTIONS: [(&str, Function); 10] = [
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

pub(super) fn known_functions() -> String {
    FUNCTIONS.map(|(name, _)| name).join(", ")
}
