//! Going on from a checkpoint with FMUs that cannot save their state: everything such an FMU is given is logged in a file
//! beside the checkpoint, and given to a new instance again.
//!
//! ```text
//! "koppel inputs 2\n"   8 bytes: which run   records of 8-byte words, the first says which kind
//! ```
//!
//! A checkpoint holds the length of the log at its time; what comes after is forgotten. The outputs of the first steps, of
//! one step in [`KEPT`] and of the last are compared with what they were: an FMU that does not repeat itself, or is not the
//! same any more, is refused.

mod log;

use std::path::{Path, PathBuf};

use koppel::diagnostic::Seconds;
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{Capabilities, Horizon, LinearModel, Mailbox, Ports, Snapshot, Subsystem, VariableId};

use log::{Log, Record};

/// Why a run cannot be continued by giving an FMU its inputs again.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum ReplayError {
    #[error("the inputs of `{name}` cannot be logged in `{}`: {source}", .path.display())]
    Write { name: String, path: PathBuf, source: std::io::Error },
    #[error("the logged inputs of `{name}` cannot be read from `{}`: {source}", .path.display())]
    Read { name: String, path: PathBuf, source: std::io::Error },
    #[error("`{}` does not hold the inputs of `{name}` in this run", .path.display())]
    Other { name: String, path: PathBuf },
    #[error(
        "`{name}` cannot be restored to its checkpoint: with the same inputs, `{output}` is {found} at t = {} s instead of {wanted}", Seconds(*.time)
    )]
    Differs { name: String, output: String, time: f64, found: f64, wanted: f64 },
}

impl ReplayError {
    fn hint(&self) -> String {
        match self {
            ReplayError::Write { .. } => "free some space, or choose another place with --checkpoint".into(),
            ReplayError::Read { .. } | ReplayError::Other { .. } => {
                "it was written beside the checkpoint; keep both together, or start the run again".into()
            }
            ReplayError::Differs { .. } => {
                "the FMU has changed, or is not repeatable; start the run again".into()
            }
        }
    }
}

impl From<ReplayError> for Box<koppel::Error> {
    fn from(error: ReplayError) -> Self {
        Box::new(koppel::Error::Foreign { hint: Some(error.hint()), source: Box::new(error) })
    }
}

/// Where the inputs of the FMUs of a run are logged.
#[derive(Clone, Debug)]
pub struct Journals {
    checkpoint: PathBuf,
    from: Option<PathBuf>,
    /// Checkpoints were asked for.
    pub(crate) is_asked: bool,
}

impl Journals {
    /// Beside this checkpoint.
    pub fn beside(checkpoint: &Path) -> Self {
        Journals { checkpoint: checkpoint.into(), from: None, is_asked: true }
    }

    /// The same, just in case: nothing is on the disk before the first checkpoint, and what an FMU declares of its states is believed until then.
    pub fn in_case_of(checkpoint: &Path) -> Self {
        Journals { is_asked: false, ..Journals::beside(checkpoint) }
    }

    /// Those beside an older checkpoint are continued, which may be the same.
    #[must_use]
    pub fn continuing(self, older: &Path) -> Self {
        Journals { from: Some(older.into()), ..self }
    }

    /// The log of one subsystem.
    pub(crate) fn of(&self, index: usize, name: &str) -> Journal {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).take(60).collect();
        let beside = |checkpoint: &Path| {
            let mut path = checkpoint.as_os_str().to_owned();
            path.push(format!(".{index}-{plain}.inputs"));
            PathBuf::from(path)
        };
        let from = self.from.as_deref().map(beside);
        Journal { path: beside(&self.checkpoint), from, is_asked: self.is_asked }
    }
}

/// Where the inputs of one FMU are logged.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    /// A log to continue.
    from: Option<PathBuf>,
    is_asked: bool,
}

impl Journal {
    /// The file.
    pub(crate) fn path(&self) -> PathBuf {
        self.path.clone()
    }
}

/// Outputs of so many steps at the start are kept, and of one in as many later.
const FIRST: u64 = 16;
const KEPT: u64 = 1000;

/// A subsystem whose inputs are logged, and which comes back to a saved state by being given them again.
pub(crate) struct Replayed {
    inner: Box<dyn Subsystem>,
    name: String,
    journal: Journal,
    /// `None` until the run begins or goes on.
    log: Option<Log>,
    steps: u64,
    /// Outputs and time at the end of the last step.
    last: Vec<f64>,
    time: f64,
}

