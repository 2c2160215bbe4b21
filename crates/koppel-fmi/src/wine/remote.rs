//! One process under Wine with one instance of an FMU.

use super::library::Library;
use super::memory::{AREA, Control, Memory, TEXTS};
use super::setup::{Setup, windows_path};
use super::stubs;
use crate::ffi::{Log, Status};
use crate::isolate::{Ending, FIRST_LOOKS, LOOKS, Process, SHORTEST, Spin, has_processors};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_int, c_void};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What a call returns after which the process is no more.
pub(crate) const GONE: c_int = 0x6b6f_0007;

/// Requests of `windows/worker.c`.
pub(super) const CALLS: u64 = 1;
const RESUME: u64 = 2;
const LOAD: u64 = 3;
const FIND: u64 = 4;
const PEEK: u64 = 5;
const FOLLOW: u64 = 6;
const QUIT: u64 = 7;

/// Its replies.
const LOG: u64 = 1;
const UPDATE: u64 = 2;

/// Bytes of the head of a list of calls, and of a call.
pub(super) const HEAD: usize = 16;
pub(super) const CALL: usize = 128;
/// Most arguments of a call.
const ARGUMENTS: usize = 13;

/// How long a process may take to start.
const START: Duration = Duration::from_secs(60);
/// How long an FMU may take to free its instance.
const FAREWELL: Duration = Duration::from_secs(10);

/// The process is no more; [`Remote::last_words`] says why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gone;

/// An argument of a call.
#[derive(Clone, Copy)]
pub(super) enum Argument {
    Word(u64),
    /// So many bytes that the function reads, writes, or both.
    In(*const c_void, usize),
    Out(*mut c_void, usize),
    InOut(*mut c_void, usize),
    /// What the worker gives FMUs to call, by its place in [`Control::addresses`].
    Callback(usize),
}

/// The intermediate update of FMI 3.0 and its environment.
pub(super) type Update = unsafe extern "C" fn(*mut c_void, f64, bool, bool, bool, bool, *mut bool, *mut f64);

/// A process with an instance.
pub(crate) struct Remote {
    memory: Memory,
    log: Arc<Log>,
    /// Longest time for one call.
    limit: Cell<Option<Duration>>,
    /// `None` once it has ended.
    process: RefCell<Option<Process>>,
    to_worker: io::PipeWriter,
    from_worker: RefCell<io::PipeReader>,
    /// The library in the worker.
    module: Cell<u64>,
    /// The instance in the worker.
    pub(super) instance: Cell<u64>,
    /// Of the functions of `stubs.rs`; 0 for one that was not called yet.
    addresses: Box<[Cell<u64>]>,
    /// What lies below belongs to calls under way.
    top: Cell<usize>,
    seen: Cell<u32>,
    spin: RefCell<Spin>,
    ended: RefCell<Option<String>>,
    pub(super) update: Cell<Option<(Update, *mut c_void)>>,
    /// What the last function that gives texts or bytes has given.
    pub(super) texts: RefCell<Vec<CString>>,
    pub(super) binaries: RefCell<Vec<Vec<u8>>>,
}

