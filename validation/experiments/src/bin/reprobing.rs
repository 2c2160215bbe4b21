//! What probing again in the middle of a run could bring at most: `cargo run --release --package koppel-experiments --bin reprobing`.
//!
//! A plant changes for good. One run goes through the change with the models it was given at its start, and adapts them. Another
//! begins at the change, from the exact state, with subsystems that were excited there: no run that is probed again can
//! know more. Errors are mean distances from a run with a first-order hold at a hundredth of the step, relative to the ranges, both
//! from the change on; sub-steps are those of all subsystems from there on, trials included, and those of the probing.

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[expect(dead_code, reason = "one of them is enough here")]
#[path = "../../../../crates/koppel/tests/vfps/fresh/equations.rs"]
mod equations;

use equations::model;
use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};
use koppel::record::{Record, Trajectory};
use koppel::run::{Flow, Run, RunConfig};
use koppel::system::{Connection, System, SystemBuilder};

const CHANGE: f64 = 2.0;
const STOP: f64 = 4.0;
const NODES: u64 = 10;

/// A spring between two masses that becomes a hundred times as stiff; it is stiff beyond 5 cm before.
fn stiffening(x: &[f64]) -> System {
    fn pull(t: f64, stretch: f64) -> f64 {
        let stiffness = if t < CHANGE { 50.0 } else { 5000.0 };
        stiffness * stretch + 5000.0 * stretch.signum() * (stretch.abs() - 0.05).max(0.0)
    }
    two_masses(x, pull)
}

/// The same spring without that, four times as stiff from then on.
fn jumping(x: &[f64]) -> System {
    two_masses(x, |t, stretch| if t < CHANGE { 300.0 * stretch } else { 1200.0 * stretch })
}

/// A spring that hardens with its stretch, and goes on as it is: nothing jumps, but the operating point moves.
fn hardening(x: &[f64]) -> System {
    two_masses(x, |_, stretch| 300.0 * stretch + 3e4 * stretch.powi(3))
}

fn two_masses(x: &[f64], pull: fn(f64, f64) -> f64) -> System {
    let free = model(
        2e-5,
        1,
        2,
        &x[..2],
        |_, x, u, dx| {
            dx[0] = x[1];
            dx[1] = (u[0] - 30.0 * x[0] - 0.4 * x[1]) / 2.0;
        },
        |_, x, _, y| y.copy_from_slice(x),
    );
    let sprung = model(
        2e-5,
        2,
        1,
        &x[2..],
        move |t, x, u, dx| {
            dx[0] = x[1];
            dx[1] = (pull(t, u[0] - x[0]) + 2.0 * (u[1] - x[1]) - 60.0 * x[0]) / 1.5;
        },
        move |t, x, u, y| y[0] = -pull(t, u[0] - x[0]) - 2.0 * (u[1] - x[1]),
    );
    SystemBuilder::new()
        .add("free", free)
        .add("sprung", sprung)
        .connect(Connection::new("sprung.y0", "free.u0"))
        .connect(Connection::new("free.y0", "sprung.u0"))
        .connect(Connection::new("free.y1", "sprung.u1"))
        .build()
        .expect("wires fit")
}

/// A plant that begins with these states.
type Build = fn(&[f64]) -> System;

struct Seen {
    /// States and outputs, row by row.
    rows: Vec<Vec<f64>>,
    sub_steps: u64,
    probing: u64,
}

/// From `start` to the end; sub-steps are counted from the change on.
fn run(system: System, coupling: CouplingConfig, start: f64, step: f64, every: u64) -> Seen {
    let names = ["free.x0", "free.x1", "sprung.x0", "sprung.x1", "free.y0", "free.y1", "sprung.y0"];
    let record = Record::Many(names.map(str::to_owned).to_vec());
    let config = RunConfig { start, coupling, record, record_every: every, ..RunConfig::new(STOP, step) };
    let mut run = Run::new(system, &config).expect("the system is sound");
    let places = names
        .map(|name| run.columns().iter().position(|column| column.name == name).expect("it is recorded"));
    let mut table = Trajectory::default();
    let mut before = 0;
    run.run(&mut table, &mut |watched| {
        if watched.time() < CHANGE + 1e-9 {
            before = watched.repetitions();
        }
        Ok(Flow::Continue)
    })
    .expect("it comes to its end");
    let trials = ((STOP - CHANGE) / step).round() as u64 + run.repetitions() - before;
    let probing = run.statistics().review.and_then(|review| review.probing).unwrap_or(0);
    let rows = table.rows.iter().map(|row| places.iter().map(|k| row[*k]).collect()).collect();
    Seen { rows, sub_steps: trials * 2 * NODES, probing }
}

/// Mean over the outputs of the mean distance of the last rows, relative to the range.
fn error(seen: &[Vec<f64>], exact: &[Vec<f64>]) -> f64 {
    let count = seen.len().min(exact.len());
    let (seen, exact) = (&seen[seen.len() - count..], &exact[exact.len() - count..]);
    let of = |k: usize| {
        let values = exact.iter().map(|row| row[k]);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let sum: f64 = seen.iter().zip(exact).map(|(a, b)| (a[k] - b[k]).abs()).sum();
        sum / count as f64 / (high - low)
    };
    (4..7).map(of).sum::<f64>() / 3.0
}

fn main() {
    let plants: [(&str, Build); 3] = [
        ("spring that stiffens a hundredfold", stiffening),
        ("spring that becomes four times as stiff", jumping),
        ("spring that hardens", hardening),
    ];
    println!("| plant | step in ms | error, sub-steps: adapted | probed at the change | of the probing |");
    println!("| --- | --- | --- | --- | --- |");
    for (name, build) in plants {
        for trials in [VfpsConfig::default().trials, 1] {
            for step in [4e-3, 8e-3, 20e-3, 40e-3] {
                let foh = CouplingConfig::foh(StartUp::Constant);
                let vfps = CouplingConfig::from(VfpsConfig { trials, ..VfpsConfig::default() });
                let begin = [0.15, 0.0, 0.0, 0.0];
                let exact = run(build(&begin), foh, 0.0, step / 100.0, 100).rows;
                let at = (CHANGE / step).round() as usize;
                let through = run(build(&begin), vfps.clone(), 0.0, step, 1);
                let anew = run(build(&exact[at][..4]), vfps, CHANGE, step, 1);
                let after = &exact[at..];
                println!(
                    "| {name}{} | {} | {:.4}, {} | {:.4}, {} | {} |",
                    if trials == 1 { ", steps once" } else { "" },
                    step * 1e3,
                    error(&through.rows, after),
                    through.sub_steps,
                    error(&anew.rows, after),
                    anew.sub_steps,
                    anew.probing
                );
            }
        }
    }
}
