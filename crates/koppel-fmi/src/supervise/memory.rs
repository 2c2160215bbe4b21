//! What supervisor and supervised process share: one file without a name (memfd) of fixed size.
//!
//! ```text
//! | control | rows and requests: UP words | replies: DOWN words |
//! ```
//!
//! As in `isolate/memory.rs` all of it is atomic numbers, and the file can neither shrink nor grow: whatever the other process does to it, this one reads
//! numbers.
#![expect(unsafe_code, reason = "maps shared memory")]

use crate::ffi::Calls;
use crate::isolate::Map;
use rustix::fs::{MemfdFlags, SealFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const PAGE: usize = 65_536;
const WORD: usize = size_of::<u64>();
/// Words for rows and requests: at a million rows of seven numbers a second, room for 60 ms.
const UP: usize = 1 << 19;
/// Words for replies.
const DOWN: usize = 1 << 13;
const MAGIC: u64 = u64::from_le_bytes(*b"koppel 2");
/// Threads whose calls are noted apart; all others share the last place.
const THREADS: usize = 64;

/// The ends of one stream.
#[repr(C, align(128))]
pub(super) struct Ends {
    /// Words ever written and made visible.
    pub(super) written: AtomicU64,
    /// Words ever taken.
    pub(super) taken: AtomicU64,
    /// Rung to wake the reader, and to wake the writer.
    pub(super) for_reader: AtomicU32,
    pub(super) for_writer: AtomicU32,
}

/// All zero to begin with.
#[repr(C)]
pub(super) struct Control {
    pub(super) up: Ends,
    pub(super) down: Ends,
    magic: AtomicU64,
    /// How often the user has asked the run to end.
    pub(super) asked: AtomicU32,
    /// 1 once a row could not be written.
    pub(super) has_trouble: AtomicU32,
    calls: [Calls; THREADS],
}

const _: () = assert!(size_of::<Control>() <= PAGE, "the control page holds it");

/// The memory as one side sees it.
pub(super) struct Memory {
    file: OwnedFd,
    map: Map,
}

/// Direction of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

const WORDS: usize = PAGE / WORD + UP + DOWN;

impl Memory {
    /// New memory, all zero.
    pub(super) fn create() -> io::Result<Memory> {
        let file = rustix::fs::memfd_create("koppel", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&file, (WORDS * WORD) as u64)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
        let memory = Memory { map: Map::new(&file, 0, WORDS)?, file };
        memory.control().magic.store(MAGIC, Ordering::Release);
        Ok(memory)
    }

    /// Memory made by the supervisor.
    pub(super) fn open(file: OwnedFd) -> io::Result<Memory> {
        let strange = || io::Error::new(io::ErrorKind::InvalidData, "not memory of koppel");
        let seals = rustix::fs::fcntl_get_seals(&file)?;
        let has_size = rustix::fs::fstat(&file)?.st_size == (WORDS * WORD) as i64;
        if !seals.contains(SealFlags::SHRINK) || !has_size {
            return Err(strange());
        }
        let memory = Memory { map: Map::new(&file, 0, WORDS)?, file };
        memory.map.keep_from_copies();
        if memory.control().magic.load(Ordering::Acquire) == MAGIC { Ok(memory) } else { Err(strange()) }
    }

    /// The file, for the other process.
    pub(super) fn file(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    #[inline]
    pub(super) fn control(&self) -> &Control {
        // SAFETY: the mapping begins with a page for it, is aligned to pages and lives as long as `self`; a `Control` is made of
        // atomic numbers, for which every content is valid.
        unsafe { &*self.map.words().as_ptr().cast::<Control>() }
    }

    /// Places for the calls that are running, one for each thread.
    pub(super) fn calls(&self) -> &[Calls] {
        &self.control().calls
    }

    #[inline]
    pub(super) fn ends(&self, direction: Direction) -> &Ends {
        match direction {
            Direction::Up => &self.control().up,
            Direction::Down => &self.control().down,
        }
    }

    #[inline]
    pub(super) fn ring(&self, direction: Direction) -> &[AtomicU64] {
        let words = &self.map.words()[PAGE / WORD..];
        match direction {
            Direction::Up => &words[..UP],
            Direction::Down => &words[UP..],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_else_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(Memory::open(file.into()).is_err());
        let memory = Memory::create().unwrap();
        assert!(Memory::open(memory.file().unwrap()).is_ok());
        memory.control().magic.store(1, Ordering::Relaxed);
        assert!(Memory::open(memory.file().unwrap()).is_err());
    }
}
