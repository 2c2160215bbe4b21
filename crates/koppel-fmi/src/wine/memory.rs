//! The file that a worker under Wine shares with this process.

use crate::isolate::Map;
use rustix::fs::{MemfdFlags, SealFlags};
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Where the worker puts the texts of callbacks.
pub(super) const TEXTS: usize = 4096;
/// Where messages begin.
pub(super) const AREA: usize = 36_864;
/// Bytes of the file at first.
const FIRST: usize = 1 << 18;
/// Room that is always left for a message without data.
const RESERVE: usize = 128;
const MAGIC: u64 = u64::from_le_bytes(*b"koppel 1");

/// What both sides know; `struct control` of the worker.
#[repr(C)]
pub(super) struct Control {
    magic: AtomicU64,
    size: AtomicU64,
    /// Where the worker has mapped the file.
    pub(super) base: AtomicU64,
    /// Offset of the message.
    pub(super) at: AtomicU64,
    /// What the reply is.
    pub(super) answer: AtomicU64,
    /// How long the worker waits awake at least, in microseconds; 0: not at all.
    pub(super) patience: AtomicU64,
    /// Index of the call that runs.
    pub(super) running: AtomicU64,
    /// Code and place of an exception that ended the worker.
    pub(super) exception: AtomicU64,
    pub(super) place: AtomicU64,
    /// Addresses of what FMUs are given to call: callbacks of FMI 2.0, logger and intermediate update of FMI 3.0.
    pub(super) addresses: [AtomicU64; 8],
    unused: [u64; 111],
    pub(super) request: AtomicU32,
    pub(super) worker_sleeps: AtomicU32,
    gap: [u32; 62],
    pub(super) reply: AtomicU32,
    pub(super) parent_sleeps: AtomicU32,
}

const _: () = assert!(std::mem::offset_of!(Control, request) == 1024, "as in worker.c");
const _: () = assert!(std::mem::offset_of!(Control, reply) == 1280, "as in worker.c");

/// The file, mapped.
pub(super) struct Memory {
    file: OwnedFd,
    map: RefCell<Map>,
    start: Cell<*mut u8>,
    size: Cell<usize>,
}

impl Memory {
    pub(super) fn create() -> io::Result<Memory> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("koppel-wine", flags)?;
        rustix::fs::ftruncate(&file, FIRST as u64)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK)?;
        let map = Map::new(&file, 0, FIRST / size_of::<u64>())?;
        let start = Cell::new(start(&map));
        let memory = Memory { file, map: RefCell::new(map), start, size: Cell::new(FIRST) };
        memory.control().size.store(FIRST as u64, Ordering::Relaxed);
        memory.control().magic.store(MAGIC, Ordering::Release);
        Ok(memory)
    }

    /// Its name for a Windows program.
    pub(super) fn windows_path(&self) -> String {
        format!("Z:\\proc\\{}\\fd\\{}", std::process::id(), self.file.as_raw_fd())
    }

    pub(super) fn control(&self) -> &Control {
        // SAFETY: the mapping is longer, aligned to pages and alive; a `Control` is made of atomic numbers and gaps, for which
        // every content is valid. A new mapping replaces the old one only in `grow`, which no reference outlives.
        unsafe { &*self.start.get().cast::<Control>() }
    }

    /// True if the file holds this many bytes and a message without data.
    #[inline]
    pub(super) fn holds(&self, bytes: usize) -> bool {
        bytes.saturating_add(RESERVE) <= self.size.get()
    }

    /// Makes the file hold this many bytes; the worker must follow.
    #[cold]
    pub(super) fn grow(&self, bytes: usize) -> io::Result<()> {
        let too_much = || io::Error::from(io::ErrorKind::OutOfMemory);
        let size =
            bytes.checked_add(RESERVE).and_then(usize::checked_next_power_of_two).ok_or_else(too_much)?;
        rustix::fs::ftruncate(&self.file, size as u64)?;
        let map = Map::new(&self.file, 0, size / size_of::<u64>())?;
        self.start.set(start(&map));
        self.size.set(size);
        *self.map.borrow_mut() = map;
        self.control().size.store(size as u64, Ordering::Release);
        Ok(())
    }

    /// The bytes from this offset on. They belong to whoever has the turn.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.size.get());
        self.start.get().wrapping_add(offset)
    }

    /// A word of the file; 0 beyond its end.
    #[inline]
    pub(super) fn word(&self, offset: usize) -> u64 {
        if offset + size_of::<u64>() > self.size.get() {
            return 0;
        }
        // SAFETY: within the mapping; any bytes are a number.
        unsafe { self.at(offset).cast::<u64>().read_unaligned() }
    }

    /// Writes words.
    ///
    /// # Safety
    ///
    /// [`holds`](Memory::holds) of their end, and this process has the turn.
    #[inline]
    pub(super) unsafe fn put(&self, offset: usize, words: &[u64]) {
        // SAFETY: promised by the caller.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr().cast(), self.at(offset), size_of_val(words)) }
    }

    /// Bytes as a list; fewer where the file ends.
    pub(super) fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let length = length.min(self.size.get().saturating_sub(offset));
        // SAFETY: within the mapping; any bytes are bytes, and the other process has not the turn.
        unsafe { std::slice::from_raw_parts(self.at(offset), length) }.to_vec()
    }
}

fn start(map: &Map) -> *mut u8 {
    map.words().as_ptr().cast::<u8>().cast_mut()
}
