//! Settings in the place of `auto`, before a command goes on.

use koppel::plan::Basis;
use koppel_io::system_file::SystemFile;

use super::progress::Told;
use crate::failure::{Result, note};
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
pub(super) fn choose(file: &mut SystemFile, tell: Tell) -> Result<()> {
    let told = Told::new("choosing");
    let is_asked = file.is_asked();
    let Some(choice) = file.choose_settings(&|what| told.about(what))? else { return Ok(()) };
    // Where nobody asked and nothing is known, the run is as it always was; the summary says why.
    if is_asked || choice.basis != Basis::Nothing {
        choice.warnings.iter().for_each(|text| note("warning", text));
    }
    if tell == Tell::All {
        explanation(choice).iter().for_each(|(kind, text)| note(kind, text));
    }
    Ok(())
}
