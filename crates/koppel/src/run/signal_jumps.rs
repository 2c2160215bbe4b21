//! Jumps of external signals that outputs follow at once: as after a timed change, what came before says nothing of what follows.

use crate::coupling::{Needs, Work};
use crate::network::{Network, Reading};
use crate::signal::Step;
use crate::system::{Dependencies, OutputId, SubsystemId, SystemGraph};

/// Which outputs jump with which external signal.
pub(crate) struct SignalJumps {
    /// Signals, by their place among the graph's, and the subsystems whose outputs follow.
    followers: Vec<(usize, Vec<SubsystemId>)>,
}

impl SignalJumps {
    /// None, if the coupling only holds values. Outputs that are read stale follow a step later; then only those of the subsystem itself
    /// are known to jump.
    pub(super) fn new(graph: &SystemGraph, needs: &Needs, reading: Reading) -> Self {
        let follow = |place: usize| {
            let subsystems = followers(graph, graph.externals()[place].0, reading);
            (!subsystems.is_empty()).then_some((place, subsystems))
        };
        let followers = match needs.work {
            Work::Hold => Vec::new(),
            Work::Prepare | Work::Input => (0..graph.externals().len()).filter_map(follow).collect(),
        };
        SignalJumps { followers }
    }

    /// True if no output can jump.
    pub(super) fn are_none(&self) -> bool {
        self.followers.is_empty()
    }

    /// Forgets the past of outputs whose newest arrival is the first after a jump.
    #[inline]
    pub(super) fn apply(&self, network: &mut Network, step: Step, start: f64) {
        if !self.followers.is_empty() && step.start > start {
            self.apply_some(network, step);
        }
    }

    fn apply_some(&self, network: &mut Network, step: Step) {
        let Network { graph, board, .. } = network;
        let margin = 1e-9 * step.size;
        // Fresh outputs belong to the time after a jump at their instant, stale ones to the time before it.
        let shift = match board.reading {
            Reading::Fresh => margin,
            Reading::Stale => -margin,
        };
        for (place, subsystems) in &self.followers {
            for id in subsystems {
                let times = board.history.times(*id);
                let now = times[0];
                // Those that are ahead, or have not advanced since, have brought nothing new.
                if (now - step.start).abs() > margin {
                    continue;
                }
                let before = match times.get(1) {
                    Some(before) if board.history.count(*id) > 1 => *before,
                    _ => now - step.size,
                };
                if graph.externals()[*place].1.jumps_within(before + shift, now + shift) {
                    board.history.restart(*id);
                    board.has_jumped[*id] = true;
                }
            }
        }
    }
}

/// The subsystems with outputs that follow an input at once, directly or through others.
fn followers(graph: &SystemGraph, input: usize, reading: Reading) -> Vec<SubsystemId> {
    let following = |input: usize| -> Vec<OutputId> {
        let id = graph.subsystem_of_input(input);
        let place = input - graph.inputs_of(id).start;
        let follows = |output: &OutputId| {
            let depends = &graph.output_variable(*output).depends;
            *depends != Dependencies::Unknown && depends.may_include(place)
        };
        graph.outputs_of(id).filter(follows).collect()
    };
    let mut jumping = following(input);
    let mut at = 0;
    while at < jumping.len() && reading == Reading::Fresh {
        let targets = graph.wires().iter().filter(|wire| wire.source == jumping[at]).map(|wire| wire.target);
        for output in targets.flat_map(following).collect::<Vec<_>>() {
            if !jumping.contains(&output) {
                jumping.push(output);
            }
        }
        at += 1;
    }
    let mut subsystems: Vec<SubsystemId> =
        jumping.iter().map(|output| graph.subsystem_of_output(*output)).collect();
    subsystems.sort_unstable();
    subsystems.dedup();
    subsystems
}
