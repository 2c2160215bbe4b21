//! Equations as one graph, in which what is the same stands once.
//!
//! A node is a number, a variable or an operation on nodes that were there before, so their order is one in which they can be
//! evaluated. A node that is there already is not made again (hash-consing): common sub-expressions, also those of derivatives, cost
//! nothing. What can be computed beforehand is; sums with 0 and products with 0 and 1 disappear.

use crate::expression::{Binary, Ternary, Unary};
use std::collections::HashMap;

/// A node, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id(u32);

impl Id {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Along which argument of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Axis {
    First,
    Second,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A number by its bits.
    Number(u64),
    Time,
    State(u32),
    Input(u32),
    Parameter(u32),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    Ternary(Ternary, Id, Id, Id),
    /// A map of one argument, by its number.
    Curve(u32, Id),
    /// Its slope.
    CurveSlope(u32, Id),
    /// A map of two arguments.
    Field(u32, Id, Id),
    /// Its slope along one of them.
    FieldSlope(u32, Axis, Id, Id),
}

impl Node {
    /// What it is made of.
    pub(super) fn operands(self) -> impl Iterator<Item = Id> {
        let list = match self {
            Node::Number(_) | Node::Time | Node::State(_) | Node::Input(_) | Node::Parameter(_) => [None; 3],
            Node::Unary(_, a) | Node::Curve(_, a) | Node::CurveSlope(_, a) => [Some(a), None, None],
            Node::Binary(_, a, b) | Node::Field(_, a, b) | Node::FieldSlope(_, _, a, b) => {
                [Some(a), Some(b), None]
            }
            Node::Ternary(_, a, b, c) => [Some(a), Some(b), Some(c)],
        };
        list.into_iter().flatten()
    }
}

/// What the value of a node follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Follows {
    pub(super) time: bool,
    pub(super) states: bool,
    pub(super) inputs: bool,
    pub(super) parameters: bool,
}

impl Follows {
    fn and(self, other: Follows) -> Follows {
        Follows {
            time: self.time || other.time,
            states: self.states || other.states,
            inputs: self.inputs || other.inputs,
            parameters: self.parameters || other.parameters,
        }
    }

    /// True if it changes with parameters at most.
    pub(super) fn is_fixed(self) -> bool {
        !(self.time || self.states || self.inputs)
    }
}

/// All nodes of a model.
#[derive(Debug, Clone, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    follows: Vec<Follows>,
    known: HashMap<Node, Id>,
}

impl Graph {
    pub(super) fn node(&self, id: Id) -> Node {
        self.nodes[id.index()]
    }

    pub(super) fn follows(&self, id: Id) -> Follows {
        self.follows[id.index()]
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Everything these nodes are made of, and themselves, in order.
    pub(super) fn below(&self, roots: &[Id]) -> Vec<Id> {
        let mut is_below = vec![false; self.len()];
        roots.iter().for_each(|root| is_below[root.index()] = true);
        for at in (0..self.len()).rev() {
            if is_below[at] {
                self.nodes[at].operands().for_each(|operand| is_below[operand.index()] = true);
            }
        }
        (0..self.len() as u32).map(Id).filter(|id| is_below[id.index()]).collect()
    }

    /// All nodes in order.
    pub(super) fn all(&self) -> impl Iterator<Item = Id> + use<> {
        (0..self.nodes.len() as u32).map(Id)
    }

    fn intern(&mut self, node: Node) -> Id {
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        let own = match node {
            Node::Time => Follows { time: true, ..Follows::default() },
            Node::State(_) => Follows { states: true, ..Follows::default() },
            Node::Input(_) => Follows { inputs: true, ..Follows::default() },
            Node::Parameter(_) => Follows { parameters: true, ..Follows::default() },
            _ => Follows::default(),
        };
        let follows = node.operands().fold(own, |all, operand| all.and(self.follows(operand)));
        let id = Id(u32::try_from(self.nodes.len()).expect("a model has fewer than 2^32 operations"));
        self.nodes.push(node);
        self.follows.push(follows);
        self.known.insert(node, id);
        id
    }

    pub(super) fn number(&mut self, value: f64) -> Id {
        // One zero, one NaN.
        let value = if value == 0.0 { 0.0 } else { value };
        self.intern(Node::Number(if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }))
    }

