//! A system file: run, check.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use koppel::analysis::{Certificate, Certifier, Forecast, ForecastOptions};
use koppel::diagnostic::Remark;
use koppel::run::{Flow, Simulation, Statistics};
use koppel_fmi::isolate::{self, Worker};
use koppel_io::probe_cache::ProbeCache;
use koppel_io::system_file::{self, SystemFile};
use koppel_ssp::Tolerance;
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
    file: SystemFile,
    cache: Option<Arc<ProbeCache>>,
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
    let read = || match system_file::is_structure(&path) {
        true => system_file::load_structure(&path, &settings, Tolerance::Strict),
        false => system_file::load_with(&path, &settings),
    };
    let mut file = py.detach(read).map_err(error::io)?;
    if let Some(cache) = &cache {
        file.keep_probes(cache.clone());
    }
    file.warnings().iter().try_for_each(|text| warn(py, text))?;
    Ok(System { file, cache })
}

impl System {
    /// The file, whose FMUs talk to Python's `logging` from now on.
    fn heard(&self, py: Python<'_>) -> PyResult<SystemFile> {
        let mut file = self.file.clone();
        file.log_to(fmus::log(py)?);
        Ok(file)
    }

    /// Tells what is wrong with the cache.
    fn warn_of_cache(&self, py: Python<'_>) -> PyResult<()> {
        let warnings = self.cache.as_ref().map(|cache| cache.warnings()).unwrap_or_default();
        warnings.iter().try_for_each(|text| warn(py, text))
    }
}

#[pymethods]
impl System {
    /// Title of the file, or nothing.
    #[getter]
    fn title(&self) -> &str {
        &self.file.title
    }

    /// All settings.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::python(py, &self.file.to_json())
    }

    /// The system with other settings: `system.replace({"run.step": 1e-3, "left.m": 2.0})`.
    fn replace(&self, py: Python<'_>, settings: &Bound<'_, PyDict>) -> PyResult<System> {
        let settings = crate::toml::settings(Some(settings))?;
        let mut file = self.file.clone();
        py.detach(|| settings.iter().try_for_each(|s| file.set(&s.name, &s.value, &s.origin)))
            .map_err(error::io)?;
        Ok(System { file, cache: self.cache.clone() })
    }

    /// The system file as text.
    fn to_toml(&self) -> String {
        self.file.to_toml()
    }

    /// Runs the system. `progress` is called with the share that is done, now and then. With `second_run` the certificate
    /// comes from a second run at half the step.
    #[pyo3(signature = (*, certificate = true, second_run = false, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        certificate: bool,
        second_run: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<Result>> {
        if second_run && !certificate {
            return Err(PyValueError::new_err("second_run is for the certificate, which is switched off"));
        }
        let mut look = Look { progress, last: Instant::now(), raised: None };
        let mut file = self.heard(py)?;
        let ran = py.detach(|| run(&mut file, certificate, second_run, &mut look));
        self.warn_of_cache(py)?;
        let ran = ran?;
        if let Some(raised) = look.raised {
            return Err(raised);
        }
        ran.remarks.iter().try_for_each(|text| warn(py, text))?;
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
                "error = {error}: give a share of the range, such as 0.05"
            )));
        }
        if vary.is_some_and(|share| share.is_nan() || share <= 0.0 || share >= 1.0) {
            return Err(PyValueError::new_err("vary: give a share between 0 and 1, such as 0.2"));
        }
        let mut file = self.heard(py)?;
        let mut remarks = Vec::new();
        let look = || -> koppel_io::Result<Forecast> {
            file.choose_settings(&|_| {})?;
            let file = file.trial();
            let simulation = file.simulation();
            remarks.extend(file.trial_warnings().into_iter().map(Remark::from));
            let mut simulation = simulation?;
            remarks.extend(simulation.remarks());
            file.excite_unknown(&mut simulation, &|_| {})?;
            let copy = || file.copy_to_walk();
            let options = ForecastOptions { error, vary, copy: Some(&copy), ..ForecastOptions::default() };
            Ok(Forecast::of(&mut simulation, &file.run, &options))
        };
        let forecast = py.detach(look).map_err(error::io);
        self.warn_of_cache(py)?;
        remarks.iter().try_for_each(|text| warn(py, text))?;
        crate::python(py, &forecast?)
    }

    fn __repr__(&self) -> String {
        let title = if self.file.title.is_empty() { "without title" } else { &self.file.title };
        format!("<koppel.System: {title}>")
    }
}

struct Ran {
    rows: Columns,
    names: Vec<(String, Option<String>)>,
    certificate: Option<Certificate>,
    statistics: Statistics,
    remarks: Vec<Remark>,
    failure: Option<Box<koppel::Error>>,
}

fn run(file: &mut SystemFile, is_certified: bool, is_repeated: bool, look: &mut Look) -> PyResult<Ran> {
    // Once: the second run has the settings of the first.
    file.choose_settings(&|_| {}).map_err(error::io)?;
    file.choose_filters().map_err(error::io)?;
    let mut simulation = file.simulation().map_err(error::io)?;
    let second = match is_repeated {
        true => {
            let mut half = file.clone();
            half.run.step /= 2.0;
            Some(half.simulation().map_err(error::io)?)
        }
        false => None,
    };
    let mut names = simulation.columns().iter().map(|c| (c.name.clone(), c.unit.clone())).collect::<Vec<_>>();
    let mut rows = Columns::new(names.len(), simulation.message_columns().len());
    names.extend(simulation.message_columns().iter().map(|column| (column.name.clone(), None)));
    let mut remarks: Vec<Remark> = file.trial_warnings().into_iter().map(Remark::from).collect();
    remarks.extend(simulation.remarks());
    let mut certifier = is_certified.then(|| Certifier::new(&mut simulation));
    if let Some(second) = second {
        let with = |alone: Certifier| alone.with_second_run(&simulation, second).map_err(error::engine);
        certifier = certifier.map(with).transpose()?;
    }
    let (start, stop) = (file.run.start, file.run.stop);
    let mut watch = |simulation: &mut Simulation| {
        if let Some(certifier) = &mut certifier {
            certifier.look(simulation);
        }
        Ok(look.at((simulation.time() - start) / (stop - start)))
    };
    let failure = simulation.run(&mut rows, &mut watch).err();
    let certificate = certifier.map(|certifier| certifier.certificate(&simulation));
    Ok(Ran { rows, names, certificate, statistics: simulation.statistics(), remarks, failure })
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
