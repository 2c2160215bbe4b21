//! Messages to the importer.

use std::ffi::{CString, c_char, c_int, c_void};

/// Logger of FMI 2.0, which formats like printf.
pub(super) type Logger2 =
    unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...);
/// Logger of FMI 3.0.
pub(super) type Logger3 = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char);

/// Where messages go.
pub(super) struct Log {
    pub(super) name: CString,
    pub(super) environment: *mut c_void,
    pub(super) logger: Logger,
}

pub(super) enum Logger {
    None,
    Two(Logger2),
    Three(Logger3),
}

/// A category that both standards know.
const CATEGORY: &std::ffi::CStr = c"logStatusError";

impl Log {
    /// Tells the importer.
    pub(super) fn write(&self, status: c_int, text: &str) {
        let text = text.replace('\0', " ");
        match self.logger {
            Logger::None => {}
            Logger::Two(logger) => {
                // The text is the format itself: importers that do not format show it as it is.
                let text = CString::new(text.replace('%', "%%")).unwrap_or_default();
                // SAFETY: the importer gave a logger and its environment; the texts end with a zero byte, and the format takes no
                // arguments.
                unsafe {
                    logger(self.environment, self.name.as_ptr(), status, CATEGORY.as_ptr(), text.as_ptr());
                }
            }
            Logger::Three(logger) => {
                let text = CString::new(text).unwrap_or_default();
                // SAFETY: the importer gave a logger and its environment; the texts end with a zero byte.
                unsafe { logger(self.environment, status, CATEGORY.as_ptr(), text.as_ptr()) };
            }
        }
    }
}
