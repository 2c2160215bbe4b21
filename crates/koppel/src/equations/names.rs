//! The names of a model: who is who, and what is declared or defined wrongly.

use super::map::MapConfig;
use super::mistake::{Kind, Mistake, Spot};
use super::source::{Source, Value};
use super::statement::{self, Assignment, Name, Statements, Trigger, When};
use crate::expression::{Formula, Instruction, functions};
use crate::unit::Unit;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What a name stands for, by its place among its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Parameter(usize),
    Input(usize),
    /// A state, or a discrete variable behind all states.
    State(usize),
    /// Defined by an equation: an intermediate variable or the derivative of a state.
    Defined(usize),
}

/// A formula and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) formula: Formula,
    /// Where, if that is not in the text.
    pub(super) outside: Option<Spot>,
}

impl Placed {
    pub(super) fn spot(&self, span: &Range<usize>) -> Spot {
        self.outside.clone().unwrap_or_else(|| Spot::Text(span.clone()))
    }

    /// A number that stands outside of the text.
    fn number(value: f64, outside: Spot) -> Placed {
        let (program, spans) = (vec![Instruction::Number(value)], std::iter::once(0..0).collect());
        Placed { formula: Formula { program, spans, ..Formula::default() }, outside: Some(outside) }
    }

    /// Its value, if it is a number without anything.
    pub(super) fn plain(&self) -> Option<f64> {
        match self.formula.program[..] {
            [Instruction::Number(value)] => Some(value),
            [Instruction::Number(value), Instruction::Unary(crate::expression::Unary::Minus)] => Some(-value),
            _ => None,
        }
    }
}

/// A declared name.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) spot: Spot,
    /// It is declared in the text, perhaps beside it, too.
    pub(super) is_in_text: bool,
    pub(super) value: Option<Placed>,
    pub(super) unit: Option<Unit>,
    pub(super) unit_text: Option<String>,
    pub(super) nominal: Option<f64>,
    pub(super) about: String,
}

/// `name = formula`; for the derivative of a state the name is `der(x)`.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) name: Name,
    pub(super) formula: Option<Formula>,
}

/// Everything with a name.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) parameters: Vec<Entry>,
    pub(super) inputs: Vec<Entry>,
    pub(super) outputs: Vec<Entry>,
    /// Start values and units of states and other variables, by name.
    pub(super) variables: HashMap<String, Entry>,
    /// States, then discrete variables.
    pub(super) states: Vec<Name>,
    /// How many of them have a derivative.
    pub(super) continuous: usize,
    pub(super) definitions: Vec<Definition>,
    pub(super) whens: Vec<When>,
    pub(super) maps: Vec<MapConfig>,
    roles: HashMap<String, Role>,
}

impl Names {
    /// Finds out who is who.
    pub(super) fn new(source: &Source, statements: Statements, mistakes: &mut Vec<Mistake>) -> Names {
        let mut names = Names::default();
        let statements = names.declare(source, statements, mistakes);
        names.define(statements, mistakes);
        names.maps = good_maps(&source.maps, mistakes);
        names
    }

    pub(super) fn role(&self, name: &str) -> Option<Role> {
        self.roles.get(name).copied()
    }

    /// Every name that a formula may use.
    pub(super) fn all(&self) -> Vec<String> {
        let mut all: Vec<String> = self.roles.keys().cloned().collect();
        all.sort_unstable();
        all
    }

    pub(super) fn unit(&self, name: &str) -> Option<&Unit> {
        let list = |entries: &'_ [Entry]| entries.iter().position(|entry| entry.name == name);
        let declared = match self.role(name) {
            Some(Role::Parameter(index)) => Some(&self.parameters[index]),
            Some(Role::Input(index)) => Some(&self.inputs[index]),
            _ => list(&self.outputs)
                .map(|at| &self.outputs[at])
                .filter(|output| output.unit.is_some())
                .or_else(|| self.variables.get(name)),
        };
        declared?.unit.as_ref()
    }

