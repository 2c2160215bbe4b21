//! What happened in a run: for the reader, for programs (`--json`), for the report.

mod certificate;
mod files;
mod grids;
mod models;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use koppel::analysis::Certificate;
use koppel::coupling::Review;
use koppel::diagnostic::in_one_line;
use koppel::run::{Ending, StepSizes};
use koppel_session::{Advice, PreparedRun, Session};
use serde::Serialize;
use serde_json::Value;

use super::auto::auto_document;
use super::unconnected::{Default, unconnected};
use super::{Probing, duration, error_document, settings, significant};
use crate::execution::{Origin, Outcome, Overruns, Plan, Required, Written, nearby};
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
pub(super) use grids::Titled;

/// Numbers of a run that has ended.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// finished, stopped, interrupted or failed.
    status: &'static str,
    exit_code: u8,
    ending: String,
    /// The subsystem that asked to end the run.
    ended_by: Option<String>,
    title: String,
    koppel_version: &'static str,
    resumed_at: Option<f64>,
    steps: u64,
    /// Not known beforehand if the step adapts.
    steps_planned: Option<u64>,
    step: f64,
    /// Lengths of the steps, if they adapt.
    #[serde(skip_serializing_if = "Option::is_none")]
    step_sizes: Option<StepSizes>,
    end_time: f64,
    wall_seconds: f64,
    real_time_factor: f64,
    subsystems: Vec<Work>,
    /// Not known where subsystems move at the same time: what is left of the wall time is not the engine's.
    engine_seconds: Option<f64>,
    recording_seconds: f64,
    /// Waiting for the clock, with `--realtime`.
    waiting_seconds: f64,
    parallel_stages: usize,
    connections: Vec<CouplingError>,
    /// What was chosen in place of `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto: Option<Value>,
    /// The run in three lines.
    advice: Advice,
    /// How good the run was.
    certificate: Option<Certificate>,
    /// What exciting the subsystems before the run has shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    probing: Option<Probing>,
    /// What was seen of the models of the coupling.
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<Review>,
    /// Loops that were iterated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    loops: Vec<koppel::run::LoopWork>,
    /// Steps that were cut in half because a loop did not converge.
    #[serde(skip_serializing_if = "is_zero")]
    halvings: u64,
    /// How often a step was repeated because the coupling saw that its inputs had been wrong.
    #[serde(skip_serializing_if = "is_zero")]
    repetitions: u64,
    unconnected_inputs: Vec<Default>,
    realtime: Option<Overruns>,
    out: Option<File>,
    report: Option<String>,
    /// The file of models.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved_models: Option<String>,
    checkpoint: Option<Written>,
    /// Inputs of FMUs that cannot save their state, beside the checkpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    input_logs: Vec<String>,
    error: Option<Value>,
    /// Why there is no report.
    report_error: Option<Value>,
    settings: Value,
    /// Settings in words.
    #[serde(skip)]
    words: Vec<(&'static str, String)>,
    #[serde(skip)]
    grid: String,
    /// An isolated FMU ended its process.
    #[serde(skip)]
    is_crash: bool,
}

