//! Several methods in one run, each for its own connections.

use super::{Coupling, ModelNeeds, Needs, Polynomials, View};
use crate::error::Result;
use crate::identify::Learned;
use crate::signal::{Request, Samples};
use crate::system::{InputId, SubsystemId};
use std::collections::BTreeMap;

/// Methods that own disjoint sets of inputs.
pub(super) struct Mixed {
    methods: Vec<Box<dyn Coupling>>,
    /// Which method owns each input.
    owner: Vec<usize>,
    /// Per method, the connected inputs it owns, in ascending order; filled at the start.
    owned: Vec<Vec<InputId>>,
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
            models: joined(a.models, b.models),
            one_rate: a.one_rate || b.one_rate,
            after_steps: a.after_steps || b.after_steps,
            no_preparation: false,
            only_holds: false,
            small_steps: a.small_steps.or(b.small_steps),
        })
    }

    fn start(&mut self, view: &View<'_>, inputs: &[InputId]) -> Result<()> {
        let of = |method: usize| inputs.iter().copied().filter(|i| self.owner[*i] == method).collect();
        self.owned = (0..self.methods.len()).map(of).collect();
        self.methods.iter_mut().zip(&self.owned).try_for_each(|(m, owned)| m.start(view, owned))
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.methods.iter_mut().try_for_each(|m| m.prepare(view))
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let (Some(first), Some(last)) = (inputs.first(), inputs.last()) else { return Ok(()) };
        for (method, owned) in self.methods.iter().zip(&self.owned) {
            let from = owned.partition_point(|input| input < first);
            let to = owned.partition_point(|input| input <= last);
            method.input(view, &owned[from..to], out)?;
        }
        Ok(())
    }

    fn moved(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.methods.iter_mut().try_for_each(|m| m.moved(view, subsystem, samples))
    }

    fn jumped(&mut self, view: &View<'_>, subsystem: SubsystemId) {
        self.methods.iter_mut().for_each(|m| m.jumped(view, subsystem));
    }

    fn quality(&self) -> &[f64] {
        self.methods.iter().map(|m| m.quality()).find(|figures| !figures.is_empty()).unwrap_or(&[])
    }

    fn learned(&self, view: &View<'_>) -> BTreeMap<String, Learned> {
        self.methods.iter().flat_map(|m| m.learned(view)).collect()
    }

    fn save(&self, memory: &mut Vec<f64>) {
        self.methods.iter().for_each(|m| m.save(memory));
    }

    fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.methods.iter_mut().fold(memory, |rest, m| m.restore(rest))
    }
}

/// Both take their models from the same source; c is set if one of them wants it.
fn joined(a: Option<ModelNeeds>, b: Option<ModelNeeds>) -> Option<ModelNeeds> {
    match (a, b) {
        (Some(a), Some(b)) => Some(ModelNeeds { is_pinned: a.is_pinned || b.is_pinned, ..a }),
        (a, b) => a.or(b),
    }
}

fn most_detailed(a: Request, b: Request) -> Request {
    match (a, b) {
        (Request::Nothing, other) | (other, Request::Nothing) => other,
        (Request::Nodes(m), Request::Nodes(n)) => Request::Nodes(m.max(n)),
        (Request::SolverPoints, _) | (_, Request::SolverPoints) => Request::SolverPoints,
    }
}
