//! Stack overflows, told from other invalid accesses: the address lies beside the stack pointer, where no page is.
//!
//! The handler notes it where another process can read it, and lets the signal do what it would have done. FMUs that install handlers of their own replace it.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// The handlers that were there before.
static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Farthest from the stack pointer that counts as on the stack: functions with large frames touch them from their far end.
const FRAME: usize = 1 << 20;

/// Notes stack overflows from now on.
pub(super) fn watch() {
    // SAFETY: all zero is a valid value; the handler calls nothing that a signal may not call.
    unsafe {
        let mut before: [libc::sigaction; 2] = std::mem::zeroed();
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        for (signal, before) in SIGNALS.into_iter().zip(&mut before) {
            libc::sigaction(signal, std::ptr::null(), before);
        }
        if BEFORE.set(before).is_ok() {
            SIGNALS
                .into_iter()
                .for_each(|signal| _ = libc::sigaction(signal, &raw const action, std::ptr::null_mut()));
        }
    }
}

extern "C" fn note(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes what `SA_SIGINFO` promises.
    let (address, stack) = unsafe { ((*info).si_addr() as usize, stack_pointer(context)) };
    let is_overflow = stack.is_some_and(|stack| stack.abs_diff(address) < FRAME);
    if is_overflow {
        super::trace::note_overflow();
    }
    // The access is made again, and the handler from before, or the system, deals with it. That of Rust says of an overflow what the message will say.
    let before = BEFORE.get().and_then(|all| SIGNALS.iter().zip(all).find(|(known, _)| **known == signal));
    // SAFETY: the handler was in place before; all zero is the default.
    unsafe {
        let usual: libc::sigaction = std::mem::zeroed();
        let action = before.map_or(&usual, |(_, before)| if is_overflow { &usual } else { before });
        libc::sigaction(signal, action, std::ptr::null_mut());
    }
}

/// Where the stack of the interrupted code ends.
///
/// # Safety
///
/// `context` is what the system passed to a handler with `SA_SIGINFO`.
unsafe fn stack_pointer(context: *mut c_void) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: promised by the caller.
    return Some(unsafe {
        (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RSP as usize] as usize
    });
    #[cfg(target_arch = "aarch64")]
    // SAFETY: promised by the caller.
    return Some(unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.sp as usize });
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = context;
        None
    }
}
