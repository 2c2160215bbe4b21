//! The file with everything a subsystem was given.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use koppel::signal::{Request, Step};
use koppel::system::{Ports, VariableId, VariableKind};

const HEADER: &[u8; 16] = b"koppel inputs 2\n";
const START: u64 = 24;

/// One call that acts on the state of a subsystem.
pub(super) enum Record<'a> {
    Initialize {
        start: f64,
    },
    LeaveInitialization,
    Read {
        inputs: &'a [f64],
    },
    Set {
        variable: VariableId,
        value: f64,
    },
    Step {
        step: Step,
        request: Request,
        inputs: usize,
        terms: usize,
        offsets: &'a [f64],
        coefficients: &'a [f64],
        /// Empty where they were not kept.
        outputs: &'a [f64],
    },
}

impl Record<'_> {
    /// Refuses what a subsystem with these ports was never given.
    pub(super) fn check(&self, ports: &Ports) -> io::Result<()> {
        let fits = match self {
            Record::Initialize { start } => start.is_finite(),
            Record::LeaveInitialization => true,
            Record::Read { inputs } => inputs.len() == ports.inputs.len(),
            Record::Set { variable, .. } => variable.index < ports.of(variable.kind).len(),
            Record::Step { step, request, inputs, terms, offsets, outputs, .. } => {
                let is_ascending = offsets.windows(2).all(|pair| pair[0] < pair[1]);
                step.start.is_finite()
                    && step.size.is_normal()
                    && step.size > 0.0
                    && *request != Request::Nodes(0)
                    && *inputs == ports.inputs.len()
                    && *terms > 0
                    && offsets.first() == Some(&0.0)
                    && is_ascending
                    && offsets.last().is_some_and(|last| *last < step.size)
                    && (outputs.is_empty() || outputs.len() == ports.outputs.len())
            }
        };
        if fits { Ok(()) } else { Err(damaged()) }
    }
}

const KINDS: [VariableKind; 4] =
    [VariableKind::Input, VariableKind::Output, VariableKind::Parameter, VariableKind::Local];

/// Bytes that are collected before they go to the disk.
const BUFFER: usize = 64 << 10;

/// How long all logs together may become if nobody asked for checkpoints: 1 GiB.
const LONGEST: u64 = 1 << 30;

/// Bytes in files without names.
static NAMELESS: AtomicU64 = AtomicU64::new(0);

/// A log being written.
///
/// If checkpoints were asked for, it has its name from the start. If not, it stays in memory, then in a file that vanishes with this process, until a
/// checkpoint needs it. Such a log costs a short run no file, ends no run, and is given up when it grows too long.
pub(super) struct Log {
    path: PathBuf,
    file: Option<File>,
    is_named: bool,
    /// Why it was given up.
    lost: Option<String>,
    run: u64,
    /// Bytes in the file, and those that follow them.
    written: u64,
    buffer: Vec<u8>,
    /// The step written last, if the next one may refer to it.
    shape: Option<Shape>,
}

/// What most steps have in common with the one before.
#[derive(Clone, Copy, PartialEq)]
struct Shape {
    size: u64,
    request: Request,
    inputs: usize,
    terms: usize,
    index: u64,
}

impl Log {
    /// A new log, of a run with a new number.
    pub(super) fn create(path: &Path, is_named: bool) -> io::Result<Log> {
        let run = RandomState::new().build_hasher().finish() | 1;
        let file = is_named.then(|| File::create(path)).transpose()?;
        let buffer = [&HEADER[..], &run.to_le_bytes()].concat();
        Ok(Log { path: path.into(), file, is_named, lost: None, run, written: 0, buffer, shape: None })
    }

    /// Continues a log after its first `length` bytes, in another file if the paths differ.
    pub(super) fn go_on(from: &Path, path: &Path, run: u64, length: u64) -> io::Result<Log> {
        let is_same = from == path || std::fs::canonicalize(from).ok() == std::fs::canonicalize(path).ok();
        if !is_same {
            std::fs::copy(from, path)?;
        }
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        let (path, file) = (path.into(), Some(file));
        Ok(Log {
            path,
            file,
            is_named: true,
            lost: None,
            run,
            written: length,
            buffer: Vec::new(),
            shape: None,
        })
    }

