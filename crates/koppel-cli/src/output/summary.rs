//! What happened in a run: for the reader, for programs (`--json`), for the report.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use koppel::run::{Ending, Simulation};
use koppel_io::system_file::SystemFile;
use serde::Serialize;
use serde_json::Value;

use super::{Grid, SHOWN, bytes, duration, error_document, significant};
use crate::exit::Exit;
use crate::session::{Origin, Outcome, Overruns, Plan};

/// Numbers of a run that has ended.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// finished, stopped, interrupted or failed.
    status: &'static str,
    exit_code: u8,
    ending: String,
    title: String,
    koppel_version: &'static str,
    resumed_at: Option<f64>,
    steps: u64,
    steps_planned: u64,
    step: f64,
    end_time: f64,
    wall_seconds: f64,
    real_time_factor: f64,
    subsystems: Vec<Work>,
    engine_seconds: f64,
    recording_seconds: f64,
    parallel_stages: usize,
    connections: Vec<CouplingError>,
    unconnected_inputs: Vec<Default>,
    realtime: Option<Overruns>,
    out: Option<File>,
    checkpoint: Option<String>,
    error: Option<Value>,
    settings: Value,
}

/// A subsystem's part of the work.
#[derive(Debug, Serialize)]
struct Work {
    name: String,
    solver: String,
    steps: u64,
    seconds: f64,
}

/// The largest error of a connection.
#[derive(Debug, Serialize)]
struct CouplingError {
    connection: String,
    unit: Option<String>,
    largest_error: f64,
    time: f64,
    range: f64,
    /// Largest error per range of the signal.
    relative: Option<f64>,
}

/// An input that nothing is connected to.
#[derive(Debug, Serialize)]
pub(super) struct Default {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: Option<String>,
    /// A signal from outside acts on it.
    pub(super) has_signal: bool,
}

/// A file that was written.
#[derive(Debug, Serialize)]
struct File {
    path: String,
    rows: u64,
    bytes: u64,
}

impl Summary {
    pub(crate) fn new(file: &SystemFile, simulation: &Simulation, plan: &Plan, outcome: &Outcome) -> Self {
        let statistics = simulation.statistics();
        let (resumed_at, from) = match plan.origin {
            Origin::Start => (None, file.run.start),
            Origin::Checkpoint { time, .. } => (Some(time), time),
        };
        let (status, code, ending) = ending(outcome);
        let wall = outcome.wall.as_secs_f64();
        let recording = outcome.recording.as_secs_f64().min(wall);
        let mut subsystems: Vec<Work> = statistics.shares.into_iter().map(Work::new).collect();
        if statistics.parallel_stages == 0 {
            fit(&mut subsystems, wall - recording);
        }
        let working: f64 = subsystems.iter().map(|work| work.seconds).sum();
        Summary {
            status,
            exit_code: code.number(),
            ending,
            title: if file.title.is_empty() { shown(&plan.system) } else { file.title.clone() },
            koppel_version: env!("CARGO_PKG_VERSION"),
            resumed_at,
            steps: simulation.index(),
            steps_planned: simulation.steps(),
            step: file.run.step,
            end_time: simulation.time(),
            wall_seconds: wall,
            real_time_factor: (simulation.time() - from) / wall.max(1e-9),
            subsystems,
            engine_seconds: (wall - working - recording).max(0.0),
            recording_seconds: recording,
            parallel_stages: statistics.parallel_stages,
            connections: statistics.defects.into_iter().map(CouplingError::new).collect(),
            unconnected_inputs: unconnected(simulation),
            realtime: outcome.overruns.clone(),
            out: outcome.finished.as_ref().map(|f| File {
                path: shown(&f.path),
                rows: f.rows,
                bytes: f.bytes,
            }),
            checkpoint: outcome.checkpoint.as_deref().map(shown),
            error: outcome.ending.as_ref().err().map(error_document),
            settings: file.to_json(),
        }
    }

