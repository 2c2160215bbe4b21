//! Checkpoints: everything needed to go on as if nothing had happened.
//!
//! ```text
//! "koppel checkpoint 5\n"   8 bytes: FNV-1a of the rest   postcard of [`Checkpoint`]
//! ```

use koppel::diagnostic::{Diagnostic, Remark};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use koppel::fnv;
use koppel::run::{Run, RunState, Termination};
use koppel::system::Horizon;
use koppel_io::Error as Io;
use koppel_io::system_file::SystemSpec;
use serde::{Deserialize, Serialize};

use super::sources::{Source, sources};
use super::{Origin, Plan, nearby};
use crate::failure::{Failure, Result};
use crate::output::significant;

const HEADER: &[u8] = b"koppel checkpoint 5\n";

/// A run between two steps, and where its rows are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// Version of koppel that wrote it.
    pub(crate) version: String,
    /// The system file.
    pub(crate) system: PathBuf,
    /// All settings, options applied, as a system file.
    pub(crate) settings: String,
    /// The files it was made of, when it was started.
    pub(crate) sources: Vec<Source>,
    /// When the run was started.
    pub(crate) created: String,
    /// The result file.
    pub(crate) out: Option<PathBuf>,
    /// Rows in it.
    pub(crate) rows: u64,
    /// The subsystem that ended the run later on, and when.
    pub(crate) ended: Option<(String, f64)>,
    /// The run itself.
    pub(crate) state: RunState,
}

impl Checkpoint {
    /// Reads a checkpoint.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::words(
                format!("there is no checkpoint `{}`", path.display()),
                beside(path).unwrap_or_else(|| "koppel writes it at Ctrl-C or with --checkpoint-every, beside the result file unless --checkpoint names another file".into()),
            ),
            _ => Failure::Input(Io::io("read", path)(error)),
        })?;
        let Some(rest) = bytes.strip_prefix(HEADER) else {
            if bytes.starts_with(b"koppel checkpoint ") {
                return Err(Failure::words(
                    format!("the checkpoint `{}` was written by another version of koppel", path.display()),
                    "continue with the version that wrote it, or start the run again",
                ));
            }
            return Err(Failure::words(
                format!("`{}` is not a checkpoint of koppel", path.display()),
                beside(path)
                    .unwrap_or_else(|| "name the file written at Ctrl-C or with --checkpoint-every".into()),
            ));
        };
        let broken = || {
            Failure::words(
                format!("the checkpoint `{}` is damaged", path.display()),
                "start the run again, or use an older checkpoint",
            )
        };
        let (sum, payload) = rest.split_at_checked(8).ok_or_else(broken)?;
        if sum != fnv(&[payload]).to_le_bytes() {
            return Err(broken());
        }
        let checkpoint: Checkpoint = postcard::from_bytes(payload).map_err(|_| broken())?;
        if checkpoint.version != env!("CARGO_PKG_VERSION") {
            return Err(Failure::words(
                format!("the checkpoint `{}` was written by koppel {}", path.display(), checkpoint.version),
                format!(
                    "this is koppel {}; continue with the version that wrote it",
                    env!("CARGO_PKG_VERSION")
                ),
            ));
        }
        Ok(checkpoint)
    }

    /// Writes it beside the old one, then replaces that.
    fn write(&self, path: &Path) -> koppel_io::Result<()> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let payload =
            postcard::to_stdvec(self).map_err(std::io::Error::other).map_err(Io::io("write", path))?;
        let mut file = File::create(&temporary).map_err(Io::io("write", path))?;
        file.write_all(HEADER)
            .and_then(|()| file.write_all(&fnv(&[&payload]).to_le_bytes()))
            .and_then(|()| file.write_all(&payload))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, path))
            .inspect_err(|_| {
                // The old checkpoint is still there; what is half written is of no use.
                let _ = fs::remove_file(&temporary);
            })
            .map_err(Io::io("write", path))
    }
}

/// The checkpoint beside a result or system file that was named in its place.
fn beside(path: &Path) -> Option<String> {
    let mut longer = path.as_os_str().to_owned();
    longer.push(".checkpoint");
    let found =
        [PathBuf::from(longer), path.with_extension("checkpoint")].into_iter().find(|c| c.is_file())?;
    Some(format!("did you mean `{}`?", found.display()))
}