    pub(super) fn value(&self, id: Id) -> Option<f64> {
        match self.node(id) {
            Node::Number(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    pub(super) fn is_zero(&self, id: Id) -> bool {
        self.value(id) == Some(0.0)
    }

    pub(super) fn leaf(&mut self, node: Node) -> Id {
        self.intern(node)
    }

    pub(super) fn unary(&mut self, operation: Unary, a: Id) -> Id {
        if let Some(a) = self.value(a) {
            return self.number(operation.apply(a));
        }
        match (operation, self.node(a)) {
            (Unary::Minus, Node::Unary(Unary::Minus, inner)) => inner,
            (Unary::Abs, Node::Unary(Unary::Abs, _)) => a,
            _ => self.intern(Node::Unary(operation, a)),
        }
    }

    pub(super) fn binary(&mut self, operation: Binary, a: Id, b: Id) -> Id {
        if let (Some(a), Some(b)) = (self.value(a), self.value(b)) {
            return self.number(operation.apply(a, b));
        }
        match operation {
            Binary::Plus => self.plus(a, b),
            Binary::Minus => self.minus(a, b),
            Binary::Times => self.times(a, b),
            Binary::Divide if self.value(b) == Some(1.0) || self.is_zero(a) => a,
            Binary::Power => self.power(a, b),
            _ => self.intern(Node::Binary(operation, a, b)),
        }
    }

    fn plus(&mut self, a: Id, b: Id) -> Id {
        match (self.node(a), self.node(b)) {
            _ if self.is_zero(a) => b,
            _ if self.is_zero(b) => a,
            (_, Node::Unary(Unary::Minus, b)) => self.minus(a, b),
            (Node::Unary(Unary::Minus, a), _) => self.minus(b, a),
            _ => self.intern(Node::Binary(Binary::Plus, a.min(b), a.max(b))),
        }
    }

    fn minus(&mut self, a: Id, b: Id) -> Id {
        match self.node(b) {
            _ if self.is_zero(b) => a,
            _ if self.is_zero(a) => self.unary(Unary::Minus, b),
            _ if a == b => self.number(0.0),
            Node::Unary(Unary::Minus, b) => self.plus(a, b),
            _ => self.intern(Node::Binary(Binary::Minus, a, b)),
        }
    }

    fn times(&mut self, a: Id, b: Id) -> Id {
        match (self.value(a), self.value(b)) {
            (Some(0.0), _) | (_, Some(0.0)) => self.number(0.0),
            (Some(1.0), _) => b,
            (_, Some(1.0)) => a,
            (Some(-1.0), _) => self.unary(Unary::Minus, b),
            (_, Some(-1.0)) => self.unary(Unary::Minus, a),
            _ => self.intern(Node::Binary(Binary::Times, a.min(b), a.max(b))),
        }
    }

    fn power(&mut self, a: Id, b: Id) -> Id {
        const MOST: f64 = 8.0;
        match self.value(b) {
            Some(0.0) => self.number(1.0),
            Some(0.5) => self.unary(Unary::Sqrt, a),
            Some(whole) if whole.fract() == 0.0 && whole.abs() <= MOST => {
                let power = self.whole_power(a, whole.abs() as u32);
                let one = self.number(1.0);
                if whole < 0.0 { self.binary(Binary::Divide, one, power) } else { power }
            }
            _ => self.intern(Node::Binary(Binary::Power, a, b)),
        }
    }

    fn whole_power(&mut self, a: Id, exponent: u32) -> Id {
        if exponent == 1 {
            return a;
        }
        let half = self.whole_power(a, exponent / 2);
        let square = self.times(half, half);
        if exponent % 2 == 1 { self.times(square, a) } else { square }
    }

    pub(super) fn ternary(&mut self, operation: Ternary, a: Id, b: Id, c: Id) -> Id {
        match (self.value(a), self.value(b), self.value(c)) {
            (Some(a), Some(b), Some(c)) => self.number(operation.apply(a, b, c)),
            (Some(condition), _, _) if operation == Ternary::Select => {
                if condition != 0.0 {
                    b
                } else {
                    c
                }
            }
            _ if operation == Ternary::Select && b == c => b,
            _ => self.intern(Node::Ternary(operation, a, b, c)),
        }
    }

    pub(super) fn select(&mut self, condition: Id, then: Id, otherwise: Id) -> Id {
        self.ternary(Ternary::Select, condition, then, otherwise)
    }
}
