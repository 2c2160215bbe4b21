//! Why a value is not finite: the operation that made it so of finite values.

use super::graph::{Axis, Graph, Id, Node};
use super::map::Map;
use crate::expression::{Binary, Ternary, Unary};

/// Values of all nodes, for messages and tests: nothing is fast here.
pub(super) fn values(graph: &Graph, maps: &[Map], time: f64, [x, u, p]: [&[f64]; 3]) -> Vec<f64> {
    let mut values: Vec<f64> = Vec::with_capacity(graph.len());
    for id in graph.all() {
        let at = |id: Id| values[id.index()];
        values.push(match graph.node(id) {
            Node::Number(bits) => f64::from_bits(bits),
            Node::Time => time,
            Node::State(index) => x[index as usize],
            Node::Input(index) => u[index as usize],
            Node::Parameter(index) => p[index as usize],
            Node::Unary(operation, a) => operation.apply(at(a)),
            Node::Binary(operation, a, b) => operation.apply(at(a), at(b)),
            Node::Ternary(operation, a, b, c) => operation.apply(at(a), at(b), at(c)),
            Node::Curve(map, a) => maps[map as usize].curve(at(a)).0,
            Node::CurveSlope(map, a) => maps[map as usize].curve(at(a)).1,
            Node::Field(map, a, b) => maps[map as usize].field(at(a), at(b)).0,
            Node::FieldSlope(map, axis, a, b) => {
                maps[map as usize].field(at(a), at(b)).1[usize::from(axis == Axis::Second)]
            }
        });
    }
    values
}

/// The operation from which `root` has what is not finite; nothing if it is finite.
pub(super) fn culprit(graph: &Graph, values: &[f64], root: Id) -> Option<Id> {
    let is_bad = |id: &Id| !values[id.index()].is_finite();
    let mut at = Some(root).filter(is_bad)?;
    loop {
        let inside = match graph.node(at) {
            // Only the branch that was taken counts.
            Node::Ternary(Ternary::Select, condition, then, otherwise) => {
                let taken = if values[condition.index()] != 0.0 { then } else { otherwise };
                [condition, taken].into_iter().find(is_bad)
            }
            node => node.operands().find(is_bad),
        };
        match inside {
            Some(operand) => at = operand,
            None => return Some(at),
        }
    }
}

/// What went wrong in that operation.
pub(super) fn reason(graph: &Graph, maps: &[Map], values: &[f64], culprit: Id) -> String {
    let at = |id: Id| values[id.index()];
    match graph.node(culprit) {
        Node::Binary(Binary::Divide | Binary::Mod, _, b) if at(b) == 0.0 => "division by zero".into(),
        Node::Unary(Unary::Sqrt, a) => format!("square root of {}", at(a)),
        Node::Unary(Unary::Log, a) => format!("logarithm of {}", at(a)),
        Node::Unary(operation @ (Unary::Asin | Unary::Acos), a) => {
            format!(
                "{} of {}, which is outside of -1..1",
                if operation == Unary::Asin { "asin" } else { "acos" },
                at(a)
            )
        }
        Node::Binary(Binary::Power, a, b) if at(a) < 0.0 => {
            format!("the power {} of {}", at(b), at(a))
        }
        Node::Binary(Binary::Power, a, b) if at(a) == 0.0 => format!("0 to the power {}", at(b)),
        Node::Curve(map, a) => {
            let config = maps[map as usize].config();
            outside(&config.name, &[(&config.x, at(a))])
        }
        Node::Field(map, a, b) => {
            let config = maps[map as usize].config();
            let y = config.y.as_deref().unwrap_or_default();
            outside(&config.name, &[(&config.x, at(a)), (y, at(b))])
        }
        Node::State(_) | Node::Input(_) | Node::Parameter(_) => "a variable that is not finite itself".into(),
        _ => "a number too large to be held".into(),
    }
}

fn outside(name: &str, arguments: &[(&[f64], f64)]) -> String {
    let is_out = |(axis, value): &&(&[f64], f64)| {
        !(axis.first().is_some_and(|first| first <= value) && axis.last().is_some_and(|last| last >= value))
    };
    match arguments.iter().find(is_out) {
        Some((axis, value)) => format!(
            "map `{name}` at {value}, outside of {}..{}",
            axis.first().unwrap_or(&f64::NAN),
            axis.last().unwrap_or(&f64::NAN)
        ),
        None => format!("map `{name}`"),
    }
}
