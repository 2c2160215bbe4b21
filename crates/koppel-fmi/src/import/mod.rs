//! FMUs as subsystems.
//!
//! [`ModelExchange`] puts one of koppel's solvers to the equations of an FMU. [`CoSimulation`] drives an FMU that brings its
//! own. How the input polynomial reaches the latter, best first:
//!
//! 1. FMI 3.0 intermediate update, if every continuous input takes part: the FMU asks inside the step, and gets the
//!    polynomial's value at that time;
//! 2. FMI 2.0 input derivatives, if it can interpolate inputs: values and derivatives at the begin of each piece, up to
//!    [`Options::input_order`];
//! 3. sub-steps: each sloped piece is walked in [`Options::substeps`] equal parts, with the input's mean over the part.
//!
//! [`koppel::system::Subsystem::solver`] says which was taken.

mod access;
mod base;
mod model_exchange;
mod ports;
mod route;
mod state;
mod stepping;
mod trial;
mod values;

pub use base::Base;
pub use model_exchange::ModelExchange;

use crate::error::{Error, Result};
use crate::ffi::LogSink;
use crate::fmu::Fmu;
use access::Access;
use base::Use;
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{Dependencies, Ports, Snapshot, Subsystem, VariableId};
use route::Route;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value for a variable, as a user gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, for floats, integers, Booleans (0 or 1) and enumerations.
    Number(f64),
    /// A text, for strings.
    Text(String),
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.into())
    }
}

/// How an instance is made and driven.
#[derive(Clone)]
pub struct Options {
    /// Its name.
    pub name: String,
    /// Parameters and other start values, by variable name.
    pub start_values: Vec<(String, Value)>,
    /// Parts a sloped piece of input is walked in, where sub-steps are needed.
    pub substeps: u32,
    /// Highest order of input derivatives an FMI 2.0 FMU is given; the standard does not let it say what it takes.
    pub input_order: usize,
    /// Relative tolerance of its solver; `None`: its own choice.
    pub tolerance: Option<f64>,
    /// End of the simulation, if it is to know it.
    pub stop: Option<f64>,
    /// Ask the FMU for its debug messages.
    pub debug_logging: bool,
    /// Receives its messages.
    pub log: Option<LogSink>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: "fmu".into(),
            start_values: Vec::new(),
            substeps: 4,
            input_order: 1,
            tolerance: None,
            stop: None,
            debug_logging: false,
            log: None,
        }
    }
}

/// What the instance may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Instantiated,
    Initializing,
    Stepping,
    /// A step has failed: only a saved state or a new start leads on.
    Failed,
}

/// A co-simulation instance of FMI 2.0 or 3.0.
pub struct CoSimulation {
    base: Base,
    /// Those inputs that follow a polynomial inside steps.
    smooth: Access,
    route: Route,
    /// The FMU takes steps of different sizes.
    varies_steps: bool,
    /// Inputs the FMU has; not a number where unknown.
    applied: Vec<f64>,
    /// Inputs to be set next.
    next: Vec<f64>,
    /// Values and orders for calls about some of the inputs.
    chosen: Vec<f64>,
    orders: Vec<i32>,
    /// Some output may depend on an input directly.
    has_feed_through: bool,
    /// How often the FMU has asked for inputs inside steps.
    asked: u64,
}

impl Deref for CoSimulation {
    type Target = Base;

    #[inline]
    fn deref(&self) -> &Base {
        &self.base
    }
}

impl DerefMut for CoSimulation {
    #[inline]
    fn deref_mut(&mut self) -> &mut Base {
        &mut self.base
    }
}

impl CoSimulation {
    /// Makes an instance.
    pub fn new(fmu: &Arc<Fmu>, options: &Options) -> Result<CoSimulation> {
        let description = fmu.description();
        let not_one = || Error::NotCoSimulation { path: fmu.path().into() };
        let section = description.co_simulation.as_ref().ok_or_else(not_one)?;
        let (ports, slots) = ports::of(description);
        let smooth = Access::some(description, &slots.inputs, route::is_smooth);
        let route = Route::choose(description, section, &slots.inputs, options);
        let references = smooth.reals().map_or(&[][..], |(references, _)| references);
        let intermediate = (route == Route::Intermediate).then_some(references);
        let has_feed_through = ports.outputs.iter().any(|output| output.depends != Dependencies::None);
        let width = slots.inputs.len();
        let base =
            Base::new(fmu, &section.interface, options, (ports, slots), Use::CoSimulation { intermediate })?;
        Ok(CoSimulation {
            base,
            smooth,
            route,
            varies_steps: section.can_handle_variable_communication_step_size,
            applied: vec![f64::NAN; width],
            next: vec![0.0; width],
            chosen: Vec::with_capacity(width),
            orders: Vec::with_capacity(width),
            has_feed_through,
            asked: 0,
        })
    }

    /// The FMU it is an instance of.
    pub fn fmu(&self) -> &Arc<Fmu> {
        &self.fmu
    }
}

impl Subsystem for CoSimulation {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn initialize(&mut self, start: f64) -> koppel::Result<()> {
        self.applied.fill(f64::NAN);
        Ok(self.start(start)?)
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        if let Some(inputs) = inputs {
            self.next.copy_from_slice(inputs);
            self.set_inputs()?;
        }
        Ok(self.get_outputs(outputs)?)
    }

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> koppel::Result<()> {
        let done = self.go(step, input, outputs, samples);
        if done.is_err() {
            self.phase = Phase::Failed;
        }
        Ok(done?)
    }

    fn get(&mut self, variable: VariableId) -> koppel::Result<f64> {
        Ok(self.read_one(self.slot(variable))?)
    }

    fn set(&mut self, variable: VariableId, value: f64) -> koppel::Result<()> {
        Ok(self.change(variable, value)?)
    }

    fn solver(&self) -> String {
        let version = &self.description().fmi_version_text;
        let tool = self.description().generation_tool.as_deref().unwrap_or("unknown tool");
        let inputs = match self.route {
            Route::Intermediate => "intermediate update".into(),
            Route::Derivatives { order } => format!("derivatives up to order {order}"),
            Route::Substeps => format!("{} sub-steps with equal mean", self.options.substeps.max(1)),
        };
        format!("FMI {version} co-simulation by {tool}; inputs by {inputs}")
    }

    fn save(&self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        let saved = self.states.save(&self.backend, &mut snapshot.bytes);
        state::explain(saved, &self.name)?;
        snapshot.reals.clear();
        snapshot.reals.push(if self.phase == Phase::Stepping { 1.0 } else { 0.0 });
        snapshot.reals.extend_from_slice(&self.applied);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        let restored = match snapshot.reals.split_first() {
            Some((phase, applied)) if applied.len() == self.applied.len() => {
                self.phase = if *phase == 1.0 { Phase::Stepping } else { Phase::Initializing };
                self.applied.copy_from_slice(applied);
                self.states.restore(&self.backend, &snapshot.bytes)
            }
            _ => Err(state::StateError::Restore("it is not one of this FMU")),
        };
        Ok(state::explain(restored, &self.name)?)
    }
}
