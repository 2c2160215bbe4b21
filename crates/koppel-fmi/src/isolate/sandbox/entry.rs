//! How a worker gets its memory and its sandbox.
//!
//! ```text
//! parent                              socket                 worker
//! order, with the shared memory  ---------------------->  restricts itself
//! opens what it needs of the worker  <------------------  report, with the file of the filter
//! go                             ---------------------->  shuts its memory off from others, loads the FMU
//! ```
//!
//! Landlock restricts one thread and what it starts. A worker that has others by now, such as an interpreter with threads of
//! its own, restricts one and starts its program again in it: then all of it is restricted.

use super::super::process::Process;
use super::super::{Ending, LOOK};
use super::calls::{self, Circumstances};
use super::door::{Door, Knowledge};
use super::files::{self, Folders};
use super::{Confinement, LARGEST_FILE, Sandbox};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// What a worker is told.
#[derive(Serialize, Deserialize)]
struct Order {
    /// Its sandbox, if it gets one.
    limits: Option<Limits>,
    /// It has restricted itself, and was started again.
    is_again: bool,
}

/// The limits of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in super::super) struct Limits {
    /// The folder its FMU was unpacked to.
    own: PathBuf,
    write: Vec<PathBuf>,
    read: Option<Vec<PathBuf>>,
    has_network: bool,
    parent: u32,
}

/// What a worker answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Report {
    /// It starts its program again.
    is_again: bool,
    /// The version of Landlock that restricts it.
    landlock: Option<u32>,
    has_filter: bool,
    /// Why something is missing.
    problem: Option<String>,
}

impl Limits {
    /// Those of a sandbox.
    ///
    /// # Errors
    ///
    /// If it names what is not there.
    pub(in super::super) fn new(sandbox: &Sandbox, own: PathBuf) -> Result<Option<Limits>, String> {
        if sandbox.confinement == Confinement::Off {
            return Ok(None);
        }
        let real = |key: &str, paths: &[PathBuf]| {
            let one = |path: &PathBuf| {
                let found = std::fs::canonicalize(path);
                found.map_err(|error| format!("`{key}` names `{}`: {error}", path.display()))
            };
            paths.iter().map(one).collect::<Result<Vec<_>, _>>()
        };
        let is_strict = sandbox.confinement == Confinement::Strict;
        let read = real("read", &sandbox.read)?;
        Ok(Some(Limits {
            own,
            write: real("write", &sandbox.write)?,
            read: is_strict.then_some(read),
            has_network: sandbox.network,
            parent: std::process::id(),
        }))
    }

    /// Its folder for temporary files.
    pub(in super::super) fn temporary(&self) -> PathBuf {
        let [_, temporary] = files::inside(&self.own);
        temporary
    }

    fn folders(&self) -> Folders<'_> {
        Folders {
            own: &self.own,
            write: &self.write,
            read: self.read.as_deref(),
            has_network: self.has_network,
        }
    }

    fn circumstances(&self, landlock: Option<u32>, own: u32) -> Circumstances {
        let landlock = landlock.unwrap_or(0);
        Circumstances { has_network: self.has_network, landlock, parent: self.parent, own }
    }

    /// What the door of a worker knows.
    fn knowledge(&self, landlock: Option<u32>, worker: u32) -> Knowledge {
        let rules = calls::rules(&self.circumstances(landlock, worker));
        let devices = files::DEVICES.map(PathBuf::from);
        let own = files::inside(&self.own).into_iter();
        // As in the rules, without links.
        let own = own.map(|path| std::fs::canonicalize(&path).unwrap_or(path));
        let write = self.write.iter().cloned().chain(devices).chain(own).collect();
        let memory = std::fs::File::open(format!("/proc/{worker}/mem")).ok();
        Knowledge { rules, write, worker, memory }
    }
}

/// The two ends of the way in.
pub(in super::super) fn way_in() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// A worker that was let in.
pub(in super::super) struct Admitted {
    /// Hears of refused calls, where the kernel can tell.
    pub(in super::super) door: Option<Door>,
    /// What of the sandbox this machine does not have.
    pub(in super::super) missing: Option<String>,
}

/// Why a worker was not let in.
pub(in super::super) enum Refusal {
    /// It has ended, or does not answer.
    Ended(Ending),
    /// Its sandbox has to be whole, and is not.
    Incomplete(String),
}

impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Self {
        Refusal::Ended(Ending::Damaged)
    }
}

/// Parent: gives a worker its memory and its limits.
pub(in super::super) fn admit(
    way: &OwnedFd,
    memory: &OwnedFd,
    process: &Process,
    limits: Option<&Limits>,
    confinement: Confinement,
    timeout: Option<Duration>,
) -> Result<Admitted, Refusal> {
    let begin = Instant::now();
    let (mut is_again, mut landlock) = (false, None);
    let (report, listener) = loop {
        send(way, &Order { limits: limits.cloned(), is_again }, Some(memory))?;
        wait_for_answer(way, process, begin, timeout)?;
        let (report, listener) = receive::<Report>(way)?;
        landlock = report.landlock.or(landlock);
        if !report.is_again {
            break (report, listener);
        }
        is_again = true;
    };
    let missing = limits.and_then(|_| missing(&report, landlock));
    if let (Some(missing), Confinement::Required | Confinement::Strict) = (&missing, confinement) {
        return Err(Refusal::Incomplete(missing.clone()));
    }
    let door = listener
        .zip(limits)
        .map(|(listener, limits)| Door::new(listener, limits.knowledge(landlock, process.number())));
    let door = door.transpose()?;
    send(way, &(), None)?;
    Ok(Admitted { door, missing })
}

