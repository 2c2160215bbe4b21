//! An FMU as a subsystem whose instance is made when it is first initialised.
//!
//! Its ports are those of the description. So a system can be wired and checked without any instance, and copies for trials cost
//! nothing until somebody uses them.

use super::start_values::StartValues;
use super::{Options, Solving, identity, ports, refusal, starts};
use crate::error::{Error, Result};
use crate::ffi::Kind;
use crate::fmu::Fmu;
use koppel::linalg::Matrix;
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{EventLog, Message, Ports, Snapshot, StateSpace, Subsystem, VariableId};
use std::sync::Arc;

/// Makes the instance.
type Make = Box<dyn Fn() -> Result<Box<dyn Subsystem>> + Send>;

/// An FMU without an instance, so far.
pub struct Deferred {
    name: String,
    ports: Ports,
    identity: Option<String>,
    refusal: Option<String>,
    saves_states: bool,
    make: Make,
    inner: Option<Box<dyn Subsystem>>,
}

impl Deferred {
    /// The instance is made by `make` when it is initialised.
    ///
    /// # Errors
    ///
    /// If the FMU has no such interface, or options do not fit it.
    pub fn new(
        fmu: &Arc<Fmu>,
        options: &Options,
        make: impl Fn() -> Result<Box<dyn Subsystem>> + Send + 'static,
    ) -> Result<Deferred> {
        Ok(Deferred {
            name: options.name.clone(),
            ports: described(fmu, options)?,
            identity: identity(fmu, options),
            refusal: refusal(fmu.description(), options),
            saves_states: fmu.saves_states(options),
            make: Box::new(make),
            inner: None,
        })
    }

    fn inner(&mut self) -> koppel::Result<&mut dyn Subsystem> {
        match &mut self.inner {
            Some(inner) => Ok(inner.as_mut()),
            None => Err(Box::new(Error::NotStarted { instance: self.name.clone() }).into()),
        }
    }
}

/// The ports of an instance, without making one.
fn described(fmu: &Arc<Fmu>, options: &Options) -> Result<Ports> {
    let adapted = starts::adapted(fmu.description(), options)?;
    let description = adapted.as_deref().unwrap_or(fmu.description());
    StartValues { instance: &options.name, description, values: &options.start_values }.check()?;
    let mut ports = ports::ports(description);
    starts::start_inputs(&mut ports.inputs, &options.start_values);
    match (&options.solving, &description.co_simulation, &description.model_exchange) {
        (Solving::Own, Some(section), _) => {
            ports.one_step_size = !section.can_handle_variable_communication_step_size;
        }
        (Solving::Own, None, _) => return Err(fmu.lacks(Kind::CoSimulation).into()),
        (Solving::Koppel(_), _, None) => return Err(fmu.lacks(Kind::ModelExchange).into()),
        (Solving::Koppel(_), _, Some(_)) => {}
    }
    Ok(ports)
}

impl Subsystem for Deferred {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn initialize(&mut self, start: f64) -> koppel::Result<()> {
        if self.inner.is_none() {
            self.inner = Some((self.make)()?);
        }
        self.inner()?.initialize(start)
    }

    fn leave_initialization(&mut self) -> koppel::Result<bool> {
        self.inner()?.leave_initialization()
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        self.inner()?.read(inputs, outputs)
    }

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> koppel::Result<()> {
        self.inner()?.step(step, input, outputs, samples)
    }

    fn get(&mut self, variable: VariableId) -> koppel::Result<f64> {
        self.inner()?.get(variable)
    }

    fn set(&mut self, variable: VariableId, value: f64) -> koppel::Result<()> {
        self.inner()?.set(variable, value)
    }

    fn send(&mut self, output: usize, message: &mut Message) -> koppel::Result<()> {
        self.inner()?.send(output, message)
    }

    fn receive(&mut self, input: usize, message: &Message) -> koppel::Result<()> {
        self.inner()?.receive(input, message)
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        self.inner().ok()?.events()
    }

    fn linearize(&mut self, inputs: &[f64]) -> koppel::Result<Option<StateSpace>> {
        self.inner()?.linearize(inputs)
    }

    fn feed_through(&mut self, inputs: &[f64], out: &mut Matrix) -> koppel::Result<bool> {
        self.inner()?.feed_through(inputs, out)
    }

    fn lack_of_model(&self) -> Option<String> {
        self.inner.as_ref()?.lack_of_model()
    }

    fn needs_trials(&self) -> bool {
        self.inner.as_ref().is_none_or(|inner| inner.needs_trials())
    }

    fn model_source(&self) -> Option<String> {
        self.inner.as_ref()?.model_source()
    }

    fn rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        self.inner()?.rates(inputs, rates)
    }

    fn state_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        self.inner()?.state_rates(inputs, rates)
    }

    fn solver(&self) -> String {
        self.inner.as_ref().map_or_else(String::new, |inner| inner.solver())
    }

    fn identity(&self) -> Option<String> {
        self.identity.clone()
    }

    fn refusal(&self) -> Option<String> {
        self.refusal.clone()
    }

    fn may_end_run(&self) -> bool {
        true
    }

    fn step_calls(&self) -> Option<u64> {
        self.inner.as_ref()?.step_calls()
    }

    fn can_go_back(&self) -> koppel::Result<()> {
        match &self.inner {
            Some(inner) => inner.can_go_back(),
            None if self.saves_states => Ok(()),
            None => Err(Box::new(Error::NotStarted { instance: self.name.clone() }).into()),
        }
    }

    fn save(&self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        match &self.inner {
            Some(inner) => inner.save(snapshot),
            None => Err(Box::new(Error::NotStarted { instance: self.name.clone() }).into()),
        }
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        self.inner()?.restore(snapshot)
    }

    fn discard(&mut self) -> koppel::Result<()> {
        self.inner()?.discard()
    }
}
