//! No worker outlives its parent.
//!
//! A thread waits for the parent's end, however it comes, and then removes the unpacked FMU and ends the whole process
//! group: this worker, whatever it is doing, and its children. (A signal at the parent's death would come from the thread
//! that started the worker, not from the process, and leave no time to clean up.)

#![expect(unsafe_code, reason = "ignores signals")]

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpgrp, getpid, getppid};
use std::ffi::c_int;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The folder to remove.
pub(super) type Folder = Arc<Mutex<Option<PathBuf>>>;

/// The parent of this process, which must have this number.
pub(super) fn parent(number: &str) -> io::Result<Pid> {
    let parent = number.parse().ok().and_then(Pid::from_raw);
    // Whoever has this number after the parent has gone is not the parent.
    let is_parent = getppid() == parent && getpgrp() == getpid();
    let strange = || io::Error::new(io::ErrorKind::InvalidInput, "not started by koppel");
    parent.filter(|_| is_parent).ok_or_else(strange)
}

/// Ends this process when its parent does.
pub(super) fn hold(parent: Pid) -> io::Result<Folder> {
    let handle = rustix::process::pidfd_open(parent, PidfdFlags::empty());
    ignore_signals();
    let folder = Folder::default();
    let mine = folder.clone();
    std::thread::Builder::new().name("lifeline".into()).stack_size(256 << 10).spawn(move || {
        while getppid() == Some(parent) {
            if let Ok(handle) = &handle {
                let _ = poll(&mut [PollFd::new(handle, PollFlags::IN)], None);
            }
            if getppid() == Some(parent) {
                // Old kernels, or a handle that the FMU has closed and poll returns from at once.
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        end(&mine);
    })?;
    Ok(folder)
}

unsafe extern "C" {
    fn signal(number: c_int, handler: usize) -> usize;
}

/// Leaves it to the parent to end this process: whoever sends these signals to all processes of a session or service wants the
/// parent to finish its step first.
pub(crate) fn ignore_signals() {
    const IGNORE: usize = 1;
    for number in [Signal::HUP, Signal::INT, Signal::TERM] {
        // SAFETY: no handler of this program is involved; the numbers are valid.
        unsafe { signal(number.as_raw(), IGNORE) };
    }
}

fn end(folder: &Folder) {
    if let Some(folder) = folder.lock().unwrap_or_else(PoisonError::into_inner).take() {
        crate::archive::remove_dead(&folder);
    }
    let _ = rustix::process::kill_current_process_group(Signal::KILL);
    std::process::abort();
}
