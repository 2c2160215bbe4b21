//! What is told of the learned models: numbers that can be recorded, and the review at the end.

use super::{DiscreteSettings, PrestepDiscrete};
use crate::coupling::phase::Phase;
use crate::coupling::{Review, View, channel};
use crate::identify::{LEAST_EXCITATION, parameter_names};
use crate::record::Channel;
use crate::system::{InputId, SystemGraph};

impl PrestepDiscrete {
    /// δ of step 1.
    pub(in crate::coupling) fn delta(&self) -> &[f64] {
        &self.delta
    }

    /// What is done in the step ahead.
    pub(in crate::coupling) fn phase(&self) -> Phase {
        self.phase
    }

    /// The signal-based value of an input for the step ahead.
    pub(in crate::coupling) fn signal_based(&self, input: InputId) -> f64 {
        self.signal_based[input]
    }

    /// Excitation of all outputs' data, once, when the models are first trusted.
    pub(super) fn note_excitation(&mut self, view: &View<'_>) {
        if !self.excitation.is_empty() {
            return;
        }
        for (id, identifier) in self.identifiers.iter_mut().enumerate() {
            let can_move = &self.can_move[view.graph.inputs_of(id)];
            let outputs = view.graph.outputs_of(id).len();
            self.excitation.extend((0..outputs).map(|output| identifier.excitation(output, can_move)));
        }
    }

    /// Phase, quality, learned parameters.
    pub(super) fn all_channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        let DiscreteSettings { identify, learned, .. } = &self.settings;
        let mut all = channel::common(graph, true);
        all.extend(channel::parameters(graph, |ports, id| {
            parameter_names(identify.with(learned.get(graph.name(id))), ports)
        }));
        all
    }

    /// One of them.
    pub(super) fn channel_value(&self, view: &View<'_>, index: usize) -> f64 {
        let phase = f64::from(self.phase.kind as u8);
        let mut rest = match channel::common_value(index, phase, &self.figures) {
            Ok(value) => return value,
            Err(rest) => rest,
        };
        for (id, identifier) in self.identifiers.iter().enumerate() {
            let each = identifier.parameter_count();
            let count = each * view.graph.outputs_of(id).len();
            if rest < count {
                return identifier.parameter(rest / each, rest % each);
            }
            rest -= count;
        }
        f64::NAN
    }

    /// What the run has shown of the models.
    pub(super) fn review_models(&self, view: &View<'_>) -> Review {
        let DiscreteSettings { source, learning, .. } = self.settings;
        let mut review = self.notes.review(view, source, Some(learning));
        review.is_modified = self.settings.modified;
        for (id, identifier) in self.identifiers.iter().enumerate() {
            let (mut identifier, can_move) = (identifier.clone(), &self.can_move[view.graph.inputs_of(id)]);
            for (row, output) in view.graph.outputs_of(id).enumerate() {
                let noted = self.excitation.get(output).copied().unwrap_or(0.0);
                let figure = identifier.excitation(row, can_move).max(noted);
                let is_loaded = self.settings.learned.contains_key(view.graph.name(id));
                if figure < LEAST_EXCITATION && !is_loaded {
                    review.models[id].not_excited.push((view.graph.output_name(output), figure));
                }
            }
        }
        review
    }
}

/// Inputs that are connected or have a signal from outside.
pub(super) fn movable(view: &View<'_>) -> Vec<bool> {
    let has_signal = |input: InputId| view.graph.externals().iter().any(|(target, _)| *target == input);
    (0..view.graph.inputs()).map(|input| !view.graph.is_free(input) || has_signal(input)).collect()
}
