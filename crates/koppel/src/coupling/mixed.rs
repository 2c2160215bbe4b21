//! Several methods in one run, each for its own connections.

use super::{Coupling, ModelBased, ModelNeeds, Needs, Polynomials, Report, Review, View, Work, not_repeated};
use crate::error::Result;
use crate::identify::{GivenModel, Learned, Probed};
use crate::record::Channel;
use crate::signal::{Request, Samples};
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;
use std::collections::BTreeMap;

/// Methods that own disjoint sets of inputs.
pub(super) struct Mixed {
    methods: Vec<Box<dyn Coupling>>,
    /// Which method owns each input.
    owner: Vec<usize>,
    /// Per method, the connected inputs it owns, in ascending order; filled at the start.
    owned: Vec<Vec<InputId>>,
    /// Per method, how many channels it has; filled at the start.
    channels: Vec<usize>,
}

impl Mixed {
    /// `owner[input]` is the number of the method that fills it.
    pub(super) fn new(methods: Vec<Box<dyn Coupling>>, owner: Vec<usize>) -> Self {
        Mixed { methods, owner, owned: Vec::new(), channels: Vec::new() }
    }
}

impl Coupling for Mixed {
    fn needs(&self) -> Needs {
        self.methods.iter().map(|m| m.needs()).fold(Needs::default(), |a, b| Needs {
            depth: a.depth.max(b.depth),
            terms: a.terms.max(b.terms),
            pieces: a.pieces.max(b.pieces),
            work: Work::Prepare,
            samples: a.samples.zip(b.samples).map(most_detailed).or(a.samples).or(b.samples),
            steps: a.steps.and(b.steps),
            reduced_start: a.reduced_start || b.reduced_start,
            small_steps: a.small_steps.or(b.small_steps),
            models: joined(a.models, b.models),
            probe: a.probe.or(b.probe),
            // Others among the methods would have to roll back too.
            repeats: false,
        })
    }

    fn start(&mut self, view: &View<'_>, inputs: &[InputId]) -> Result<()> {
        let of = |method: usize| inputs.iter().copied().filter(|i| self.owner[*i] == method).collect();
        self.owned = (0..self.methods.len()).map(of).collect();
        self.channels =
            self.methods.iter().map(|method| method.report().channels(view.graph).len()).collect();
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
            if out.width > out.terms && method.needs().pieces <= 1 {
                owned[from..to].iter().for_each(|input| out.spread(*input, view.step.size));
            }
        }
        Ok(())
    }

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.methods.iter_mut().try_for_each(|m| m.observe(view, subsystem, samples))
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        self.methods.iter_mut().for_each(|method| method.state(tape));
    }

    fn model_based(&mut self) -> Option<&mut dyn ModelBased> {
        Some(self)
    }

    fn report(&self) -> &dyn Report {
        self
    }
}

impl ModelBased for Mixed {
    fn probed(&mut self, view: &View<'_>, probed: Vec<Probed>, steps: u64) -> Option<Vec<f64>> {
        let each = self.methods.iter_mut().filter_map(|method| method.model_based());
        each.map(|method| method.probed(view, probed.clone(), steps)).fold(None, Option::or)
    }

    fn judge(&mut self, view: &View<'_>) {
        self.methods.iter_mut().filter_map(|method| method.model_based()).for_each(|m| m.judge(view));
    }
}

impl Report for Mixed {
    fn spared(&self) -> Vec<String> {
        self.methods.iter().flat_map(|method| method.report().spared()).collect()
    }

    fn remarks(&self, graph: &SystemGraph) -> Vec<String> {
        let mut all: Vec<String> = self.methods.iter().flat_map(|m| m.report().remarks(graph)).collect();
        if self.methods.iter().any(|method| method.needs().repeats) {
            all.push(not_repeated("other methods write some of the inputs"));
        }
        all.dedup();
        all
    }

