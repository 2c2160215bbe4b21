//! States in the hands of the importer: both versions of the standard do the same with them.

use crate::error::{Error, Result};
use crate::instance::State;

/// The functions about states.
macro_rules! state_functions {
    ($get:ident, $set:ident, $free:ident, $size:ident, $serialize:ident, $deserialize:ident) => {
        functions! {
            $get(state: *mut *mut State) c => {
                release(state);
                let saved = c.instance.save()?;
                keep(state, saved)
            };
            $set(state: *const State) c => c.instance.restore(state.as_ref().ok_or_else(no_state)?);
            $free(state: *mut *mut State) _c => {
                forget(state);
                Ok(())
            };
            $size(state: *const State, size: *mut usize) c => {
                put(size, c.instance.serialize(state.as_ref().ok_or_else(no_state)?)?.len());
                Ok(())
            };
            $serialize(state: *const State, bytes: *mut u8, size: usize) c => {
                let own = c.instance.serialize(state.as_ref().ok_or_else(no_state)?)?;
                fill(wanted(bytes, size)?, &own)
            };
            $deserialize(bytes: *const u8, size: usize, state: *mut *mut State) c => {
                let read = c.instance.deserialize(given(bytes, size)?)?;
                hand_out(state, read)
            };
        }
    };
}
pub(super) use state_functions;

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
