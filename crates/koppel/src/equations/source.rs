//! A model as it is given: a text, and what is declared beside it.

use super::map::MapConfig;
use super::mistake::Kind;
use super::statement;

/// A text of equations with declarations beside it. What is declared in both is one: what stands beside the text wins, so a text
/// can be used again with other parameters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Source {
    /// Equations, as `statement.rs` tells.
    pub text: String,
    /// Declarations that do not stand in the text.
    pub declarations: Vec<Declaration>,
    /// Lookup tables, which are called like functions.
    pub maps: Vec<MapConfig>,
    /// If it is sampled as a whole: its period in s.
    pub every: Option<f64>,
}

impl Source {
    /// A text alone.
    pub fn new(text: impl Into<String>) -> Self {
        Source { text: text.into(), ..Source::default() }
    }

    /// Names of the parameters that the text declares.
    pub fn parameters(&self) -> Vec<String> {
        let declared = statement::read(&self.text, &mut Vec::new()).declared.into_iter();
        declared.filter(|one| one.kind == Kind::Parameter).map(|one| one.name.text).collect()
    }

    /// The same with a declaration more.
    #[must_use]
    pub fn with(mut self, declaration: Declaration) -> Self {
        self.declarations.push(declaration);
        self
    }
}

/// A parameter, an input, an output, or what is known of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Of a parameter or an input: its value; of a state or a discrete variable: its start value.
    pub value: Option<Value>,
    /// Its unit.
    pub unit: Option<String>,
    /// Typical magnitude, if known.
    pub nominal: Option<f64>,
    /// One line for the reader.
    pub about: String,
}

impl Declaration {
    /// A name without anything.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Declaration { kind, name: name.into(), value: None, unit: None, nominal: None, about: String::new() }
    }

    /// The same with a number.
    #[must_use]
    pub fn value(self, value: f64) -> Self {
        Declaration { value: Some(Value::Number(value)), ..self }
    }

    /// The same with a unit.
    #[must_use]
    pub fn unit(self, unit: &str) -> Self {
        Declaration { unit: Some(unit.to_owned()), ..self }
    }
}

/// A number, or a formula of parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A formula.
    Formula(String),
}
