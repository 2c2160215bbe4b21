//! koppel in Python. The classes are here, what runs on clusters is in `python/koppel/study.py`.
//!
//! | module   | what                                       |
//! | -------- | ------------------------------------------ |
//! | `system` | a system file: run, check                  |
//! | `result` | signals of a run as NumPy arrays           |
//! | `fmus`   | messages of FMUs, and the cache of probes   |
//! | `study`  | runs of a study, and those who collect them |
//! | `toml`   | Python values as settings                  |
//! | `error`  | exceptions                                 |

mod error;
mod fmus;
mod result;
mod study;
mod system;
mod toml;

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// The compiled part of koppel.
#[pymodule]
mod _koppel {
    #[pymodule_export]
    use crate::error::{Error, RunError};
    #[pymodule_export]
    use crate::result::{Result, read_results};
    #[pymodule_export]
    use crate::study::{Collection, Study};
    #[pymodule_export]
    use crate::system::{System, host_fmus_with, load, serve};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // What is no mistake of the user's has none.
        let (py, none) = (module.py(), pyo3::types::PyList::empty(module.py()));
        py.get_type::<Error>().setattr("mistakes", none)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// A JSON document as Python values.
fn python<'py>(py: Python<'py>, document: &impl serde::Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(document).map_err(error::plain)?;
    py.import("json")?.call_method1("loads", (text,))
}

/// Numbers as a NumPy array that owns them.
fn array<'py>(py: Python<'py>, values: &[f64]) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, size_of_val(values), |bytes| {
        let (places, _) = bytes.as_chunks_mut::<8>();
        places.iter_mut().zip(values).for_each(|(place, value)| *place = value.to_ne_bytes());
        Ok(())
    })?;
    py.import("numpy")?.call_method1("frombuffer", (bytes, "f8"))
}
