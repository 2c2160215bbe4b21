//! `cargo xtask instructions [KOPPEL]`: instructions that a macro step costs per subsystem, which no load of the machine changes.
//!
//! A chain of 100 first-order plants, each taking one Euler step, is run twice under callgrind, the second time with more steps; the difference is divided by steps and
//! subsystems. The figures of the release build go to `bench/README.md`; those of another program, as one of an older commit, are only shown.

use crate::command::{Result, cargo, describe, must, program, replace_block, root};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Subsystems of the chain.
const LENGTH: usize = 100;
/// Steps of both runs.
const STEPS: [usize; 2] = [1000, 3000];
/// What is measured: name, what a subsystem is, and options of the run.
const ROWS: [(&str, Kind, &[&str]); 6] = [
    ("native, zoh", Kind::Native, &["--coupling", "zoh", "--no-certificate"]),
    ("native, foh", Kind::Native, &["--coupling", "foh", "--no-certificate"]),
    ("native, nepce", Kind::Native, &["--coupling", "nepce", "--no-certificate"]),
    ("FMU, zoh", Kind::Fmu, &["--coupling", "zoh", "--no-certificate"]),
    ("FMU, foh", Kind::Fmu, &["--coupling", "foh", "--no-certificate"]),
    (
        "FMU, zoh, every step recorded",
        Kind::Fmu,
        &["--coupling", "zoh", "--no-certificate", "--record-every", "1", "--out"],
    ),
];

/// What a subsystem is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Native,
    Fmu,
}

pub(crate) fn run(other: Option<&str>) -> Result<()> {
    must(&mut cargo(&["build", "--release", "--package", "koppel-cli"]))?;
    let own = root().join("target/release/koppel").display().to_string();
    let folder = root().join("target/instructions");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    // Both programs run the same FMU.
    let fmu = folder.join("pt1.fmu").display().to_string();
    let solver = "{ method = \"euler\", step = 1e-3 }";
    let model = ["fmu", "export", "pt1", "--plain", "--solver", solver, "--force", "--out", &fmu];
    must(&mut program(&own, &model))?;
    let mut table = "\n| chain of 100 | instructions per subsystem and step |\n| --- | ---: |\n".to_owned();
    for (name, kind, options) in ROWS {
        let figure = per_step(other.unwrap_or(&own), &folder, kind, options)?;
        eprintln!("{name}: {figure:.1}");
        writeln!(table, "| {name} | {figure:.1} |").map_err(|error| error.to_string())?;
    }
    match other {
        Some(_) => writeln!(std::io::stdout(), "{table}").map_err(|error| error.to_string()),
        None => replace_block("bench/README.md", "instructions", &table),
    }
}

/// Instructions per subsystem and macro step.
fn per_step(koppel: &str, folder: &Path, kind: Kind, options: &[&str]) -> Result<f64> {
    let [few, many] = STEPS.map(|steps| instructions(koppel, folder, kind, options, steps));
    let added = (STEPS[1] - STEPS[0]) * LENGTH;
    Ok((many? - few?) / added as f64)
}

/// Instructions of a whole run of so many steps.
fn instructions(koppel: &str, folder: &Path, kind: Kind, options: &[&str], steps: usize) -> Result<f64> {
    let file = folder.join("chain.toml");
    std::fs::write(&file, chain(kind, steps)).map_err(|error| format!("{}: {error}", file.display()))?;
    let (file, rows) = (file.display().to_string(), folder.join("rows.csv").display().to_string());
    let tool = [
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--trace-children=yes",
        koppel,
        "run",
        &file,
        "--quiet",
    ];
    let mut command = program("valgrind", &[&tool[..], options].concat());
    command.args(options.ends_with(&["--out"]).then_some(&rows));
    let output = command.output().map_err(|error| format!("valgrind: {error}; it must be installed"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    // The process that works takes more than its supervisor.
    let counts = text.lines().filter_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    let count = counts.reduce(f64::max);
    count
        .filter(|_| output.status.success())
        .ok_or_else(|| format!("{}: {}\n{text}", describe(&command), output.status))
}

/// A chain, each following the one before. A run with a change on its way is not forecast.
fn chain(kind: Kind, steps: usize) -> String {
    let mut text = format!(
        "[run]\nstop = {}\nstep = 1e-3\nthreads = \"never\"\nrecord = [\"s0.y\"]\nrecord_every = 1000\n\n\
         [[at]]\ntime = 1e-3\nset = {{ \"s0.T\" = 0.5 }}\n\n",
        steps as f64 * 1e-3
    );
    let subsystem = match kind {
        Kind::Native => "model = \"pt1\"\nsolver = { method = \"euler\", step = 1e-3 }",
        Kind::Fmu => "fmu = \"pt1.fmu\"",
    };
    for at in 0..LENGTH {
        text += &format!("[subsystems.s{at}]\n{subsystem}\n\n");
    }
    for at in 1..LENGTH {
        text += &format!("[[connections]]\nfrom = \"s{}.y\"\nto = \"s{at}.u\"\n\n", at - 1);
    }
    text
}
