//! The reference: signals that runs are compared with.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use koppel::record::{Record, Recorder, Trajectory};
use koppel::run::{Flow, Parallel, Run};
use koppel::signal::Bounds;
use koppel_io::results::Table;
use koppel_io::system_file::Place;
use koppel_session::{MONOLITH, Session, monolith};

use crate::settings::ReferenceKind;

/// What runs are compared with.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReferenceSignals {
    pub(super) signals: Trajectory,
    /// Where each signal lies.
    pub(super) bounds: Vec<Bounds>,
}

impl ReferenceSignals {
    fn new(signals: Trajectory) -> Self {
        ReferenceSignals { bounds: signals.bounds(), signals }
    }

    fn size(&self) -> usize {
        self.signals.times.len() * (1 + self.signals.width())
    }
}

/// Takes some of the recorded columns.
struct Selection {
    columns: Vec<usize>,
    kept: Trajectory,
}

impl Recorder for Selection {
    fn row(&mut self, time: f64, values: &[f64]) -> koppel::Result<()> {
        let kept: Vec<f64> = self.columns.iter().map(|at| values[*at]).collect();
        self.kept.row(time, &kept)
    }
}

fn record(mut run: Run, names: &[String]) -> Result<ReferenceSignals, String> {
    let known: Vec<&str> = run.columns().iter().map(|column| column.name.as_str()).collect();
    let find = |name: &String| known.iter().position(|known| known == name);
    let columns = names.iter().map(|name| find(name).ok_or_else(|| format!("it does not know `{name}`")));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let mut keeping = Selection { columns, kept: Trajectory::default() };
    run.run(&mut keeping, &mut |_| Ok(Flow::Continue)).map_err(|error| error.to_string())?;
    Ok(ReferenceSignals::new(keeping.kept))
}

fn of_table(table: &Table, names: &[String]) -> Result<ReferenceSignals, String> {
    let column = |name: &String| table.column(name).ok_or_else(|| format!("it has no column `{name}`"));
    let columns = names.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let row = |at: usize| columns.iter().map(|column| column[at]).collect();
    let rows = (0..table.time.len()).map(row).collect();
    Ok(ReferenceSignals::new(Trajectory { times: table.time.clone(), rows }))
}

type Slot = Arc<OnceLock<Result<Arc<ReferenceSignals>, String>>>;

/// References by what they depend on; each is made once while it is needed.
pub(super) struct Store {
    kind: ReferenceKind,
    system: Session,
    signals: Vec<String>,
    kept: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
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
    pub(super) fn reference(&self, values: &[(&Place, &str)]) -> Result<Arc<ReferenceSignals>, String> {
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

    fn make(&self, values: &[(&Place, &str)]) -> Result<ReferenceSignals, String> {
        let words = |error: Box<koppel_io::Error>| super::one_line(&error);
        match &self.kind {
            ReferenceKind::File { table, .. } => of_table(table, &self.signals),
            ReferenceKind::Monolithic { solver } => {
                let session = self.system.with(values, "reference").map_err(words)?;
                let names: Vec<String> =
                    self.signals.iter().map(|name| format!("{}.{name}", MONOLITH)).collect();
                record(monolith(&session, *solver, &self.signals).map_err(words)?, &names)
            }
            ReferenceKind::Settings(_) => {
                let mut session = self.system.with(values, "reference").map_err(words)?;
                session.spec.run.threads = Parallel::Never;
                session.spec.run.record = Record::Many(self.signals.clone());
                session.spec.run.record_every = 1;
                session.spec.run.record_events = false;
                record(session.build_run().map_err(words)?, &self.signals)
            }
        }
    }
}
