//! Models that are learned during the run, and how far outputs are from those of an ideal coupling as they tell it.
//!
//! A method with such models asks for them before each step: they learn from the step that has ended, are judged by it, and decide
//! the phase of the step ahead. If they are used, δ is found (`distance`). What a method does with them is its own.
//!
//! | symbol   | meaning                                        | here                |
//! | J        | interface model y^{k+1} = J_y y^k + J_1 u^{k+1} + c | `models`       |
//! | u^k      | inputs at the end of the step that ends at T^k, with external signals | `given` |

mod distance;
mod past;

use super::model_based::ErrorEquationConfig;
use super::phase::{LearningConfig, LearningKind, Phase, SignalBased};
use super::review::{Notes, Review};
use super::{Hold, Needs, Report, StepNeeds, View, channel, terms_of};
use crate::error::{Error, Result, bad};
use crate::identify::{
    Identifier, IdentifyConfig, InterfaceModel, LEAST_EXCITATION, Learned, ModelConfig, Quality,
    parameter_names,
};
use crate::linalg::{Lu, Matrix};
use crate::record::Channel;
use crate::signal::{Request, Samples};
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;
use distance::Distance;
use std::collections::BTreeMap;

/// What learned models are built from.
#[derive(Clone, Debug)]
pub(super) struct LearnedSettings {
    /// Where models come from, for the review.
    pub(super) source: ModelConfig,
    /// How they are learned.
    pub(super) identify: IdentifyConfig,
    pub(super) learning: LearningConfig,
    pub(super) error_equation: ErrorEquationConfig,
    /// Whether δ is found with intermediate values.
    pub(super) intermediate: bool,
    /// Whether step 3 is left out whatever the phase.
    pub(super) modified: bool,
    /// Models of an earlier run, by subsystem.
    pub(super) learned: BTreeMap<String, Learned>,
    pub(super) hold: Hold,
}

impl LearnedSettings {
    /// Refuses settings that make no sense.
    fn check(&self) -> Result<()> {
        self.identify.check()?;
        self.learned.iter().try_for_each(|(name, learned)| learned.check(name))?;
        self.learning.check()?;
        match self.identify.bound_to_its_step() {
            Some(reason) if self.learning.kind == LearningKind::SmallStep => {
                Err(bad("learning.kind", "small-step", reason))
            }
            _ => Ok(()),
        }
    }
}

/// The models of all subsystems.
pub(super) struct LearnedModels {
    pub(super) settings: LearnedSettings,
    identifiers: Vec<Identifier>,
    pub(super) models: Vec<InterfaceModel>,
    figures: Vec<f64>,
    quality: Quality,
    pub(super) phase: Phase,
    notes: Notes,
    /// Excitation behind the model of each output when it was first trusted.
    excitation: Vec<f64>,
    /// Inputs that are connected or have a signal from outside.
    can_move: Vec<bool>,
    /// Time of the first communication point.
    start: f64,
    /// The run's communication step, and the size of the last step.
    step: f64,
    size: f64,
    is_under_way: bool,
    /// I - J_1 L.
    open: Matrix,
    pub(super) closed: Lu,
    distance: Distance,
    /// L y one step ago, for first-order hold.
    before: Vec<f64>,
    /// Signal-based inputs for the step ahead.
    pub(super) signal_based: Vec<f64>,
    external: Vec<f64>,
    given: Vec<f64>,
    errors: Vec<f64>,
}

impl LearnedModels {
    pub(super) fn new(settings: LearnedSettings) -> Result<Self> {
        settings.check()?;
        Ok(LearnedModels {
            settings,
            identifiers: Vec::new(),
            models: Vec::new(),
            figures: Vec::new(),
            quality: Quality::default(),
            phase: Phase::default(),
            notes: Notes::default(),
            excitation: Vec::new(),
            can_move: Vec::new(),
            start: 0.0,
            step: 0.0,
            size: 0.0,
            is_under_way: false,
            open: Matrix::default(),
            closed: Lu::default(),
            distance: Distance::default(),
            before: Vec::new(),
            signal_based: Vec::new(),
            external: Vec::new(),
            given: Vec::new(),
            errors: Vec::new(),
        })
    }

    pub(super) fn needs(&self) -> Needs {
        let is_on = self.settings.error_equation != ErrorEquationConfig::Off;
        let LearningConfig { kind, duration, parts, .. } = self.settings.learning;
        Needs {
            depth: 1,
            terms: terms_of(self.settings.hold),
            samples: is_on.then_some(match self.settings.intermediate {
                true => Request::SolverPoints,
                false => Request::Nothing,
            }),
            steps: StepNeeds::OneSize("its models are discrete in time and belong to one"),
            small_steps: if kind == LearningKind::SmallStep { Some((duration, parts)) } else { None },
            ..Needs::default()
        }
    }