    /// Which run it is, and how long it is.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.run, self.written + self.buffer.len() as u64)
    }

    /// Forgets what came after the first `length` bytes.
    pub(super) fn back_to(&mut self, length: u64) -> io::Result<()> {
        self.shape = None;
        if let Some(kept) = length.checked_sub(self.written) {
            self.buffer.truncate(kept as usize);
            return Ok(());
        }
        self.buffer.clear();
        self.written = length;
        self.file.as_mut().map_or(Ok(()), |file| {
            file.set_len(length)?;
            file.seek(SeekFrom::End(0)).map(|_| ())
        })
    }

    /// Brings everything to the disk, under its name; which run it is, and how long it is.
    pub(super) fn sync(&mut self) -> io::Result<(u64, u64)> {
        if let Some(reason) = &self.lost {
            return Err(io::Error::other(reason.clone()));
        }
        if !self.is_named {
            let mut named = File::create(&self.path)?;
            if let Some(file) = &mut self.file {
                file.seek(SeekFrom::Start(0))?;
                io::copy(file, &mut named)?;
            }
            (self.file, self.is_named) = (Some(named), true);
        }
        self.flush()?;
        self.file.iter().try_for_each(File::sync_data)?;
        Ok(self.place())
    }

    /// Brings everything to the file.
    fn flush(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(nameless(&self.path)?),
        };
        file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    #[cold]
    fn make_room(&mut self) -> io::Result<()> {
        if self.is_named {
            return self.flush();
        }
        let added = self.buffer.len() as u64;
        let is_too_long = NAMELESS.fetch_add(added, Ordering::Relaxed) + added > LONGEST;
        self.lost = match self.flush() {
            Err(error) => Some(error.to_string()),
            Ok(()) => is_too_long.then(|| format!("all logs together have reached {} GiB", LONGEST >> 30)),
        };
        if self.lost.is_some() {
            NAMELESS.fetch_sub(self.written, Ordering::Relaxed);
            (self.file, self.buffer) = (None, Vec::new());
        }
        Ok(())
    }

    /// Adds a record.
    #[inline]
    pub(super) fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        if self.lost.is_some() {
            return Ok(());
        }
        self.put(record);
        if self.buffer.len() < BUFFER { Ok(()) } else { self.make_room() }
    }

    fn put(&mut self, record: &Record<'_>) {
        match *record {
            Record::Initialize { start } => self.words(&[1, start.to_bits()]),
            Record::LeaveInitialization => self.words(&[5]),
            Record::Read { inputs } => {
                self.words(&[2, inputs.len() as u64]);
                self.reals(inputs);
            }
            Record::Set { variable, value } => {
                let kind = KINDS.iter().position(|kind| *kind == variable.kind).unwrap_or(0);
                self.words(&[3, kind as u64, variable.index as u64, value.to_bits()]);
            }
            Record::Step { step, request, inputs, terms, offsets, coefficients, outputs } => {
                let shape = Shape { size: step.size.to_bits(), request, inputs, terms, index: step.index };
                let before =
                    self.shape.replace(shape).map(|before| Shape { index: before.index + 1, ..before });
                if before == Some(shape) && offsets.len() == 1 && outputs.is_empty() {
                    self.buffer.reserve(8 * (2 + coefficients.len()));
                    self.words(&[6, step.start.to_bits()]);
                    return self.reals(coefficients);
                }
                let (kind, nodes) = match request {
                    Request::Nothing => (0, 0),
                    Request::SolverPoints => (1, 0),
                    Request::Nodes(nodes) => (2, nodes),
                };
                self.words(&[4, step.index, step.start.to_bits(), step.size.to_bits(), kind, nodes.into()]);
                self.words(&[inputs, terms, offsets.len(), outputs.len()].map(|count| count as u64));
                [offsets, coefficients, outputs].into_iter().for_each(|list| self.reals(list));
            }
        }
    }

    fn words(&mut self, words: &[u64]) {
        words.iter().for_each(|word| self.buffer.extend_from_slice(&word.to_le_bytes()));
    }

    fn reals(&mut self, values: &[f64]) {
        values.iter().for_each(|value| self.buffer.extend_from_slice(&value.to_le_bytes()));
    }
}

