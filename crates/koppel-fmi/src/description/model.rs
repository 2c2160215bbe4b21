//! The data model: what FMI 2.0 and FMI 3.0 descriptions say, in one form.
//!
//! Names follow the standard (FMI 3.0 where the versions differ) in snake case. FMI 2.0 `Real` is [`ValueType::Float64`],
//! `Integer` is [`ValueType::Int32`]. References between variables are places in [`Description::variables`].

use super::problem::Warning;

/// Major version of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FmiVersion {
    /// FMI 2.0.x.
    Fmi2,
    /// FMI 3.x.
    Fmi3,
}

/// A whole FMU as its description tells it.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct Description {
    pub fmi_version: FmiVersion,
    /// The version as written, such as `2.0` or `3.0.1`.
    pub fmi_version_text: String,
    pub model_name: String,
    /// `guid` in FMI 2.0.
    pub instantiation_token: String,
    pub description: Option<String>,
    pub author: Option<String>,
    /// Version of the model.
    pub version: Option<String>,
    pub copyright: Option<String>,
    pub license: Option<String>,
    pub generation_tool: Option<String>,
    pub generation_date_and_time: Option<String>,
    pub variable_naming_convention: NamingConvention,
    pub default_experiment: Option<DefaultExperiment>,
    pub model_exchange: Option<ModelExchange>,
    pub co_simulation: Option<CoSimulation>,
    pub scheduled_execution: Option<Interface>,
    /// From the attribute in FMI 2.0, counted in the model structure in FMI 3.0.
    pub number_of_event_indicators: usize,
    pub units: Vec<UnitDefinition>,
    pub types: Vec<TypeDefinition>,
    pub log_categories: Vec<LogCategory>,
    pub variables: Vec<Variable>,
    pub structure: ModelStructure,
    pub terminals: Vec<Terminal>,
    /// What is odd but does no harm.
    pub warnings: Vec<Warning>,
    /// Warnings beyond the limit of the list.
    pub more_warnings: usize,
}

/// How variable names are to be read. They are kept as written either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamingConvention {
    /// Any text.
    #[default]
    Flat,
    /// `a.b[3].der(c)`.
    Structured,
}

/// Settings the author proposes. SI units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct DefaultExperiment {
    pub start_time: Option<f64>,
    pub stop_time: Option<f64>,
    pub tolerance: Option<f64>,
    pub step_size: Option<f64>,
}

/// What every kind of FMU declares.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct Interface {
    pub model_identifier: String,
    pub needs_execution_tool: bool,
    pub can_be_instantiated_only_once_per_process: bool,
    pub can_not_use_memory_management_functions: bool,
    pub can_get_and_set_fmu_state: bool,
    pub can_serialize_fmu_state: bool,
    pub provides_directional_derivatives: bool,
    pub provides_adjoint_derivatives: bool,
    pub provides_per_element_dependencies: bool,
    /// From this section in FMI 2.0, from `sources/buildDescription.xml` in FMI 3.0.
    pub source_files: Vec<String>,
}

/// The co-simulation section.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct CoSimulation {
    pub interface: Interface,
    pub can_handle_variable_communication_step_size: bool,
    /// FMI 2.0 only.
    pub can_interpolate_inputs: bool,
    pub max_output_derivative_order: u32,
    /// `canRunAsynchronuously`, FMI 2.0 only.
    pub can_run_asynchronously: bool,
    pub fixed_internal_step_size: Option<f64>,
    pub recommended_intermediate_input_smoothness: i32,
    pub provides_intermediate_update: bool,
    pub might_return_early_from_do_step: bool,
    pub can_return_early_after_intermediate_update: bool,
    pub has_event_mode: bool,
    pub provides_evaluate_discrete_states: bool,
}

/// The model-exchange section.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct ModelExchange {
    pub interface: Interface,
    /// The negation of `completedIntegratorStepNotNeeded` in FMI 2.0.
    pub needs_completed_integrator_step: bool,
    pub provides_evaluate_discrete_states: bool,
}

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

