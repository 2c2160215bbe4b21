//! FMUs in processes of their own.
//!
//! An FMU that crashes, hangs, calls `exit` or eats all memory then ends its own process only: [`host`] gives a subsystem
//! like any other, whose calls run in a worker process.
//!
//! ```text
//! engine -> Subsystem (parent.rs) -> shared memory (channel.rs) -> worker (serve.rs) -> Subsystem -> FMU
//! ```
//!
//! | file           | what                                                                         |
//! | -------------- | ---------------------------------------------------------------------------- |
//! | `memory.rs`    | memory that two processes share                                              |
//! | `channel.rs`   | requests and replies, one at a time; waiting awake, then asleep              |
//! | `ring.rs`      | log messages, which outlive a crash                                          |
//! | `protocol.rs`  | what is asked and answered                                                   |
//! | `process.rs`   | the worker process: started, watched, ended with all its children            |
//! | `link.rs`      | a process with its channel                                                   |
//! | `parent.rs`    | the subsystem the engine sees                                                |
//! | `serve.rs`     | the loop of the worker                                                       |
//! | `lifeline.rs`  | no worker outlives its parent                                                |
//! | `limits.rs`    | how much memory a worker may have                                            |
//! | `ended.rs`     | how a worker ended, in words                                                 |
//! | `sandbox/`     | what of the rest of the machine a worker can reach                           |
//!
//! The worker is a program that calls [`serve`]: `koppel` itself does in a hidden command. A program of your own names it
//! with [`set_worker`], or calls [`serve`] when started with an argument only it knows. Linux only; elsewhere [`host`] says
//! so.

mod ended;
mod limits;
mod sandbox;

pub use ended::{Ended, Ending};
pub use limits::MemoryLimit;
pub use sandbox::{Confinement, Sandbox};

use crate::error::{Error, Result};
use crate::fmu::Fmu;
use crate::import::{Options, Solving};
use koppel::system::Subsystem;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod lifeline;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod parent;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod protocol;
#[cfg(target_os = "linux")]
mod ring;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod spin;

#[cfg(target_os = "linux")]
pub(crate) use lifeline::ignore_signals;
#[cfg(target_os = "linux")]
pub(crate) use memory::Map;
#[cfg(target_os = "linux")]
pub(crate) use process::{FAREWELL, Process, end_all_with, end_children_with, has_processors};
#[cfg(target_os = "linux")]
pub(crate) use spin::{FIRST_LOOKS, LOOKS, SHORTEST, Spin};

/// The program that hosts FMUs; it must call [`serve`] with the number that follows its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The program.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
}

/// How long to wait for a new worker before looking whether it is still there.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_millis(20);

/// The file of the running program, whatever has become of its name.
const SELF: &str = "/proc/self/exe";

impl Worker {
    /// The program that runs now, also if its file has been replaced meanwhile.
    pub fn this_program(argument: &str) -> Worker {
        let program =
            if cfg!(target_os = "linux") { SELF.into() } else { std::env::current_exe().unwrap_or_default() };
        Worker { program, arguments: vec![argument.into()] }
    }

    #[cfg(target_os = "linux")]
    fn is_this_program(&self) -> bool {
        self.program.as_os_str() == SELF
    }
}

static WORKER: Mutex<Option<Worker>> = Mutex::new(None);

/// Names the program that hosts FMUs for this one.
pub fn set_worker(worker: Worker) {
    *WORKER.lock().unwrap_or_else(PoisonError::into_inner) = Some(worker);
}

/// How an FMU is isolated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Isolation {
    /// The program that hosts it; `None`: the one given to [`set_worker`].
    pub worker: Option<Worker>,
    /// Longest time for one call, such as a step; `None`: as long as it takes.
    pub step_timeout: Option<Duration>,
    /// Most memory it may have.
    pub memory_limit: MemoryLimit,
    /// What else it may reach.
    pub sandbox: Sandbox,
    /// True if what it prints is not shown, as in trials.
    pub is_quiet: bool,
}

impl Isolation {
    #[cfg(target_os = "linux")]
    fn worker(&self) -> Result<Worker> {
        let known = || WORKER.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.worker.clone().or_else(known).ok_or_else(|| Error::NoWorker.into())
    }
}

/// Something that is done with an FMU in a process of its own: bytes in, bytes or words about a failure out.
pub type Job = fn(&Arc<Fmu>, &[u8]) -> Result<Vec<u8>, String>;

/// Whether FMUs can be isolated on this machine, and how well they are confined then.
#[must_use]
pub fn availability() -> (bool, String) {
    #[cfg(target_os = "linux")]
    return (true, sandbox::abilities());
    #[cfg(not(target_os = "linux"))]
    (false, "on Linux only".into())
}

/// An instance of an FMU in a process of its own.
pub fn host(fmu: &Arc<Fmu>, options: &Options, isolation: &Isolation) -> Result<Box<dyn Subsystem>> {
    if fmu.runs_under_wine(options.solving) {
        let options = Options { call_limit: isolation.step_timeout, ..options.clone() };
        return crate::import::instantiate_any(fmu, &options);
    }
    #[cfg(target_os = "linux")]
    return Ok(Box::new(parent::Isolated::new(fmu, options, isolation)?));
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (fmu, options, isolation);
        Err(Error::NoIsolation.into())
    }
}

/// Does the job called `name` in a process of its own; a crash or hang of the FMU becomes [`Error::Ended`].
pub fn run_job(fmu: &Arc<Fmu>, name: &str, input: &[u8], isolation: &Isolation) -> Result<Vec<u8>> {
    let is_remote =
        [Solving::Own, Solving::Koppel(None)].into_iter().any(|solving| fmu.runs_under_wine(solving));
    if is_remote && name == crate::probe::JOB {
        let words = |text| Box::new(Error::Remote { text, hint: None });
        return crate::probe::job(fmu, input).map_err(words);
    }
    #[cfg(target_os = "linux")]
    return link::run_job(fmu, name, input, isolation);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (fmu, name, input, isolation);
        Err(Error::NoIsolation.into())
    }
}

/// The life of a worker: does what its parent asks until told to end. `parent` is the number after the arguments of
/// [`Worker`]; `jobs` are those [`run_job`] may name.
///
/// Its standard input is the shared memory, so nothing may read that before. It returns if it was not started by
/// [`host`] or [`run_job`], or when it is told to end.
pub fn serve(parent: &str, jobs: &[(&str, Job)]) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    return serve::serve(parent, jobs);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (parent, jobs);
        Err(std::io::ErrorKind::Unsupported.into())
    }
}