    pub(super) fn start(&mut self, view: &View<'_>) -> Result<()> {
        let (m, n) = (view.graph.inputs(), view.graph.outputs());
        let LearnedSettings { identify, learning, learned, .. } = &self.settings;
        self.start = view.step.start;
        self.step = view.step.size;
        self.size = match learning.kind {
            LearningKind::SmallStep => self.step / f64::from(learning.parts),
            LearningKind::Hold => self.step,
        };
        let size = |id| (view.graph.inputs_of(id).len(), view.graph.outputs_of(id).len());
        let identifier = |id| {
            let name = view.graph.name(id);
            Identifier::new(*identify, name, size(id), self.size, learned.get(name))
        };
        self.identifiers = (0..view.graph.len()).map(identifier).collect::<Result<_>>()?;
        let config = |id| identify.with(learned.get(view.graph.name(id)));
        self.distance = Distance::new(&self.identifiers, config, view);
        self.notes = Notes::new(view.graph.len());
        self.phase = learning.phase(0.0, f64::NAN);
        self.excitation = Vec::with_capacity(n);
        let has_signal = |input: InputId| view.graph.externals().iter().any(|(target, _)| *target == input);
        self.can_move = (0..m).map(|input| !view.graph.is_free(input) || has_signal(input)).collect();
        self.models = (0..view.graph.len()).map(|id| InterfaceModel::hold(size(id).0, size(id).1)).collect();
        self.figures = vec![f64::NAN; view.graph.len()];
        self.quality = Quality::new(n);
        self.open = Matrix::identity(n);
        self.closed = Lu::new(&self.open)
            .map_err(|source| Error::Linalg { what: "the learned models".into(), source })?;
        self.errors = vec![0.0; n];
        for list in [&mut self.signal_based, &mut self.external, &mut self.given] {
            *list = vec![0.0; m];
        }
        self.before = view.history.arrivals().to_vec();
        self.is_under_way = false;
        Ok(())
    }

