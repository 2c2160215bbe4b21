//! What a run is prepared by.

use crate::error::Result;
use crate::identify::ProbeStore;
use crate::system::System;

/// Makes the system once more: the same subsystems in the same order, none of them initialised.
pub type Copies<'a> = dyn Fn() -> Result<System> + 'a;

/// What a run is prepared by, beside the system and its settings.
#[derive(Clone, Copy, Default)]
pub struct Preparation<'a> {
    /// What exciting the subsystems shows before the run is taken from here as far as it is there, and else kept here.
    pub store: Option<&'a dyn ProbeStore>,
    /// Subsystems that are excited in the place of the run's own. Without copies those of the run are excited, and put back.
    pub copies: Option<&'a Copies<'a>>,
}
