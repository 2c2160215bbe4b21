//! Inputs that nothing is connected to.

use koppel::run::Run;
use serde::Serialize;

use super::Grid;

/// An input that nothing is connected to.
#[derive(Debug, Serialize)]
pub(super) struct Default {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: Option<String>,
    /// A signal from outside acts on it.
    pub(super) has_signal: bool,
}

/// Inputs that nothing is connected to, with their values.
pub(super) fn unconnected(run: &Run) -> Vec<Default> {
    let graph = run.graph();
    let free = (0..graph.inputs()).filter(|input| graph.is_free(*input));
    free.map(|input| Default {
        name: graph.input_name(input),
        value: graph.offset(input),
        unit: graph.input_variable(input).unit.clone(),
        has_signal: graph.externals().binary_search_by_key(&input, |(target, _)| *target).is_ok(),
    })
    .collect()
}

/// As a table.
pub(super) fn defaults_grid(inputs: &[Default]) -> Grid {
    let mut grid = Grid::new(&["unconnected input", "value", "unit", ""]);
    for input in inputs {
        let signal = if input.has_signal { "plus an external signal" } else { "" };
        let unit = input.unit.clone().unwrap_or_default();
        grid.row([input.name.clone(), input.value.to_string(), unit, signal.into()]);
    }
    grid
}
