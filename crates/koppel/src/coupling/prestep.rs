//! The model-based pre-step method in continuous time.
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
mod numbers;

pub(super) use config::PRESTEP;
pub use config::{ConstantConfig, PrestepConfig, Shape, Weights};

use super::model_based::{
    ClosedLoop, ErrorEquation, ErrorEquationConfig, Excitation, Judgement, Local, LocalSettings, Now,
    check_models, free_inputs,
};
use super::phase::{Phase, PhaseKind};
use super::review::{Notes, Review};
use super::{Coupling, ModelBased, ModelNeeds, Needs, Polynomials, Report, StepNeeds, View, channel, write};
use crate::error::{Error, Result};
use crate::identify::GivenModel;
use crate::record::Channel;
use crate::signal::Samples;
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;
use numbers::{Ahead, End, Numbers};

/// Relative cut-off of G⁺.
const CUTOFF: f64 = 1e-12;

/// The method.
pub(super) struct Prestep {
    config: PrestepConfig,
    /// Inputs that step 3 may choose.
    is_free: Vec<bool>,
    closed: ClosedLoop,
    /// Matrices of step 2: to the end, and to the goal; and the response to external signals.
    ahead: Ahead,
    locals: Vec<Local>,
    local_of: Vec<SubsystemId>,
    /// What the matrices were made for.
    fits: Option<(u64, u64)>,
    error: ErrorEquation,
    excitation: Excitation,
    numbers: Numbers,
    judgement: Judgement,
    phase: Phase,
    notes: Notes,
    /// Time of the first communication point.
    start: f64,
}

impl Prestep {
    pub(super) fn new(config: &PrestepConfig) -> Result<Self> {
        config.check()?;
        Ok(Prestep {
            error: ErrorEquation::new(config.error_settings(), 0, 0),
            config: config.clone(),
            is_free: Vec::new(),
            closed: ClosedLoop::default(),
            ahead: Ahead::default(),
            locals: Vec::new(),
            local_of: Vec::new(),
            fits: None,
            excitation: Excitation::default(),
            numbers: Numbers::default(),
            judgement: Judgement::default(),
            phase: Phase::default(),
            notes: Notes::default(),
            start: 0.0,
        })
    }

    /// All matrices for the models and the step size at hand.
    fn fit(&mut self, view: &View<'_>) -> Result<()> {
        let key = (view.models.version(), view.step.size.to_bits());
        if self.fits == Some(key) {
            return Ok(());
        }
        self.closed.join(view)?;
        self.error.fit(&self.closed, view.step.size)?;
        self.look_ahead(view)?;
        let Prestep { config, is_free, locals, fits, .. } = self;
        let settings = local_settings(config, is_free);
        let is_other_size = fits.is_none_or(|(_, size)| size != key.1);
        let last = fits.map_or(0, |(version, _)| version);
        for (id, local) in locals.iter_mut().enumerate() {
            if is_other_size || view.models.version_of(id) > last {
                local.fit(view, id, &settings)?;
            }
        }
        self.fits = Some(key);
        Ok(())
    }

    /// The matrices of step 2.
    fn look_ahead(&mut self, view: &View<'_>) -> Result<()> {
        let ClosedLoop { a, b, .. } = &self.closed;
        let found = self.ahead.fit(&self.config, a, b, view.step.size);
        found.map_err(|source| Error::Linalg {
            what: "the extrapolation of the pre-step method".into(),
            source,
        })?;
        if self.closed.is_direct {
            self.ahead.close(&self.closed.m);
        }
        Ok(())
    }
}

fn local_settings<'a>(config: &PrestepConfig, is_free: &'a [bool]) -> LocalSettings<'a> {
    LocalSettings {
        goal: config.objective,
        is_constant: config.input == Shape::Constant,
        is_free,
        matrix_steps: config.matrix_steps,
        cutoff: CUTOFF,
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
        self.local_of = (0..m).map(|input| view.graph.subsystem_of_input(input)).collect();
        check_models(view, inputs, self.config.model)?;
        self.error = ErrorEquation::new(self.config.error_settings(), m, n);
        self.excitation = Excitation::new(m);
        self.numbers = Numbers::new(m, n);
        self.judgement = Judgement::new(view);
        self.notes = Notes::new(view.graph.len());
        self.start = view.step.start;
        self.phase = self.decide(view);
        self.is_free = free_inputs(view, inputs);
        if self.config.modified {
            self.is_free.fill(false);
        }
        let settings = local_settings(&self.config, &self.is_free);
        self.locals = (0..view.graph.len()).map(|id| Local::new(view, id, &settings)).collect();
        self.ahead = Ahead::new(!view.graph.externals().is_empty());
        self.fits = None;
        self.fit(view)
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.phase = self.decide(view);
        self.notes.note(view.step.start, self.judgement.figures(), self.phase.kind);
        self.fit(view)?;
        let Prestep { closed, ahead, locals, error, excitation, numbers, judgement, .. } = self;
        numbers.extrapolate(view, closed, ahead, &error.zeta, excitation);
        if let (Some(response), true) = (&mut ahead.response, excitation.is_active) {
            response.answer(excitation, 0);
            let objective = self.config.objective;
            numbers.add_answer(closed, &response.moments.end, &excitation.change.end, End::Outputs);
            let (answer, change) = (objective.of(&response.moments), objective.of(&excitation.change));
            numbers.add_answer(closed, answer, change, End::Goal);
        }
        numbers.find_ideal_change(view);
        for (id, local) in locals.iter_mut().enumerate() {
            let model = view.models.of(id);
            let now = Now {
                y: &view.outputs[local.outputs.clone()],
                u0: &numbers.start_full[local.inputs.clone()],
                epsilon: &numbers.epsilon[local.inputs.clone()],
            };
            local.aim(model, &numbers.goal[local.outputs.clone()], &now, excitation);
            judgement.expect((id, model), &mut local.course, view.outputs, &numbers.last_inputs, excitation);
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
                Shape::Energy => write(out, [start + 0.5 * size * change(input, 1.0 / size)]),
            }
        }
        Ok(())
    }

    fn moved(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        let is_last = subsystem + 1 == view.graph.len();
        if self.config.error_equation != ErrorEquationConfig::Off {
            self.error.collect(view, subsystem, samples);
            if is_last {
                self.error.advance(view, &self.closed);
            }
        }
        if is_last {
            self.judgement.add_inputs(view, self.locals.iter().map(|local| &local.course));
        }
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        self.error.state(tape);
        self.judgement.state(tape);
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
        self.excitation.look(view);
        self.numbers.see(view, &self.excitation);
        self.judgement.judge(view, &self.numbers.last_inputs);
    }
}

impl Report for Prestep {
    fn quality(&self) -> &[f64] {
        self.judgement.figures()
    }

    fn channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        let mut all = channel::common(graph, self.config.learning.is_some());
        all.extend(channel::matrices(graph));
        all
    }

    fn channel(&self, view: &View<'_>, index: usize) -> f64 {
        let common = channel::common_value(index, f64::from(self.phase.kind as u8), self.quality());
        common.unwrap_or_else(|rest| channel::matrix_value(view, rest))
    }

    fn review(&self, view: &View<'_>) -> Option<Review> {
        let mut review = self.notes.review(view, self.config.model, self.config.learning);
        review.is_modified = self.config.modified;
        Some(review)
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
        let figures = self.judgement.figures().iter().filter(|figure| !figure.is_nan());
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
