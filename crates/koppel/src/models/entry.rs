//! What a model is made of: a table of ports and parameters, and equations.
//!
//! Linear models give their matrices as a function of the parameters, the others x' = f(x, u), y = g(x, u). None of
//! them depends on time: what does comes from outside as an input.

use crate::error::{Error, Result};
use crate::system::{Ode, Ports, StateSpace, Variable};
use std::collections::BTreeMap;

/// Which values of a parameter make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Every finite number.
    Finite,
    /// Above zero.
    Positive,
    /// Zero or above.
    NotNegative,
}

/// A constant of a model, or one of its start values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name within the model.
    pub name: &'static str,
    /// Value unless given.
    pub default: f64,
    /// Unit.
    pub unit: &'static str,
    /// One line for the reader.
    pub description: &'static str,
    /// Which values make sense.
    pub allowed: Allowed,
}

impl Parameter {
    pub(super) const fn new(
        name: &'static str,
        default: f64,
        unit: &'static str,
        description: &'static str,
    ) -> Self {
        Parameter { name, default, unit, description, allowed: Allowed::Finite }
    }

    pub(super) const fn positive(mut self) -> Self {
        self.allowed = Allowed::Positive;
        self
    }

    pub(super) const fn not_negative(mut self) -> Self {
        self.allowed = Allowed::NotNegative;
        self
    }

    fn check(&self, model: &str, value: f64) -> Result<()> {
        let problem = match self.allowed {
            _ if !value.is_finite() => "must be a finite number",
            Allowed::Positive if value <= 0.0 => "must be above zero",
            Allowed::NotNegative if value < 0.0 => "must not be below zero",
            _ => return Ok(()),
        };
        Err(Error::Parameter {
            model: model.to_owned(),
            name: self.name.to_owned(),
            value,
            problem: format!("{problem} ({}, in {})", self.description, self.unit),
        }
        .into())
    }
}

/// An input or an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Port {
    /// Name within the model.
    pub name: &'static str,
    /// Unit; empty for a port that connects to everything.
    pub unit: &'static str,
    /// One line for the reader.
    pub description: &'static str,
    /// For an output: the inputs, by index, that act on it directly.
    pub fed_by: &'static [usize],
}

impl Port {
    pub(super) const fn new(name: &'static str, unit: &'static str, description: &'static str) -> Self {
        Port { name, unit, description, fed_by: &[] }
    }

    pub(super) const fn fed_by(mut self, inputs: &'static [usize]) -> Self {
        self.fed_by = inputs;
        self
    }

    fn variable(&self) -> Variable {
        variable(self.name, self.unit, self.description).fed_by(self.fed_by)
    }
}

/// A variable without a unit if that is empty.
fn variable(name: &str, unit: &str, description: &str) -> Variable {
    let variable = Variable::new(name).about(description);
    if unit.is_empty() { variable } else { variable.unit(unit) }
}

/// A state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Name within the model.
    pub name: &'static str,
    /// Unit; empty for one that follows a port without unit.
    pub unit: &'static str,
    /// One line for the reader.
    pub description: &'static str,
    /// The parameter that is its start value; zero without.
    pub start: Option<&'static str>,
}

impl State {
    pub(super) const fn new(name: &'static str, unit: &'static str, description: &'static str) -> Self {
        State { name, unit, description, start: None }
    }

    pub(super) const fn starts_at(mut self, parameter: &'static str) -> Self {
        self.start = Some(parameter);
        self
    }
}

/// f or g: (parameters, x, u, result).
pub(super) type Function = fn(&[f64], &[f64], &[f64], &mut [f64]);

/// What happens inside a model.
#[derive(Clone, Copy, Debug)]
pub(super) enum Equations {
    /// The matrices, from the parameters.
    Linear(fn(&[f64]) -> StateSpace),
    /// x' = f, y = g.
    General {
        /// f.
        derivative: Function,
        /// g.
        output: Function,
    },
    /// The same, with a program inside that acts at instants only.
    Sampled {
        /// f; zero for what the program gives.
        derivative: Function,
        /// g.
        output: Function,
        /// What the program gives, written over states that stay as they are in between.
        program: Function,
        /// Those states.
        given: &'static [usize],
        /// Which parameter is its period.
        period: &'static str,
    },
}

/// One model of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct ModelEntry {
    /// What it is called in system files.
    pub name: &'static str,
    /// One line about it.
    pub description: &'static str,
    /// Paper and equation.
    pub source: &'static str,
    /// Its constants and start values.
    pub parameters: &'static [Parameter],
    /// What it takes.
    pub inputs: &'static [Port],
    /// What it gives.
    pub outputs: &'static [Port],
    /// What it remembers.
    pub states: &'static [State],
    pub(super) equations: Equations,
}

