//! The project's tasks: `cargo xtask test | bench [NAME...] | papers [ARGUMENTS] | proof [NAME...] | lines [REV [REV]] | trace | instructions`.

mod bench;
mod calibration;
mod command;
mod cross_check;
mod instructions;
mod lines;
mod papers;
mod proof;
mod stages;
mod test;
mod trace;
mod wheel;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  test             install what the tests need, then check format, lints and every test
  bench [NAME...]  measure what koppel costs and write the figures to bench/README.md; all of it, or some of
                   engine, certificate, prestep, vfps, overhead, isolation
  papers [ARGUMENTS]
                   reproduce tables and figures of the papers; `papers --help` lists the arguments
  proof [NAME...]  run the long proofs and write the figures to bench and docs; all of them, or some of
                   soak, kills, mutations, foreign-files, wheel, faults, vfps, hinf, auto, fmu-steps,
                   papers, calibration
  proof calibration [--seed N] [--systems N]
                   verdicts on random systems beside the truth, into bench/calibration.md; seed 1 and 1000 systems
                   unless told otherwise
  proof cross-check PATH [linux64|win64]
                   try the FMUs of a checkout or bare git directory of modelica/fmi-cross-check and write
                   bench/cross-check.md; those for Windows run under Wine
  lines [REV [REV]]
                   count code lines per package, of the work tree or of a git revision, or compare two revisions
  windows-worker   build the program that hosts Windows FMUs under Wine, for a koppel that was built without it
                   (needs gcc-mingw-w64-x86-64)
  trace [KOPPEL]   write to docs/architecture.md which functions an output passes, or show it for another koppel
                   that was built in the same way (needs valgrind)
  instructions [KOPPEL]
                   write to bench/README.md how many instructions a macro step takes, or show it for another
                   koppel (needs valgrind)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["papers", more @ ..] = arguments.as_slice() {
        return papers::run(more).unwrap_or_else(failed);
    }
    let done = match arguments.as_slice() {
        ["test"] => test::run(),
        ["bench", names @ ..] => bench::run(names),
        ["proof", "cross-check", path] => cross_check::run(path, "linux64"),
        ["proof", "cross-check", path, platform @ ("linux64" | "win64")] => cross_check::run(path, platform),
        ["proof", "cross-check", ..] => Err(USAGE.into()),
        ["proof", "calibration", more @ ..] if !more.is_empty() => calibration::run(more),
        ["proof", names @ ..] => proof::run(names),
        ["lines", revisions @ ..] if revisions.len() <= 2 => lines::run(revisions),
        ["windows-worker"] => windows_worker(),
        ["trace"] => trace::run(None),
        ["trace", koppel] => trace::run(Some(koppel)),
        ["instructions"] => instructions::run(None),
        ["instructions", koppel] => instructions::run(Some(koppel)),
        _ => Err(USAGE.into()),
    };
    done.map_or_else(failed, |()| ExitCode::SUCCESS)
}

/// The flags are those of `crates/koppel-fmi/build.rs`.
fn windows_worker() -> command::Result<()> {
    let folder = command::root().join("target/windows-worker");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = folder.join("koppel-windows-worker.exe");
    let flags = ["-O2", "-std=gnu99", "-s", "-static", "-Wl,--stack,67108864,--no-insert-timestamp"];
    let mut compile = command::program("x86_64-w64-mingw32-gcc", &flags);
    command::must(compile.arg("crates/koppel-fmi/windows/worker.c").arg("-o").arg(&program))?;
    eprintln!("put it beside koppel, or name it in KOPPEL_WINDOWS_WORKER: {}", program.display());
    Ok(())
}

fn failed(message: String) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
