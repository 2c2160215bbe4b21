//! Writes a report of a made-up run: `cargo run --package koppel-experiments --bin report -- report.html`.

use std::path::PathBuf;

use koppel_io::report::{Report, Section, plot_groups, write_report};
use koppel_io::results::{Column, Metadata, Table};

fn main() -> koppel_io::Result<()> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("report.html"), PathBuf::from);
    let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let report = Report {
        title: "Two masses, coupled".into(),
        generated_by: "koppel 0.1.0, 2026-01-02T03:04:05Z".into(),
        summary: vec![
            pair("System", "two_masses"),
            pair("Simulated time", "20 s"),
            pair("Macro step", "1 ms"),
            pair("Coupling", "NEPCE"),
            pair("Steps", "20 000"),
            pair("Wall time", "1.84 s"),
        ],
        sections: vec![
            Section::Plots {
                title: "Signals".into(),
                groups: plot_groups(&signals()),
            },
            Section::Table {
                title: "Subsystems".into(),
                header: words(&["Name", "Model", "Steps", "Time in step"]),
                rows: vec![
                    words(&["left", "linear, 2 states", "20000", "0.61 s"]),
                    words(&["right", "FMU 3.0, co-simulation", "20000", "1.12 s"]),
                ],
                note: Some("Times are sums over all steps.".into()),
            },
            Section::Text {
                title: "Remarks".into(),
                text: "The coupling is stable at this step size.\n\nThe first step has no history and holds its input.".into(),
            },
            Section::Code {
                title: "Settings".into(),
                text: "[run]\nstop = 20.0\nstep = 1e-3\n\n[coupling]\nmethod = \"nepce\"\n".into(),
            },
        ],
    };
    write_report(&path, &report)
}

/// Decaying oscillations with a peak and a gap.
fn signals() -> Table {
    let time: Vec<f64> = (0..=20_000).map(|step| f64::from(step) * 1e-3).collect();
    let signal = |amplitude: f64, decay: f64, omega: f64| -> Vec<f64> {
        time.iter().map(|t| amplitude * (-decay * t).exp() * (omega * t).cos()).collect()
    };
    let mut force = signal(1500.0, 0.1, 7.0);
    force[9000] = 2600.0;
    let mut sensor = signal(2e-5, 0.02, 1.3);
    sensor[12_000..13_500].fill(f64::NAN);
    let columns = [
        ("left.x", "m", signal(0.12, 0.15, 3.0)),
        ("left.x_reference", "m", signal(0.1, 0.1, 3.1)),
        ("left.v", "m/s", signal(0.36, 0.15, 3.2)),
        ("right.force", "N", force),
        ("right.strain", "1", sensor),
        ("right.mode", "", vec![2.0; time.len()]),
    ];
    let describe =
        |name: &str, unit: &str| Column { name: name.into(), unit: Some(unit.into()), ..Column::default() };
    Table {
        metadata: Some(Metadata {
            columns: columns.iter().map(|(name, unit, _)| describe(name, unit)).collect(),
            ..Metadata::default()
        }),
        time: time.clone(),
        columns: columns.into_iter().map(|(name, _, values)| (name.to_string(), values)).collect(),
        ..Table::default()
    }
}