/// A subsystem's part of the work.
#[derive(Debug, Serialize)]
struct Work {
    name: String,
    solver: String,
    steps: u64,
    /// Calls of `doStep`, or steps between nodes of a native model.
    step_calls: u64,
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

/// A file that was written.
#[derive(Debug, Serialize)]
struct File {
    path: String,
    /// Its metadata, of a CSV file.
    sidecar: Option<String>,
    rows: u64,
    bytes: u64,
}

impl Summary {
    pub(crate) fn new(
        session: &Session,
        prepared: &PreparedRun,
        plan: &Plan,
        outcome: &Outcome,
        certificate: Option<Certificate>,
    ) -> Self {
        let run = &prepared.run;
        let statistics = run.statistics();
        let (resumed_at, from) = match plan.origin {
            Origin::Start => (None, session.spec.run.start),
            Origin::Checkpoint { time, .. } => (Some(time), time),
        };
        let (status, code, ending) = ending(outcome);
        let wall = outcome.wall.as_secs_f64();
        let waiting = outcome.waiting.as_secs_f64().min(wall);
        let busy = wall - waiting;
        let recording = outcome.recording.as_secs_f64().min(busy);
        let settings = session.spec.to_json();
        let mut subsystems: Vec<Work> = statistics.shares.into_iter().map(Work::new).collect();
        if statistics.parallel_stages == 0 {
            fit(&mut subsystems, busy - recording);
        }
        let working: f64 = subsystems.iter().map(|work| work.seconds).sum();
        Summary {
            status,
            exit_code: code.number(),
            ending,
            ended_by: match &outcome.ending {
                Ok(Ending::Terminated(request)) => Some(request.subsystem.clone()),
                _ => None,
            },
            title: if session.spec.title.is_empty() {
                shown(&plan.system)
            } else {
                session.spec.title.clone()
            },
            koppel_version: env!("CARGO_PKG_VERSION"),
            resumed_at,
            steps: statistics.steps,
            steps_planned: statistics.sizes.is_none().then(|| run.steps()),
            step: session.spec.run.step,
            step_sizes: statistics.sizes,
            end_time: run.time(),
            wall_seconds: wall,
            real_time_factor: (run.time() - from) / wall.max(1e-9),
            subsystems,
            engine_seconds: (statistics.parallel_stages == 0).then(|| rest(busy - working - recording, wall)),
            recording_seconds: recording,
            waiting_seconds: waiting,
            parallel_stages: statistics.parallel_stages,
            auto: auto_document(session),
            advice: prepared.advice(certificate.as_ref()),
            certificate,
            probing: Probing::of(run),
            models: statistics.review,
            loops: statistics.loops,
            halvings: statistics.halvings,
            repetitions: statistics.repetitions,
            connections: statistics.defects.into_iter().map(CouplingError::new).collect(),
            unconnected_inputs: unconnected(run),
            realtime: outcome.overruns.clone(),
            out: outcome.finished.as_ref().map(|f| File {
                path: shown(&f.path),
                sidecar: f.sidecar.as_deref().map(shown),
                rows: f.rows,
                bytes: f.bytes,
            }),
            report: None,
            saved_models: None,
            checkpoint: outcome.checkpoint.clone(),
            input_logs: match &outcome.checkpoint {
                Some(_) => session.fmus.input_logs(&session.spec).iter().map(|path| shown(path)).collect(),
                None => Vec::new(),
            },
            error: outcome.ending.as_ref().err().map(error_document),
            report_error: None,
            words: settings::facts(session, &settings),
            grid: settings::steps(session, run.steps()),
            is_crash: outcome.ending.as_ref().err().is_some_and(Failure::is_crash),
            settings,
        }
    }

    /// Whether the certificate is what was asked for; if not, that is reported.
    pub(crate) fn is_good_enough(&mut self, required: Option<Required>) -> bool {
        let (Some(required), Some(certificate)) = (required, &self.certificate) else { return true };
        if required.is_met(certificate.verdict) {
            return true;
        }
        let text = format!("--require {}: {}", required.name(), certificate.reason);
        self.exit_code = if self.exit_code == 0 { Exit::Distrusted.number() } else { self.exit_code };
        note("error", &text);
        false
    }

    /// Notes the report, or why there is none.
    pub(crate) fn add_report(&mut self, path: Option<&Path>, written: &Result<()>) {
        match written {
            Ok(()) => self.report = path.map(shown),
            Err(failure) => {
                self.report_error = Some(error_document(failure));
                self.exit_code = if self.exit_code == 0 { failure.code().number() } else { self.exit_code };
            }
        }
    }

    /// Notes the file of models, or why there is none.
    pub(crate) fn add_models(&mut self, path: Option<&Path>, written: &Result<()>) {
        match written {
            Ok(()) => self.saved_models = path.map(shown),
            Err(failure) if self.exit_code == 0 => self.exit_code = failure.code().number(),
            Err(_) => {}
        }
    }

