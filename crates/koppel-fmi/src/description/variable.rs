//! One variable, as its description tells it.

use super::types::{Attributes, ValueType};

/// What part a variable plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "names of the standard")]
pub enum Causality {
    Parameter,
    CalculatedParameter,
    StructuralParameter,
    Input,
    Output,
    Local,
    Independent,
}

/// When a variable may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "names of the standard")]
pub enum Variability {
    Constant,
    Fixed,
    Tunable,
    Discrete,
    Continuous,
}

/// What a start value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "names of the standard")]
pub enum Initial {
    Exact,
    Approx,
    Calculated,
}

/// Start values: one for a scalar; for an array one per element, or one for all.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// Of floats.
    Reals(Vec<f64>),
    /// Of integers and enumerations.
    Integers(Vec<i128>),
    /// Of Booleans.
    Booleans(Vec<bool>),
    /// Of strings.
    Strings(Vec<String>),
    /// Of binaries.
    Binaries(Vec<Vec<u8>>),
}

impl Start {
    /// How many values it has.
    pub fn len(&self) -> usize {
        match self {
            Start::Reals(list) => list.len(),
            Start::Integers(list) => list.len(),
            Start::Booleans(list) => list.len(),
            Start::Strings(list) => list.len(),
            Start::Binaries(list) => list.len(),
        }
    }

    /// True if it has no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Size of an array along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Always this size.
    Fixed(u64),
    /// The value of this structural parameter (or constant).
    Parameter(usize),
}

/// Another name of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "self-explanatory")]
pub struct Alias {
    pub name: String,
    pub description: Option<String>,
    pub display_unit: Option<String>,
}

/// A variable of the FMU.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct Variable {
    pub name: String,
    pub value_reference: u32,
    pub value_type: ValueType,
    pub description: Option<String>,
    pub causality: Causality,
    pub variability: Variability,
    /// As written, or the standard's default for this causality and variability; `None` where there is none.
    pub initial: Option<Initial>,
    pub start: Option<Start>,
    pub declared_type: Option<String>,
    /// With what the declared type adds.
    pub attributes: Attributes,
    /// Empty for a scalar.
    pub dimensions: Vec<Dimension>,
    /// The variable this one is the derivative of.
    pub derivative: Option<usize>,
    pub reinit: bool,
    /// The variable that holds the value before the clock ticked.
    pub previous: Option<usize>,
    /// `canHandleMultipleSetPerTimeInstant`, true by default.
    pub can_handle_multiple_set: bool,
    pub intermediate_update: bool,
    /// Clocks that govern it.
    pub clocks: Vec<usize>,
    /// FMI 3.0. In FMI 2.0 aliases are variables with equal references.
    pub aliases: Vec<Alias>,
}

impl Variable {
    /// True for an array.
    pub fn is_array(&self) -> bool {
        !self.dimensions.is_empty()
    }
}