impl Remote {
    /// Starts a process and loads the library.
    pub(crate) fn start(library: &Library, log: Arc<Log>, limit: Option<Duration>) -> Result<Remote, String> {
        let words = |trouble: super::Trouble| match trouble.hint() {
            Some(hint) => format!("{trouble}: {hint}"),
            None => trouble.to_string(),
        };
        let setup = Setup::find().map_err(words)?;
        setup.make_ready(|text| log.add(Status::Warning, "koppel".into(), text)).map_err(words)?;
        let worker = setup.worker().map_err(words)?;
        if let Some(lack) = setup.lacks(library) {
            return Err(lack);
        }
        let failed = |error: io::Error| format!("its process under Wine could not be started: {error}");
        let memory = Memory::create().map_err(failed)?;
        let (input, to_worker) = io::pipe().map_err(failed)?;
        let (from_worker, output) = io::pipe().map_err(failed)?;
        rustix::io::ioctl_fionbio(&from_worker, true).map_err(|error| failed(error.into()))?;
        let mut command = setup.command();
        command.arg(worker).arg(memory.windows_path()).stdin(Stdio::from(input)).stdout(Stdio::from(output));
        // Ctrl-C does not reach it before this process has finished its step.
        command.process_group(0);
        let process = Process::of(&mut command).map_err(failed)?;
        // The ends of the pipes that are the worker's.
        drop(command);
        let remote = Remote {
            memory,
            log,
            limit: Cell::new(Some(START)),
            process: RefCell::new(Some(process)),
            to_worker,
            from_worker: RefCell::new(from_worker),
            module: Cell::new(0),
            instance: Cell::new(0),
            addresses: (0..stubs::COUNT).map(|_| Cell::new(0)).collect(),
            top: Cell::new(AREA),
            seen: Cell::new(0),
            spin: RefCell::default(),
            ended: RefCell::default(),
            update: Cell::new(None),
            texts: RefCell::default(),
            binaries: RefCell::default(),
        };
        let why = |_| remote.last_words();
        remote.wait().map_err(why)?;
        remote.load(library).map_err(why)??;
        remote.limit.set(limit);
        Ok(remote)
    }

    /// Why the process has ended.
    pub(crate) fn last_words(&self) -> String {
        self.ended.borrow().clone().unwrap_or_default()
    }

