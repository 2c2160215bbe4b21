//! Subsystems that tell nothing of themselves.

use koppel::error::Error;
use koppel::system::{Snapshot, Subsystem, System};

/// A subsystem that can be started, stepped and read, and perhaps saved, but no more.
pub(crate) struct Plain {
    pub(crate) inner: Box<dyn Subsystem>,
    pub(crate) can_save: bool,
}

impl Plain {
    fn saves(&self) -> koppel::Result<&dyn Subsystem> {
        match self.can_save {
            true => Ok(self.inner.as_ref()),
            false => Err(Error::Unsupported { what: "saving".into(), reason: "it cannot".into() }.into()),
        }
    }
}

impl Subsystem for Plain {
    koppel::forward_to!(inner: ports, initialize, read, step, get, set);

    fn needs_trials(&self) -> bool {
        true
    }

    fn solver(&self) -> String {
        "its own".into()
    }

    fn save(&self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        self.saves()?.save(snapshot)
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        self.saves()?;
        self.inner.restore(snapshot)
    }
}

/// A system with all its subsystems made plain.
pub(crate) fn each(system: System, plain: fn(Box<dyn Subsystem>) -> Plain) -> System {
    let one = |inner| Box::new(plain(inner)) as Box<dyn Subsystem>;
    System { subsystems: system.subsystems.into_iter().map(one).collect(), graph: system.graph }
}
