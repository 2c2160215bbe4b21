//! Which function of an FMU is running, noted where another process can read it after a crash.
//!
//! A number stands for the name, and calls are counted: two stores per call, and nothing is noted unless a place was given.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Where calls are noted.
#[repr(C)]
pub(crate) struct Calls {
    /// The call that was begun last, as a number.
    pub(crate) last: AtomicU64,
    /// How many were begun.
    pub(crate) count: AtomicU64,
}

static PLACE: AtomicPtr<Calls> = AtomicPtr::new(std::ptr::null_mut());

/// From now on calls are noted here.
#[cfg(target_os = "linux")]
pub(crate) fn note_calls_in(place: &'static Calls) {
    PLACE.store(std::ptr::from_ref(place).cast_mut(), Ordering::Release);
}

/// Notes that a call begins.
#[inline]
pub(super) fn enter(number: u64) {
    // SAFETY: the pointer is null or comes from a reference that lives for ever; what it points to is atomic.
    if let Some(place) = unsafe { PLACE.load(Ordering::Relaxed).as_ref() } {
        place.last.store(number, Ordering::Relaxed);
        // Calls come from one thread at a time: no need for an atomic addition.
        place.count.store(place.count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

/// True if calls are noted.
#[inline]
pub(super) fn is_on() -> bool {
    !PLACE.load(Ordering::Relaxed).is_null()
}

/// The number of a name.
pub(super) const fn number(name: &str) -> u64 {
    koppel::fnv(&[name.as_bytes()])
}

/// The name behind a number.
#[cfg(target_os = "linux")]
pub(crate) fn call_name(wanted: u64) -> Option<&'static str> {
    super::Functions::names().find(|name| number(name) == wanted)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_own_number() {
        for name in super::super::Functions::names() {
            assert_eq!(call_name(number(name)), Some(name));
        }
        assert_eq!(call_name(0), None);
    }
}
