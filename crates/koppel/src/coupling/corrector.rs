//! The model-based corrector: NEPCE with the outputs of an ideal coupling in place of those seen.
//!
//!   u^k = L ỹ^k + α (1/H) ∫_{T^{k-1}}^{T^k} (L ỹ - u_ex) dt,     ỹ = y + δ
//!
//! δ comes from the error equation, so that the energy of the ideally coupled signal is preserved. Haid et al. 2018 as
//! described in Genser 2020, 3.3 and 3.4. Where a source has moved already (Gauss-Seidel), its value counts as it is.

mod identified;

pub(super) use identified::IdentifiedCorrector;

use super::deferred::{Against, Deferred};
use super::method::{GAINS, Method, MethodInfo, ModelSettings, SettingInfo, gain_at};
use super::model_based::{
    ClosedLoop, Course, CourseRoom, ErrorEquation, ErrorEquationConfig, ErrorSettings, Excitation, Judgement,
    OdeMethod, check_models, distance,
};
use super::phase::{LearningConfig, PhaseKind};
use super::review::{Notes, Review};
use super::{
    Coupling, CouplingConfig, Hold, ModelBased, ModelNeeds, Needs, Polynomials, Report, StepNeeds, View,
    channel, terms_of, write_value,
};
use crate::error::{Error, Result, bad};
use crate::identify::{GivenModel, Learned, ModelConfig};
use crate::record::Channel;
use crate::signal::Samples;
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of the corrector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorrectorConfig {
    /// Where models come from.
    pub model: ModelConfig,
    /// `carried` or `reset`.
    pub error_equation: ErrorEquationConfig,
    /// Whether the error equation uses intermediate values.
    pub intermediate: bool,
    /// How it is solved.
    pub error_solver: OdeMethod,
    /// Parts of the step in which it is solved.
    pub error_steps: u32,
    /// α in [0, 1].
    pub gain: f64,
    /// What the correction is measured against.
    pub against: Against,
    /// Phases of learned models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning: Option<LearningConfig>,
    /// Learned models to start from, by subsystem.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub learned: BTreeMap<String, Learned>,
    /// Models for `model = "given"`, by subsystem.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, GivenModel>,
}

impl Default for CorrectorConfig {
    fn default() -> Self {
        CorrectorConfig {
            model: ModelConfig::default(),
            error_equation: ErrorEquationConfig::Carried,
            intermediate: true,
            error_solver: OdeMethod::default(),
            error_steps: 20,
            gain: 1.0,
            against: Against::default(),
            learning: None,
            learned: BTreeMap::new(),
            models: BTreeMap::new(),
        }
    }
}

/// The method, as it is listed.
pub(super) static CORRECTOR: MethodInfo = MethodInfo {
    settings: &[
        SettingInfo::new("model", "where models come from", "\"exact\""),
        SettingInfo::new("error_equation", "`carried` from step to step, or `reset`", "\"carried\""),
        SettingInfo::new("intermediate", "whether the error equation uses intermediate values", "true"),
        SettingInfo::new("error_solver", "how it is solved: `exact` or `euler`", "\"exact\""),
        SettingInfo::new("error_steps", "parts of the step in which it is solved", "20"),
        SettingInfo { name: "gain", line: "in [0, 1]", default: "1.0", search: Some(GAINS) },
        SettingInfo::new(
            "against",
            "what the correction is measured against: `extrapolated` or `applied`",
            "\"extrapolated\"",
        ),
        SettingInfo::new("learning", "phases of learned models", ""),
        SettingInfo::new("learned", "learned models to start from, by subsystem", ""),
        SettingInfo::new("models", "models for `model = \"given\"`, by subsystem", ""),
    ],
    order: "2 (1 with stale reading)",
    changes_step: Some("with known models"),
    rank: 50,
    ..MethodInfo::new::<CorrectorConfig>(
        "corrector",
        "model-based corrector: nepce with the predicted outputs of an ideal coupling",
    )
};

