//! Parts of a study joined.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::log::{self, Header, Row};

/// A study put together from parts.
#[derive(Clone, Debug)]
pub struct Merged {
    /// What the study is.
    pub header: Header,
    /// All runs, by number.
    pub rows: Vec<Row>,
    /// Numbers of missing runs, as ranges with both ends.
    pub gaps: Vec<(u64, u64)>,
    /// How many runs are missing.
    pub missing: u64,
    /// Runs that are in several parts.
    pub duplicates: u64,
    /// Damaged lines, whose runs count as missing.
    pub damaged: u64,
}

/// Joins the logs of several folders and writes the log of the whole into `folder`.
///
/// # Errors
///
/// If they are not parts of one study, or a run has different results in two of them.
pub fn merge(parts: &[PathBuf], folder: &Path) -> Result<Merged> {
    let mut whole: Option<(&PathBuf, Header)> = None;
    let mut rows: BTreeMap<u64, (&PathBuf, Row)> = BTreeMap::new();
    let (mut duplicates, mut damaged) = (0, 0);
    for part in parts {
        let contents = log::read(part)?.ok_or_else(|| Error::NoStudy { folder: part.clone() })?;
        if let Some((first, header)) = &whole {
            let what = header.differences(&contents.header);
            if !what.is_empty() {
                let (first, other) = ((*first).clone(), part.clone());
                return Err(Error::Different { first, other, what });
            }
        }
        damaged += contents.damaged;
        for row in contents.rows {
            match rows.get(&row.run) {
                None => {
                    rows.insert(row.run, (part, row));
                }
                Some((first, known)) if !is_same(&contents.header, known, &row) => {
                    let (first, other) = ((*first).clone(), part.clone());
                    return Err(Error::Contradiction { run: row.run, first, other });
                }
                Some(_) => duplicates += 1,
            }
        }
        whole.get_or_insert((part, contents.header));
    }
    let Some((_, header)) = whole else { return Err(Error::NoStudy { folder: folder.into() }) };
    let rows: Vec<Row> = rows.into_values().map(|(_, row)| row).collect();
    let gaps = gaps(&rows, header.runs);
    log::write(folder, &header, &rows)?;
    let missing = header.runs - rows.len() as u64;
    Ok(Merged { header, rows, gaps, missing, duplicates, damaged })
}

/// Bit for bit, but for times.
fn is_same(header: &Header, one: &Row, other: &Row) -> bool {
    let values = one.values.iter().zip(&other.values).zip(&header.measures);
    let is_equal = |((a, b), measure): ((&f64, &f64), &crate::log::MeasureEntry)| {
        !measure.is_repeatable || a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    };
    one.failure == other.failure && values.into_iter().all(is_equal)
}

fn gaps(rows: &[Row], runs: u64) -> Vec<(u64, u64)> {
    let mut gaps = Vec::new();
    let mut next = 0;
    for row in rows {
        if row.run > next {
            gaps.push((next, row.run - 1));
        }
        next = row.run + 1;
    }
    if next < runs {
        gaps.push((next, runs - 1));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_at_both_ends_and_between() {
        let row = |run| Row { run, values: Vec::new(), failure: None, ended_by: None };
        assert_eq!(gaps(&[row(2), row(3), row(6)], 9), [(0, 1), (4, 5), (7, 8)]);
        assert_eq!(gaps(&[], 3), [(0, 2)]);
        assert!(gaps(&[row(0), row(1)], 2).is_empty());
    }
}
