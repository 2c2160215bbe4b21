//! One file per command.

mod completions;
mod examples;
mod models;
mod new;
mod recover;
mod resume;
mod run;

use crate::arguments::Command;
use crate::exit::{self, Exit};
use crate::failure::Result;
use crate::output::print;

/// Does what was asked.
pub(crate) fn execute(command: Command) -> Result<Exit> {
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Resume(arguments) => resume::resume(&arguments),
        Command::Recover(arguments) => recover::recover(&arguments),
        Command::Models(arguments) => models::models(&arguments),
        Command::New(arguments) => new::new(&arguments),
        Command::Completions { shell } => completions::completions(shell),
        Command::ExitCodes => {
            print(&format!("{}\n", exit::TABLE));
            Ok(Exit::Ok)
        }
    }
}
