//! A subsystem goes back to the start.

use super::ports::VariableId;
use super::subsystem::Subsystem;
use crate::error::Result;

/// Starts it with what is set before the start and these inputs; outputs are those of the begin of the run.
pub(crate) fn start_anew(
    subsystem: &mut dyn Subsystem,
    start: f64,
    settings: &[(VariableId, f64)],
    inputs: &[f64],
    outputs: &mut [f64],
) -> Result<()> {
    subsystem.initialize(start)?;
    for (variable, value) in settings {
        subsystem.set(*variable, *value)?;
    }
    subsystem.read(Some(inputs), outputs)?;
    if subsystem.leave_initialization()? {
        subsystem.read(None, outputs)?;
    }
    Ok(())
}
