//! Results that are larger than anybody means, and runs that take longer: reported before the disk, the memory or the day is full.

use koppel::diagnostic::Remark;
use std::path::Path;
use std::time::Duration;

use super::nearby;
use crate::output::{bytes, duration};

/// Bytes of a file from which on it is reported.
const LARGE_FILE: u64 = 10_000_000_000;
/// Bytes of memory from which on a report is.
const LARGE_PAGE: u64 = 2_000_000_000;
/// Bytes of a number in CSV, about.
const IN_TEXT: u64 = 19;
/// Bytes of a number elsewhere.
const IN_BINARY: u64 = 8;

/// What is to be said of so many rows of so many numbers each.
pub(super) fn warning(rows: u64, numbers: usize, out: Option<&Path>, has_report: bool) -> Option<Remark> {
    let count = rows.saturating_mul(numbers as u64);
    let remark = |what: String, size: u64| {
        Remark::new(
            format!("{what} {rows} rows of {numbers} numbers, about {}", bytes(size)),
            "fewer rows with --record-every N, fewer columns with --record NAMES, or a longer step",
        )
    };
    if let Some(out) = out {
        let is_text = out.extension().is_some_and(|extension| extension == "csv");
        let size = count.saturating_mul(if is_text { IN_TEXT } else { IN_BINARY });
        if size > LARGE_FILE {
            return Some(remark(format!("`{}` will have", nearby(out).display()), size));
        }
    }
    let size = count.saturating_mul(IN_BINARY);
    (has_report && size > LARGE_PAGE).then(|| remark("the report keeps in memory".into(), size))
}

/// Time in s that one subsystem takes for one step at the very least.
const LEAST: f64 = 20e-9;
/// A run that takes longer than this at the very least is reported, in s.
const LONG: f64 = 60.0;

/// What is to be said of a run of so many steps.
pub(super) fn long_run(steps: u64, step: f64, subsystems: usize) -> Option<Remark> {
    let least = steps as f64 * subsystems as f64 * LEAST;
    (least > LONG).then(|| {
        let least = duration(Duration::from_secs_f64(least));
        Remark::new(
            format!("this run has {steps} macro steps of {step} s: it takes {least} at the very least"),
            "choose a longer step with --step, or an earlier end with --stop; Ctrl-C ends the run and keeps its rows",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_take_very_long_are_told() {
        assert_eq!(long_run(100_000_000, 1e-6, 7), None);
        let remark = long_run(10_000_000_000, 1e-9, 2).unwrap();
        assert!(
            remark
                .text
                .starts_with("this run has 10000000000 macro steps of 0.000000001 s: it takes 6.67 min"),
            "{remark}"
        );
        assert!(long_run(u64::MAX, 1e-12, 100).is_some());
    }

    #[test]
    fn only_what_is_large_is_told() {
        let csv = Some(Path::new("r.csv"));
        assert_eq!(warning(1_000_000, 100, csv, true), None);
        let remark = warning(1_000_000_001, 8, csv, true).unwrap();
        assert!(remark.text.ends_with("will have 1000000001 rows of 8 numbers, about 152 GB"), "{remark}");
        assert_eq!(warning(100_000_000, 8, Some(Path::new("r.parquet")), false), None);
        let remark = warning(100_000_000, 8, None, true).unwrap();
        assert!(
            remark.text.starts_with("the report keeps in memory 100000000 rows of 8 numbers, about 6.4 GB"),
            "{remark}"
        );
        assert_eq!(warning(u64::MAX, 8, None, false), None, "nothing is kept");
    }
}
