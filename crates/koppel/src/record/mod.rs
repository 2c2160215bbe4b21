//! What is kept of a run: which columns, and where the rows go.

mod channel;
mod columns;
mod condition;
mod trajectory;

pub use channel::Channel;
pub use columns::{Column, Columns, MessageColumn, Record, Source};
pub use condition::Condition;
pub use trajectory::{Moment, Trajectory};

use crate::error::Result;
use crate::system::Message;

/// Takes the rows of a run.
pub trait Recorder: Send {
    /// One row: the time, and one value per column.
    fn row(&mut self, time: f64, values: &[f64]) -> Result<()>;

    /// One row with texts and bytes, one per column of those. Who does not override it drops them.
    fn row_with(&mut self, time: f64, values: &[f64], messages: &[Message]) -> Result<()> {
        let _ = messages;
        self.row(time, values)
    }
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Recorder for Nothing {
    fn row(&mut self, _time: f64, _values: &[f64]) -> Result<()> {
        Ok(())
    }
}
