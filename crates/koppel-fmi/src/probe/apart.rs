//! Each capability in a process of its own: a crash, an exit or a hang tells of this one alone.

use super::findings::{failed, not_tried};
use super::{
    Capability, Declared, Finding, Findings, Outcome, ProbeOptions, Scope, capabilities, declared, finding,
    name_of, probe, sections,
};
use crate::error::{Error, Result};
use crate::ffi::Kind;
use crate::fmu::Fmu;
use crate::import::{Options, Solving};
use crate::isolate::{Ended, Ending, Isolation, run_job};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name by which every worker knows [`job`].
pub(crate) const JOB: &str = "probe";

/// What a worker is to try.
#[derive(Serialize, Deserialize)]
struct Order {
    interface: Kind,
    step: Option<f64>,
    /// For model exchange with the solver.
    instance: Options,
    only: Capability,
    same: Option<f64>,
}

/// What came of it: findings, or message and hint.
type Reply = Result<Findings, (String, Option<String>)>;

/// The same as [`probe`], with one worker for each capability. An `Err` is an FMU that does not even take steps there, or a
/// worker that could not be started.
pub fn probe_apart(fmu: &Arc<Fmu>, options: &ProbeOptions, isolation: &Isolation) -> Result<Findings> {
    let (kind, section, interface) = sections(fmu, options)?;
    let alone = |only| try_one(fmu, options, kind, only, isolation);
    let Findings { step, mut findings, .. } = alone(Capability::Steps)?;
    let runs = findings.iter().all(|one| one.outcome == Outcome::Held);
    for capability in capabilities(fmu.description(), kind, options.scope) {
        let says = declared(capability, interface, section);
        let seen = match says {
            _ if !runs => not_tried("it does not run"),
            Declared::No => not_tried("it is not declared"),
            Declared::Yes | Declared::Always => match alone(capability) {
                Ok(found) => match found.findings.into_iter().find(|one| one.capability == capability) {
                    Some(Finding { outcome, text, .. }) => (outcome, text),
                    None => not_tried("nothing was found"),
                },
                Err(error) => match *error {
                    Error::Ended(ended) if is_slow(&ended, capability) => {
                        not_tried(format!("it takes too long to try: {}", ending(&ended)))
                    }
                    Error::Ended(ended) => failed(ending(&ended)),
                    // A worker that could not be started, a licence that is gone: that says nothing of the FMU.
                    other => not_tried(other.to_string()),
                },
            },
        };
        findings.push(finding(capability, says, seen));
    }
    Ok(Findings { interface: name_of(kind).into(), step, findings })
}

/// How a worker ended, in one line.
fn ending(ended: &Ended) -> String {
    let call = ended.call.map_or_else(String::new, |call| format!(" in {call}"));
    format!("{}{call}", ended.how)
}

/// True if time ran out in a call that every FMU must take: that does not tell of the capability.
fn is_slow(ended: &Ended, capability: Capability) -> bool {
    let own = match capability {
        Capability::RollBack | Capability::Serialization => "FMUstate",
        Capability::DirectionalDerivatives | Capability::AdjointDerivatives => "Derivative",
        _ => return matches!(ended.how, Ending::Hung(_)),
    };
    let is_own = ended.call.is_some_and(|call| call.to_lowercase().contains(&own.to_lowercase()));
    matches!(ended.how, Ending::Hung(_)) && !is_own
}

fn try_one(
    fmu: &Arc<Fmu>,
    options: &ProbeOptions,
    interface: Kind,
    only: Capability,
    isolation: &Isolation,
) -> Result<Findings> {
    let solving = match interface {
        Kind::CoSimulation => Solving::Own,
        Kind::ModelExchange => Solving::Koppel(options.solver),
    };
    let instance = Options { solving, ..options.instance.clone() };
    let order = Order { interface, step: options.step, instance, only, same: options.same };
    let words = |text: String| Box::new(Error::Remote { text, hint: None });
    let input = postcard::to_stdvec(&order).map_err(|error| words(error.to_string()))?;
    let bytes = run_job(fmu, JOB, &input, isolation)?;
    let reply: Reply = postcard::from_bytes(&bytes).map_err(|error| words(error.to_string()))?;
    reply.map_err(|(text, hint)| Box::new(Error::Remote { text, hint }))
}

/// What a worker does.
pub(crate) fn job(fmu: &Arc<Fmu>, input: &[u8]) -> Result<Vec<u8>, String> {
    let Order { interface, step, instance, only, same } =
        postcard::from_bytes(input).map_err(|error| error.to_string())?;
    let solver = match &instance.solving {
        Solving::Koppel(solver) => *solver,
        Solving::Own => None,
    };
    let options =
        ProbeOptions { instance, interface: Some(interface), solver, step, scope: Scope::Only(only), same };
    let reply: Reply = probe(fmu, &options).map_err(|error| (error.to_string(), error.hint()));
    postcard::to_stdvec(&reply).map_err(|error| error.to_string())
}
