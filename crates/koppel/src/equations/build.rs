//! From names and formulas to nodes of the graph.
//!
//! Equations are taken in the order in which they need each other. A formula with a mistake gives no node, and neither does what is made
//! of it, without a further mistake.

use super::graph::{Graph, Id, Node};
use super::mistake::{Kind, Mistake, Spot};
use super::names::{Entry, Names, Placed, Role};
use super::order::order;
use super::statement::{Assignment, Name, Trigger};
use crate::expression::{Binary, Formula, Instruction, Unary, functions};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// When a program inside acts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Occasion {
    /// When this becomes true.
    Becomes(Id),
    /// At offset + k period, which follow parameters alone.
    Every { period: Id, offset: Id },
}

/// What happens when it acts.
#[derive(Debug, Clone)]
pub(super) struct Action {
    pub(super) occasion: Occasion,
    /// States, and what they become.
    pub(super) sets: Vec<(usize, Id)>,
    /// Its head in the text.
    pub(super) span: Range<usize>,
}

/// All nodes that a model needs.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) graph: Graph,
    /// Of all states; zero for discrete variables.
    pub(super) derivatives: Vec<Id>,
    pub(super) outputs: Vec<Id>,
    /// Start values of all states.
    pub(super) starts: Vec<Id>,
    pub(super) actions: Vec<Action>,
    /// Differences of which actions must know the signs.
    pub(super) indicators: Vec<Id>,
    /// Where operations that can fail stand in the text.
    pub(super) places: HashMap<Id, Range<usize>>,
    /// Numbers of the parameters that are no formulas.
    pub(super) values: Vec<f64>,
    /// Which of the declared parameters these are.
    pub(super) plain: Vec<usize>,
}

/// What names stand for; nothing for what has a mistake.
type Known = HashMap<String, Option<Id>>;

