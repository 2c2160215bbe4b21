//! The data model: what FMI 2.0 and FMI 3.0 descriptions say, in one form.
//!
//! Names follow the standard (FMI 3.0 where the versions differ) in snake case. FMI 2.0 `Real` is [`ValueType::Float64`],
//! `Integer` is [`ValueType::Int32`]. References between variables are places in [`Description::variables`].

use super::problem::Warning;
pub use super::types::{
    Attributes, BaseUnit, ClockAttributes, DisplayUnit, EnumerationItem, IntervalVariability, LogCategory,
    TypeDefinition, UnitDefinition, ValueType,
};
pub use super::variable::{Alias, Causality, Dimension, Initial, Start, Variability, Variable};

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

/// What an instance is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    /// It brings its own solver.
    CoSimulation,
    /// It gives derivatives, and others solve.
    ModelExchange,
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
