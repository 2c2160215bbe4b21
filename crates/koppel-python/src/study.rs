//! Studies: runs made here, or anywhere else and collected.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use koppel_io::results::Cells;
use koppel_study::design::Design;
use koppel_study::{Control, Header, Options, Prepared, Progress, Row, Shard, make, table, write_results};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;
use crate::system::warn;

/// A study file that has been read and checked.
#[pyclass(frozen, module = "koppel._koppel")]
pub(crate) struct Study {
    prepared: Arc<Prepared>,
    header: Header,
}

#[pymethods]
impl Study {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = || -> koppel_study::Result<Self> {
            let study = Arc::new(koppel_study::load(&path)?);
            let design = Design::new(&study.factors, &study.plan).ok_or(koppel_study::Error::Countless)?;
            let prepared = Arc::new(Prepared::new(study, design)?);
            let header = Header::new(&prepared)?;
            Ok(Study { prepared, header })
        };
        py.detach(read).map_err(error::study)
    }

    #[getter]
    fn title(&self) -> &str {
        &self.header.title
    }

    #[getter]
    fn runs(&self) -> u64 {
        self.header.runs
    }

    #[getter]
    fn factors(&self) -> Vec<String> {
        self.header.factors.iter().map(|factor| factor.name.clone()).collect()
    }

    #[getter]
    fn measures(&self) -> Vec<String> {
        self.header.measures.iter().map(|measure| measure.name.clone()).collect()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.prepared.warnings.iter().map(ToString::to_string).collect()
    }

    /// What the study is, as JSON.
    #[getter]
    fn header(&self) -> PyResult<String> {
        serde_json::to_string(&self.header).map_err(error::plain)
    }

    /// What differs from the study that another process has; nothing if they are the same.
    fn differences(&self, header: &str) -> PyResult<Vec<String>> {
        let other: Header = serde_json::from_str(header).map_err(error::plain)?;
        Ok(self.header.differences(&other))
    }

    /// Makes some runs here, in sequence: their lines in the log.
    fn make(&self, py: Python<'_>, runs: Vec<u64>) -> PyResult<Vec<String>> {
        let rows = here(py, |is_ended| make(&self.prepared, &runs, is_ended))?;
        Ok(rows.iter().map(|row| row.line().trim_end().to_owned()).collect())
    }

    /// Makes all runs that are missing in the folder, on the cores of this machine.
    fn run<'py>(
        &self,
        py: Python<'py>,
        folder: PathBuf,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = Options { threads, shard: Shard::WHOLE, is_large_accepted: true };
        let mut raised = None;
        let mut watch = |at: &Progress| {
            let looked = Python::attach(|py| {
                py.check_signals()?;
                let done = (at.before + at.finished, at.runs);
                progress.as_ref().map_or(Ok(()), |call| call.call1(py, done).map(|_| ()))
            });
            match looked {
                Ok(()) => Control::Continue,
                Err(error) => {
                    raised.get_or_insert(error);
                    Control::Stop
                }
            }
        };
        let made = py.detach(|| {
            let (header, rows, _) = koppel_study::run(&self.prepared, &folder, options, &mut watch)?;
            if rows.len() as u64 == header.runs {
                write_results(&folder, &header, &rows)?;
            }
            Ok((header, rows))
        });
        let made = made.map_err(error::study);
        self.prepared.later_warnings().iter().try_for_each(|text| warn(py, text))?;
        match raised {
            Some(error) => Err(error),
            None => made.and_then(|(header, rows)| columns(py, &header, &rows)),
        }
    }

    /// Opens the folder for runs that are made elsewhere.
    fn collect(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Collection> {
        let inner =
            py.detach(|| koppel_study::Collection::open(&self.prepared, &folder)).map_err(error::study)?;
        Ok(Collection { inner: Mutex::new(Some(inner)), folder })
    }
}

/// Works without the interpreter, and ends if a signal wants it.
fn here<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    let is_ended = AtomicBool::new(false);
    py.detach(|| {
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| work(&is_ended));
            let mut raised = None;
            let mut pause = Duration::from_micros(50);
            while !worker.is_finished() {
                std::thread::sleep(pause);
                pause = (2 * pause).min(Duration::from_millis(50));
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    is_ended.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
            match (raised, worker.join()) {
                (Some(error), _) => Err(error),
                (None, Ok(done)) => Ok(done),
                (None, Err(_)) => Err(error::plain("koppel itself failed (a bug)")),
            }
        })
    })
}

/// Runs that come in, in any order; each is kept once. Nobody else can write the folder until it is finished.
#[pyclass(frozen, module = "koppel._koppel")]
pub(crate) struct Collection {
    inner: Mutex<Option<koppel_study::Collection>>,
    folder: PathBuf,
}

impl Collection {
    fn lock(&self) -> MutexGuard<'_, Option<koppel_study::Collection>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_over() -> PyErr {
    error::plain("the collection is finished")
}

#[pymethods]
impl Collection {
    /// Runs that are not finished.
    fn missing(&self) -> PyResult<Vec<u64>> {
        Ok(self.lock().as_ref().ok_or_else(is_over)?.missing())
    }

    /// Keeps finished runs, given by their lines; how many were new.
    fn take(&self, py: Python<'_>, lines: Vec<String>) -> PyResult<u64> {
        py.detach(|| {
            let mut inner = self.lock();
            let inner = inner.as_mut().ok_or_else(is_over)?;
            let measures = inner.header().measures.len();
            let damaged =
                || error::plain("the result of a finished run is damaged; the run counts as missing");
            let rows = lines.iter().map(|line| Row::parse(line, measures).ok_or_else(damaged));
            inner.take(rows.collect::<PyResult<Vec<_>>>()?).map_err(error::study)
        })
    }

    /// All runs on the disk, with tables and pictures if none is missing.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = py.detach(|| {
            let mut inner = self.lock().take().ok_or_else(is_over)?;
            inner.finish().map_err(error::study)?;
            if inner.rows().len() as u64 == inner.header().runs {
                write_results(&self.folder, inner.header(), inner.rows()).map_err(error::study)?;
            }
            Ok::<_, PyErr>(inner)
        })?;
        columns(py, inner.header(), inner.rows())
    }
}

/// One array per column; lists where there are texts.
fn columns<'py>(py: Python<'py>, header: &Header, rows: &[Row]) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (name, cells) in table(header, rows).map_err(error::study)? {
        match cells {
            Cells::Whole(values) => {
                all.set_item(name, py.import("numpy")?.call_method1("array", (values, "u8"))?)?;
            }
            Cells::Numbers(values) => all.set_item(name, crate::array(py, &values)?)?,
            Cells::Texts(values) => all.set_item(name, values)?,
        }
    }
    Ok(all)
}
