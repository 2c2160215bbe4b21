//! The model-based corrector: NEPCE with the outputs of an ideal coupling in place of those seen.
//!
//!   u^k = L ỹ^k + α (1/H) ∫_{T^{k-1}}^{T^k} (L ỹ - u_ex) dt,     ỹ = y + δ
//!
//! δ comes from the error equation, so that the energy of the ideally coupled signal is preserved. Haid et al. 2018 as
//! described in Genser 2020, 3.3 and 3.4. Where a source has moved already (Gauss-Seidel), its value counts as it is.

mod learned;

use super::deferred::{Against, Deferred};
use super::method::{GAINS, Method, MethodInfo, ModelSettings, SettingInfo, gain_at};
use super::model_based::{ErrorEquationConfig, ErrorSettings, KnownModels, distance};
use super::phase::{LearningConfig, PhaseKind};
use super::review::Review;
use super::{
    Coupling, CouplingConfig, Hold, ModelBased, ModelNeeds, Needs, Polynomials, Report, StepNeeds, View,
    terms_of, write_value,
};
use crate::error::{Result, bad};
use crate::identify::{GivenModel, Learned, ModelConfig};
use crate::record::Channel;
use crate::signal::Samples;
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;
use learned::LearnedCorrector;
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
        SettingInfo::new("model", "source of the models", "\"exact\""),
        SettingInfo::new("error_equation", "`carried` from step to step, or `reset`", "\"carried\""),
        SettingInfo::new("intermediate", "whether the error equation uses intermediate values", "true"),
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
    is_dense: true,
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
            Some(identify) => Box::new(LearnedCorrector::new(self, identify, hold)?),
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
    known: KnownModels,
    deferred: Deferred,
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

    fn error_settings(&self) -> ErrorSettings {
        ErrorSettings { kind: self.error_equation, steps: self.error_steps, intermediate: self.intermediate }
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
            known: KnownModels::new(config.model, config.error_settings()),
            deferred: Deferred::new(config.against, config.gain),
            config: config.clone(),
            hold,
            delta: Vec::new(),
            epsilon: Vec::new(),
            scratch: Vec::new(),
            size: 0.0,
        }
    }
}

impl Coupling for Corrector {
    fn needs(&self) -> Needs {
        Needs {
            depth: 1,
            terms: terms_of(self.hold),
            samples: Some(self.config.error_settings().request()),
            models: Some(ModelNeeds { source: self.config.model, is_pinned: self.config.is_judged() }),
            steps: StepNeeds::OneRate,
            ..Needs::default()
        }
    }

    fn start(&mut self, view: &View<'_>, inputs: &[InputId]) -> Result<()> {
        self.known.start(view, inputs, self.config.is_judged())?;
        self.deferred.start(view)?;
        self.delta = vec![0.0; view.graph.outputs()];
        self.scratch = self.delta.clone();
        self.epsilon = vec![0.0; view.graph.inputs()];
        self.size = view.step.size;
        self.known.fit(view)?;
        Ok(())
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.known.fit(view)?;
        self.known.note(view, PhaseKind::Full);
        self.known.expect(view);
        let Corrector { known, deferred, delta, epsilon, scratch, .. } = self;
        let KnownModels { closed, error, .. } = &*known;
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

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.deferred.note(view, subsystem, samples);
        self.known.observe(view, subsystem, samples);
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        tape.number(&mut self.size);
        self.known.state(tape);
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
        self.known.judge(view);
    }
}

impl Report for Corrector {
    fn quality(&self) -> &[f64] {
        self.known.quality()
    }

    fn channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        KnownModels::channels(graph, false)
    }

    fn channel(&self, view: &View<'_>, index: usize) -> f64 {
        self.known.channel(view, index, PhaseKind::Full)
    }

    fn review(&self, view: &View<'_>) -> Option<Review> {
        Some(self.known.review(view, None))
    }

    fn given(&self, subsystem: &str) -> Option<&GivenModel> {
        self.config.models.get(subsystem)
    }
}