    /// Facts, in pairs.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let lines = self.advice.lines().map(|(name, words)| (name.to_owned(), words.to_owned()));
        let mut facts = lines.to_vec();
        facts.extend(self.run_facts());
        facts
    }

    fn run_facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![
            ("ended".to_owned(), self.ending.clone()),
            ("steps".to_owned(), self.steps_done()),
            ("wall time".to_owned(), duration(seconds(self.wall_seconds))),
            ("real-time factor".to_owned(), significant(self.real_time_factor, 3)),
        ];
        if let Some(time) = self.resumed_at {
            facts.insert(
                1,
                (
                    "continued".to_owned(),
                    format!(
                        "from the checkpoint at t = {} s; times and errors below count from there",
                        significant(time, 12)
                    ),
                ),
            );
        }
        if let Some(overruns) = &self.realtime {
            let text = match overruns.late_steps {
                0 => "no step was late".to_owned(),
                1 => format!("1 step was late, by {}", duration(seconds(overruns.latest))),
                late => format!("{late} steps were late, by at most {}", duration(seconds(overruns.latest))),
            };
            facts.push(("real time".to_owned(), format!("speed {}: {text}", overruns.speed)));
        }
        let calls = self.subsystems.iter().map(|work| work.step_calls).sum();
        let probing = self.probing.iter().flat_map(|probing| probing.facts(calls));
        let certificate = self.certificate.iter().flat_map(certificate::facts);
        let models = self.models.iter().flat_map(|review| models::facts(review, self.repetitions));
        let words = certificate.chain(self.words.iter().cloned()).chain(probing).chain(models);
        facts.extend(words.map(|(name, value)| (name.to_owned(), value)));
        facts
    }

    fn steps_done(&self) -> String {
        if let Some(sizes) = &self.step_sizes {
            settings::taken(self.steps, sizes)
        } else if self.steps_planned == Some(self.steps) {
            self.grid.clone()
        } else {
            format!("{} of {}", self.steps, self.grid)
        }
    }

    /// The whole summary.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for (name, value) in self.facts() {
            // The error itself is told on standard error.
            let value =
                if name == "ended" && self.error.is_some() { "with an error" } else { value.as_str() };
            let _ = writeln!(text, "  {name:17} {value}");
        }
        for Titled { grid, note, .. } in self.tables() {
            let _ = write!(text, "\n{}", grid.text());
            if let Some(note) = note {
                let _ = writeln!(text, "  {note}");
            }
        }
        text.push('\n');
        self.files().iter().for_each(|line| text.push_str(&format!("wrote {line}\n")));
        text
    }
}

impl Work {
    fn new(share: koppel::run::Share) -> Self {
        let koppel::run::Share { subsystem: name, solver, steps, step_calls, seconds, .. } = share;
        Work { name, solver, steps, step_calls, seconds }
    }
}

/// What is left, without what rounding leaves.
fn rest(seconds: f64, whole: f64) -> f64 {
    if seconds > 1e-9 * whole { seconds } else { 0.0 }
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

fn ending(outcome: &Outcome) -> (&'static str, Exit, String) {
    match &outcome.ending {
        Ok(Ending::Reached) => ("finished", Exit::Ok, "at the stop time".into()),
        Ok(Ending::Condition { time }) => {
            ("stopped", Exit::Ok, format!("at t = {} s: stop_when became true", significant(*time, 12)))
        }
        Ok(Ending::Terminated(request)) => {
            let (time, text) = (significant(request.time, 12), in_one_line(&request.text, usize::MAX));
            ("stopped", Exit::Ok, format!("at t = {time} s: {text}"))
        }
        Ok(Ending::Interrupted { time }) => {
            ("interrupted", Exit::Interrupted, format!("at t = {} s: interrupted", significant(*time, 12)))
        }
        Err(failure) => ("failed", failure.code(), format!("with an error: {}", failure.message())),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn shown(path: &Path) -> String {
    nearby(path).display().to_string()
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}
