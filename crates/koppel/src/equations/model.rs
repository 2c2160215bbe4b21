//! The model that equations make.

use super::actions::Actions;
use super::build::{Builder, Nodes};
use super::dimension;
use super::explain::{culprit, reason, values};
use super::graph::{Graph, Id, Node};
use super::map::Map;
use super::mistake::{Mistake, Spot};
use super::names::{Entry, Names, Role};
use super::program::{Program, Sizes};
use super::slopes::Slopes;
use super::source::Source;
use super::statement;
use crate::error::{Error, Result, Trouble};
use crate::state_space::StateSpace;
use crate::system::{Ode, OdeEvents, OdeSlopes, Ports, Variable};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Models with more states give no constant matrices: these would be large and dense.
const MOST_LINEAR_STATES: usize = 1000;

/// A model written as equations.
#[derive(Debug)]
pub struct Equations {
    pub(super) graph: Graph,
    pub(super) maps: Arc<[Map]>,
    pub(super) sizes: Sizes,
    /// How many states have a derivative; the others are discrete variables.
    pub(super) continuous: usize,
    pub(super) derivatives: Vec<Id>,
    pub(super) outputs: Vec<Id>,
    ports: Ports,
    pub(super) values: Vec<f64>,
    derivative: Program,
    output: Program,
    starts: Program,
    /// The nodes of the start values.
    start_nodes: Vec<Id>,
    pub(super) actions: Option<Actions>,
    pub(super) slopes: OnceCell<Slopes>,
    is_linear: bool,
    /// For messages: the text, and where operations stand in it.
    text: String,
    places: HashMap<Id, Range<usize>>,
}

