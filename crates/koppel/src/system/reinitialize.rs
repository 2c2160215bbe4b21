//! Initialises a subsystem again, for a roll-back to the start of the run.

use super::ports::VariableId;
use super::subsystem::Subsystem;
use crate::error::Result;

/// What is set before a subsystem starts.
pub(crate) struct InitialConditions<'a> {
    pub(crate) time: f64,
    /// Parameters and start values.
    pub(crate) settings: &'a [(VariableId, f64)],
    pub(crate) inputs: &'a [f64],
}

/// Initialises the subsystem; `outputs` become those of the start of the run.
pub(crate) fn reinitialize(
    subsystem: &mut dyn Subsystem,
    initial: &InitialConditions<'_>,
    outputs: &mut [f64],
) -> Result<()> {
    subsystem.initialize(initial.time)?;
    for (variable, value) in initial.settings {
        subsystem.set(*variable, *value)?;
    }
    subsystem.read(Some(initial.inputs), outputs)?;
    if subsystem.leave_initialization()? {
        subsystem.read(None, outputs)?;
    }
    Ok(())
}
