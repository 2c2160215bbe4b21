//! `koppel isolated-fmu`: hosts an FMU for another koppel, which starts it. Not shown to users.

use koppel_fmi::isolate::{self, Job, Worker};

use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// What can be done with an FMU in a process of its own.
const JOBS: &[(&str, Job)] = &[];

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
