//! A run from the first row to the summary: results, progress, checkpoints, pacing, interruption.
//!
//! | file            | what                                                                                     |
//! | --------------- | ---------------------------------------------------------------------------------------- |
//! | `files.rs`      | the files of a run, checked before it begins; `size.rs`, results that grow too large     |
//! | `recording.rs`  | where rows go                                                                            |
//! | `watch.rs`      | what is examined between steps; `interrupt.rs`, Ctrl-C; `pace.rs`, real time             |
//! | `progress.rs`   | the progress bar; `study_progress.rs`, of a study; `margin.rs`, a terminal with a margin |
//! | `log.rs`        | messages of FMUs                                                                         |
//! | `checkpoint.rs` | checkpoints; `sources.rs`, whether the files of the run are still the same               |
//! | `cache.rs`      | what is known of FMUs from earlier runs                                                  |
//! | `required.rs`   | `--require`; `clock.rs`, the date                                                        |

mod cache;
mod checkpoint;
mod clock;
mod files;
pub(crate) mod interrupt;
mod log;
mod margin;
mod pace;
mod progress;
mod recording;
mod required;
mod size;
mod sources;
mod study_progress;
mod watch;

use koppel::diagnostic::Remark;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use koppel::analysis::Certificate;
use koppel::run::{Ending, Run};
use koppel::system::MessageKind;
use koppel_io::model_file;
use koppel_io::results::{Column, Finished, Kind, Metadata};
use koppel_io::system_file::SystemSpec;
use koppel_session::{PreparedRun, Session};

use crate::arguments::SessionArguments;
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{self, Sketch, Summary};
use crate::supervision;
pub(crate) use cache::Cache;
use checkpoint::Checkpoints;
pub(crate) use checkpoint::{Checkpoint, CheckpointEvery, Written};
pub(crate) use clock::timestamp;
pub(crate) use files::{anchored, check, check_drawings, nearby, nearby_names};
pub(crate) use interrupt::{is_asked, listen};
pub(crate) use log::{Log, LogLevel};
pub(crate) use pace::Overruns;
use progress::Confirming;
use recording::Recording;
pub(crate) use required::Required;
pub(crate) use sources::{Source, warn_of_changes};
pub(crate) use study_progress::StudyProgress;
use watch::Watch;

/// Files of a run, and where it begins.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) system: PathBuf,
    pub(crate) out: Option<PathBuf>,
    pub(crate) report: Option<PathBuf>,
    pub(crate) models: Option<PathBuf>,
    pub(crate) checkpoint: PathBuf,
    pub(crate) origin: Origin,
}

/// Where a run begins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    /// At the start time.
    Start,
    /// At a checkpoint.
    Checkpoint {
        path: PathBuf,
        time: f64,
        rows: Option<u64>,
        created: String,
        /// Files as they were when the run began.
        sources: Vec<Source>,
    },
}

/// A run that is about to happen, with its files.
pub(crate) struct Execution<'a> {
    session: Session,
    prepared: PreparedRun,
    plan: Plan,
    options: &'a SessionArguments,
    recording: Recording,
    metadata: Metadata,
    log: Log,
}

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ending: std::result::Result<Ending, Failure>,
    pub(crate) wall: Duration,
    pub(crate) recording: Duration,
    pub(crate) waiting: Duration,
    pub(crate) finished: Option<Finished>,
    pub(crate) checkpoint: Option<Written>,
    pub(crate) overruns: Option<Overruns>,
}

