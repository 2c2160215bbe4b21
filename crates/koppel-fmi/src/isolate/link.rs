//! A worker process with its channel.

use super::channel::{Channel, Put, Take};
use super::memory::Memory;
use super::process::{Process, has_processors};
use super::protocol::{ANSWER, Answer, CALL, Call, FAILED, Place, RATES, Trouble};
use super::sandbox::door::Door;
use super::sandbox::entry::{self, Admitted, Limits, Refusal};
use super::{Ended, Ending, Isolation, ring};
use crate::error::{Error, Result};
use crate::ffi::{Calls, LogMessage, LogSink, Status, call_name};
use crate::fmu::Fmu;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why a request got no good answer.
pub(super) enum Failure {
    /// The worker is no more.
    Ended(Ending),
    /// It was so before.
    Gone,
    /// It works, and says what went wrong.
    Trouble(Trouble),
}

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Self {
        Failure::Ended(Ending::Damaged)
    }
}

/// The parent's end of a worker.
pub(super) struct Link {
    name: String,
    channel: Channel,
    /// `None` once it has ended.
    process: Option<Process>,
    step_timeout: Option<Duration>,
    memory: Option<u64>,
    log: Option<LogSink>,
    /// Time of the newest request, for messages.
    pub(super) time: f64,
    /// Hears of calls that the sandbox refuses.
    door: Option<Door>,
    /// Keeps the unpacked files while the worker uses them.
    _fmu: Arc<Fmu>,
}

impl Link {
    /// Starts a worker that knows where the FMU is.
    pub(super) fn new(
        fmu: &Arc<Fmu>,
        name: &str,
        log: Option<LogSink>,
        isolation: &Isolation,
    ) -> Result<Link> {
        let worker = isolation.worker()?;
        let failed = |source| Error::WorkerStart { program: worker.program.clone(), source };
        let Isolation { sandbox, step_timeout, is_quiet, .. } = isolation;
        let whole = |path: &std::path::Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
        let folder = whole(fmu.folder());
        let own = folder.parent().unwrap_or(&folder).to_owned();
        let limits = Limits::new(sandbox, own).map_err(|reason| Error::Sandbox { reason })?;
        let temporary = limits.as_ref().map(Limits::temporary);
        temporary.iter().try_for_each(make_temporary).map_err(failed)?;
        let shared = Memory::create().map_err(failed)?;
        let (way, other_end) = entry::way_in().map_err(failed)?;
        let process = Process::start(&worker, other_end, temporary.as_deref(), *is_quiet).map_err(failed)?;
        let file = shared.file().map_err(failed)?;
        let admitted =
            entry::admit(&way, &file, &process, limits.as_ref(), sandbox.confinement, *step_timeout);
        let memory = isolation.memory_limit.bytes();
        let mut link = Link {
            name: name.into(),
            channel: Channel::new(shared),
            process: Some(process),
            step_timeout: *step_timeout,
            memory,
            log,
            time: f64::NAN,
            door: None,
            _fmu: fmu.clone(),
        };
        match admitted {
            Ok(admitted) => link.settle(admitted),
            Err(Refusal::Ended(how)) => {
                link.process.iter().filter(|_| how == Ending::Damaged).for_each(Process::wait);
                return Err(link.explain(Failure::Ended(how), "while it was started"));
            }
            Err(Refusal::Incomplete(reason)) => return Err(Error::Sandbox { reason }.into()),
        }
        let place = Place { path: fmu.path().into(), folder, memory };
        link.call(&Call::Open(place)).map_err(|failure| link.explain(failure, "while it was started"))?;
        Ok(link)
    }

    /// The worker has its sandbox.
    fn settle(&mut self, admitted: Admitted) {
        static HAS_WARNED: AtomicBool = AtomicBool::new(false);
        self.door = admitted.door;
        if let (Some(missing), Some(sink)) = (admitted.missing, &self.log)
            && !HAS_WARNED.swap(true, Ordering::Relaxed)
        {
            let text = format!(
                "the sandbox of isolated FMUs is not complete: {missing}; sandbox = \"required\" would refuse to run"
            );
            sink(&LogMessage::of_koppel(&self.name, 0.0, Status::Warning, text));
        }
    }

