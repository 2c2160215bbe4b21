//! Numbers besides variables that can be recorded.

/// A number of the coupling that can be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Name; the column is called `coupling.` and this.
    pub name: String,
    /// One line about it.
    pub description: String,
    /// Whether it is recorded unasked.
    pub is_recorded: bool,
}

impl Channel {
    /// One that is recorded if it is asked for.
    pub(crate) fn new(name: String, description: &str) -> Self {
        Channel { name, description: description.into(), is_recorded: false }
    }
}
