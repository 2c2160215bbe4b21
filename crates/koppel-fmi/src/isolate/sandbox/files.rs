//! Files an FMU may write and read: rules of Landlock.
//!
//! <https://docs.kernel.org/userspace-api/landlock.html>

#![expect(unsafe_code, reason = "Landlock is known to the kernel only")]

use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
/// Making files of every kind.
const MAKE: u64 = 0b111_1111 << 6;
/// Moving files from one folder to another. Version 2.
const REFER: u64 = 1 << 13;
/// Version 3.
const TRUNCATE: u64 = 1 << 14;
/// Version 5.
const IOCTL_DEVICE: u64 = 1 << 15;

const WRITING: u64 = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE | REFER | TRUNCATE | IOCTL_DEVICE;
const READING: u64 = EXECUTE | READ_FILE | READ_DIR;
/// What rights on a single file can be.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE;

/// Binding and connecting TCP sockets. Version 4.
const TCP: u64 = 0b11;
/// Abstract Unix sockets of others, and signals to them. Version 6.
const SCOPES: u64 = 0b11;

/// Which versions know scopes.
pub(super) const SCOPES_FROM: u32 = 6;
/// Which versions know that a file is made shorter.
pub(super) const TRUNCATE_FROM: u32 = 3;

/// Devices everybody may write.
pub(super) const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What programs need to read to run at all.
const OF_THE_SYSTEM: [&str; 20] = [
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/bin",
    "/sbin",
    "/etc",
    "/opt",
    "/nix/store",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/version",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/run/systemd/resolve",
];

/// The folders of a worker.
pub(super) struct Folders<'a> {
    /// Where its FMU was unpacked.
    pub(super) own: &'a Path,
    /// What it may write to beside the folders inside `own`.
    pub(super) write: &'a [PathBuf],
    /// What it may read beside the system, if that is limited.
    pub(super) read: Option<&'a [PathBuf]>,
    pub(super) has_network: bool,
}

#[repr(C)]
struct RulesetAttribute {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: i32,
}

/// The version of Landlock that this kernel has, if it has any.
pub(super) fn version() -> Option<u32> {
    const ASK_FOR_VERSION: libc::c_long = 1;
    let nothing = std::ptr::null::<RulesetAttribute>();
    // SAFETY: asked for its version, the system call takes no ruleset.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0, ASK_FOR_VERSION) };
    u32::try_from(answer).ok().filter(|version| *version > 0)
}

/// Restricts this thread and all that it starts from now on.
pub(super) fn restrict(version: u32, folders: &Folders<'_>) -> io::Result<()> {
    let known = match version {
        1 => !(REFER | TRUNCATE | IOCTL_DEVICE),
        2 => !(TRUNCATE | IOCTL_DEVICE),
        3 | 4 => !IOCTL_DEVICE,
        _ => !0,
    };
    let reading = if folders.read.is_some() { READING } else { 0 };
    let ruleset = Ruleset::new(version, (WRITING | reading) & known, folders.has_network)?;
    // Its own folder may be emptied and removed, which is the worker's task if its parent is no more.
    ruleset.allow(folders.own, REMOVE_DIR | REMOVE_FILE | READING)?;
    if let Some(parent) = folders.own.parent() {
        ruleset.allow(parent, REMOVE_DIR)?;
    }
    for folder in inside(folders.own) {
        ruleset.allow(&folder, WRITING | READING)?;
    }
    for path in folders.write {
        ruleset.allow(path, WRITING | READING)?;
    }
    for device in DEVICES {
        // Not all of them are there in every container.
        let _ = ruleset.allow(Path::new(device), OF_FILES);
    }
    if let Some(read) = folders.read {
        for path in read {
            ruleset.allow(path, READING)?;
        }
        let program = std::env::current_exe().ok();
        let system = OF_THE_SYSTEM.iter().map(PathBuf::from).chain(program);
        // Nor is the rest.
        system.for_each(|path| _ = ruleset.allow(&path, READING));
    }
    ruleset.enter()
}

/// Folders inside the worker's own that it may write to: the files of the FMU, and temporary ones.
pub(super) fn inside(own: &Path) -> [PathBuf; 2] {
    [own.join("fmu"), own.join("tmp")]
}

/// Rules that are being collected.
struct Ruleset {
    file: OwnedFd,
    handled: u64,
}

impl Ruleset {
    fn new(version: u32, handled: u64, has_network: bool) -> io::Result<Ruleset> {
        let attribute = RulesetAttribute {
            handled_access_fs: handled,
            handled_access_net: if has_network { 0 } else { TCP },
            scoped: SCOPES,
        };
        // Older kernels know the first parts only.
        let size: usize = match version {
            1..4 => 8,
            4 | 5 => 16,
            _ => 24,
        };
        // SAFETY: the kernel reads `size` bytes of the value, which has at least as many.
        let made = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attribute, size, 0) };
        let file = i32::try_from(made).ok().filter(|made| *made >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the kernel has just made it for this process.
        Ok(Ruleset { file: unsafe { OwnedFd::from_raw_fd(file) }, handled })
    }

    fn allow(&self, path: &Path, access: u64) -> io::Result<()> {
        let named = |error: rustix::io::Errno| {
            let error = io::Error::from(error);
            io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
        };
        let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(named)?;
        let is_folder = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode)
            == rustix::fs::FileType::Directory;
        let fitting = if is_folder { !0 } else { OF_FILES };
        let allowed_access = access & self.handled & fitting;
        if allowed_access == 0 {
            return Ok(());
        }
        let rule = PathBeneath { allowed_access, parent_fd: file.as_raw_fd() };
        const BENEATH: libc::c_long = 1;
        // SAFETY: both files are open, and the rule is as the kernel expects it.
        let done = unsafe {
            libc::syscall(libc::SYS_landlock_add_rule, self.file.as_raw_fd(), BENEATH, &raw const rule, 0)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn enter(self) -> io::Result<()> {
        // SAFETY: the ruleset is open; from here on this thread may do less.
        let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.file.as_raw_fd(), 0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