    /// One request with its reply, both as words; nothing is allocated.
    #[inline]
    pub(super) fn exchange(
        &mut self,
        tag: u64,
        words: usize,
        fill: impl FnOnce(&mut Put<'_>),
    ) -> Result<Take<'_>, Failure> {
        if self.process.is_none() {
            return Err(Failure::Gone);
        }
        self.channel.write(tag, words, fill)?;
        self.take_turns(if tag == RATES { Limit::Call } else { Limit::Request })?;
        if self.channel.tag() == FAILED {
            let content = self.channel.read()?.1.bytes()?;
            return Err(self.trouble(&content)?);
        }
        Ok(self.channel.read()?.1)
    }

    /// True if the worker has ended.
    pub(super) fn is_gone(&self) -> bool {
        self.process.is_none()
    }

    /// One rare request.
    pub(super) fn call(&mut self, call: &Call) -> Result<Answer, Failure> {
        if self.process.is_none() {
            return Err(Failure::Gone);
        }
        let bytes = postcard::to_stdvec(call).map_err(io::Error::other)?;
        self.channel.write_bytes(CALL, &bytes)?;
        self.take_turns(if matches!(call, Call::Linearize(_) | Call::FeedThrough(_)) {
            Limit::Call
        } else {
            Limit::Request
        })?;
        let (tag, mut content) = self.channel.read()?;
        let content = content.bytes()?;
        match tag {
            ANSWER => Ok(decode(&content)?),
            FAILED => Err(self.trouble(&content)?),
            _ => Err(Failure::Ended(Ending::Damaged)),
        }
    }

    /// Hands the request over and waits for the reply.
    #[inline]
    fn take_turns(&mut self, limit: Limit) -> Result<(), Failure> {
        let may_spin = has_processors();
        self.channel.ask(may_spin);
        let (process, timeout) = (self.process.as_ref(), self.step_timeout);
        let mut watch = Watch { process, timeout, limit, since: None, calls: 0, slice: 0 };
        self.channel.reply(may_spin, |control| watch.look(&control.calls)).map_err(Failure::Ended)?;
        if ring::has_messages(self.channel.memory()) {
            self.hear();
        }
        if self.door.as_ref().is_some_and(Door::has_news) {
            self.hear_of_refusals();
        }
        Ok(())
    }

    /// Passes on what the FMU has said.
    #[cold]
    fn hear(&mut self) -> Vec<LogMessage> {
        let messages = ring::take(self.channel.memory(), &self.name, self.time);
        if let Some(sink) = &self.log {
            messages.iter().for_each(|message| sink(message));
        }
        messages
    }

    /// Says what the sandbox has refused.
    #[cold]
    fn hear_of_refusals(&mut self) {
        let news: Vec<String> = self.door.iter().flat_map(Door::news).collect();
        news.into_iter().for_each(|text| self.warn(text));
    }

    /// Says something of the FMU.
    #[cold]
    fn warn(&self, text: String) {
        let time = if self.time.is_nan() { 0.0 } else { self.time };
        let message = LogMessage::of_koppel(&self.name, time, Status::Warning, text);
        self.log.iter().for_each(|sink| sink(&message));
    }

    /// A request that failed, with what the sandbox has refused before.
    #[cold]
    fn trouble(&self, content: &[u8]) -> Result<Failure, Failure> {
        let mut trouble: Trouble = decode(content)?;
        let refused = self.door.as_ref().map(Door::all).unwrap_or_default();
        if let (Trouble::Words { hint, .. }, false) = (&mut trouble, refused.is_empty()) {
            let known = hint.take().into_iter();
            *hint = Some(refused.into_iter().chain(known).collect::<Vec<_>>().join("; "));
        }
        Ok(Failure::Trouble(trouble))
    }

    /// Ends a failed worker for good, and says what happened; `None` if the worker is well and only told of trouble.
    #[cold]
    pub(super) fn bury(&mut self, failure: &Failure, during: &str) -> Option<Ended> {
        let Failure::Ended(how) = failure else { return None };
        let process = self.process.take();
        let used = process.as_ref().map_or(0, Process::memory);
        let how = match (how, process) {
            (Ending::Damaged, Some(process)) => process.ended().unwrap_or(Ending::Damaged),
            (how, _) => *how,
        };
        let how = self.channel.memory().control().calls.explain(how);
        let may_be_memory = matches!(how, Ending::Signal(6 | 7 | 9 | 11) | Ending::Exit(_));
        // Looks are ever rarer: the last one may have seen a third of what it had in the end, or there was none.
        let is_near = |limit: &u64| if used == 0 { *limit < SMALL } else { used > limit / 4 };
        let call = call_name(self.channel.memory().control().calls.last.load(Ordering::Relaxed));
        Some(Ended {
            instance: self.name.clone(),
            how,
            call,
            during: during.to_owned(),
            inputs: Vec::new(),
            messages: self.hear(),
            refused: self.door.as_ref().map(Door::all).unwrap_or_default(),
            memory: self.memory.filter(|limit| may_be_memory && is_near(limit)),
        })
    }

