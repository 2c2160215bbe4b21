//! Memory that belongs to the importer.

use crate::error::{Error, Result};
use koppel_fmi::percent;
use std::ffi::{CStr, c_char};
use std::path::PathBuf;

/// What an importer gives.
///
/// # Safety
///
/// `pointer` is null or points to `count` values that nobody changes while the slice lives.
pub(super) unsafe fn given<'a, T>(pointer: *const T, count: usize) -> Result<&'a [T]> {
    match (count, pointer.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => {
            Err(Error::misuse(format!("{count} values are announced, but the pointer to them is null")))
        }
        // SAFETY: promised by the caller.
        (_, false) => Ok(unsafe { std::slice::from_raw_parts(pointer, count) }),
    }
}

/// What an importer wants filled.
///
/// # Safety
///
/// `pointer` is null or points to `count` values that nobody else uses while the slice lives.
pub(super) unsafe fn wanted<'a, T>(pointer: *mut T, count: usize) -> Result<&'a mut [T]> {
    match (count, pointer.is_null()) {
        (0, _) => Ok(&mut []),
        (_, true) => {
            Err(Error::misuse(format!("room for {count} values is announced, but its pointer is null")))
        }
        // SAFETY: promised by the caller.
        (_, false) => Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) }),
    }
}

/// Writes one value, where the importer wants it.
///
/// # Safety
///
/// `pointer` is null or may be written to.
pub(super) unsafe fn put<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: promised by the caller.
        unsafe { pointer.write(value) };
    }
}

/// A text; empty for null.
///
/// # Safety
///
/// `text` is null or ends with a zero byte.
pub(super) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The folder of a `file:` URI, or of a path.
pub(super) fn folder(location: &str) -> PathBuf {
    let Some(rest) = location.strip_prefix("file:") else { return location.into() };
    // `file:///a`, `file:/a` and `file://host/a` all occur.
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or(rest, |at| &rest[at..]),
        None => rest,
    };
    let path = percent::decode(path);
    #[cfg(windows)]
    let path = path.trim_start_matches('/').to_owned();
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_become_folders() {
        for location in ["file:///a/b%20c/d", "file:/a/b%20c/d", "file://localhost/a/b%20c/d", "/a/b c/d"] {
            assert_eq!(folder(location), PathBuf::from("/a/b c/d"), "{location}");
        }
        assert_eq!(folder("file:///a/100%25"), PathBuf::from("/a/100%"));
        assert_eq!(folder("file:///a/%zz"), PathBuf::from("/a/%zz"));
    }
}
