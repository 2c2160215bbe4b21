//! `confirm` below `[run]`: whether runs at other steps confirm the error of a run.

use super::mistake::Mark;
use super::tree::{Node, Value};

/// The key.
pub(super) const KEY: &str = "confirm";

/// Whether runs at other steps are made where no model tells the error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confirm {
    /// Never.
    Off,
    /// While the run and these take no more than a fixed number of step calls.
    #[default]
    Auto,
    /// Whatever it costs.
    Always,
}

impl Confirm {
    /// All of them, by name.
    pub const NAMES: [(&'static str, Confirm); 3] =
        [("off", Confirm::Off), ("auto", Confirm::Auto), ("always", Confirm::Always)];
}

/// Reads the key of `[run]`, if it is there.
pub(super) fn read(run: &Node) -> Result<Confirm, Mark> {
    let Some(node) = run.get(KEY) else { return Ok(Confirm::default()) };
    let Value::Text(name) = &node.value else {
        return Err(node.wanted(KEY, "\"off\", \"auto\" or \"always\""));
    };
    let found = Confirm::NAMES.iter().find(|(known, _)| known == name);
    found.map(|(_, confirm)| *confirm).ok_or_else(|| {
        Mark::unknown(node.span.clone(), KEY, name, &Confirm::NAMES.map(|(known, _)| known.to_owned()))
    })
}
