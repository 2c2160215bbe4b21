//! The process that works under a supervisor.

use super::memory::{Direction, Memory};
use super::stream::{Reader, Writer};
use super::{Kind, Known};
use crate::ffi::{announce_instances_to, note_calls_in};
use rustix::process::Pid;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

static THIS: OnceLock<Supervised> = OnceLock::new();

/// This process as its supervisor knows it.
pub struct Supervised {
    memory: Arc<Memory>,
    writer: Mutex<Writer>,
    /// Held while a request waits for its reply.
    reader: Mutex<Reader>,
}

/// The supervised process that this one is, if it is one.
pub fn supervised() -> Option<&'static Supervised> {
    THIS.get()
}

/// Makes this process a supervised one; `parent` is the number its supervisor gave it. Its standard input is the shared memory, so nothing may read
/// that before.
///
/// # Errors
///
/// If it was not started by a supervisor.
pub fn begin(parent: &str) -> io::Result<&'static Supervised> {
    let strange = || io::Error::new(io::ErrorKind::InvalidInput, "not started by koppel");
    let parent = parent.parse().ok().and_then(Pid::from_raw).ok_or_else(strange)?;
    super::lifeline::hold(parent)?;
    crate::isolate::ignore_signals();
    let memory = Arc::new(Memory::open(io::stdin().as_fd().try_clone_to_owned()?)?);
    // An FMU finds an empty standard input.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let this = THIS.get_or_init(|| Supervised {
        writer: Mutex::new(Writer::new(memory.clone(), Direction::Up)),
        reader: Mutex::new(Reader::new(memory.clone(), Direction::Down)),
        memory,
    });
    note_calls_in(this.memory.calls());
    announce_instances_to(announce);
    Ok(this)
}

fn announce(instance: u64, name: &str, limit: Option<Duration>) {
    if let Some(this) = supervised() {
        let known = Known { name: name.to_owned(), limit: limit.map(|limit| limit.as_secs_f64()) };
        let bytes = serde_json::to_vec(&known).unwrap_or_default();
        this.write(|writer| writer.bytes(Kind::Name, instance, &bytes));
    }
}

impl Supervised {
    /// Passes a row on; `false` once one could not be written.
    #[inline]
    pub fn row(&self, time: f64, values: &[f64]) -> bool {
        self.write(|writer| writer.numbers(Kind::Row, time, values));
        self.memory.control().has_trouble.load(Ordering::Relaxed) == 0
    }

    /// Something that belongs to the next row.
    pub fn aside(&self, bytes: &[u8]) {
        self.write(|writer| writer.bytes(Kind::Aside, 0, bytes));
    }

    /// Tells the supervisor something that needs no answer.
    pub fn note(&self, number: u64, bytes: &[u8]) {
        self.write(|writer| writer.bytes(Kind::Note, number, bytes));
    }

    /// Asks the supervisor and waits for its answer, which comes after all that was passed on before.
    ///
    /// # Errors
    ///
    /// If the shared memory was damaged.
    pub fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(|writer| writer.bytes(Kind::Request, 0, request));
        loop {
            match reader.next()? {
                Some(frame) => return Ok(frame.bytes()?.1),
                None => reader.wait(Duration::from_secs(1)),
            }
        }
    }

    /// True once the user wants the run to end.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.memory.control().asked.load(Ordering::Relaxed) > 0
    }

    fn write(&self, write: impl FnOnce(&mut Writer)) {
        write(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