impl Equations {
    /// Reads and compiles.
    ///
    /// # Errors
    ///
    /// All mistakes, each with its place.
    pub fn new(source: &Source) -> std::result::Result<Equations, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let statements = statement::read(&source.text, &mut mistakes);
        let names = Names::new(source, statements, &mut mistakes);
        let nodes = Builder::new(&names, &mut mistakes).build();
        dimension::check(&names, &mut mistakes);
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let model = Equations::assemble(&source.text, &names, nodes);
        mistakes = model.mistakes_at_start(&names);
        if mistakes.is_empty() { Ok(model) } else { Err(mistakes) }
    }

    fn assemble(text: &str, names: &Names, nodes: Nodes) -> Equations {
        let Nodes { graph, derivatives, outputs, starts, places, values, .. } = &nodes;
        let maps: Arc<[Map]> = names.maps.iter().cloned().map(Map::new).collect();
        let sizes =
            Sizes { states: names.states.len(), inputs: names.inputs.len(), parameters: values.len() };
        let program = |roots: &[Id]| Program::new(graph, sizes, &maps, roots);
        let actions = Actions::new(&nodes, names, sizes, &maps, text);
        let mut model = Equations {
            derivative: program(derivatives),
            output: program(outputs),
            starts: program(starts),
            start_nodes: starts.clone(),
            is_linear: actions.is_none() && super::slopes::is_linear(graph, derivatives, outputs),
            actions,
            slopes: OnceCell::new(),
            ports: ports(names, &nodes),
            values: values.clone(),
            maps: maps.clone(),
            sizes,
            continuous: names.continuous,
            derivatives: derivatives.clone(),
            outputs: outputs.clone(),
            text: text.to_owned(),
            places: places.clone(),
            graph: Graph::default(),
        };
        model.graph = nodes.graph;
        model.follow_parameters();
        model
    }

    /// How many operations its derivatives and its outputs take, each time they are evaluated.
    #[must_use]
    pub fn operations(&self) -> (usize, usize) {
        (self.derivative.operations(), self.output.operations())
    }

    /// Makes everything that is computed beforehand fit the parameters.
    fn follow_parameters(&mut self) {
        let Equations { values, .. } = self;
        for program in [&self.derivative, &self.output, &self.starts] {
            program.set_parameters(values);
        }
        if let Some(actions) = &mut self.actions {
            actions.set_parameters(values);
        }
        if let Some(slopes) = self.slopes.get() {
            slopes.set_parameters(values);
        }
        for (variable, value) in self.ports.parameters.iter_mut().zip(values.iter()) {
            variable.start = *value;
        }
        for (index, local) in self.ports.locals.iter_mut().enumerate() {
            local.start = self.starts.result(index);
        }
    }

    /// What is not finite at the start, whatever the inputs are.
    fn mistakes_at_start(&self, names: &Names) -> Vec<Mistake> {
        let x: Vec<f64> = self.ports.locals.iter().map(|local| local.start).collect();
        let at = |u: f64| {
            let u = vec![u; self.sizes.inputs];
            values(&self.graph, &self.maps, 0.0, [&x, &u, &self.values])
        };
        let tried = [at(0.0), at(1.234_5), at(-0.987_6)];
        let mut found: Vec<Mistake> = Vec::new();
        let state = |index: usize| names.states[index].text.as_str();
        let of_states = (0..self.continuous).map(|k| (format!("der({})", state(k)), self.derivatives[k]));
        let of_outputs =
            names.outputs.iter().map(|output| output.name.clone()).zip(self.outputs.iter().copied());
        for (name, root) in of_states.chain(of_outputs) {
            let is_bad = |values: &Vec<f64>| !values[root.index()].is_finite();
            if self.graph.follows(root).time || !tried.iter().all(is_bad) {
                continue;
            }
            let Some(culprit) = culprit(&self.graph, &tried[1], root) else { continue };
            let reason = reason(&self.graph, &self.maps, &tried[1], culprit);
            let spot = match (self.places.get(&culprit), names.role(&name)) {
                (Some(span), _) => Spot::Text(span.clone()),
                (None, Some(Role::Defined(index))) => Spot::Text(names.definitions[index].name.span.clone()),
                _ => Spot::Whole,
            };
            if !found.iter().any(|mistake| mistake.spot == spot) {
                let mistake = Mistake::new(spot, format!("{reason} at the start, in `{name}`"));
                found.push(mistake.hint("look at the parameters and the start values"));
            }
        }
        for (index, value) in x.iter().enumerate().filter(|(_, value)| !value.is_finite()) {
            let name = &names.states[index];
            let spot =
                names.variables.get(&name.text).map_or(Spot::Text(name.span.clone()), |one| one.spot.clone());
            found.push(Mistake::new(spot, format!("the start value of `{}` is {value}", name.text)));
        }
        found
    }

    /// The root that is not finite, and its name.
    fn first_bad(&self, values: &[f64]) -> Option<(String, Id)> {
        let is_bad = |root: &Id| !values[root.index()].is_finite();
        let local = |k: usize| format!("der({})", self.ports.locals[k].name);
        let of_states = self.derivatives.iter().take(self.continuous).enumerate();
        let mut roots = of_states.map(|(k, root)| (local(k), *root)).chain(
            self.ports.outputs.iter().map(|output| output.name.clone()).zip(self.outputs.iter().copied()),
        );
        roots.find(|(_, root)| is_bad(root))
    }
}

