//! Ctrl-C: the first asks the run to end after its step, the second ends it at once and keeps its rows, the third does not
//! even wait for that. Where nobody sits before a terminal, as under `timeout` and batch systems, the second comes by itself.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::exit::Exit;
use crate::failure::note;
use crate::supervision;

static ASKED: AtomicU32 = AtomicU32::new(0);

/// What is still to be done when a run is ended inside a step.
type ExitHook = Box<dyn FnOnce() + Send>;

static EXIT_HOOK: Mutex<Option<ExitHook>> = Mutex::new(None);

/// A step that takes longer than this is worth a word.
const PATIENCE: Duration = Duration::from_millis(300);

/// How long a step may go on after the first signal if nobody is there to send a second: batch systems kill soon after.
const GRACE: Duration = Duration::from_secs(8);

/// Listens from now on. Where signals cannot be caught, Ctrl-C kills as usual.
pub(crate) fn listen() {
    if !supervision::listen() {
        catch(hear);
    }
    koppel_fmi::keep_signal_handlers();
}

#[cfg(unix)]
fn catch(hear: fn(Sender)) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    beside(move || {
        signals
            .forever()
            .for_each(|signal| hear(if signal == SIGINT { Sender::User } else { Sender::System }));
    });
}

#[cfg(not(unix))]
fn catch(hear: fn(Sender)) {
    let _ = ctrlc::set_handler(move || hear(Sender::User));
}

/// Whose signal it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    /// Ctrl-C: whoever pressed it can press it again.
    User,
    /// SIGTERM and SIGHUP: whoever sent it will not send another.
    System,
}

fn hear(sender: Sender) {
    match ASKED.fetch_add(1, Ordering::Relaxed) {
        0 => beside(move || {
            std::thread::sleep(PATIENCE);
            if is_running() && ASKED.load(Ordering::Relaxed) == 1 {
                note("note", "stopping after this step; press Ctrl-C again to end at once");
            }
            if sender == Sender::System || !std::io::stderr().is_terminal() {
                std::thread::sleep(GRACE);
                if is_running() {
                    end_at_once();
                }
            }
        }),
        1 => beside(end_at_once),
        _ => std::process::exit(Exit::Interrupted.number().into()),
    }
}

fn end_at_once() {
    // Held until the process has ended: `files_are_complete` waits for it.
    let mut hook = EXIT_HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(hook) = hook.take() {
        hook();
    }
    std::process::exit(Exit::Interrupted.number().into());
}

/// Signals are heard in sequence: nothing may keep the next one waiting.
fn beside(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

/// Says what is to be done if the run is ended inside a step.
pub(crate) fn prepare(hook: impl FnOnce() + Send + 'static) {
    *EXIT_HOOK.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
}

/// The files of the run are complete, and nothing is left to be done. Does not return once the run is being ended at once.
pub(crate) fn files_are_complete() {
    supervision::run_is_over();
    EXIT_HOOK.lock().unwrap_or_else(PoisonError::into_inner).take();
}

/// The same for a supervisor, which ends the process itself.
#[cfg(target_os = "linux")]
pub(crate) fn run_is_over() {
    if let Ok(mut hook) = EXIT_HOOK.try_lock() {
        hook.take();
    }
}

fn is_running() -> bool {
    EXIT_HOOK.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// True once the user wants the run to end.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed) > 0 || supervision::is_asked()
}
