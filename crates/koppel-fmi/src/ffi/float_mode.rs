//! The floating-point mode of a thread: rounding, subnormal numbers, precision, and which exceptions trap.
//!
//! It belongs to the whole thread, so an FMU that changes it (a library built with `-ffast-math` does so while it is
//! loaded) would change what koppel and all other FMUs compute. It is compared after calls, for a few instructions, and set back.

/// The control bits of a thread; flags of exceptions that have happened are no part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mode {
    /// MXCSR, or FPCR.
    main: u64,
    /// The control word of the x87 unit, which serves `long double`.
    x87: u16,
}

#[cfg(target_arch = "x86_64")]
mod registers {
    use super::Mode;
    use std::arch::asm;

    /// Exceptions masked, to the nearest, nothing flushed to zero; extended precision for x87.
    pub(super) const STANDARD: Mode = Mode { main: 0x1f80, x87: 0x037f };
    /// Bits of MXCSR that say what has happened.
    const FLAGS: u32 = 0x3f;

    #[inline(always)]
    pub(super) fn read() -> Mode {
        let (mut main, mut x87) = (0_u32, 0_u16);
        // SAFETY: stores two control registers into variables of their sizes.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut main, options(nostack, preserves_flags));
            asm!("fnstcw [{}]", in(reg) &raw mut x87, options(nostack, preserves_flags));
        }
        Mode { main: (main & !FLAGS).into(), x87 }
    }

    pub(super) fn write(mode: Mode) {
        let (main, x87) = (mode.main as u32, mode.x87);
        // SAFETY: both are modes that Rust code expects; pending exceptions of x87 are dropped first.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const main, options(nostack, preserves_flags));
            asm!("fnclex", "fldcw [{}]", in(reg) &raw const x87, options(nostack, preserves_flags));
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod registers {
    use super::Mode;
    use std::arch::asm;

    pub(super) const STANDARD: Mode = Mode { main: 0, x87: 0 };

    #[inline(always)]
    pub(super) fn read() -> Mode {
        let main: u64;
        // SAFETY: reads a control register.
        unsafe { asm!("mrs {}, fpcr", out(reg) main, options(nomem, nostack, preserves_flags)) };
        Mode { main, x87: 0 }
    }

    pub(super) fn write(mode: Mode) {
        // SAFETY: the mode that Rust code expects.
        unsafe { asm!("msr fpcr, {}", in(reg) mode.main, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod registers {
    use super::Mode;

    pub(super) const STANDARD: Mode = Mode { main: 0, x87: 0 };

    pub(super) fn read() -> Mode {
        STANDARD
    }

    pub(super) fn write(_: Mode) {}
}

use registers::{STANDARD, read, write};

/// True if this thread computes as Rust expects it to.
#[inline(always)]
pub(super) fn is_standard() -> bool {
    read() == STANDARD
}

/// Makes it so.
#[cold]
pub(super) fn restore() {
    write(STANDARD);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_mode_is_seen_and_set_back() {
        assert!(is_standard());
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            // Rounding upwards, and flushing to zero.
            for bit in if cfg!(target_arch = "x86_64") { [14, 15] } else { [22, 24] } {
                write(Mode { main: STANDARD.main | 1 << bit, ..STANDARD });
                assert!(!is_standard());
                restore();
                assert!(is_standard());
            }
        }
        #[cfg(target_arch = "x86_64")]
        {
            write(Mode { x87: 0x007f, ..STANDARD });
            assert!(!is_standard());
            restore();
        }
        assert!(is_standard());
    }
}
