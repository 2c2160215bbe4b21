//! A study made ready: everything that all runs share is found, opened and checked once.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use koppel::diagnostic::Remark;
use koppel::record::{Column, Record, Source};
use koppel::system::VariableKind;
use koppel_fmi::{Fmu, KeepOpen};
use koppel_io::system_file::{Mark, Marks, Place, Span};
use koppel_io::{Error as Io, Result};
use koppel_session::{Kind, RunOptions, Session};

use super::meter::Follow;
use super::reference_signals::Store;
use crate::design::{Cell, Design};
use crate::settings::{MeasureKind, ReferenceKind, Study};

/// Everything that all runs share.
pub struct Prepared {
    pub(crate) study: Arc<Study>,
    pub(crate) design: Design,
    /// Recorded signals.
    pub(super) signals: Vec<String>,
    /// By measure.
    pub(super) follows: Vec<Option<usize>>,
    pub(super) list: Vec<Follow>,
    pub(super) references: Option<Store>,
    /// What is odd but allowed.
    pub warnings: Vec<Remark>,
    /// Warnings of runs since.
    later: Mutex<BTreeSet<Remark>>,
    /// No run unpacks or loads an FMU again.
    _open: KeepOpen,
    /// One run at a time: an FMU can be instantiated only once per process.
    pub(crate) is_single: bool,
}

/// Most warnings of runs that are shown.
const MOST_TOLD: usize = 20;
/// Longest time to look for values that cannot be built.
const PATIENCE: Duration = Duration::from_secs(2);
/// Runs that are tried to find one that can be built.
const TRIED: u64 = 64;

impl Prepared {
    /// Checks a study by building one of its runs and making one reference.
    ///
    /// # Errors
    ///
    /// If a factor, a measure or the reference does not fit the system.
    pub fn new(study: Arc<Study>, design: Design) -> Result<Self> {
        let open = KeepOpen::new();
        let mut fmus = study.system.spec.fmus().into_iter().filter_map(|(_, path)| Fmu::open(&path).ok());
        let is_single = fmus.any(|fmu| is_only_once(&fmu));
        let First { run, session, known, remarks } = first(&study, &design)?;
        let mut prepared = Prepared {
            study: study.clone(),
            design,
            signals: Vec::new(),
            follows: Vec::new(),
            list: Vec::new(),
            references: None,
            warnings: remarks,
            later: Mutex::default(),
            _open: open,
            is_single,
        };
        let compared = prepared.follow(&known)?;
        if let Some(reference) = &study.reference {
            let store = Store::new(reference.kind.clone(), study.system.clone(), compared);
            let cells = prepared.design.cells(run);
            store.reference(&values(&study, &cells)).map_err(|error| {
                study.mistake(Mark::new(reference.span.clone(), error).hint(
                    "the reference must give every signal it is compared with: run it alone, or choose another one",
                ))
            })?;
            prepared.references = Some(store);
        }
        prepared.warn(run, &session);
        Ok(prepared)
    }

    /// Warnings of runs that are not among those of the first, once each.
    #[must_use]
    pub fn later_warnings(&self) -> Vec<Remark> {
        let later = std::mem::take(&mut *self.later.lock().unwrap_or_else(PoisonError::into_inner));
        let mut later: Vec<Remark> =
            later.into_iter().filter(|remark| !self.warnings.contains(remark)).collect();
        // Texts may hold figures of their runs.
        if later.len() > MOST_TOLD {
            let more = later.len() - MOST_TOLD;
            later.truncate(MOST_TOLD);
            later.push(format!("{more} more warnings of runs are not shown").into());
        }
        later
    }

    /// Keeps a remark on a run.
    pub(super) fn tell(&self, kind: Kind, remark: &Remark) {
        if kind == Kind::Warning {
            self.later.lock().unwrap_or_else(PoisonError::into_inner).insert(remark.clone());
        }
    }

