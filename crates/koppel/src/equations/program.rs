//! Programs of a register machine: what is evaluated at every step.
//!
//! The registers are one list, in which each instruction writes the one after the last:
//!
//!   numbers | parameters | results of the setup | time | states | inputs | results
//!
//! What follows parameters alone is computed when they change (the setup), the rest whenever the program runs. A product that is used
//! once, in a sum or a difference, is one instruction with it, rounded as the two would be. Running allocates nothing. Registers are
//! cells, so that evaluating a model does not change it.

use super::graph::{Axis, Graph, Id, Node};
use super::map::Map;
use crate::expression::{Binary, Ternary, Unary};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// A register.
type Place = u32;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Instruction {
    Add(Place, Place),
    Subtract(Place, Place),
    Multiply(Place, Place),
    Divide(Place, Place),
    /// a b + c.
    MultiplyAdd(Place, Place, Place),
    /// a b - c.
    MultiplySubtract(Place, Place, Place),
    /// c - a b.
    SubtractProduct(Place, Place, Place),
    Negate(Place),
    Power(Place, Place),
    Select(Place, Place, Place),
    Unary(Unary, Place),
    Binary(Binary, Place, Place),
    Clamp(Place, Place, Place),
    Curve(u32, Place),
    CurveSlope(u32, Place),
    Field(u32, Place, Place),
    FieldSlope(u32, Axis, Place, Place),
}

/// How many variables of each kind a model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sizes {
    pub(super) states: usize,
    pub(super) inputs: usize,
    pub(super) parameters: usize,
}

/// Evaluates some nodes of a graph.
#[derive(Debug, Clone)]
pub(super) struct Program {
    registers: Box<[Cell<f64>]>,
    setup: Box<[Instruction]>,
    body: Box<[Instruction]>,
    /// Where parameters, the results of the setup, the time and the results of the body begin.
    parameters: usize,
    setup_results: usize,
    time: usize,
    results: usize,
    sizes: Sizes,
    wanted: Box<[Place]>,
    maps: Arc<[Map]>,
}

impl Program {
    pub(super) fn new(graph: &Graph, sizes: Sizes, maps: &Arc<[Map]>, roots: &[Id]) -> Program {
        Writer::new(graph, sizes, roots).write(maps)
    }

    /// Takes over parameters.
    pub(super) fn set_parameters(&self, values: &[f64]) {
        store(&self.registers[self.parameters..][..self.sizes.parameters], values);
        execute(&self.setup, self.setup_results, &self.registers, &self.maps);
    }

    /// Evaluates.
    #[inline]
    pub(super) fn run(&self, time: f64, x: &[f64], u: &[f64]) {
        let (head, u_places) = self.registers[self.time..self.results].split_at(1 + self.sizes.states);
        head[0].set(time);
        store(&head[1..], x);
        store(u_places, u);
        execute(&self.body, self.results, &self.registers, &self.maps);
    }

    /// The value of root `index`.
    pub(super) fn result(&self, index: usize) -> f64 {
        self.registers[self.wanted[index] as usize].get()
    }

    /// The values of the first roots.
    #[inline]
    pub(super) fn results(&self, out: &mut [f64]) {
        for (out, place) in out.iter_mut().zip(&self.wanted) {
            *out = self.registers[*place as usize].get();
        }
    }

    /// How many roots there are.
    pub(super) fn len(&self) -> usize {
        self.wanted.len()
    }

    /// How many operations one evaluation takes.
    pub(super) fn operations(&self) -> usize {
        self.body.len()
    }
}

#[inline]
fn store(places: &[Cell<f64>], values: &[f64]) {
    for (place, value) in places.iter().zip(values) {
        place.set(*value);
    }
}

