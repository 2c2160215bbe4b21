//! One instance of an FMU: its phase, its time, its inputs, and the body that does the work. Common to FMI 2.0 and 3.0.

mod exchange;
mod state;
mod stepping;

pub(crate) use koppel_fmi::ffi::Kind;
use state::Held;
pub(crate) use state::State;
pub(crate) use stepping::Past;

use crate::body::{Body, Container, ModelBody};
use crate::error::{Error, Result};
use crate::interface::{Role, Setting, Variable};
use crate::plan::{self, Abilities, Content, Plan};
use crate::polynomial::{NODES, Polynomial};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What may be asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    Instantiated,
    Initializing,
    /// Co-simulation between steps.
    Stepping,
    /// Model exchange at an event.
    Event,
    /// Model exchange between events.
    Continuous,
    Terminated,
    /// What runs inside has asked to end the simulation: values can be read, and a saved state or a reset leads on.
    Ended,
    /// A step has failed: only a saved state or a reset leads on.
    Failed,
}

pub(crate) struct Instance {
    resources: PathBuf,
    plan: Plan,
    kind: Kind,
    body: Box<dyn Body>,
    phase: Phase,
    start: f64,
    time: f64,
    inputs: Vec<Polynomial>,
    /// Start values of states that were set.
    starts: Vec<Option<f64>>,
    /// The start must be found anew, since something it depends on was set.
    needs_start: bool,
    /// Outputs must follow, since something they depend on was set.
    needs_outputs: bool,
    /// Inputs seen inside the step to come.
    nodes: Vec<[f64; NODES]>,
    /// States that the importer may set.
    held: Vec<Held>,
}

impl Instance {
    /// Reads the resources; `token` is the guid or instantiation token the importer gives.
    pub(crate) fn new(resources: &Path, token: &str, kind: Kind) -> Result<Instance> {
        let plan = Plan::read(resources)?;
        if plan.token != token {
            return Err(Error::Token { own: plan.token, given: token.into() }.into());
        }
        let body = build(&plan, resources)?;
        if kind == Kind::ModelExchange && body.interface().states.is_empty() {
            return Err(Error::misuse("this FMU is for co-simulation only"));
        }
        let mut instance = Instance {
            resources: resources.into(),
            plan,
            kind,
            inputs: Vec::new(),
            starts: vec![None; body.interface().states.len()],
            nodes: Vec::new(),
            body,
            phase: Phase::Instantiated,
            start: 0.0,
            time: 0.0,
            needs_start: true,
            needs_outputs: true,
            held: Vec::new(),
        };
        instance.inputs = instance.start_inputs();
        instance.nodes = vec![[0.0; NODES]; instance.inputs.len()];
        Ok(instance)
    }

    fn start_inputs(&self) -> Vec<Polynomial> {
        let variables = self.body.interface().variables.iter();
        let inputs = variables.filter(|variable| matches!(variable.role, Role::Input(_)));
        inputs.map(|variable| Polynomial::constant(variable.start)).collect()
    }

    pub(crate) fn abilities(&self) -> Abilities {
        self.plan.abilities
    }

    fn variable(&self, reference: u32) -> Result<&Variable> {
        self.body.interface().get(reference)
    }

    /// Refuses a call that does not belong to the present phase.
    pub(crate) fn expect(&self, call: &str, phases: &[Phase]) -> Result<()> {
        if phases.contains(&self.phase) {
            return Ok(());
        }
        let now = match self.phase {
            Phase::Instantiated => "before initialization",
            Phase::Initializing => "during initialization",
            Phase::Stepping => "in step mode",
            Phase::Event => "in event mode",
            Phase::Continuous => "in continuous-time mode",
            Phase::Terminated => "after termination",
            Phase::Ended => "after the simulation was ended from inside; set a saved state or reset",
            Phase::Failed => "after a failed step; set a saved state or reset",
        };
        Err(Error::misuse(format!("{call} is not allowed {now}")))
    }

    pub(crate) fn reset(&mut self) -> Result<()> {
        self.body.release();
        self.body = build(&self.plan, &self.resources)?;
        self.phase = Phase::Instantiated;
        self.held.clear();
        self.inputs = self.start_inputs();
        self.starts.fill(None);
        (self.needs_start, self.needs_outputs) = (true, true);
        (self.start, self.time) = (0.0, 0.0);
        Ok(())
    }