    /// Finds the signals of all measures; the names of those that are compared with the reference.
    fn follow(&mut self, known: &[Column]) -> Result<Vec<String>> {
        let study = self.study.clone();
        let is_monolithic =
            matches!(&study.reference, Some(r) if matches!(r.kind, ReferenceKind::Monolithic { .. }));
        let (mut compared, mut marks): (Vec<String>, _) = (Vec::new(), Marks::default());
        for measure in &study.measures {
            let needs_course = measure.needs_reference();
            let mut number = |names: &[String]| -> Vec<usize> {
                let numbers = names.iter().map(|name| self.signal(name, known, &measure.span));
                numbers.filter_map(|number| marks.note(number)).collect()
            };
            let follow = match &measure.kind {
                MeasureKind::Signal { of, take } => {
                    let signals = number(of.names());
                    Follow::Signal { of: of.clone(), signals, take: *take }
                }
                MeasureKind::Error { signals: names, .. } | MeasureKind::Bounded { signals: names, .. } => {
                    let names = if names.is_empty() { outputs(known) } else { names.clone() };
                    let signals = number(&names);
                    let mut references = Vec::new();
                    for name in names.iter().filter(|_| needs_course) {
                        if is_monolithic && kind_of(known, name) == Some(VariableKind::Input) {
                            let message =
                                format!("`{name}` is an input, which a monolithic reference does not have");
                            marks.add(Mark::new(measure.span.clone(), message).hint("compare outputs"));
                        }
                        references.push(position(&mut compared, name));
                    }
                    references.resize(signals.len(), 0);
                    match &measure.kind {
                        MeasureKind::Error { take, is_relative, combine, .. } => {
                            let mut owners = Vec::new();
                            let owners =
                                names.iter().map(|n| position(&mut owners, owner(known, n))).collect();
                            let (take, is_relative, combine) = (*take, *is_relative, *combine);
                            Follow::Error { signals, references, owners, take, is_relative, combine }
                        }
                        MeasureKind::Bounded { limit, .. } => {
                            Follow::Bounded { signals, references, limit: *limit }
                        }
                        _ => continue,
                    }
                }
                _ => {
                    self.follows.push(None);
                    continue;
                }
            };
            self.follows.push(Some(self.list.len()));
            self.list.push(follow);
        }
        marks.or(compared).map_err(|marks| study.mistake(marks))
    }

    fn signal(&mut self, name: &str, known: &[Column], span: &Span) -> std::result::Result<usize, Mark> {
        if !known.iter().any(|column| column.name == name) {
            let names: Vec<String> = known.iter().map(|column| column.name.clone()).collect();
            return Err(Mark::unknown(span.clone(), "signal", name, &names));
        }
        Ok(position(&mut self.signals, name))
    }

    /// Values of factors that cannot be built beside the first values of the others; looked for as long as that is quick.
    fn warn(&mut self, run: u64, session: &Session) {
        self.warnings.extend(session.spec.warnings());
        let study = self.study.clone();
        let begin = Instant::now();
        let first = self.design.cells(run);
        for (at, factor) in study.factors.iter().enumerate() {
            let mut levels = factor.source.levels().unwrap_or_default();
            if levels.len() > TRIED as usize {
                levels.truncate(1);
            }
            for value in levels {
                if begin.elapsed() > PATIENCE {
                    return;
                }
                let mut cells = first.clone();
                let label = value.label.clone();
                cells[at] = Cell { level: None, value };
                let variant = study.system.with(&values(&study, &cells), "factor");
                let remarks = match variant.and_then(|session| remarks(session, study.accepts_unstable)) {
                    Ok(remarks) => remarks,
                    Err(error) => {
                        let why = super::one_line(&error);
                        vec![format!("factor `{}`, value `{label}`: {why}", factor.name).into()]
                    }
                };
                for remark in remarks {
                    if !self.warnings.contains(&remark) {
                        self.warnings.push(remark);
                    }
                }
            }
        }
    }
}

/// What there is to say of the wiring and the coupling of a system at its start; of one with FMUs, of which no instance is made, less.
fn remarks(mut session: Session, accepts_unstable: bool) -> Result<Vec<Remark>> {
    if !session.spec.fmus().is_empty() {
        return session.check().map(|()| Vec::new());
    }
    let start =
        RunOptions { is_certified: false, looks_ahead: false, accepts_unstable, ..RunOptions::default() };
    let collected = RefCell::new(Vec::new());
    session.start(start, &warnings(&collected))?;
    Ok(collected.into_inner())
}

