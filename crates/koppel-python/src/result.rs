//! What a run has left: signals as NumPy arrays.

use std::path::PathBuf;

use koppel::record::Recorder;
use koppel::system::Message;
use koppel_io::results::read_table;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::error;

/// Rows of a run, kept by column.
#[derive(Default)]
pub(crate) struct Columns {
    times: Vec<f64>,
    values: Vec<Vec<f64>>,
    messages: Vec<Vec<Message>>,
}

impl Columns {
    /// So many columns of numbers, and of texts and bytes.
    pub(crate) fn new(numbers: usize, messages: usize) -> Self {
        Columns { times: Vec::new(), values: vec![Vec::new(); numbers], messages: vec![Vec::new(); messages] }
    }
}

impl Recorder for Columns {
    fn row(&mut self, time: f64, values: &[f64]) -> koppel::Result<()> {
        self.times.push(time);
        self.values.iter_mut().zip(values).for_each(|(column, value)| column.push(*value));
        Ok(())
    }

    fn row_with(&mut self, time: f64, values: &[f64], messages: &[Message]) -> koppel::Result<()> {
        self.messages.iter_mut().zip(messages).for_each(|(column, message)| column.push(message.clone()));
        self.row(time, values)
    }
}

/// Signals over time. A mapping from names to arrays, the first of which is `time`; texts and bytes are lists.
#[pyclass(frozen, mapping, module = "koppel")]
pub(crate) struct Result {
    columns: Py<PyDict>,
    units: Py<PyDict>,
    /// How good the run is: verdict, reason, error of each output; None if it was not asked for.
    #[pyo3(get)]
    certificate: Py<PyAny>,
    /// Steps, work per subsystem, defects of the connections.
    #[pyo3(get)]
    statistics: Py<PyAny>,
}

impl Result {
    pub(crate) fn new(
        py: Python<'_>,
        rows: Columns,
        names: &[(String, Option<String>)],
        certificate: &impl serde::Serialize,
        statistics: &impl serde::Serialize,
    ) -> PyResult<Py<Self>> {
        let (columns, units) = (PyDict::new(py), PyDict::new(py));
        columns.set_item("time", crate::array(py, &rows.times)?)?;
        units.set_item("time", "s")?;
        let numbers = rows.values.len();
        for ((name, unit), values) in names.iter().zip(rows.values) {
            columns.set_item(name, crate::array(py, &values)?)?;
            units.set_item(name, unit)?;
        }
        for ((name, _), messages) in names[numbers..].iter().zip(rows.messages) {
            columns.set_item(name, list(py, &messages)?)?;
            units.set_item(name, py.None())?;
        }
        let certificate = crate::python(py, certificate)?.unbind();
        let statistics = crate::python(py, statistics)?.unbind();
        Py::new(py, Result { columns: columns.unbind(), units: units.unbind(), certificate, statistics })
    }
}

#[pymethods]
impl Result {
    /// Communication points in s.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.__getitem__(py, "time")
    }

    /// Unit of each signal, None where there is none.
    #[getter]
    fn units(&self, py: Python<'_>) -> Py<PyDict> {
        self.units.clone_ref(py)
    }

    /// Names of all signals, `time` first.
    fn keys<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.columns.bind(py).keys()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if let Some(found) = self.columns.bind(py).get_item(name)? {
            return Ok(found);
        }
        let known: Vec<String> = self.columns.bind(py).keys().extract()?;
        let names = koppel_io::system_file::known_names(name, &known);
        Err(PyKeyError::new_err(format!("there is no signal `{name}`; {names}")))
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.columns.bind(py).contains(name)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.columns.bind(py).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyIterator>> {
        self.keys(py).try_iter()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let rows = self.time(py)?.len()?;
        Ok(format!("<koppel.Result: {rows} rows of {} signals>", self.__len__(py) - 1))
    }
}

/// Texts as `str`, bytes as `bytes`.
fn list<'py>(py: Python<'py>, messages: &[Message]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for message in messages {
        match message {
            Message::Text(text) => list.append(text)?,
            Message::Bytes(bytes) => list.append(PyBytes::new(py, bytes))?,
            Message::Tick(tick) => list.append(tick)?,
        }
    }
    Ok(list)
}

/// Reads a result file that `koppel run` wrote, CSV or Parquet.
#[pyfunction]
pub(crate) fn read_results(py: Python<'_>, path: PathBuf) -> PyResult<Py<Result>> {
    let table = py.detach(|| read_table(&path)).map_err(error::io)?;
    let unit = |name: &String| table.unit(name).map(str::to_owned);
    let names: Vec<(String, Option<String>)> = table
        .columns
        .iter()
        .map(|(name, _)| name)
        .chain(table.messages.iter().map(|(name, _)| name))
        .map(|name| (name.clone(), unit(name)))
        .collect();
    let certificate = table.metadata.as_ref().and_then(|m| m.extra.get("certificate").cloned());
    let rows = Columns {
        times: table.time,
        values: table.columns.into_iter().map(|(_, values)| values).collect(),
        messages: table.messages.into_iter().map(|(_, messages)| messages).collect(),
    };
    Result::new(py, rows, &names, &certificate, &serde_json::Value::Null)
}
