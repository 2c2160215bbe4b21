//! One instance of an FMU: its phase, its time, its inputs, and the body that does the work. Common to FMI 2.0 and 3.0.

mod exchange;
mod inputs;
mod state;

use inputs::Inputs;
pub(crate) use koppel_fmi::ffi::Kind;
use state::Held;
pub(crate) use state::State;

use crate::body::{Body, Container, Ended, ModelBody};
use crate::error::{Error, Result};
use crate::interface::{Role, Setting, Variable};
use crate::plan::{self, Abilities, Content, Plan};
use crate::polynomial::{Polynomial, TERMS};
use koppel_io::system_file;
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

/// What the importer says of states it has saved before a step (`noSetFMUStatePriorToCurrentPoint`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Past {
    /// They may still be set.
    Open,
    /// They will not be set any more.
    Over,
}

pub(crate) struct Instance {
    resources: PathBuf,
    plan: Plan,
    kind: Kind,
    body: Box<dyn Body>,
    phase: Phase,
    start: f64,
    time: f64,
    pub(crate) inputs: Inputs,
    /// Start values of states that were set.
    starts: Vec<Option<f64>>,
    /// The start must be found again, since something it depends on was set.
    needs_start: bool,
    /// Outputs must follow, since something they depend on was set.
    needs_outputs: bool,
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
        Ok(Instance {
            resources: resources.into(),
            plan,
            kind,
            inputs: Inputs::at_start(body.interface()),
            starts: vec![None; body.interface().states.len()],
            body,
            phase: Phase::Instantiated,
            start: 0.0,
            time: 0.0,
            needs_start: true,
            needs_outputs: true,
            held: Vec::new(),
        })
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
            Phase::Ended => "after an inner FMU ended the simulation; set a saved state or reset",
            Phase::Failed => "after a failed step; set a saved state or reset",
        };
        Err(Error::misuse(format!("{call} is not allowed {now}")))
    }

    pub(crate) fn reset(&mut self) -> Result<()> {
        self.body.release();
        self.body = build(&self.plan, &self.resources)?;
        self.phase = Phase::Instantiated;
        self.held.clear();
        self.inputs = Inputs::at_start(self.body.interface());
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

    /// Derivative of an input over the step to come.
    pub(crate) fn set_input_derivative(&mut self, reference: u32, order: i32, value: f64) -> Result<()> {
        let variable = self.variable(reference)?;
        let Role::Input(index) = variable.role else {
            return Err(Error::misuse(format!("`{}` is no input", variable.name)));
        };
        match usize::try_from(order) {
            Ok(order) if (1..TERMS).contains(&order) && value.is_finite() => {
                self.inputs[index].set_derivative(order, value);
                Ok(())
            }
            _ => Err(Error::misuse(format!(
                "derivative of order {order} of `{}`: orders 1 to {} and finite values are accepted, not {value}",
                variable.name,
                TERMS - 1
            ))),
        }
    }

    /// True if the variable is an input.
    pub(crate) fn is_input(&self, reference: u32) -> bool {
        self.variable(reference).is_ok_and(|variable| matches!(variable.role, Role::Input(_)))
    }

    pub(crate) fn check_step(&self, call: &str, time: f64, size: f64) -> Result<()> {
        self.expect(call, &[Phase::Stepping])?;
        if !(size.is_finite() && size > 0.0 && time.is_finite()) {
            return Err(Error::misuse(format!("a step from {time} s over {size} s cannot be taken")));
        }
        let round_off = 1e-6 * size + 1e3 * f64::EPSILON * time.abs();
        if (time - self.time).abs() > round_off {
            let own = self.time;
            return Err(Error::misuse(format!("the step starts at {time} s, but this FMU is at {own} s")));
        }
        Ok(())
    }

    /// Moves over a step; afterwards inputs keep the values they ended with. What runs inside may end the simulation on the way, and
    /// says so.
    pub(crate) fn step(&mut self, call: &str, time: f64, size: f64, past: Past) -> Result<Option<String>> {
        self.check_step(call, time, size)?;
        if past == Past::Over {
            self.forget_past();
        }
        self.forget_dropped();
        let is_ready = !self.needs_start && !self.body.follows_before_steps();
        let settled = if is_ready { Ok(()) } else { self.settle() };
        let ended = match settled.and_then(|()| self.body.step(time, size, &self.inputs)) {
            Ok(ended) => ended,
            Err(error) => {
                self.phase = Phase::Failed;
                return Err(error);
            }
        };
        let done = ended.as_ref().map_or(size, |Ended { done, .. }| *done);
        self.time = time + done;
        self.needs_outputs = false;
        self.inputs.hold_at(done);
        Ok(ended.map(|ended| {
            self.phase = Phase::Ended;
            ended.text
        }))
    }

    /// True if what runs inside has asked to end the simulation.
    pub(crate) fn is_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// The time it has reached.
    pub(crate) fn reached(&self) -> f64 {
        self.time
    }
}

fn build(plan: &Plan, resources: &Path) -> Result<Box<dyn Body>> {
    Ok(match &plan.content {
        Content::Model(model) => {
            let (ode, solver) = model.equations()?;
            Box::new(ModelBody::new(ode, &solver)?)
        }
        Content::Subsystem {} => {
            let (ode, solver) = plan::subsystem(&system_file::load(&resources.join(plan::SYSTEM))?)?;
            Box::new(ModelBody::new(ode, &solver)?)
        }
        Content::System {} => Box::new(Container::new(&resources.join(plan::SYSTEM), plan.lacks.clone())?),
    })
}
