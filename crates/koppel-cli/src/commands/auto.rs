//! Settings in the place of `auto`, before a command goes on.

use koppel_session::Session;

use super::progress::Progress;
use crate::failure::{Result, note, show_remark};
use crate::output::explanation;

/// Whether everything that was tried is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Only what to be careful about.
    Warnings,
    /// Everything.
    All,
}

/// Chooses what is open.
pub(super) fn choose(session: &mut Session, how: Detail) -> Result<()> {
    let progress = Progress::new("choosing");
    let choice = session.choose(&|what| progress.report(what), &show_remark)?;
    if let Some(choice) = choice.filter(|_| how == Detail::All) {
        explanation(choice).iter().for_each(|(kind, text)| note(kind, text));
    }
    Ok(())
}
