//! A subsystem rolls back to the start.

use super::ports::VariableId;
use super::subsystem::Subsystem;
use crate::error::Result;

/// What a subsystem begins with.
pub(crate) struct Beginning<'a> {
    pub(crate) time: f64,
    /// What is set before the start.
    pub(crate) settings: &'a [(VariableId, f64)],
    pub(crate) inputs: &'a [f64],
}

/// Starts it so; outputs are those of the start of the run.
pub(crate) fn reinitialize(
    subsystem: &mut dyn Subsystem,
    beginning: &Beginning<'_>,
    outputs: &mut [f64],
) -> Result<()> {
    subsystem.initialize(beginning.time)?;
    for (variable, value) in beginning.settings {
        subsystem.set(*variable, *value)?;
    }
    subsystem.read(Some(beginning.inputs), outputs)?;
    if subsystem.leave_initialization()? {
        subsystem.read(None, outputs)?;
    }
    Ok(())
}
