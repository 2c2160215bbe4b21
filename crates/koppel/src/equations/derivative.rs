//! Derivatives of nodes, as nodes of the same graph.
//!
//! Tangents are carried from the variables to the results: beside each node stands a list of the variables it follows and of its
//! derivatives with respect to them. Where a function has a kink (abs, min, max, clamp, sign, floor, mod, if, a map), its derivative is
//! that of the side it is on, so that the side it is not on may have any slope, infinite ones too.

use super::graph::{Axis, Graph, Id, Node};
use crate::expression::{Binary, Ternary, Unary};
use std::collections::HashMap;

/// With respect to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Variable {
    State(u32),
    Input(u32),
    Time,
}

/// Derivatives of one node that are not zero, in the order of the variables.
pub(super) type Tangents = Vec<(Variable, Id)>;

/// Derivatives of all roots.
pub(super) fn tangents(graph: &mut Graph, roots: &[Id]) -> Vec<Tangents> {
    let mut all: HashMap<Id, Tangents> = HashMap::new();
    for id in graph.below(roots) {
        if graph.follows(id).is_fixed() {
            continue;
        }
        let one = graph.number(1.0);
        let found = match graph.node(id) {
            Node::State(index) => vec![(Variable::State(index), one)],
            Node::Input(index) => vec![(Variable::Input(index), one)],
            Node::Time => vec![(Variable::Time, one)],
            node => chained(graph, id, node, &all),
        };
        all.insert(id, found);
    }
    roots.iter().map(|root| all.get(root).cloned().unwrap_or_default()).collect()
}

/// The chain rule for one operation.
fn chained(graph: &mut Graph, id: Id, node: Node, all: &HashMap<Id, Tangents>) -> Tangents {
    let operands: Vec<Id> = node.operands().collect();
    let lists: Vec<&[(Variable, Id)]> =
        operands.iter().map(|operand| all.get(operand).map_or(&[][..], Vec::as_slice)).collect();
    let mut variables: Vec<Variable> =
        lists.iter().flat_map(|list| list.iter().map(|(variable, _)| *variable)).collect();
    variables.sort_unstable();
    variables.dedup();
    let zero = graph.number(0.0);
    let mut places = [0; 3];
    let mut found = Vec::with_capacity(variables.len());
    for variable in variables {
        let mut inner = [zero; 3];
        for (k, list) in lists.iter().enumerate() {
            if let Some((_, tangent)) = list.get(places[k]).filter(|(of, _)| *of == variable) {
                inner[k] = *tangent;
                places[k] += 1;
            }
        }
        let tangent = outer(graph, id, node, inner);
        if !graph.is_zero(tangent) {
            found.push((variable, tangent));
        }
    }
    found
}

/// The derivative of an operation whose operands have these.
fn outer(graph: &mut Graph, id: Id, node: Node, [da, db, dc]: [Id; 3]) -> Id {
    match node {
        Node::Unary(operation, a) => unary(graph, id, operation, a, da),
        Node::Binary(operation, a, b) => binary(graph, id, operation, (a, da), (b, db)),
        Node::Ternary(Ternary::Select, condition, _, _) => graph.select(condition, db, dc),
        Node::Ternary(Ternary::Clamp, a, low, high) => {
            let is_above = graph.binary(Binary::Greater, a, high);
            let inside = graph.select(is_above, dc, da);
            let least = graph.binary(Binary::Min, a, high);
            let is_below = graph.binary(Binary::Less, least, low);
            graph.select(is_below, db, inside)
        }
        Node::Curve(map, a) => {
            let slope = graph.leaf(Node::CurveSlope(map, a));
            graph.binary(Binary::Times, slope, da)
        }
        Node::Field(map, a, b) => {
            let along = |graph: &mut Graph, axis: Axis, inner: Id| {
                let slope = graph.leaf(Node::FieldSlope(map, axis, a, b));
                graph.binary(Binary::Times, slope, inner)
            };
            let (first, second) = (along(graph, Axis::First, da), along(graph, Axis::Second, db));
            graph.binary(Binary::Plus, first, second)
        }
        // Nobody asks for derivatives of slopes.
        _ => graph.number(0.0),
    }
}

