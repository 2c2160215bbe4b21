//! Exact derivatives of a model, compiled when they are asked for first.

use super::derivative::{Tangents, Variable, tangents};
use super::graph::{Graph, Id, Node};
use super::model::Equations;
use super::program::Program;
use crate::expression::{Binary, Ternary, Unary};
use crate::linalg::Matrix;
use crate::state_space::StateSpace;
use crate::system::OdeSlopes;

/// Programs for the entries of matrices that are not always zero.
#[derive(Debug)]
pub(super) struct Slopes {
    /// A, B, C and D together.
    all: Entries,
    /// ∂f/∂x of the derivatives themselves.
    jacobian: Entries,
    feed_through: Entries,
    /// C and ∂g/∂t.
    outputs: Entries,
}

/// Where an entry belongs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    is_output: bool,
    row: usize,
    variable: Variable,
}

/// A program and the places of its results.
#[derive(Debug)]
struct Entries {
    program: Program,
    places: Vec<Place>,
}

impl Slopes {
    fn new(model: &Equations) -> Slopes {
        let mut graph = model.graph.clone();
        let mut smooth = model.derivatives.clone();
        if let Some(actions) = &model.actions {
            actions.smooth_nodes(&mut graph, &mut smooth);
        }
        let n = model.derivatives.len();
        let roots: Vec<Id> = model.derivatives.iter().chain(&smooth).chain(&model.outputs).copied().collect();
        let all = tangents(&mut graph, &roots);
        let (of_f, rest) = all.split_at(n);
        let (of_smooth, of_g) = rest.split_at(n);
        let entries = |lists: [(&[Tangents], bool); 2], is_wanted: &dyn Fn(bool, Variable) -> bool| {
            let (mut places, mut ids) = (Vec::new(), Vec::new());
            for (list, is_output) in lists {
                for (row, tangents) in list.iter().enumerate() {
                    for (variable, id) in
                        tangents.iter().filter(|(variable, _)| is_wanted(is_output, *variable))
                    {
                        places.push(Place { is_output, row, variable: *variable });
                        ids.push(*id);
                    }
                }
            }
            let program = Program::new(&graph, model.sizes, &model.maps, &ids);
            program.set_parameters(&model.values);
            Entries { program, places }
        };
        let is_state = |variable: Variable| matches!(variable, Variable::State(_));
        Slopes {
            all: entries([(of_smooth, false), (of_g, true)], &|_, variable| variable != Variable::Time),
            jacobian: entries([(of_f, false), (&[], true)], &|_, variable| is_state(variable)),
            feed_through: entries([(&[], false), (of_g, true)], &|_, variable| {
                matches!(variable, Variable::Input(_))
            }),
            outputs: entries([(&[], false), (of_g, true)], &|_, variable| {
                !matches!(variable, Variable::Input(_))
            }),
        }
    }

    pub(super) fn set_parameters(&self, values: &[f64]) {
        for entries in [&self.all, &self.jacobian, &self.feed_through, &self.outputs] {
            entries.program.set_parameters(values);
        }
    }
}

impl Entries {
    /// Every entry with its place.
    fn each(&self, time: f64, x: &[f64], u: &[f64], mut put: impl FnMut(Place, f64)) {
        self.program.run(time, x, u);
        for (index, place) in self.places.iter().enumerate() {
            put(*place, self.program.result(index));
        }
    }
}

impl Equations {
    fn slopes(&self) -> &Slopes {
        self.slopes.get_or_init(|| Slopes::new(self))
    }
}

impl OdeSlopes for Equations {
    fn linearize(&self, time: f64, x: &[f64], u: &[f64], out: &mut StateSpace) {
        let (n, m, p) = (x.len(), u.len(), self.outputs.len());
        let StateSpace { a, b, c, d } = out;
        for (matrix, rows, columns) in [(&mut *a, n, n), (&mut *b, n, m), (&mut *c, p, n), (&mut *d, p, m)] {
            matrix.reshape(rows, columns);
            matrix.as_mut_slice().fill(0.0);
        }
        self.slopes().all.each(time, x, u, |place, value| {
            let (matrix, column) = match (place.is_output, place.variable) {
                (false, Variable::State(column)) => (&mut *a, column),
                (false, Variable::Input(column)) => (&mut *b, column),
                (true, Variable::State(column)) => (&mut *c, column),
                (true, Variable::Input(column)) => (&mut *d, column),
                (_, Variable::Time) => return,
            };
            matrix[(place.row, column as usize)] = value;
        });
    }

    fn feed_through(&self, time: f64, x: &[f64], u: &[f64], out: &mut Matrix) {
        out.reshape(self.outputs.len(), u.len());
        out.as_mut_slice().fill(0.0);
        self.slopes().feed_through.each(time, x, u, |place, value| {
            if let Variable::Input(column) = place.variable {
                out[(place.row, column as usize)] = value;
            }
        });
    }

    fn rates(&self, time: f64, x: &[f64], u: &[f64], dx: &[f64], rates: &mut [f64]) {
        rates.fill(0.0);
        self.slopes().outputs.each(time, x, u, |place, value| {
            rates[place.row] += match place.variable {
                Variable::State(column) => value * dx[column as usize],
                _ => value,
            };
        });
    }

    fn jacobian(&self, time: f64, x: &[f64], u: &[f64], out: &mut [f64]) {
        let n = x.len();
        out.fill(0.0);
        self.slopes().jacobian.each(time, x, u, |place, value| {
            if let Variable::State(column) = place.variable {
                out[place.row * n + column as usize] = value;
            }
        });
    }
}

/// How a node follows states and inputs.
#[derive(Clone, Copy, PartialEq)]
enum Degree {
    Zero,
    /// Parameters and numbers alone.
    Fixed,
    /// A sum of states and inputs with fixed factors.
    Linear,
    Other,
}

/// True if all roots are sums of states and inputs with fixed factors and nothing else, which may be nothing at all.
pub(super) fn is_linear(graph: &Graph, derivatives: &[Id], outputs: &[Id]) -> bool {
    let mut degrees: Vec<Degree> = Vec::with_capacity(graph.len());
    for id in graph.all() {
        let of = |id: Id| degrees[id.index()];
        degrees.push(match graph.node(id) {
            _ if graph.is_zero(id) => Degree::Zero,
            _ if graph.follows(id).is_fixed() => Degree::Fixed,
            Node::State(_) | Node::Input(_) => Degree::Linear,
            Node::Unary(Unary::Minus, a) => of(a),
            Node::Binary(Binary::Plus | Binary::Minus, a, b) => same(of(a), of(b)),
            Node::Binary(Binary::Times, a, b) => match (of(a), of(b)) {
                (Degree::Fixed, Degree::Linear) | (Degree::Linear, Degree::Fixed) => Degree::Linear,
                _ => Degree::Other,
            },
            Node::Binary(Binary::Divide, a, b) if of(b) == Degree::Fixed => of(a),
            Node::Ternary(Ternary::Select, condition, a, b) if of(condition) == Degree::Fixed => {
                same(of(a), of(b))
            }
            _ => Degree::Other,
        });
    }
    let is_linear = |root: &Id| matches!(degrees[root.index()], Degree::Zero | Degree::Linear);
    derivatives.iter().chain(outputs).all(is_linear)
}

fn same(a: Degree, b: Degree) -> Degree {
    match (a, b) {
        (Degree::Zero, other) | (other, Degree::Zero) => other,
        (Degree::Linear, Degree::Linear) => Degree::Linear,
        _ => Degree::Other,
    }
}
