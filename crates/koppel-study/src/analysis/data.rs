//! Factors and measures of finished runs as columns.

use crate::design::Design;
use crate::error::{Error, Result};
use crate::log::{FactorEntry, Header, MeasureEntry, Row};
use crate::settings::{Factor, Scale};
use koppel::signal::Bounds;

/// One value of a factor, or a bin of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// For tables and plots.
    pub label: String,
    /// If it is a number; of a bin, its middle.
    pub number: Option<f64>,
}

/// One factor of all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorData {
    /// Name of its column.
    pub name: String,
    /// How it is spaced.
    pub scale: Scale,
    /// Its values in order.
    pub levels: Vec<Level>,
    /// The value of each run among them.
    pub at: Vec<usize>,
    /// The value of each run as text.
    pub labels: Vec<String>,
    /// And as a number; NaN if it is none.
    pub numbers: Vec<f64>,
    /// True if levels are bins of values that were drawn.
    pub is_binned: bool,
}

impl FactorData {
    /// Labels of the levels for readers; numbers with few digits.
    #[must_use]
    pub fn shown(&self) -> Vec<String> {
        let label = |level: &Level| match level.number {
            Some(number) if !self.is_binned => short(number),
            _ => level.label.clone(),
        };
        self.levels.iter().map(label).collect()
    }
}

/// Columns of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Numbers of the runs.
    pub runs: Vec<u64>,
    /// What was varied.
    pub factors: Vec<FactorData>,
    /// What was measured.
    pub measures: Vec<(MeasureEntry, Vec<f64>)>,
}

/// Bins of a factor that was drawn.
const BINS: usize = 10;

impl Data {
    /// The columns of these runs.
    ///
    /// # Errors
    ///
    /// If the plan cannot be counted.
    pub fn new(header: &Header, rows: &[Row]) -> Result<Self> {
        let factor = |entry: &FactorEntry| Factor {
            name: entry.name.clone(),
            places: Vec::new(),
            source: entry.source.clone(),
            span: 0..0,
        };
        let factors: Vec<Factor> = header.factors.iter().map(factor).collect();
        let design = Design::new(&factors, &header.plan).ok_or(Error::Countless)?;
        let mut columns: Vec<Column> = header.factors.iter().map(|_| Column::default()).collect();
        for row in rows {
            for (cell, column) in design.cells(row.run).into_iter().zip(&mut columns) {
                column.at.push(cell.level);
                column.labels.push(cell.value.label);
                column.numbers.push(cell.value.number.unwrap_or(f64::NAN));
            }
        }
        let measures = header.measures.iter().enumerate();
        let measures =
            measures.map(|(k, entry)| (entry.clone(), rows.iter().map(|row| row.values[k]).collect()));
        Ok(Data {
            runs: rows.iter().map(|row| row.run).collect(),
            factors: header.factors.iter().zip(columns).map(|(entry, column)| column.finish(entry)).collect(),
            measures: measures.collect(),
        })
    }

    /// The values of a measure.
    #[must_use]
    pub fn measure(&self, name: &str) -> Option<&(MeasureEntry, Vec<f64>)> {
        self.measures.iter().find(|(entry, _)| entry.name == name)
    }
}

#[derive(Default)]
struct Column {
    at: Vec<Option<usize>>,
    labels: Vec<String>,
    numbers: Vec<f64>,
}

impl Column {
    fn finish(self, entry: &FactorEntry) -> FactorData {
        let Column { at, labels, numbers } = self;
        let (name, scale) = (entry.name.clone(), entry.scale);
        let known = entry.source.levels().filter(|_| at.iter().all(Option::is_some));
        if let Some(values) = known {
            let level =
                |value: &crate::settings::Value| Level { label: value.label.clone(), number: value.number };
            let levels = values.iter().map(level).collect();
            let at = at.into_iter().flatten().collect();
            return FactorData { name, scale, levels, at, labels, numbers, is_binned: false };
        }
        let (levels, at) = bins(&numbers, scale == Scale::Logarithmic);
        FactorData { name, scale, levels, at, labels, numbers, is_binned: true }
    }
}

/// Bins of equal width between the smallest and the largest number, or by their logarithm.
fn bins(numbers: &[f64], is_log: bool) -> (Vec<Level>, Vec<usize>) {
    let forth = |number: f64| if is_log { number.ln() } else { number };
    let back = |number: f64| if is_log { number.exp() } else { number };
    let Bounds { low, high } = Bounds::of(numbers.iter().copied().map(forth));
    let width = (high - low) / BINS as f64;
    if numbers.is_empty() || width.is_nan() || width <= 0.0 {
        let level = Level {
            label: numbers.first().map_or(String::new(), f64::to_string),
            number: numbers.first().copied(),
        };
        return (vec![level], vec![0; numbers.len()]);
    }
    let level = |k: usize| {
        let (from, to) = (back(low + k as f64 * width), back(low + (k + 1) as f64 * width));
        let middle = back(low + (k as f64 + 0.5) * width);
        Level { label: format!("{}..{}", short(from), short(to)), number: Some(middle) }
    };
    let at = |number: &f64| (((forth(*number) - low) / width) as usize).min(BINS - 1);
    ((0..BINS).map(level).collect(), numbers.iter().map(at).collect())
}

/// Four significant digits.
pub(crate) fn short(value: f64) -> String {
    koppel_io::number::significant(value, 4)
}
