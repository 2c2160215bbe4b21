//! A system file: run, check.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use koppel::analysis::{Certificate, Forecast, ForecastOptions};
use koppel::run::{Flow, Run, Statistics};
use koppel_fmi::isolate::{self, Worker};
use koppel_session::{Confirm, Kind, Outcome, Remark, RunOptions, Session};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::result::{Columns, Result};
use crate::{error, fmus};

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);

/// A coupled system, ready to be run. Settings are never changed in place: `replace` gives another system.
#[pyclass(frozen, module = "koppel")]
pub(crate) struct System {
    session: Session,
}

/// Reads a system file (.toml) or structure (.ssp, .ssd).
///
/// settings: replace those of the file, as `--set` does: `{"run.step": 1e-3}`.
/// cache: where answers of FMUs that were excited before a run are kept: True for the folder the command line uses,
///     False for none, or a folder.
#[pyfunction]
#[pyo3(signature = (path, settings = None, *, cache = None), text_signature = "(path, settings=None, *, cache=True)")]
pub(crate) fn load(
    py: Python<'_>,
    path: PathBuf,
    settings: Option<&Bound<'_, PyDict>>,
    cache: Option<&Bound<'_, PyAny>>,
) -> PyResult<System> {
    let settings = crate::toml::settings(settings)?;
    let cache = fmus::cache(cache)?;
    let mut session = py.detach(|| Session::load(&path, &settings)).map_err(error::io)?;
    if let Some(cache) = cache {
        session.fmus.cache = Some(cache);
    }
    let spec = &session.spec;
    let notices = spec.notices().iter().map(|(kind, text)| Remark::from(format!("{kind}: {text}")));
    notices.chain(spec.warnings()).try_for_each(|text| warn(py, &text))?;
    Ok(System { session })
}

impl System {
    /// The system, whose FMUs talk to Python's `logging` from now on.
    fn session_with_logging(&self, py: Python<'_>) -> PyResult<Session> {
        let mut session = self.session.clone();
        session.fmus.log = Some(fmus::log(py)?);
        Ok(session)
    }
}

#[pymethods]
impl System {
    /// Title of the file, or nothing.
    #[getter]
    fn title(&self) -> &str {
        &self.session.spec.title
    }

    /// All settings.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::python(py, &self.session.spec.to_json())
    }

    /// The system with other settings: `system.replace({"run.step": 1e-3, "left.m": 2.0})`.
    fn replace(&self, py: Python<'_>, settings: &Bound<'_, PyDict>) -> PyResult<System> {
        let settings = crate::toml::settings(Some(settings))?;
        let mut session = self.session.clone();
        py.detach(|| settings.iter().try_for_each(|s| session.set(&s.name, &s.value, &s.origin)))
            .map_err(error::io)?;
        Ok(System { session })
    }

    /// The system file as text.
    fn to_toml(&self) -> String {
        self.session.spec.to_toml()
    }

    /// Runs the system. `progress` is called with the share that is done, now and then. `confirm` is "off", "auto" or "always":
    /// whether runs at other steps confirm the error where no linear model tells it; by default as the system file says. A run with a loop that is not zero-stable is refused, unless `accept_unstable`.
    #[pyo3(signature = (*, certificate = true, confirm = None, second_run = false, accept_unstable = false, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        certificate: bool,
        confirm: Option<&str>,
        second_run: bool,
        accept_unstable: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<Result>> {
        if (second_run || confirm.is_some()) && !certificate {
            return Err(PyValueError::new_err("confirm is for the certificate, which is switched off"));
        }
        let confirm = match confirm {
            // Its former name.
            None => second_run.then_some(Confirm::Always),
            Some(name) => {
                let known = Confirm::NAMES.iter().find(|(known, _)| *known == name);
                let wrong = || format!("confirm = {name:?}: give \"off\", \"auto\" or \"always\"");
                Some(known.ok_or_else(|| PyValueError::new_err(wrong()))?.1)
            }
        };
        let mut look = Look { progress, last: Instant::now(), raised: None };
        let mut session = self.session_with_logging(py)?;
        let start = RunOptions {
            is_certified: certificate,
            confirm,
            accepts_unstable: accept_unstable,
            ..RunOptions::default()
        };
        let remarks = Mutex::new(Vec::new());
        let ran = py.detach(|| run(&mut session, start, &remarks, &mut look));
        remarks
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .try_for_each(|text| warn(py, text))?;
        let ran = ran.map_err(error::io)?;
        if let Some(raised) = look.raised {
            return Err(raised);
        }
        let result = Result::new(py, ran.rows, &ran.names, &ran.certificate, &ran.statistics)?;
        match ran.failure {
            None => Ok(result),
            Some(failure) => Err(error::run(py, &failure, result)),
        }
    }

    /// What is to be expected of a run: verdict, stable steps, recommended settings, connections to blame.
    #[pyo3(signature = (*, error = 0.05, vary = None))]
    fn check<'py>(&self, py: Python<'py>, error: f64, vary: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        if error.is_nan() || error <= 0.0 {
            return Err(PyValueError::new_err(format!(
                "error = {error}: give a fraction of the range, such as 0.05"
            )));
        }
        if vary.is_some_and(|share| share.is_nan() || share <= 0.0 || share >= 1.0) {
            return Err(PyValueError::new_err("vary: give a fraction between 0 and 1, such as 0.2"));
        }
        let mut session = self.session_with_logging(py)?;
        let (mut remarks, reported) = (Vec::new(), Mutex::new(Vec::new()));
        let look = || -> koppel_session::Result<Forecast> {
            let tell = |kind: Kind, remark: &Remark| {
                if kind == Kind::Warning {
                    reported.lock().unwrap_or_else(PoisonError::into_inner).push(remark.clone());
                }
            };
            session.choose(&|_| {}, &tell)?;
            session.choose_filters()?;
            let session = session.trial();
            let run = session.build_run();
            remarks.extend(session.fmus.warnings());
            let mut run = run?;
            remarks.extend(run.remarks());
            session.excite_unknown(&mut run, &|_| {})?;
            let copy = || session.copy_to_simulate();
            let options = ForecastOptions {
                error,
                vary,
                copy: Some(&copy),
                accepts: Some(&|config| session.begins(config)),
                ..ForecastOptions::default()
            };
            let forecast = Forecast::of(&mut run, &session.spec.run, &options);
            remarks.extend(session.fmus.warnings());
            Ok(forecast)
        };
        let forecast = py.detach(look).map_err(error::io);
        remarks.splice(..0, reported.into_inner().unwrap_or_else(PoisonError::into_inner));
        remarks.iter().try_for_each(|text| warn(py, text))?;
        crate::python(py, &forecast?)
    }

    fn __repr__(&self) -> String {
        let title =
            if self.session.spec.title.is_empty() { "without title" } else { &self.session.spec.title };
        format!("<koppel.System: {title}>")
    }
}

