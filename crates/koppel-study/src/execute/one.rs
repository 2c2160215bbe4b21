//! One run: from its number to its row.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use koppel::analysis::{Certificate, LinearSystem, RunVerdict, StepMatrix, consistency};
use koppel::record::Record;
use koppel::run::{Ending, Flow, Parallel, Run, RunConfig};
use koppel_session::{Outcome, RunOptions};

use super::meter::Meter;
use super::one_line;
use super::prepare::{Prepared, values};
use crate::design::Cell;
use crate::log::Row;
use crate::settings::{Figure, Measure, MeasureKind};

/// What a run has shown.
#[derive(Default)]
struct Observed {
    followed: Option<Vec<f64>>,
    figures: Option<Figures>,
    radius: Option<Radius>,
    certificate: Option<Certificate>,
    ended_by: Option<String>,
}

struct Figures {
    steps: f64,
    iterations: f64,
    halvings: f64,
    seconds: f64,
    defect: f64,
}

struct Radius {
    spectral: f64,
    stability: f64,
    consistency: f64,
    is_stable: bool,
}

/// Makes one run; `None` if it was ended on the way.
pub(super) fn run(prepared: &Prepared, number: u64, is_ended: &AtomicBool) -> Option<Row> {
    let cells = prepared.design.cells(number);
    let mut observed = Observed::default();
    let work = || make(prepared, &cells, &mut observed, is_ended);
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(true)) => None,
        Ok(Ok(false)) => return None,
        Ok(Err(failure)) => Some(failure),
        Err(_) => Some("koppel itself failed (a bug)".into()),
    };
    let values = measured(prepared, &cells, &observed, failure.is_some());
    Some(Row { run: number, values, failure, ended_by: observed.ended_by })
}

/// A run that took its process along.
pub(super) fn lost(prepared: &Prepared, number: u64, failure: &str) -> Row {
    let values = measured(prepared, &prepared.design.cells(number), &Observed::default(), true);
    Row { run: number, values, failure: Some(failure.to_owned()), ended_by: None }
}

/// True if the run came to its end.
fn make(
    prepared: &Prepared,
    cells: &[Cell],
    observed: &mut Observed,
    is_ended: &AtomicBool,
) -> Result<bool, String> {
    let study = &*prepared.study;
    let settings = values(study, cells);
    let mut session = study.system.with(&settings, "factor").map_err(|error| one_line(&error))?;
    session.spec.run.threads = Parallel::Never;
    session.spec.run.record = Record::Many(prepared.signals.clone());
    session.spec.run.record_every = 1;
    session.spec.run.record_events = false;
    let needs_reference = study.measures.iter().any(Measure::needs_reference);
    let reference = match prepared.references.as_ref().filter(|_| needs_reference) {
        Some(store) => Some(store.reference(&settings)?),
        None => None,
    };
    session.choose(&|_| {}, &|kind, remark| prepared.tell(kind, remark)).map_err(|error| one_line(&error))?;
    let begin = Instant::now();
    let is_certified =
        |m: &Measure| matches!(m.kind, MeasureKind::Figure(figure) if figure.is_of_certificate());
    let start = RunOptions {
        is_certified: study.measures.iter().any(is_certified),
        accepts_unstable: study.accepts_unstable,
        // Looking ahead costs more than most runs of a study: the first run of all was looked at.
        looks_ahead: false,
        ..RunOptions::default()
    };
    let needs_forecast = study.measures.iter().any(|measure| is_forecast(&measure.kind));
    let started = session.start(start, &|kind, remark| prepared.tell(kind, remark));
    let mut started = match started {
        Ok(started) => started,
        Err(refused) => {
            // What is refused has a forecast all the same.
            if let (true, Ok(mut run)) = (needs_forecast, session.build_run()) {
                observed.radius = forecast(&mut run, &session.spec.run, &study.measures).ok();
            }
            return Err(one_line(&refused));
        }
    };
    let run = &mut started.run;
    if needs_forecast {
        observed.radius = Some(forecast(run, &session.spec.run, &study.measures)?);
    }
    let of = |name: &String| run.columns().iter().position(|column| column.name == *name);
    let columns =
        prepared.signals.iter().map(|name| of(name).ok_or(format!("there is no `{name}` in this run")));
    let mut meter = Meter::new(&prepared.list, reference, columns.collect::<Result<_, _>>()?);
    let mut watch =
        |_: &mut Run, _: u64| Ok(if is_ended.load(Ordering::Relaxed) { Flow::Stop } else { Flow::Continue });
    let ending = started.run(&mut meter, &mut watch).map_err(|error| error.to_string())?;
    if matches!(ending, Ending::Interrupted { .. }) {
        return Ok(false);
    }
    if let Ending::Terminated(request) = ending {
        observed.ended_by = Some(request.subsystem);
    }
    let statistics = started.run.statistics();
    let relative = |defect: &koppel::run::Defect| {
        if defect.range > 0.0 { defect.largest / defect.range } else { defect.largest }
    };
    observed.figures = Some(Figures {
        steps: statistics.steps as f64,
        iterations: statistics.loops.iter().map(|work| work.evaluations as f64).sum(),
        halvings: statistics.halvings as f64,
        seconds: begin.elapsed().as_secs_f64(),
        defect: statistics.defects.iter().map(relative).fold(0.0, f64::max),
    });
    observed.certificate = started.certificate(Outcome::Whole, &mut |_| !is_ended.load(Ordering::Relaxed));
    if is_ended.load(Ordering::Relaxed) && observed.certificate.is_some() {
        return Ok(false);
    }
    observed.followed = Some(meter.values());
    Ok(true)
}

