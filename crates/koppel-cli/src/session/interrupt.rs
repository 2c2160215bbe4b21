//! Ctrl-C: the first asks the run to end in good order, the second ends at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens from now on. Where signals cannot be caught, Ctrl-C kills as usual.
pub(super) fn listen() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted.number().into());
        }
    });
}

/// True once the user wants the run to end.
pub(super) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