struct RunResult {
    rows: Columns,
    names: Vec<(String, Option<String>)>,
    certificate: Option<Certificate>,
    statistics: Statistics,
    failure: Option<Box<koppel::Error>>,
}

fn run(
    session: &mut Session,
    start: RunOptions<'_>,
    remarks: &Mutex<Vec<Remark>>,
    look: &mut Look,
) -> koppel_session::Result<RunResult> {
    let tell = |kind: Kind, remark: &Remark| {
        if kind == Kind::Warning {
            remarks.lock().unwrap_or_else(PoisonError::into_inner).push(remark.clone());
        }
    };
    let mut prepared = session.start(start, &tell)?;
    let (columns, messages) = (prepared.run.columns(), prepared.run.message_columns());
    let mut rows = Columns::new(columns.len(), messages.len());
    let numbers = columns.iter().map(|column| (column.name.clone(), column.unit.clone()));
    let names = numbers.chain(messages.iter().map(|column| (column.name.clone(), None))).collect();
    let (begin, end) = (session.spec.run.start, session.spec.run.stop);
    let mut watch = |run: &mut Run, _: u64| Ok(look.at((run.time() - begin) / (end - begin)));
    let ending = prepared.run(&mut rows, &mut watch);
    let outcome = Outcome::from(&ending);
    let certificate = prepared.certificate(outcome, &mut |_| look.at(1.0) != Flow::Stop);
    let failure = ending.err();
    Ok(RunResult { rows, names, certificate, statistics: prepared.run.statistics(), failure })
}

/// Looks after signals and progress, which need the interpreter, now and then.
struct Look {
    progress: Option<Py<PyAny>>,
    last: Instant,
    raised: Option<PyErr>,
}

impl Look {
    fn at(&mut self, share: f64) -> Flow {
        if self.last.elapsed() < LOOK {
            return Flow::Continue;
        }
        self.last = Instant::now();
        let looked = Python::attach(|py| {
            py.check_signals()?;
            self.progress.as_ref().map_or(Ok(()), |call| call.call1(py, (share,)).map(|_| ()))
        });
        match looked {
            Ok(()) => Flow::Continue,
            Err(error) => {
                self.raised = Some(error);
                Flow::Stop
            }
        }
    }
}

pub(crate) fn warn(py: Python<'_>, remark: &Remark) -> PyResult<()> {
    py.import("warnings")?.call_method1("warn", (remark.to_string(),)).map(|_| ())
}

/// Names the program that hosts isolated FMUs.
#[pyfunction]
pub(crate) fn host_fmus_with(program: PathBuf, arguments: Vec<String>) {
    isolate::set_worker(Worker { program, arguments: arguments.into_iter().map(Into::into).collect() });
}

/// Hosts an FMU for the process with this number.
#[pyfunction]
pub(crate) fn serve(py: Python<'_>, parent: &str) -> PyResult<()> {
    py.detach(|| isolate::serve(parent, &[])).map_err(error::plain)
}
