//! System calls that an FMU must not make: a filter of seccomp.
//!
//! The filter looks at numbers only, never at memory: what it has seen cannot change afterwards. Calls of another kind of
//! program than this one (32 bits, x32) are refused altogether, as their numbers mean something else.
//!
//! <https://docs.kernel.org/userspace-api/seccomp_filter.html>

#![expect(unsafe_code, reason = "installs a filter")]

use libc::{c_long, sock_filter, sock_fprog};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It fails with EPERM; the parent is told.
    Refused,
    /// It seems to succeed, and does nothing.
    Ignored,
    /// It fails as if this kernel had no such call.
    Missing,
    /// The parent is told; the rest is the business of Landlock.
    Noted,
}

/// Which of the calls with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    All,
    /// Those with one of these bits in an argument.
    WithBits(u32, u32),
    /// Those with this value in some bits of an argument.
    With {
        argument: u32,
        bits: u32,
        value: u32,
    },
    /// All but those with one of these values in an argument.
    Without {
        argument: u32,
        values: [u32; 2],
    },
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) number: c_long,
    pub(super) fate: Fate,
    which: Which,
}

/// What the rules depend on.
#[derive(Clone, Copy)]
pub(super) struct Circumstances {
    pub(super) has_network: bool,
    /// The version of Landlock, 0 for none.
    pub(super) landlock: u32,
    /// The process that must not be signalled, and this one.
    pub(super) parent: u32,
    pub(super) own: u32,
}

/// Whether this kind of processor is known.
pub(super) const IS_KNOWN: bool = ARCHITECTURE != 0;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// Numbers of x32 begin here.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

macro_rules! all {
    ($fate:ident: $($name:ident)*) => {
        [$(Rule { name: stringify!($name), number: numbers::$name, fate: Fate::$fate, which: Which::All }),*]
    };
}

/// Numbers by the names of the calls.
#[expect(non_upper_case_globals, reason = "names of system calls")]
mod numbers {
    use libc::c_long;

    macro_rules! define {
        ($($name:ident = $number:expr;)*) => { $(pub(super) const $name: c_long = $number;)* };
    }

    define! {
        ptrace = libc::SYS_ptrace; process_vm_readv = libc::SYS_process_vm_readv; process_vm_writev = libc::SYS_process_vm_writev;
        process_madvise = libc::SYS_process_madvise; kcmp = libc::SYS_kcmp; pidfd_getfd = libc::SYS_pidfd_getfd;
        bpf = libc::SYS_bpf; perf_event_open = libc::SYS_perf_event_open; userfaultfd = libc::SYS_userfaultfd;
        io_uring_setup = libc::SYS_io_uring_setup; io_uring_enter = libc::SYS_io_uring_enter; io_uring_register = libc::SYS_io_uring_register;
        mount = libc::SYS_mount; umount2 = libc::SYS_umount2; pivot_root = libc::SYS_pivot_root; chroot = libc::SYS_chroot;
        move_mount = libc::SYS_move_mount; open_tree = libc::SYS_open_tree; fsopen = libc::SYS_fsopen; fspick = libc::SYS_fspick;
        fsconfig = libc::SYS_fsconfig; fsmount = libc::SYS_fsmount; mount_setattr = libc::SYS_mount_setattr;
        unshare = libc::SYS_unshare; setns = libc::SYS_setns; clone = libc::SYS_clone; clone3 = libc::SYS_clone3;
        add_key = libc::SYS_add_key; request_key = libc::SYS_request_key; keyctl = libc::SYS_keyctl;
        open_by_handle_at = libc::SYS_open_by_handle_at; fanotify_init = libc::SYS_fanotify_init;
        init_module = libc::SYS_init_module; finit_module = libc::SYS_finit_module; delete_module = libc::SYS_delete_module;
        kexec_load = libc::SYS_kexec_load; kexec_file_load = libc::SYS_kexec_file_load; reboot = libc::SYS_reboot;
        swapon = libc::SYS_swapon; swapoff = libc::SYS_swapoff; acct = libc::SYS_acct; quotactl = libc::SYS_quotactl; syslog = libc::SYS_syslog;
        settimeofday = libc::SYS_settimeofday; clock_settime = libc::SYS_clock_settime;
        sethostname = libc::SYS_sethostname; setdomainname = libc::SYS_setdomainname;
        shmget = libc::SYS_shmget; shmat = libc::SYS_shmat; semget = libc::SYS_semget; semop = libc::SYS_semop; semtimedop = libc::SYS_semtimedop;
        semctl = libc::SYS_semctl; shmctl = libc::SYS_shmctl; msgctl = libc::SYS_msgctl;
        msgget = libc::SYS_msgget; msgsnd = libc::SYS_msgsnd; msgrcv = libc::SYS_msgrcv; mq_open = libc::SYS_mq_open; mq_unlink = libc::SYS_mq_unlink;
        migrate_pages = libc::SYS_migrate_pages; move_pages = libc::SYS_move_pages;
        socket = libc::SYS_socket; socketpair = libc::SYS_socketpair; ioctl = libc::SYS_ioctl; prlimit64 = libc::SYS_prlimit64;
        kill = libc::SYS_kill; tkill = libc::SYS_tkill; tgkill = libc::SYS_tgkill; rt_sigqueueinfo = libc::SYS_rt_sigqueueinfo;
        rt_tgsigqueueinfo = libc::SYS_rt_tgsigqueueinfo; pidfd_send_signal = libc::SYS_pidfd_send_signal;
        setsid = libc::SYS_setsid; setpgid = libc::SYS_setpgid;
        truncate = libc::SYS_truncate; openat = libc::SYS_openat; openat2 = libc::SYS_openat2; mkdirat = libc::SYS_mkdirat;
        fchmod = libc::SYS_fchmod; fchmodat = libc::SYS_fchmodat; fchmodat2 = 452;
    }
    #[cfg(target_arch = "x86_64")]
    define! {
        open = libc::SYS_open; creat = libc::SYS_creat; mkdir = libc::SYS_mkdir; chmod = libc::SYS_chmod;
        iopl = libc::SYS_iopl; ioperm = libc::SYS_ioperm;
    }
}

