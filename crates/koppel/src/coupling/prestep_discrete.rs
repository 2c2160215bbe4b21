//! The model-based pre-step method in discrete time, on models learned during the run.
//!
//!   step 1   δ^k = (I - J_1 L)⁻¹ [(J_y + J_0 L) δ^{k-1} + J_0 ε^{k-1} + J_1 ε^k],     ỹ = y + δ                (2.57)
//!   step 2   ŷ = (I - J_1 L)⁻¹ [J_y ỹ + J_0 (L ỹ + w^k) + J_1 w^{k+1} + c]                                 (2.63)
//!   step 3   u = (L ŷ)_i + J_1⁺ (ŷ_i - J_y y - J_0 u^k - J_1 ((L ŷ)_i + w^{k+1}) - c)                      (2.65)
//!
//! | symbol   | meaning                                        | here                |
//! | J        | interface model y^{k+1} = J_y y^k + J_0 u^k + J_1 u^{k+1} + c | `models`  |
//! | ε        | L y - u at communication points, corrected by (2.58) | `epsilon`     |
//! | w        | offsets and external signals                   | `external`          |
//!
//! u is the input at the end of the step; the run's `hold` says whether it is held or moved to. Genser 2020, 2.2.2 to 2.4.
//! Differs in: c and w, which the thesis leaves out. With J_0 = 0 and step 1 off, step 3 changes nothing.

mod error_equation;
mod extrapolate;
mod learn;
mod older;
mod optimize;
mod seen;
mod settings;

pub(super) use settings::DiscreteSettings;

use super::model_based::{ErrorEquationConfig, free_inputs};
use super::phase::{LearningConfig, LearningKind, Phase, SignalBased};
use super::review::{Notes, Review};
use super::{Coupling, Needs, Polynomials, Report, StepNeeds, View, channel, terms_of, write_value};
use crate::error::{Error, Result};
use crate::identify::{Identifier, InterfaceModel, Learned, Quality};
use crate::linalg::{Lu, Matrix, PseudoInverse};
use crate::record::Channel;
use crate::signal::{Request, Samples};
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;
use older::Older;
use std::collections::BTreeMap;

/// The method.
pub(super) struct PrestepDiscrete {
    settings: DiscreteSettings,
    identifiers: Vec<Identifier>,
    models: Vec<InterfaceModel>,
    figures: Vec<f64>,
    quality: Quality,
    phase: Phase,
    notes: Notes,
    /// Excitation behind the model of each output when it was first trusted.
    excitation: Vec<f64>,
    /// Inputs that are connected or have a signal from outside.
    can_move: Vec<bool>,
    /// Time of the first communication point.
    start: f64,
    /// The run's communication step.
    step: f64,
    open: Matrix,
    closed: Lu,
    /// δ, ε at the last communication point, and the means of the outputs over the last step.
    delta: Vec<f64>,
    epsilon: Vec<f64>,
    means: Vec<f64>,
    /// Outputs as the last step left them, and ε with them.
    ended: Vec<f64>,
    now: Vec<f64>,
    /// L y at the last communication point.
    arrived: Vec<f64>,
    is_under_way: bool,
    /// L y one step ago, for first-order hold.
    before: Vec<f64>,
    size: f64,
    /// Inputs for the step ahead, by both methods.
    signal_based: Vec<f64>,
    model_based: Vec<f64>,
    external: Vec<f64>,
    /// u^k, with external signals.
    given: Vec<f64>,
    inputs: Vec<f64>,
    ideal: Vec<f64>,
    extrapolated: Vec<f64>,
    errors: Vec<f64>,
    older: Older,
    /// Inputs that step 3 may choose.
    is_free: Vec<bool>,
    inverse: Matrix,
    scaled: Matrix,
    pseudo_inverse: PseudoInverse,
}

impl PrestepDiscrete {
    pub(super) fn new(settings: DiscreteSettings) -> Result<Self> {
        settings::check(&settings)?;
        Ok(PrestepDiscrete {
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
            open: Matrix::default(),
            closed: Lu::default(),
            delta: Vec::new(),
            epsilon: Vec::new(),
            means: Vec::new(),
            ended: Vec::new(),
            now: Vec::new(),
            arrived: Vec::new(),
            is_under_way: false,
            before: Vec::new(),
            size: 0.0,
            signal_based: Vec::new(),
            model_based: Vec::new(),
            external: Vec::new(),
            given: Vec::new(),
            inputs: Vec::new(),
            ideal: Vec::new(),
            extrapolated: Vec::new(),
            errors: Vec::new(),
            older: Older::default(),
            is_free: Vec::new(),
            inverse: Matrix::default(),
            scaled: Matrix::default(),
            pseudo_inverse: PseudoInverse::default(),
        })
    }
}

