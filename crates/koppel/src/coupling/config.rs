//! Couplings as plain data, and how they are built.

use super::anti_aliasing::AntiAliasing;
use super::auto::AutoConfig;
use super::corrector::CorrectorConfig;
use super::deferred::Against;
use super::hinf::HinfConfig;
use super::hold::{PolynomialHold, StartUp, ZeroOrderHold};
use super::mixed::Mixed;
use super::nepce::Nepce;
use super::phase::LearningKind;
use super::prestep::PrestepConfig;
use super::relaxed::RelaxedHold;
use super::vfps::{Nodes, VfpsConfig};
use super::{Coupling, Hold};
use crate::error::{Result, bad};
use crate::identify::ModelConfig;
use crate::system::SystemGraph;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A coupling and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CouplingConfig {
    /// Zero-order hold: the newest value.
    Zoh {},
    /// First-order hold: the line through the newest two values.
    Foh {
        /// How the run begins.
        #[serde(default)]
        start: StartUp,
    },
    /// Second-order hold: the parabola through the newest three values.
    Soh {
        /// How the run begins.
        #[serde(default)]
        start: StartUp,
    },
    /// Relaxed hold: w = α w + (1 - α) L y.
    Relaxed {
        /// α in [0, 1): 0 is ZOH.
        #[serde(default = "half")]
        alpha: f64,
    },
    /// Holds the mean of each output over the last step.
    AntiAliasing {
        /// 0 or 1.
        #[serde(default)]
        order: usize,
    },
    /// Nearly energy-preserving coupling element.
    Nepce {
        /// α in [0, 1].
        #[serde(default = "one")]
        gain: f64,
        /// What the correction is measured against.
        #[serde(default)]
        against: Against,
        /// Whether the mean of each output over the last step takes the place of its last value.
        #[serde(default)]
        anti_aliasing: bool,
    },
    /// Model-based corrector.
    Corrector(CorrectorConfig),
    /// Model-based pre-step method.
    Prestep(PrestepConfig),
    /// Compensators and smoothers by H∞ synthesis.
    Hinf(HinfConfig),
    /// Velocity-form pre-step with models of excited subsystems.
    Vfps(VfpsConfig),
    /// Other methods for named connections.
    Mixed {
        /// For all connections that are not named.
        #[serde(default)]
        default: Box<CouplingConfig>,
        /// By the input they end at.
        connections: BTreeMap<String, CouplingConfig>,
    },
    /// Still to be chosen, see [`crate::plan`]: no run begins with it.
    Auto(AutoConfig),
}

fn half() -> f64 {
    0.5
}

fn one() -> f64 {
    1.0
}

impl Default for CouplingConfig {
    fn default() -> Self {
        CouplingConfig::Zoh {}
    }
}

impl CouplingConfig {
    /// True if it predicts inputs from what has arrived alone, and asks nothing of the subsystems.
    pub fn only_extrapolates(&self) -> bool {
        match self {
            CouplingConfig::Zoh {}
            | CouplingConfig::Foh { .. }
            | CouplingConfig::Soh { .. }
            | CouplingConfig::Relaxed { .. }
            | CouplingConfig::AntiAliasing { .. }
            | CouplingConfig::Nepce { .. } => true,
            CouplingConfig::Mixed { default, connections } => {
                default.only_extrapolates() && connections.values().all(CouplingConfig::only_extrapolates)
            }
            CouplingConfig::Corrector(_)
            | CouplingConfig::Prestep(_)
            | CouplingConfig::Hinf(_)
            | CouplingConfig::Vfps(_)
            | CouplingConfig::Auto(_) => false,
        }
    }

    /// True if inputs may move inside a step.
    pub fn gives_slopes(&self, hold: Hold) -> bool {
        match self {
            CouplingConfig::Zoh {}
            | CouplingConfig::Relaxed { .. }
            | CouplingConfig::AntiAliasing { order: 0 }
            | CouplingConfig::Nepce { .. } => hold != Hold::Constant,
            CouplingConfig::Mixed { default, connections } => {
                default.gives_slopes(hold) || connections.values().any(|one| one.gives_slopes(hold))
            }
            _ => true,
        }
    }

