//! The variables of an FMU. Their place in the list is their value reference; time comes first.

use crate::error::{Error, Result};
use koppel::record::{Columns, Source};
use koppel::run::{Reading, RunConfig};
use koppel::system::{
    InputId, Ode, OdeEvents, Ports, SystemGraph, Variable as Port, VariableId, VariableKind,
};
use koppel::unit::Unit;

/// What stands behind a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Time,
    Input(usize),
    Output(usize),
    Parameter(usize),
    Local(usize),
    /// Of a state.
    Derivative(usize),
    /// An event indicator.
    Indicator(usize),
}

/// When a variable may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Never,
    /// Until the start is found.
    Start,
    /// Before any step.
    Always,
}

/// One variable.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) unit: Option<String>,
    /// What the unit means, where its name alone does not tell.
    pub(crate) definition: Option<Unit>,
    pub(crate) nominal: Option<f64>,
    pub(crate) description: String,
    pub(crate) role: Role,
    pub(crate) setting: Setting,
    /// For what can be set.
    pub(crate) start: f64,
    /// The state it is.
    pub(crate) state: Option<usize>,
    /// Of outputs and derivatives: the variables that act on them directly.
    pub(crate) depends: Vec<usize>,
    /// It jumps, as Booleans and integers of an FMU inside do.
    pub(crate) is_held: bool,
}

impl Variable {
    fn new(name: String, port: &Port, role: Role, setting: Setting) -> Variable {
        Variable {
            name,
            unit: port.unit.clone(),
            definition: port.definition.clone(),
            nominal: port.nominal,
            description: port.description.clone(),
            role,
            setting,
            start: port.start,
            state: None,
            depends: Vec::new(),
            is_held: port.is_held,
        }
    }
}

/// A variable of a subsystem of a container.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) subsystem: String,
    pub(crate) variable: VariableId,
}

/// All variables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interface {
    pub(crate) variables: Vec<Variable>,
    /// Place of each state.
    pub(crate) states: Vec<usize>,
    /// Of containers: what stands behind inputs, outputs, parameters and locals.
    pub(crate) inputs: Vec<Target>,
    pub(crate) outputs: Vec<Target>,
    pub(crate) parameters: Vec<Target>,
    pub(crate) locals: Vec<Target>,
}

impl Interface {
    fn with_time() -> Interface {
        let time = Port::new("time").unit("s").about("simulated time");
        let time = Variable::new("time".into(), &time, Role::Time, Setting::Never);
        Interface { variables: vec![time], ..Interface::default() }
    }

    /// The variable with a value reference.
    pub(crate) fn get(&self, reference: u32) -> Result<&Variable> {
        self.variables.get(reference as usize).ok_or_else(|| {
            Error::misuse(format!("there is no variable with the value reference {reference}"))
        })
    }

    /// Places of the variables with these roles.
    pub(crate) fn places(&self, is_wanted: impl Fn(Role) -> bool) -> Vec<usize> {
        (0..self.variables.len()).filter(|place| is_wanted(self.variables[*place].role)).collect()
    }

    pub(crate) fn input_count(&self) -> usize {
        self.places(|role| matches!(role, Role::Input(_))).len()
    }