    /// Of the method that asked for models, if one did: by these figures they are updated.
    fn quality(&self) -> &[f64] {
        let figures = |is_wanted: fn(&dyn Coupling) -> bool| {
            let wanted = self.methods.iter().filter(move |method| is_wanted(method.as_ref()));
            wanted.map(|method| method.report().quality()).find(|figures| !figures.is_empty())
        };
        let asked = figures(|method| method.needs().models.is_some());
        asked.or_else(|| figures(|_| true)).unwrap_or(&[])
    }

    /// Where several methods have channels of the same name, those of the second are called `2.phase` and so on.
    fn channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        let mut all: Vec<Channel> = Vec::new();
        let lists =
            self.methods.iter().map(|method| method.report().channels(graph)).filter(|list| !list.is_empty());
        for (number, list) in lists.enumerate() {
            let prefix = if number == 0 { String::new() } else { format!("{}.", number + 1) };
            all.extend(list.into_iter().map(|one| Channel { name: format!("{prefix}{}", one.name), ..one }));
        }
        all
    }

    fn channel(&self, view: &View<'_>, mut index: usize) -> f64 {
        for (method, count) in self.methods.iter().zip(&self.channels) {
            if index < *count {
                return method.report().channel(view, index);
            }
            index -= count;
        }
        f64::NAN
    }

    fn review(&self, view: &View<'_>) -> Option<Review> {
        self.methods.iter().find_map(|method| method.report().review(view))
    }

    fn given(&self, subsystem: &str) -> Option<&GivenModel> {
        self.methods.iter().find_map(|method| method.report().given(subsystem))
    }

    fn learned(&self, view: &View<'_>) -> BTreeMap<String, Learned> {
        self.methods.iter().flat_map(|m| m.report().learned(view)).collect()
    }
}

/// Both take their models from the same source; c is set if one of them wants it.
fn joined(a: Option<ModelNeeds>, b: Option<ModelNeeds>) -> Option<ModelNeeds> {
    match (a, b) {
        (Some(a), Some(b)) => Some(ModelNeeds { is_pinned: a.is_pinned || b.is_pinned, ..a }),
        (a, b) => a.or(b),
    }
}

fn most_detailed((a, b): (Request, Request)) -> Request {
    match (a, b) {
        (Request::Nothing, other) | (other, Request::Nothing) => other,
        (Request::Nodes(m), Request::Nodes(n)) => Request::Nodes(m.max(n)),
        // Nodes are what their method cannot do without; solver points are one way among others to see inside a step.
        (Request::Nodes(m), Request::SolverPoints) | (Request::SolverPoints, Request::Nodes(m)) => {
            Request::Nodes(m)
        }
        (Request::SolverPoints, Request::SolverPoints) => Request::SolverPoints,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::case;
    use crate::coupling::{Hold, Method, SohConfig, ZohConfig};
    use crate::run::{Run, RunConfig};

    /// The newest arrival, in three pieces.
    struct Pieces;

    impl Coupling for Pieces {
        fn needs(&self) -> Needs {
            Needs { depth: 1, terms: 1, pieces: 3, ..Needs::default() }
        }

        fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
            inputs.iter().for_each(|input| out.hold(*input, view.arrival(*input)));
            Ok(())
        }
    }

    #[test]
    fn methods_with_and_without_pieces_share_a_run() {
        let case = case("two-mass").unwrap();
        let run = |first: Box<dyn Coupling>| {
            let graph = case.system().unwrap().graph;
            let soh = SohConfig::default().build(Hold::Constant).unwrap();
            // Forces by the first, motions by the second method.
            let owner = (0..graph.inputs()).map(|i| usize::from(!graph.input_name(i).ends_with('F')));
            let mixed = Box::new(Mixed::new(vec![first, soh], owner.collect()));
            let config = RunConfig { stop: 1.0, ..case.run.clone() };
            let mut run = Run::with_coupling(case.system().unwrap(), &config, mixed).unwrap();
            (0..40).for_each(|_| run.advance().unwrap());
            [run.outputs(0).to_vec(), run.outputs(1).to_vec()].concat()
        };
        let (cut, whole) = (run(Box::new(Pieces)), run(ZohConfig {}.build(Hold::Constant).unwrap()));
        for (a, b) in cut.iter().zip(&whole) {
            assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{cut:?} against {whole:?}");
        }
    }
}
