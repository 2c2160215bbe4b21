//! What is wrong with a description, and where.

use super::model::{Causality, Variability};

/// A place in an XML file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// The element, with its name attribute if it has one.
    pub element: String,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)?;
        if self.element.is_empty() { Ok(()) } else { write!(f, ": <{}>", self.element) }
    }
}

/// Why a description cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct DescriptionError {
    /// Where.
    pub place: Box<Place>,
    /// Which rule is broken.
    pub problem: Problem,
}

impl DescriptionError {
    /// The same, naming the archive with the file: `engine.fmu!modelDescription.xml`.
    pub(super) fn inside(mut self, archive: &std::path::Path) -> Self {
        self.place.file = format!("{}!{}", archive.display(), self.place.file);
        self
    }
}

/// Something odd that does no harm.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// Where.
    pub place: Box<Place>,
    /// Which rule is broken.
    pub problem: Problem,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// The rules.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum Problem {
    #[error("malformed XML: {reason}")]
    Xml { reason: String },
    #[error("the text is not UTF-8")]
    Encoding,
    #[error("the file declares Latin-1; the standard asks for UTF-8")]
    Latin1,
    #[error("the file has {size} bytes, more than the limit of {limit}")]
    TooLarge { size: usize, limit: usize },
    #[error("an element has more than {limit} attributes")]
    TooManyAttributes { limit: usize },
    #[error("elements are nested deeper than {limit}")]
    TooDeep { limit: usize },
    #[error("the root element must be `{expected}`")]
    Root { expected: &'static str },
    #[error("FMI version `{version}` is not supported; koppel reads FMI 2.0 and FMI 3.0")]
    Version { version: String },
    #[error("FMI version `{version}` is newer than 3.0; read as 3.0")]
    NewerVersion { version: String },
    #[error("attribute `{name}` is missing")]
    MissingAttribute { name: &'static str },
    #[error("element `{name}` is missing")]
    MissingElement { name: &'static str },
    #[error("{attribute}=\"{value}\": expected {expected}")]
    BadValue { attribute: String, value: String, expected: &'static str },
    #[error("there is neither a co-simulation nor a model-exchange section")]
    NoInterface,
    #[error("{what} `{name}` is defined twice")]
    Duplicate { what: &'static str, name: String },
    #[error("unknown {what} `{name}`{}", suggestion(.close))]
    Unknown { what: &'static str, name: String, close: Option<String> },
    #[error("the declared type `{name}` is a {found} type, the variable is {expected}")]
    TypeMismatch { name: String, found: &'static str, expected: &'static str },
    #[error("value reference {reference} belongs to `{first}` already")]
    DuplicateReference { reference: u32, first: String },
    #[error("value reference {reference} is shared with `{first}`, and both can be set")]
    AmbiguousAlias { reference: u32, first: String },
    #[error("value reference {reference} is shared with `{first}`, which has unit `{first_unit}`")]
    AliasUnit { reference: u32, first: String, first_unit: String },
    #[error("{attribute}: index {index} is not within 1..{count}")]
    BadIndex { attribute: &'static str, index: u64, count: usize },
    #[error("{attribute}: no variable has value reference {reference}")]
    BadReference { attribute: &'static str, reference: u32 },
    #[error("causality `{causality:?}` does not go with variability `{variability:?}`")]
    Combination { causality: Causality, variability: Variability },
    #[error("only floating-point variables are continuous")]
    NotContinuous,
    #[error("variability is missing; read as `{read_as:?}`")]
    AssumedVariability { read_as: Variability },
    #[error("`initial` does not go with this causality and variability")]
    Initial,
    #[error("a start value is required")]
    MissingStart,
    #[error("a start value is not allowed here")]
    UselessStart,
    #[error("start has {found} values for {expected} elements")]
    StartLength { found: usize, expected: u64 },
    #[error("min {min} is larger than max {max}")]
    Bounds { min: f64, max: f64 },
    #[error("start value {start} is outside {min} .. {max}")]
    StartOutside { start: f64, min: f64, max: f64 },
    #[error("nominal value {nominal} must be larger than zero")]
    Nominal { nominal: f64 },
    #[error("a dimension needs either `start` or `valueReference`")]
    Dimension,
    #[error("the size comes from `{name}`, which is no structural parameter or constant of type UInt64")]
    DimensionSource { name: String },
    #[error("the array has more than {limit} elements")]
    ArrayTooLarge { limit: u64 },
    #[error("a structural parameter must be an integer or a Boolean")]
    StructuralType,
    #[error("there are two independent variables")]
    TwoIndependents,
    #[error("there is no independent variable (time)")]
    NoIndependent,
    #[error("`{name}` is named as {role}, but is not one")]
    Role { name: String, role: &'static str },
    #[error("output `{name}` is not listed in the model structure")]
    UnlistedOutput { name: String },
    #[error("there are {kinds} dependency kinds for {dependencies} dependencies")]
    KindCount { kinds: usize, dependencies: usize },
    #[error("{first} needs {second}")]
    Requires { first: &'static str, second: &'static str },
    #[error("unknown element is ignored")]
    UnknownElement,
}

fn suggestion(close: &Option<String>) -> String {
    close.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