/// How often checkpoints are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CheckpointEvery {
    /// After so many macro steps.
    Steps(u64),
    /// After so much time of the clock.
    Time(Duration),
}

impl FromStr for CheckpointEvery {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let problem = || "must be a number of steps (1000) or a time (30s, 5min, 1h)".to_owned();
        let digits = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let seconds = match unit.trim() {
            "" => {
                let steps = number.trim().parse().ok().filter(|steps| *steps > 0);
                return steps.map(CheckpointEvery::Steps).ok_or_else(problem);
            }
            "s" => 1.0,
            "min" | "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(problem()),
        };
        let number: f64 = number.trim().parse().map_err(|_| problem())?;
        let time = Duration::try_from_secs_f64(number * seconds).map_err(|_| problem())?;
        if time.is_zero() { Err(problem()) } else { Ok(CheckpointEvery::Time(time)) }
    }
}

/// Writes the checkpoints of one run, always to the same file.
pub(super) struct Checkpoints {
    path: PathBuf,
    every: Option<CheckpointEvery>,
    checkpoint: Checkpoint,
    last: Instant,
    written: Option<f64>,
    is_failing: bool,
}

/// A checkpoint that was written.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Written {
    /// The file.
    pub(crate) path: PathBuf,
    /// Simulated time of it.
    pub(crate) time: f64,
}

impl Checkpoints {
    pub(super) fn new(plan: &Plan, spec: &SystemSpec, every: Option<CheckpointEvery>, created: &str) -> Self {
        let checkpoint = Checkpoint {
            version: env!("CARGO_PKG_VERSION").into(),
            system: plan.system.clone(),
            settings: spec.to_toml(),
            sources: match &plan.origin {
                Origin::Start => sources(&plan.system, spec),
                Origin::Checkpoint { sources, .. } => sources.clone(),
            },
            created: created.to_owned(),
            out: plan.out.clone(),
            rows: 0,
            ended: None,
            state: RunState::new(Horizon::Elsewhere),
        };
        Checkpoints {
            path: plan.checkpoint.clone(),
            every,
            checkpoint,
            last: Instant::now(),
            written: None,
            is_failing: false,
        }
    }

    /// The first number of steps above `taken` after which the run is to be kept, if that is asked for by number.
    pub(super) fn next(&self, taken: u64) -> Option<u64> {
        let Some(CheckpointEvery::Steps(steps)) = self.every else { return None };
        taken.checked_add(steps - taken % steps)
    }

    pub(super) fn is_time_up(&self) -> bool {
        matches!(self.every, Some(CheckpointEvery::Time(time)) if self.last.elapsed() >= time)
    }

    /// Saves the run as it is now. A file that cannot be written does not end the run: the warning, if it is news.
    pub(super) fn write(&mut self, run: &mut Run, rows: u64) -> koppel_io::Result<Option<Remark>> {
        run.save(&mut self.checkpoint.state).map_err(Io::Engine)?;
        self.checkpoint.rows = rows;
        self.last = Instant::now();
        let failed = self.checkpoint.write(&self.path).err();
        if failed.is_none() {
            self.written = Some(run.time());
        }
        let is_news = failed.is_some() && !self.is_failing;
        self.is_failing = failed.is_some();
        Ok(failed.filter(|_| is_news).map(|error| self.warning(&error)))
    }

    /// A subsystem has ended the run: what was saved before, by this run or the one it continues, says so.
    pub(super) fn note_end(&self, request: &Termination) {
        if let Ok(mut saved) = Checkpoint::read(&self.path)
            && (self.written.is_some() || saved.created == self.checkpoint.created)
        {
            saved.ended = Some((request.subsystem.clone(), request.time));
            // Without the note the run would end there once more.
            let _ = saved.write(&self.path);
        }
    }

    fn warning(&self, error: &Io) -> Remark {
        let kept = match self.written {
            Some(time) => format!("the one at t = {} s is kept", significant(time, 12)),
            None => "there is none to continue from".into(),
        };
        Remark { text: format!("no checkpoint: {}; {kept}", error.what()), hint: error.hint() }
    }

    /// The newest checkpoint of this run, if there is one.
    pub(super) fn last(&self) -> Option<Written> {
        self.written.map(|time| Written { path: nearby(&self.path), time })
    }
}
