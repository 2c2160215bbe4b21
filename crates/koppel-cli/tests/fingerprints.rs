//! The shipped examples keep their results, to the last bit where machines agree on it.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]

mod common;
#[path = "../../koppel/tests/common/fingerprint.rs"]
mod fingerprint;

use common::{Folder, examples};
use fingerprint::Fingerprints;
use std::path::{Path, PathBuf};

/// Runs without sine, exponential, powers, eigenvalues or singular values.
const PLAIN: &[&str] = &[
    "control-loop.toml",
    "dual-mass.toml",
    "feedthrough-pair.toml",
    "integral-loop.toml",
    "quarter-truck-wheel-force.toml",
    "quarter-truck.toml",
    "random-dual-mass.toml",
    "two-mass-displacement.toml",
    "two-mass.toml",
    "undamped-two-mass.toml",
];

/// Loops repeated up to a tolerance of 1e-8: round-off decides whether once more.
const ROUGH: &[&str] = &["loops/iterated.toml", "loops/steps.toml"];

fn table(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fingerprints").join(name)
}

/// System files below `examples`, in the folders that hold such.
fn systems() -> Vec<String> {
    let mut names = Vec::new();
    for folder in ["", "loops/", "prestep/"] {
        for file in std::fs::read_dir(examples().join(folder)).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            names.extend(name.ends_with(".toml").then(|| format!("{folder}{name}")));
        }
    }
    names.sort();
    names
}

#[test]
fn examples_keep_their_results() {
    let mut all = Fingerprints::new(PLAIN, ROUGH);
    let folder = Folder::new();
    for name in systems() {
        let file = examples().join(&name);
        folder.succeed(&["run", file.to_str().unwrap(), "--quiet", "--out", "result.csv"]);
        let (header, rows) = folder.csv("result.csv");
        all.add(&name, header.iter().map(String::as_str), &rows);
    }
    all.compare(&table("examples.txt"));
}

/// Every run of the small study, every 1470th of the large one.
#[test]
fn studies_keep_their_results() {
    let mut all = Fingerprints::new(&[], &[]);
    let folder = Folder::new();
    for (name, part) in [("dual-mass", "1/1"), ("rls", "735/1470")] {
        let file = examples().join(format!("studies/{name}.toml"));
        folder.succeed(&[
            "study",
            file.to_str().unwrap(),
            "--quiet",
            "--threads",
            "1",
            "--shard",
            part,
            "--out",
            name,
        ]);
        let text = folder.read(&format!("{name}/runs.csv"));
        let number = |cell: &str| cell.parse().unwrap_or(0.0);
        let cells: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        let rows: Vec<Vec<f64>> =
            cells[1..].iter().map(|row| row.iter().map(|cell| number(cell)).collect()).collect();
        let words = cells.iter().flatten().copied().filter(|cell| cell.parse::<f64>().is_err());
        all.add(&format!("studies/{name}.toml"), words, &rows);
    }
    all.compare(&table("studies.txt"));
}