fn execute(code: &[Instruction], first: usize, registers: &[Cell<f64>], maps: &[Map]) {
    let read = |place: Place| registers[place as usize].get();
    for (instruction, out) in code.iter().zip(&registers[first..]) {
        out.set(match *instruction {
            Instruction::Add(a, b) => read(a) + read(b),
            Instruction::Subtract(a, b) => read(a) - read(b),
            Instruction::Multiply(a, b) => read(a) * read(b),
            Instruction::Divide(a, b) => read(a) / read(b),
            Instruction::MultiplyAdd(a, b, c) => read(a) * read(b) + read(c),
            Instruction::MultiplySubtract(a, b, c) => read(a) * read(b) - read(c),
            Instruction::SubtractProduct(a, b, c) => read(c) - read(a) * read(b),
            Instruction::Negate(a) => -read(a),
            Instruction::Power(a, b) => power(read(a), read(b)),
            Instruction::Select(a, b, c) => read(if read(a) != 0.0 { b } else { c }),
            Instruction::Unary(operation, a) => operation.apply(read(a)),
            Instruction::Binary(operation, a, b) => operation.apply(read(a), read(b)),
            Instruction::Clamp(a, b, c) => Ternary::Clamp.apply(read(a), read(b), read(c)),
            Instruction::Curve(map, a) => maps[map as usize].curve(read(a)).0,
            Instruction::CurveSlope(map, a) => maps[map as usize].curve(read(a)).1,
            Instruction::Field(map, a, b) => maps[map as usize].field(read(a), read(b)).0,
            Instruction::FieldSlope(map, axis, a, b) => {
                let (_, slopes) = maps[map as usize].field(read(a), read(b));
                slopes[usize::from(axis == Axis::Second)]
            }
        });
    }
}

/// Roots by their own instruction: most of the time of a progressive spring is spent in them.
fn power(base: f64, exponent: f64) -> f64 {
    if exponent == 0.5 { base.sqrt() } else { base.powf(exponent) }
}

/// Writes a program, instruction by instruction.
struct Writer<'a> {
    graph: &'a Graph,
    sizes: Sizes,
    roots: &'a [Id],
    /// What is needed, in order.
    needed: Vec<Id>,
    /// Products that are part of another instruction.
    is_fused: Vec<bool>,
    places: HashMap<Id, Place>,
}

impl<'a> Writer<'a> {
    fn new(graph: &'a Graph, sizes: Sizes, roots: &'a [Id]) -> Self {
        let needed = graph.below(roots);
        let mut uses = vec![0_u32; graph.len()];
        roots.iter().for_each(|root| uses[root.index()] += 2);
        for id in &needed {
            graph.node(*id).operands().for_each(|operand| uses[operand.index()] += 1);
        }
        let mut is_fused = vec![false; graph.len()];
        for id in &needed {
            if let Some(product) = fusible(graph, *id, &uses) {
                is_fused[product.index()] = true;
            }
        }
        Writer { graph, sizes, roots, needed, is_fused, places: HashMap::new() }
    }

    fn write(mut self, maps: &Arc<[Map]>) -> Program {
        let graph = self.graph;
        let numbers: Vec<(Id, f64)> =
            self.needed.iter().filter_map(|id| Some((*id, graph.value(*id)?))).collect();
        let parameters = numbers.len();
        let setup_results = parameters + self.sizes.parameters;
        for (place, (id, _)) in numbers.iter().enumerate() {
            self.places.insert(*id, place as Place);
        }
        self.put_leaves(|node| match node {
            Node::Parameter(index) => Some(parameters + index as usize),
            _ => None,
        });
        let setup = self.section(setup_results, |graph, id| graph.follows(id).is_fixed());
        let time = setup_results + setup.len();
        let states = time + 1;
        let inputs = states + self.sizes.states;
        let results = inputs + self.sizes.inputs;
        self.put_leaves(|node| match node {
            Node::Time => Some(time),
            Node::State(index) => Some(states + index as usize),
            Node::Input(index) => Some(inputs + index as usize),
            _ => None,
        });
        let body = self.section(results, |graph, id| !graph.follows(id).is_fixed());
        let registers: Box<[Cell<f64>]> = vec![Cell::new(0.0); results + body.len()].into();
        for (register, (_, value)) in registers.iter().zip(&numbers) {
            register.set(*value);
        }
        let wanted = self.roots.iter().map(|root| self.places[root]).collect();
        Program {
            registers,
            setup: setup.into(),
            body: body.into(),
            parameters,
            setup_results,
            time,
            results,
            sizes: self.sizes,
            wanted,
            maps: maps.clone(),
        }
    }