/// Types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "names of the standard")]
pub enum ValueType {
    Float32,
    Float64,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Boolean,
    String,
    Binary,
    Enumeration,
    Clock,
}

impl ValueType {
    /// Name of the FMI 3.0 element.
    pub fn name(self) -> &'static str {
        match self {
            ValueType::Float32 => "Float32",
            ValueType::Float64 => "Float64",
            ValueType::Int8 => "Int8",
            ValueType::UInt8 => "UInt8",
            ValueType::Int16 => "Int16",
            ValueType::UInt16 => "UInt16",
            ValueType::Int32 => "Int32",
            ValueType::UInt32 => "UInt32",
            ValueType::Int64 => "Int64",
            ValueType::UInt64 => "UInt64",
            ValueType::Boolean => "Boolean",
            ValueType::String => "String",
            ValueType::Binary => "Binary",
            ValueType::Enumeration => "Enumeration",
            ValueType::Clock => "Clock",
        }
    }

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

/// How an unknown depends on a known variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "names of the standard")]
pub enum DependencyKind {
    Dependent,
    Constant,
    Fixed,
    Tunable,
    Discrete,
}

/// A known variable an unknown depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Place of the known variable.
    pub variable: usize,
    /// In which way.
    pub kind: DependencyKind,
}

/// A variable the FMU computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Its place.
    pub variable: usize,
    /// `None`: nothing is said, it may depend on every known variable.
    pub dependencies: Option<Vec<Dependency>>,
}

/// What is computed, and from what.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct ModelStructure {
    pub outputs: Vec<Unknown>,
    pub continuous_state_derivatives: Vec<Unknown>,
    pub clocked_states: Vec<Unknown>,
    pub initial_unknowns: Vec<Unknown>,
    pub event_indicators: Vec<Unknown>,
}

/// Variables that are connected together.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct Terminal {
    pub name: String,
    pub description: Option<String>,
    pub matching_rule: String,
    pub terminal_kind: Option<String>,
    pub members: Vec<TerminalMember>,
    pub streams: Vec<TerminalStream>,
    pub terminals: Vec<Terminal>,
}

/// What flows through a member of a terminal, and its sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A potential or plain signal.
    Signal,
    /// A flow, positive into the FMU.
    Inflow,
    /// A flow, positive out of the FMU.
    Outflow,
    /// Named by some other standard.
    Other(String),
}

/// A variable in a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalMember {
    /// Its place.
    pub variable: usize,
    /// Its name within the terminal.
    pub member_name: Option<String>,
    /// Signal or flow.
    pub kind: MemberKind,
}

/// A quantity carried by a flow, in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields carry the standard's names and meanings")]
pub struct TerminalStream {
    pub in_stream_member_name: String,
    pub out_stream_member_name: String,
    pub in_stream_variable: usize,
    pub out_stream_variable: usize,
}

/// Effort and flow whose product is power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerBond {
    /// Place of the potential.
    pub effort: usize,
    /// Place of the flow.
    pub flow: usize,
    /// +1 if a positive flow brings power into the FMU, -1 if it takes it out.
    pub sign: i8,
}

impl Terminal {
    /// The power bond this terminal is, if it has exactly one signal and one flow.
    pub fn power_bond(&self) -> Option<PowerBond> {
        let [a, b] = self.members.as_slice() else { return None };
        let (effort, flow) = if a.kind == MemberKind::Signal { (a, b) } else { (b, a) };
        let sign = match flow.kind {
            MemberKind::Inflow => 1,
            MemberKind::Outflow => -1,
            MemberKind::Signal | MemberKind::Other(_) => return None,
        };
        (effort.kind == MemberKind::Signal).then_some(PowerBond {
            effort: effort.variable,
            flow: flow.variable,
            sign,
        })
    }
}
