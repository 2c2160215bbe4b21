//! Subsystems that tell nothing of themselves.

use koppel::error::Error;
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{Capabilities, Ports, Snapshot, Subsystem, System, VariableId};

/// A subsystem that can be started, stepped and read, and perhaps saved, but no more.
pub(crate) struct Plain {
    inner: Box<dyn Subsystem>,
    capabilities: Capabilities,
}

impl Plain {
    /// One that cannot save its state for this reason, if there is one.
    pub(crate) fn new(inner: Box<dyn Subsystem>, cannot_save: Option<&str>) -> Self {
        let cannot_roll_back = cannot_save.map(str::to_owned);
        let capabilities =
            Capabilities { needs_trials: true, cannot_roll_back, ..Capabilities::new("its own") };
        Plain { inner, capabilities }
    }

    fn check_saving(&self) -> koppel::Result<()> {
        match &self.capabilities.cannot_roll_back {
            None => Ok(()),
            Some(reason) => Err(Error::Unsupported { what: "saving".into(), reason: reason.clone() }.into()),
        }
    }
}

impl Subsystem for Plain {
    fn ports(&self) -> &Ports {
        self.inner.ports()
    }
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
    fn initialize(&mut self, start: f64) -> koppel::Result<()> {
        self.inner.initialize(start)
    }
    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        self.inner.read(inputs, outputs)
    }
    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        y: &mut [f64],
        samples: &mut Samples,
    ) -> koppel::Result<()> {
        self.inner.step(step, input, y, samples)
    }
    fn get(&mut self, variable: VariableId) -> koppel::Result<f64> {
        self.inner.get(variable)
    }
    fn set(&mut self, variable: VariableId, value: f64) -> koppel::Result<()> {
        self.inner.set(variable, value)
    }
    fn save(&mut self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        self.check_saving()?;
        self.inner.save(snapshot)
    }
    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        self.check_saving()?;
        self.inner.restore(snapshot)
    }
}

/// A system with all its subsystems made plain.
pub(crate) fn each(system: System, plain: fn(Box<dyn Subsystem>) -> Plain) -> System {
    let one = |inner| Box::new(plain(inner)) as Box<dyn Subsystem>;
    System { subsystems: system.subsystems.into_iter().map(one).collect(), graph: system.graph }
}
