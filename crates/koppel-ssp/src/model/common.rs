//! What all file formats share: types, units, enumerations, transformations, annotations.

use crate::finding::Position;
use koppel::unit::{Unit, UnitError};
use koppel_fmi::description::ValueType;

/// Version of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 1.0
    #[default]
    One,
    /// 2.0
    Two,
}

impl Version {
    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            Version::One => "1.0",
            Version::Two => "2.0",
        }
    }
}

macro_rules! base_types {
    ($($name:ident),*) => {
        /// The types of connectors and parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names are those of the standard")]
        pub enum BaseType { $($name,)* }

        impl BaseType {
            /// All types.
            pub const ALL: [BaseType; 17] = [$(BaseType::$name,)*];

            /// Name of the element.
            pub const fn name(self) -> &'static str {
                match self { $(BaseType::$name => stringify!($name),)* }
            }
        }
    };
}

base_types! {
    Real, Float64, Float32, Integer, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Boolean, String, Enumeration,
    Binary, Clock
}

/// Types that hold the same sort of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Class {
    Float,
    Integer,
    Boolean,
    String,
    Enumeration,
    Binary,
    Clock,
}

impl BaseType {
    /// Finds a type by the name of its element.
    pub fn named(name: &str) -> Option<BaseType> {
        BaseType::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The sort of value.
    pub fn class(self) -> Class {
        match self {
            BaseType::Real | BaseType::Float64 | BaseType::Float32 => Class::Float,
            BaseType::Boolean => Class::Boolean,
            BaseType::String => Class::String,
            BaseType::Enumeration => Class::Enumeration,
            BaseType::Binary => Class::Binary,
            BaseType::Clock => Class::Clock,
            _ => Class::Integer,
        }
    }

    /// The first version that knows it.
    pub fn since(self) -> Version {
        match self {
            BaseType::Real
            | BaseType::Integer
            | BaseType::Boolean
            | BaseType::String
            | BaseType::Enumeration
            | BaseType::Binary => Version::One,
            _ => Version::Two,
        }
    }

    /// Smallest and largest value of an integer type.
    pub fn range(self) -> Option<(i128, i128)> {
        match self {
            BaseType::Enumeration => None,
            BaseType::Integer => ValueType::Int32.integer_range(),
            other => ValueType::named(other.name())?.integer_range(),
        }
    }
}

/// Type of a connector or a dictionary entry.
#[derive(Clone, Debug, PartialEq)]
pub struct DataType {
    /// Which type.
    pub base: BaseType,
    /// Name of the unit (floats).
    pub unit: Option<String>,
    /// Name of the enumeration (enumerations).
    pub enumeration: Option<String>,
    /// Media type (binaries).
    pub mime: Option<String>,
    /// Timing (clocks).
    pub clock: Option<ClockType>,
    /// Where it stands.
    pub at: Position,
}

impl DataType {
    /// A type without attributes.
    pub fn new(base: BaseType) -> Self {
        let clock = (base == BaseType::Clock).then(ClockType::default);
        DataType { base, unit: None, enumeration: None, mime: None, clock, at: Position::default() }
    }
}

/// Timing of a clock, as in FMI 3.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names are those of the standard")]
pub struct ClockType {
    pub interval_variability: Option<String>,
    pub interval_decimal: Option<f64>,
    pub shift_decimal: Option<f64>,
    pub supports_fraction: Option<bool>,
    pub resolution: Option<u64>,
    pub interval_counter: Option<u64>,
    pub shift_counter: Option<u64>,
    pub priority: Option<u32>,
}

/// One dimension of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A number.
    Fixed(u64),
    /// Given by a structural parameter or constant of the same element.
    Connector(String),
    /// Left open.
    Open,
}

/// A unit in base units.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitDefinition {
    /// Name it is referred to by.
    pub name: String,
    /// Exponents of kg, m, s, A, K, mol, cd, rad.
    pub exponents: [i32; 8],
    /// Base units per unit.
    pub factor: f64,
    /// Base units at zero.
    pub offset: f64,
    /// Where it stands.
    pub at: Position,
}

impl UnitDefinition {
    /// As koppel's unit.
    pub fn unit(&self) -> Result<Unit, UnitError> {
        let mut exponents = [0; 8];
        for (small, large) in exponents.iter_mut().zip(self.exponents) {
            *small = i8::try_from(large).map_err(|_| UnitError::Exponent { unit: self.name.clone() })?;
        }
        Unit::from_base(self.name.clone(), exponents, self.factor, self.offset)
    }
}

impl From<&Unit> for UnitDefinition {
    fn from(unit: &Unit) -> Self {
        UnitDefinition {
            name: unit.name.clone(),
            exponents: unit.exponents.map(i32::from),
            factor: unit.factor,
            offset: unit.offset,
            at: Position::default(),
        }
    }
}

/// An enumeration.
#[derive(Clone, Debug, PartialEq)]
pub struct Enumeration {
    /// Name it is referred to by.
    pub name: String,
    /// Items with their values.
    pub items: Vec<(String, i64)>,
    /// Where it stands.
    pub at: Position,
}

impl Enumeration {
    /// Value of an item.
    pub fn value(&self, item: &str) -> Option<i64> {
        self.items.iter().find(|(name, _)| name == item).map(|(_, value)| *value)
    }
}

/// What happens to a value on its way.
#[derive(Clone, Debug, PartialEq)]
pub enum Transformation {
    /// target = factor · source + offset, after unit conversion.
    Linear {
        /// Multiplies.
        factor: f64,
        /// Is added.
        offset: f64,
    },
    /// A table of booleans.
    Boolean(Vec<(bool, bool)>),
    /// A table of integers, also for enumerations.
    Integer(Vec<(i128, i128)>),
    /// A table of item names.
    Enumeration(Vec<(String, String)>),
}

/// A tool's own data.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// Whose it is, in reverse domain notation.
    pub kind: String,
    /// The content as it was written.
    pub xml: String,
    /// All text in it.
    pub text: String,
    /// Namespace prefixes its content uses from outside, with their names.
    pub namespaces: Vec<(String, String)>,
}