impl Replayed {
    pub(crate) fn new(inner: Box<dyn Subsystem>, name: &str, journal: Journal) -> Self {
        Replayed {
            inner,
            name: name.to_owned(),
            journal,
            log: None,
            steps: 0,
            last: Vec::new(),
            time: f64::NAN,
        }
    }

    fn written<T>(&self, result: std::io::Result<T>) -> koppel::Result<T> {
        result.map_err(|source| {
            ReplayError::Write { name: self.name.clone(), path: self.journal.path.clone(), source }.into()
        })
    }

    fn note(&mut self, record: &Record<'_>) -> koppel::Result<()> {
        let written = self.log.as_mut().map_or(Ok(()), |log| log.write(record));
        self.written(written)
    }

    /// Gives a new instance everything again, up to the given length of the log, which is then continued.
    fn replay(&mut self, run: u64, length: u64) -> koppel::Result<()> {
        let path = self.journal.from.clone().unwrap_or_else(|| self.journal.path.clone());
        let unreadable = {
            let (name, path) = (self.name.clone(), path.clone());
            move |source| ReplayError::Read { name: name.clone(), path: path.clone(), source }
        };
        let other = || ReplayError::Other { name: self.name.clone(), path: path.clone() };
        let mut reader = log::Reader::open(&path, length).map_err(&unreadable)?;
        if reader.run() != run {
            return Err(other().into());
        }
        while let Some(record) = reader.next().map_err(&unreadable)? {
            record.check(self.inner.ports()).map_err(&unreadable)?;
            self.give(&record)?;
        }
        let continued = Log::go_on(&path, &self.journal.path, run, length);
        self.log = Some(self.written(continued)?);
        self.journal.from = None;
        Ok(())
    }

    fn give(&mut self, record: &Record<'_>) -> koppel::Result<()> {
        match *record {
            Record::Initialize { start } => {
                self.steps = 0;
                self.inner.initialize(start)
            }
            Record::LeaveInitialization => self.inner.leave_initialization().map(drop),
            Record::Set { variable, value } => self.inner.set(variable, value),
            Record::Read { inputs } => {
                let mut outputs = vec![0.0; self.inner.ports().outputs.len()];
                self.inner.read(Some(inputs), &mut outputs)
            }
            Record::Step { step, request, inputs, terms, offsets, coefficients, outputs } => {
                let mut samples = Samples::new(request, self.inner.ports().outputs.len());
                let segment = Segment::from_parts(&step, inputs, terms, offsets, coefficients);
                self.last.resize(self.inner.ports().outputs.len(), 0.0);
                self.inner.step(&step, &segment, &mut self.last, &mut samples)?;
                self.steps += 1;
                self.time = step.end();
                self.compare(outputs)
            }
        }
    }

    /// Refuses outputs that are not what they were; none are compared if none were kept.
    fn compare(&self, wanted: &[f64]) -> koppel::Result<()> {
        let is_same = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-9 * (a.abs() + b.abs()) + 1e-300;
        let mut pairs = self.last.iter().zip(wanted).enumerate();
        match pairs.find(|(_, (found, wanted))| !is_same(**found, **wanted)) {
            None => Ok(()),
            Some((index, (found, wanted))) => Err(ReplayError::Differs {
                name: self.name.clone(),
                output: self.inner.ports().outputs[index].name.clone(),
                time: self.time,
                found: *found,
                wanted: *wanted,
            }
            .into()),
        }
    }
}

const TICKET: &[u8; 8] = b"replay 1";

impl Subsystem for Replayed {
    fn ports(&self) -> &Ports {
        self.inner.ports()
    }

    /// It rolls back by itself only: a log is replayed from its beginning.
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn initialize(&mut self, start: f64) -> koppel::Result<()> {
        self.inner.initialize(start)?;
        self.steps = 0;
        // A log to be continued is not touched before its checkpoint is restored.
        if self.journal.from.is_none() {
            let log = Log::create(&self.journal.path, self.journal.is_asked);
            self.log = Some(self.written(log)?);
        }
        self.note(&Record::Initialize { start })
    }

