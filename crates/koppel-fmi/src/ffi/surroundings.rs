//! What an FMU shares with its whole process and may change: working directory, umask, and what SIGINT and SIGTERM do.
//!
//! Handlers for SIGSEGV, SIGBUS and SIGFPE are the FMU's business: Java and .NET need theirs.

use std::path::PathBuf;

/// What a process has around it.
#[derive(Debug)]
pub struct Surroundings {
    folder: Option<PathBuf>,
    #[cfg(target_os = "linux")]
    shared: linux::Shared,
}

impl Surroundings {
    /// What is there now.
    #[must_use]
    pub fn now() -> Surroundings {
        Surroundings {
            folder: std::env::current_dir().ok(),
            #[cfg(target_os = "linux")]
            shared: linux::Shared::now(),
        }
    }

    /// Sets back what has changed; its names.
    pub fn restore(&self) -> Vec<&'static str> {
        let mut changed = Vec::new();
        if let Some(folder) = &self.folder
            && std::env::current_dir().ok().as_ref() != Some(folder)
            && std::env::set_current_dir(folder).is_ok()
        {
            changed.push("the working directory");
        }
        #[cfg(target_os = "linux")]
        self.shared.restore(&mut changed);
        changed
    }
}

/// From now on a thread looks once a second whether an FMU has taken SIGINT or SIGTERM, and gives them back to whom they belong now.
pub fn keep_signal_handlers() {
    #[cfg(target_os = "linux")]
    {
        let handlers = linux::Handlers::now();
        let keep = move || {
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
                handlers.restore(&mut Vec::new());
            }
        };
        let _ = std::thread::Builder::new().name("signals".into()).stack_size(64 << 10).spawn(keep);
    }
}

/// Makes this thread wake up on time, as far as its user may ask for that: sleeps are not lengthened to save power, and the thread comes before all without
/// a priority of real time. What it starts does not inherit that.
pub fn be_punctual() {
    #[cfg(target_os = "linux")]
    linux::be_punctual();
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::fs::Mode;
    use std::ffi::c_int;

    const SIGNALS: [(c_int, &str); 2] =
        [(libc::SIGINT, "the handler of SIGINT"), (libc::SIGTERM, "the handler of SIGTERM")];

    pub(super) fn be_punctual() {
        // SAFETY: the kernel reads numbers; it may refuse, and nothing is lost.
        unsafe {
            libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64);
            let lowest = libc::sched_param { sched_priority: 1 };
            libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const lowest);
        }
    }

    #[derive(Debug)]
    pub(super) struct Shared {
        umask: Option<Mode>,
        handlers: Handlers,
    }

    impl Shared {
        pub(super) fn now() -> Shared {
            Shared { umask: umask(), handlers: Handlers::now() }
        }

        pub(super) fn restore(&self, changed: &mut Vec<&'static str>) {
            if let Some(umask) = self.umask
                && rustix::process::umask(umask) != umask
            {
                changed.push("the umask");
            }
            self.handlers.restore(changed);
        }
    }

    /// What SIGINT and SIGTERM do.
    pub(super) struct Handlers([Option<libc::sigaction>; 2]);

    impl std::fmt::Debug for Handlers {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let addresses = self.0.each_ref().map(|action| action.as_ref().map(|action| action.sa_sigaction));
            f.debug_tuple("Handlers").field(&addresses).finish()
        }
    }

    impl Handlers {
        pub(super) fn now() -> Handlers {
            Handlers(SIGNALS.map(|(signal, _)| handler(signal)))
        }

        pub(super) fn restore(&self, changed: &mut Vec<&'static str>) {
            for ((signal, name), before) in SIGNALS.into_iter().zip(&self.0) {
                let (Some(before), Some(now)) = (before, handler(signal)) else { continue };
                if before.sa_sigaction != now.sa_sigaction {
                    // SAFETY: the handler was in place before.
                    unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
                    changed.push(name);
                }
            }
        }
    }

    /// Read from a file: asking the system would change it for all threads.
    fn umask() -> Option<Mode> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let octal = status.lines().find_map(|line| line.strip_prefix("Umask:"))?.trim();
        u32::from_str_radix(octal, 8).ok().map(Mode::from_bits_retain)
    }

    fn handler(signal: c_int) -> Option<libc::sigaction> {
        // SAFETY: all zero is a valid value; the system writes what it has.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            (libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0).then_some(action)
        }
    }
}