    /// Facts, in pairs.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![
            ("ended".to_owned(), self.ending.clone()),
            (
                "steps".to_owned(),
                format!("{} of {}, {} s each", self.steps, self.steps_planned, significant(self.step, 15)),
            ),
            ("wall time".to_owned(), duration(seconds(self.wall_seconds))),
            ("real-time factor".to_owned(), significant(self.real_time_factor, 3)),
        ];
        if let Some(time) = self.resumed_at {
            facts.insert(
                1,
                (
                    "continued".to_owned(),
                    format!("from the checkpoint at t = {time} s; times and errors below since then"),
                ),
            );
        }
        if let Some(overruns) = &self.realtime {
            let text = match overruns.late_steps {
                0 => "no step was late".to_owned(),
                late => format!("{late} steps were late, at most by {}", duration(seconds(overruns.latest))),
            };
            facts.push(("real time".to_owned(), format!("speed {}: {text}", overruns.speed)));
        }
        facts
    }

    /// Where the time went.
    pub(super) fn work(&self) -> Grid {
        let mut grid = Grid::new(&["where the time went", "solver", "time", "share", "per step"]);
        let share = |s: f64| format!("{} %", significant(100.0 * s / self.wall_seconds.max(1e-9), 2));
        for (name, time) in [("(engine)", self.engine_seconds), ("(recording)", self.recording_seconds)] {
            let each = duration(seconds(time / self.steps.max(1) as f64));
            grid.row([name.into(), String::new(), duration(seconds(time)), share(time), each]);
        }
        let mut parts: Vec<&Work> = self.subsystems.iter().collect();
        if parts.len() > SHOWN {
            parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        }
        for work in parts {
            let each = duration(seconds(work.seconds / work.steps.max(1) as f64));
            grid.row([
                work.name.clone(),
                work.solver.clone(),
                duration(seconds(work.seconds)),
                share(work.seconds),
                each,
            ]);
        }
        grid
    }

    /// Largest coupling errors.
    pub(super) fn errors(&self) -> Grid {
        let mut grid = Grid::new(&["connection", "largest coupling error", "of its range", "at t/s"]);
        let mut errors: Vec<&CouplingError> = self.connections.iter().collect();
        if errors.len() > SHOWN {
            errors.sort_by(|a, b| b.relative.unwrap_or(0.0).total_cmp(&a.relative.unwrap_or(0.0)));
        }
        for error in errors {
            let unit = error.unit.as_deref().filter(|unit| *unit != "1").unwrap_or("");
            let relative =
                error.relative.map_or(String::new(), |r| format!("{} %", significant(100.0 * r, 2)));
            let largest = format!("{} {unit}", significant(error.largest_error, 4)).trim_end().to_owned();
            grid.row([error.connection.clone(), largest, relative, significant(error.time, 6)]);
        }
        grid
    }

    /// Unconnected inputs.
    pub(super) fn defaults(&self) -> Grid {
        defaults_grid(&self.unconnected_inputs)
    }

    /// The whole summary.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for (name, value) in self.facts() {
            let _ = writeln!(text, "  {name:17} {value}");
        }
        for grid in [self.work(), self.errors(), self.defaults()] {
            if !grid.is_empty() {
                let _ = write!(text, "\n{}", grid.text());
            }
        }
        text.push('\n');
        if let Some(File { path, rows, bytes: size }) = &self.out {
            let _ = writeln!(text, "wrote {path}: {rows} rows, {}", bytes(*size));
        }
        if let Some(path) = &self.checkpoint {
            let _ = writeln!(text, "wrote {path}");
        }
        text
    }

    /// What the user may want to do next.
    pub(crate) fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        if self.out.is_none() && self.error.is_none() {
            hints.push(
                "nothing was written; keep the results with --out FILE.csv or --out FILE.parquet".to_owned(),
            );
        }
        if let (Some(file), true) = (&self.out, self.status == "failed") {
            hints.push(format!(
                "the {} rows up to t = {} s are kept in {}",
                file.rows, self.end_time, file.path
            ));
        }
        if let (Some(path), "interrupted") = (&self.checkpoint, self.status) {
            hints.push(format!("continue with `koppel resume {path}`"));
        }
        hints
    }
}

impl Work {
    fn new(share: koppel::run::Share) -> Self {
        Work { name: share.subsystem, solver: share.solver, steps: share.steps, seconds: share.seconds }
    }
}

/// Estimates from a sample can exceed what there was: on one thread the parts are cut to the whole.
fn fit(work: &mut [Work], whole: f64) {
    let sum: f64 = work.iter().map(|w| w.seconds).sum();
    if sum > whole {
        work.iter_mut().for_each(|w| w.seconds *= whole / sum);
    }
}

impl CouplingError {
    fn new(defect: koppel::run::Defect) -> Self {
        let relative = (defect.range > 0.0).then(|| defect.largest / defect.range);
        CouplingError {
            connection: defect.connection,
            unit: defect.unit,
            largest_error: defect.largest,
            time: defect.time,
            range: defect.range,
            relative,
        }
    }
}

/// Inputs that nothing is connected to, with their values.
pub(super) fn unconnected(simulation: &Simulation) -> Vec<Default> {
    let graph = simulation.graph();
    let free = (0..graph.inputs()).filter(|input| graph.is_free(*input));
    free.map(|input| Default {
        name: graph.input_name(input),
        value: graph.offset(input),
        unit: graph.input_variable(input).unit.clone(),
        has_signal: graph.externals().iter().any(|(target, _)| *target == input),
    })
    .collect()
}

pub(super) fn defaults_grid(inputs: &[Default]) -> Grid {
    let mut grid = Grid::new(&["unconnected input", "value", "unit", ""]);
    for input in inputs {
        let signal = if input.has_signal { "plus a signal from outside" } else { "" };
        let unit = input.unit.clone().unwrap_or_default();
        grid.row([input.name.clone(), input.value.to_string(), unit, signal.into()]);
    }
    grid
}

fn ending(outcome: &Outcome) -> (&'static str, Exit, String) {
    match &outcome.ending {
        Ok(Ending::Reached) => ("finished", Exit::Ok, "at the stop time".into()),
        Ok(Ending::Condition { time }) => {
            ("stopped", Exit::Ok, format!("at t = {time} s: stop_when became true"))
        }
        Ok(Ending::Interrupted { time }) => {
            ("interrupted", Exit::Interrupted, format!("at t = {time} s: interrupted"))
        }
        Err(failure) => ("failed", failure.code(), format!("with an error: {}", failure.text().0)),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}
