//! Settings of MOESP as plain data.

use crate::error::{Result, bad};
use serde::{Deserialize, Serialize};

/// Highest order that is found by singular values, unless `rows` allows more.
const HIGHEST_ORDER: usize = 8;

/// Largest order and number of block rows, and longest window: a guard against slips of the pen, far beyond what is useful.
const MOST_ROWS: usize = 1000;
const LONGEST_WINDOW: usize = 10_000_000;

/// Settings of MOESP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MoespConfig {
    /// Order; by the largest gap between singular values if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<usize>,
    /// Samples in the window.
    pub window: usize,
    /// Block rows r; two more than the order needs if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
}

impl Default for MoespConfig {
    fn default() -> Self {
        MoespConfig { order: None, window: 500, rows: None }
    }
}

impl MoespConfig {
    /// Block rows for a subsystem with so many outputs.
    pub(crate) fn block_rows(&self, outputs: usize) -> usize {
        let order = self.order.unwrap_or(HIGHEST_ORDER);
        self.rows.unwrap_or(order.div_ceil(outputs.max(1)) + 2)
    }

    /// Columns of the data of a subsystem.
    pub(crate) fn columns(&self, inputs: usize, outputs: usize) -> usize {
        1 + self.block_rows(outputs) * (inputs + outputs)
    }

    /// Refuses sizes that no subsystem needs.
    pub(crate) fn check_limits(&self) -> Result<()> {
        let limits = [
            ("model.order", self.order.unwrap_or(0), MOST_ROWS),
            ("model.rows", self.rows.unwrap_or(0), MOST_ROWS),
            ("model.window", self.window, LONGEST_WINDOW),
        ];
        match limits.into_iter().find(|(_, value, most)| value > most) {
            None => Ok(()),
            Some((what, value, most)) => Err(bad(what, value, &format!("must be at most {most}"))),
        }
    }

    /// Refuses settings that make no sense for a subsystem of this size.
    pub(crate) fn check(&self, name: &str, inputs: usize, outputs: usize) -> Result<()> {
        let rows = self.block_rows(outputs);
        let most = rows.saturating_sub(1) * outputs;
        if rows < 2 {
            return Err(bad("model.rows", rows, "must be at least 2"));
        }
        if let Some(order) = self.order.filter(|order| *order > most && outputs > 0) {
            let problem = format!(
                "is too high for `{name}`: {rows} block rows show at most order {most}; raise `rows`"
            );
            return Err(bad("model.order", order, &problem));
        }
        let least = 2 * self.columns(inputs, outputs);
        if self.window < least {
            let problem = format!(
                "is too short for `{name}`: {rows} block rows of {inputs} inputs and {outputs} outputs need at least {least} samples"
            );
            return Err(bad("model.window", self.window, &problem));
        }
        Ok(())
    }
}
