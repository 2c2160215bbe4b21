//! Requests and replies over shared memory, one at a time.
//!
//! A message is a tag, a length and words, always at the begin of the area: who has read a message may overwrite it with the
//! answer. Both sides wait awake for a while, then asleep on a futex:
//!
//! * how long the other side usually takes is learned: it is waited for awake that long and as long again, so that a step of
//!   usual length costs no waking up; what usually takes longer than `spin::LONGEST` is slept through, as waking up is little
//!   beside it;
//! * nobody waits awake when there are more processes than processors.

use super::memory::{Control, Memory, Turn};
use super::spin::{FIRST_LOOKS, LOOKS, SHORTEST, Spin};
use rustix::thread::futex;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Words before the content of a message.
const HEAD: usize = 2;

/// Content is longer than the area: the other side has damaged it.
pub(super) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message in shared memory is damaged")
}

/// One side of the connection.
pub(super) struct Channel {
    memory: Memory,
    /// Messages received so far.
    received: u32,
    spin: Spin,
}

impl Channel {
    pub(super) fn new(memory: Memory) -> Channel {
        Channel { memory, received: 0, spin: Spin::default() }
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Writes a message of exactly `words` words.
    #[inline]
    pub(super) fn write(
        &mut self,
        tag: u64,
        words: usize,
        fill: impl FnOnce(&mut Put<'_>),
    ) -> io::Result<()> {
        self.memory.reserve(HEAD + words)?;
        let area = self.memory.area();
        area[0].store(tag, Ordering::Relaxed);
        area[1].store(words as u64, Ordering::Relaxed);
        let mut put = Put(&area[HEAD..HEAD + words]);
        fill(&mut put);
        debug_assert!(put.0.is_empty(), "as many words as announced");
        Ok(())
    }

    /// Writes a message of bytes.
    pub(super) fn write_bytes(&mut self, tag: u64, bytes: &[u8]) -> io::Result<()> {
        self.write(tag, 1 + bytes.len().div_ceil(8), |put| {
            put.word(bytes.len() as u64);
            for chunk in bytes.chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                put.word(u64::from_le_bytes(word));
            }
        })
    }

    /// Tag and content of the message that lies there.
    #[inline]
    pub(super) fn read(&mut self) -> io::Result<(u64, Take<'_>)> {
        self.memory.follow()?;
        let area = self.memory.area();
        let words = area[1].load(Ordering::Relaxed) as usize;
        let content = area[HEAD..].get(..words).ok_or_else(damaged)?;
        Ok((area[0].load(Ordering::Relaxed), Take(content)))
    }

    /// The tag of the message that lies there.
    #[inline]
    pub(super) fn tag(&self) -> u64 {
        self.memory.area()[0].load(Ordering::Relaxed)
    }

    /// Parent: hands the message over; `may_spin` tells the worker how to wait for the next.
    #[inline]
    pub(super) fn ask(&mut self, may_spin: bool) {
        let control = self.memory.control();
        control.may_spin.store(may_spin.into(), Ordering::Relaxed);
        pass(&control.request);
    }

    /// Parent: waits for the reply; `idle` is asked before every sleep how long it may last, and may give up.
    #[inline]
    pub(super) fn reply<E>(
        &mut self,
        may_spin: bool,
        mut idle: impl FnMut(&Control) -> Result<Duration, E>,
    ) -> Result<(), E> {
        let control = self.memory.control();
        let (turn, idle) = (&control.reply, || idle(control));
        self.received = wait(turn, self.received, &mut self.spin, may_spin, idle)?;
        Ok(())
    }

    /// Worker: waits for a request.
    #[inline]
    pub(super) fn next(&mut self) {
        let control = self.memory.control();
        let may_spin = control.may_spin.load(Ordering::Relaxed) != 0;
        let idle = || Ok::<_, std::convert::Infallible>(Duration::from_secs(3600));
        let Ok(received) = wait(&control.request, self.received, &mut self.spin, may_spin, idle);
        self.received = received;
    }

    /// Worker: hands the reply over.
    #[inline]
    pub(super) fn answer(&mut self) {
        pass(&self.memory.control().reply);
    }
}

/// Words being written.
pub(super) struct Put<'a>(&'a [AtomicU64]);

impl Put<'_> {
    #[inline]
    pub(super) fn word(&mut self, word: u64) {
        if let Some((first, rest)) = self.0.split_first() {
            first.store(word, Ordering::Relaxed);
            self.0 = rest;
        }
    }

    #[inline]
    pub(super) fn reals(&mut self, values: &[f64]) {
        let (mine, rest) = self.0.split_at(values.len().min(self.0.len()));
        for (word, value) in mine.iter().zip(values) {
            word.store(value.to_bits(), Ordering::Relaxed);
        }
        self.0 = rest;
    }
}