impl Coupling for PrestepDiscrete {
    fn needs(&self) -> Needs {
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

    fn start(&mut self, view: &View<'_>, inputs: &[InputId]) -> Result<()> {
        let (m, n) = (view.graph.inputs(), view.graph.outputs());
        self.is_free = free_inputs(view, inputs);
        self.start = view.step.start;
        self.step = view.step.size;
        self.size = match self.settings.learning.kind {
            LearningKind::SmallStep => self.step / f64::from(self.settings.learning.parts),
            LearningKind::Hold => self.step,
        };
        let size = |id| (view.graph.inputs_of(id).len(), view.graph.outputs_of(id).len());
        let DiscreteSettings { identify, learned, .. } = &self.settings;
        let identifier = |id| {
            let name = view.graph.name(id);
            Identifier::new(*identify, name, size(id), self.size, learned.get(name))
        };
        self.identifiers = (0..view.graph.len()).map(identifier).collect::<Result<_>>()?;
        let config = |id| identify.with(learned.get(view.graph.name(id)));
        self.older = Older::new(&self.identifiers, config, view);
        self.notes = Notes::new(view.graph.len());
        self.phase = self.settings.learning.phase(0.0, f64::NAN);
        self.excitation = Vec::with_capacity(n);
        self.can_move = seen::movable(view);
        self.models = (0..view.graph.len()).map(|id| InterfaceModel::hold(size(id).0, size(id).1)).collect();
        self.figures = vec![f64::NAN; view.graph.len()];
        self.quality = Quality::new(n);
        self.open = Matrix::identity(n);
        self.closed = Lu::new(&Matrix::identity(n))
            .map_err(|source| Error::Linalg { what: "the pre-step method".into(), source })?;
        for list in [&mut self.delta, &mut self.extrapolated, &mut self.errors] {
            *list = vec![0.0; n];
        }
        self.means = view.outputs.to_vec();
        self.ended = view.outputs.to_vec();
        let lists = [
            &mut self.epsilon,
            &mut self.now,
            &mut self.signal_based,
            &mut self.model_based,
            &mut self.external,
            &mut self.given,
            &mut self.inputs,
            &mut self.ideal,
        ];
        lists.into_iter().for_each(|list| *list = vec![0.0; m]);
        self.before = view.history.arrivals().to_vec();
        self.arrived = self.before.clone();
        self.is_under_way = false;
        Ok(())
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.look_back(view);
        self.learn(view)?;
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
        let quality = channel::norm(&self.figures);
        self.phase = self.settings.learning.phase(view.step.start - self.start, quality);
        let fits = self.identifiers.iter().all(|one| (view.step.size / one.step() - 1.0).abs() < 1e-6);
        if self.settings.modified {
            self.phase.modify();
        }
        if self.settings.only_distance {
            self.phase.ignore_step_three();
        }
        if self.phase.share > 0.0 && !(fits && self.extrapolate(view)) {
            self.phase.give_up();
        }
        if self.phase.share > 0.0 && !self.phase.is_modified && !self.settings.only_distance {
            self.optimize(view)?;
        }
        if self.phase.share > 0.0 {
            self.note_excitation(view);
        } else {
            self.rest(view);
        }
        self.notes.note(view.step.start, &self.figures, self.phase.kind);
        self.arrived.copy_from_slice(view.history.arrivals());
        self.size = view.step.size;
        self.is_under_way = true;
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let share = self.phase.share;
        for &input in inputs {
            // Where sources have moved already, their values are better than any prediction.
            let own = view.stages[view.graph.subsystem_of_input(input)];
            let mut wires = view.graph.wires_into(input);
            let have_moved = wires.all(|wire| view.stages[view.graph.wires()[wire].from] < own);
            let value = if have_moved {
                view.arrival(input)
            } else if share == 0.0 {
                self.signal_based[input]
            } else {
                share * self.model_based[input] + (1.0 - share) * self.signal_based[input]
            };
            write_value(self.settings.hold, view, input, value, out.of(input));
        }
        Ok(())
    }

    fn moved(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        let range = view.graph.outputs_of(subsystem);
        self.ended[range.clone()].copy_from_slice(&view.outputs[range.clone()]);
        if samples.mean(&mut self.means[range.clone()]).is_none() {
            self.means[range.clone()].copy_from_slice(&view.outputs[range]);
        }
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        self.identifiers.iter_mut().for_each(|identifier| identifier.state(tape));
        self.quality.state(tape);
        tape.numbers(&mut self.figures);
        let PrestepDiscrete { delta, epsilon, means, ended, arrived, before, .. } = self;
        [delta, epsilon, means, ended, arrived, before].into_iter().for_each(|list| tape.values(list));
        self.older.state(tape);
        tape.number(&mut self.size);
        tape.flag(&mut self.is_under_way);
    }

    fn report(&self) -> &dyn Report {
        self
    }
}

impl Report for PrestepDiscrete {
    fn remarks(&self, _graph: &SystemGraph) -> Vec<String> {
        let DiscreteSettings { learning, learned, .. } = &self.settings;
        let is_hasty = learning.duration == 0.0 && learned.is_empty();
        let text = "models are learned from nothing and used from the first steps on; give them time (learning = { duration = ... }), or models of an earlier run (model = { file = ... })";
        if is_hasty { vec![text.to_owned()] } else { Vec::new() }
    }

    fn learned(&self, view: &View<'_>) -> BTreeMap<String, Learned> {
        let one = |(id, one): (usize, &Identifier)| (view.graph.name(id).to_owned(), one.learned());
        self.identifiers.iter().enumerate().map(one).collect()
    }

    fn channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        self.all_channels(graph)
    }

    fn channel(&self, view: &View<'_>, index: usize) -> f64 {
        self.channel_value(view, index)
    }

    fn review(&self, view: &View<'_>) -> Option<Review> {
        Some(self.review_models(view))
    }

    fn quality(&self) -> &[f64] {
        &self.figures
    }
}