fn unary(graph: &mut Graph, id: Id, operation: Unary, a: Id, da: Id) -> Id {
    use Binary::{Divide, Minus, Plus, Times};
    let one = graph.number(1.0);
    let square = |graph: &mut Graph, of: Id| graph.binary(Times, of, of);
    match operation {
        Unary::Minus => graph.unary(Unary::Minus, da),
        Unary::Not | Unary::Sign | Unary::Floor => graph.number(0.0),
        Unary::Abs => {
            let sign = graph.unary(Unary::Sign, a);
            graph.binary(Times, sign, da)
        }
        Unary::Sqrt => {
            let twice = graph.binary(Plus, id, id);
            graph.binary(Divide, da, twice)
        }
        Unary::Exp => graph.binary(Times, id, da),
        Unary::Log => graph.binary(Divide, da, a),
        Unary::Sin => {
            let slope = graph.unary(Unary::Cos, a);
            graph.binary(Times, slope, da)
        }
        Unary::Cos => {
            let slope = graph.unary(Unary::Sin, a);
            let product = graph.binary(Times, slope, da);
            graph.unary(Unary::Minus, product)
        }
        Unary::Tan => {
            let square = square(graph, id);
            let slope = graph.binary(Plus, one, square);
            graph.binary(Times, slope, da)
        }
        Unary::Asin | Unary::Acos => {
            let square = square(graph, a);
            let rest = graph.binary(Minus, one, square);
            let root = graph.unary(Unary::Sqrt, rest);
            let quotient = graph.binary(Divide, da, root);
            if operation == Unary::Asin { quotient } else { graph.unary(Unary::Minus, quotient) }
        }
        Unary::Atan => {
            let square = square(graph, a);
            let sum = graph.binary(Plus, one, square);
            graph.binary(Divide, da, sum)
        }
        Unary::Tanh => {
            let square = square(graph, id);
            let slope = graph.binary(Minus, one, square);
            graph.binary(Times, slope, da)
        }
    }
}

fn binary(graph: &mut Graph, id: Id, operation: Binary, (a, da): (Id, Id), (b, db): (Id, Id)) -> Id {
    use Binary::{Atan2, Divide, Greater, Less, Max, Min, Minus, Mod, Plus, Power, Times};
    match operation {
        Plus | Minus => graph.binary(operation, da, db),
        Times => {
            let (left, right) = (graph.binary(Times, da, b), graph.binary(Times, a, db));
            graph.binary(Plus, left, right)
        }
        // (a/b)' = (a' - a/b b') / b.
        Divide => {
            let lost = graph.binary(Times, id, db);
            let rest = graph.binary(Minus, da, lost);
            graph.binary(Divide, rest, b)
        }
        Power => power(graph, id, (a, da), (b, db)),
        Min | Max => {
            let is_first = graph.binary(if operation == Min { Less } else { Greater }, a, b);
            graph.select(is_first, da, db)
        }
        Mod => {
            let quotient = graph.binary(Divide, a, b);
            let times = graph.unary(Unary::Floor, quotient);
            let lost = graph.binary(Times, times, db);
            graph.binary(Minus, da, lost)
        }
        // atan2(a, b)' = (b a' - a b') / (a² + b²).
        Atan2 => {
            let (left, right) = (graph.binary(Times, b, da), graph.binary(Times, a, db));
            let difference = graph.binary(Minus, left, right);
            let (first, second) = (graph.binary(Times, a, a), graph.binary(Times, b, b));
            let sum = graph.binary(Plus, first, second);
            graph.binary(Divide, difference, sum)
        }
        _ => graph.number(0.0),
    }
}

/// (a^b)' = b a^(b-1) a' + a^b ln(a) b', the second only where b moves.
fn power(graph: &mut Graph, id: Id, (a, da): (Id, Id), (b, db): (Id, Id)) -> Id {
    use Binary::{Minus, Plus, Power, Times};
    let one = graph.number(1.0);
    let lower = graph.binary(Minus, b, one);
    let reduced = graph.binary(Power, a, lower);
    let slope = graph.binary(Times, b, reduced);
    let first = graph.binary(Times, slope, da);
    if graph.is_zero(db) {
        return first;
    }
    let log = graph.unary(Unary::Log, a);
    let growth = graph.binary(Times, id, log);
    let moved = graph.binary(Times, growth, db);
    // An exponent that rests has any base.
    let zero = graph.number(0.0);
    let moves = graph.binary(Binary::NotEqual, db, zero);
    let second = graph.select(moves, moved, zero);
    graph.binary(Plus, first, second)
}
