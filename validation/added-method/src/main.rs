//! koppel with one more coupling method: [`damped`] is its file, `add_method` its line.

mod damped;

use std::process::ExitCode;

fn main() -> ExitCode {
    koppel::coupling::add_method(&damped::DAMPED).expect("no other method has its name");
    koppel_cli::main()
}
