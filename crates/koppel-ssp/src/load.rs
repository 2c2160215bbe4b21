//! Loads a structure with everything it refers to: parameter sets, mappings, dictionaries, further structures.

use crate::finding::{Place, Position, Report, Rule, suggest};
use crate::model::{
    Component, Element, Location, Nested, ParameterBinding, SourceBase, System, SystemStructure,
};
use crate::package::Package;
use crate::parse::{parse_dictionary, parse_mapping, parse_parameters, parse_structure};

/// Systems that refer to systems: deeper than this is taken for endless.
const DEEPEST: usize = 16;
/// Elements of all systems together: more are taken for an attack.
const MOST_ELEMENTS: usize = 200_000;

/// Media type of a system structure file.
pub(crate) const DEFINITION: &str = "application/x-ssp-definition";
/// Media type of a system structure package.
pub(crate) const PACKAGE: &str = "application/x-ssp-package";
/// Media type of an FMU, the default.
pub(crate) const FMU: &str = "application/x-fmu-sharedlibrary";

/// Loads documents of one package.
pub(crate) struct Loader<'a> {
    package: &'a Package,
    report: &'a mut Report,
    depth: usize,
    elements: usize,
    /// Something endless was met: nothing further is opened, one message is enough.
    halted: bool,
}

/// The document that is being loaded.
struct Context {
    location: Location,
    file: String,
    /// The top system as it was written, for references by id.
    original: System,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(package: &'a Package, report: &'a mut Report) -> Self {
        Loader { package, report, depth: 0, elements: 0, halted: false }
    }

    /// Loads a document and all it refers to.
    pub(crate) fn structure(&mut self, location: &Location) -> Option<SystemStructure> {
        let file = self.package.label(location);
        let bytes = match self.package.document(location) {
            Ok(bytes) => bytes,
            Err(error) => {
                let place = Place::new(&file, Position::default(), "");
                self.report.fault(&place, Rule::File, error.to_string());
                return None;
            }
        };
        let mut structure = parse_structure(&bytes, &file, self.report)?;
        structure.location = location.clone();
        let context = Context { location: location.clone(), file, original: structure.system.clone() };
        self.system(&mut structure.system, &context);
        Some(structure)
    }

    fn system(&mut self, system: &mut System, context: &Context) {
        for binding in &mut system.bindings {
            self.binding(binding, context, None);
        }
        for dictionary in &mut system.dictionaries {
            let Some(source) = dictionary.source.clone() else { continue };
            let element = format!("SignalDictionary {}", dictionary.name);
            let place = Place::new(&context.file, dictionary.at, element);
            let Some(location) = self.locate(&context.location, &source, &place) else { continue };
            let Some(bytes) = self.bytes(&location, &place) else { continue };
            dictionary.content = parse_dictionary(&bytes, &self.package.label(&location), self.report);
        }
        for element in &mut system.elements {
            self.elements += 1;
            if self.elements > MOST_ELEMENTS && !self.halted {
                self.halted = true;
                let place = Place::new(&context.file, element.at(), element.name());
                self.report.fault(&place, Rule::Nesting, format!("more than {MOST_ELEMENTS} elements"));
            }
            if self.elements > MOST_ELEMENTS {
                return;
            }
            match element {
                Element::System(inner) => self.system(inner, context),
                Element::Component(component) => self.component(component, context),
                Element::Reference(_) => {}
            }
        }
    }

    fn component(&mut self, component: &mut Component, context: &Context) {
        let at = component.at;
        let place = Place::new(&context.file, at, format!("Component {}", component.name));
        let Some(source) = component.source.clone() else {
            for binding in &mut component.bindings {
                self.binding(binding, context, None);
            }
            self.report.note(&place, Rule::Runnable, "has no source and cannot be run");
            return;
        };
        if source.trim().is_empty() {
            self.report.fault(&place, Rule::Source, "attribute `source` is empty");
            return;
        }
        if let Some(id) = source.strip_prefix('#') {
            component.nested = self.same_document(id, context, &place);
        } else if let Some((location, fragment)) = self.resolve(&context.location, &source, &place) {
            if self.package.exists(&location) {
                component.nested = self.nested(component, &location, fragment, &place);
            } else {
                self.missing(&location, &place);
            }
            for binding in &mut component.bindings {
                self.binding(binding, context, Some(&location));
            }
            component.location = Some(location);
            return;
        }
        for binding in &mut component.bindings {
            self.binding(binding, context, None);
        }
    }

    fn same_document(&mut self, id: &str, context: &Context, place: &Place) -> Option<Nested> {
        let mut ids = Vec::new();
        let Some(found) = find_id(&context.original, id, &mut ids) else {
            let message = format!("there is no system with id `{id}`{}", suggest(id, ids));
            self.report.fault(place, Rule::KnownName, message);
            return None;
        };
        let mut copy = found.clone();
        self.deeper(place, |loader| {
            loader.system(&mut copy, context);
            Some(Nested::Same(Box::new(copy)))
        })
    }

