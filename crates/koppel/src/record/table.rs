//! A run's rows in memory.

use super::Recorder;
use crate::error::Result;

/// Times and rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Communication points.
    pub times: Vec<f64>,
    /// One row per time.
    pub rows: Vec<Vec<f64>>,
}

impl Table {
    /// One column over time.
    pub fn column(&self, index: usize) -> impl Iterator<Item = f64> + '_ {
        self.rows.iter().map(move |row| row[index])
    }
}

impl Recorder for Table {
    fn row(&mut self, time: f64, values: &[f64]) -> Result<()> {
        self.times.push(time);
        self.rows.push(values.to_vec());
        Ok(())
    }
}
