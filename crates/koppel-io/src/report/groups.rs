//! Which signals share a plot.

use std::sync::Arc;

use super::{PlotGroup, Series};
use crate::results::Table;

/// Most signals of one plot.
pub const SERIES_PER_PLOT: usize = 8;

/// One plot per subsystem (the name before the first dot) and unit, in the order of the columns.
#[must_use]
pub fn plot_groups(table: &Table) -> Vec<PlotGroup> {
    let time: Arc<[f64]> = table.time.as_slice().into();
    let mut groups: Vec<PlotGroup> = Vec::new();
    for (column, values) in &table.columns {
        let (title, name) = column.split_once('.').unwrap_or(("signals", column));
        let unit = table.unit(column);
        let series = Series { name: name.to_string(), values: values.clone() };
        let same = |group: &&mut PlotGroup| group.title == title && group.unit.as_deref() == unit;
        match groups.iter_mut().find(same) {
            Some(group) => group.series.push(series),
            None => groups.push(PlotGroup {
                title: title.to_string(),
                unit: unit.map(String::from),
                time: time.clone(),
                series: vec![series],
            }),
        }
    }
    groups.into_iter().flat_map(split).collect()
}

/// Cuts a plot with too many signals into several.
fn split(group: PlotGroup) -> Vec<PlotGroup> {
    if group.series.len() <= SERIES_PER_PLOT {
        return vec![group];
    }
    let parts = group.series.len().div_ceil(SERIES_PER_PLOT);
    let chunks = group.series.chunks(SERIES_PER_PLOT).enumerate();
    chunks
        .map(|(index, series)| PlotGroup {
            title: format!("{} ({} of {parts})", group.title, index + 1),
            unit: group.unit.clone(),
            time: group.time.clone(),
            series: series.to_vec(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Column, Metadata};

    #[test]
    fn signals_are_grouped_by_subsystem_and_unit() {
        let names = [("a.x", "m"), ("b.x", "m"), ("a.y", "m"), ("a.v", "m/s"), ("k", "m")];
        let columns = names.map(|(name, unit)| Column {
            name: name.into(),
            unit: Some(unit.into()),
            ..Column::default()
        });
        let mut table = Table {
            metadata: Some(Metadata { columns: columns.into(), ..Metadata::default() }),
            time: vec![0.0],
            columns: names.map(|(name, _)| (name.to_string(), vec![1.0])).into(),
            ..Table::default()
        };
        let shape = |table: &Table| -> Vec<(String, usize)> {
            plot_groups(table).into_iter().map(|g| (g.title, g.series.len())).collect()
        };
        let expected = [("a", 2), ("b", 1), ("a", 1), ("signals", 1)];
        assert_eq!(shape(&table), expected.map(|(title, n)| (title.to_string(), n)));

        table.columns = (0..17).map(|n| (format!("c.s{n}"), vec![0.0])).collect();
        let expected = [("c (1 of 3)", 8), ("c (2 of 3)", 8), ("c (3 of 3)", 1)];
        assert_eq!(shape(&table), expected.map(|(title, n)| (title.to_string(), n)));
    }
}