    /// Declarations of the text and beside it. An output with a formula is an equation, too; a block that is sampled as a whole
    /// is one `when`.
    fn declare(
        &mut self,
        source: &Source,
        mut statements: Statements,
        mistakes: &mut Vec<Mistake>,
    ) -> Statements {
        for declared in std::mem::take(&mut statements.declared) {
            let spot = Spot::Text(declared.name.span.clone());
            let (unit_text, about) = (declared.unit, declared.about);
            let unit = parsed(unit_text.as_deref(), &spot, mistakes);
            let mut value = declared.value.map(|formula| Placed { formula, outside: None });
            let name = declared.name.text.clone();
            if declared.kind == Kind::Output
                && let Some(Placed { formula, .. }) = value.take()
            {
                statements.equations.push(Assignment { target: declared.name, formula: Some(formula) });
            }
            let entry = Entry { name, spot, is_in_text: true, value, unit, unit_text, nominal: None, about };
            self.add(declared.kind, entry, mistakes);
        }
        for declaration in &source.declarations {
            let spot = Spot::Declared(declaration.kind, declaration.name.clone());
            let unit = parsed(declaration.unit.as_deref(), &spot, mistakes);
            let value = match &declaration.value {
                None => None,
                Some(Value::Number(value)) => Some(Placed::number(*value, spot.clone())),
                Some(Value::Formula(text)) => match statement::formula(text) {
                    Ok(formula) => Some(Placed { formula, outside: Some(spot.clone()) }),
                    Err(error) => {
                        let what = format!("`{text}`: {}", error.problem());
                        mistakes.push(Mistake { hint: error.hint(), ..Mistake::new(spot.clone(), what) });
                        Some(Placed::number(f64::NAN, spot.clone()))
                    }
                },
            };
            let (name, about) = (declaration.name.clone(), declaration.about.clone());
            let (unit_text, nominal) = (declaration.unit.clone(), declaration.nominal);
            let entry = Entry { name, spot, is_in_text: false, value, unit, unit_text, nominal, about };
            self.merge(declaration.kind, entry);
        }
        if let Some(period) = source.every {
            sample_all(&mut statements, period, mistakes);
        }
        statements
    }

    fn list(&mut self, kind: Kind) -> Option<&mut Vec<Entry>> {
        match kind {
            Kind::Parameter => Some(&mut self.parameters),
            Kind::Input => Some(&mut self.inputs),
            Kind::Output => Some(&mut self.outputs),
            Kind::Variable | Kind::Map | Kind::Every => None,
        }
    }

    fn add(&mut self, kind: Kind, entry: Entry, mistakes: &mut Vec<Mistake>) {
        let is_known = match self.list(kind) {
            Some(list) => list.iter().any(|other| other.name == entry.name),
            None => self.variables.contains_key(&entry.name),
        };
        if is_known {
            mistakes.push(Mistake::new(entry.spot, format!("`{}` is declared twice", entry.name)));
            return;
        }
        match self.list(kind) {
            Some(list) => list.push(entry),
            None => _ = self.variables.insert(entry.name.clone(), entry),
        }
    }

