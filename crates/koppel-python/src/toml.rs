//! Python values as settings.

use koppel_io::system_file::Setting;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use toml::Value;

/// Settings given as a mapping from names to values.
pub(crate) fn settings(given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Setting>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let setting = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let value = value_of(&name, &value)?.to_string();
        Ok(Setting { origin: format!("settings[{name:?}]"), name, value })
    };
    given.iter().map(setting).collect()
}

fn value_of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // A truth value is an integer too.
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Value::Integer(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((key.extract::<String>()?, value_of(name, &value)?))
        };
        return Ok(Value::Table(table.iter().map(entry).collect::<PyResult<_>>()?));
    }
    // NumPy's numbers and arrays.
    if let Ok(number) = value.call_method0("tolist") {
        return value_of(name, &number);
    }
    if let Ok(items) = value.try_iter() {
        return Ok(Value::Array(items.map(|item| value_of(name, &item?)).collect::<PyResult<_>>()?));
    }
    let kind = value.get_type().name()?.to_string();
    Err(PyTypeError::new_err(format!(
        "setting `{name}`: a {kind} is not a number, string, Boolean, list or dict"
    )))
}
