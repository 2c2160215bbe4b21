//! The model-based corrector: NEPCE with the outputs of an ideal coupling in place of those seen.
//!
//!   u^k = L ỹ^k + α (1/H) ∫_{T^{k-1}}^{T^k} (L ỹ - u_ex) dt,     ỹ = y + δ
//!
//! δ comes from the error equation, so that the energy of the ideally coupled signal is preserved. Haid et al. 2018 as
//! described in Genser 2020, 3.3 and 3.4. Where a source has moved already (Gauss-Seidel), its value counts as it is.

mod identified;

pub(super) use identified::IdentifiedCorrector;

use super::deferred::{Against, Deferred};
use super::model_based::{
    ClosedLoop, ErrorEquation, ErrorEquationConfig, ErrorSettings, OdeMethod, check_models, distance,
};
use super::phase::LearningConfig;
use super::review::{Notes, Review};
use super::{Coupling, Hold, ModelNeeds, Needs, Polynomials, View, channel, terms_of, write_value};
use crate::error::{Error, Result};
use crate::identify::{GivenModel, Learned, ModelConfig};
use crate::record::Channel;
use crate::signal::Samples;
use crate::system::{InputId, SubsystemId, SystemGraph};
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

/// The method.
pub(super) struct Corrector {
    config: CorrectorConfig,
    hold: Hold,
    closed: ClosedLoop,
    fits: Option<(u64, u64)>,
    error: ErrorEquation,
    deferred: Deferred,
    /// δ at the communication point.
    delta: Vec<f64>,
    epsilon: Vec<f64>,
    scratch: Vec<f64>,
    size: f64,
}

impl CorrectorConfig {
    /// The method, on models that are known or learned.
    pub(super) fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        self.check()?;
        Ok(match self.model.identify() {
            Some(identify) => Box::new(IdentifiedCorrector::new(self, identify, hold)?),
            None => Box::new(Corrector::new(self, hold)),
        })
    }

    /// Refuses settings that make no sense.
    fn check(&self) -> Result<()> {
        let refuse = |what: &str, value: String, problem: &str| -> Result<()> {
            Err(Error::Setting { what: what.into(), value, problem: problem.into() }.into())
        };
        if self.error_equation == ErrorEquationConfig::Off {
            let problem = "leaves nothing of the corrector; use `nepce`, or \"carried\" or \"reset\" here";
            return refuse("corrector.error_equation", "off".into(), problem);
        }
        let is_learned = self.model.identify().is_some();
        if !is_learned && (self.learning.is_some() || !self.learned.is_empty()) {
            let what = if self.learning.is_some() { "learning" } else { "learned" };
            let problem = "goes with a model that is learned: model = { identify = \"rls\" }";
            return refuse("corrector", what.into(), problem);
        }
        if self.error_steps == 0 {
            return refuse("corrector.error_steps", "0".into(), "must be at least 1");
        }
        if !(0.0..=1.0).contains(&self.gain) {
            return refuse("corrector.gain", self.gain.to_string(), "must lie in [0, 1]");
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
            samples: settings(&self.config).request(),
            models: Some(ModelNeeds { source: self.config.model, is_pinned: false }),
            one_rate: true,
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
        self.size = view.step.size;
        self.fits = None;
        self.fit(view)
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.fit(view)?;
        let Corrector { closed, error, deferred, delta, epsilon, scratch, .. } = self;
        for (input, epsilon) in epsilon.iter_mut().enumerate() {
            *epsilon = view.arrival(input) - view.read_with[input];
        }
        distance(closed, &error.zeta, epsilon, scratch, delta);
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
        }
        Ok(())
    }

    fn jumped(&mut self, view: &View<'_>, subsystem: SubsystemId) {
        self.deferred.jump(view, subsystem);
    }

    fn channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        channel::matrices(graph)
    }

    fn channel(&self, view: &View<'_>, index: usize) -> f64 {
        channel::matrix_value(view, index)
    }

    /// The error equation needs no constants, so these models predict no outputs: there is no quality to tell of.
    fn review(&self, view: &View<'_>) -> Option<Review> {
        Some(Notes::new(view.graph.len()).review(view, self.config.model, None))
    }

    fn given(&self, subsystem: &str) -> Option<&GivenModel> {
        self.config.models.get(subsystem)
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.push(self.size);
        self.error.save(memory);
        self.deferred.save(memory);
    }

    fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.size = memory[0];
        let rest = self.error.restore(&memory[1..]);
        self.deferred.restore(rest)
    }
}
