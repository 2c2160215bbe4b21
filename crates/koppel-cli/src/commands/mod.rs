//! One file per command.
//!
//! | file                                         | what                                                                                    |
//! | -------------------------------------------- | --------------------------------------------------------------------------------------- |
//! | `run.rs`, `resume.rs`, `recover.rs`          | runs                                                                                    |
//! | `check.rs`                                   | the forecast; `frequency.rs`, `check --frequency`                                       |
//! | `tune.rs`, `probe.rs`, `hinf.rs`, `study.rs` | the commands of these names; `auto.rs`, settings in the place of `auto` for any of them |
//! | `models.rs`, `new.rs`                        | `blocks.rs` and `examples.rs`, what they list                                           |
//! | `fmu.rs`                                     | `fmu check`; `fmu_info.rs`, `fmu_export.rs`                                             |
//! | `ssp.rs`                                     | system structures; `ssp_models.rs`, models of koppel as FMUs in a package               |
//! | `completions.rs`                             | completions for shells                                                                  |
//! | `doctor.rs`                                  | what this machine can run                                                               |
//! | `worker.rs`                                  | the hidden command that hosts an FMU for another koppel                                 |
//! | `verification.rs`                            | runs of copies that verify what `tune` recommends                                       |
//! | `progress.rs`                                | progress of long work before a run                                                      |

mod auto;
mod blocks;
mod check;
mod completions;
mod doctor;
mod examples;
mod fmu;
mod fmu_export;
mod fmu_info;
mod frequency;
mod hinf;
mod models;
mod new;
mod probe;
mod progress;
mod recover;
mod resume;
mod run;
mod ssp;
mod ssp_models;
mod study;
mod tune;
mod verification;
mod worker;

use crate::arguments::Command;
use crate::exit::{self, Exit};
use crate::failure::Result;
use crate::output::{self, print};

pub(crate) use verification::Verification;
pub(crate) use worker::announce as announce_worker;

/// Does what was asked.
pub(crate) fn execute(command: Command) -> Result<Exit> {
    let as_json = command.as_json();
    match command {
        Command::Run(arguments) => reporting(run::run(&arguments), as_json),
        Command::Check(arguments) => reporting(check::check(&arguments), as_json),
        Command::Tune(arguments) => reporting(tune::tune(&arguments), as_json),
        Command::Probe(arguments) => reporting(probe::probe(&arguments), as_json),
        Command::Resume(arguments) => reporting(resume::resume(&arguments), as_json),
        Command::Recover(arguments) => recover::recover(&arguments),
        Command::Models(arguments) => reporting(models::models(&arguments), as_json),
        Command::Fmu(command) => fmu::fmu(&command),
        Command::Ssp(command) => ssp::ssp(&command),
        Command::Hinf(arguments) => reporting(hinf::hinf(&arguments), as_json),
        Command::Study(arguments) => reporting(study::study(&arguments), as_json),
        Command::New(arguments) => new::new(&arguments),
        Command::Doctor { json } => reporting(doctor::doctor(json), json),
        Command::Completions { shell } => completions::completions(shell),
        Command::IsolatedFmu { parent } => worker::serve(&parent),
        Command::ExitCodes => {
            print(&format!("{}\n", exit::TABLE))?;
            Ok(Exit::Ok)
        }
    }
}

/// With `--json` a run that could not start is reported as JSON too.
fn reporting(result: Result<Exit>, as_json: bool) -> Result<Exit> {
    result.inspect_err(|failure| {
        if as_json && let Err(unsaid) = output::print_json(&output::failure_document(failure)) {
            unsaid.show();
        }
    })
}
