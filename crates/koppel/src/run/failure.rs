//! Failures of subsystems, with names and times.

use super::drive::Termination;
use super::slot::Slot;
use crate::error::Error;
use crate::signal::Step;
use crate::solver::SolverError;
use crate::system::SystemGraph;

/// A subsystem's failure with its name; a state that is not finite gets its own.
pub(super) fn failed(graph: &SystemGraph, slot: &Slot, step: Step, source: Box<Error>) -> Box<Error> {
    let subsystem = graph.name(slot.id).to_owned();
    match *source {
        Error::Solver(SolverError::NonFinite { time, index, .. }) => {
            let variable =
                graph.ports(slot.id).locals.get(index).map_or_else(String::new, |v| v.name.clone());
            Error::BecameNonFinite { subsystem, variable, value: f64::NAN, time }.into()
        }
        _ => Error::Subsystem { subsystem, time: step.start, source }.into(),
    }
}

/// What a subsystem's failure comes to: it asks to end the run and stands at the end of its step, so that all others can go
/// there; or a failure with its name.
#[cold]
pub(super) fn ended_or_failed(
    graph: &SystemGraph,
    slot: &Slot,
    step: Step,
    source: Box<Error>,
) -> Result<Termination, Box<Error>> {
    if let Error::Terminated { reached: Some(time), text } = &*source
        && *time >= step.end() - 1e-9 * step.size
    {
        let (subsystem, text) = (graph.name(slot.id).to_owned(), text.clone());
        return Ok(Termination { subsystem, time: step.end(), text });
    }
    Err(failed(graph, slot, step, source))
}

/// The request to end the run that this failure is, with where the subsystem stands.
pub(super) fn termination(error: &Error) -> Option<(Termination, Option<f64>)> {
    let Error::Subsystem { subsystem, time, source } = error else { return None };
    match &**source {
        Error::Terminated { reached, text } => {
            let (subsystem, text) = (subsystem.clone(), text.clone());
            Some((Termination { subsystem, time: *time, text }, *reached))
        }
        inner => termination(inner),
    }
}

/// A method's failure with its time; it names subsystems itself.
#[cold]
pub(super) fn unpredicted(step: Step, source: Box<Error>) -> Box<Error> {
    Error::Prediction { time: step.start, source }.into()
}

/// An output that is not a number.
pub(super) fn non_finite(graph: &SystemGraph, outputs: &[f64], output: usize, time: f64) -> Box<Error> {
    let id = graph.subsystem_of_output(output);
    let variable = graph.ports(id).outputs[output - graph.outputs_of(id).start].name.clone();
    let (subsystem, value) = (graph.name(id).into(), outputs[output]);
    Error::BecameNonFinite { subsystem, variable, value, time }.into()
}
