//! Several methods in one run, each for its own connections.

use super::{Coupling, Inputs, Needs, View};
use crate::error::Result;
use crate::signal::{Request, Samples, Segment};
use crate::system::{InputId, SubsystemId};

/// Methods that own disjoint sets of inputs.
pub(super) struct Mixed {
    methods: Vec<Box<dyn Coupling>>,
    /// Which method owns each input.
    owner: Vec<usize>,
    /// Per method and subsystem, the inputs it owns there; filled at the start.
    owned: Vec<Vec<Vec<InputId>>>,
}

impl Mixed {
    /// `owner[input]` is the number of the method that fills it.
    pub(super) fn new(methods: Vec<Box<dyn Coupling>>, owner: Vec<usize>) -> Self {
        Mixed { methods, owner, owned: Vec::new() }
    }
}

impl Coupling for Mixed {
    fn needs(&self) -> Needs {
        self.methods.iter().map(|m| m.needs()).fold(Needs::default(), |a, b| Needs {
            depth: a.depth.max(b.depth),
            terms: a.terms.max(b.terms),
            samples: most_detailed(a.samples, b.samples),
            reduced_start: a.reduced_start || b.reduced_start,
        })
    }

    fn start(&mut self, view: &View<'_>) -> Result<()> {
        let owner = &self.owner;
        let graph = view.graph;
        let of = |method: usize, id: SubsystemId| {
            graph.inputs_of(id).filter(|i| owner[*i] == method && !graph.is_free(*i)).collect()
        };
        self.owned = (0..self.methods.len())
            .map(|method| (0..graph.len()).map(|id| of(method, id)).collect())
            .collect();
        self.methods.iter_mut().try_for_each(|m| m.start(view))
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.methods.iter_mut().try_for_each(|m| m.prepare(view))
    }

    fn input(&self, view: &View<'_>, inputs: Inputs<'_>, segment: &mut Segment) -> Result<()> {
        let Some(first) = inputs.ids.first() else { return Ok(()) };
        let subsystem = view.graph.subsystem_of_input(*first);
        for (method, owned) in self.methods.iter().zip(&self.owned) {
            let ids = owned[subsystem].as_slice();
            if !ids.is_empty() {
                method.input(view, Inputs { first: inputs.first, ids }, segment)?;
            }
        }
        Ok(())
    }

    fn moved(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.methods.iter_mut().try_for_each(|m| m.moved(view, subsystem, samples))
    }

    fn save(&self, memory: &mut Vec<f64>) {
        self.methods.iter().for_each(|m| m.save(memory));
    }

    fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.methods.iter_mut().fold(memory, |rest, m| m.restore(rest))
    }
}

fn most_detailed(a: Request, b: Request) -> Request {
    match (a, b) {
        (Request::Nothing, other) | (other, Request::Nothing) => other,
        (Request::Nodes(m), Request::Nodes(n)) => Request::Nodes(m.max(n)),
        (Request::SolverPoints, _) | (_, Request::SolverPoints) => Request::SolverPoints,
    }
}
