//! The parent's end of refused calls.
//!
//! The kernel stops a thread of the worker at such a call and asks here what is to become of it. The answer depends on numbers
//! only; names of files are read from the memory of the worker for messages, never for a decision: Landlock decides about
//! files.

#![expect(unsafe_code, reason = "answers the kernel")]

use super::calls::{self, Fate, Rule};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Access, access};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Most refusals that are told of.
const SHOWN: usize = 6;

/// What a worker may do, as its door knows it.
pub(super) struct Knowledge {
    pub(super) rules: Vec<Rule>,
    /// What it may write to, without links.
    pub(super) write: Vec<PathBuf>,
    pub(super) worker: u32,
    /// Its memory, opened while it could be.
    pub(super) memory: Option<File>,
}

/// Who hears of calls that are refused.
pub(in super::super) struct Door {
    heard: Arc<Heard>,
    /// Its end ends the thread.
    _end: PipeWriter,
}

#[derive(Default)]
struct Heard {
    has_news: AtomicBool,
    all: Mutex<Texts>,
}

#[derive(Default)]
struct Texts {
    known: Vec<String>,
    told: usize,
}

impl Door {
    /// Answers for as long as it lives.
    pub(super) fn new(listener: OwnedFd, knowledge: Knowledge) -> io::Result<Door> {
        let (reader, end) = io::pipe()?;
        let heard = Arc::<Heard>::default();
        let own = heard.clone();
        std::thread::Builder::new()
            .name("door".into())
            .stack_size(256 << 10)
            .spawn(move || keep(&listener, &reader, &knowledge, &own))?;
        Ok(Door { heard, _end: end })
    }

    /// True if something was refused that was not told yet.
    #[inline]
    pub(in super::super) fn has_news(&self) -> bool {
        self.heard.has_news.load(Ordering::Relaxed)
    }

    /// What was not told yet.
    #[cold]
    pub(in super::super) fn news(&self) -> Vec<String> {
        let mut texts = self.heard.lock();
        self.heard.has_news.store(false, Ordering::Relaxed);
        let known = texts.known.len();
        let told = std::mem::replace(&mut texts.told, known);
        texts.known[told..].iter().filter(|text| !is_usual(text)).cloned().collect()
    }

    /// All that was refused so far.
    #[cold]
    pub(in super::super) fn all(&self) -> Vec<String> {
        self.heard.lock().known.clone()
    }
}

impl Heard {
    fn lock(&self) -> std::sync::MutexGuard<'_, Texts> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, text: String) {
        let mut texts = self.lock();
        if texts.known.len() < SHOWN && !texts.known.contains(&text) {
            self.has_news.fetch_or(!is_usual(&text), Ordering::Relaxed);
            texts.known.push(text);
        }
    }
}