    /// Of one model.
    pub(crate) fn of_model(ode: &dyn Ode) -> Interface {
        let ports = ode.ports();
        let mut interface = Interface::with_time();
        // Where a program of a built-in model samples, there are no equations that an importer could solve.
        let states = if ode.period().is_none() { ode.continuous() } else { 0 };
        let start_parameters: Vec<Vec<usize>> =
            (0..ode.states()).map(|state| ode.start_parameters(state)).collect();
        let list = &mut interface.variables;
        for (index, port) in ports.inputs.iter().enumerate() {
            list.push(Variable::new(port.name.clone(), port, Role::Input(index), Setting::Always));
        }
        for (index, port) in ports.outputs.iter().enumerate() {
            list.push(Variable::new(port.name.clone(), port, Role::Output(index), Setting::Never));
        }
        for (index, port) in ports.parameters.iter().enumerate() {
            let is_start_value = start_parameters.iter().any(|own| own.contains(&index));
            let setting = if is_start_value { Setting::Start } else { Setting::Always };
            list.push(Variable::new(port.name.clone(), port, Role::Parameter(index), setting));
        }
        for (index, port) in ports.locals.iter().enumerate() {
            // A state called like an output is that output.
            let place =
                ports.find(VariableKind::Output, &port.name).map(|output| 1 + ports.inputs.len() + output);
            let place = place.unwrap_or_else(|| {
                list.push(Variable::new(port.name.clone(), port, Role::Local(index), Setting::Never));
                list.len() - 1
            });
            // Discrete variables change at events only.
            list[place].is_held |= (ode.continuous()..ode.states()).contains(&index);
            if index < states {
                list[place].state = Some(index);
                list[place].start = port.start;
                let is_computed = !start_parameters[index].is_empty();
                list[place].setting = if is_computed { Setting::Never } else { Setting::Start };
                interface.states.push(place);
            }
        }
        for (index, &place) in interface.states.iter().enumerate() {
            let state = &list[place];
            let mut port =
                Port::new(format!("der({})", state.name)).about(&format!("rate of {}", state.name));
            port.unit = state.unit.as_deref().and_then(rate_unit);
            list.push(Variable::new(port.name.clone(), &port, Role::Derivative(index), Setting::Never));
        }
        for index in 0..ode.events().map_or(0, OdeEvents::indicators) {
            let port = Port::new(format!("indicator[{}]", index + 1)).about("crosses zero at events");
            list.push(Variable::new(port.name.clone(), &port, Role::Indicator(index), Setting::Never));
        }
        interface.add_dependencies(ports);
        interface
    }

    /// Outputs depend on all states and the inputs the model says, derivatives on all states and inputs.
    fn add_dependencies(&mut self, ports: &Ports) {
        let states = self.states.clone();
        let inputs: Vec<usize> = (0..ports.inputs.len()).map(|input| 1 + input).collect();
        for (place, variable) in self.variables.iter_mut().enumerate() {
            let direct: Vec<usize> = match variable.role {
                Role::Output(_) if variable.state.is_some() => {
                    variable.depends = vec![place];
                    continue;
                }
                Role::Output(index) => {
                    let acting = ports.outputs[index].depends.among(inputs.len()).into_iter();
                    acting.map(|input| inputs[input]).collect()
                }
                Role::Derivative(_) => inputs.clone(),
                _ => continue,
            };
            variable.depends = direct;
            variable.depends.extend_from_slice(&states);
            variable.depends.sort_unstable();
        }
    }

    /// Of a whole system whose inputs have been opened: its open inputs, its recorded outputs, its parameters and states.
    pub(crate) fn of_system(graph: &SystemGraph, run: &RunConfig, open: &[String]) -> Result<Interface> {
        let mut interface = Interface::with_time();
        let mut add = |list: &mut Vec<Target>, subsystem: usize, variable: VariableId, setting: Setting| {
            let port = graph.ports(subsystem).variable(variable);
            let name = format!("{}.{}", graph.name(subsystem), port.name);
            let role = match variable.kind {
                VariableKind::Input => Role::Input(list.len()),
                VariableKind::Output => Role::Output(list.len()),
                VariableKind::Parameter => Role::Parameter(list.len()),
                VariableKind::Local => Role::Local(list.len()),
            };
            if interface.variables.iter().any(|other| other.name == name) {
                return false;
            }
            interface.variables.push(Variable::new(name, port, role, setting));
            list.push(Target { subsystem: graph.name(subsystem).into(), variable });
            true
        };
        let (mut inputs, mut outputs, mut parameters, mut locals) = (vec![], vec![], vec![], vec![]);
        for name in open {
            let input = graph.find_input(name)?;
            let id = graph.subsystem_of_input(input);
            let index = input - graph.inputs_of(id).start;
            add(&mut inputs, id, VariableId { kind: VariableKind::Input, index }, Setting::Always);
        }
        let channels = koppel::coupling::build(&run.coupling, run.hold, graph)?.report().channels(graph);
        for column in Columns::select(&run.record, graph, &channels, run.own_columns(graph)?)?.list() {
            // What the coupling knows stays inside, and so does what is counted of loops.
            let Source::Variable { subsystem, variable } = column.source else { continue };
            if variable.kind == VariableKind::Output
                && !add(&mut outputs, subsystem, variable, Setting::Never)
            {
                return Err(Error::SameName { name: column.name.clone() }.into());
            }
        }
        if outputs.is_empty() {
            return Err(Error::NoOutputs.into());
        }
        for id in 0..graph.len() {
            let ports = graph.ports(id);
            for index in 0..ports.parameters.len() {
                add(&mut parameters, id, VariableId { kind: VariableKind::Parameter, index }, Setting::Start);
            }
            for index in 0..ports.locals.len() {
                add(&mut locals, id, VariableId { kind: VariableKind::Local, index }, Setting::Never);
            }
        }
        interface = Interface { inputs, outputs, parameters, locals, ..interface };
        interface.tell_units_apart();
        if run.reading == Reading::Fresh {
            interface.follow_feed_through(graph)?;
        }
        Ok(interface)
    }