impl Method for CorrectorConfig {
    fn info(&self) -> &'static MethodInfo {
        &CORRECTOR
    }

    /// On models that are known or learned.
    fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        self.check()?;
        Ok(match self.model.identify() {
            Some(identify) => Box::new(IdentifiedCorrector::new(self, identify, hold)?),
            None => Box::new(Corrector::new(self, hold)),
        })
    }

    fn takes_hold(&self) -> bool {
        true
    }

    fn gives_slopes(&self, _hold: Hold) -> bool {
        true
    }

    fn linear(&self) -> std::result::Result<Option<CouplingConfig>, String> {
        self.model.refuse_learning(CORRECTOR.name)?;
        Ok(Some(CorrectorConfig { learning: None, ..self.clone() }.into()))
    }

    fn for_nonlinear(&self) -> Option<CouplingConfig> {
        Some(CorrectorConfig { model: ModelConfig::Derivatives, ..self.clone() }.into())
    }

    fn at_level(&self, level: usize) -> Option<CouplingConfig> {
        Some(CorrectorConfig { gain: gain_at(level), ..self.clone() }.into())
    }

    fn models(&self) -> Option<ModelSettings<'_>> {
        let CorrectorConfig { model, learning, learned, models, .. } = self;
        Some(ModelSettings { model: *model, constant: None, learning: *learning, learned, models })
    }
}

/// The method.
pub(super) struct Corrector {
    config: CorrectorConfig,
    hold: Hold,
    closed: ClosedLoop,
    fits: Option<(u64, u64)>,
    error: ErrorEquation,
    deferred: Deferred,
    /// Each model's prediction of the step, by which it is judged; empty if none is.
    courses: Vec<Course>,
    room: CourseRoom,
    judgement: Judgement,
    notes: Notes,
    excitation: Excitation,
    /// Inputs the outputs were last read with, with external signals.
    last_inputs: Vec<f64>,
    /// δ at the communication point.
    delta: Vec<f64>,
    epsilon: Vec<f64>,
    scratch: Vec<f64>,
    size: f64,
}

impl CorrectorConfig {
    /// Whether the models are judged. The error equation needs no constants; where models are to be taken seldom, or are given, those
    /// are not measured for the sake of a figure.
    fn is_judged(&self) -> bool {
        !matches!(self.model, ModelConfig::DerivativesEvery(_) | ModelConfig::Given)
    }

    /// Refuses settings that make no sense.
    fn check(&self) -> Result<()> {
        self.model.check()?;
        if self.error_equation == ErrorEquationConfig::Off {
            let problem = "leaves nothing of the corrector; use `nepce`, or \"carried\" or \"reset\" here";
            return Err(bad("corrector.error_equation", "off", problem));
        }
        let is_learned = self.model.identify().is_some();
        if !is_learned && (self.learning.is_some() || !self.learned.is_empty()) {
            let what = if self.learning.is_some() { "learning" } else { "learned" };
            let problem = "goes with a model that is learned: model = { identify = \"rls\" }";
            return Err(bad("corrector", what, problem));
        }
        if self.error_steps == 0 {
            return Err(bad("corrector.error_steps", 0, "must be at least 1"));
        }
        if !(0.0..=1.0).contains(&self.gain) {
            return Err(bad("corrector.gain", self.gain, "must lie in [0, 1]"));
        }
        Ok(())
    }
}

impl Corrector {
    fn new(config: &CorrectorConfig, hold: Hold) -> Self {
        Corrector {
            error: ErrorEquation::new(settings(config), 0, 0),
            deferred: Deferred::new(config.against, config.gain),
            config: config.clone(),
            hold,
            closed: ClosedLoop::default(),
            fits: None,
            courses: Vec::new(),
            room: CourseRoom::default(),
            judgement: Judgement::default(),
            notes: Notes::default(),
            excitation: Excitation::default(),
            last_inputs: Vec::new(),
            delta: Vec::new(),
            epsilon: Vec::new(),
            scratch: Vec::new(),
            size: 0.0,
        }
    }

    fn fit(&mut self, view: &View<'_>) -> Result<()> {
        let key = (view.models.version(), view.step.size.to_bits());
        if self.fits != Some(key) {
            self.closed.join(view)?;
            self.error.fit(&self.closed, view.step.size)?;
            for (id, course) in self.courses.iter_mut().enumerate() {
                let found = self.room.fit(course, view.models.of(id), view.step.size);
                found.map_err(|source| Error::Linalg {
                    what: format!("the model of `{}`", view.graph.name(id)),
                    source,
                })?;
            }
            self.fits = Some(key);
        }
        Ok(())
    }
}

fn settings(config: &CorrectorConfig) -> ErrorSettings {
    ErrorSettings {
        kind: config.error_equation,
        solver: config.error_solver,
        steps: config.error_steps,
        intermediate: config.intermediate,
    }
}