impl<'a> Execution<'a> {
    /// Opens the files, so that one that cannot be written is found before anything is computed.
    pub(crate) fn new(
        session: Session,
        prepared: PreparedRun,
        plan: Plan,
        options: &'a SessionArguments,
        log: Log,
    ) -> Result<Self> {
        let (spec, run) = (&session.spec, &prepared.run);
        if plan.models.is_some() && !model_file::has_models(run) {
            log.end();
            return Err(Failure::words(
                format!(
                    "--save-models: there is nothing to save, the coupling `{}` has no models",
                    spec.run.coupling.name()
                ),
                "use a coupling with models, such as --coupling '{ method = \"prestep\", model = { identify = \"rls\" } }'",
            ));
        }
        let created = match &plan.origin {
            Origin::Start => timestamp(),
            Origin::Checkpoint { created, .. } => created.clone(),
        };
        let metadata = metadata(spec, run, &plan, created);
        let rows = match &plan.origin {
            Origin::Checkpoint { rows, .. } => *rows,
            Origin::Start => None,
        };
        if plan.origin == Origin::Start && spec.run.adaptive.is_none() {
            let (rows, numbers) = (run.steps() / spec.run.record_every, run.columns().len() + 1);
            let warning = size::warning(rows, numbers, plan.out.as_deref(), plan.report.is_some());
            warning.iter().for_each(|text| note("warning", text));
            if !options.realtime {
                let long = size::long_run(run.steps(), run.step_size(), run.graph().len());
                long.iter().for_each(|text| note("warning", text));
            }
        }
        // From the first file on, Ctrl-C ends the run in good order.
        interrupt::listen();
        let recording = Recording::open(plan.out.as_deref(), &metadata, rows, plan.report.is_some())
            .inspect_err(|_| log.end())?;
        if let Some(path) = &plan.report {
            supervision::promise_report(Sketch::new(path, &session.spec));
        }
        Ok(Execution { session, prepared, plan, options, recording, metadata, log })
    }

    /// Runs, finishes the files, and tells what happened.
    pub(crate) fn run(mut self) -> Result<Exit> {
        if !self.options.quiet {
            self.recording.notes().iter().for_each(|text| note("note", text));
        }
        let (outcome, certificate) = self.drive();
        let mut summary = Summary::new(&self.session, &self.prepared, &self.plan, &outcome, certificate);
        let report = self.write_report(&summary, &outcome);
        summary.add_report(self.plan.report.as_deref(), &report);
        // The models of a run that failed may be what made it fail: they replace no file.
        let models = if outcome.ending.is_ok() { self.write_models() } else { Ok(()) };
        let path = self.plan.models.as_deref().filter(|_| outcome.ending.is_ok());
        summary.add_models(path, &models);
        let shown = self.show(&summary);
        let mut code = match &outcome.ending {
            Ok(Ending::Interrupted { .. }) => Exit::Interrupted,
            Ok(_) => Exit::Ok,
            // Before the run this is bad input; once it is under way, the run has failed.
            Err(Failure::Run(error)) if matches!(**error, koppel::Error::NotZeroStable { .. }) => {
                Exit::RunFailed
            }
            Err(failure) => failure.code(),
        };
        if code == Exit::Ok && !summary.is_good_enough(self.options.require) {
            code = Exit::Distrusted;
        }
        // The run itself first: it says why there is nothing more.
        for failure in
            outcome.ending.err().into_iter().chain(report.err()).chain(models.err()).chain(shown.err())
        {
            failure.show();
            code = if code == Exit::Ok { Exit::RunFailed } else { code };
        }
        if code != Exit::Ok || !self.options.quiet {
            summary.hints().iter().for_each(|hint| note("hint", hint));
        }
        // FMUs may have something to say when they are freed.
        let Execution { prepared, log, .. } = self;
        drop(prepared);
        log.show(|show| show());
        Ok(code)
    }

    fn write_report(&self, summary: &Summary, outcome: &Outcome) -> Result<()> {
        let Some(path) = &self.plan.report else { return Ok(()) };
        let table = self.recording.table(&self.metadata, outcome.finished.as_ref())?;
        output::write_report(path, &self.session.spec, summary, &table)
    }

    fn write_models(&self) -> Result<()> {
        let Some(path) = &self.plan.models else { return Ok(()) };
        let title = if self.session.spec.title.is_empty() { "a run" } else { &self.session.spec.title };
        if output::is_standard_output(path) {
            let text = model_file::models(&self.prepared.run, title).map_err(std::io::Error::other);
            return output::print(&text.map_err(Failure::Output)?);
        }
        model_file::write_models(path, &self.prepared.run, title).map_err(Failure::Write)
    }