    pub(crate) fn set_start_time(&mut self, start: f64) -> Result<()> {
        if !start.is_finite() {
            return Err(Error::misuse(format!("the start time is {start}")));
        }
        (self.start, self.time) = (start, start);
        self.needs_start = true;
        Ok(())
    }

    pub(crate) fn enter_initialization(&mut self) -> Result<()> {
        self.expect("entering initialization", &[Phase::Instantiated])?;
        self.phase = Phase::Initializing;
        Ok(())
    }

    pub(crate) fn exit_initialization(&mut self) -> Result<()> {
        self.expect("leaving initialization", &[Phase::Initializing])?;
        self.settle()?;
        self.phase = match self.kind {
            Kind::CoSimulation => Phase::Stepping,
            Kind::ModelExchange => Phase::Event,
        };
        Ok(())
    }

    pub(crate) fn terminate(&mut self) -> Result<()> {
        self.expect(
            "terminating",
            &[Phase::Stepping, Phase::Event, Phase::Continuous, Phase::Ended, Phase::Failed],
        )?;
        self.phase = Phase::Terminated;
        Ok(())
    }

    pub(crate) fn change_phase(&mut self, call: &str, from: &[Phase], to: Phase) -> Result<()> {
        self.expect(call, from)?;
        self.phase = to;
        Ok(())
    }

    /// Finds the start, or lets outputs follow, if something was set since.
    fn settle(&mut self) -> Result<()> {
        if self.needs_start {
            self.body.initialize(self.start, &self.inputs)?;
            for (index, value) in self.starts.iter().enumerate() {
                if let Some(value) = value {
                    self.body.set_state(index, *value)?;
                }
            }
            self.body.follow(&self.inputs)?;
        } else if self.needs_outputs {
            self.body.follow(&self.inputs)?;
        }
        (self.needs_start, self.needs_outputs) = (false, false);
        Ok(())
    }

    pub(crate) fn get(&mut self, reference: u32) -> Result<f64> {
        let variable = self.variable(reference)?;
        let role = variable.role;
        match role {
            Role::Time => Ok(self.time),
            Role::Input(index) => Ok(self.inputs[index].now()),
            Role::Parameter(_) => self.body.get(role),
            _ if self.phase == Phase::Instantiated => {
                if variable.setting == Setting::Start {
                    let state = variable.state.and_then(|state| self.starts[state]);
                    return Ok(state.unwrap_or(variable.start));
                }
                Err(Error::misuse(format!("`{}` has no value before initialization", variable.name)))
            }
            _ => {
                self.settle()?;
                self.body.get(role)
            }
        }
    }

    pub(crate) fn set(&mut self, reference: u32, value: f64) -> Result<()> {
        let variable = self.variable(reference)?;
        let (role, setting, state) = (variable.role, variable.setting, variable.state);
        let is_start = matches!(self.phase, Phase::Instantiated | Phase::Initializing);
        let is_allowed = match setting {
            Setting::Never => false,
            Setting::Start => is_start,
            Setting::Always => !matches!(self.phase, Phase::Terminated | Phase::Ended | Phase::Failed),
        };
        let name = || variable.name.clone();
        if !is_allowed {
            let when = if setting == Setting::Never { "" } else { " any more" };
            return Err(Error::misuse(format!("`{}` cannot be set{when}", name())));
        }
        if !value.is_finite() {
            return Err(Error::misuse(format!("`{}` cannot be {value}", name())));
        }
        match (role, state) {
            (Role::Input(index), _) => {
                let new = Polynomial::constant(value);
                self.needs_outputs |= self.inputs[index] != new;
                self.needs_start |= is_start && self.inputs[index] != new;
                self.inputs[index] = new;
            }
            (Role::Parameter(index), _) => {
                self.body.set_parameter(index, value)?;
                self.needs_outputs = true;
                self.needs_start |= is_start;
            }
            (_, Some(state)) => {
                self.starts[state] = Some(value);
                self.needs_start = true;
            }
            _ => {}
        }
        Ok(())
    }
}

fn build(plan: &Plan, resources: &Path) -> Result<Box<dyn Body>> {
    Ok(match &plan.content {
        Content::Model(model) => Box::new(ModelBody::new(model)?),
        Content::System {} => Box::new(Container::new(&resources.join(plan::SYSTEM), plan.lacks.clone())?),
    })
}
