//! The C functions of FMI 2.0 and 3.0: the only unsafe code of this crate.
//!
//! Every function goes through [`call`]: null instances are refused, a panic never leaves, an error is reported through the
//! importer's logger and becomes a status.
//!
//! What no check can find out is promised by the importer, as the standard asks for: pointers that are not null point to what
//! the signature says, with the lengths given; an instance is used by one thread at a time and not after it was freed.
#![expect(unsafe_code, reason = "called from C")]

mod both;
mod fmi2;
mod fmi3;
mod log;
mod memory;
mod state;

use crate::error::Result;
use crate::instance::Instance;
use log::Log;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

type Pointer = *mut c_void;
type Text = *const c_char;
type Refs = *const u32;

/// Functions of the standard that take an instance first: `call` does what all have in common. `CALL` is the name.
macro_rules! functions {
    ($($name:ident ($($argument:ident: $type:ty),*) $component:ident => $work:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(pointer: Pointer, $($argument: $type),*) -> c_int {
            #[allow(dead_code, reason = "not every function says its name")]
            const CALL: &str = stringify!($name);
            // SAFETY: promised by the importer, as the module says; this covers the memory the arguments point to.
            unsafe { call(pointer, |$component: &mut Component| -> Result<()> { $work }) }
        }
    )*};
}
use functions;

const OK: c_int = 0;
const DISCARD: c_int = 2;
const ERROR: c_int = 3;
const FATAL: c_int = 4;

/// What importers hold a pointer to.
struct Component {
    instance: Instance,
    log: Log,
    /// FMI 3.0: who is asked for inputs inside a step.
    asked: Option<fmi3::IntermediateUpdate>,
}

/// Makes an instance, or tells why there is none.
fn instantiate(log: Log, make: impl FnOnce() -> Result<Instance>) -> *mut c_void {
    match catch_unwind(AssertUnwindSafe(make)) {
        Ok(Ok(instance)) => {
            let component = Component { instance, log, asked: None };
            Box::into_raw(Box::new(component)).cast()
        }
        Ok(Err(error)) => {
            log.write(ERROR, &with_hint(&error));
            std::ptr::null_mut()
        }
        Err(panic) => {
            log.write(FATAL, &words_of(panic.as_ref()));
            std::ptr::null_mut()
        }
    }
}

/// Does one call.
///
/// # Safety
///
/// `pointer` is null or was made by [`instantiate`] and not freed, and nobody else uses it during the call.
unsafe fn call(pointer: *mut c_void, work: impl FnOnce(&mut Component) -> Result<()>) -> c_int {
    // SAFETY: promised by the caller.
    let Some(component) = (unsafe { pointer.cast::<Component>().as_mut() }) else { return ERROR };
    match catch_unwind(AssertUnwindSafe(|| work(component))) {
        Ok(Ok(())) => OK,
        Ok(Err(error)) => {
            component.log.write(ERROR, &with_hint(&error));
            ERROR
        }
        Err(panic) => {
            component.log.write(FATAL, &words_of(panic.as_ref()));
            FATAL
        }
    }
}

/// Frees an instance.
///
/// # Safety
///
/// As for [`call`]; the pointer is not used again.
unsafe fn free(pointer: *mut c_void) {
    if !pointer.is_null() {
        // SAFETY: promised by the caller: it came from `Box::into_raw`.
        let component = unsafe { Box::from_raw(pointer.cast::<Component>()) };
        // A panic while freeing has nobody to be told to.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(component)));
    }
}

fn with_hint(error: &crate::Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    format!("a bug of koppel: {text}")
}
