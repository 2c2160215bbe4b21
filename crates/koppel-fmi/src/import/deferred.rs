//! An FMU as a subsystem whose instance is made when it is first initialised.
//!
//! Its ports are those of the description. So a system can be wired and checked without any instance, and copies for trials cost
//! nothing until somebody uses them.

use super::start_values::StartValues;
use super::{Options, Solving, capabilities, ports, starts};
use crate::error::{Error, Result};
use crate::ffi::Kind;
use crate::fmu::Fmu;
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{Capabilities, LinearModel, Mailbox, Ports, Snapshot, Subsystem, VariableId};
use std::sync::Arc;

/// Makes the instance.
type Make = Box<dyn Fn() -> Result<Box<dyn Subsystem>> + Send>;

/// An FMU without an instance, so far.
pub struct Deferred {
    name: String,
    ports: Ports,
    /// As long as there is no instance.
    capabilities: Capabilities,
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
            capabilities: capabilities(fmu, options),
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

    fn capabilities(&self) -> &Capabilities {
        self.inner.as_ref().map_or(&self.capabilities, |inner| inner.capabilities())
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

    fn save(&mut self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        self.inner()?.save(snapshot)
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        self.inner()?.restore(snapshot)
    }

    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        self.inner.as_mut()?.linear_model()
    }

    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        self.inner.as_mut()?.mailbox()
    }
}