impl Coupling for Corrector {
    fn needs(&self) -> Needs {
        Needs {
            depth: 1,
            terms: terms_of(self.hold),
            samples: Some(settings(&self.config).request()),
            models: Some(ModelNeeds { source: self.config.model, is_pinned: self.config.is_judged() }),
            steps: StepNeeds::OneRate,
            ..Needs::default()
        }
    }

    fn start(&mut self, view: &View<'_>, inputs: &[InputId]) -> Result<()> {
        check_models(view, inputs, self.config.model)?;
        let (m, n) = (view.graph.inputs(), view.graph.outputs());
        self.error = ErrorEquation::new(settings(&self.config), m, n);
        self.deferred.start(view)?;
        self.delta = vec![0.0; n];
        self.epsilon = vec![0.0; m];
        self.scratch = vec![0.0; n];
        let judged = if self.config.is_judged() { view.graph.len() } else { 0 };
        self.courses = (0..judged).map(|id| Course::new(view, id)).collect();
        self.judgement = Judgement::new(view);
        self.notes = Notes::new(view.graph.len());
        self.excitation = Excitation::new(m);
        self.last_inputs = vec![0.0; m];
        self.size = view.step.size;
        self.fits = None;
        self.fit(view)
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.fit(view)?;
        self.notes.note(view.step.start, self.judgement.figures(), PhaseKind::Full);
        for (id, course) in self.courses.iter_mut().enumerate() {
            course.answer(&self.excitation);
            let model = (id, view.models.of(id));
            self.judgement.expect(model, course, view.outputs, &self.last_inputs, &self.excitation);
        }
        let Corrector { closed, error, deferred, delta, epsilon, scratch, .. } = self;
        for (input, epsilon) in epsilon.iter_mut().enumerate() {
            *epsilon = view.arrival(input) - view.read_with[input];
        }
        distance(closed, &error.zeta, epsilon, scratch, delta);
        deferred.follow_jumps(view);
        let means = std::mem::take(&mut deferred.means);
        let mean = |output: usize| means[output] + error.mean[output];
        deferred.prepare(view, self.size, |wire| wire.gain * mean(wire.source));
        deferred.means = means;
        self.size = view.step.size;
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        for &input in inputs {
            let own = view.stages[view.graph.subsystem_of_input(input)];
            let wires = view.graph.wires()[view.graph.wires_into(input)].iter();
            let standing = wires.filter(|wire| view.stages[wire.from] >= own);
            let distance: f64 = standing.map(|wire| wire.gain * self.delta[wire.source]).sum();
            let value = view.arrival(input) + distance + self.deferred.correction[input];
            write_value(self.hold, view, input, value, out.of(input));
        }
        Ok(())
    }

    fn moved(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.deferred.note(view, subsystem, samples);
        self.error.collect(view, subsystem, samples);
        if subsystem + 1 == view.graph.len() {
            self.error.advance(view, &self.closed);
            self.judgement.add_inputs(view, self.courses.iter());
        }
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        tape.number(&mut self.size);
        self.error.state(tape);
        self.judgement.state(tape);
        self.deferred.state(tape);
    }

    fn model_based(&mut self) -> Option<&mut dyn ModelBased> {
        Some(self)
    }

    fn report(&self) -> &dyn Report {
        self
    }
}

impl ModelBased for Corrector {
    fn judge(&mut self, view: &View<'_>) {
        if self.courses.is_empty() {
            return;
        }
        self.excitation.look(view);
        let external = if view.is_fresh { &self.excitation.start } else { &self.excitation.before };
        for (last, (read, external)) in self.last_inputs.iter_mut().zip(view.read_with.iter().zip(external)) {
            *last = read + external;
        }
        self.judgement.judge(view, &self.last_inputs);
    }
}

impl Report for Corrector {
    fn quality(&self) -> &[f64] {
        self.judgement.figures()
    }

    fn channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        let mut all = channel::common(graph, false);
        all.extend(channel::matrices(graph));
        all
    }

    fn channel(&self, view: &View<'_>, index: usize) -> f64 {
        let common = channel::common_value(index, f64::from(PhaseKind::Full as u8), self.quality());
        common.unwrap_or_else(|rest| channel::matrix_value(view, rest))
    }

    fn review(&self, view: &View<'_>) -> Option<Review> {
        Some(self.notes.review(view, self.config.model, None))
    }

    fn given(&self, subsystem: &str) -> Option<&GivenModel> {
        self.config.models.get(subsystem)
    }
}