    /// A failure as an error about an FMU.
    #[cold]
    pub(super) fn explain(&mut self, failure: Failure, during: &str) -> Box<Error> {
        match (self.bury(&failure, during), failure) {
            (Some(ended), _) => Box::new(Error::Ended(Box::new(ended))),
            (None, Failure::Trouble(trouble)) => trouble.into_error(),
            (None, _) => Box::new(Error::Gone { instance: self.name.clone() }),
        }
    }
}

impl Drop for Link {
    /// Lets the FMU leave in good order; what then is left is ended.
    fn drop(&mut self) {
        self.step_timeout = Some(self.step_timeout.map_or(FAREWELL, |timeout| timeout.min(FAREWELL)));
        match self.call(&Call::Quit) {
            Ok(_) => {
                let Some(process) = &self.process else { return };
                process.wait();
                let text = match process.ended() {
                    Some(Ending::Exit(_)) => return,
                    Some(how) => format!("`{}` {how} when its library was unloaded", self.name),
                    None => format!(
                        "`{}` kept its process from ending for {} s, and was ended",
                        self.name,
                        super::process::FAREWELL.as_secs()
                    ),
                };
                self.warn(text);
            }
            Err(failure) => {
                // The results are complete: it is worth a message, but no error.
                if let Some(ended) = self.bury(&failure, "while it was freed") {
                    self.warn(ended.to_string());
                }
            }
        }
    }
}

/// A folder for temporary files, which all workers with this FMU share.
fn make_temporary(folder: &std::path::PathBuf) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// A limit of memory that is soon reached, in bytes.
const SMALL: u64 = 64 << 20;

/// How long an FMU may take to free its instance.
const FAREWELL: Duration = Duration::from_secs(10);

fn decode<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(io::Error::other)
}

/// Longest sleep between two looks at the worker, in doublings of a millisecond.
const SLICES: u32 = 4;

/// What the time limit is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// The whole request.
    Request,
    /// Each FMI call: the request takes many trial steps, and each may last as long as a step of the run.
    Call,
}

/// Looks after the worker while its reply is awaited.
struct Watch<'a> {
    process: Option<&'a Process>,
    timeout: Option<Duration>,
    limit: Limit,
    since: Option<Instant>,
    /// Calls begun when the clock was started.
    calls: u64,
    slice: u32,
}

impl Watch<'_> {
    /// How long to sleep before the next look.
    #[cold]
    fn look(&mut self, calls: &Calls) -> Result<Duration, Ending> {
        if let Some(ending) = self.process.and_then(Process::ended) {
            return Err(ending);
        }
        self.process.into_iter().for_each(Process::look_at_memory);
        let slice = Duration::from_millis(1 << self.slice);
        self.slice = (self.slice + 1).min(SLICES);
        let Some(timeout) = self.timeout else { return Ok(slice) };
        let begun = calls.count.load(Ordering::Relaxed);
        if self.limit == Limit::Call && begun != self.calls {
            (self.calls, self.since) = (begun, None);
        }
        let rest = timeout.saturating_sub(self.since.get_or_insert_with(Instant::now).elapsed());
        if rest.is_zero() { Err(Ending::Hung(timeout.as_secs_f64())) } else { Ok(slice.min(rest)) }
    }
}

/// Does a job in a worker of its own.
pub(super) fn run_job(fmu: &Arc<Fmu>, name: &str, input: &[u8], isolation: &Isolation) -> Result<Vec<u8>> {
    let instance = fmu.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut link = Link::new(fmu, &instance, None, isolation)?;
    match link.call(&Call::Job(name.into(), input.into())) {
        Ok(Answer::Result(bytes)) => Ok(bytes),
        Ok(_) => Err(link.explain(Failure::Ended(Ending::Damaged), "")),
        Err(failure) => Err(link.explain(failure, "")),
    }
}
