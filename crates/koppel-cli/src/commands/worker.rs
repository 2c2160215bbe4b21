//! `koppel isolated-fmu`: hosts an FMU for another koppel, which starts it. Not shown to users.

use koppel_fmi::Fmu;
use koppel_fmi::ffi::Kind;
use koppel_fmi::isolate::{self, Ending, Isolation, Job, Worker};
use koppel_fmi::probe::{
    Capability, Finding, Findings, Outcome as Outcomes, ProbeOptions, declarations, probe,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// What can be done with an FMU in a process of its own.
const JOBS: &[(&str, Job)] = &[(CHECK, check)];

/// Makes this program its own host of isolated FMUs.
pub(crate) fn announce() {
    isolate::set_worker(Worker::this_program("isolated-fmu"));
}

/// Does what the process with this number asks.
pub(super) fn serve(parent: &str) -> Result<Exit> {
    let failed = |error| Failure::words(format!("{error}"), "this command is used by koppel itself");
    isolate::serve(parent, JOBS).map_err(failed)?;
    Ok(Exit::Ok)
}

const CHECK: &str = "check";

/// What a check is to try.
#[derive(Serialize, Deserialize)]
struct Trial {
    interface: Kind,
    step: Option<f64>,
    only: Option<Capability>,
}

/// Findings, or message and hint of what went wrong before there were any.
type Outcome = std::result::Result<Findings, (String, Option<String>)>;

/// Tries one interface of an FMU, here.
fn check(fmu: &Arc<Fmu>, input: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let Trial { interface, step, only } = postcard::from_bytes(input).map_err(|error| error.to_string())?;
    let options = ProbeOptions { interface: Some(interface), step, only, ..ProbeOptions::default() };
    let outcome: Outcome = probe(fmu, &options).map_err(|error| (error.to_string(), error.hint()));
    postcard::to_stdvec(&outcome).map_err(|error| error.to_string())
}

/// Tries one interface of an FMU in a process of its own, within the time given. One that crashes or hangs there is tried
/// once more, each capability in a process of its own: what ends that one has failed, and the others are known.
pub(super) fn check_apart(
    fmu: &Arc<Fmu>,
    interface: Kind,
    step: Option<f64>,
    timeout: Duration,
) -> Result<Findings> {
    let whole = try_apart(fmu, &Trial { interface, step, only: None }, timeout);
    let Err(Failure::Crash { .. }) = whole else { return whole };
    let declarations = declarations(fmu, interface);
    let share = timeout / u32::try_from(declarations.len()).unwrap_or(1).max(1);
    let mut all: Option<Findings> = None;
    for (capability, declared) in declarations {
        let found = match try_apart(fmu, &Trial { interface, step, only: Some(capability) }, share) {
            Ok(mut found) => {
                let one = found.of(capability).cloned();
                found.findings.clear();
                all.get_or_insert(found);
                one
            }
            Err(Failure::Crash { message: text, .. }) if capability != Capability::Steps => {
                Some(Finding { capability, declared, outcome: Outcomes::Failed, text })
            }
            // It does not even step, or the fault lies elsewhere.
            Err(_) => return whole,
        };
        all.iter_mut().for_each(|all| all.findings.extend(found.clone()));
    }
    all.map_or(whole, Ok)
}

fn try_apart(fmu: &Arc<Fmu>, trial: &Trial, timeout: Duration) -> Result<Findings> {
    let words = |message: String| Failure::Words { message, hint: None };
    let failed = |error: Box<koppel_fmi::Error>| {
        let (message, hint) = (error.to_string(), error.hint());
        match *error {
            koppel_fmi::Error::Ended(ended) => Failure::Crash {
                message,
                hint: match ended.how {
                    Ending::Hung(_) => Some("allow more time with --timeout".into()),
                    _ => hint,
                },
            },
            _ => Failure::Words { message, hint },
        }
    };
    let input = postcard::to_stdvec(trial).map_err(|error| words(error.to_string()))?;
    let isolation = Isolation { step_timeout: Some(timeout), ..Isolation::default() };
    let bytes = isolate::run_job(fmu, CHECK, &input, &isolation).map_err(failed)?;
    let outcome: Outcome = postcard::from_bytes(&bytes).map_err(|error| words(error.to_string()))?;
    outcome.map_err(|(message, hint)| Failure::Words { message, hint })
}
