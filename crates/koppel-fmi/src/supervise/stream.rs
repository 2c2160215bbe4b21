//! Frames in one direction: a ring of words with one writer and one reader.
//!
//! A frame is its kind and length in one word, then its content. It may be longer than the ring: the reader takes it in parts. What was made
//! visible is the reader's, however the writer ends.

use super::Kind;
use super::memory::{Direction, Ends, Memory};
use rustix::thread::futex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Where the length of a frame ends and its kind begins.
const LENGTH: u32 = 40;
/// More words than any frame has: 8 GB.
const LONGEST: u64 = 1 << 30;
/// How long a supervisor waits for a process to read. (The other way round there is no limit: a supervised process ends with its supervisor, whose disk may
/// take long.)
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a writer sleeps before it looks for room again.
const NAP: Duration = Duration::from_millis(5);

/// The end that writes.
pub(super) struct Writer {
    memory: Arc<Memory>,
    direction: Direction,
    written: u64,
    /// Words taken when the writer last looked.
    taken: u64,
    /// True once a reader has not read for so long that there is none.
    is_alone: bool,
}

impl Writer {
    pub(super) fn new(memory: Arc<Memory>, direction: Direction) -> Writer {
        Writer { memory, direction, written: 0, taken: 0, is_alone: false }
    }

    /// A frame of numbers; the reader finds it when it looks.
    #[inline]
    pub(super) fn numbers(&mut self, kind: Kind, first: f64, others: &[f64]) {
        self.head(kind, 1 + others.len());
        self.put(first.to_bits());
        others.iter().for_each(|value| self.put(value.to_bits()));
        self.show();
    }

    /// A frame of a number and bytes, for which the reader is woken.
    pub(super) fn bytes(&mut self, kind: Kind, number: u64, bytes: &[u8]) {
        self.head(kind, 2 + bytes.len().div_ceil(8));
        self.put(number);
        self.put(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.put(u64::from_le_bytes(word));
        }
        self.show();
        ring(&self.ends().for_reader);
    }

    fn ends(&self) -> &Ends {
        self.memory.ends(self.direction)
    }

    fn head(&mut self, kind: Kind, words: usize) {
        self.put(((kind as u64) << LENGTH) | words as u64);
    }

    #[inline]
    fn put(&mut self, word: u64) {
        let words = self.memory.ring(self.direction);
        if self.written - self.taken >= words.len() as u64 {
            return self.put_late(word);
        }
        words[self.written as usize % words.len()].store(word, Ordering::Relaxed);
        self.written += 1;
    }

    /// Waits for room first. A process that awaits a reply reads it at once, unless it has ended.
    #[cold]
    fn put_late(&mut self, word: u64) {
        self.show();
        let room = self.memory.ring(self.direction).len() as u64;
        let begin = Instant::now();
        loop {
            self.is_alone |= self.direction == Direction::Down && begin.elapsed() > PATIENCE;
            if self.is_alone {
                return;
            }
            let ends = self.memory.ends(self.direction);
            let bell = ends.for_writer.load(Ordering::Acquire);
            self.taken = ends.taken.load(Ordering::Acquire);
            if self.written.wrapping_sub(self.taken) < room {
                break;
            }
            ring(&ends.for_reader);
            sleep(&ends.for_writer, bell, NAP);
        }
        self.put(word);
    }

    /// What was written is the reader's from now on.
    #[inline]
    fn show(&self) {
        self.ends().written.store(self.written, Ordering::Release);
    }
}

/// The end that reads.
pub(super) struct Reader {
    memory: Arc<Memory>,
    direction: Direction,
    taken: u64,
    /// Kind and length of the frame that is being read.
    head: Option<(Kind, usize)>,
    words: Vec<u64>,
}

/// A frame that was read.
pub(super) struct Frame<'a> {
    pub(super) kind: Kind,
    words: &'a [u64],
}

impl Reader {
    pub(super) fn new(memory: Arc<Memory>, direction: Direction) -> Reader {
        Reader { memory, direction, taken: 0, head: None, words: Vec::new() }
    }