    fn leave_initialization(&mut self) -> koppel::Result<bool> {
        self.note(&Record::LeaveInitialization)?;
        self.inner.leave_initialization()
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        if let Some(inputs) = inputs {
            self.note(&Record::Read { inputs })?;
        }
        self.inner.read(inputs, outputs)
    }

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> koppel::Result<()> {
        let request = samples.request();
        self.inner.step(step, input, outputs, samples)?;
        let is_kept = self.steps < FIRST || self.steps.is_multiple_of(KEPT);
        self.steps += 1;
        self.time = step.end();
        self.last.clear();
        self.last.extend_from_slice(outputs);
        self.note(&Record::Step {
            step: *step,
            request,
            inputs: input.inputs(),
            terms: input.terms(),
            offsets: input.offsets(),
            coefficients: input.coefficients(),
            outputs: if is_kept { outputs } else { &[] },
        })
    }

    fn get(&mut self, variable: VariableId) -> koppel::Result<f64> {
        self.inner.get(variable)
    }

    fn set(&mut self, variable: VariableId, value: f64) -> koppel::Result<()> {
        self.note(&Record::Set { variable, value })?;
        self.inner.set(variable, value)
    }

    /// Where the log ends now, and the state itself if the FMU can keep it in its memory.
    fn save(&mut self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        // What the FMU keeps in its memory for this snapshot is to be used again.
        let mut kept = Snapshot::new(snapshot.horizon);
        let before = snapshot.bytes.strip_prefix(TICKET).and_then(|rest| rest.split_at_checked(32));
        kept.bytes.extend_from_slice(before.map_or(&[], |(_, bytes)| bytes));
        let has_log = self.log.is_some();
        // What the FMU keeps in its memory is of no use to another process; the log is.
        let is_kept = if has_log && snapshot.horizon == Horizon::Elsewhere {
            false
        } else {
            let saved = self.inner.save(&mut kept);
            let is_kept = saved.is_ok();
            if !has_log {
                // There is nothing else to come back by.
                saved?;
            }
            is_kept
        };
        let place = match &mut self.log {
            None => Ok((0, 0)),
            // The log is read again only if the FMU does not come back by itself.
            Some(log) if is_kept => Ok(log.place()),
            Some(log) => log.sync(),
        };
        let place = self.written(place)?;
        snapshot.bytes.clear();
        snapshot.bytes.extend_from_slice(TICKET);
        for word in [place.0, place.1, self.steps, is_kept.into()] {
            snapshot.bytes.extend_from_slice(&word.to_le_bytes());
        }
        if !is_kept {
            kept = Snapshot::default();
        }
        snapshot.hold = kept.hold;
        snapshot.bytes.extend_from_slice(&kept.bytes);
        snapshot.reals.clear();
        snapshot.reals.push(self.last.len() as f64);
        snapshot.reals.extend_from_slice(&self.last);
        snapshot.reals.push(self.time);
        snapshot.reals.extend_from_slice(&kept.reals);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        if !snapshot.bytes.starts_with(TICKET) {
            // Saved by a run that logged nothing, because the subsystem could do without.
            self.inner.restore(snapshot)?;
            (self.journal.from, self.log) = (None, None);
            return Ok(());
        }
        let other = || ReplayError::Other { name: self.name.clone(), path: self.journal.path.clone() };
        let words = snapshot.bytes.strip_prefix(TICKET).and_then(|rest| rest.split_at_checked(32));
        let (words, bytes) = words.ok_or_else(other)?;
        let word = |k: usize| u64::from_le_bytes(words[8 * k..][..8].try_into().unwrap_or_default());
        let (run, length, steps, is_kept) = (word(0), word(1), word(2), word(3) == 1);
        let (count, rest) = snapshot.reals.split_first().ok_or_else(other)?;
        let (last, rest) = rest.split_at_checked(*count as usize).ok_or_else(other)?;
        let (time, reals) = rest.split_first().ok_or_else(other)?;
        let kept = Snapshot { reals: reals.to_vec(), bytes: bytes.to_vec(), ..Snapshot::default() };
        if is_kept && self.inner.restore(&kept).is_ok() {
            let back = self.log.as_mut().map_or(Ok(()), |log| log.back_to(length));
            self.written(back)?;
        } else {
            self.replay(run, length)?;
            if steps > 0 {
                self.compare(last)?;
            }
        }
        self.steps = steps;
        self.time = *time;
        self.last.clear();
        self.last.extend_from_slice(last);
        Ok(())
    }
    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        self.inner.linear_model()
    }

    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        self.inner.mailbox()
    }
}

#[cfg(test)]
mod tests;
