//! The command line of koppel: arguments become settings, settings go to the library, numbers come back.
//!
//! It is a library, so that a program may add coupling methods of its own ([`koppel::coupling::add_method`]) and then be koppel.

mod arguments;
mod commands;
mod execution;
mod exit;
mod failure;
mod output;
mod supervision;

use std::process::ExitCode;

use clap::Parser;

/// Carries out what the arguments of the process ask for.
pub fn main() -> ExitCode {
    koppel_io::results::claim();
    commands::announce_worker();
    let given = match supervision::given() {
        Ok(given) => given,
        Err(error) => {
            failure::Failure::words(error.to_string(), "this command is used by koppel itself").show();
            return exit::Exit::BadInput.into();
        }
    };
    let arguments = match arguments::Arguments::try_parse_from(&given.arguments) {
        Ok(arguments) => arguments,
        Err(answer) => return show_answer(&answer),
    };
    output::keep_standard_output();
    let is_to_be_overseen = !given.is_supervised && !arguments.in_process && arguments.command.runs_fmus();
    if is_to_be_overseen && let Some(code) = supervision::oversee(&given, arguments.command.as_json()) {
        return code;
    }
    let code = commands::execute(arguments.command).unwrap_or_else(|failure| {
        failure.show();
        failure.code()
    });
    supervision::leave(code);
    code.into()
}

/// Help, the version, or what is wrong with the arguments.
fn show_answer(answer: &clap::Error) -> ExitCode {
    match answer.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let failure = failure::Failure::Output(error);
            failure.show();
            failure.code().into()
        }
        _ => ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(2)),
    }
}
