//! Rows of `koppel tune` are run on copies of the system before they are recommended or written.

use koppel::plan::tune::Tuning;
use koppel_session::{Session, Verified};

use super::progress::Progress;
use crate::arguments::TuneArguments;
use crate::execution;
use crate::failure::{Failure, Result};
use crate::output;

/// Rows that are run until one keeps its error.
const TRIES: usize = 4;

/// What runs of copies have shown.
pub(crate) struct Verification {
    /// The row that is recommended, or was asked for: a run has confirmed it.
    pub(crate) row: Option<usize>,
    /// What its run has shown.
    pub(crate) confirmed: Option<Verified>,
    /// Rows that were run in vain, and why.
    pub(crate) refused: Vec<(usize, String)>,
}

impl Verification {
    /// Runs the row that was asked for; else the cheapest that is predicted to keep the error, and then more accurate ones.
    pub(super) fn of(
        arguments: &TuneArguments,
        session: &Session,
        found: &Tuning,
        progress: &Progress,
    ) -> Result<Self> {
        let mut verification = Verification { row: None, confirmed: None, refused: Vec::new() };
        let rows = rows(found, arguments)?;
        for row in rows.into_iter().take(TRIES) {
            progress.report(&format!("a run of row {}", row + 1));
            let one = &found.front[row];
            // Of a row that was asked for by its number the predicted error is to hold.
            let limit = one.score.error.filter(|error| error.is_finite()).unwrap_or(0.0).max(arguments.error);
            let verified = Verified::of(session, &one.candidate, &mut |_| !execution::is_asked());
            match verified.and_then(|verified| verified.keeps(limit).map(|()| verified)) {
                Ok(verified) => {
                    (verification.row, verification.confirmed) = (Some(row), Some(verified));
                    break;
                }
                Err(reason) => verification.refused.push((row, reason)),
            }
        }
        Ok(verification)
    }

    /// The row to write, or why none is written.
    pub(super) fn to_apply(&self, found: &Tuning, wanted: f64) -> Result<usize> {
        if let Some(row) = self.row {
            return Ok(row);
        }
        if let Some((row, reason)) = self.refused.first() {
            let message = format!("nothing was written: row {}: {reason}", row + 1);
            return Err(Failure::words(message, "take a smaller --error, or --apply N for another row"));
        }
        let error = |row: &usize| found.front[*row].score.error.unwrap_or(f64::INFINITY);
        let best = (0..found.front.len()).min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or(0);
        let (wanted, best_error) = (100.0 * wanted, output::significant(100.0 * error(&best), 2));
        let message = format!("nothing was written: no settings meet the error target of {wanted} %");
        let hint = format!(
            "row {} is the most accurate with {best_error} %: --apply {}, or a larger --error",
            best + 1,
            best + 1
        );
        Err(Failure::words(message, hint))
    }
}

/// Rows in the order in which they are run.
fn rows(found: &Tuning, arguments: &TuneArguments) -> Result<Vec<usize>> {
    let count = found.front.len();
    if let Some(Some(number)) = arguments.apply {
        if number > count {
            let message = format!("--apply {number}: there is no such row");
            return Err(Failure::words(message, format!("the table has rows 1 to {count}")));
        }
        return Ok(vec![number - 1]);
    }
    let Some(chosen) = found.choice(arguments.error) else { return Ok(Vec::new()) };
    let error = |row: usize| found.front[row].score.error.unwrap_or(f64::INFINITY);
    // More accurate ones are dearer; each next one has at most half the error.
    let mut rows = vec![chosen];
    for row in chosen + 1..count {
        let least = rows.iter().map(|row| error(*row)).fold(f64::INFINITY, f64::min);
        if error(row) <= 0.5 * least {
            rows.push(row);
        }
    }
    Ok(rows)
}