    fn put_leaves(&mut self, place: impl Fn(Node) -> Option<usize>) {
        for id in &self.needed {
            if let Some(place) = place(self.graph.node(*id)) {
                self.places.insert(*id, place as Place);
            }
        }
    }

    /// Instructions of the operations that belong to a section, whose results begin at `first`.
    fn section(&mut self, first: usize, belongs: impl Fn(&Graph, Id) -> bool) -> Vec<Instruction> {
        let mut code = Vec::new();
        for id in &self.needed {
            if self.places.contains_key(id) || !belongs(self.graph, *id) {
                continue;
            }
            if self.is_fused[id.index()] {
                continue;
            }
            let instruction = self.instruction(*id);
            self.places.insert(*id, (first + code.len()) as Place);
            code.push(instruction);
        }
        code
    }

    fn instruction(&self, id: Id) -> Instruction {
        let at = |id: Id| self.places[&id];
        let product = |id: Id| match self.graph.node(id) {
            Node::Binary(Binary::Times, a, b) if self.is_fused[id.index()] => Some((at(a), at(b))),
            _ => None,
        };
        match self.graph.node(id) {
            Node::Binary(Binary::Plus, a, b) => match (product(a), product(b)) {
                (Some((c, d)), _) => Instruction::MultiplyAdd(c, d, at(b)),
                (None, Some((c, d))) => Instruction::MultiplyAdd(c, d, at(a)),
                (None, None) => Instruction::Add(at(a), at(b)),
            },
            Node::Binary(Binary::Minus, a, b) => match (product(a), product(b)) {
                (Some((c, d)), _) => Instruction::MultiplySubtract(c, d, at(b)),
                (None, Some((c, d))) => Instruction::SubtractProduct(c, d, at(a)),
                (None, None) => Instruction::Subtract(at(a), at(b)),
            },
            Node::Binary(Binary::Times, a, b) => Instruction::Multiply(at(a), at(b)),
            Node::Binary(Binary::Divide, a, b) => Instruction::Divide(at(a), at(b)),
            Node::Binary(Binary::Power, a, b) => Instruction::Power(at(a), at(b)),
            Node::Binary(operation, a, b) => Instruction::Binary(operation, at(a), at(b)),
            Node::Unary(Unary::Minus, a) => Instruction::Negate(at(a)),
            Node::Unary(operation, a) => Instruction::Unary(operation, at(a)),
            Node::Ternary(Ternary::Select, a, b, c) => Instruction::Select(at(a), at(b), at(c)),
            Node::Ternary(Ternary::Clamp, a, b, c) => Instruction::Clamp(at(a), at(b), at(c)),
            Node::Curve(map, a) => Instruction::Curve(map, at(a)),
            Node::CurveSlope(map, a) => Instruction::CurveSlope(map, at(a)),
            Node::Field(map, a, b) => Instruction::Field(map, at(a), at(b)),
            Node::FieldSlope(map, axis, a, b) => Instruction::FieldSlope(map, axis, at(a), at(b)),
            Node::Number(_) | Node::Time | Node::State(_) | Node::Input(_) | Node::Parameter(_) => {
                unreachable!("numbers and variables have their places already")
            }
        }
    }
}

/// The product in a sum or difference that is used nowhere else and computed as often as the sum.
fn fusible(graph: &Graph, id: Id, uses: &[u32]) -> Option<Id> {
    let Node::Binary(Binary::Plus | Binary::Minus, a, b) = graph.node(id) else { return None };
    let is_product = |of: &Id| {
        matches!(graph.node(*of), Node::Binary(Binary::Times, ..))
            && uses[of.index()] == 1
            && graph.follows(*of).is_fixed() == graph.follows(id).is_fixed()
    };
    [a, b].into_iter().find(is_product)
}
