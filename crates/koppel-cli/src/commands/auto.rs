//! Settings in the place of `auto`, before a command goes on.

use koppel_session::Session;

use super::progress::Told;
use crate::failure::{Result, note, tell};
use crate::output::explanation;

/// Whether everything that was tried is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tell {
    /// Only what to be careful about.
    Warnings,
    /// Everything.
    All,
}

/// Chooses what is open.
pub(super) fn choose(session: &mut Session, how: Tell) -> Result<()> {
    let told = Told::new("choosing");
    let choice = session.choose(&|what| told.about(what), &tell)?;
    if let Some(choice) = choice.filter(|_| how == Tell::All) {
        explanation(choice).iter().for_each(|(kind, text)| note(kind, text));
    }
    Ok(())
}