    /// What stands beside the text wins over what stands in it.
    fn merge(&mut self, kind: Kind, entry: Entry) {
        let known = match self.list(kind) {
            Some(list) => match list.iter().position(|other| other.name == entry.name) {
                Some(at) => &mut list[at],
                None => return list.push(entry),
            },
            None => match self.variables.entry(entry.name.clone()) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(entry);
                    return;
                }
            },
        };
        known.spot = entry.spot;
        known.value = entry.value.or(known.value.take());
        if entry.unit_text.is_some() {
            (known.unit, known.unit_text) = (entry.unit, entry.unit_text);
        }
        known.nominal = entry.nominal.or(known.nominal);
        if !entry.about.is_empty() {
            known.about = entry.about;
        }
    }

    /// Gives every name its role.
    fn define(&mut self, statements: Statements, mistakes: &mut Vec<Mistake>) {
        let mut taken: HashMap<String, &'static str> = HashMap::new();
        for (index, entry) in self.parameters.iter().enumerate() {
            self.roles.insert(entry.name.clone(), Role::Parameter(index));
            taken.insert(entry.name.clone(), "a parameter");
        }
        for (index, entry) in self.inputs.iter().enumerate() {
            if taken.insert(entry.name.clone(), "an input").is_some() {
                let what = format!("`{}` is a parameter and an input", entry.name);
                mistakes.push(Mistake::new(entry.spot.clone(), what));
            }
            self.roles.insert(entry.name.clone(), Role::Input(index));
        }
        for entry in self.parameters.iter().chain(&self.inputs) {
            check_name(&entry.name, &entry.spot, mistakes);
        }
        for Assignment { target, formula } in statements.derivatives {
            if let Some(other) = taken.get(&target.text) {
                let what = format!("`{}` is {other}: it has no derivative", target.text);
                let hint = if *other == "a state" {
                    "a state has one equation `der(x) = ..`"
                } else {
                    "give the state a name of its own"
                };
                let what =
                    if *other == "a state" { format!("`der({})` is given twice", target.text) } else { what };
                mistakes.push(Mistake::at(&target.span, what).hint(hint));
                continue;
            }
            check_name(&target.text, &Spot::Text(target.span.clone()), mistakes);
            taken.insert(target.text.clone(), "a state");
            self.roles.insert(target.text.clone(), Role::State(self.states.len()));
            let name = Name { text: format!("der({})", target.text), span: target.span.clone() };
            self.roles.insert(name.text.clone(), Role::Defined(self.definitions.len()));
            self.definitions.push(Definition { name, formula });
            self.states.push(target);
        }
        self.continuous = self.states.len();
        for Assignment { target, formula } in statements.equations {
            if let Some(other) = taken.get(&target.text) {
                mistakes.push(assigned_again(&target, other));
                continue;
            }
            check_name(&target.text, &Spot::Text(target.span.clone()), mistakes);
            taken.insert(target.text.clone(), "given by an equation");
            self.roles.insert(target.text.clone(), Role::Defined(self.definitions.len()));
            self.definitions.push(Definition { name: target, formula });
        }
        for when in &statements.whens {
            let mut own: HashSet<&str> = HashSet::new();
            for Assignment { target, .. } in &when.body {
                if !own.insert(&target.text) && !matches!(when.trigger, Trigger::Every(..)) {
                    let what = format!("`{}` is assigned twice in this `when`", target.text);
                    mistakes.push(Mistake::at(&target.span, what));
                }
                match taken.get(&target.text) {
                    Some(&"a state" | &"a discrete variable") => {}
                    Some(other) => mistakes.push(assigned_again(target, other)),
                    None => {
                        check_name(&target.text, &Spot::Text(target.span.clone()), mistakes);
                        taken.insert(target.text.clone(), "a discrete variable");
                        self.roles.insert(target.text.clone(), Role::State(self.states.len()));
                        self.states.push(target.clone());
                    }
                }
            }
        }
        self.whens = statements.whens;
        self.check_declared(mistakes);
    }

    /// Outputs and start values are of variables that there are.
    fn check_declared(&mut self, mistakes: &mut Vec<Mistake>) {
        if self.outputs.is_empty() {
            self.outputs = self.states.iter().map(|name| self.entry_of(name)).collect();
        }
        let known: Vec<String> = {
            let is_own = |name: &&String| matches!(self.role(name), Some(Role::State(_) | Role::Defined(_)));
            let all = self.all();
            all.iter().filter(is_own).filter(|name| !name.starts_with("der(")).cloned().collect()
        };
        for output in &self.outputs {
            match self.role(&output.name) {
                Some(Role::State(_) | Role::Defined(_)) => {}
                Some(Role::Parameter(_) | Role::Input(_)) => {
                    let what = format!("output `{}` is a parameter or an input itself", output.name);
                    let hint = format!("give the output a name of its own: y = {}", output.name);
                    mistakes.push(Mistake::new(output.spot.clone(), what).hint(hint));
                }
                None => {
                    let spot = output.spot.clone();
                    let mut mistake = Mistake::unknown(spot, "variable", &output.name, known.clone());
                    mistake.what = format!("output `{}` has no equation", output.name);
                    mistakes.push(mistake);
                }
            }
        }
        let mut variables: Vec<&Entry> = self.variables.values().collect();
        variables.sort_by(|a, b| a.name.cmp(&b.name));
        for entry in variables {
            match (self.role(&entry.name), &entry.value) {
                (Some(Role::State(_)), _) | (Some(Role::Defined(_) | Role::Input(_)), None) => {}
                (Some(Role::Input(_)), Some(_)) => {}
                (Some(_), _) => {
                    let what = format!(
                        "`{}` is no state and no discrete variable: it has no start value",
                        entry.name
                    );
                    mistakes.push(Mistake::new(entry.spot.clone(), what));
                }
                (None, _) => {
                    let states = self.states.iter().map(|state| state.text.clone()).collect();
                    let mut mistake = Mistake::unknown(entry.spot.clone(), "state", &entry.name, states);
                    mistake.what = format!("state `{}` has no equation", entry.name);
                    mistake.hint = Some(format!("write `der({}) = ..`, or set it in a `when`", entry.name));
                    mistakes.push(mistake);
                }
            }
        }
    }

    fn entry_of(&self, name: &Name) -> Entry {
        let declared = self.variables.get(&name.text);
        Entry {
            name: name.text.clone(),
            spot: Spot::Text(name.span.clone()),
            is_in_text: true,
            value: None,
            unit: declared.and_then(|entry| entry.unit.clone()),
            unit_text: declared.and_then(|entry| entry.unit_text.clone()),
            nominal: None,
            about: declared.map(|entry| entry.about.clone()).unwrap_or_default(),
        }
    }
}

