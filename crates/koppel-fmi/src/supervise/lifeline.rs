//! No supervised process outlives its supervisor.
//!
//! A thread waits for the supervisor's end, however it comes (an FMU may kill it), and then ends what FMUs have started, removes their unpacked files and
//! ends this process. A signal at the parent's death would leave no time for that, and an FMU can switch it off.

#![expect(unsafe_code, reason = "sets an alarm")]

use super::MARK;
use crate::isolate::{FAREWELL, end_all_with};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, getppid};
use std::io;
use std::time::{Duration, Instant};

/// Longest time between two looks, should the handle of the supervisor be lost: an FMU may close it.
const LOOK: Duration = Duration::from_millis(500);
/// Shortest time between two looks.
const NAP: Duration = Duration::from_millis(20);

/// Ends this process when the process with this number does, which must be its parent.
pub(super) fn hold(parent: Pid) -> io::Result<()> {
    let handle = rustix::process::pidfd_open(parent, PidfdFlags::empty());
    // Whoever has this number after the parent has gone is not the parent.
    if getppid() != Some(parent) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not started by koppel"));
    }
    let wait = move || {
        let begin = Instant::now();
        if let Ok(handle) = &handle {
            let time = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
            let _ = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&time));
        }
        if getppid() == Some(parent) {
            // Old kernels, tools such as valgrind, or a handle that was closed.
            std::thread::sleep(NAP.saturating_sub(begin.elapsed()));
        }
    };
    let watch = move || {
        while getppid() == Some(parent) {
            wait();
        }
        // An FMU that hangs may hold what the lines below need.
        // SAFETY: the default action involves no handler of this program.
        unsafe {
            libc::signal(libc::SIGALRM, libc::SIG_DFL);
            libc::alarm(FAREWELL.as_secs() as u32);
        }
        end_all_with(&format!("{MARK}={}", parent.as_raw_nonzero()));
        crate::archive::remove_own();
        let _ = rustix::process::kill_process(getpid(), Signal::KILL);
    };
    std::thread::Builder::new().name("lifeline".into()).stack_size(256 << 10).spawn(watch).map(|_| ())
}
