//! The mass without anything that is not a real number.

use super::common::MASS2;

/// The description of the test FMU with nothing but reals, without units, so that ways can be forces.
pub(crate) fn only_reals() -> String {
    MASS2
        .replace("<Unknown index=\"8\" dependencies=\"\"/>", "")
        .replace(" unit=\"N\"", "")
        .replace(" unit=\"m\"", "")
        .lines()
        .filter(|line| !line.contains("name=\"steps\"") && !line.contains("name=\"on\""))
        .collect::<Vec<_>>()
        .join("\n")
        .replace("<InitialUnknowns><Unknown index=\"7\"/><Unknown index=\"8\"/></InitialUnknowns>", "")
}
