//! The command line of koppel: arguments become settings, settings go to the library, numbers come back.

mod arguments;
mod commands;
mod exit;
mod failure;
mod output;
mod session;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    let code = commands::execute(arguments.command).unwrap_or_else(|failure| {
        failure.show();
        failure.code()
    });
    code.into()
}