    /// Every method's name, with one line about it.
    pub const METHODS: [(&str, &str); 12] = [
        ("zoh", "zero-order hold: the newest value"),
        ("foh", "first-order hold: the line through the newest two values"),
        ("soh", "second-order hold: the parabola through the newest three values"),
        ("relaxed", "relaxed hold: w = alpha w + (1 - alpha) L y"),
        ("anti-aliasing", "holds the mean of each output over the last step"),
        ("nepce", "gives back in the next step what each input lacked in the last"),
        ("corrector", "model-based corrector: nepce with the predicted outputs of an ideal coupling"),
        ("prestep", "model-based pre-step: inputs that lead each subsystem to the predicted coupled outputs"),
        ("hinf", "compensators behind sources and smoothers before receivers, by H-infinity synthesis"),
        (
            "vfps",
            "velocity-form pre-step: every subsystem is excited before the run, the coupled system predicted by what it did",
        ),
        ("mixed", "other methods for named connections"),
        ("auto", "the cheapest of the others that keeps a wanted error, chosen before the run"),
    ];

    /// What is wanted of the method to be chosen, if one is; of several wishes the strictest.
    pub fn open(&self) -> Option<AutoConfig> {
        match self {
            CouplingConfig::Auto(auto) => Some(*auto),
            CouplingConfig::Mixed { default, connections } => {
                let all = connections.values().chain([default.as_ref()]).filter_map(CouplingConfig::open);
                all.min_by(|a, b| a.error.total_cmp(&b.error))
            }
            _ => None,
        }
    }

    /// The same with a method wherever one was to be chosen.
    #[must_use]
    pub fn filled(&self, method: &CouplingConfig) -> Self {
        match self {
            CouplingConfig::Auto(_) => method.clone(),
            CouplingConfig::Mixed { default, connections } => CouplingConfig::Mixed {
                default: Box::new(default.filled(method)),
                connections: connections.iter().map(|(to, one)| (to.clone(), one.filled(method))).collect(),
            },
            other => other.clone(),
        }
    }

    /// Nodes for which subsystems are excited.
    fn nodes(&self) -> Option<Nodes> {
        match self {
            CouplingConfig::Vfps(own) => Some(own.nodes),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            CouplingConfig::Auto(_) => "auto",
            CouplingConfig::Zoh {} => "zoh",
            CouplingConfig::Foh { .. } => "foh",
            CouplingConfig::Soh { .. } => "soh",
            CouplingConfig::Relaxed { .. } => "relaxed",
            CouplingConfig::AntiAliasing { .. } => "anti-aliasing",
            CouplingConfig::Nepce { .. } => "nepce",
            CouplingConfig::Corrector(_) => "corrector",
            CouplingConfig::Prestep(_) => "prestep",
            CouplingConfig::Hinf(_) => "hinf",
            CouplingConfig::Vfps(_) => "vfps",
            CouplingConfig::Mixed { .. } => "mixed",
        }
    }
}

/// Builds the method for a system; `hold` shapes the methods that give one value per step.
pub fn build(config: &CouplingConfig, hold: Hold, graph: &SystemGraph) -> Result<Box<dyn Coupling>> {
    Ok(match config {
        CouplingConfig::Auto(auto) => {
            auto.check()?;
            let problem = "is still to be chosen: a method must take its place before the run begins";
            return Err(bad("coupling", "auto", problem));
        }
        CouplingConfig::Zoh {} => Box::new(ZeroOrderHold { hold }),
        CouplingConfig::Foh { start } => Box::new(PolynomialHold { order: 1, start: *start }),
        CouplingConfig::Soh { start } => Box::new(PolynomialHold { order: 2, start: *start }),
        CouplingConfig::Relaxed { alpha } => {
            if !(0.0..1.0).contains(alpha) {
                return Err(bad("relaxed.alpha", alpha, "must lie in [0, 1)"));
            }
            Box::new(RelaxedHold { alpha: *alpha, size: f64::INFINITY, hold })
        }
        CouplingConfig::AntiAliasing { order } => {
            if *order > 1 {
                return Err(bad("anti-aliasing.order", order, "must be 0 or 1"));
            }
            Box::new(AntiAliasing::new(*order, hold))
        }
        CouplingConfig::Nepce { gain, against, anti_aliasing } => {
            if !(0.0..=1.0).contains(gain) {
                return Err(bad("nepce.gain", gain, "must lie in [0, 1]"));
            }
            Box::new(Nepce::new(*gain, *against, *anti_aliasing, hold))
        }
        CouplingConfig::Corrector(config) => config.build(hold)?,
        CouplingConfig::Prestep(config) => config.build(hold)?,
        CouplingConfig::Hinf(config) => config.build()?,
        CouplingConfig::Vfps(config) => config.build()?,
        CouplingConfig::Mixed { default, connections } => Box::new(mixed(default, connections, hold, graph)?),
    })
}

