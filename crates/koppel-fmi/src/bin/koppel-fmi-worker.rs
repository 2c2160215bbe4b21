//! Hosts isolated FMUs for programs that use koppel as a library; started by them, not by hand.

use std::process::ExitCode;

fn main() -> ExitCode {
    let parent = std::env::args().nth(1).unwrap_or_default();
    match koppel_fmi::isolate::serve(&parent, &[]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("koppel-fmi-worker: {error}; it is started by koppel, not by hand");
            ExitCode::from(2)
        }
    }
}