/// The rules.
pub(super) fn rules(here: &Circumstances) -> Vec<Rule> {
    let mut rules = Vec::new();
    rules.extend(all!(Refused:
        ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd
        bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register
        mount umount2 pivot_root chroot move_mount open_tree fsopen fspick fsconfig fsmount mount_setattr
        unshare setns add_key request_key keyctl open_by_handle_at fanotify_init
        init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct quotactl syslog
        settimeofday clock_settime sethostname setdomainname
        shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink
        migrate_pages move_pages
    ));
    #[cfg(target_arch = "x86_64")]
    rules.extend(all!(Refused: iopl ioperm));
    // Children stay in the process group that ends with the worker.
    rules.extend(all!(Ignored: setsid setpgid));
    // Its arguments are in memory; programs then do with `clone`, whose arguments can be seen.
    rules.extend(all!(Missing: clone3));
    let mut some = |name, number, fate, which| rules.push(Rule { name, number, fate, which });
    use Fate::{Missing, Noted, Refused};
    use Which::{All, With, WithBits, Without};
    some("clone", numbers::clone, Refused, WithBits(0, NAMESPACES));
    if here.has_network {
        let is_unix = With { argument: 0, bits: !0, value: libc::AF_UNIX as u32 };
        some("socket", numbers::socket, Refused, is_unix);
    } else {
        some("socket", numbers::socket, Refused, All);
    }
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        // Those could be connected to something else.
        some("socketpair", numbers::socketpair, Refused, With { argument: 1, bits: 0xf, value: kind as u32 });
    }
    for command in [libc::TIOCSTI as u32, TIOCLINUX] {
        some("ioctl", numbers::ioctl, Refused, With { argument: 1, bits: !0, value: command });
    }
    some("prlimit64", numbers::prlimit64, Refused, Without { argument: 0, values: [0, here.own] });
    let is_special = |argument| WithBits(argument, 0o6000);
    some("fchmod", numbers::fchmod, Refused, is_special(1));
    some("fchmodat", numbers::fchmodat, Refused, is_special(2));
    some("fchmodat2", numbers::fchmodat2, Refused, is_special(2));
    #[cfg(target_arch = "x86_64")]
    some("chmod", numbers::chmod, Refused, is_special(1));
    if here.landlock < super::files::SCOPES_FROM {
        for value in [here.parent, u32::MAX] {
            let to = With { argument: 0, bits: !0, value };
            some("kill", numbers::kill, Refused, to);
            some("tkill", numbers::tkill, Refused, to);
            some("tgkill", numbers::tgkill, Refused, to);
            some("rt_sigqueueinfo", numbers::rt_sigqueueinfo, Refused, to);
            some("rt_tgsigqueueinfo", numbers::rt_tgsigqueueinfo, Refused, to);
        }
        some("pidfd_send_signal", numbers::pidfd_send_signal, Refused, All);
    }
    if (1..super::files::TRUNCATE_FROM).contains(&here.landlock) {
        // Landlock does not see it yet.
        let bits = (libc::O_ACCMODE | libc::O_TRUNC) as u32;
        let shortens = |argument| With { argument, bits, value: libc::O_TRUNC as u32 };
        some("truncate", numbers::truncate, Refused, All);
        some("openat", numbers::openat, Refused, shortens(2));
        some("openat2", numbers::openat2, Missing, All);
        #[cfg(target_arch = "x86_64")]
        some("open", numbers::open, Refused, shortens(1));
    }
    if here.landlock > 0 {
        let writing = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT) as u32;
        some("openat", numbers::openat, Noted, WithBits(2, writing));
        some("mkdirat", numbers::mkdirat, Noted, All);
        #[cfg(target_arch = "x86_64")]
        {
            some("open", numbers::open, Noted, WithBits(1, writing));
            some("creat", numbers::creat, Noted, All);
            some("mkdir", numbers::mkdir, Noted, All);
        }
    }
    rules
}

