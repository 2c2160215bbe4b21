//! Transformations and unit conversions along a path, composed.
//!
//! Each edge converts the value from the unit before it to the unit after it, then applies its transformation:
//!
//!   y = f · c(x) + o
//!
//! Conversions that follow each other without a transformation between them are made in one step from the first unit to the
//! last, so that a value that comes back to its unit is untouched.

use super::Mapping;
use super::graph::{Edge, Graph, Node};
use crate::finding::{Report, Rule, suggest};
use crate::model::{Enumeration, Transformation};
use koppel::unit::Unit;

/// What happens to a value on its way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    pub(super) factor: f64,
    pub(super) offset: f64,
    pub(super) mapping: Option<Mapping>,
    /// The unit `factor` and `offset` end in.
    held: Option<Unit>,
    /// The unit of the value where the chain has come to.
    pub(super) unit: Option<Unit>,
}

impl Chain {
    /// A value in a unit.
    pub(super) fn start(unit: Option<Unit>) -> Self {
        Chain { factor: 1.0, offset: 0.0, mapping: None, held: unit.clone(), unit }
    }

    pub(super) fn is_identity(&self) -> bool {
        self.factor == 1.0 && self.offset == 0.0 && self.mapping.is_none()
    }

    /// The value arrives where `unit` is used.
    pub(super) fn arrive(&mut self, unit: Option<&Unit>, suppress: bool) {
        if suppress {
            self.flush();
            self.held = unit.cloned();
            self.unit = unit.cloned();
        } else if let Some(unit) = unit {
            if self.unit.is_none() {
                self.held = Some(unit.clone());
            }
            self.unit = Some(unit.clone());
        }
    }

    /// target = factor · source + offset
    pub(super) fn linear(&mut self, factor: f64, offset: f64) {
        self.flush();
        self.factor *= factor;
        self.offset = factor * self.offset + offset;
    }

    /// Makes the conversion that is due. Units that do not convert have been reported and are left alone.
    pub(super) fn flush(&mut self) {
        if let (Some(held), Some(unit)) = (&self.held, &self.unit)
            && let Ok(conversion) = Unit::conversion(held, unit)
            && !conversion.is_identity()
        {
            self.factor *= conversion.factor;
            self.offset = conversion.factor * self.offset + conversion.offset;
        }
        self.held.clone_from(&self.unit);
    }

    /// Applies a transformation; tables that do not follow each other are an error in words.
    pub(super) fn apply(
        &mut self,
        transformation: &Transformation,
        source: Option<&Enumeration>,
        target: Option<&Enumeration>,
    ) -> Result<(), String> {
        let next = match transformation {
            Transformation::Linear { factor, offset } => {
                self.linear(*factor, *offset);
                return Ok(());
            }
            Transformation::Boolean(table) => Mapping::Boolean(table.clone()),
            Transformation::Integer(table) => Mapping::Integer(table.clone()),
            Transformation::Enumeration(table) => Mapping::Integer(numbers(table, source, target)?),
        };
        self.mapping = Some(match (self.mapping.take(), next) {
            (None, next) => next,
            (Some(Mapping::Boolean(first)), Mapping::Boolean(second)) => {
                Mapping::Boolean(join(&first, &second))
            }
            (Some(Mapping::Integer(first)), Mapping::Integer(second)) => {
                Mapping::Integer(join(&first, &second))
            }
            _ => return Err("a boolean mapping and an integer mapping follow each other".into()),
        });
        Ok(())
    }

    /// One edge further.
    pub(super) fn follow(&mut self, edge: &Edge, graph: &Graph, report: &mut Report) {
        let (from, to): (&Node, &Node) = (&graph.nodes[edge.from], &graph.nodes[edge.to]);
        self.arrive(to.unit.as_ref(), edge.suppress_unit_conversion);
        if let Some(transformation) = &edge.transformation
            && let Err(words) = self.apply(transformation, from.enumeration.as_ref(), to.enumeration.as_ref())
        {
            report.fault(&edge.place(), Rule::Transformation, words);
        }
    }
}

/// Entries that pass through both tables.
fn join<T: PartialEq + Copy>(first: &[(T, T)], second: &[(T, T)]) -> Vec<(T, T)> {
    let through = |(a, b): &(T, T)| second.iter().find(|(source, _)| source == b).map(|(_, c)| (*a, *c));
    first.iter().filter_map(through).collect()
}

/// A table of item names as a table of numbers.
fn numbers(
    table: &[(String, String)],
    source: Option<&Enumeration>,
    target: Option<&Enumeration>,
) -> Result<Vec<(i128, i128)>, String> {
    let number = |enumeration: Option<&Enumeration>, item: &str, end: &str| {
        let enumeration = enumeration.ok_or_else(|| format!("the {end}'s enumeration is not known"))?;
        let value = enumeration.value(item).ok_or_else(|| {
            let close = suggest(item, enumeration.items.iter().map(|(name, _)| name.as_str()));
            format!("enumeration `{}` has no item `{item}`{close}", enumeration.name)
        })?;
        Ok::<_, String>(i128::from(value))
    };
    table.iter().map(|(a, b)| Ok((number(source, a, "source")?, number(target, b, "target")?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str) -> Unit {
        Unit::parse(name).unwrap()
    }

    #[test]
    fn linear_steps_compose() {
        let mut chain = Chain::start(None);
        chain.linear(2.0, 3.0);
        chain.linear(-4.0, 5.0);
        chain.linear(0.5, -1.0);
        // 0.5 (-4 (2 x + 3) + 5) - 1 = -4 x - 4.5
        assert_eq!((chain.factor, chain.offset), (-4.0, -4.5));
    }

    #[test]
    fn a_unit_there_and_back_changes_nothing() {
        let mut chain = Chain::start(Some(unit("degC")));
        for name in ["degF", "K", "degF", "degC"] {
            chain.arrive(Some(&unit(name)), false);
        }
        chain.flush();
        assert!(chain.is_identity());
    }

    #[test]
    fn conversion_comes_before_the_transformation() {
        let mut chain = Chain::start(Some(unit("km")));
        chain.arrive(Some(&unit("m")), false);
        chain.linear(2.0, 1.0);
        chain.flush();
        assert_eq!((chain.factor, chain.offset), (2000.0, 1.0));
        let mut chain = Chain::start(Some(unit("km")));
        chain.arrive(Some(&unit("m")), true);
        chain.linear(2.0, 1.0);
        chain.flush();
        assert_eq!((chain.factor, chain.offset), (2.0, 1.0));
    }

    #[test]
    fn a_connector_without_unit_passes_the_unit_on() {
        let mut chain = Chain::start(Some(unit("km")));
        chain.arrive(None, false);
        chain.arrive(Some(&unit("m")), false);
        chain.flush();
        assert_eq!((chain.factor, chain.offset), (1000.0, 0.0));
    }

    #[test]
    fn tables_compose_and_lose_what_does_not_pass() {
        assert_eq!(join(&[(1, 10), (2, 20), (3, 30)], &[(10, 7), (30, 9)]), vec![(1, 7), (3, 9)]);
    }
}