fn assigned_again(target: &Name, other: &str) -> Mistake {
    let name = &target.text;
    let (what, hint) = match other {
        "a state" => (
            format!("`{name}` is a state: it has `der({name})`, and no equation of its own"),
            "set it at an event: when CONDITION then .. end".to_owned(),
        ),
        "given by an equation" => (
            format!("`{name}` is assigned twice"),
            "each variable has one equation; choose with `if c then a else b`".to_owned(),
        ),
        _ => (
            format!("`{name}` is {other}: it cannot be assigned"),
            "give the variable another name".to_owned(),
        ),
    };
    Mistake::at(&target.span, what).hint(hint)
}

/// All equations of a block that is sampled as a whole, in one `when`.
fn sample_all(statements: &mut Statements, period: f64, mistakes: &mut Vec<Mistake>) {
    let spot = Spot::Declared(Kind::Every, String::new());
    if !(period.is_finite() && period > 0.0) {
        mistakes.push(Mistake::new(spot.clone(), format!("`every` is {period}, but must be above zero")));
        return;
    }
    for Assignment { target, .. } in &statements.derivatives {
        let what = format!("`der({})` in a block that is sampled as a whole", target.text);
        let hint = "take `every` away and write `when every(T) then .. end` around what is sampled";
        mistakes.push(Mistake::at(&target.span, what).hint(hint));
    }
    let trigger = Trigger::Every(Placed::number(period, spot).formula, None);
    let body = std::mem::take(&mut statements.equations);
    statements.whens.insert(0, When { trigger, span: 0..0, body, what: "the period" });
}

fn parsed(text: Option<&str>, spot: &Spot, mistakes: &mut Vec<Mistake>) -> Option<Unit> {
    match Unit::parse(text?) {
        Ok(unit) => Some(unit),
        Err(error) => {
            mistakes.push(Mistake { hint: error.hint(), ..Mistake::new(spot.clone(), error.to_string()) });
            None
        }
    }
}

/// Names with a meaning of their own cannot be given away.
fn check_name(name: &str, spot: &Spot, mistakes: &mut Vec<Mistake>) {
    let is_reserved =
        functions().any(|known| known == name) || ["time", "pi", "der", "delay", "every"].contains(&name);
    if is_reserved {
        let what = format!("`{name}` has a meaning of its own");
        mistakes.push(Mistake::new(spot.clone(), what).hint("choose another name"));
    }
}

/// Maps that can be used.
fn good_maps(maps: &[MapConfig], mistakes: &mut Vec<Mistake>) -> Vec<MapConfig> {
    for map in maps {
        let spot = Spot::Declared(Kind::Map, map.name.clone());
        check_name(&map.name, &spot, mistakes);
        let problems = map.problems().into_iter();
        mistakes.extend(
            problems.map(|problem| Mistake::new(spot.clone(), format!("map `{}`: {problem}", map.name))),
        );
    }
    maps.to_vec()
}
