//! Each capability in a process of its own: a crash, an exit or a hang tells of this one alone.
//!
//! How long a trial may take follows from the plain steps, which are tried first: whatever does not return in [`MULTIPLE`] times as long
//! hangs, in whichever call. So a slow FMU is not accused, and one whose steps hang after a state was restored is.

use super::findings::{Judgement, failed, not_tried, noted};
use super::{
    Capability, Declared, Finding, Findings, Outcome, ProbeOptions, Scope, capabilities, declared, finding,
    interface, name_of, probe,
};
use crate::error::{Error, Result};
use crate::ffi::Kind;
use crate::fmu::Fmu;
use crate::import::{Options, Solving};
use crate::isolate::{Ended, Isolation, run_job};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name by which every worker knows [`job`].
pub(crate) const JOB: &str = "probe";

/// No trial makes more instances or takes more steps than so many times the trial of plain steps.
const MULTIPLE: u32 = 50;
/// What every trial may take, however fast plain steps are.
const AT_LEAST: Duration = Duration::from_secs(5);

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

/// The same as [`probe`], with one worker for each capability. An `Err` is an FMU that does not even take steps there within the time
/// limit of `isolation`, or a worker that could not be started.
pub fn probe_apart(fmu: &Arc<Fmu>, options: &ProbeOptions, isolation: &Isolation) -> Result<Findings> {
    let kind = interface(fmu, options)?;
    let begin = Instant::now();
    let Findings { step, mut findings, .. } = try_one(fmu, options, kind, Capability::Steps, isolation)?;
    let isolation = Isolation { step_timeout: limit(begin.elapsed(), isolation), ..isolation.clone() };
    let alone = |only| try_one(fmu, options, kind, only, &isolation);
    let runs = findings.iter().all(|one| one.outcome == Outcome::Held);
    for capability in capabilities(fmu.description(), kind, options.scope) {
        let says = declared(capability, fmu.description(), kind);
        let judgement = match says {
            _ if !runs => not_tried("it does not run"),
            Declared::No => not_tried("it is not declared"),
            Declared::Yes | Declared::Always => match alone(capability) {
                Ok(found) => judged(found, capability),
                Err(error) => match *error {
                    // What short steps do to it is not for this trial to judge.
                    Error::Ended(ended) if capability == Capability::Freshness => {
                        noted(format!("which outputs are old could not be tested ({})", ending(&ended)))
                    }
                    Error::Ended(ended) => failed(ending(&ended)),
                    // A worker that could not be started, a licence that is gone: that says nothing of the FMU.
                    other => not_tried(other.to_string()),
                },
            },
        };
        findings.push(finding(capability, says, judgement));
    }
    Ok(Findings { interface: name_of(kind).into(), step, findings })
}

/// What a worker found. Steps that are taken without a function and fail with it tell of the function: a stiff solver asks for derivatives
/// in every step.
fn judged(found: Findings, capability: Capability) -> Judgement {
    let steps = found.of(Capability::Steps).filter(|steps| steps.outcome == Outcome::Failed);
    if let (Some(steps), Capability::DirectionalDerivatives) = (steps, capability) {
        return failed(steps.text.clone());
    }
    match found.findings.into_iter().find(|one| one.capability == capability) {
        Some(Finding { outcome, text, .. }) => (outcome, text),
        None => not_tried("nothing was found"),
    }
}

/// How a worker ended, in one line.
fn ending(ended: &Ended) -> String {
    let call = ended.call.map_or_else(String::new, |call| format!(" in {call}"));
    format!("{}{call}", ended.how)
}

/// How long a trial may take where plain steps took so long; no limit where they had none.
fn limit(plain: Duration, isolation: &Isolation) -> Option<Duration> {
    isolation.step_timeout.map(|patience| (MULTIPLE * plain).max(AT_LEAST.min(patience)))
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
    let mut instance = Options { solving, ..options.instance.clone() };
    if only != Capability::DirectionalDerivatives {
        // So that nothing else is blamed for them.
        instance.without.derivatives.get_or_insert_with(|| "does without them in other trials".into());
    }
    // Where no process can be ended from outside, the instance itself minds the time.
    instance.call_limit = instance.call_limit.or(isolation.step_timeout);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_may_take_as_long_as_its_plain_steps_suggest() {
        let seconds = Duration::from_secs_f64;
        let within =
            |timeout: Option<f64>| Isolation { step_timeout: timeout.map(seconds), ..Default::default() };
        assert_eq!(limit(seconds(0.01), &within(Some(30.0))), Some(AT_LEAST));
        assert_eq!(limit(seconds(3.0), &within(Some(30.0))), Some(seconds(150.0)));
        assert_eq!(limit(seconds(0.01), &within(Some(2.0))), Some(seconds(2.0)));
        assert_eq!(limit(seconds(0.01), &within(None)), None);
    }
}
