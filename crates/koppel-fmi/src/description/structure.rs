//! The model structure: FMI 2.0 counts variables from 1, FMI 3.0 names them by value reference.

use super::model::{Dependency, DependencyKind, Description, FmiVersion, Unknown, Variable};
use super::problem::Problem;
use super::xml::{Element, Result, words};
use std::collections::HashMap;

words! { DependencyKind: "`dependent`, `constant`, `fixed`, `tunable` or `discrete`";
    "dependent" => DependencyKind::Dependent,
    "constant" => DependencyKind::Constant,
    "fixed" => DependencyKind::Fixed,
    "tunable" => DependencyKind::Tunable,
    "discrete" => DependencyKind::Discrete,
}

/// Reads `ModelStructure` into the description.
pub(super) fn read(root: Element<'_>, description: &mut Description) -> Result<()> {
    let Some(element) = root.child("ModelStructure")? else {
        root.warn(Problem::MissingElement { name: "ModelStructure" });
        return Ok(());
    };
    let places = Places::new(description.fmi_version, &description.variables);
    let structure = &mut description.structure;
    match places.version {
        FmiVersion::Fmi2 => {
            for (name, list) in [
                ("Outputs", &mut structure.outputs),
                ("Derivatives", &mut structure.continuous_state_derivatives),
                ("InitialUnknowns", &mut structure.initial_unknowns),
            ] {
                let unknowns = element.child(name)?.into_iter().flat_map(|list| list.only("Unknown"));
                *list = unknowns.map(|unknown| places.unknown(unknown)).collect::<Result<_>>()?;
            }
        }
        FmiVersion::Fmi3 => {
            for child in element.children() {
                let list = match child.name() {
                    "Output" => &mut structure.outputs,
                    "ContinuousStateDerivative" => &mut structure.continuous_state_derivatives,
                    "ClockedState" => &mut structure.clocked_states,
                    "InitialUnknown" => &mut structure.initial_unknowns,
                    "EventIndicator" => &mut structure.event_indicators,
                    "Annotations" => continue,
                    _ => {
                        child.warn(Problem::UnknownElement);
                        continue;
                    }
                };
                list.push(places.unknown(child)?);
            }
            description.number_of_event_indicators = structure.event_indicators.len();
        }
    }
    Ok(())
}

/// Finds variables by index or reference.
pub(super) struct Places {
    version: FmiVersion,
    count: usize,
    by_reference: HashMap<u32, usize>,
}

impl Places {
    pub(super) fn new(version: FmiVersion, variables: &[Variable]) -> Places {
        let places = variables.iter().enumerate();
        let by_reference = places.map(|(place, variable)| (variable.value_reference, place)).collect();
        Places { version, count: variables.len(), by_reference }
    }

    /// The place of a variable, or the complaint that the index or reference leads nowhere.
    pub(super) fn find(
        &self,
        element: Element<'_>,
        attribute: &'static str,
        reference: u32,
    ) -> Result<usize> {
        let found = match self.version {
            FmiVersion::Fmi2 => (reference as usize).checked_sub(1).filter(|place| *place < self.count),
            FmiVersion::Fmi3 => self.by_reference.get(&reference).copied(),
        };
        found.ok_or_else(|| {
            element.error(match self.version {
                FmiVersion::Fmi2 => {
                    Problem::BadIndex { attribute, index: reference.into(), count: self.count }
                }
                FmiVersion::Fmi3 => Problem::BadReference { attribute, reference },
            })
        })
    }

    fn unknown(&self, element: Element<'_>) -> Result<Unknown> {
        let attribute = match self.version {
            FmiVersion::Fmi2 => "index",
            FmiVersion::Fmi3 => "valueReference",
        };
        let variable = self.find(element, attribute, element.require(attribute)?)?;
        let kinds: Option<Vec<DependencyKind>> = element.list("dependenciesKind")?;
        let Some(references) = element.list::<u32>("dependencies")? else {
            if kinds.is_some() {
                element.warn(Problem::Requires { first: "dependenciesKind", second: "dependencies" });
            }
            return Ok(Unknown { variable, dependencies: None });
        };
        if let Some(kinds) = &kinds
            && kinds.len() != references.len()
        {
            let problem = Problem::KindCount { kinds: kinds.len(), dependencies: references.len() };
            return Err(element.error(problem));
        }
        let kind = |k: usize| kinds.as_ref().map_or(DependencyKind::Dependent, |kinds| kinds[k]);
        let dependency = |(k, reference): (usize, u32)| {
            Ok(Dependency { variable: self.find(element, "dependencies", reference)?, kind: kind(k) })
        };
        let dependencies = references.into_iter().enumerate().map(dependency).collect::<Result<_>>()?;
        Ok(Unknown { variable, dependencies: Some(dependencies) })
    }
}
