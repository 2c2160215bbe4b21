//! What a study leaves in its folder.
//!
//! | file                     | what                                                                    |
//! | ------------------------ | ----------------------------------------------------------------------- |
//! | `runs.log`               | finished runs in the order in which they ended; what a study resumes from |
//! | `runs.csv`, `.parquet`   | one row per run                                                         |
//! | `analysis/MEASURE/*.csv` | tables                                                                  |
//! | `analysis/MEASURE/*.svg` | pictures                                                                |
//! | `index.html`             | all of it on one page                                                   |

mod measure;

use std::fs;
use std::path::{Path, PathBuf};

use koppel::signal::Bounds;
use koppel_io::Error as Io;
use koppel_io::report::{Report, Section, write_report};
use koppel_io::results::{Cells, write_cells, write_whole};

use crate::analysis::{Data, short};
use crate::error::{Error, Result};
use crate::log::{self, Header, Row};
use crate::settings::Scale;

/// What was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// Tables of runs.
    pub tables: Vec<PathBuf>,
    /// The page.
    pub page: PathBuf,
    /// The best run by each analysed measure: name, run, value.
    pub best: Vec<(String, u64, f64)>,
}

/// Looks at the study in a folder again.
///
/// # Errors
///
/// If there is none, or a file cannot be written.
pub fn analyse(folder: &Path) -> Result<(Header, Vec<Row>, Written)> {
    let contents = log::read(folder)?.ok_or_else(|| Error::NoStudy { folder: folder.into() })?;
    let mut rows = contents.rows;
    koppel::sort::sort_by_key(&mut rows, |row| row.run);
    let written = write_results(folder, &contents.header, &rows)?;
    Ok((contents.header, rows, written))
}

/// Writes tables, pictures and the page of these runs, which are sorted.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_results(folder: &Path, header: &Header, rows: &[Row]) -> Result<Written> {
    let data = Data::new(header, rows)?;
    let mut written = Written { page: folder.join("index.html"), ..Written::default() };
    let columns = columns(&data, rows);
    let mut names = vec!["runs.csv"];
    if cfg!(feature = "parquet") {
        names.push("runs.parquet");
    }
    for name in names {
        let path = folder.join(name);
        write_cells(&path, &columns)?;
        written.tables.push(path);
    }
    let mut report = overview(header, &data, rows);
    for name in &header.analysis.measures {
        let Some((entry, values)) = data.measure(name) else { continue };
        let found = measure::analyse(&data, entry, values, &header.analysis);
        let own = folder.join("analysis").join(file_name(name));
        fs::create_dir_all(&own).map_err(|error| Error::File(Io::io("create", &own)(error)))?;
        for (file, text) in &found.files {
            write_whole(&own.join(file), text)?;
        }
        if let Some((run, value)) = found.best {
            written.best.push((name.clone(), run, value));
        }
        report.sections.extend(found.sections);
    }
    write_report(&written.page, &report)?;
    Ok(written)
}

/// The table of these runs, which are sorted: number, factors, measures, failure.
///
/// # Errors
///
/// If the header is damaged.
pub fn table(header: &Header, rows: &[Row]) -> Result<Vec<(String, Cells)>> {
    Ok(columns(&Data::new(header, rows)?, rows))
}

fn columns(data: &Data, rows: &[Row]) -> Vec<(String, Cells)> {
    let mut columns = vec![("run".to_owned(), Cells::Whole(data.runs.clone()))];
    for factor in &data.factors {
        let cells = match factor.scale {
            Scale::Names => Cells::Texts(factor.labels.iter().cloned().map(Some).collect()),
            _ => Cells::Numbers(factor.numbers.clone()),
        };
        columns.push((factor.name.clone(), cells));
    }
    for (entry, values) in &data.measures {
        columns.push((entry.name.clone(), Cells::Numbers(values.clone())));
    }
    columns.push(("failure".to_owned(), Cells::Texts(rows.iter().map(|row| row.failure.clone()).collect())));
    if rows.iter().any(|row| row.ended_by.is_some()) {
        let names = rows.iter().map(|row| row.ended_by.clone()).collect();
        columns.push(("ended_by".to_owned(), Cells::Texts(names)));
    }
    columns
}

fn overview(header: &Header, data: &Data, rows: &[Row]) -> Report {
    let failed: Vec<&Row> = rows.iter().filter(|row| row.failure.is_some()).collect();
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let kind = serde_json::to_value(header.plan.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
    let factors = data.factors.iter().zip(&header.factors).map(|(factor, entry)| {
        let shown = factor.shown();
        let values = match shown.as_slice() {
            [first, .., last] if factor.is_binned => format!("drawn, {first} to {last}"),
            [first, .., last] if shown.len() > 12 => format!("{first} to {last}"),
            levels => levels.join(", "),
        };
        vec![factor.name.clone(), entry.paths.join(", "), factor.levels.len().to_string(), values]
    });
    let head = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut sections = vec![Section::Table {
        title: "Factors".into(),
        header: head(&["factor", "setting", "levels", "values"]),
        rows: factors.collect(),
        note: None,
    }];
    let statistics = data.measures.iter().map(|(entry, values)| {
        let known: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let Bounds { low, high } = Bounds::of(known.iter().copied());
        vec![entry.name.clone(), known.len().to_string(), short(low), short(mean), short(high)]
    });
    sections.push(Section::Table {
        title: "Measures".into(),
        header: head(&["measure", "runs", "smallest", "mean", "largest"]),
        rows: statistics.collect(),
        note: None,
    });
    if !failed.is_empty() {
        sections.push(Section::Table {
            title: "Failed runs".into(),
            header: head(&["failure", "runs", "first run"]),
            rows: kinds_of_failures(&failed),
            note: Some("Numbers in the text are left out here; runs.csv tells every failure in full.".into()),
        });
    }
    Report {
        title: header.title.clone(),
        generated_by: format!("koppel {} study", header.koppel),
        summary: vec![
            fact("plan", kind.unwrap_or_default()),
            fact("runs", format!("{} of {}", rows.len(), header.runs)),
            fact("failed", failed.len().to_string()),
            fact("seed", header.plan.seed.to_string()),
        ],
        sections,
    }
}

/// Failures that differ in nothing but numbers count as one.
fn kinds_of_failures(failed: &[&Row]) -> Vec<Vec<String>> {
    const MOST: usize = 20;
    let mut kinds: Vec<(String, usize, u64)> = Vec::new();
    for row in failed {
        let mut kind = String::new();
        for word in row.failure.as_deref().unwrap_or_default().split(' ') {
            let is_number = word.trim_end_matches([',', ':', ';']).parse::<f64>().is_ok();
            kind.push_str(if is_number { "#" } else { word });
            kind.push(' ');
        }
        match kinds.iter_mut().find(|(known, _, _)| *known == kind) {
            Some((_, count, _)) => *count += 1,
            None => kinds.push((kind, 1, row.run)),
        }
    }
    koppel::sort::sort_by_key(&mut kinds, |(_, count, first)| (std::cmp::Reverse(*count), *first));
    kinds
        .into_iter()
        .take(MOST)
        .map(|(kind, count, first)| vec![kind, count.to_string(), first.to_string()])
        .collect()
}

/// A name that any file system takes, another one for every name.
pub(crate) fn file_name(name: &str) -> String {
    let one = |c: char| match c.is_alphanumeric() || "._-".contains(c) {
        true => c.to_string(),
        false => format!("~{:x}", u32::from(c)),
    };
    name.chars().map(one).collect()
}