    /// The next frame, if all of it is there.
    pub(super) fn next(&mut self) -> io::Result<Option<Frame<'_>>> {
        let (ends, words) = (self.memory.ends(self.direction), self.memory.ring(self.direction));
        let ready = ends.written.load(Ordering::Acquire).wrapping_sub(self.taken);
        if ready > words.len() as u64 {
            return Err(damaged());
        }
        let word = |at: u64| words[at as usize % words.len()].load(Ordering::Relaxed);
        let mut left = ready as usize;
        if self.head.is_none() && left > 0 {
            let head = word(self.taken);
            let length = head & ((1 << LENGTH) - 1);
            let kind = Kind::of(head >> LENGTH).filter(|_| length <= LONGEST).ok_or_else(damaged)?;
            self.head = Some((kind, length as usize));
            self.words.clear();
            (self.taken, left) = (self.taken + 1, left - 1);
        }
        let Some((kind, length)) = self.head else { return Ok(None) };
        let new = left.min(length - self.words.len()) as u64;
        self.words.extend((self.taken..self.taken + new).map(word));
        self.taken += new;
        if ready > 0 {
            ends.taken.store(self.taken, Ordering::Release);
        }
        if self.words.len() < length {
            // The writer may be waiting for room.
            ring(&ends.for_writer);
            return Ok(None);
        }
        self.head = None;
        Ok(Some(Frame { kind, words: &self.words }))
    }

    /// Waits for the next frame, but not longer than this.
    pub(super) fn wait(&self, longest: Duration) {
        let ends = self.memory.ends(self.direction);
        let bell = ends.for_reader.load(Ordering::Acquire);
        ring(&ends.for_writer);
        if ends.written.load(Ordering::Acquire) == self.taken {
            sleep(&ends.for_reader, bell, longest);
        }
    }
}

impl Frame<'_> {
    /// A frame of numbers.
    pub(super) fn numbers(&self, values: &mut Vec<f64>) -> io::Result<f64> {
        let (first, others) = self.words.split_first().ok_or_else(damaged)?;
        values.clear();
        values.extend(others.iter().map(|word| f64::from_bits(*word)));
        Ok(f64::from_bits(*first))
    }

    /// A frame of a number and bytes.
    pub(super) fn bytes(&self) -> io::Result<(u64, Vec<u8>)> {
        let [number, length, words @ ..] = self.words else { return Err(damaged()) };
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let length = usize::try_from(*length).ok().filter(|length| *length <= bytes.len());
        bytes.truncate(length.ok_or_else(damaged)?);
        Ok((*number, bytes))
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "shared memory was damaged")
}

/// Wakes whoever sleeps on this bell.
fn ring(bell: &AtomicU32) {
    bell.fetch_add(1, Ordering::Release);
    let _ = futex::wake(bell, futex::Flags::empty(), 1);
}

/// Sleeps until the bell is rung, unless it was rung since it was looked at.
fn sleep(bell: &AtomicU32, seen: u32, longest: Duration) {
    let time = futex::Timespec {
        tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: longest.subsec_nanos().into(),
    };
    let _ = futex::wait(bell, futex::Flags::empty(), seen, Some(&time));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> (Writer, Reader) {
        let memory = Memory::create().unwrap();
        let other = Memory::open(memory.file().unwrap()).unwrap();
        (Writer::new(Arc::new(memory), Direction::Up), Reader::new(Arc::new(other), Direction::Up))
    }

    /// More than the ring holds, in frames of all lengths, one of them longer than the ring.
    #[test]
    fn frames_arrive_in_order_and_whole() {
        let (mut writer, mut reader) = both();
        let lengths = [0, 1, 7, 1000, 600_000, 3];
        let rows = 2000;
        let thread = std::thread::spawn(move || {
            let values: Vec<f64> = (0..600_000).map(f64::from).collect();
            for row in 0..rows {
                let length = if row == 77 { lengths[4] } else { lengths[row % 4] };
                writer.numbers(Kind::Row, row as f64, &values[..length]);
            }
            writer.bytes(Kind::Request, 5, b"the end");
        });
        let (mut values, mut row) = (Vec::new(), 0);
        loop {
            let Some(frame) = reader.next().unwrap() else {
                reader.wait(Duration::from_millis(10));
                continue;
            };
            if frame.kind == Kind::Request {
                assert_eq!(frame.bytes().unwrap(), (5, b"the end".to_vec()));
                break;
            }
            let length = if row == 77 { lengths[4] } else { lengths[row % 4] };
            assert_eq!(frame.numbers(&mut values).unwrap(), row as f64);
            assert!(values.iter().enumerate().all(|(k, value)| *value == k as f64) && values.len() == length);
            row += 1;
        }
        assert_eq!(row, rows);
        thread.join().unwrap();
    }

    #[test]
    fn nonsense_is_an_error_and_no_panic() {
        let (writer, mut reader) = both();
        writer.memory.ring(Direction::Up)[0].store(u64::MAX, Ordering::Relaxed);
        writer.ends().written.store(3, Ordering::Release);
        assert!(reader.next().is_err());
        let (writer, mut reader) = both();
        writer.ends().written.store(1 << 60, Ordering::Release);
        assert!(reader.next().is_err());
    }
}
