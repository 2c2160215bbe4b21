//! The variables of a subsystem, by name.

use super::filter::Filtered;
use super::message::MessagePort;
use super::terminal::Terminal;
use crate::error::{Error, Result};
use crate::unit::Unit;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// What part a variable plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum VariableKind {
    /// Given to the subsystem.
    Input,
    /// Given by the subsystem.
    Output,
    /// Constant unless changed from outside.
    Parameter,
    /// Seen from outside only to record it: states and the like.
    Local,
}

/// A variable of a subsystem: its kind, and its place among those of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VariableId {
    /// Input, output, parameter or local.
    pub kind: VariableKind,
    /// Place in the list of that kind.
    pub index: usize,
}

/// Which inputs act on an output directly, at the same instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dependencies {
    /// None: the output is a function of the state alone.
    #[default]
    None,
    /// These inputs, by index.
    On(Vec<usize>),
    /// Not known: every input may act.
    Unknown,
}

impl Dependencies {
    /// Whether an input acts, or may act.
    pub fn may_include(&self, input: usize) -> bool {
        match self {
            Dependencies::None => false,
            Dependencies::On(list) => list.contains(&input),
            Dependencies::Unknown => true,
        }
    }

    /// All inputs of so many that act, or may act.
    pub fn among(&self, count: usize) -> Vec<usize> {
        match self {
            Dependencies::None => Vec::new(),
            Dependencies::On(list) => list.clone(),
            Dependencies::Unknown => (0..count).collect(),
        }
    }
}

/// Name and nature of one variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Name within the subsystem.
    pub name: String,
    /// Unit as written, if any.
    pub unit: Option<String>,
    /// What the unit means, where its name alone does not tell.
    pub definition: Option<Unit>,
    /// Typical magnitude, if known.
    pub nominal: Option<f64>,
    /// Start value; for an input, the value while nothing is connected.
    pub start: f64,
    /// One line for the reader.
    pub description: String,
    /// For an output: the inputs that act on it directly.
    pub depends: Dependencies,
    /// It jumps: Booleans, integers and the like. An input that does is held over a step, whatever the coupling.
    pub is_held: bool,
    /// It is held only because its FMU declares a real number discrete: a coupling could predict it.
    pub is_discrete_real: bool,
    /// For an output: it is another one behind a filter.
    // Always written: ports travel to isolated FMUs in a format without names, where nothing may be left out.
    pub filtered: Option<Filtered>,
    /// For a parameter: it cannot be changed once the run is under way.
    pub is_fixed: bool,
    /// It holds integers that may have more digits than a floating-point number.
    pub is_wide: bool,
}

impl Variable {
    /// A variable without unit, starting at zero.
    pub fn new(name: impl Into<String>) -> Self {
        Variable {
            name: name.into(),
            unit: None,
            definition: None,
            nominal: None,
            start: 0.0,
            description: String::new(),
            depends: Dependencies::None,
            is_held: false,
            is_discrete_real: false,
            filtered: None,
            is_fixed: false,
            is_wide: false,
        }
    }

    /// With this unit.
    pub fn unit(mut self, unit: &str) -> Self {
        self.unit = Some(unit.to_owned());
        self
    }

    /// With a unit that brings its meaning along.
    pub fn defined(mut self, unit: Unit) -> Self {
        self.unit = Some(unit.name.clone());
        self.definition = Some(unit);
        self
    }

    /// With this start value.
    pub fn start(mut self, start: f64) -> Self {
        self.start = start;
        self
    }

    /// An input that is held over a step, whatever the coupling.
    pub fn held(mut self) -> Self {
        self.is_held = true;
        self
    }

    /// With this description.
    pub fn about(mut self, text: &str) -> Self {
        text.clone_into(&mut self.description);
        self
    }

    /// An output on which these inputs act directly.
    pub fn fed_by(mut self, inputs: &[usize]) -> Self {
        self.depends = if inputs.is_empty() { Dependencies::None } else { Dependencies::On(inputs.to_vec()) };
        self
    }
}

/// All variables of a subsystem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ports {
    /// Inputs, in the order of the input vector.
    pub inputs: Vec<Variable>,
    /// Outputs, in the order of the output vector.
    pub outputs: Vec<Variable>,
    /// Parameters.
    pub parameters: Vec<Variable>,
    /// Locals, states first.
    pub locals: Vec<Variable>,
    /// Inputs that carry texts, bytes or ticks.
    pub message_inputs: Vec<MessagePort>,
    /// Outputs that carry texts, bytes or ticks.
    pub message_outputs: Vec<MessagePort>,
    /// Which ports belong together.
    pub terminals: Vec<Terminal>,
    /// It takes steps of one size only, whichever that is.
    pub one_step_size: bool,
}

impl Ports {
    /// The variables of one kind.
    pub fn of(&self, kind: VariableKind) -> &[Variable] {
        match kind {
            VariableKind::Input => &self.inputs,
            VariableKind::Output => &self.outputs,
            VariableKind::Parameter => &self.parameters,
            VariableKind::Local => &self.locals,
        }
    }

    /// The variable with this id.
    pub fn variable(&self, id: VariableId) -> &Variable {
        &self.of(id.kind)[id.index]
    }

    /// Finds a variable of one kind by name.
    pub fn find(&self, kind: VariableKind, name: &str) -> Option<usize> {
        self.of(kind).iter().position(|v| v.name == name)
    }

    /// Finds a variable of any kind by name. An output hides a local, an input hides a parameter of the same name.
    pub fn find_any(&self, name: &str) -> Option<VariableId> {
        use VariableKind::{Input, Local, Output, Parameter};
        [Output, Input, Parameter, Local]
            .into_iter()
            .find_map(|kind| self.find(kind, name).map(|index| VariableId { kind, index }))
    }

    /// Every variable with its id.
    pub fn all(&self) -> impl Iterator<Item = (VariableId, &Variable)> {
        use VariableKind::{Input, Local, Output, Parameter};
        [Output, Input, Parameter, Local].into_iter().flat_map(|kind| {
            self.of(kind)
                .iter()
                .enumerate()
                .map(move |(index, variable)| (VariableId { kind, index }, variable))
        })
    }

    /// Names must be unique, or nobody could be addressed. Only a state may be called like an output, which then is that
    /// state.
    pub fn check_names(&self) -> Result<()> {
        // Outputs come first: a name is taken by an output until a state of that name has taken it over.
        let mut taken: HashMap<&str, VariableKind> = HashMap::new();
        for (id, variable) in self.all() {
            match taken.insert(&variable.name, id.kind) {
                None => {}
                Some(VariableKind::Output) if id.kind == VariableKind::Local => {}
                Some(_) => {
                    return Err(Error::Duplicate { kind: "variable", name: variable.name.clone() }.into());
                }
            }
        }
        let mut names: HashSet<&str> = taken.into_keys().collect();
        match self.message_inputs.iter().chain(&self.message_outputs).find(|port| !names.insert(&port.name)) {
            Some(port) => Err(Error::Duplicate { kind: "variable", name: port.name.clone() }.into()),
            None => Ok(()),
        }
    }
}