fn mixed(
    default: &CouplingConfig,
    connections: &BTreeMap<String, CouplingConfig>,
    hold: Hold,
    graph: &SystemGraph,
) -> Result<Mixed> {
    let mut configs = vec![default];
    let mut owner = vec![0; graph.inputs()];
    for (name, config) in connections {
        let inputs = graph.find_inputs(name)?;
        if inputs.iter().any(|input| graph.is_free(*input)) {
            return Err(bad("mixed.connections", name, "is not connected"));
        }
        if matches!(config, CouplingConfig::Mixed { .. }) {
            return Err(bad("mixed.connections", name, "cannot itself be mixed"));
        }
        let number = configs.iter().position(|known| *known == config).unwrap_or_else(|| {
            configs.push(config);
            configs.len() - 1
        });
        inputs.iter().for_each(|input| owner[*input] = number);
    }
    check_together(&configs)?;
    let methods = configs.into_iter().map(|c| build(c, hold, graph)).collect::<Result<Vec<_>>>()?;
    let mut sources = methods.iter().filter_map(|method| Some(method.needs().models?.source));
    if let Some(first) = sources.next()
        && sources.any(|other| other != first)
    {
        let problem = "takes its models from elsewhere than the others; one run has one kind of model";
        return Err(bad("mixed.connections", "model", problem));
    }
    let mut pieces = methods.iter().map(|method| method.needs().pieces).filter(|pieces| *pieces > 1);
    if let Some(first) = pieces.next()
        && let Some(other) = pieces.find(|other| *other != first)
    {
        let problem =
            format!("cuts steps into other pieces than the others, which have {first}; use the same");
        return Err(bad("mixed.connections", other, &problem));
    }
    Ok(Mixed::new(methods, owner))
}

/// Refuses methods that would take turns with what there is only once in a run: steps, models and their constants.
fn check_together(configs: &[&CouplingConfig]) -> Result<()> {
    let presteps = configs.iter().filter_map(|config| match config {
        CouplingConfig::Prestep(own) => Some(own),
        _ => None,
    });
    let nodes: Vec<Nodes> = configs.iter().filter_map(|config| config.nodes()).collect();
    if nodes.iter().any(|one| *one != nodes[0] || (nodes.len() > 1 && *one == Nodes::Auto)) {
        let problem = "must be the same number for all methods: subsystems are excited for one only";
        return Err(bad("mixed.connections", "nodes", problem));
    }
    let known = presteps.clone().filter(|own| own.model.identify().is_none());
    if differ(known.map(|own| own.constant)) {
        let problem =
            "differs between methods, but the models of one run have one constant each; use the same";
        return Err(bad("mixed.connections", "constant", problem));
    }
    let learning = configs.iter().filter_map(|config| match config {
        CouplingConfig::Prestep(own) if own.model.identify().is_some() => Some(own.learning),
        CouplingConfig::Corrector(own) if own.model.identify().is_some() => Some(own.learning),
        _ => None,
    });
    let small_steps = learning.map(|learning| {
        let learning = learning.unwrap_or_default();
        (learning.kind == LearningKind::SmallStep).then_some((learning.duration, learning.parts))
    });
    if differ(small_steps) {
        let problem = "cuts steps differently between methods, but one run has one step; use the same `kind`, `duration` and `parts`";
        return Err(bad("mixed.connections", "learning", problem));
    }
    let learners = configs.iter().filter_map(|config| match config {
        CouplingConfig::Prestep(own) => own.model.identify().map(|identify| (identify, &own.learned)),
        CouplingConfig::Corrector(own) => own.model.identify().map(|identify| (identify, &own.learned)),
        _ => None,
    });
    if differ(learners) {
        let problem = "is learned differently between methods, or from other beginnings, but one run learns one model of each subsystem; use the same `model`";
        return Err(bad("mixed.connections", "model", problem));
    }
    let given = configs.iter().filter_map(|config| match config {
        CouplingConfig::Prestep(own) if own.model == ModelConfig::Given => Some(&own.models),
        CouplingConfig::Corrector(own) if own.model == ModelConfig::Given => Some(&own.models),
        _ => None,
    });
    if differ(given) {
        let problem = "differ between methods, but one run has one model of each subsystem; give the same";
        return Err(bad("mixed.connections", "models", problem));
    }
    Ok(())
}

fn differ<T: PartialEq>(mut all: impl Iterator<Item = T>) -> bool {
    all.next().is_some_and(|first| all.any(|other| other != first))
}
