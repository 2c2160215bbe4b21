//! The project's tasks: `cargo xtask test | bench | proof | papers`.

mod bench;
mod command;
mod papers;
mod proof;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  test   install what the tests need, then check format, lints and every test
  bench  measure the engine's cost and write the figures to bench/README.md
  proof  run the long proofs (soak, kills, mutations) and write the figures to bench/proof.md
  papers make every table and figure of the papers in full, measure their studies, and write both to bench/papers.md
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => test::run(),
        ["bench"] => bench::run(),
        ["proof"] => proof::run(),
        ["papers"] => papers::run(),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
