//! Which function of which instance is running, noted where another process can read it after a crash.
//!
//! Every thread has a place of its own. A number stands for a function, the address of an instance for the instance, so that a call costs a few stores;
//! nothing is noted unless places were given.

#[cfg(target_os = "linux")]
use crate::isolate::Ending;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Where the calls of a thread are noted.
#[repr(C)]
pub(crate) struct Calls {
    /// The call that is running, as a number; 0 for none.
    pub(crate) last: AtomicU64,
    /// How many were begun.
    pub(crate) count: AtomicU64,
    /// The instance it was for.
    pub(crate) instance: AtomicU64,
    /// The bits of the time of the newest step, plus one; 0 before the first.
    time: AtomicU64,
    /// 1 once its stack was too small.
    overflow: AtomicU64,
}

impl Calls {
    /// Notes whose turn it is.
    #[inline(always)]
    fn begin(&self, instance: u64) {
        self.instance.store(instance, Ordering::Relaxed);
        // Calls come from one thread at a time: no need for an atomic addition.
        self.count.store(self.count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// The same ending, told more exactly.
    #[cfg(target_os = "linux")]
    pub(crate) fn explain(&self, how: Ending) -> Ending {
        let has_overflown = self.overflow.load(Ordering::Relaxed) == 1;
        if has_overflown && matches!(how, Ending::Signal(_)) { Ending::StackOverflow } else { how }
    }

    /// The time of the newest step, if there was one.
    pub(crate) fn time(&self) -> Option<f64> {
        self.time.load(Ordering::Relaxed).checked_sub(1).map(f64::from_bits)
    }
}

/// Told the number and the name of every new instance, and the longest time for one of its calls.
type Announce = fn(u64, &str, Option<Duration>);

static PLACES: OnceLock<&'static [Calls]> = OnceLock::new();
static ANNOUNCE: OnceLock<Announce> = OnceLock::new();

thread_local! {
    static PLACE: Cell<Option<&'static Calls>> = const { Cell::new(None) };
}

/// From now on calls are noted here, those of each thread apart; threads for which there is no place share the last.
#[cfg(target_os = "linux")]
pub(crate) fn note_calls_in(places: &'static [Calls]) {
    if PLACES.set(places).is_ok() {
        super::stack::watch();
    }
}

/// Notes that the stack of this thread is too small. Called by a handler of signals.
#[cfg(target_os = "linux")]
pub(super) fn note_overflow() {
    if let Some(place) = PLACE.get() {
        place.overflow.store(1, Ordering::Relaxed);
    }
}

/// From now on new instances are announced.
#[cfg(target_os = "linux")]
pub(crate) fn announce_instances_to(announce: Announce) {
    let _ = ANNOUNCE.set(announce);
}

/// Announces an instance, 0 for one that is being made.
pub(crate) fn announce(instance: u64, name: &str, limit: Option<Duration>) {
    if let Some(announce) = ANNOUNCE.get() {
        announce(instance, name, limit);
    }
}

/// Notes that a call begins.
#[inline]
pub(super) fn enter(number: u64, instance: u64) {
    if let Some(place) = place() {
        place.last.store(number, Ordering::Relaxed);
        place.begin(instance);
    }
}

/// Notes the calls of a step: as many stores as it takes to name the one that is running.
#[derive(Clone, Copy)]
pub(super) struct Notes(Option<&'static Calls>);

impl Notes {
    /// Where nothing is noted.
    pub(super) const NONE: Notes = Notes(None);

    /// Notes that a step of an instance begins.
    #[inline(always)]
    pub(super) fn of_step(instance: u64) -> Notes {
        let place = place();
        place.iter().for_each(|place| place.begin(instance));
        Notes(place)
    }

    /// Notes that one of its calls begins; 0 that it is over.
    #[inline(always)]
    pub(super) fn call(self, number: u64) {
        if let Some(place) = self.0 {
            place.last.store(number, Ordering::Relaxed);
        }
    }
}

/// Notes that the call has returned.
#[inline]
pub(super) fn leave() {
    if let Some(place) = PLACE.get() {
        place.last.store(0, Ordering::Relaxed);
    }
}

/// Notes the time of a step.
#[inline]
pub(super) fn at(time: f64) {
    if let Some(place) = PLACE.get() {
        place.time.store(time.to_bits().wrapping_add(1), Ordering::Relaxed);
    }
}

/// The place of this thread.
#[inline]
fn place() -> Option<&'static Calls> {
    PLACE.get().or_else(first_place)
}

#[cold]
fn first_place() -> Option<&'static Calls> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let places = PLACES.get()?;
    let place = &places[NEXT.fetch_add(1, Ordering::Relaxed).min(places.len() - 1)];
    PLACE.set(Some(place));
    Some(place)
}

/// True if calls are noted.
#[inline]
pub(super) fn is_on() -> bool {
    PLACES.get().is_some()
}

/// The number of a name: one that an instruction can hold.
pub(super) const fn number(name: &str) -> u64 {
    koppel::fnv(&[name.as_bytes()]) & 0x7fff_ffff
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
