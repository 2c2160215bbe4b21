//! States in the hands of the importer: both versions of the standard do the same with them.

use crate::error::{Error, Result};
use crate::instance::State;

pub(super) fn no_state() -> Box<Error> {
    Error::misuse("the state is null")
}

/// Hands a state to the importer, in place of the one it has.
///
/// # Safety
///
/// `place` is null or may be written to; what it points to is null or a state of this library.
pub(super) unsafe fn keep(place: *mut *mut State, state: State) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe {
        let place = place.as_mut().ok_or_else(no_state)?;
        match place.as_mut() {
            Some(old) => *old = state,
            None => *place = Box::into_raw(Box::new(state)),
        }
    }
    Ok(())
}

/// The state that is in a place is not going to be set any more.
///
/// # Safety
///
/// As for [`keep`].
pub(super) unsafe fn release(place: *mut *mut State) {
    // SAFETY: promised by the caller.
    if let Some(state) = unsafe { place.as_mut().and_then(|state| state.as_mut()) } {
        state.release();
    }
}

/// Hands a new state to the importer; what was in its place may never have been set.
///
/// # Safety
///
/// `place` is null or may be written to.
pub(super) unsafe fn hand_out(place: *mut *mut State, state: State) -> Result<()> {
    if place.is_null() {
        return Err(no_state());
    }
    // SAFETY: promised by the caller.
    unsafe { place.write(Box::into_raw(Box::new(state))) };
    Ok(())
}

/// Takes a state back from the importer.
///
/// # Safety
///
/// As for [`keep`].
pub(super) unsafe fn forget(place: *mut *mut State) {
    // SAFETY: promised by the caller: it came from `Box::into_raw`.
    unsafe {
        if let Some(place) = place.as_mut()
            && !place.is_null()
        {
            drop(Box::from_raw(*place));
            *place = std::ptr::null_mut();
        }
    }
}

/// Copies bytes where there is room for exactly them.
pub(super) fn fill(room: &mut [u8], bytes: &[u8]) -> Result<()> {
    if room.len() < bytes.len() {
        return Err(Error::misuse(format!(
            "the state has {} bytes, there is room for {}",
            bytes.len(),
            room.len()
        )));
    }
    room[..bytes.len()].copy_from_slice(bytes);
    Ok(())
}