/// Its variables, but for the start values that follow parameters.
fn ports(names: &Names, nodes: &Nodes) -> Ports {
    let variable = |entry: &Entry| {
        let mut variable = Variable::new(&entry.name).about(&entry.about);
        variable.unit.clone_from(&entry.unit_text);
        variable.nominal = entry.nominal;
        variable
    };
    let input = |entry: &Entry| {
        let start = entry.value.as_ref().and_then(super::names::Placed::plain);
        variable(entry).start(start.unwrap_or(0.0))
    };
    let feeding = |root: Id| -> Vec<usize> {
        if !nodes.graph.follows(root).inputs {
            return vec![];
        }
        let below = nodes.graph.below(&[root]);
        let input = |id: &Id| match nodes.graph.node(*id) {
            Node::Input(index) => Some(index as usize),
            _ => None,
        };
        let mut inputs: Vec<usize> = below.iter().filter_map(input).collect();
        inputs.sort_unstable();
        inputs
    };
    let outputs = names.outputs.iter().zip(&nodes.outputs);
    let state = |name: &statement::Name| {
        let declared = names.variables.get(&name.text);
        let output = names.outputs.iter().find(|output| output.name == name.text);
        let about =
            |entry: Option<&Entry>| entry.map(|entry| entry.about.clone()).filter(|text| !text.is_empty());
        let text = about(declared).or_else(|| about(output)).unwrap_or_default();
        let mut local = Variable::new(&name.text).about(&text);
        local.unit = declared.and_then(|entry| entry.unit_text.clone());
        local.unit = local.unit.or_else(|| output.and_then(|entry| entry.unit_text.clone()));
        local.nominal = declared.and_then(|entry| entry.nominal);
        local
    };
    Ports {
        inputs: names.inputs.iter().map(input).collect(),
        outputs: outputs
            .map(|(entry, root)| {
                let mut output = variable(entry);
                let unit = || names.variables.get(&entry.name).and_then(|known| known.unit_text.clone());
                output.unit = output.unit.or_else(unit);
                output.fed_by(&feeding(*root))
            })
            .collect(),
        parameters: nodes.plain.iter().map(|index| variable(&names.parameters[*index])).collect(),
        locals: names.states.iter().map(state).collect(),
        ..Ports::default()
    }
}

impl Ode for Equations {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn states(&self) -> usize {
        self.sizes.states
    }

    fn continuous(&self) -> usize {
        self.continuous
    }

    fn start_parameters(&self, state: usize) -> Vec<usize> {
        let parameter = |id: Id| match self.graph.node(id) {
            Node::Parameter(index) => Some(index as usize),
            _ => None,
        };
        self.graph.below(&[self.start_nodes[state]]).into_iter().filter_map(parameter).collect()
    }

    fn derivative(&self, time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        self.derivative.run(time, x, u);
        self.derivative.results(dx);
    }

    fn output(&self, time: f64, x: &[f64], u: &[f64], y: &mut [f64]) {
        self.output.run(time, x, u);
        self.output.results(y);
    }

    fn parameter(&self, index: usize) -> f64 {
        self.values[index]
    }

    fn set_parameter(&mut self, index: usize, value: f64) -> Result<()> {
        if !value.is_finite() {
            let name = self.ports.parameters[index].name.clone();
            let problem = "must be a finite number".to_owned();
            return Err(Error::Parameter { model: "equations".into(), name, value, problem }.into());
        }
        self.values[index] = value;
        self.follow_parameters();
        Ok(())
    }

    fn linear(&self) -> Option<StateSpace> {
        if !self.is_linear || self.sizes.states > MOST_LINEAR_STATES {
            return None;
        }
        let (x, u) = (vec![0.0; self.sizes.states], vec![0.0; self.sizes.inputs]);
        let mut matrices = StateSpace::default();
        self.linearize(0.0, &x, &u, &mut matrices);
        Some(matrices)
    }

    fn smooth_derivative(&self, time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        self.derivative(time, x, u, dx);
        if let Some(actions) = &self.actions {
            actions.smooth(time, x, u, dx);
        }
    }

    fn events(&self) -> Option<&dyn OdeEvents> {
        self.actions.as_ref().map(|actions| actions as &dyn OdeEvents)
    }

    fn slopes(&self) -> Option<&dyn OdeSlopes> {
        Some(self)
    }

    fn explain(&self, time: f64, x: &[f64], u: &[f64]) -> Option<Trouble> {
        let values = values(&self.graph, &self.maps, time, [x, u, &self.values]);
        let (variable, root) = self.first_bad(&values)?;
        let culprit = culprit(&self.graph, &values, root)?;
        // What comes from outside is told by whoever sees all subsystems.
        if matches!(self.graph.node(culprit), Node::Input(_) | Node::State(_)) {
            return None;
        }
        let span = self.places.get(&culprit);
        let operation = span.and_then(|span| self.text.get(span.clone())).unwrap_or_default();
        let line = span.map_or(0, |span| self.text[..span.start].matches('\n').count() + 1);
        let reason = reason(&self.graph, &self.maps, &values, culprit);
        Some(Trouble { variable, operation: operation.to_owned(), line, reason })
    }
}
