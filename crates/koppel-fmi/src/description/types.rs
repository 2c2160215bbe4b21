//! Units and types of values.

/// A unit as defined by the FMU: value in base units = factor · value + offset.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitDefinition {
    /// Its name.
    pub name: String,
    /// Its meaning; without it the unit is only a word.
    pub base: Option<BaseUnit>,
    /// Units to show values in.
    pub display_units: Vec<DisplayUnit>,
}

/// Powers of the base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BaseUnit {
    /// Exponents of kg, m, s, A, K, mol, cd, rad.
    pub exponents: [i8; 8],
    /// Base units per unit.
    pub factor: f64,
    /// Value in base units of the zero of this unit.
    pub offset: f64,
}

/// Shown value = factor · value + offset; with `inverse`, factor / value.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "explained by the equation")]
pub struct DisplayUnit {
    pub name: String,
    pub factor: f64,
    pub offset: f64,
    pub inverse: bool,
}

macro_rules! value_types {
    ($($name:ident),*) => {
        /// Types of values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "names of the standard")]
        pub enum ValueType { $($name,)* }

        impl ValueType {
            /// Name of the FMI 3.0 element.
            pub fn name(self) -> &'static str {
                match self { $(ValueType::$name => stringify!($name),)* }
            }

            /// The type whose element has this name.
            pub fn named(name: &str) -> Option<ValueType> {
                match name {
                    $(stringify!($name) => Some(ValueType::$name),)*
                    _ => None,
                }
            }
        }
    };
}

value_types! {
    Float32, Float64, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Boolean, String, Binary, Enumeration, Clock
}

impl ValueType {
    /// True for the two floating-point types.
    pub fn is_float(self) -> bool {
        matches!(self, ValueType::Float32 | ValueType::Float64)
    }

    /// Smallest and largest value of an integer type or enumeration.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        Some(match self {
            ValueType::Int8 => (i8::MIN.into(), i8::MAX.into()),
            ValueType::UInt8 => (0, u8::MAX.into()),
            ValueType::Int16 => (i16::MIN.into(), i16::MAX.into()),
            ValueType::UInt16 => (0, u16::MAX.into()),
            ValueType::Int32 => (i32::MIN.into(), i32::MAX.into()),
            ValueType::UInt32 => (0, u32::MAX.into()),
            ValueType::Int64 | ValueType::Enumeration => (i64::MIN.into(), i64::MAX.into()),
            ValueType::UInt64 => (0, u64::MAX.into()),
            _ => return None,
        })
    }
}

/// Attributes a variable may take from its declared type.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct Attributes {
    pub quantity: Option<String>,
    pub unit: Option<String>,
    pub display_unit: Option<String>,
    pub relative_quantity: bool,
    pub unbounded: bool,
    /// Rounded to the nearest `f64` for 64-bit integers, as is `max`.
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub nominal: Option<f64>,
    pub mime_type: Option<String>,
    pub max_size: Option<u64>,
    /// For clocks.
    pub clock: Option<ClockAttributes>,
}

/// A named type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDefinition {
    /// Its name.
    pub name: String,
    /// What it is a type of.
    pub value_type: ValueType,
    /// One line for the reader.
    pub description: Option<String>,
    /// What variables of this type inherit.
    pub attributes: Attributes,
    /// Values of an enumeration.
    pub items: Vec<EnumerationItem>,
}

/// A value of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "self-explanatory")]
pub struct EnumerationItem {
    pub name: String,
    pub value: i64,
    pub description: Option<String>,
}

/// How a clock ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct ClockAttributes {
    pub interval_variability: IntervalVariability,
    pub can_be_deactivated: bool,
    pub priority: Option<u32>,
    /// Seconds.
    pub interval_decimal: Option<f64>,
    /// Seconds.
    pub shift_decimal: f64,
    pub supports_fraction: bool,
    pub resolution: Option<u64>,
    pub interval_counter: Option<u64>,
    pub shift_counter: u64,
}

/// When the interval of a clock is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "names of the standard")]
pub enum IntervalVariability {
    Constant,
    Fixed,
    Tunable,
    Changing,
    Countdown,
    Triggered,
}

/// A category of log messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "self-explanatory")]
pub struct LogCategory {
    pub name: String,
    pub description: Option<String>,
}
