//! How inputs are predicted over the coming step: a file or a folder for each family of methods.
//!
//! A coupling sees numbers, never a subsystem. It writes the inputs of a subsystem just before that subsystem advances, so
//! Gauss-Seidel needs no code here: if a source has already advanced, its newest arrival lies at the end of the step, and the same
//! polynomial interpolates.
//!
//! | file                     | what                                                                                            |
//! | ------------------------ | ----------------------------------------------------------------------------------------------- |
//! | `hold.rs`                | zero-, first- and second-order hold                                                             |
//! | `relaxed.rs`             | relaxed hold                                                                                    |
//! | `anti_aliasing.rs`       | the mean of the finished step, held or extended                                                 |
//! | `nepce.rs`               | NEPCE; `deferred.rs`, the deferred correction it shares with the corrector                      |
//! | `prestep.rs`, `prestep/` | the model-based pre-step method; its settings, and learned models                               |
//! | `corrector.rs`           | the model-based corrector                                                                       |
//! | `hinf.rs`, `hinf/`       | compensators and smoothers from H-infinity synthesis (`crate::hinf`)                            |
//! | `vfps.rs`, `vfps/`       | the velocity-form pre-step for black boxes                                                      |
//! | `model_based/`           | what methods with models share: the closed loop of the models, the error equation               |
//! | `learned_models.rs`      | models learned during the run; `phase.rs`, when they are trusted                                |
//! | `mixed.rs`               | several methods in one run; `auto.rs`, a method that is still to be chosen                      |
//! | `method.rs`              | **the list of methods**, `MethodInfo` and the trait `Method`; `harmonic.rs`, methods as filters |
//! | `config.rs`              | [`CouplingConfig`], a method and its settings as plain data                                     |
//! | `content.rs`, `table.rs` | settings as they are read and written; `content_error.rs`, mistakes in them                     |
//! | `predicted.rs`           | the inputs of a step as polynomials                                                             |
//! | `report.rs`              | what a method tells of itself; `review.rs`, of its models; `channel.rs`, as columns             |

mod anti_aliasing;
mod auto;
mod channel;
mod config;
mod content;
mod content_error;
mod corrector;
mod deferred;
mod harmonic;
mod hinf;
mod hold;
mod learned_models;
mod method;
mod mixed;
mod model_based;
mod nepce;
mod phase;
mod predicted;
mod prestep;
mod relaxed;
mod report;
mod review;
mod table;
mod vfps;

pub use anti_aliasing::AntiAliasingConfig;
pub use auto::{AutoConfig, Save};
pub use config::{CouplingConfig, build};
pub use content::Content;
pub use content_error::{ContentError, Found};
pub use corrector::CorrectorConfig;
pub use deferred::Against;
pub use harmonic::Harmonic;
pub use hinf::HinfConfig;
pub use hold::{FohConfig, SohConfig, StartUp, ZohConfig};
pub use method::{
    Method, MethodInfo, ModelSettings, Preparation, Search, SettingInfo, Settings, add_method, method,
    methods,
};
pub use model_based::ErrorEquationConfig;
pub use nepce::NepceConfig;
pub use phase::{LearningConfig, LearningKind, PhaseKind, SignalBased};
pub use predicted::{Polynomials, PredictedInputs};
pub use prestep::{ConstantConfig, PrestepConfig, Shape, Weights};
pub use relaxed::RelaxedConfig;
pub use report::Report;
pub use review::{ModelReview, Review};
pub use vfps::{Nodes, VfpsConfig};

use crate::error::Result;
use crate::identify::{ModelConfig, Models, ProbeNeeds, Probed};
use crate::signal::{History, Request, Samples, Step};
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;
use report::Silent;
use serde::{Deserialize, Serialize};

/// The shape of an input that a method gives as one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// The value, over the whole step.
    #[default]
    Constant,
    /// A line from the value at the end of the last step to the new one: no jumps, one step late.
    Continuous,
}

/// What a coupling sees of the network.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The step ahead.
    pub step: Step,
    /// The wiring.
    pub graph: &'a SystemGraph,
    /// What has arrived, with times.
    pub history: &'a History,
    /// What each input was given at the end of its last step, without external signals.
    pub applied: &'a [f64],
    /// Newest outputs.
    pub outputs: &'a [f64],
    /// What each output was last read with, without external signals: u⁻.
    pub read_with: &'a [f64],
    /// True if outputs are read with the inputs of their own instant.
    pub is_fresh: bool,
    /// Polynomials of the step that has ended, as given. Empty while inputs are being written.
    pub predicted: &'a PredictedInputs,
    /// Models of the subsystems.
    pub models: &'a Models,
    /// In which stage of a macro step each subsystem advances.
    pub stages: &'a [usize],
    /// Which subsystems have outputs that jumped at the start of the step, by a timed change. Their history has been restarted.
    pub has_jumped: &'a [bool],
}

impl View<'_> {
    /// The newest value that arrived at an input, offset included.
    #[inline]
    pub fn arrival(&self, input: InputId) -> f64 {
        self.history.arrivals()[input]
    }

    /// What an input was given `tau` after the start of the step that has ended.
    #[inline]
    pub fn given(&self, input: InputId, tau: f64) -> f64 {
        self.predicted.value(input, tau)
    }

    /// The subsystems whose outputs have jumped at the start of the step.
    pub fn jumped(&self) -> impl Iterator<Item = SubsystemId> + use<'_> {
        (0..self.has_jumped.len()).filter(|id| self.has_jumped[*id])
    }
}

