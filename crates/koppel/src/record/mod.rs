//! What is kept of a run: which columns, and where the rows go.

mod channel;
mod columns;
mod condition;
pub mod expression;
mod table;

pub use channel::Channel;
pub use columns::{Column, Columns, Record, Source};
pub use condition::Condition;
pub use table::Table;

use crate::error::Result;

/// Takes the rows of a run.
pub trait Recorder: Send {
    /// One row: the time, and one value per column.
    fn row(&mut self, time: f64, values: &[f64]) -> Result<()>;
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Recorder for Nothing {
    fn row(&mut self, _time: f64, _values: &[f64]) -> Result<()> {
        Ok(())
    }
}
