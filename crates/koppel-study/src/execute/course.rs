//! The reference: courses of signals that runs are compared with.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use koppel::record::{Record, Recorder};
use koppel::run::{Flow, Parallel, Run};
use koppel_io::results::Table;
use koppel_io::system_file::Place;
use koppel_session::{MONOLITH, Session};

use crate::settings::ReferenceKind;

/// Signals over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Course {
    times: Vec<f64>,
    /// By signal.
    columns: Vec<Vec<f64>>,
    /// Largest less smallest value.
    pub(super) ranges: Vec<f64>,
    /// Largest absolute value.
    pub(super) largest: Vec<f64>,
}

/// A moment between two rows of a course.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    row: usize,
    /// Share of the next row.
    part: f64,
}

/// Rows closer than this, as a share of their distance, are at the same time.
const SAME: f64 = 1e-6;

impl Course {
    fn new(times: Vec<f64>, columns: Vec<Vec<f64>>) -> Self {
        let extremes = |column: &Vec<f64>| {
            column
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
        };
        let ranges = columns.iter().map(extremes).map(|(low, high)| (high - low).max(0.0)).collect();
        let largest = columns.iter().map(|c| c.iter().fold(0.0, |most: f64, v| most.max(v.abs()))).collect();
        Course { times, columns, ranges, largest }
    }

    /// Where a time lies; `from` is the row found last. None beyond the ends.
    pub(super) fn moment(&self, time: f64, from: usize) -> Option<Moment> {
        let last = self.times.len().checked_sub(1)?;
        let mut row = from.min(last);
        while row < last && self.times[row + 1] <= time {
            row += 1;
        }
        while row > 0 && self.times[row] > time {
            row -= 1;
        }
        let distance = match row {
            row if row < last => self.times[row + 1] - self.times[row],
            // Where a change is, a time may stand twice.
            _ => {
                let before = self.times[..last].iter().rfind(|time| **time < self.times[last]);
                before.map_or(1.0, |before| self.times[last] - before)
            }
        };
        match (time - self.times[row]) / distance {
            part if part.abs() <= SAME => Some(Moment { row, part: 0.0 }),
            part if part >= 1.0 - SAME && row < last => Some(Moment { row: row + 1, part: 0.0 }),
            part if part > 0.0 && row < last => Some(Moment { row, part }),
            _ => None,
        }
    }

    /// Value of a signal; between two rows on the line through them.
    pub(super) fn value(&self, column: usize, at: Moment) -> f64 {
        let values = &self.columns[column];
        match at.part {
            0.0 => values[at.row],
            part => values[at.row] + part * (values[at.row + 1] - values[at.row]),
        }
    }

    pub(super) fn end(&self) -> f64 {
        self.times.last().copied().unwrap_or(f64::NAN)
    }

    fn size(&self) -> usize {
        self.times.len() * (1 + self.columns.len())
    }
}

impl Moment {
    pub(super) fn row(self) -> usize {
        self.row
    }
}

/// Takes some of the recorded columns.
struct Keeping {
    columns: Vec<usize>,
    times: Vec<f64>,
    kept: Vec<Vec<f64>>,
}

impl Recorder for Keeping {
    fn row(&mut self, time: f64, values: &[f64]) -> koppel::Result<()> {
        self.times.push(time);
        self.columns.iter().zip(&mut self.kept).for_each(|(at, column)| column.push(values[*at]));
        Ok(())
    }
}

fn record(mut simulation: Run, names: &[String]) -> Result<Course, String> {
    let known: Vec<&str> = simulation.columns().iter().map(|column| column.name.as_str()).collect();
    let find = |name: &String| known.iter().position(|known| known == name);
    let columns = names.iter().map(|name| find(name).ok_or_else(|| format!("it does not know `{name}`")));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let mut keeping = Keeping { kept: vec![Vec::new(); columns.len()], columns, times: Vec::new() };
    simulation.run(&mut keeping, &mut |_| Ok(Flow::Continue)).map_err(|error| error.to_string())?;
    Ok(Course::new(keeping.times, keeping.kept))
}

fn of_table(table: &Table, names: &[String]) -> Result<Course, String> {
    let column = |name: &String| {
        table.column(name).map(<[f64]>::to_vec).ok_or_else(|| format!("it has no column `{name}`"))
    };
    Ok(Course::new(table.time.clone(), names.iter().map(column).collect::<Result<_, _>>()?))
}

type Slot = Arc<OnceLock<Result<Arc<Course>, String>>>;