    /// The structure a component stands for, if its source is one.
    fn nested(
        &mut self,
        component: &Component,
        location: &Location,
        fragment: Option<String>,
        place: &Place,
    ) -> Option<Nested> {
        let lower = location.path.to_ascii_lowercase();
        let by_name = if lower.ends_with(".ssd") {
            DEFINITION
        } else if lower.ends_with(".ssp") {
            PACKAGE
        } else {
            FMU
        };
        let kind = match component.kind.as_deref() {
            Some(kind @ (DEFINITION | PACKAGE)) => kind,
            None | Some(FMU) if by_name == FMU => return None,
            None | Some(FMU) => {
                let message = format!("`{}` needs type=\"{by_name}\"", location.path);
                self.report.lapse(place, Rule::MediaType, message);
                by_name
            }
            Some(other) => {
                let message =
                    format!("type `{other}` is not known; expected `{FMU}`, `{DEFINITION}` or `{PACKAGE}`");
                self.report.lapse(place, Rule::MediaType, message);
                return None;
            }
        };
        let target = if kind == PACKAGE {
            let mut archives = location.archives.clone();
            archives.push(location.path.clone());
            Location { archives, path: fragment.unwrap_or_else(|| "SystemStructure.ssd".into()) }
        } else {
            location.clone()
        };
        self.deeper(place, |loader| loader.structure(&target).map(|s| Nested::Document(Box::new(s))))
    }

    fn deeper<T>(&mut self, place: &Place, load: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.halted {
            return None;
        }
        if self.depth >= DEEPEST {
            self.report.fault(
                place,
                Rule::Nesting,
                "the system contains itself, or systems are nested too deep",
            );
            self.halted = true;
            return None;
        }
        self.depth += 1;
        let loaded = load(self);
        self.depth -= 1;
        loaded
    }

    fn binding(&mut self, binding: &mut ParameterBinding, context: &Context, component: Option<&Location>) {
        if let Some(source) = binding.source.clone() {
            let place = Place::new(&context.file, binding.at, format!("ParameterBinding {source}"));
            let base = base(binding.base, context, component);
            if let Some(location) = self.locate(&base, &source, &place)
                && let Some(bytes) = self.bytes(&location, &place)
            {
                binding.set = parse_parameters(&bytes, &self.package.label(&location), self.report);
            }
        }
        let Some(mapping) = &mut binding.mapping else { return };
        if let Some(source) = mapping.source.clone() {
            let place = Place::new(&context.file, mapping.at, format!("ParameterMapping {source}"));
            let base = base(mapping.base, context, component);
            if let Some(location) = self.locate(&base, &source, &place)
                && let Some(bytes) = self.bytes(&location, &place)
            {
                mapping.mapping = parse_mapping(&bytes, &self.package.label(&location), self.report);
            }
        }
    }

    fn bytes(&mut self, location: &Location, place: &Place) -> Option<Vec<u8>> {
        match self.package.document(location) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.report.fault(place, Rule::File, error.to_string());
                None
            }
        }
    }

    /// A file that must exist.
    fn locate(&mut self, base: &Location, address: &str, place: &Place) -> Option<Location> {
        let (location, _) = self.resolve(base, address, place)?;
        if self.package.exists(&location) {
            return Some(location);
        }
        self.missing(&location, place);
        None
    }

    fn missing(&mut self, location: &Location, place: &Place) {
        let near = self.package.neighbours(location);
        let close = koppel::error::closest(&location.path, &near);
        let hint = close.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        self.report.fault(place, Rule::MissingFile, format!("there is no file `{}`{hint}", location.path));
    }

    fn resolve(
        &mut self,
        base: &Location,
        address: &str,
        place: &Place,
    ) -> Option<(Location, Option<String>)> {
        let resolved = self.package.resolve(base, address, self.report.tolerance());
        if let Some(lapse) = resolved.lapse {
            self.report.lapse(place, Rule::Source, lapse);
        }
        match resolved.place {
            Ok(found) => Some(found),
            Err(why) => {
                self.report.fault(place, Rule::Source, why);
                None
            }
        }
    }
}

/// What an address is relative to: the document, or the inside of the component's archive.
fn base(base: SourceBase, context: &Context, component: Option<&Location>) -> Location {
    match (base, component) {
        (SourceBase::Component, Some(component)) => {
            let mut archives = component.archives.clone();
            archives.push(component.path.clone());
            Location { archives, path: String::new() }
        }
        _ => context.location.clone(),
    }
}

fn find_id<'s>(system: &'s System, id: &str, ids: &mut Vec<&'s str>) -> Option<&'s System> {
    if let Some(own) = &system.id {
        ids.push(own);
        if own == id {
            return Some(system);
        }
    }
    system.elements.iter().find_map(|element| match element {
        Element::System(inner) => find_id(inner, id, ids),
        _ => None,
    })
}