/// Bits of `clone` that make namespaces.
const NAMESPACES: u32 = 0x7e02_0000;
/// Types at the console.
const TIOCLINUX: u32 = 0x541c;

/// What the filter says of a call with these arguments, if it says anything.
pub(super) fn fate(rules: &[Rule], number: c_long, arguments: [u64; 6]) -> Option<Rule> {
    let applies = |rule: &&Rule| {
        let low = |argument: u32| arguments[argument as usize] as u32;
        rule.number == number
            && match rule.which {
                Which::All => true,
                Which::WithBits(argument, bits) => low(argument) & bits != 0,
                Which::With { argument, bits, value } => low(argument) & bits == value,
                Which::Without { argument, values } => !values.contains(&low(argument)),
            }
    };
    rules.iter().find(applies).copied()
}

/// The program of a filter; `is_watched` if the parent decides and hears of calls.
pub(super) fn program(rules: &[Rule], is_watched: bool) -> Vec<sock_filter> {
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const HAS: u16 = 0x45;
    const AND: u16 = 0x54;
    const RETURN: u16 = 0x06;
    const NUMBER: u32 = 0;
    const KIND: u32 = 4;
    let line = |code, k, jt, jf| sock_filter { code, jt, jf, k };
    let argument = |index: u32| line(LOAD, 16 + 8 * index, 0, 0);
    let fails = |error: i32| libc::SECCOMP_RET_ERRNO | error as u32;
    let refused = if is_watched { libc::SECCOMP_RET_USER_NOTIF } else { fails(libc::EPERM) };
    let mut program = vec![
        line(LOAD, KIND, 0, 0),
        line(EQUAL, ARCHITECTURE, 1, 0),
        line(RETURN, fails(libc::EPERM), 0, 0),
        line(LOAD, NUMBER, 0, 0),
    ];
    #[cfg(target_arch = "x86_64")]
    {
        const AT_LEAST: u16 = 0x35;
        program.extend([line(AT_LEAST, X32, 0, 1), line(RETURN, fails(libc::EPERM), 0, 0)]);
    }
    for rule in rules {
        let end = match rule.fate {
            Fate::Refused => refused,
            Fate::Ignored => fails(0),
            Fate::Missing => fails(libc::ENOSYS),
            Fate::Noted if is_watched => refused,
            Fate::Noted => continue,
        };
        let (end, again) = (line(RETURN, end, 0, 0), line(LOAD, NUMBER, 0, 0));
        let rest = match rule.which {
            Which::All => vec![end],
            Which::WithBits(index, bits) => vec![argument(index), line(HAS, bits, 0, 1), end, again],
            Which::With { argument: index, bits, value } => {
                vec![argument(index), line(AND, bits, 0, 0), line(EQUAL, value, 0, 1), end, again]
            }
            Which::Without { argument: index, values: [one, other] } => {
                vec![argument(index), line(EQUAL, one, 2, 0), line(EQUAL, other, 1, 0), end, again]
            }
        };
        program.push(line(EQUAL, rule.number as u32, 0, rest.len() as u8));
        program.extend(rest);
    }
    program.push(line(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    program
}

/// Installs the filter for all threads of this process and its children; where the parent decides, the file through which it
/// does.
pub(super) fn install(rules: &[Rule]) -> io::Result<Option<OwnedFd>> {
    use libc::{
        SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, SECCOMP_FILTER_FLAG_TSYNC,
        SECCOMP_FILTER_FLAG_TSYNC_ESRCH,
    };
    // Filters must not make the whole process slower than it was.
    let all = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    let watched = all | SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC_ESRCH;
    if let Ok(file) = set(&program(rules, true), watched) {
        // SAFETY: the kernel has just made it for this process.
        return Ok(Some(unsafe { OwnedFd::from_raw_fd(file as i32) }));
    }
    let unwatched = program(rules, false);
    // Old kernels know fewer flags.
    match [all, SECCOMP_FILTER_FLAG_TSYNC].into_iter().map(|flags| set(&unwatched, flags)).find(Result::is_ok)
    {
        Some(_) => Ok(None),
        None => Err(io::Error::last_os_error()),
    }
}

fn set(program: &[sock_filter], flags: libc::c_ulong) -> io::Result<c_long> {
    // The kernel only reads it.
    let filter = sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    let mode = libc::c_long::from(libc::SECCOMP_SET_MODE_FILTER as i32);
    // SAFETY: the program lives as long as the call.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const filter) };
    // With TSYNC a number above zero is a thread that could not follow.
    let is_listener = flags & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0;
    if done == 0 || done > 0 && is_listener { Ok(done) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Circumstances {
        Circumstances { has_network: false, landlock: 7, parent: 100, own: 200 }
    }

    /// Runs a filter as the kernel would.
    fn run(program: &[sock_filter], kind: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let word = |offset: u32| match offset {
            0 => number,
            4 => kind,
            _ => (arguments[(offset as usize - 16) / 8] >> (8 * (offset % 8))) as u32,
        };
        let (mut at, mut value) = (0, 0);
        loop {
            let line = &program[at];
            at += 1;
            let jump = |is: bool| usize::from(if is { line.jt } else { line.jf });
            match line.code {
                0x20 => value = word(line.k),
                0x54 => value &= line.k,
                0x15 => at += jump(value == line.k),
                0x45 => at += jump(value & line.k != 0),
                0x35 => at += jump(value >= line.k),
                0x06 => return line.k,
                other => panic!("unknown code {other}"),
            }
        }
    }

    const PERMISSION: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

    #[test]
    fn the_program_does_what_the_rules_say() {
        for landlock in [0, 1, 3, 7] {
            for has_network in [false, true] {
                let rules = rules(&Circumstances { has_network, landlock, ..here() });
                let program = program(&rules, false);
                assert!(program.len() < 4096);
                let values =
                    [0, 1, 2, 5, 10, 100, 200, 0o4755, 0x5412, 0x1_0000_5412, 0x1000_0000, 0x241, u64::MAX];
                for number in 0..600 {
                    for value in values {
                        let arguments = [value; 6];
                        let expected = match fate(&rules, number, arguments).map(|rule| rule.fate) {
                            Some(Fate::Refused) => PERMISSION,
                            Some(Fate::Ignored) => libc::SECCOMP_RET_ERRNO,
                            Some(Fate::Missing) => libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32,
                            Some(Fate::Noted) | None => libc::SECCOMP_RET_ALLOW,
                        };
                        let found = run(&program, ARCHITECTURE, number as u32, arguments);
                        assert_eq!(
                            found, expected,
                            "call {number} with {value:#x}, {landlock} {has_network}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_of_other_programs_are_refused() {
        let program = program(&rules(&here()), true);
        let i386 = 0x4000_0003;
        for number in [0, 1, 102, 200] {
            assert_eq!(run(&program, i386, number, [0; 6]), PERMISSION);
            #[cfg(target_arch = "x86_64")]
            assert_eq!(run(&program, ARCHITECTURE, X32 + number, [0; 6]), PERMISSION);
        }
        let write = libc::SYS_write as u32;
        assert_eq!(run(&program, ARCHITECTURE, write, [1; 6]), libc::SECCOMP_RET_ALLOW);
    }

    #[test]
    fn the_upper_half_of_an_argument_hides_nothing() {
        let rules = rules(&here());
        let sti = 0x7_0000_5412;
        let program = program(&rules, true);
        let found = run(&program, ARCHITECTURE, libc::SYS_ioctl as u32, [0, sti, 0, 0, 0, 0]);
        assert_eq!(found, libc::SECCOMP_RET_USER_NOTIF);
    }
}