/// A file beside this one that no other process finds, and that is gone when it is closed.
fn nameless(path: &Path) -> io::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    // FILE_FLAG_DELETE_ON_CLOSE
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, 0x0400_0000);
    let file = options.open(&name)?;
    #[cfg(not(windows))]
    std::fs::remove_file(&name)?;
    Ok(file)
}

/// A log being read.
pub(super) struct Reader {
    file: io::Take<BufReader<File>>,
    run: u64,
    /// The step read last, with its request, inputs and terms.
    last: Option<(Step, Request, u64, u64)>,
    offsets: Vec<f64>,
    coefficients: Vec<f64>,
    outputs: Vec<f64>,
}

impl Reader {
    /// Reads the first `length` bytes, which must be there.
    pub(super) fn open(path: &Path, length: u64) -> io::Result<Reader> {
        let file = File::open(path)?;
        if file.metadata()?.len() < length || length < START {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut file = BufReader::new(file).take(length);
        let (mut header, mut run) = ([0; 16], [0; 8]);
        file.read_exact(&mut header)?;
        file.read_exact(&mut run)?;
        if header != *HEADER {
            return Err(damaged());
        }
        let run = u64::from_le_bytes(run);
        Ok(Reader {
            file,
            run,
            last: None,
            offsets: Vec::new(),
            coefficients: Vec::new(),
            outputs: Vec::new(),
        })
    }

    /// Which run it belongs to.
    pub(super) fn run(&self) -> u64 {
        self.run
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        if self.file.limit() == 0 {
            return Ok(None);
        }
        Ok(Some(match self.word()? {
            1 => Record::Initialize { start: self.real()? },
            2 => {
                let count = self.word()?;
                self.coefficients = self.list(count)?;
                Record::Read { inputs: &self.coefficients }
            }
            3 => {
                let kind = *KINDS.get(self.word()? as usize).ok_or_else(damaged)?;
                let variable = VariableId { kind, index: self.word()? as usize };
                Record::Set { variable, value: self.real()? }
            }
            4 => {
                let step = Step { index: self.word()?, start: self.real()?, size: self.real()? };
                let request = match (self.word()?, self.word()?) {
                    (0, _) => Request::Nothing,
                    (1, _) => Request::SolverPoints,
                    (_, nodes) => Request::Nodes(nodes as u32),
                };
                let [inputs, terms, pieces, outputs] =
                    [self.word()?, self.word()?, self.word()?, self.word()?];
                self.offsets = self.list(pieces)?;
                self.coefficients = self.list(pieces.saturating_mul(inputs).saturating_mul(terms))?;
                self.outputs = self.list(outputs)?;
                self.step_of((step, request, inputs, terms))
            }
            5 => Record::LeaveInitialization,
            6 => {
                let (before, request, inputs, terms) = self.last.ok_or_else(damaged)?;
                let index = before.index.checked_add(1).ok_or_else(damaged)?;
                let step = Step { index, start: self.real()?, size: before.size };
                self.offsets.clear();
                self.offsets.push(0.0);
                self.coefficients = self.list(inputs.saturating_mul(terms))?;
                self.outputs.clear();
                self.step_of((step, request, inputs, terms))
            }
            _ => return Err(damaged()),
        }))
    }

    /// The step that was read.
    fn step_of(&mut self, of: (Step, Request, u64, u64)) -> Record<'_> {
        self.last = Some(of);
        let (step, request, inputs, terms) = (of.0, of.1, of.2 as usize, of.3 as usize);
        let Reader { offsets, coefficients, outputs, .. } = self;
        Record::Step { step, request, inputs, terms, offsets, coefficients, outputs }
    }

    fn word(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn real(&mut self) -> io::Result<f64> {
        self.word().map(f64::from_bits)
    }

    fn list(&mut self, count: u64) -> io::Result<Vec<f64>> {
        if count > self.file.limit() / 8 {
            return Err(damaged());
        }
        (0..count).map(|_| self.real()).collect()
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is damaged")
}