/// References by what they depend on; each is made once while it is needed.
pub(super) struct Store {
    kind: ReferenceKind,
    system: Session,
    signals: Vec<String>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_key: HashMap<String, Slot>,
    /// Oldest first.
    order: VecDeque<String>,
}

/// Most numbers that are kept: 64 MB.
const MOST_NUMBERS: usize = 8_000_000;
/// Most references that are kept.
const MOST_KEPT: usize = 4096;

impl Store {
    pub(super) fn new(kind: ReferenceKind, system: Session, signals: Vec<String>) -> Self {
        Store { kind, system, signals, kept: Mutex::default() }
    }

    /// The reference of a run with these values. A reference does not depend on settings of the coupling.
    pub(super) fn course(&self, values: &[(&Place, &str)]) -> Result<Arc<Course>, String> {
        let is_monolithic = matches!(&self.kind, ReferenceKind::Monolithic { .. });
        let replaced: &[(Place, String)] = match &self.kind {
            ReferenceKind::Settings(settings) => settings,
            _ => &[],
        };
        let concerns = |(place, _): &&(&Place, &str)| {
            let is_replaced = replaced.iter().any(|(own, _)| own.name() == place.name());
            (!place.is_about_coupling() && !is_replaced) || (is_monolithic && place.is_of_run("step"))
        };
        let mut own: Vec<(&Place, &str)> = match &self.kind {
            ReferenceKind::File { .. } => Vec::new(),
            _ => values.iter().filter(concerns).copied().collect(),
        };
        let key = own.iter().map(|(place, text)| format!("{}={text}\n", place.name())).collect::<String>();
        let slot = self.slot(key);
        let made = slot.get_or_init(|| {
            own.extend(replaced.iter().map(|(place, text)| (place, text.as_str())));
            self.make(&own).map(Arc::new)
        });
        made.clone().map_err(|error| format!("the reference failed: {error}"))
    }

    fn slot(&self, key: String) -> Slot {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = kept.by_key.get(&key) {
            return slot.clone();
        }
        let size = |slot: &Slot| slot.get().and_then(|made| made.as_ref().ok()).map_or(0, |c| c.size());
        while kept.order.len() >= MOST_KEPT || kept.by_key.values().map(size).sum::<usize>() > MOST_NUMBERS {
            let Some(oldest) = kept.order.pop_front() else { break };
            kept.by_key.remove(&oldest);
        }
        let slot = Slot::default();
        kept.order.push_back(key.clone());
        kept.by_key.insert(key, slot.clone());
        slot
    }

    fn make(&self, values: &[(&Place, &str)]) -> Result<Course, String> {
        let words = |error: Box<koppel_io::Error>| super::one_line(&error);
        match &self.kind {
            ReferenceKind::File { table, .. } => of_table(table, &self.signals),
            ReferenceKind::Monolithic { solver } => {
                let session = self.system.with(values, "reference").map_err(words)?;
                let names: Vec<String> =
                    self.signals.iter().map(|name| format!("{}.{name}", MONOLITH)).collect();
                record(session.monolith(*solver, &self.signals).map_err(words)?, &names)
            }
            ReferenceKind::Settings(_) => {
                let mut session = self.system.with(values, "reference").map_err(words)?;
                session.spec.run.threads = Parallel::Never;
                session.spec.run.record = Record::Many(self.signals.clone());
                session.spec.run.record_every = 1;
                session.spec.run.record_events = false;
                record(session.simulation().map_err(words)?, &self.signals)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_a_line_between_rows_and_ends_at_its_ends() {
        let course = Course::new(vec![0.0, 0.1, 0.3], vec![vec![0.0, 1.0, -1.0]]);
        let at = |time| course.moment(time, 0).map(|moment| course.value(0, moment));
        assert_eq!(at(0.0), Some(0.0));
        assert_eq!(at(0.1 + 1e-12), Some(1.0));
        assert!((at(0.2).unwrap()).abs() < 1e-12);
        assert_eq!(at(0.3 + 1e-12), Some(-1.0));
        assert!(at(0.31).is_none() && at(-0.01).is_none());
        assert_eq!((course.ranges[0], course.largest[0], course.end()), (2.0, 1.0, 0.3));
        let changed = Course::new(vec![0.0, 0.1, 0.1], vec![vec![0.0, 1.0, -1.0]]);
        assert_eq!(changed.moment(0.1, 0).map(|moment| changed.value(0, moment)), Some(-1.0));
    }
}
