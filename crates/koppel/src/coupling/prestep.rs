//! The model-based pre-step method on models of known equations.
//!
//!   step 1   ỹ = y + δ                                   outputs of an ideal coupling now              `error_equation`
//!   step 2   ŷ = ỹ + M P_0(A) (S_y ỹ + S_u (L ỹ + w) + c)      those at the end of the step ahead            `closed_loop`
//!   step 3   u(t) = L y + s (t - T^k), y(T^{k+1}) → ŷ      inputs that lead each subsystem there         `local`
//!
//! | symbol   | meaning                                       | here           |
//! | ε        | jump of the inputs at T^k, L y + w - u⁻       | `epsilon`      |
//! | w        | offsets and external signals                  | `excitation`   |
//! | P_0      | integral of the exponential over the step     | `ahead`        |
//! | L ŷ - L y | ideal change of the inputs over the step      | `ideal`        |
//!
//! Genser 2020, 2.2.1 and 2.2.3; Genser & Benedikt 2018, 2.2. Differs in: the constant c and the external signals, which
//! the papers leave out; all equations in x = y - S_d u, so that jumps of inputs are met and no derivative of a signal is
//! needed; (2.71) with its factor 2. `modified` leaves step 3 out: the inputs move to L ŷ.
//!
//! Where a source has moved already (Gauss-Seidel), its real value replaces the prediction and the input is not optimised.

mod config;
mod learned;
mod numbers;

pub(super) use config::PRESTEP;
pub use config::{ConstantConfig, PrestepConfig, Shape, Weights};

use super::model_based::{KnownModels, Local, LocalSettings, Now, free_inputs};
use super::phase::{Phase, PhaseKind};
use super::review::Review;
use super::{Coupling, ModelBased, ModelNeeds, Needs, Polynomials, Report, StepNeeds, View, write};
use crate::error::Result;
use crate::identify::GivenModel;
use crate::record::Channel;
use crate::signal::Samples;
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;
use numbers::{Ahead, Numbers};

/// The method.
pub(super) struct Prestep {
    config: PrestepConfig,
    known: KnownModels,
    /// Inputs that step 3 may choose.
    is_free: Vec<bool>,
    ahead: Ahead,
    locals: Vec<Local>,
    local_of: Vec<SubsystemId>,
    numbers: Numbers,
    phase: Phase,
    /// Time of the first communication point.
    start: f64,
}

impl Prestep {
    pub(super) fn new(config: &PrestepConfig) -> Self {
        Prestep {
            known: KnownModels::new(config.model, config.error_settings()),
            config: config.clone(),
            is_free: Vec::new(),
            ahead: Ahead::default(),
            locals: Vec::new(),
            local_of: Vec::new(),
            numbers: Numbers::default(),
            phase: Phase::default(),
            start: 0.0,
        }
    }

    /// All matrices for the models and the step size at hand.
    fn fit(&mut self, view: &View<'_>) -> Result<()> {
        let Prestep { config, known, is_free, ahead, locals, .. } = self;
        let Some(changed) = known.fit(view)? else { return Ok(()) };
        ahead.fit(&known.closed, view.step.size)?;
        let settings = local_settings(config, is_free);
        for (id, local) in locals.iter_mut().enumerate() {
            if changed.has(view, id) {
                local.fit(view, id, &known.transitions[id], &settings)?;
            }
        }
        Ok(())
    }
}

fn local_settings<'a>(config: &PrestepConfig, is_free: &'a [bool]) -> LocalSettings<'a> {
    LocalSettings {
        is_constant: config.input == Shape::Constant,
        is_free,
        nominal: config.weights == Weights::Nominal,
    }
}

impl Coupling for Prestep {
    fn needs(&self) -> Needs {
        let is_pinned = self.config.constant == ConstantConfig::Measured;
        Needs {
            depth: 1,
            terms: if self.config.input == Shape::Linear { 2 } else { 1 },
            samples: Some(self.config.error_settings().request()),
            models: Some(ModelNeeds { source: self.config.model, is_pinned }),
            steps: StepNeeds::OneRate,
            ..Needs::default()
        }
    }

