//! `koppel`.

use std::process::ExitCode;

fn main() -> ExitCode {
    koppel_cli::main()
}
