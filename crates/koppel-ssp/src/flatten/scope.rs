//! Units, enumerations and dictionaries as they are seen from one place.

use crate::finding::{Place, Report, Rule, suggest};
use crate::model::{DataType, Enumeration, UnitDefinition};
use koppel::unit::Unit;
use std::collections::HashMap;
use std::rc::Rc;

/// Definitions of one file.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s> {
    pub(super) file: &'s str,
    pub(super) units: &'s [UnitDefinition],
    pub(super) enumerations: &'s [Enumeration],
}

impl Scope<'_> {
    /// The unit of a name; an undefined one is reported and guessed from its name.
    pub(super) fn unit(&self, name: &str, place: &Place, report: &mut Report) -> Option<Unit> {
        if let Some(definition) = self.units.iter().find(|u| u.name == name) {
            return definition.unit().ok();
        }
        let close = suggest(name, self.units.iter().map(|u| u.name.as_str()));
        report.lapse(place, Rule::Unit, format!("unit `{name}` is not defined in `Units`{close}"));
        Unit::parse(name).ok()
    }

    pub(super) fn unit_of(
        &self,
        data: Option<&DataType>,
        place: &Place,
        report: &mut Report,
    ) -> Option<Unit> {
        let name = data?.unit.as_deref()?;
        self.unit(name, place, report)
    }

    pub(super) fn enumeration_of(
        &self,
        data: Option<&DataType>,
        place: &Place,
        report: &mut Report,
    ) -> Option<Enumeration> {
        let name = data?.enumeration.as_deref()?;
        let found = self.enumerations.iter().find(|e| e.name == name);
        if found.is_none() {
            let close = suggest(name, self.enumerations.iter().map(|e| e.name.as_str()));
            let message = format!("enumeration `{name}` is not defined in `Enumerations`{close}");
            report.lapse(place, Rule::KnownName, message);
        }
        found.cloned()
    }
}

/// Dictionaries of a system and of those around it, innermost first.
pub(super) struct Dictionaries {
    pub(super) own: HashMap<String, HashMap<String, usize>>,
    pub(super) outer: Option<Rc<Dictionaries>>,
}

impl Dictionaries {
    /// Entries of a dictionary, with the number of the node of each.
    pub(super) fn find(&self, name: &str) -> Option<&HashMap<String, usize>> {
        self.own.get(name).or_else(|| self.outer.as_ref()?.find(name))
    }

    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.own.keys().map(String::as_str).collect();
        if let Some(outer) = &self.outer {
            names.extend(outer.names());
        }
        names.sort_unstable();
        names
    }
}
