//! The worker process: started, watched, and ended with all its children.

use super::{Ending, Worker, limits};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Workers of this process that are alive.
static WORKERS: AtomicUsize = AtomicUsize::new(0);

/// How long a worker may take to leave once it is told to.
pub(crate) const FAREWELL: Duration = Duration::from_secs(2);

/// True if every worker, and this process, can have a processor of its own.
pub(crate) fn has_processors() -> bool {
    static PROCESSORS: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    let processors = *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
    WORKERS.load(Ordering::Relaxed) < processors
}

/// A process that is watched.
pub(crate) struct Process {
    child: Child,
    pid: Option<Pid>,
    /// Bytes of memory it had when it was last looked at.
    memory: Cell<u64>,
}

impl Process {
    /// Starts a worker. `way` becomes its standard input; what it prints goes to standard error, as results may be on
    /// standard output. It finds its folder for temporary files in the environment. It leads a process group of its own: Ctrl-C does not reach it before this process has
    /// finished its step, and its children can be ended with it.
    pub(super) fn start(
        worker: &Worker,
        way: OwnedFd,
        temporary: Option<&Path>,
        is_quiet: bool,
    ) -> io::Result<Process> {
        let mut command = Command::new(&worker.program);
        command.args(&worker.arguments).arg(std::process::id().to_string()).process_group(0);
        if let (true, Some(own)) = (worker.is_this_program(), std::env::args_os().next()) {
            command.arg0(own);
        }
        command.stdin(Stdio::from(way));
        if let Some(folder) = temporary {
            ["TMPDIR", "TMP", "TEMP"].into_iter().for_each(|name| _ = command.env(name, folder));
            // Python would otherwise try to write beside its own files.
            command.env("PYTHONDONTWRITEBYTECODE", "1");
        }
        if is_quiet {
            command.stderr(Stdio::null());
        }
        command.stdout(match io::stderr().as_fd().try_clone_to_owned() {
            Ok(stderr) if !is_quiet => Stdio::from(stderr),
            _ => Stdio::null(),
        });
        Process::of(&mut command)
    }

    /// Starts a command.
    pub(crate) fn of(command: &mut Command) -> io::Result<Process> {
        let child = command.spawn()?;
        WORKERS.fetch_add(1, Ordering::Relaxed);
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Process { child, pid, memory: Cell::new(0) })
    }

    /// Its number.
    pub(super) fn number(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once.
    pub(crate) fn kill(&self) {
        let _ = self.pid.map(|pid| rustix::process::kill_process(pid, Signal::KILL));
    }

    /// Notes how much memory it has: once it has ended, nobody knows.
    pub(super) fn look_at_memory(&self) {
        if let Some(bytes) = limits::taken(&self.child.id().to_string()) {
            self.memory.set(bytes);
        }
    }

    /// How much memory it had when it was last looked at.
    pub(super) fn memory(&self) -> u64 {
        self.memory.get()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> Option<Ending> {
        // It stays a zombie, so that its number still stands for its group.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = rustix::process::waitid(WaitId::Pid(self.pid?), options).ok()??;
        let signal = status.terminating_signal().map(Ending::Signal);
        Some(signal.unwrap_or_else(|| Ending::Exit(status.exit_status().unwrap_or(-1))))
    }

    /// Waits until it leaves by itself, but not for long.
    pub(crate) fn wait(&self) {
        let handle = self.pid.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
        if let Some(handle) = handle {
            let time = Timespec { tv_sec: FAREWELL.as_secs() as i64, tv_nsec: 0 };
            let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&time));
            return;
        }
        // Old kernels, and tools such as valgrind.
        let begin = Instant::now();
        while self.ended().is_none() && begin.elapsed() < FAREWELL {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Ends the children of this process that carry this mark in their environment: what a process that had it has started and left behind. Others, such as
/// those of a shell that became this program, are not koppel's.
pub(crate) fn end_children_with(mark: &str) {
    // A child that is ended may leave children of its own.
    for _ in 0..8 {
        let marked: Vec<Pid> = children().into_iter().filter(|child| has(*child, mark)).collect();
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// Ends all processes but this one that carry this mark in their environment.
pub(crate) fn end_all_with(mark: &str) {
    let own = rustix::process::getpid();
    // What is being ended may have started more meanwhile.
    for _ in 0..8 {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let others = all.filter_map(|entry| pid(entry.file_name().to_str()?)).filter(|other| *other != own);
        let marked: Vec<Pid> = others.filter(|other| has(*other, mark)).collect();
        if marked.is_empty() {
            return;
        }
        marked.into_iter().for_each(|other| _ = rustix::process::kill_process(other, Signal::KILL));
    }
}

fn has(process: Pid, mark: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{}/environ", process.as_raw_nonzero()));
    environment.is_ok_and(|text| text.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
}

fn children() -> Vec<Pid> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(pid).collect::<Vec<_>>()).collect()
}

fn pid(number: &str) -> Option<Pid> {
    number.parse().ok().and_then(Pid::from_raw)
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        WORKERS.fetch_sub(1, Ordering::Relaxed);
    }
}
