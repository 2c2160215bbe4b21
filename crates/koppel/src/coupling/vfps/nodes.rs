//! How many parts a step has: told, or found.
//!
//! Between nodes inputs are lines, which cut off c = |v_{j+1} - 2 v_j + v_{j-1}| / 12 of a signal v. With m nodes in place of n that is
//! (n/m)² c. The models rehearse the run with ten nodes; the smallest number with which the mean of c stays below 0.05 % of the
//! range of every signal is taken, and the subsystems are excited again with it.

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Parts of a step with which the run is rehearsed.
pub(super) const FIRST: usize = 10;
/// Numbers among which one is chosen.
const CHOICE: [usize; 11] = [1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 40];
/// Share of the range that lines may cut off on average.
const WANTED: f64 = 5e-4;
/// The least where a subsystem is not linear: what models rehearse is not what it does.
const LEAST: usize = 5;

/// Equal parts of a step between which inputs are linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// So many.
    Fixed(usize),
    /// As many as the models ask for.
    Auto,
}

impl Nodes {
    /// How many there are before anything is known.
    pub(super) fn at_first(self) -> usize {
        match self {
            Nodes::Fixed(nodes) => nodes,
            Nodes::Auto => FIRST,
        }
    }
}

impl From<usize> for Nodes {
    fn from(nodes: usize) -> Self {
        Nodes::Fixed(nodes)
    }
}

/// The number for signals of which lines between [`FIRST`] nodes cut off this share of their range.
pub(super) fn wanted(cut: f64, are_linear: bool) -> usize {
    let least = if are_linear { 1 } else { LEAST };
    let needed = FIRST as f64 * (cut / WANTED).sqrt();
    CHOICE
        .into_iter()
        .find(|nodes| *nodes >= least && *nodes as f64 >= needed)
        .unwrap_or(CHOICE[CHOICE.len() - 1])
}

impl Serialize for Nodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Nodes::Fixed(nodes) => serializer.serialize_u64(nodes as u64),
            Nodes::Auto => serializer.serialize_str("auto"),
        }
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrAuto;
        impl Visitor<'_> for NumberOrAuto {
            type Value = Nodes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of nodes or \"auto\"")
            }

            fn visit_u64<E: de::Error>(self, nodes: u64) -> Result<Nodes, E> {
                usize::try_from(nodes).map(Nodes::Fixed).map_err(|_| E::custom("`nodes` is too large"))
            }

            fn visit_i64<E: de::Error>(self, nodes: i64) -> Result<Nodes, E> {
                match u64::try_from(nodes) {
                    Ok(nodes) => self.visit_u64(nodes),
                    Err(_) => Err(E::invalid_value(de::Unexpected::Signed(nodes), &self)),
                }
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Nodes, E> {
                if word == "auto" { Ok(Nodes::Auto) } else { Err(E::unknown_variant(word, &["auto"])) }
            }
        }
        deserializer.deserialize_any(NumberOrAuto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_nodes_as_the_curvature_asks_for() {
        assert_eq!(wanted(0.0, true), 1);
        assert_eq!(wanted(0.0, false), LEAST);
        assert_eq!(wanted(WANTED, true), 10);
        assert_eq!(wanted(4.0 * WANTED, true), 20);
        assert_eq!(wanted(1.0, true), 40);
        assert_eq!(wanted(f64::NAN, true), 40);
    }
}