    /// True once its process has ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.process.borrow().is_none()
    }

    /// Index of the call of the newest message that was running last.
    pub(super) fn running(&self) -> usize {
        self.memory.control().running.load(Ordering::Relaxed) as usize
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Where the worker has mapped the file.
    #[inline]
    pub(super) fn base(&self) -> u64 {
        self.memory.control().base.load(Ordering::Relaxed)
    }

    fn load(&self, library: &Library) -> Result<Result<(), String>, Gone> {
        let path = std::path::absolute(library.path()).unwrap_or_else(|_| library.path().into());
        let at = self.ask(&[LOAD, 0, 0, 0], windows_path(&path).as_bytes())?;
        let (module, code) = (self.memory.word(at + 8), self.memory.word(at + 16));
        self.module.set(module);
        Ok(if module == 0 {
            Err(format!("its library does not load: {}", windows_error(code)))
        } else {
            Ok(())
        })
    }

    /// A request of words and a text that ends with a zero; the offset of both with the answer.
    fn ask(&self, words: &[u64], text: &[u8]) -> Result<usize, Gone> {
        let at = self.top.get();
        let end = at + 8 * words.len() + text.len() + 1;
        self.reserve(end)?;
        // SAFETY: there is room, and this process has the turn.
        unsafe {
            self.memory.put(at, words);
            let to = self.memory.at(at + 8 * words.len());
            std::ptr::copy_nonoverlapping(text.as_ptr(), to, text.len());
            to.add(text.len()).write(0);
        }
        self.exchange(at, end)?;
        Ok(at)
    }

    /// Copies memory of the worker, as much as a text there has if it is one.
    pub(super) fn peek(&self, address: u64, size: Option<usize>) -> Result<Vec<u8>, Gone> {
        let mut room = size.unwrap_or(256);
        loop {
            let at = self.top.get();
            self.reserve(at + 32 + room)?;
            // SAFETY: there is room, and this process has the turn.
            unsafe { self.memory.put(at, &[PEEK, address, room as u64, size.is_none().into()]) };
            self.exchange(at, at + 32 + room)?;
            let length = if size.is_some() { room } else { self.memory.word(at + 8) as usize };
            if length <= room {
                return Ok(self.memory.bytes(at + 32, length));
            }
            room = length;
        }
    }

    /// Makes the file hold so many bytes, on both sides.
    #[inline]
    pub(super) fn reserve(&self, end: usize) -> Result<(), Gone> {
        if self.memory.holds(end) { Ok(()) } else { self.grow(end) }
    }

    #[cold]
    fn grow(&self, end: usize) -> Result<(), Gone> {
        self.memory.grow(end).map_err(|error| self.bury(format!("its memory could not grow: {error}")))?;
        let at = self.top.get();
        // SAFETY: the end of the file is kept free for this.
        unsafe { self.memory.put(at, &[FOLLOW]) };
        self.exchange(at, at + 8)
    }

    /// Keeps room at the bottom for good; its offset.
    pub(super) fn keep(&self, bytes: usize) -> Result<usize, Gone> {
        let at = self.top.get();
        let end = (at + bytes).next_multiple_of(64);
        self.reserve(end)?;
        self.top.set(end);
        Ok(at)
    }

    /// The address of a function; it is exported.
    pub(super) fn address(&self, function: usize) -> Result<u64, Gone> {
        let known = self.addresses[function].get();
        if known != 0 {
            return Ok(known);
        }
        let at = self.ask(&[FIND, self.module.get(), 0, 0], stubs::NAMES[function].as_bytes())?;
        let address = self.memory.word(at + 16);
        if address == 0 {
            return Err(self.bury(format!("its library has no `{}`", stubs::NAMES[function])));
        }
        self.addresses[function].set(address);
        Ok(address)
    }

    /// Calls a function.
    ///
    /// # Safety
    ///
    /// The arguments are those of the function; those that point to memory are valid for their lengths.
    pub(super) unsafe fn call(&self, function: usize, arguments: &[Argument]) -> Result<u64, Gone> {
        let address = self.address(function)?;
        let start = self.top.get();
        let (mut offsets, mut end) = ([0; ARGUMENTS], start + HEAD + CALL);
        for (offset, argument) in offsets.iter_mut().zip(arguments) {
            let (Argument::In(_, size) | Argument::Out(_, size) | Argument::InOut(_, size)) = argument else {
                continue;
            };
            *offset = end;
            // One more byte: an empty list has a place, too.
            end = (end + size + 1).next_multiple_of(8);
        }
        self.reserve(end)?;
        let (memory, base) = (&self.memory, self.base());
        let mut words = [0; (HEAD + CALL) / 8];
        words[..3].copy_from_slice(&[CALLS, 1, address]);
        for ((word, argument), offset) in words[5..].iter_mut().zip(arguments).zip(offsets) {
            *word = match *argument {
                Argument::Word(word) => word,
                Argument::Callback(place) => memory.control().addresses[place].load(Ordering::Relaxed),
                Argument::In(from, _) if from.is_null() => 0,
                Argument::Out(to, _) | Argument::InOut(to, _) if to.is_null() => 0,
                Argument::In(..) | Argument::Out(..) | Argument::InOut(..) => base + offset as u64,
            };
        }
        // SAFETY: the file holds it all, this process has the turn, and the caller promises the arguments.
        unsafe {
            memory.put(start, &words);
            for (argument, offset) in arguments.iter().zip(offsets) {
                let (from, size) = match *argument {
                    Argument::In(from, size) => (from, size),
                    Argument::InOut(from, size) => (from.cast_const(), size),
                    _ => continue,
                };
                if !from.is_null() {
                    std::ptr::copy_nonoverlapping(from.cast::<u8>(), memory.at(offset), size);
                }
            }
        }
        self.exchange(start, end)?;
        // SAFETY: as above.
        unsafe {
            for (argument, offset) in arguments.iter().zip(offsets) {
                if let Argument::Out(to, size) | Argument::InOut(to, size) = *argument
                    && !to.is_null()
                {
                    std::ptr::copy_nonoverlapping(memory.at(offset), to.cast::<u8>(), size);
                }
            }
        }
        Ok(memory.word(start + HEAD + 16))
    }

    /// Puts blocks where the worker reads them while `use_them` runs with their addresses there.
    pub(super) fn with_blocks(&self, blocks: &[&[u8]], use_them: impl FnOnce(&[u64]) -> c_int) -> c_int {
        let before = self.top.get();
        let size: usize = blocks.iter().map(|block| block.len().next_multiple_of(8)).sum();
        let Ok(mut at) = self.keep(size) else { return GONE };
        let mut addresses = Vec::with_capacity(blocks.len());
        // What follows may let the file grow, and the worker keeps what it has mapped before: the addresses stay good.
        for block in blocks {
            // SAFETY: `keep` has made room, and this process has the turn.
            unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), self.memory.at(at), block.len()) };
            addresses.push(self.base() + at as u64);
            at += block.len().next_multiple_of(8);
        }
        let done = use_them(&addresses);
        self.top.set(before);
        done
    }

    /// Puts why the process has ended into the log of the instance.
    pub(super) fn complain(&self) {
        self.log.add(Status::Fatal, "koppel".into(), format!("under Wine, {}", self.last_words()));
    }

    /// Hands over the message at `at` and waits for the reply; callbacks are answered meanwhile. What lies below `end` is kept
    /// until then.
    #[inline]
    pub(super) fn exchange(&self, at: usize, end: usize) -> Result<(), Gone> {
        let before = self.top.replace(end.next_multiple_of(64));
        self.pass(at);
        let mut done = self.wait();
        while done.is_ok() && self.memory.control().answer.load(Ordering::Relaxed) != 0 {
            done = self.answer();
        }
        self.top.set(before);
        done
    }

    /// The same for a message in room that is kept anyway.
    #[inline]
    pub(super) fn exchange_kept(&self, at: usize) -> Result<(), Gone> {
        self.exchange(at, self.top.get())
    }

    /// Answers a callback.
    #[cold]
    fn answer(&self) -> Result<(), Gone> {
        let word = |k: usize| self.memory.word(TEXTS + 8 * k);
        match self.memory.control().answer.load(Ordering::Relaxed) {
            LOG => {
                let (first, second) = (word(1) as usize, word(2) as usize);
                let text = |at, length: usize| {
                    let bytes = self.memory.bytes(at, length.min(AREA - TEXTS));
                    String::from_utf8_lossy(&bytes).into_owned()
                };
                let category = text(TEXTS + 24, first);
                let message = text(TEXTS + 24 + first.min(AREA), second);
                self.log.add((word(0) as c_int).into(), category, message);
            }
            UPDATE => {
                let (time, flags) = (f64::from_bits(word(0)), [1, 2, 3].map(|k| word(k) != 0));
                if let Some((update, environment)) = self.update.get() {
                    let (mut returns, mut when) = (false, 0.0);
                    // SAFETY: the callback and the environment that this instance was made with; the step that is running waits
                    // for it further up this thread's stack.
                    unsafe {
                        update(
                            environment,
                            time,
                            flags[0],
                            flags[1],
                            flags[2],
                            false,
                            &raw mut returns,
                            &raw mut when,
                        );
                    }
                }
            }
            _ => return Err(self.bury("it sent a message that makes no sense".into())),
        }
        let at = self.top.get();
        self.reserve(at + 8)?;
        // SAFETY: there is room, and this process has the turn.
        unsafe { self.memory.put(at, &[RESUME]) };
        self.pass(at);
        self.wait()
    }

    /// Gives the worker the turn.
    #[inline]
    fn pass(&self, at: usize) {
        let control = self.memory.control();
        let patience = if has_processors() { SHORTEST.as_micros() as u64 } else { 0 };
        control.at.store(at as u64, Ordering::Relaxed);
        control.patience.store(patience, Ordering::Relaxed);
        control.request.fetch_add(1, Ordering::SeqCst);
        if control.worker_sleeps.load(Ordering::SeqCst) != 0 {
            // If this fails the worker has ended, as will be seen.
            let _ = (&self.to_worker).write(&[0]);
        }
    }

    /// Waits for the turn.
    #[inline]
    fn wait(&self) -> Result<(), Gone> {
        if self.is_gone() {
            return Err(Gone);
        }
        let control = self.memory.control();
        for _ in 0..if has_processors() { FIRST_LOOKS } else { 1 } {
            if self.has_replied(control) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.wait_longer()
    }

    #[inline]
    fn has_replied(&self, control: &Control) -> bool {
        let count = control.reply.load(Ordering::Acquire);
        count != self.seen.replace(count)
    }

    #[cold]
    fn wait_longer(&self) -> Result<(), Gone> {
        let control = self.memory.control();
        let begin = Instant::now();
        let patience = if has_processors() { self.spin.borrow().patience() } else { Duration::ZERO };
        let mut slice = Duration::from_millis(1);
        while !self.has_replied(control) {
            let waited = begin.elapsed();
            if waited < patience {
                (0..LOOKS).for_each(|_| std::hint::spin_loop());
                continue;
            }
            if let Some(limit) = self.limit.get().filter(|limit| waited > *limit) {
                return Err(self.bury(format!("it did not return within {} s", limit.as_secs_f64())));
            }
            control.parent_sleeps.store(1, Ordering::SeqCst);
            if control.reply.load(Ordering::SeqCst) == self.seen.get() {
                self.sleep(slice);
            }
            control.parent_sleeps.store(0, Ordering::SeqCst);
            slice = (2 * slice).min(Duration::from_millis(20));
            let ending = self.process.borrow().as_ref().and_then(Process::ended);
            // It may have answered before it ended.
            if let Some(ending) = ending
                && !self.has_replied(control)
            {
                return Err(self.bury(self.explain(ending)));
            } else if ending.is_some() {
                break;
            }
        }
        self.spin.borrow_mut().learn(begin.elapsed());
        Ok(())
    }

    /// Sleeps until the worker wakes this process, at most so long.
    fn sleep(&self, longest: Duration) {
        let mut pipe = self.from_worker.borrow_mut();
        let time = Timespec { tv_sec: 0, tv_nsec: longest.as_nanos() as i64 };
        let is_ended = poll(&mut [PollFd::new(&*pipe, PollFlags::IN)], Some(&time))
            .is_ok_and(|count| count > 0)
            && pipe.read(&mut [0; 64]).is_ok_and(|count| count == 0);
        if is_ended {
            // The pipe's other end is closed: the process is about to end.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// How it ended, in words.
    fn explain(&self, ending: Ending) -> String {
        let control = self.memory.control();
        match (control.exception.load(Ordering::Relaxed), ending) {
            (0, Ending::Exit(code)) => format!("it ended its process with exit code {code}"),
            (0, how) => format!("it {how}"),
            (code, _) => {
                let place = control.place.load(Ordering::Relaxed);
                format!("it crashed: {} at address {place:#x}", exception(code))
            }
        }
    }

    /// Ends the process for good.
    #[cold]
    fn bury(&self, why: String) -> Gone {
        *self.process.borrow_mut() = None;
        self.ended.borrow_mut().get_or_insert(why);
        Gone
    }
}

impl Drop for Remote {
    /// Lets the library leave in good order; what then is left is ended.
    fn drop(&mut self) {
        self.limit.set(Some(self.limit.get().map_or(FAREWELL, |limit| limit.min(FAREWELL))));
        if self.is_gone() {
            return;
        }
        let at = self.top.get();
        // SAFETY: room for this is always left, and this process has the turn.
        unsafe { self.memory.put(at, &[QUIT]) };
        self.pass(at);
        self.process.borrow().iter().for_each(Process::wait);
    }
}

/// Errors of loading that have a plain cause.
fn windows_error(code: u64) -> String {
    let meaning = match code {
        2 | 3 => "the file was not found",
        126 => "a library that it needs was not found",
        127 => "a library that it needs lacks a function",
        193 => "it is no library for 64-bit Windows",
        1114 => "its start function failed",
        _ => "Windows error",
    };
    format!("{meaning} ({code})")
}

/// Exceptions of Windows that programs have.
fn exception(code: u64) -> String {
    let meaning = match code {
        0xc000_0005 => "access violation",
        0xc000_001d => "invalid instruction",
        0xc000_0094 => "integer division by zero",
        0xc000_008e => "floating-point division by zero",
        0xc000_00fd => "stack overflow",
        0xc000_0409 => "it gave up (stack check, abort)",
        0xe06d_7363 => "C++ exception that nobody caught",
        _ => "exception",
    };
    format!("{meaning} ({code:#010x})")
}