pub(super) struct Builder<'a> {
    names: &'a Names,
    mistakes: &'a mut Vec<Mistake>,
    nodes: Nodes,
    known: Known,
    /// Unknown names that were told already.
    told: HashSet<String>,
    /// Names that formulas use.
    used: HashSet<String>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(names: &'a Names, mistakes: &'a mut Vec<Mistake>) -> Self {
        let (nodes, known, told) = (Nodes::default(), Known::new(), HashSet::new());
        Builder { names, mistakes, nodes, known, told, used: HashSet::new() }
    }

    /// All nodes; only to be used if there are no mistakes.
    pub(super) fn build(mut self) -> Nodes {
        let pi = self.nodes.graph.number(std::f64::consts::PI);
        self.known.insert("pi".into(), Some(pi));
        self.parameters();
        self.leaves();
        self.definitions();
        self.states_and_outputs();
        self.actions();
        self.unused();
        self.nodes
    }

    /// A parameter that stands beside the text and that no formula uses is a slip: it would change nothing.
    fn unused(&mut self) {
        let of_text = |entry: &&Entry| matches!(entry.spot, Spot::Text(_)) || entry.is_in_text;
        let known: Vec<String> =
            self.names.parameters.iter().filter(of_text).map(|entry| entry.name.clone()).collect();
        for entry in self.names.parameters.iter().filter(|entry| !of_text(entry)) {
            if !self.used.contains(&entry.name) {
                let mut mistake =
                    Mistake::unknown(entry.spot.clone(), "parameter", &entry.name, known.clone());
                mistake.what = format!("parameter `{}` is used by no equation", entry.name);
                self.mistakes.push(mistake);
            }
        }
    }

    /// Parameters that are numbers are leaves; the others are made of them.
    fn parameters(&mut self) {
        let entries = &self.names.parameters;
        for (index, entry) in entries.iter().enumerate() {
            let plain = entry.value.as_ref().map(Placed::plain);
            match plain {
                Some(Some(value)) => {
                    let leaf = Node::Parameter(self.nodes.values.len() as u32);
                    let id = self.nodes.graph.leaf(leaf);
                    self.nodes.values.push(value);
                    self.nodes.plain.push(index);
                    self.known.insert(entry.name.clone(), Some(id));
                }
                Some(None) => {}
                None => {
                    let what = format!("parameter `{}` has no value", entry.name);
                    let hint = "give it one: parameters = { NAME = 1.0 }";
                    self.mistakes.push(Mistake::new(entry.spot.clone(), what).hint(hint));
                    self.known.insert(entry.name.clone(), None);
                }
            }
        }
        let index_of = |name: &String| match self.names.role(name) {
            Some(Role::Parameter(index)) => Some(index),
            _ => None,
        };
        let needs: Vec<Vec<usize>> = entries
            .iter()
            .map(|entry| entry.value.as_ref())
            .map(|value| {
                value.map_or(vec![], |value| value.formula.names.iter().filter_map(index_of).collect())
            })
            .collect();
        let (done, circles) = order(&needs);
        for circle in circles {
            let names: Vec<&str> = circle.iter().map(|index| entries[*index].name.as_str()).collect();
            self.circle(entries[circle[0]].spot.clone(), &names, "parameters");
            circle.iter().for_each(|index| _ = self.known.insert(entries[*index].name.clone(), None));
        }
        for index in done {
            let Entry { name, value: Some(value), .. } = &entries[index] else { continue };
            if !self.known.contains_key(name) {
                let id = self.fixed(value, &format!("parameter `{name}`"));
                self.known.insert(name.clone(), id);
            }
        }
    }

    fn circle(&mut self, spot: Spot, names: &[&str], kind: &str) {
        let path: Vec<String> = names.iter().chain([&names[0]]).map(|name| format!("`{name}`")).collect();
        let what = match names {
            [own] => format!("`{own}` is made of itself"),
            _ => format!("these {kind} depend on each other: {}", path.join(" -> ")),
        };
        let hint = match (kind, names) {
            ("parameters", _) => "give one of them a number".to_owned(),
            (_, [own]) => format!("did you mean der({own}) = ..?"),
            _ => "solve for one of them by hand, or let a state (`der`) or a discrete variable (`when`) stand between".to_owned(),
        };
        self.mistakes.push(Mistake::new(spot, what).hint(hint));
    }

    fn leaves(&mut self) {
        for (index, entry) in self.names.inputs.iter().enumerate() {
            let id = self.nodes.graph.leaf(Node::Input(index as u32));
            self.known.insert(entry.name.clone(), Some(id));
        }
        for (index, name) in self.names.states.iter().enumerate() {
            let id = self.nodes.graph.leaf(Node::State(index as u32));
            self.known.insert(name.text.clone(), Some(id));
        }
    }

    fn definitions(&mut self) {
        let definitions = &self.names.definitions;
        let index_of = |name: &String| match self.names.role(name) {
            Some(Role::Defined(index)) => Some(index),
            _ => None,
        };
        let needs: Vec<Vec<usize>> = definitions
            .iter()
            .map(|one| one.formula.as_ref())
            .map(|formula| formula.map_or(vec![], |one| one.names.iter().filter_map(index_of).collect()))
            .collect();
        let (done, circles) = order(&needs);
        for circle in circles {
            let first = *circle.iter().min().unwrap_or(&0);
            let from = circle.iter().position(|index| *index == first).unwrap_or(0);
            let turned = circle[from..].iter().chain(&circle[..from]);
            let names: Vec<&str> = turned.map(|index| definitions[*index].name.text.as_str()).collect();
            self.circle(Spot::Text(definitions[first].name.span.clone()), &names, "variables");
            circle
                .iter()
                .for_each(|index| _ = self.known.insert(definitions[*index].name.text.clone(), None));
        }
        for index in done {
            let definition = &definitions[index];
            let in_circle = self.known.contains_key(&definition.name.text);
            let id = definition.formula.as_ref().and_then(|formula| {
                let placed = Placed { formula: formula.clone(), outside: None };
                self.node(&placed, &Known::new())
            });
            if !in_circle {
                self.known.insert(definition.name.text.clone(), id);
            }
        }
    }

    fn states_and_outputs(&mut self) {
        let (zero, one) = (self.nodes.graph.number(0.0), self.nodes.graph.number(1.0));
        for (index, Name { text, .. }) in self.names.states.iter().enumerate() {
            let derivative = self.known.get(&format!("der({text})")).copied().flatten();
            self.nodes.derivatives.push(if index < self.names.continuous {
                derivative.unwrap_or(one)
            } else {
                zero
            });
            let entry = self.names.variables.get(text);
            let start = match entry.and_then(|entry| entry.value.as_ref()) {
                Some(value) => self.fixed(value, &format!("the start value of `{text}`")),
                None => Some(zero),
            };
            self.nodes.starts.push(start.unwrap_or(zero));
        }
        for output in &self.names.outputs {
            let id = self.known.get(&output.name).copied().flatten();
            self.nodes.outputs.push(id.unwrap_or(zero));
        }
    }

    fn actions(&mut self) {
        for when in &self.names.whens {
            let occasion = match &when.trigger {
                Trigger::Unknown => None,
                Trigger::Becomes(condition) => self.condition(condition),
                Trigger::Every(period, offset) => {
                    self.rhythm(when.what, period, offset.as_ref(), when.span == (0..0))
                }
            };
            // What was assigned above is seen below.
            let (mut above, mut sets) = (Known::new(), Vec::new());
            for Assignment { target, formula } in &when.body {
                let id = formula.as_ref().and_then(|formula| {
                    let placed = Placed { formula: formula.clone(), outside: None };
                    self.node(&placed, &above)
                });
                above.insert(target.text.clone(), id);
                if let (Some(Role::State(state)), Some(id)) = (self.names.role(&target.text), id) {
                    sets.retain(|(other, _)| *other != state);
                    sets.push((state, id));
                }
            }
            if let Some(occasion) = occasion {
                self.nodes.actions.push(Action { occasion, sets, span: when.span.clone() });
            }
        }
    }

    fn rhythm(
        &mut self,
        what: &str,
        period: &Formula,
        offset: Option<&Formula>,
        is_whole: bool,
    ) -> Option<Occasion> {
        let outside = is_whole.then(|| Spot::Declared(Kind::Every, String::new()));
        let placed = |formula: &Formula| Placed { formula: formula.clone(), outside: outside.clone() };
        let found = self.fixed(&placed(period), what)?;
        let zero = self.nodes.graph.number(0.0);
        let shift = match offset {
            Some(offset) => self.fixed(&placed(offset), "the offset")?,
            None => zero,
        };
        if self.nodes.graph.value(found).is_some_and(|period| !(period > 0.0 && period.is_finite())) {
            let span = period.spans.last().cloned().unwrap_or_default();
            self.mistakes.push(Mistake::at(&span, format!("{what} must be above zero")));
        }
        Some(Occasion::Every { period: found, offset: shift })
    }

    /// A condition is made of comparisons, each of which can be located by the sign of a difference.
    fn condition(&mut self, condition: &Formula) -> Option<Occasion> {
        let placed = Placed { formula: condition.clone(), outside: None };
        let root = self.node(&placed, &Known::new())?;
        let span = condition.spans.last().cloned().unwrap_or_default();
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if !self.moves(id) {
                continue;
            }
            match self.nodes.graph.node(id) {
                Node::Binary(Binary::And | Binary::Or, a, b) => open.extend([a, b]),
                Node::Unary(Unary::Not, a) => open.push(a),
                // The sign that a comparison has when it is an equation decides which side zero is on.
                Node::Binary(Binary::Less | Binary::GreaterEqual, a, b) => self.indicator(b, a),
                Node::Binary(Binary::Greater | Binary::LessEqual, a, b) => self.indicator(a, b),
                Node::Binary(Binary::Equal | Binary::NotEqual, ..) => {
                    let what = "`==` and `!=` of what moves cannot be located";
                    let hint = "compare with `<` or `>`: the crossing is found";
                    self.mistakes.push(Mistake::at(&span, what).hint(hint));
                }
                _ => {
                    let what = "a `when` needs a condition";
                    let hint = "write a comparison such as `x > 100`, or several with `and` and `or`";
                    self.mistakes.push(Mistake::at(&span, what).hint(hint));
                    return None;
                }
            }
        }
        Some(Occasion::Becomes(root))
    }

    fn indicator(&mut self, a: Id, b: Id) {
        let difference = self.nodes.graph.binary(Binary::Minus, a, b);
        if !self.nodes.indicators.contains(&difference) {
            self.nodes.indicators.push(difference);
        }
    }

    /// True if it changes between events, too.
    fn moves(&self, id: Id) -> bool {
        let follows = self.nodes.graph.follows(id);
        let is_continuous = |id: &Id| match self.nodes.graph.node(*id) {
            Node::State(index) => (index as usize) < self.names.continuous,
            _ => false,
        };
        follows.time
            || follows.inputs
            || follows.states && self.nodes.graph.below(&[id]).iter().any(is_continuous)
    }

    /// What follows parameters alone.
    fn fixed(&mut self, value: &Placed, what: &str) -> Option<Id> {
        let movers = value.formula.names.iter().find(|name| {
            matches!(self.names.role(name), Some(Role::Input(_) | Role::State(_) | Role::Defined(_)))
        });
        if let Some(name) = movers {
            let span = value.formula.spans.last().cloned().unwrap_or_default();
            let what = format!("{what} follows `{name}`, which is no parameter");
            self.mistakes
                .push(Mistake::new(value.spot(&span), what).hint("use numbers and parameters alone"));
            return None;
        }
        self.node(value, &Known::new())
    }

    /// The node of a formula; `above` is known before everything else.
    fn node(&mut self, placed: &Placed, above: &Known) -> Option<Id> {
        let Formula { program, spans, names, calls } = &placed.formula;
        let mut stack: Vec<Option<Id>> = Vec::new();
        for (instruction, span) in program.iter().zip(spans) {
            let id = match *instruction {
                Instruction::Number(value) => Some(self.nodes.graph.number(value)),
                Instruction::Time => Some(self.nodes.graph.leaf(Node::Time)),
                Instruction::Variable(index) => self.variable(&names[index], placed.spot(span), above),
                Instruction::Unary(operation) => {
                    pop(&mut stack, 1)[0].map(|a| self.nodes.graph.unary(operation, a))
                }
                Instruction::Binary(operation) => match pop(&mut stack, 2)[..2] {
                    [Some(a), Some(b)] => Some(self.nodes.graph.binary(operation, a, b)),
                    _ => None,
                },
                Instruction::Ternary(operation) => match pop(&mut stack, 3) {
                    [Some(a), Some(b), Some(c)] => Some(self.nodes.graph.ternary(operation, a, b, c)),
                    _ => None,
                },
                Instruction::Call(index) => {
                    let call = &calls[index];
                    let first = stack.len() - call.arguments;
                    let arguments: Vec<Option<Id>> = stack.drain(first..).collect();
                    self.call(&call.name, placed.spot(&call.span), &arguments)
                }
            };
            if let (Some(id), None) = (id, &placed.outside)
                && can_fail(self.nodes.graph.node(id))
            {
                self.nodes.places.entry(id).or_insert_with(|| span.clone());
            }
            stack.push(id);
        }
        stack.pop().flatten()
    }

    fn variable(&mut self, name: &str, spot: Spot, above: &Known) -> Option<Id> {
        if let Some(id) = above.get(name).or_else(|| self.known.get(name)) {
            self.used.insert(name.to_owned());
            return *id;
        }
        // It has a mistake of its own, or is told already.
        if self.names.role(name).is_some() || !self.told.insert(name.to_owned()) {
            return None;
        }
        let mut mistake = Mistake::unknown(spot, "name", name, self.names.all());
        mistake.hint = match name {
            "t" => Some("the time is called `time`".into()),
            _ if name.starts_with("der(") => {
                mistake.what = format!("`{name}` is not known: there is no equation for it");
                None
            }
            _ if functions().any(|known| known == name) => Some(format!("write `{name}(..)`")),
            _ => None,
        };
        self.mistakes.push(mistake);
        None
    }

    /// A function that is not one of the language: a map.
    fn call(&mut self, name: &str, spot: Spot, arguments: &[Option<Id>]) -> Option<Id> {
        let Some(index) = self.names.maps.iter().position(|map| map.name == name) else {
            self.unknown_function(name, spot);
            return None;
        };
        let wanted = 1 + usize::from(self.names.maps[index].y.is_some());
        if arguments.len() != wanted {
            let count = ["one argument", "two arguments"][wanted - 1];
            let what = format!("map `{name}` takes {count}, found {}", arguments.len());
            self.mistakes.push(Mistake::new(spot, what));
            return None;
        }
        let map = index as u32;
        match *arguments {
            [Some(a)] => Some(self.nodes.graph.leaf(Node::Curve(map, a))),
            [Some(a), Some(b)] => Some(self.nodes.graph.leaf(Node::Field(map, a, b))),
            _ => None,
        }
    }

    fn unknown_function(&mut self, name: &str, spot: Spot) {
        let maps = self.names.maps.iter().map(|map| map.name.clone());
        let known: Vec<String> = functions().map(String::from).chain(maps).collect();
        let mut mistake = Mistake::unknown(spot, "function", name, known);
        mistake.hint = match name {
            "ln" => Some("the natural logarithm is `log`".into()),
            "log10" => Some("write `log(x) / log(10)`".into()),
            "arctan" | "arcsin" | "arccos" => Some("write `atan`, `asin`, `acos`".into()),
            "pre" => Some("on the right inside of `when` stands what was before: leave `pre` away".into()),
            "reinit" => Some("inside of `when`, write `x = ..`".into()),
            "noEvent" | "smooth" => Some("an `if` inside of a formula makes no event: leave it away".into()),
            "sample" => Some("write `when every(T) then .. end`".into()),
            _ if self.names.role(name).is_some() => {
                Some(format!("`{name}` is a variable: write `{name} * (..)`"))
            }
            _ => None,
        };
        self.mistakes.push(mistake);
    }
}

/// The uppermost values of the stack, the lowest first.
fn pop(stack: &mut Vec<Option<Id>>, count: usize) -> [Option<Id>; 3] {
    let mut taken = [None; 3];
    let first = stack.len() - count;
    for (place, id) in taken.iter_mut().zip(stack.drain(first..)) {
        *place = id;
    }
    taken
}

/// True if finite operands may give what is not finite.
fn can_fail(node: Node) -> bool {
    match node {
        Node::Binary(operation, ..) => {
            matches!(operation, Binary::Divide | Binary::Power | Binary::Mod | Binary::Times)
        }
        Node::Unary(operation, _) => matches!(
            operation,
            Unary::Sqrt | Unary::Log | Unary::Exp | Unary::Asin | Unary::Acos | Unary::Tan
        ),
        Node::Curve(..) | Node::Field(..) => true,
        _ => false,
    }
}