    /// Learns from the step that has ended, decides what the models are good for in the one ahead, and finds δ if they are used.
    pub(super) fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.look_back(view);
        self.learn(view)?;
        self.predict_by_signals(view);
        let quality = channel::norm(&self.figures);
        self.phase = self.settings.learning.phase(view.step.start - self.start, quality);
        if self.settings.modified {
            self.phase.modify();
        }
        let fits = self.identifiers.iter().all(|one| (view.step.size / one.step() - 1.0).abs() < 1e-6);
        if self.phase.share > 0.0 && !(fits && self.find_distance(view)) {
            self.phase.give_up();
        }
        Ok(())
    }

    /// Notes what is done in the step ahead, once it is decided.
    pub(super) fn conclude(&mut self, view: &View<'_>) {
        if self.phase.share > 0.0 {
            self.note_excitation(view);
        } else {
            self.distance.forget();
        }
        self.notes.note(view.step.start, &self.figures, self.phase.kind);
        self.distance.arrive(view);
        self.size = view.step.size;
        self.is_under_way = true;
    }

    /// δ at the communication point.
    pub(super) fn delta(&self) -> &[f64] {
        &self.distance.delta
    }

    /// What older δ add to an output at the end of the step ahead, see [`past`].
    pub(super) fn older(&self, view: &View<'_>, id: SubsystemId, row: usize) -> f64 {
        self.distance.past.sum(view, id, row, &self.identifiers)
    }

    /// External signals at a time.
    pub(super) fn external(&mut self, view: &View<'_>, time: f64) -> &[f64] {
        self.external.fill(0.0);
        for (input, signal) in view.graph.externals() {
            self.external[*input] += signal.value(time);
        }
        &self.external
    }

    pub(super) fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) {
        self.distance.observe(view, subsystem, samples);
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        self.identifiers.iter_mut().for_each(|identifier| identifier.state(tape));
        self.quality.state(tape);
        tape.numbers(&mut self.figures);
        self.distance.state(tape);
        tape.values(&mut self.before);
        tape.number(&mut self.size);
        tape.flag(&mut self.is_under_way);
    }

    /// The inputs at the end of the step that has ended.
    fn look_back(&mut self, view: &View<'_>) {
        // A signal that jumps at this instant had its old value over the whole step.
        let margin = 1e-9 * view.step.size;
        let time = view.step.start - if view.is_fresh { 0.0 } else { margin };
        self.external.fill(0.0);
        for (input, signal) in view.graph.externals() {
            self.external[*input] += signal.value_before(time, margin);
        }
        for (given, (applied, external)) in self.given.iter_mut().zip(view.applied.iter().zip(&self.external))
        {
            *given = applied + external;
        }
    }

    /// Learns, judges the models by what they had predicted, and takes the new ones.
    fn learn(&mut self, view: &View<'_>) -> Result<()> {
        self.quality.note(view.outputs);
        for (id, identifier) in self.identifiers.iter_mut().enumerate() {
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            let (u, outputs) = (&self.given[u], &view.outputs[y.clone()]);
            // Nothing is learned from a jump.
            if !view.has_jumped[id] && (self.size / identifier.step() - 1.0).abs() < 1e-6 {
                let errors = &mut self.errors[y.clone()];
                identifier.observe(outputs, u, errors);
                self.figures[id] = if self.is_under_way {
                    self.quality.figure(y.start, errors)
                } else if self.settings.learned.contains_key(view.graph.name(id)) {
                    // A model of an earlier run is trusted until it is seen to fail.
                    0.0
                } else {
                    f64::NAN
                };
            } else {
                identifier.pass_over(outputs, u);
            }
            let step = identifier.step();
            if view.step.size > step * (1.0 + 1e-6) && view.step.size <= self.step * (1.0 + 1e-6) {
                identifier.rescale(view.step.size)?;
            }
            if !identifier.is_ready() {
                self.figures[id] = f64::NAN;
            }
            identifier.model(&mut self.models[id]);
        }
        Ok(())
    }

    /// Inputs as they are while models are not used.
    fn predict_by_signals(&mut self, view: &View<'_>) {
        for wire in view.jumped().flat_map(|id| view.graph.wires_from(id)) {
            let target = view.graph.wires()[*wire].target;
            self.before[target] = view.arrival(target);
        }
        for input in 0..self.before.len() {
            let newest = view.arrival(input);
            let older = std::mem::replace(&mut self.before[input], newest);
            self.signal_based[input] = match self.settings.learning.signal_based {
                SignalBased::Zoh => newest,
                SignalBased::Foh => newest + (newest - older) * view.step.size / self.size,
            };
        }
    }

    /// δ now; false if the models have no solution.
    fn find_distance(&mut self, view: &View<'_>) -> bool {
        self.open.set_identity(view.outputs.len());
        for wire in view.graph.wires() {
            let id = view.graph.subsystem_of_input(wire.target);
            let (input, outputs) = (wire.target - view.graph.inputs_of(id).start, view.graph.outputs_of(id));
            for (row, output) in outputs.enumerate() {
                self.open[(output, wire.source)] -= self.models[id].s_d[(row, input)] * wire.gain;
            }
        }
        if self.closed.refactor(&self.open).is_err() {
            return false;
        }
        let LearnedModels { distance, models, identifiers, closed, settings, .. } = self;
        if settings.error_equation != ErrorEquationConfig::Off {
            let is_first = settings.error_equation == ErrorEquationConfig::Reset || !self.is_under_way;
            if is_first {
                distance.forget();
            }
            let last = (self.is_under_way && settings.intermediate).then_some(self.size);
            distance.solve(view, (models, identifiers), closed, last);
        }
        distance.delta.iter().all(|delta| delta.is_finite())
    }

    /// Excitation of all outputs' data, once, when the models are first trusted.
    fn note_excitation(&mut self, view: &View<'_>) {
        if !self.excitation.is_empty() {
            return;
        }
        for (id, identifier) in self.identifiers.iter_mut().enumerate() {
            let can_move = &self.can_move[view.graph.inputs_of(id)];
            let outputs = view.graph.outputs_of(id).len();
            self.excitation.extend((0..outputs).map(|output| identifier.excitation(output, can_move)));
        }
    }
}

impl Report for LearnedModels {
    fn remarks(&self, _graph: &SystemGraph) -> Vec<String> {
        let LearnedSettings { learning, learned, .. } = &self.settings;
        let is_hasty = learning.duration == 0.0 && learned.is_empty();
        let text = "models without initial values are used from the first steps; give them time to learn (learning = { duration = ... }), or models of an earlier run (model = { file = ... })";
        if is_hasty { vec![text.to_owned()] } else { Vec::new() }
    }

    fn learned(&self, view: &View<'_>) -> BTreeMap<String, Learned> {
        let one = |(id, one): (usize, &Identifier)| (view.graph.name(id).to_owned(), one.learned());
        self.identifiers.iter().enumerate().map(one).collect()
    }

    /// Phase, quality, learned parameters.
    fn channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        let LearnedSettings { identify, learned, .. } = &self.settings;
        let mut all = channel::common(graph, true);
        all.extend(channel::parameters(graph, |ports, id| {
            parameter_names(identify.with(learned.get(graph.name(id))), ports)
        }));
        all
    }

    fn channel(&self, view: &View<'_>, index: usize) -> f64 {
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

    fn review(&self, view: &View<'_>) -> Option<Review> {
        let LearnedSettings { source, learning, modified, .. } = self.settings;
        let mut review = self.notes.review(view, source, Some(learning));
        review.is_modified = modified;
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
        Some(review)
    }

    fn quality(&self) -> &[f64] {
        &self.figures
    }
}