fn keep(listener: &OwnedFd, end: &PipeReader, knowledge: &Knowledge, heard: &Heard) {
    loop {
        let mut files = [PollFd::new(listener, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
        let _ = poll(&mut files, None);
        let [asked, ended] = files.map(|file| file.revents());
        if !ended.is_empty() || asked.intersects(PollFlags::HUP | PollFlags::ERR) {
            return;
        }
        if asked.contains(PollFlags::IN)
            && let Some(call) = receive(listener)
        {
            let rule = calls::fate(&knowledge.rules, call.data.nr.into(), call.data.args);
            // The text comes first: once it is answered, the worker may have ended the run.
            if let Some(text) = rule.and_then(|rule| text(&rule, &call, knowledge)) {
                heard.add(text);
            }
            answer(listener, call.id, rule.is_some_and(|rule| rule.fate == Fate::Noted));
        }
    }
}

fn receive(listener: &OwnedFd) -> Option<libc::seccomp_notif> {
    // SAFETY: all zero is a valid value, which the kernel wants to see; it writes no more than that.
    unsafe {
        let mut call: libc::seccomp_notif = std::mem::zeroed();
        (libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) == 0)
            .then_some(call)
    }
}

/// An answer that nobody waits for any more is no error.
fn answer(listener: &OwnedFd, id: u64, goes_on: bool) {
    let (error, flags) =
        if goes_on { (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32) } else { (-libc::EPERM, 0) };
    let mut answer = libc::seccomp_notif_resp { id, val: 0, error, flags };
    // SAFETY: the kernel reads the value.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
}

/// What to tell of a call; nothing of those that go well.
fn text(rule: &Rule, call: &libc::seccomp_notif, knowledge: &Knowledge) -> Option<String> {
    if rule.fate == Fate::Noted {
        let path = path(rule, call, knowledge)?;
        let folder = path.parent().unwrap_or(&path).display();
        let path = path.display();
        return Some(format!("the sandbox does not let it write `{path}`: write = [\"{folder}\"] allows it"));
    }
    let [family, kind] = [0, 1].map(|argument| call.data.args[argument] as i32);
    Some(match (rule.name, family, kind & 0xf) {
        ("socket", libc::AF_UNIX, _) => UNIX_SOCKETS.into(),
        ("socket", libc::AF_INET | libc::AF_INET6, libc::SOCK_DGRAM) => DATAGRAMS.into(),
        ("socket", ..) => "the sandbox keeps it from the network: network = true allows it".into(),
        (name, ..) => format!("the sandbox refuses the system call {name}: sandbox = false lifts all limits"),
    })
}

/// What many libraries try and do without, such as `libuuid` of Python, which asks a datagram socket for the addresses of this machine: told only of FMUs that
/// fail.
fn is_usual(text: &str) -> bool {
    [UNIX_SOCKETS, DATAGRAMS].contains(&text)
}

const DATAGRAMS: &str = "the sandbox keeps it from datagrams of the network: network = true allows them";
const UNIX_SOCKETS: &str = "the sandbox keeps it from Unix sockets, which lead to programs outside of it: sandbox = false lifts all limits";

/// The file of a call that Landlock refuses.
fn path(rule: &Rule, call: &libc::seccomp_notif, knowledge: &Knowledge) -> Option<PathBuf> {
    // Other processes of the FMU have a memory of their own.
    if !Path::new(&format!("/proc/{}/task/{}", knowledge.worker, call.pid)).exists() {
        return None;
    }
    let is_relative_to_a_folder = rule.name.ends_with("at");
    let address = call.data.args[usize::from(is_relative_to_a_folder)];
    let given = PathBuf::from(name(knowledge.memory.as_ref()?, address)?);
    let is_in_folder = is_relative_to_a_folder && call.data.args[0] as i32 != libc::AT_FDCWD;
    if is_in_folder && given.is_relative() || given.starts_with("/proc") || given.starts_with("/dev/fd") {
        return None;
    }
    let absolute = std::path::absolute(given).ok()?;
    // A file that is new stands in a folder that is not.
    let real = std::fs::canonicalize(&absolute).or_else(|_| {
        let folder = std::fs::canonicalize(absolute.parent().unwrap_or(&absolute))?;
        Ok::<_, io::Error>(folder.join(absolute.file_name().unwrap_or_default()))
    });
    let real = real.ok()?;
    let is_allowed = knowledge.write.iter().any(|folder| real.starts_with(folder));
    // A pipe or a socket, such as /dev/stdout; and a folder that is there already.
    let is_other = std::fs::metadata(&real).is_ok_and(|meta| {
        let is_file = meta.is_file() || meta.is_dir() && !rule.name.starts_with("mkdir");
        !is_file && !real.starts_with("/dev")
    });
    let place = if real.exists() { &real } else { real.parent()? };
    (!is_allowed && !is_other && access(place, Access::WRITE_OK).is_ok()).then_some(real)
}

/// A text in the memory of the worker.
fn name(memory: &File, address: u64) -> Option<String> {
    let mut bytes = vec![0; 4096];
    let length = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..length].iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    (end > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
}