/// Puts warnings into a list.
fn warnings(collected: &RefCell<Vec<Remark>>) -> impl Fn(Kind, &Remark) {
    |kind, remark| {
        let mut collected = collected.borrow_mut();
        if kind == Kind::Warning && !collected.contains(remark) {
            collected.push(remark.clone());
        }
    }
}

fn is_only_once(fmu: &Fmu) -> bool {
    let description = fmu.description();
    let co_simulation = description.co_simulation.as_ref().map(|found| &found.interface);
    let model_exchange = description.model_exchange.as_ref().map(|found| &found.interface);
    let interfaces = co_simulation.into_iter().chain(model_exchange);
    interfaces.into_iter().any(|interface| interface.can_be_instantiated_only_once_per_process)
}

/// The first run that can be built, all variables it has, and what there is to say of its wiring and coupling.
struct First {
    run: u64,
    session: Session,
    known: Vec<Column>,
    remarks: Vec<Remark>,
}

fn first(study: &Study, design: &Design) -> Result<First> {
    let mut problem = None;
    // Also of runs that cannot begin: what was said of an FMU is not said again.
    let collected = RefCell::new(Vec::new());
    let step = (design.runs() / TRIED).max(1);
    for run in (0..design.runs()).step_by(step as usize) {
        let cells = design.cells(run);
        let built = study.system.with(&values(study, &cells), "factor").and_then(|mut session| {
            session.spec.run.record = Record::One("*".into());
            let start = RunOptions {
                is_certified: false,
                accepts_unstable: study.accepts_unstable,
                ..RunOptions::default()
            };
            let known = session.start(start, &warnings(&collected))?.run.columns().to_vec();
            Ok(First { run, session, known, remarks: collected.take() })
        });
        match built {
            Ok(first) => return Ok(first),
            Err(error) => problem.get_or_insert((error, cells)),
        };
    }
    match problem {
        Some((error, cells)) => Err(blamed(study, error, &cells)),
        None => Err(study.mistake(Mark::new(0..0, "the plan has no runs"))),
    }
}

/// The error at the factor that caused it, where that can be determined.
fn blamed(study: &Study, error: Box<Io>, cells: &[Cell]) -> Box<Io> {
    let Io::File(mistakes) = &*error else { return error };
    let mistake = mistakes.first();
    if mistake.place != "factor" {
        return error;
    }
    let is_written = |factor: &crate::settings::Factor, cell: &Cell| {
        factor.places.iter().any(|place| *mistake.text == *format!("{} = {}", place.name(), cell.value.text))
    };
    match study.factors.iter().zip(cells).find(|(factor, cell)| is_written(factor, cell)) {
        Some((factor, _)) => study.blame(&error, &factor.span),
        None => error,
    }
}

/// The settings of a run.
pub(super) fn values<'v>(study: &'v Study, cells: &'v [Cell]) -> Vec<(&'v Place, &'v str)> {
    let pairs = study.factors.iter().zip(cells);
    pairs
        .flat_map(|(factor, cell)| factor.places.iter().map(|place| (place, cell.value.text.as_str())))
        .collect()
}

fn position(list: &mut Vec<String>, name: &str) -> usize {
    list.iter().position(|known| known == name).unwrap_or_else(|| {
        list.push(name.to_owned());
        list.len() - 1
    })
}

fn kind_of(known: &[Column], name: &str) -> Option<VariableKind> {
    match known.iter().find(|column| column.name == name)?.source {
        Source::Variable { variable, .. } => Some(variable.kind),
        _ => None,
    }
}

fn outputs(known: &[Column]) -> Vec<String> {
    let is_output = |column: &&Column| kind_of(known, &column.name) == Some(VariableKind::Output);
    known.iter().filter(is_output).map(|column| column.name.clone()).collect()
}

/// The subsystem a signal belongs to.
fn owner<'k>(known: &'k [Column], name: &'k str) -> &'k str {
    let own = known.iter().find(|column| column.name == name).map(|column| column.source);
    let Some(Source::Variable { subsystem, .. }) = own else { return name };
    // The first signal of a subsystem stands for it.
    let is_same =
        |c: &&Column| matches!(c.source, Source::Variable { subsystem: other, .. } if other == subsystem);
    known.iter().find(is_same).map_or(name, |column| column.name.as_str())
}
