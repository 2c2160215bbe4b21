//! Rows and metadata in the shape Arrow wants them: Float64 columns without nulls, units as field metadata.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::metadata::{Metadata, TIME};
use crate::{Error, Result};

/// Key of our metadata in the schema and in the Parquet file.
pub(super) const KEY: &str = "koppel";

/// Visits the rows of a batch.
pub(super) fn for_each_row(
    batch: &RecordBatch,
    mut visit: impl FnMut(f64, &[f64]) -> Result<()>,
) -> Result<()> {
    let mut columns = vec![Vec::new(); batch.num_columns()];
    append_batch(batch, &mut columns);
    let mut values = vec![0.0; columns.len() - 1];
    for row in 0..batch.num_rows() {
        for (value, column) in values.iter_mut().zip(&columns[1..]) {
            *value = column[row];
        }
        visit(columns[0][row], &values)?;
    }
    Ok(())
}

/// Appends a batch column by column; a null of a foreign file becomes NaN.
pub(super) fn append_batch(batch: &RecordBatch, columns: &mut [Vec<f64>]) {
    for (array, column) in batch.columns().iter().zip(columns) {
        let array = array.as_primitive::<Float64Type>();
        if array.null_count() == 0 {
            column.extend_from_slice(array.values());
        } else {
            column.extend(array.iter().map(|value| value.unwrap_or(f64::NAN)));
        }
    }
}

/// Time of the last row.
pub(super) fn last_time(batch: &RecordBatch) -> Option<f64> {
    batch.column(0).as_primitive_opt::<Float64Type>()?.values().last().copied()
}

/// Fails if the file `path` has other columns than the run.
pub(super) fn check_columns(path: &Path, found: &Schema, expected: &Schema) -> Result<()> {
    let names =
        |schema: &Schema| -> Vec<String> { schema.fields().iter().map(|f| f.name().clone()).collect() };
    let (found, expected) = (names(found), names(expected));
    if found == expected {
        return Ok(());
    }
    Err(Box::new(Error::ResumeColumns { path: path.into(), expected, found }))
}

/// Float64 columns with units, and all metadata.
pub(super) fn schema_of(metadata: &Metadata) -> SchemaRef {
    let mut fields = vec![field(TIME, Some("s"), None)];
    for column in &metadata.columns {
        fields.push(field(&column.name, column.unit.as_deref(), column.description.as_deref()));
    }
    let entries = HashMap::from([(KEY.to_string(), to_json(metadata))]);
    Arc::new(Schema::new_with_metadata(fields, entries))
}

fn field(name: &str, unit: Option<&str>, description: Option<&str>) -> Field {
    let entries = [("unit", unit), ("description", description)];
    let entries = entries.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?.to_string())));
    Field::new(name, DataType::Float64, false).with_metadata(entries.collect::<HashMap<_, _>>())
}

/// Metadata as stored under [`KEY`].
pub(super) fn to_json(metadata: &Metadata) -> String {
    serde_json::json!(metadata).to_string()
}

/// Metadata of the file `path`, as stored under [`KEY`].
pub(super) fn parse_metadata(path: &Path, json: &str) -> Result<Metadata> {
    serde_json::from_str(json).map_err(|source| Box::new(Error::Metadata { path: path.into(), source }))
}

/// Turns what an Arrow or Parquet function says into an error.
pub(super) fn failure<E: Display>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Box<Error> {
    move |reason| Box::new(Error::Parquet { action, path: path.into(), reason: reason.to_string() })
}