/// Words being read.
pub(super) struct Take<'a>(&'a [AtomicU64]);

impl Take<'_> {
    #[inline]
    pub(super) fn word(&mut self) -> io::Result<u64> {
        let (first, rest) = self.0.split_first().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(first.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn real(&mut self) -> io::Result<f64> {
        self.word().map(f64::from_bits)
    }

    /// A number of things that are still to be read.
    #[inline]
    pub(super) fn count(&mut self) -> io::Result<usize> {
        let count = self.word()?;
        usize::try_from(count).ok().filter(|count| *count <= 8 * self.0.len()).ok_or_else(damaged)
    }

    #[inline]
    pub(super) fn reals(&mut self, values: &mut [f64]) -> io::Result<()> {
        let (mine, rest) = self.0.split_at_checked(values.len()).ok_or_else(damaged)?;
        for (value, word) in values.iter_mut().zip(mine) {
            *value = f64::from_bits(word.load(Ordering::Relaxed));
        }
        self.0 = rest;
        Ok(())
    }

    /// So many values into a buffer that is reused.
    #[inline]
    pub(super) fn list(&mut self, count: usize, values: &mut Vec<f64>) -> io::Result<()> {
        let (mine, rest) = self.0.split_at_checked(count).ok_or_else(damaged)?;
        values.clear();
        values.extend(mine.iter().map(|word| f64::from_bits(word.load(Ordering::Relaxed))));
        self.0 = rest;
        Ok(())
    }

    /// Bytes written by [`Channel::write_bytes`].
    pub(super) fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let count = self.count()?;
        let words = self.0.get(..count.div_ceil(8)).ok_or_else(damaged)?;
        let mut bytes: Vec<u8> =
            words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        bytes.truncate(count);
        Ok(bytes)
    }
}

#[inline]
fn pass(turn: &Turn) {
    turn.count.fetch_add(1, Ordering::SeqCst);
    if turn.is_asleep.load(Ordering::SeqCst) != 0 {
        let _ = futex::wake(&turn.count, futex::Flags::empty(), 1);
    }
}

/// Waits until the word differs from `last`, and returns it.
#[inline]
fn wait<E>(
    turn: &Turn,
    last: u32,
    spin: &mut Spin,
    may_spin: bool,
    idle: impl FnMut() -> Result<Duration, E>,
) -> Result<u32, E> {
    for _ in 0..if may_spin { FIRST_LOOKS } else { 1 } {
        let count = turn.count.load(Ordering::Acquire);
        if count != last {
            spin.learn_of_none();
            return Ok(count);
        }
        std::hint::spin_loop();
    }
    wait_longer(turn, last, spin, may_spin, idle)
}

#[cold]
fn wait_longer<E>(
    turn: &Turn,
    last: u32,
    spin: &mut Spin,
    may_spin: bool,
    mut idle: impl FnMut() -> Result<Duration, E>,
) -> Result<u32, E> {
    let begin = Instant::now();
    let patience = if may_spin { spin.patience() } else { Duration::ZERO };
    let count = loop {
        let count = turn.count.load(Ordering::Acquire);
        if count != last {
            break count;
        }
        let waited = if patience.is_zero() { patience } else { begin.elapsed() };
        if waited < patience {
            if waited > SHORTEST {
                // A longer wait is no reason to keep others from this processor.
                std::thread::yield_now();
            }
            for _ in 0..LOOKS {
                if turn.count.load(Ordering::Relaxed) != last {
                    break;
                }
                std::hint::spin_loop();
            }
        } else {
            match idle() {
                Ok(longest) => sleep(turn, last, longest),
                // The other side may have answered before it left.
                Err(error) => match turn.count.load(Ordering::Acquire) {
                    count if count == last => return Err(error),
                    count => break count,
                },
            }
        }
    };
    spin.learn(begin.elapsed());
    Ok(count)
}

/// Sleeps until the word changes, at most so long.
fn sleep(turn: &Turn, last: u32, longest: Duration) {
    turn.is_asleep.store(1, Ordering::SeqCst);
    if turn.count.load(Ordering::SeqCst) == last {
        let longest =
            futex::Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        let _ = futex::wait(&turn.count, futex::Flags::empty(), last, Some(&longest));
    }
    turn.is_asleep.store(0, Ordering::SeqCst);
}