    fn drive(&mut self) -> (Outcome, Option<Certificate>) {
        let checkpoints = Checkpoints::new(
            &self.plan,
            &self.session.spec,
            self.options.checkpoint_every,
            &self.metadata.created,
        );
        let log = self.log.clone();
        let lacking = if self.options.quiet {
            Vec::new()
        } else {
            self.session.fmus.not_to_be_saved(&self.session.spec)
        };
        let lacking = lacking.into_iter().map(str::to_owned).collect();
        let are_logged = self.session.fmus.journals.is_some();
        let rows = self.recording.share();
        let mut watch =
            Watch::new(&self.prepared.run, self.options, checkpoints, rows, log, (lacking, are_logged));
        let rows = self.recording.share();
        interrupt::prepare(move || rows.end_at_once());
        let begin = Instant::now();
        let Execution { prepared, recording, .. } = self;
        let ending = prepared.run(recording, &mut |run, next| watch.look(run, next));
        let wall = begin.elapsed();
        watch.end();
        self.log.end();
        let mut ending = ending.map_err(Failure::on_the_way);
        if let Ok(Ending::Terminated(request)) = &ending {
            watch.note_end(request);
        }
        let is_interrupted = matches!(ending, Ok(Ending::Interrupted { .. }));
        let lack =
            if is_interrupted { self.session.fmus.lack_of_checkpoint(&self.session.spec) } else { None };
        if let Some(reason) = &lack {
            note("warning", no_checkpoint(reason));
        } else if is_interrupted && let Err(error) = watch.checkpoint_now(&mut self.prepared.run) {
            match *error {
                error @ koppel::Error::Recorder { .. } => ending = Err(Failure::Run(Box::new(error))),
                error => note("warning", no_checkpoint(&error.to_string())),
            }
        }
        let certificate = self.certify(&ending);
        if let Some(certificate) = &certificate {
            self.recording.add("certificate", serde_json::json!(certificate));
        }
        let finished = match self.recording.finish() {
            Ok(finished) => finished,
            Err(failure) => {
                // A failure of the run itself comes first: it says why there is nothing more.
                ending = ending.and(Err(failure));
                None
            }
        };
        interrupt::files_are_complete();
        let outcome = Outcome {
            ending,
            wall,
            recording: self.recording.time(),
            waiting: watch.waiting(),
            finished,
            checkpoint: watch.last_checkpoint(),
            overruns: watch.overruns(),
        };
        (outcome, certificate)
    }

    /// The certificate; runs at other steps may have to be made for it.
    fn certify(&self, ending: &std::result::Result<Ending, Failure>) -> Option<Certificate> {
        let outcome = koppel_session::Outcome::from(ending);
        let confirming = Confirming::new(self.options.quiet);
        self.prepared.certificate(outcome, &mut |run| {
            confirming.show(run);
            !interrupt::is_asked()
        })
    }

    fn show(&self, summary: &Summary) -> Result<()> {
        if self.options.json {
            output::print_json(&serde_json::to_value(summary).unwrap_or_default())
        } else if !self.options.quiet {
            output::print(&summary.text())
        } else {
            Ok(())
        }
    }
}

/// Why an interrupted run cannot be continued.
fn no_checkpoint(error: &str) -> Remark {
    Remark::new(
        format!("no checkpoint: {error}"),
        "with --checkpoint or --checkpoint-every, koppel tries before the run what FMUs can save, and logs the inputs of all others",
    )
}

fn metadata(spec: &SystemSpec, run: &Run, plan: &Plan, created: String) -> Metadata {
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    let columns = run.columns().iter().map(|column| Column {
        name: column.name.clone(),
        unit: column.unit.clone(),
        description: text(&column.description),
        kind: Kind::Number,
    });
    let messages = run.message_columns().iter().map(|column| Column {
        name: column.name.clone(),
        unit: None,
        description: text(&column.description),
        kind: if column.kind == MessageKind::Bytes { Kind::Bytes } else { Kind::Text },
    });
    let stem = plan.system.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Metadata {
        koppel_version: env!("CARGO_PKG_VERSION").into(),
        created,
        system: if spec.title.is_empty() { stem } else { spec.title.clone() },
        settings: spec.to_json(),
        columns: columns.chain(messages).collect(),
        extra: serde_json::Map::new(),
    }
}