fn is_forecast(kind: &MeasureKind) -> bool {
    matches!(
        kind,
        MeasureKind::ForecastStable
            | MeasureKind::Figure(Figure::SpectralRadius | Figure::StabilityRadius | Figure::Consistency)
    )
}

fn forecast(run: &mut Run, config: &RunConfig, measures: &[Measure]) -> Result<Radius, String> {
    let words = |error: Box<koppel::Error>| format!("there is no forecast: {error}");
    let is_wanted = |figure| measures.iter().any(|m| matches!(m.kind, MeasureKind::Figure(f) if f == figure));
    let system = LinearSystem::new(run).map_err(words)?;
    let spectrum = StepMatrix::of(&system, config).and_then(|matrix| matrix.spectrum()).map_err(words)?;
    let stability = match is_wanted(Figure::StabilityRadius) {
        true => spectrum.stability_radius().map_err(words)?,
        false => f64::NAN,
    };
    let consistency = match is_wanted(Figure::Consistency) {
        true => consistency(&system, config).map_err(words)?,
        false => f64::NAN,
    };
    let is_stable = spectrum.is_bounded() && !spectrum.is_marginal();
    Ok(Radius { spectral: spectrum.radius, stability, consistency, is_stable })
}

/// The measures of a run, those of one that failed as far as they are known.
fn measured(prepared: &Prepared, cells: &[Cell], observed: &Observed, is_failed: bool) -> Vec<f64> {
    let study = &*prepared.study;
    let mut values: Vec<f64> = Vec::with_capacity(study.measures.len());
    for (at, measure) in study.measures.iter().enumerate() {
        let followed = || observed.followed.as_ref().and_then(|all| Some(all[prepared.follows[at]?]));
        let known = match &measure.kind {
            MeasureKind::Signal { .. } | MeasureKind::Error { .. } => followed(),
            MeasureKind::Bounded { .. } => followed().or(is_failed.then_some(0.0)),
            MeasureKind::ForecastStable => observed.radius.as_ref().map(|r| f64::from(u8::from(r.is_stable))),
            MeasureKind::Figure(figure) => figure_of(*figure, observed),
            MeasureKind::Expression(expression) => {
                let value = |name: &String| {
                    let of_measure = study.measures[..at].iter().position(|other| other.name == *name);
                    let of_factor = || study.factors.iter().position(|factor| factor.name == *name);
                    of_measure.map(|k| values[k]).or_else(|| cells[of_factor()?].value.number)
                };
                let inputs: Vec<f64> =
                    expression.names().iter().map(|name| value(name).unwrap_or(f64::NAN)).collect();
                Some(expression.evaluate(0.0, &inputs))
            }
        };
        let value = known.or(measure.failed.filter(|_| is_failed)).unwrap_or(f64::NAN);
        values.push(measure.most.map_or(value, |most| if value > most { most } else { value }));
    }
    values
}

fn figure_of(figure: Figure, observed: &Observed) -> Option<f64> {
    let of_run = |take: fn(&Figures) -> f64| observed.figures.as_ref().map(take);
    let of_error =
        |take: fn(&koppel::analysis::Band) -> f64| observed.certificate.as_ref()?.overall.as_ref().map(take);
    let is = |verdict: RunVerdict| {
        observed.certificate.as_ref().map(|found| f64::from(u8::from(found.verdict == verdict)))
    };
    let of_forecast = |take: fn(&Radius) -> f64| observed.radius.as_ref().map(take);
    match figure {
        Figure::Steps => of_run(|f| f.steps),
        Figure::Iterations => of_run(|f| f.iterations),
        Figure::Halvings => of_run(|f| f.halvings),
        Figure::Seconds => of_run(|f| f.seconds),
        Figure::Defect => of_run(|f| f.defect),
        Figure::SpectralRadius => of_forecast(|r| r.spectral),
        Figure::StabilityRadius => of_forecast(|r| r.stability),
        Figure::Consistency => of_forecast(|r| r.consistency),
        Figure::CertifiedError => of_error(|band| band.error),
        Figure::MostError => of_error(|band| band.high),
        Figure::Trusted => is(RunVerdict::Trusted),
        Figure::Wrong => is(RunVerdict::Wrong),
    }
}
