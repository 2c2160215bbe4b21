//! Memory that two processes share.
//!
//! One file without a name (memfd) holds a [`Control`] page, a ring for log messages and an area for messages that grows:
//!
//! ```text
//! | control: 1 page | ring: RING words | area: `capacity` words, doubled when a message needs more |
//! ```
//!
//! Everything is atomic, so whatever the other process does to it, and be it an FMU with a wild pointer, this one reads
//! numbers, wrong ones at worst. The file cannot shrink, so no access can fail.
#![expect(unsafe_code, reason = "maps shared memory")]

use crate::ffi::Calls;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const PAGE: usize = 65_536;
const WORD: usize = size_of::<u64>();
/// Words in the ring of log messages.
const RING: usize = PAGE / WORD;
/// Words in the area at first.
const FIRST: usize = PAGE / WORD;
const MAGIC: u64 = u64::from_le_bytes(*b"koppel 1");

/// Whose turn it is: one word that counts, and whether the other side sleeps on it. On a cache line of its own.
#[repr(C, align(128))]
pub(super) struct Turn {
    pub(super) count: AtomicU32,
    pub(super) is_asleep: AtomicU32,
}

/// What both sides know about their memory. All zero to begin with.
#[repr(C)]
pub(super) struct Control {
    pub(super) request: Turn,
    pub(super) reply: Turn,
    magic: AtomicU64,
    /// Words in the area.
    capacity: AtomicU64,
    /// 1 if the worker may wait awake.
    pub(super) may_spin: AtomicU32,
    /// The FMI calls that were begun.
    pub(super) calls: Calls,
    /// Words ever written to and taken from the ring.
    pub(super) written: AtomicU64,
    pub(super) taken: AtomicU64,
    /// Messages for which the ring had no room.
    pub(super) lost: AtomicU64,
}

const _: () = assert!(size_of::<Control>() <= PAGE, "the control page holds it");

/// The memory as one side sees it.
pub(super) struct Memory {
    file: OwnedFd,
    fixed: Map,
    area: Map,
    /// It is the worker's, whose copies must not take part.
    is_workers: bool,
}

impl Memory {
    /// New memory, all zero.
    pub(super) fn create() -> io::Result<Memory> {
        let file = rustix::fs::memfd_create("koppel", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&file, length(FIRST))?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK)?;
        let memory = Memory::map(file, FIRST)?;
        memory.control().capacity.store(FIRST as u64, Ordering::Relaxed);
        memory.control().magic.store(MAGIC, Ordering::Release);
        Ok(memory)
    }

    /// Memory made by another process.
    pub(super) fn open(file: OwnedFd) -> io::Result<Memory> {
        let strange = || io::Error::new(io::ErrorKind::InvalidData, "not memory of koppel");
        if !rustix::fs::fcntl_get_seals(&file)?.contains(SealFlags::SHRINK)
            || rustix::fs::fstat(&file)?.st_size < length(FIRST) as i64
        {
            return Err(strange());
        }
        let mut memory = Memory::map(file, FIRST)?;
        // What an FMU forks and lets go on neither answers nor reads.
        memory.is_workers = true;
        [&memory.fixed, &memory.area].into_iter().for_each(Map::keep_from_copies);
        if memory.control().magic.load(Ordering::Acquire) != MAGIC {
            return Err(strange());
        }
        memory.follow()?;
        Ok(memory)
    }

    fn map(file: OwnedFd, capacity: usize) -> io::Result<Memory> {
        let fixed = Map::new(&file, 0, PAGE / WORD + RING)?;
        let area = Map::new(&file, 2 * PAGE, capacity)?;
        Ok(Memory { file, fixed, area, is_workers: false })
    }

    /// The file, for the other process.
    pub(super) fn file(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    #[inline]
    pub(super) fn control(&self) -> &Control {
        // SAFETY: the mapping begins with a page for it, is aligned to pages and lives as long as `self`; a `Control` is made
        // of atomic numbers, for which every content is valid.
        unsafe { self.fixed.first.cast::<Control>().as_ref() }
    }

    /// The control page for as long as the process lives.
    pub(super) fn control_for_ever(&self) -> io::Result<&'static Control> {
        let map = Map::new(&self.file, 0, PAGE / WORD)?;
        map.keep_from_copies();
        let first = map.first;
        std::mem::forget(map);
        // SAFETY: as in `control`; the mapping is never taken back.
        Ok(unsafe { first.cast::<Control>().as_ref() })
    }

    /// The ring of log messages.
    pub(super) fn ring(&self) -> &[AtomicU64] {
        &self.fixed.words()[PAGE / WORD..]
    }

    /// The area for messages as mapped now.
    #[inline]
    pub(super) fn area(&self) -> &[AtomicU64] {
        self.area.words()
    }

    /// Makes room for a message of so many words.
    #[inline]
    pub(super) fn reserve(&mut self, words: usize) -> io::Result<()> {
        if words <= self.area.words { Ok(()) } else { self.grow(words) }
    }

    #[cold]
    fn grow(&mut self, words: usize) -> io::Result<()> {
        let words = words.checked_next_power_of_two().unwrap_or(words);
        rustix::fs::ftruncate(&self.file, length(words))?;
        self.map_area(words)?;
        self.control().capacity.store(words as u64, Ordering::Release);
        Ok(())
    }

    /// Maps what the other side has added.
    #[inline]
    pub(super) fn follow(&mut self) -> io::Result<()> {
        let capacity = self.control().capacity.load(Ordering::Acquire) as usize;
        if capacity <= self.area.words { Ok(()) } else { self.remap(capacity) }
    }

    #[cold]
    fn remap(&mut self, capacity: usize) -> io::Result<()> {
        // What lies beyond the end of the file must not be touched, whatever the other side says.
        let is_backed = capacity <= MOST && rustix::fs::fstat(&self.file)?.st_size >= length(capacity) as i64;
        if !is_backed {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "shared memory was damaged"));
        }
        self.map_area(capacity)
    }

    fn map_area(&mut self, words: usize) -> io::Result<()> {
        self.area = Map::new(&self.file, 2 * PAGE, words)?;
        if self.is_workers {
            self.area.keep_from_copies();
        }
        Ok(())
    }
}