/// What a method needs the engine to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Needs {
    /// Arrivals per wire.
    pub depth: usize,
    /// Coefficients it writes per input and piece.
    pub terms: usize,
    /// Equal parts of the step for which it writes a polynomial each; 0 and 1 mean one polynomial for the whole step.
    pub pieces: usize,
    /// What it does in a step.
    pub work: Work,
    /// Which intermediate outputs [`Coupling::observe`] shows; it is called only if this asks for some.
    pub samples: Option<Request>,
    /// Which steps it can predict.
    pub steps: StepNeeds,
    /// Whether the run begins with a cascade of small steps instead of an assumed constant past.
    pub reduced_start: bool,
    /// For how long from the start, in s, each step is cut into how many parts.
    pub small_steps: Option<(f64, u32)>,
    /// Models of the subsystems.
    pub models: Option<ModelNeeds>,
    /// Whether every subsystem is excited alone before the run.
    pub probe: Option<ProbeNeeds>,
    /// Whether it is asked after every step if that should be repeated.
    pub repeats: bool,
}

impl Needs {
    /// The intermediate outputs that subsystems give.
    pub(crate) fn request(&self) -> Request {
        self.samples.unwrap_or_default()
    }
}

/// What a method does in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// [`Coupling::prepare`], then [`Coupling::input`].
    #[default]
    Prepare,
    /// [`Coupling::input`] alone: there is nothing to prepare.
    Input,
    /// It gives every input its newest arrival over the whole step; the engine may do so itself.
    Hold,
}

/// Which steps a method can predict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepNeeds {
    /// Any, of subsystems at different rates too.
    #[default]
    Any,
    /// Those in which all subsystems advance.
    OneRate,
    /// Those in which all subsystems advance, all of one size; and why.
    OneSize(&'static str),
}

impl StepNeeds {
    /// What two methods together need; of two reasons the first.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (StepNeeds::OneSize(_), _) | (_, StepNeeds::Any) => self,
            (_, StepNeeds::OneSize(_)) | (StepNeeds::Any, _) => other,
            (StepNeeds::OneRate, StepNeeds::OneRate) => self,
        }
    }
}

/// How a trial of a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// All subsystems have advanced.
    Completed,
    /// A subsystem has failed.
    Failed,
}

/// The remark that a method that would repeat steps does not do so.
pub(crate) fn not_repeated(lack: &str) -> String {
    format!("steps with a large prediction error are not repeated: {lack}")
}

/// Which models a method needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelNeeds {
    /// Where they come from.
    pub source: ModelConfig,
    /// Whether c is set at every communication point, so that the model is right there.
    pub is_pinned: bool,
}

/// A way to predict inputs. Only `needs` and `input` are required.
pub trait Coupling: Send + Sync {
    /// What it needs.
    fn needs(&self) -> Needs;

    /// Once before the run, after the consistent start; `inputs` are the ones it fills, in ascending order.
    fn start(&mut self, _view: &View<'_>, _inputs: &[InputId]) -> Result<()> {
        Ok(())
    }

    /// Global work at T^k; no subsystem has advanced.
    fn prepare(&mut self, _view: &View<'_>) -> Result<()> {
        Ok(())
    }

    /// Writes all coefficients of these inputs, in ascending order, of subsystems that are about to advance. A method that asks
    /// for several [`Needs::pieces`] writes them all, another one [`Polynomials::of`] each input only.
    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()>;

    /// Shows the intermediate outputs of a subsystem that has advanced; called if [`Needs::samples`] asks for them.
    fn observe(&mut self, _view: &View<'_>, _subsystem: SubsystemId, _samples: &Samples) -> Result<()> {
        Ok(())
    }

    /// Shows `tape` everything the next step depends on.
    fn state(&mut self, _tape: &mut Tape<'_>) {}

    /// What only methods with models of the subsystems do.
    fn model_based(&mut self) -> Option<&mut dyn ModelBased> {
        None
    }

    /// What the method can tell of itself and of its models.
    fn report(&self) -> &dyn Report {
        &Silent
    }
}

/// What only methods with models of the subsystems do.
pub trait ModelBased {
    /// Takes the results of probing, before `start` of a run of `steps` steps; called if [`Needs::probe`] asks for it. Returns the
    /// ranges of all outputs with which the subsystems are to be probed again, if they are.
    fn probed(&mut self, _view: &View<'_>, _probed: Vec<Probed>, _steps: u64) -> Option<Vec<f64>> {
        None
    }

    /// Judges the models by the step that has ended. Called before models are updated and before [`Coupling::prepare`], if the
    /// method has models.
    fn judge(&mut self, _view: &View<'_>) {}

    /// Whether all subsystems roll back and the step is repeated with new inputs. Called after every trial of a step if
    /// [`Needs::repeats`] asks for it and every subsystem can roll back.
    fn must_repeat(&mut self, _view: &View<'_>, _result: StepResult) -> bool {
        false
    }
}

/// Writes one value as the method's `hold` says, with as many coefficients as [`terms_of`] tells.
#[inline]
pub fn write_value(hold: Hold, view: &View<'_>, input: InputId, value: f64, out: &mut [f64]) {
    if hold == Hold::Constant {
        write(out, [value]);
    } else {
        let before = view.applied[input];
        write(out, [before, (value - before) / view.step.size]);
    }
}

/// Writes the first coefficients and zeros for the rest.
#[inline]
fn write<const N: usize>(out: &mut [f64], coefficients: [f64; N]) {
    let (first, rest) = out.split_at_mut(N);
    first.copy_from_slice(&coefficients);
    for c in rest {
        *c = 0.0;
    }
}

/// Coefficients that [`write_value`] needs.
pub fn terms_of(hold: Hold) -> usize {
    match hold {
        Hold::Constant => 1,
        Hold::Continuous => 2,
    }
}
