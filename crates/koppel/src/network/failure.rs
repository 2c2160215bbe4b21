//! Failures of subsystems, with names and times.

use super::Network;
use super::board::Board;
use super::slot::Slot;
use crate::error::{Error, LastInputs};
use crate::signal::Step;
use crate::solver::SolverError;
use crate::system::{SubsystemId, SystemGraph};

/// A subsystem asks to end the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Termination {
    /// Which.
    pub subsystem: String,
    /// When the run ends.
    pub time: f64,
    /// What it says.
    pub text: String,
}

/// A subsystem's failure with its name; a state that is not finite gets its own.
pub(crate) fn failed(graph: &SystemGraph, slot: &Slot, step: Step, source: Box<Error>) -> Box<Error> {
    let subsystem = graph.name(slot.id).to_owned();
    match *source {
        Error::Solver(SolverError::NonFinite { time, index, .. }) => {
            let variable =
                graph.ports(slot.id).locals.get(index).map_or_else(String::new, |v| v.name.clone());
            let inputs = LastInputs::Unknown;
            Error::BecameNonFinite { subsystem, variable, value: f64::NAN, time, inputs }.into()
        }
        _ => Error::Subsystem { subsystem, time: step.start, source }.into(),
    }
}

/// A request to end the run, if the subsystem asks for that at the end of its step, which all others can reach; otherwise its
/// failure with its name.
#[cold]
pub(crate) fn request_or_failure(
    graph: &SystemGraph,
    slot: &Slot,
    step: Step,
    source: Box<Error>,
) -> Result<Termination, Box<Error>> {
    if let Error::Terminated { text, .. } = &*source
        && has_ended(&source, &step)
    {
        let (subsystem, text) = (graph.name(slot.id).to_owned(), text.clone());
        return Ok(Termination { subsystem, time: step.end(), text });
    }
    Err(failed(graph, slot, step, source))
}

/// True if this is a request to end the run by a subsystem at the end of its step.
pub(crate) fn has_ended(error: &Error, step: &Step) -> bool {
    matches!(error, Error::Terminated { reached: Some(time), .. } if *time >= step.end() - 1e-9 * step.size)
}

/// True if this is a request to end the run at a known time.
pub(crate) fn is_request(error: &Error) -> bool {
    matches!(termination(error), Some((_, Some(_))))
}

/// The request to end the run, if this failure is one, and the time that the subsystem has reached.
pub(crate) fn termination(error: &Error) -> Option<(Termination, Option<f64>)> {
    let Error::Subsystem { subsystem, time, source } = error else { return None };
    match &**source {
        Error::Terminated { reached, text } => {
            let (subsystem, text) = (subsystem.clone(), text.clone());
            Some((Termination { subsystem, time: *time, text }, *reached))
        }
        inner => termination(inner),
    }
}

/// A failure of the coupling, with its time.
#[cold]
pub(crate) fn prediction_failed(step: Step, source: Box<Error>) -> Box<Error> {
    Error::Prediction { time: step.start, source }.into()
}

/// An output that is not a number.
pub(crate) fn non_finite(graph: &SystemGraph, outputs: &[f64], output: usize, time: f64) -> Box<Error> {
    let id = graph.subsystem_of_output(output);
    let variable = graph.ports(id).outputs[output - graph.outputs_of(id).start].name.clone();
    let (subsystem, value) = (graph.name(id).into(), outputs[output]);
    Error::BecameNonFinite { subsystem, variable, value, time, inputs: LastInputs::Unknown }.into()
}

/// The same failure; if a variable became infinite or NaN, with the last inputs.
#[cold]
pub(crate) fn with_inputs(network: &Network, mut error: Box<Error>) -> Box<Error> {
    if let Error::BecameNonFinite { subsystem, time, inputs, .. } = error.as_mut()
        && *inputs == LastInputs::Unknown
        && let Ok(id) = network.graph.find(subsystem)
    {
        *inputs = last_inputs(&network.graph, &network.board, id, *time);
    }
    error
}

/// The last inputs of a subsystem, arrived and predicted, with external signals.
fn last_inputs(graph: &SystemGraph, board: &Board, id: SubsystemId, time: f64) -> LastInputs {
    let mut largest: Option<(&str, f64)> = None;
    for input in graph.inputs_of(id) {
        let name = graph.input_variable(input).name.as_str();
        let signals = graph.externals().iter().filter(|(other, _)| *other == input);
        let signal: f64 = signals.map(|(_, signal)| signal.value(time)).sum();
        let value = board.history.arrivals()[input] + signal;
        let predicted = board.predicted.of_all(&(input..input + 1));
        if !value.is_finite() || predicted.iter().any(|coefficient| !coefficient.is_finite()) {
            return LastInputs::NotFinite(name.to_owned());
        }
        if largest.is_none_or(|(_, known)| value.abs() > known.abs()) {
            largest = Some((name, value));
        }
    }
    LastInputs::Finite(largest.map(|(name, value)| (name.to_owned(), value)))
}
