//! `koppel isolated-fmu`: hosts an FMU for another koppel, which starts it. Not shown to users.

use koppel::diagnostic::Diagnosis;
use koppel_fmi::Fmu;
use koppel_fmi::ffi::Kind;
use koppel_fmi::isolate::{self, Ending, Isolation, Worker};
use koppel_fmi::probe::{Findings, ProbeOptions, probe_apart};
use std::sync::Arc;
use std::time::Duration;

use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// Makes this program its own host of isolated FMUs.
pub(crate) fn announce() {
    isolate::set_worker(Worker::this_program("isolated-fmu"));
}

/// Does what the process with this number asks.
pub(super) fn serve(parent: &str) -> Result<Exit> {
    let failed = |error| Failure::words(format!("{error}"), "this command is used by koppel itself");
    isolate::serve(parent, &[]).map_err(failed)?;
    Ok(Exit::Ok)
}

/// Tries one interface of an FMU, each capability in a process of its own and within the time given.
pub(super) fn check_apart(
    fmu: &Arc<Fmu>,
    interface: Kind,
    step: Option<f64>,
    timeout: Duration,
) -> Result<Findings> {
    let options = ProbeOptions { interface: Some(interface), step, ..ProbeOptions::default() };
    let isolation = Isolation { step_timeout: Some(timeout), is_quiet: true, ..Isolation::default() };
    probe_apart(fmu, &options, &isolation).map_err(|error| {
        let mut diagnosis = Box::new(Diagnosis::of(&*error));
        match *error {
            koppel_fmi::Error::Ended(ended) => {
                if let Ending::Hung(_) = ended.how {
                    diagnosis.hints = vec!["allow more time with --timeout".into()];
                }
                Failure::Failed(diagnosis)
            }
            _ => Failure::Words(diagnosis),
        }
    })
}