impl ModelEntry {
    /// The equations with these parameters, defaults for the others.
    pub fn build(&'static self, parameters: &BTreeMap<String, f64>) -> Result<Box<dyn Ode>> {
        let mut values: Vec<f64> = self.parameters.iter().map(|p| p.default).collect();
        for (name, value) in parameters {
            let index = self.parameters.iter().position(|p| p.name == name).ok_or_else(|| {
                let known = self.parameters.iter().map(|p| p.name.to_owned()).collect();
                Error::Unknown { kind: "parameter", name: name.clone(), known }
            })?;
            self.parameters[index].check(self.name, *value)?;
            values[index] = *value;
        }
        let mut model = Model { entry: self, values, matrices: None, ports: self.ports() };
        model.follow_parameters();
        Ok(Box::new(model))
    }

    /// Its variables, with the default start values.
    pub fn ports(&self) -> Ports {
        let parameter = |p: &Parameter| variable(p.name, p.unit, p.description).start(p.default);
        let local = |s: &State| variable(s.name, s.unit, s.description);
        Ports {
            inputs: self.inputs.iter().map(Port::variable).collect(),
            outputs: self.outputs.iter().map(Port::variable).collect(),
            parameters: self.parameters.iter().map(parameter).collect(),
            locals: self.states.iter().map(local).collect(),
            ..Ports::default()
        }
    }
}

/// A model with its parameters.
struct Model {
    entry: &'static ModelEntry,
    values: Vec<f64>,
    matrices: Option<StateSpace>,
    ports: Ports,
}

impl Model {
    /// Makes matrices and start values fit the parameters.
    fn follow_parameters(&mut self) {
        let Model { entry, values, matrices, ports } = self;
        if let Equations::Linear(from) = entry.equations {
            *matrices = Some(from(values));
        }
        for (variable, value) in ports.parameters.iter_mut().zip(values.iter()) {
            variable.start = *value;
        }
        for (variable, state) in ports.locals.iter_mut().zip(entry.states) {
            let parameter = state.start.and_then(|name| entry.parameters.iter().position(|p| p.name == name));
            assert_eq!(parameter.is_some(), state.start.is_some(), "start values are parameters");
            variable.start = parameter.map_or(0.0, |index| values[index]);
        }
    }
}

impl Ode for Model {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn states(&self) -> usize {
        self.entry.states.len()
    }

    fn start_parameters(&self, state: usize) -> Vec<usize> {
        let name = self.entry.states[state].start;
        self.entry.parameters.iter().position(|p| Some(p.name) == name).into_iter().collect()
    }

    fn derivative(&self, _time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        if let Some(matrices) = &self.matrices {
            matrices.a.mul_vec_into(x, dx);
            matrices.b.mul_vec_add(u, dx);
        }
        match self.entry.equations {
            Equations::General { derivative, .. } | Equations::Sampled { derivative, .. } => {
                derivative(&self.values, x, u, dx);
            }
            Equations::Linear(_) => {}
        }
    }

    fn output(&self, _time: f64, x: &[f64], u: &[f64], y: &mut [f64]) {
        if let Some(matrices) = &self.matrices {
            matrices.c.mul_vec_into(x, y);
            matrices.d.mul_vec_add(u, y);
        }
        match self.entry.equations {
            Equations::General { output, .. } | Equations::Sampled { output, .. } => {
                output(&self.values, x, u, y);
            }
            Equations::Linear(_) => {}
        }
    }

    fn parameter(&self, index: usize) -> f64 {
        self.values[index]
    }

    fn set_parameter(&mut self, index: usize, value: f64) -> Result<()> {
        self.entry.parameters[index].check(self.entry.name, value)?;
        self.values[index] = value;
        self.follow_parameters();
        Ok(())
    }

    fn linear(&self) -> Option<StateSpace> {
        self.matrices.clone()
    }

    fn period(&self) -> Option<f64> {
        let Equations::Sampled { period, .. } = self.entry.equations else { return None };
        let index = self.entry.parameters.iter().position(|parameter| parameter.name == period);
        index.map(|index| self.values[index])
    }

    fn sample(&self, x: &[f64], u: &[f64], next: &mut [f64]) {
        if let Equations::Sampled { program, .. } = self.entry.equations {
            program(&self.values, x, u, next);
        }
    }

    fn smooth_derivative(&self, time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        self.derivative(time, x, u, dx);
        if let (Equations::Sampled { program, given, .. }, Some(period)) =
            (self.entry.equations, self.period())
        {
            program(&self.values, x, u, dx);
            given.iter().for_each(|&state| dx[state] = (dx[state] - x[state]) / period);
        }
    }
}

/// The first N of `values` by name: `let [m, c, d] = first(parameters);`.
pub(super) fn first<const N: usize>(values: &[f64]) -> [f64; N] {
    *values.first_chunk().expect("a model's equations use no more than its table has")
}