/// More words than any file has.
const MOST: usize = 1 << 48;

/// Bytes of the file when the area has so many words.
fn length(words: usize) -> u64 {
    (2 * PAGE + words * WORD) as u64
}

/// A mapped part of a file.
pub(crate) struct Map {
    first: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping has one owner, belongs to no thread, and is made of atomic numbers.
unsafe impl Send for Map {}
// SAFETY: as above; only atomic numbers can be reached through a shared reference.
unsafe impl Sync for Map {}

impl Map {
    /// Maps so many words from a byte of the file on, which both are whole pages and within it.
    pub(crate) fn new(file: &OwnedFd, offset: usize, words: usize) -> io::Result<Map> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place the system chooses; nothing else is changed.
        let pointer = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                words * WORD,
                access,
                MapFlags::SHARED,
                file,
                offset as u64,
            )?
        };
        let first = NonNull::new(pointer.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Map { first, words })
    }

    /// Forked copies of this process do not get it: what an FMU forks and lets go on writes nothing twice.
    pub(crate) fn keep_from_copies(&self) {
        // SAFETY: the mapping is that long; in this process nothing changes.
        let _ = unsafe {
            rustix::mm::madvise(
                self.first.as_ptr().cast(),
                self.words * WORD,
                rustix::mm::Advice::LinuxDontFork,
            )
        };
    }

    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is that long, aligned to pages and alive; the file cannot shrink, so every word is backed.
        // Atomic numbers may be changed by others at any time.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.words) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; all references borrow from `self`.
        let _ = unsafe { rustix::mm::munmap(self.first.as_ptr().cast(), self.words * WORD) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_the_same_also_after_growing() {
        let mut one = Memory::create().unwrap();
        let mut other = Memory::open(one.file().unwrap()).unwrap();
        one.area()[7].store(42, Ordering::Relaxed);
        assert_eq!(other.area()[7].load(Ordering::Relaxed), 42);
        one.reserve(100_000).unwrap();
        one.area()[99_999].store(43, Ordering::Relaxed);
        other.follow().unwrap();
        assert_eq!(other.area()[99_999].load(Ordering::Relaxed), 43);
        assert_eq!(other.area()[7].load(Ordering::Relaxed), 42);
    }

    #[test]
    fn anything_else_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(Memory::open(file.into()).is_err());
        let memory = Memory::create().unwrap();
        for capacity in [1 << 40, (1 << 61) + 8] {
            memory.control().capacity.store(capacity, Ordering::Relaxed);
            assert!(Memory::open(memory.file().unwrap()).is_err());
        }
    }
}