/// What a sandbox lacks, in words.
fn missing(report: &Report, landlock: Option<u32>) -> Option<String> {
    let what = match (landlock, report.has_filter) {
        (Some(_), true) => return None,
        (None, true) => "this kernel does not limit files (Landlock)",
        (Some(_), false) => "this machine does not limit system calls (seccomp)",
        (None, false) => "this machine limits neither files (Landlock) nor system calls (seccomp)",
    };
    let why = report.problem.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default();
    Some(format!("{what}{why}"))
}

fn wait_for_answer(
    way: &OwnedFd,
    process: &Process,
    begin: Instant,
    timeout: Option<Duration>,
) -> Result<(), Refusal> {
    loop {
        let mut files = [PollFd::new(way, PollFlags::IN)];
        let slice = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        if poll(&mut files, Some(&slice)).is_ok_and(|count| count > 0) {
            return Ok(());
        }
        if let Some(ending) = process.ended() {
            return Err(Refusal::Ended(ending));
        }
        if let Some(timeout) = timeout.filter(|timeout| begin.elapsed() > *timeout) {
            return Err(Refusal::Ended(Ending::Hung(timeout.as_secs_f64())));
        }
    }
}

/// Worker: takes its memory, and restricts itself.
pub(in super::super) fn enter() -> io::Result<OwnedFd> {
    close_others();
    let way = io::stdin().as_fd().try_clone_to_owned()?;
    let (order, memory) = receive::<Order>(&way)?;
    let memory = memory.ok_or_else(damaged)?;
    // When the machine runs out of memory, it is not the parent that has to go.
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    let Some(limits) = order.limits else {
        send(&way, &Report::default(), None)?;
        return go(&way).map(|()| memory);
    };
    rustix::thread::set_no_new_privs(true)?;
    drop_capabilities();
    let mut report = Report::default();
    let landlock = files::version();
    if !order.is_again {
        match landlock.map(|version| files::restrict(version, &limits.folders())) {
            Some(Ok(())) => report.landlock = landlock,
            Some(Err(error)) => report.problem = Some(error.to_string()),
            None => {}
        }
        if report.landlock.is_some() && threads() > 1 {
            report.is_again = true;
            send(&way, &report, None)?;
            return Err(again());
        }
    }
    let _ = setrlimit(Resource::Fsize, Rlimit { current: Some(LARGEST_FILE), maximum: Some(LARGEST_FILE) });
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let seen = landlock.filter(|_| order.is_again || report.landlock.is_some());
    let rules = calls::rules(&limits.circumstances(seen, std::process::id()));
    let installed = if calls::IS_KNOWN {
        calls::install(&rules)
    } else {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this kind of processor is not known"))
    };
    report.has_filter = installed.is_ok();
    let listener = installed.unwrap_or_else(|error| {
        report.problem.get_or_insert(error.to_string());
        None
    });
    send(&way, &report, listener.as_ref())?;
    drop(listener);
    go(&way)?;
    // From now on its parent alone has what it needs of it.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    Ok(memory)
}

/// Gives up what root may do beyond other users, but for reading and writing their files: Landlock looks after those.
fn drop_capabilities() {
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
    let files = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH | CapabilitySet::FOWNER;
    if let Ok(now) = capabilities(None) {
        let (effective, permitted) = (now.effective & files, now.permitted & files);
        // Fewer than it has is always allowed.
        let _ = set_capabilities(
            None,
            CapabilitySets { effective, permitted, inheritable: CapabilitySet::empty() },
        );
    }
}

/// Files that are none of its business.
fn close_others() {
    #![expect(unsafe_code, reason = "closes files")]
    // SAFETY: a worker has just been started, and has opened nothing itself that it still needs.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

/// Starts this program again, with the same arguments.
fn again() -> io::Error {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let line = match std::fs::read("/proc/self/cmdline") {
        Ok(line) => line,
        Err(error) => return error,
    };
    let mut arguments = line.split(|byte| *byte == 0).map(OsStr::from_bytes).collect::<Vec<_>>();
    arguments.pop();
    let mut command = Command::new("/proc/self/exe");
    if let Some((own, rest)) = arguments.split_first() {
        command.arg0(own).args(rest);
    }
    command.exec()
}

fn go(way: &OwnedFd) -> io::Result<()> {
    receive::<()>(way).map(|_| ())
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not started by koppel")
}

fn send(way: &OwnedFd, content: &impl Serialize, file: Option<&OwnedFd>) -> io::Result<()> {
    let mut bytes = postcard::to_stdvec(content).map_err(io::Error::other)?;
    // No message is empty: that is the end.
    bytes.push(0);
    let files = file.map(AsFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut more = SendAncillaryBuffer::new(&mut space);
    if let Some(file) = &files {
        more.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(file)));
    }
    sendmsg(way, &[IoSlice::new(&bytes)], &mut more, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Longest message.
const LONGEST: usize = 64 << 10;

fn receive<T: DeserializeOwned>(way: &OwnedFd) -> io::Result<(T, Option<OwnedFd>)> {
    let mut bytes = vec![0; LONGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut more = RecvAncillaryBuffer::new(&mut space);
    let length = recvmsg(way, &mut [IoSliceMut::new(&mut bytes)], &mut more, RecvFlags::CMSG_CLOEXEC)?.bytes;
    let file = more.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let content = bytes[..length].strip_suffix(&[0]).ok_or_else(damaged)?;
    Ok((postcard::from_bytes(content).map_err(io::Error::other)?, file))
}
