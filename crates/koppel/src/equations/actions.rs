//! The events of a model: what `when` does.

use super::build::{Action, Nodes, Occasion};
use super::derivative::{Variable, tangents};
use super::graph::{Graph, Id, Node};
use super::map::Map;
use super::names::Names;
use super::program::{Program, Sizes};
use crate::expression::Binary;
use crate::system::{Moment, NO_TIME, OdeEvents, States};
use std::sync::Arc;

/// All that `when` does.
#[derive(Debug)]
pub(super) struct Actions {
    list: Vec<Compiled>,
    /// Conditions of those that have one, in their order.
    conditions: Program,
    /// Indicators, then how fast they change.
    indicators: Program,
    count: usize,
    /// Periods and offsets of those that act at instants.
    rhythms: Program,
    /// States that only the clock sets, by which action: number, value and period as nodes.
    sampled: Vec<(usize, Id, Id)>,
    /// What they become, and when.
    smooth: Program,
}

#[derive(Debug)]
struct Compiled {
    when: Asked,
    states: Vec<usize>,
    values: Program,
    text: String,
}

#[derive(Debug, Clone, Copy)]
enum Asked {
    /// Number of its condition.
    Condition(usize),
    /// Number of its rhythm.
    Clock(usize),
}

impl Actions {
    /// Nothing if there are none.
    pub(super) fn new(
        nodes: &Nodes,
        names: &Names,
        sizes: Sizes,
        maps: &Arc<[Map]>,
        text: &str,
    ) -> Option<Actions> {
        if nodes.actions.is_empty() {
            return None;
        }
        let (mut conditions, mut rhythms, mut list) = (Vec::new(), Vec::new(), Vec::new());
        for Action { occasion, sets, span } in &nodes.actions {
            let when = match *occasion {
                Occasion::Becomes(condition) => {
                    conditions.push(condition);
                    Asked::Condition(conditions.len() - 1)
                }
                Occasion::Every { period, offset } => {
                    rhythms.extend([period, offset]);
                    Asked::Clock(rhythms.len() / 2 - 1)
                }
            };
            let (states, values): (Vec<usize>, Vec<Id>) = sets.iter().copied().unzip();
            let values = Program::new(&nodes.graph, sizes, maps, &values);
            let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
            let head = text.get(span.clone()).unwrap_or_default();
            let text = if head.is_empty() {
                "every".into()
            } else {
                format!("`{head}` (line {line} of its equations)")
            };
            list.push(Compiled { when, states, values, text });
        }
        let sampled = sampled(nodes, names.continuous);
        let mut graph = nodes.graph.clone();
        let rates = rates(&mut graph, &nodes.indicators, &nodes.derivatives);
        let program = |graph: &Graph, roots: &[Id]| Program::new(graph, sizes, maps, roots);
        let indicators: Vec<Id> = nodes.indicators.iter().chain(&rates).copied().collect();
        let smooth: Vec<Id> = sampled.iter().flat_map(|(_, value, period)| [*value, *period]).collect();
        Some(Actions {
            conditions: program(&nodes.graph, &conditions),
            rhythms: program(&nodes.graph, &rhythms),
            indicators: program(&graph, &indicators),
            smooth: program(&nodes.graph, &smooth),
            count: nodes.indicators.len(),
            list,
            sampled,
        })
    }

    pub(super) fn set_parameters(&mut self, values: &[f64]) {
        for program in [&self.conditions, &self.indicators, &self.rhythms, &self.smooth] {
            program.set_parameters(values);
        }
        self.list.iter().for_each(|action| action.values.set_parameters(values));
    }

    /// What only the clock sets follows with a lag of its period, as derivatives see it.
    pub(super) fn smooth(&self, time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        if self.sampled.is_empty() {
            return;
        }
        self.smooth.run(time, x, u);
        for (k, (state, _, _)) in self.sampled.iter().enumerate() {
            dx[*state] = (self.smooth.result(2 * k) - x[*state]) / self.smooth.result(2 * k + 1);
        }
    }

    /// The same as nodes.
    pub(super) fn smooth_nodes(&self, graph: &mut Graph, derivatives: &mut [Id]) {
        for (state, value, period) in &self.sampled {
            let own = graph.leaf(Node::State(*state as u32));
            let difference = graph.binary(Binary::Minus, *value, own);
            derivatives[*state] = graph.binary(Binary::Divide, difference, *period);
        }
    }

    /// Period and offset.
    fn rhythm(&self, index: usize) -> (f64, f64) {
        (self.rhythms.result(2 * index), self.rhythms.result(2 * index + 1))
    }