    fn start(&mut self, view: &View<'_>, inputs: &[InputId]) -> Result<()> {
        let (m, n) = (view.graph.inputs(), view.graph.outputs());
        self.known.start(view, inputs, true)?;
        self.local_of = (0..m).map(|input| view.graph.subsystem_of_input(input)).collect();
        self.numbers = Numbers::new(m, n);
        self.start = view.step.start;
        self.phase = self.decide(view);
        self.is_free = free_inputs(view, inputs);
        if self.config.modified {
            self.is_free.fill(false);
        }
        let settings = local_settings(&self.config, &self.is_free);
        self.locals = (0..view.graph.len()).map(|id| Local::new(view, id, &settings)).collect();
        self.ahead = Ahead::new(!view.graph.externals().is_empty());
        self.fit(view)
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.phase = self.decide(view);
        self.known.note(view, self.phase.kind);
        self.fit(view)?;
        let Prestep { known, ahead, locals, numbers, .. } = self;
        numbers.extrapolate(view, known, ahead);
        known.expect(view);
        for (id, local) in locals.iter_mut().enumerate() {
            let now = Now {
                y: &view.outputs[local.outputs.clone()],
                u0: &numbers.start_full[local.inputs.clone()],
                epsilon: &numbers.epsilon[local.inputs.clone()],
            };
            let model = (view.models.of(id), &known.transitions[id]);
            local.aim(model, &numbers.extrapolated[local.outputs.clone()], &now, &known.excitation);
        }
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let size = view.step.size;
        let ideal = |input: InputId| self.ideal_change(view, input);
        let change = |input: InputId, per: f64| {
            let local = &self.locals[self.local_of[input]];
            let is_modified = self.phase.is_modified;
            self.phase.share * if is_modified { per * ideal(input) } else { local.change(input, per, ideal) }
        };
        for &input in inputs {
            let start = self.numbers.start[input];
            let out = out.of(input);
            match self.config.input {
                Shape::Linear => write(out, [start, change(input, 1.0 / size)]),
                Shape::Constant => write(out, [start + change(input, 1.0)]),
            }
        }
        Ok(())
    }

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.known.observe(view, subsystem, samples);
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        self.known.state(tape);
    }

    fn model_based(&mut self) -> Option<&mut dyn ModelBased> {
        Some(self)
    }

    fn report(&self) -> &dyn Report {
        self
    }
}

impl ModelBased for Prestep {
    fn judge(&mut self, view: &View<'_>) {
        self.known.judge(view);
        self.numbers.look(view, &self.known);
    }
}

impl Report for Prestep {
    fn quality(&self) -> &[f64] {
        self.known.quality()
    }

    fn channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        KnownModels::channels(graph, self.config.learning.is_some())
    }

    fn channel(&self, view: &View<'_>, index: usize) -> f64 {
        self.known.channel(view, index, self.phase.kind)
    }

    fn review(&self, view: &View<'_>) -> Option<Review> {
        let review = self.known.review(view, self.config.learning);
        Some(Review { is_modified: self.config.modified, ..review })
    }

    fn given(&self, subsystem: &str) -> Option<&GivenModel> {
        self.config.models.get(subsystem)
    }
}

impl Prestep {
    /// Whether the models are trusted for the step ahead.
    fn decide(&self, view: &View<'_>) -> Phase {
        let Some(learning) = &self.config.learning else {
            let kind = if self.config.modified { PhaseKind::Modified } else { PhaseKind::Full };
            return Phase { kind, ..Phase::FULL };
        };
        let figures = self.known.quality().iter().filter(|figure| !figure.is_nan());
        let quality = figures.map(|figure| figure * figure).sum::<f64>().sqrt();
        let mut phase = learning.phase(view.step.start - self.start, quality);
        if self.config.modified {
            phase.modify();
        }
        phase
    }

    /// How much an ideally coupled input would change over the step; with real values where sources have moved.
    fn ideal_change(&self, view: &View<'_>, input: InputId) -> f64 {
        let own = view.stages[self.local_of[input]];
        let wires = view.graph.wires_into(input);
        let has_moved = |wire: usize| view.stages[view.graph.wires()[wire].from] < own;
        if !wires.clone().any(has_moved) {
            return self.numbers.ideal[input];
        }
        let value = |number: usize| {
            let wire = view.graph.wires()[number];
            let predicted = wire.gain * self.numbers.extrapolated[wire.source];
            if has_moved(number) { view.history.newest(number) } else { predicted }
        };
        view.graph.offset(input) + wires.map(value).sum::<f64>() - self.numbers.start[input]
    }
}