    /// FMUs may mean different things by one name of a unit: the second gets a name of its own.
    fn tell_units_apart(&mut self) {
        let mut known: Vec<(String, Option<Unit>)> = Vec::new();
        for variable in &mut self.variables {
            let Some(name) = variable.unit.clone() else { continue };
            let meaning = variable.definition.clone().or_else(|| Unit::parse(&name).ok());
            let is_same = |other: &Option<Unit>| match (other, &meaning) {
                (Some(a), Some(b)) => a.agrees(b),
                (a, b) => a.is_none() && b.is_none(),
            };
            let names = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name}_{n}") });
            for own in names {
                match known.iter().find(|(other, _)| *other == own) {
                    Some((_, other)) if !is_same(other) => continue,
                    Some(_) => {}
                    None => known.push((own.clone(), meaning.clone())),
                }
                if own != name {
                    variable.definition = meaning;
                }
                variable.unit = Some(own);
                break;
            }
        }
    }

    /// Which open inputs act on which outputs at the same instant, along the wires.
    fn follow_feed_through(&mut self, graph: &SystemGraph) -> Result<()> {
        for (number, target) in self.inputs.iter().enumerate() {
            let id = graph.find(&target.subsystem)?;
            let reached = reached_outputs(graph, graph.inputs_of(id).start + target.variable.index);
            for variable in &mut self.variables {
                let Role::Output(output) = variable.role else { continue };
                let to = &self.outputs[output];
                let at = graph.outputs_of(graph.find(&to.subsystem)?).start + to.variable.index;
                if reached[at] {
                    variable.depends.push(1 + number);
                }
            }
        }
        Ok(())
    }
}

/// Outputs that an input acts on at the same instant.
fn reached_outputs(graph: &SystemGraph, from: InputId) -> Vec<bool> {
    let mut is_reached = vec![false; graph.outputs()];
    let mut waiting = vec![from];
    while let Some(input) = waiting.pop() {
        let id = graph.subsystem_of_input(input);
        let index = input - graph.inputs_of(id).start;
        for (output, variable) in graph.outputs_of(id).zip(&graph.ports(id).outputs) {
            if variable.depends.may_include(index) && !std::mem::replace(&mut is_reached[output], true) {
                let wires = graph.wires().iter().filter(|wire| wire.source == output);
                waiting.extend(wires.map(|wire| wire.target));
            }
        }
    }
    is_reached
}

/// The unit of a rate, if it can be written.
fn rate_unit(unit: &str) -> Option<String> {
    let rate = match unit {
        "1" | "-" => "1/s".to_owned(),
        _ if unit.contains('/') => format!("({unit})/s"),
        _ => format!("{unit}/s"),
    };
    koppel::unit::Unit::parse(&rate).is_ok().then_some(rate)
}