    fn is_due(&self, index: usize, time: f64) -> bool {
        let (period, offset) = self.rhythm(index);
        let count = (time - offset) / period;
        count > -NO_TIME && (count - count.round()).abs() <= NO_TIME
    }
}

/// Discrete variables that one action sets by the clock and no other. Those that nothing from outside acts on, such as counters and
/// random numbers, are constant to derivatives: whatever they do is no answer to anything.
fn sampled(nodes: &Nodes, continuous: usize) -> Vec<(usize, Id, Id)> {
    let mut found = Vec::new();
    let (actions, is_driven) = (&nodes.actions, driven(nodes, continuous));
    for action in actions {
        let Occasion::Every { period, .. } = action.occasion else { continue };
        for (state, value) in action.sets.iter().filter(|(state, _)| is_driven[*state]) {
            let setters = actions.iter().filter(|one| one.sets.iter().any(|(other, _)| other == state));
            if *state >= continuous && setters.count() == 1 {
                found.push((*state, *value, period));
            }
        }
    }
    found
}

/// States that inputs or continuous states act on.
fn driven(nodes: &Nodes, continuous: usize) -> Vec<bool> {
    let mut is_driven: Vec<bool> = (0..nodes.derivatives.len()).map(|state| state < continuous).collect();
    loop {
        let acts = |id: &Id| match nodes.graph.node(*id) {
            Node::Input(_) => true,
            Node::State(index) => is_driven[index as usize],
            _ => false,
        };
        let sets = nodes.actions.iter().flat_map(|action| &action.sets);
        let new: Vec<usize> = sets
            .filter(|(state, value)| !is_driven[*state] && nodes.graph.below(&[*value]).iter().any(acts))
            .map(|(state, _)| *state)
            .collect();
        if new.is_empty() {
            return is_driven;
        }
        new.into_iter().for_each(|state| is_driven[state] = true);
    }
}

/// How fast indicators change while the inputs are held: ∂z/∂t + Σ ∂z/∂x_j f_j.
fn rates(graph: &mut Graph, indicators: &[Id], derivatives: &[Id]) -> Vec<Id> {
    let all = tangents(graph, indicators);
    let mut found = Vec::new();
    for tangents in all {
        let mut sum = graph.number(0.0);
        for (variable, slope) in tangents {
            let part = match variable {
                Variable::State(index) => graph.binary(Binary::Times, slope, derivatives[index as usize]),
                Variable::Time => slope,
                Variable::Input(_) => continue,
            };
            sum = graph.binary(Binary::Plus, sum, part);
        }
        found.push(sum);
    }
    found
}

impl OdeEvents for Actions {
    fn indicators(&self) -> usize {
        self.count
    }

    fn indicate(&self, time: f64, x: &[f64], u: &[f64], values: &mut [f64], rates: &mut [f64]) {
        self.indicators.run(time, x, u);
        self.indicators.results(values);
        for (k, rate) in rates.iter_mut().enumerate() {
            *rate = self.indicators.result(self.count + k);
        }
    }

    fn actions(&self) -> usize {
        self.list.len()
    }

    fn next_instant(&self, time: f64) -> Option<f64> {
        let next = |index: usize| {
            let (period, offset) = self.rhythm(index);
            // Counted, not added, so that round-off cannot gather.
            let count = ((time - offset) / period + NO_TIME).floor() + 1.0;
            count.max(0.0) * period + offset
        };
        (0..self.rhythms.len() / 2).map(next).filter(|instant| *instant > time).min_by(f64::total_cmp)
    }

    fn act(
        &self,
        moment: Moment,
        States { x, seen }: States<'_>,
        u: &[f64],
        held: &mut [f64],
        next: &mut [f64],
    ) -> Option<usize> {
        self.conditions.run(moment.seen_at, seen, u);
        let mut first = None;
        for (index, action) in self.list.iter().enumerate() {
            let acts = match action.when {
                Asked::Clock(rhythm) => moment.by_clock && self.is_due(rhythm, moment.time),
                Asked::Condition(condition) => {
                    let holds = f64::from(self.conditions.result(condition) != 0.0);
                    std::mem::replace(&mut held[index], holds) == 0.0 && holds == 1.0
                }
            };
            if acts {
                action.values.run(moment.time, x, u);
                for (k, state) in action.states.iter().enumerate() {
                    next[*state] = action.values.result(k);
                }
                first.get_or_insert(index);
            }
        }
        first
    }

    fn action(&self, index: usize) -> String {
        self.list[index].text.clone()
    }
}
