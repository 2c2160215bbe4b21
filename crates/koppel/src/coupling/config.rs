//! Couplings as plain data, and how they are built.

use super::auto::AutoConfig;
use super::hold::ZohConfig;
use super::method::{LIST, Method, ModelSettings};
use super::mixed::Mixed;
use super::phase::LearningKind;
use super::vfps::Nodes;
use super::{Coupling, Hold};
use crate::error::{Result, bad};
use crate::identify::ModelConfig;
use crate::system::SystemGraph;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A coupling and its settings.
///
/// ```
/// # use koppel::coupling::{CouplingConfig, PrestepConfig};
/// let coupling = CouplingConfig::from(PrestepConfig { modified: true, ..PrestepConfig::default() });
/// assert_eq!(coupling.name(), "prestep");
/// assert!(coupling.settings::<PrestepConfig>().unwrap().modified);
/// ```
#[derive(Clone)]
pub enum CouplingConfig {
    /// One method for all connections.
    Method(Arc<dyn Method>),
    /// Other methods for named connections.
    Mixed {
        /// For all connections that are not named.
        default: Box<CouplingConfig>,
        /// By the input they end at.
        connections: BTreeMap<String, CouplingConfig>,
    },
    /// Still to be chosen, see [`crate::plan`]: no run begins with it.
    Auto(AutoConfig),
}

/// Other settings for a method, if there are some.
type Change<'a, E> = dyn Fn(&dyn Method) -> std::result::Result<Option<CouplingConfig>, E> + 'a;

impl<M: Method> From<M> for CouplingConfig {
    fn from(settings: M) -> Self {
        CouplingConfig::Method(Arc::new(settings))
    }
}

impl Default for CouplingConfig {
    fn default() -> Self {
        ZohConfig {}.into()
    }
}

impl fmt::Debug for CouplingConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CouplingConfig::Method(own) => own.fmt(f),
            CouplingConfig::Mixed { default, connections } => {
                f.debug_struct("Mixed").field("default", default).field("connections", connections).finish()
            }
            CouplingConfig::Auto(auto) => auto.fmt(f),
        }
    }
}

impl PartialEq for CouplingConfig {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (CouplingConfig::Method(one), CouplingConfig::Method(other)) => {
                let other: &dyn Any = &**other;
                one.is_equal(other)
            }
            (
                CouplingConfig::Mixed { default, connections },
                CouplingConfig::Mixed { default: other, connections: others },
            ) => default == other && connections == others,
            (CouplingConfig::Auto(one), CouplingConfig::Auto(other)) => one == other,
            (
                CouplingConfig::Method(_) | CouplingConfig::Mixed { .. } | CouplingConfig::Auto(_),
                CouplingConfig::Method(_) | CouplingConfig::Mixed { .. } | CouplingConfig::Auto(_),
            ) => false,
        }
    }
}

impl CouplingConfig {
    /// Every name that koppel itself knows, with one line about it; [`methods`](super::methods) has those that were added, too.
    pub const METHODS: [(&'static str, &'static str); LIST.len() + 2] = {
        let mut all = [("", ""); LIST.len() + 2];
        let mut at = 0;
        while at < LIST.len() {
            all[at] = (LIST[at].name, LIST[at].line);
            at += 1;
        }
        all[at] = ("mixed", "other methods for named connections");
        all[at + 1] =
            ("auto", "the cheapest of the others that meets an error target, chosen before the run");
        all
    };

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            CouplingConfig::Method(own) => own.info().name,
            CouplingConfig::Mixed { .. } => "mixed",
            CouplingConfig::Auto(_) => "auto",
        }
    }

    /// The settings, if they are those of this method.
    pub fn settings<M: Method>(&self) -> Option<&M> {
        let CouplingConfig::Method(own) = self else { return None };
        let own: &dyn Any = &**own;
        own.downcast_ref()
    }

    /// The methods it consists of: itself, or the default and those of single connections. None where one is still to be chosen.
    pub fn parts(&self) -> Vec<&dyn Method> {
        match self {
            CouplingConfig::Method(own) => vec![&**own],
            CouplingConfig::Mixed { default, connections } => {
                connections.values().chain([&**default]).flat_map(CouplingConfig::parts).collect()
            }
            CouplingConfig::Auto(_) => Vec::new(),
        }
    }

    /// True if it predicts inputs from what has arrived alone, and asks nothing of the subsystems.
    pub fn only_extrapolates(&self) -> bool {
        self.open().is_none() && self.parts().iter().all(|one| one.info().only_extrapolates)
    }

    /// The order that its error has at least, 1 or 2, as far as that is known for any system.
    pub fn least_order(&self) -> u32 {
        let is_second =
            |one: &&dyn Method| one.info().only_extrapolates && !one.info().order.starts_with('1');
        if self.open().is_none() && self.parts().iter().all(is_second) { 2 } else { 1 }
    }

    /// True if its inputs interpolate between communication points where their sources have moved already.
    pub fn interpolates(&self) -> bool {
        self.open().is_none() && self.parts().iter().all(|one| one.info().interpolates.is_some())
    }

    /// True if it excites subsystems before the run.
    pub fn excites(&self) -> bool {
        self.parts().iter().any(|one| one.info().excites())
    }

    /// True if inputs may move inside a step.
    pub fn gives_slopes(&self, hold: Hold) -> bool {
        self.open().is_some() || self.parts().iter().any(|one| one.gives_slopes(hold))
    }

    /// True if a method of it gives one value per step, whose shape `hold` tells, or may do so once it is chosen.
    pub fn takes_hold(&self) -> bool {
        self.open().is_some() || self.parts().iter().any(|one| one.takes_hold())
    }

    /// In a few words: `zoh`; of a mixed one all its methods, each once: `prestep + zoh`.
    pub fn words(&self) -> String {
        let CouplingConfig::Mixed { default, connections } = self else {
            let CouplingConfig::Method(own) = self else { return self.name().into() };
            return own.words();
        };
        let mut names = vec![default.words()];
        for name in connections.values().map(CouplingConfig::words) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(" + ")
    }

    /// The same without exciting this subsystem before the run.
    #[must_use]
    pub fn sparing(&self, subsystem: &str) -> Self {
        self.changed(&|own| Ok::<_, std::convert::Infallible>(own.sparing(subsystem)))
            .unwrap_or_else(|no| match no {})
    }

    /// The same without what makes a step non-linear but does not belong to it, see [`Method::linear`].
    ///
    /// # Errors
    ///
    /// Why a step is not linear, whatever the settings.
    pub fn linear(&self) -> std::result::Result<Self, String> {
        self.changed(&Method::linear)
    }

    /// The same with other settings for those methods for which there are some.
    fn changed<E>(&self, change: &Change<'_, E>) -> std::result::Result<Self, E> {
        Ok(match self {
            CouplingConfig::Method(own) => change(&**own)?.unwrap_or_else(|| self.clone()),
            CouplingConfig::Mixed { default, connections } => CouplingConfig::Mixed {
                default: Box::new(default.changed(change)?),
                connections: connections
                    .iter()
                    .map(|(input, one)| Ok((input.clone(), one.changed(change)?)))
                    .collect::<std::result::Result<_, E>>()?,
            },
            CouplingConfig::Auto(auto) => CouplingConfig::Auto(*auto),
        })
    }

    /// What is wanted of the method to be chosen, if one is; of several wishes the strictest.
    pub fn open(&self) -> Option<AutoConfig> {
        match self {
            CouplingConfig::Auto(auto) => Some(*auto),
            CouplingConfig::Mixed { default, connections } => {
                let all = connections.values().chain([default.as_ref()]).filter_map(CouplingConfig::open);
                all.min_by(|a, b| a.error.total_cmp(&b.error))
            }
            CouplingConfig::Method(_) => None,
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
            CouplingConfig::Method(_) => self.clone(),
        }
    }
}

/// Builds the method for a system; `hold` shapes the methods that give one value per step.
pub fn build(config: &CouplingConfig, hold: Hold, graph: &SystemGraph) -> Result<Box<dyn Coupling>> {
    match config {
        CouplingConfig::Method(own) => own.build(hold),
        CouplingConfig::Mixed { default, connections } => {
            Ok(Box::new(mixed(default, connections, hold, graph)?))
        }
        CouplingConfig::Auto(auto) => {
            auto.check()?;
            let problem = "is still to be chosen: a method must take its place before the run begins";
            Err(bad("coupling", "auto", problem))
        }
    }
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
        let problem = "has another source of models than the others; a run has one kind of model";
        return Err(bad("mixed.connections", "model", problem));
    }
    let mut pieces = methods.iter().map(|method| method.needs().pieces).filter(|pieces| *pieces > 1);
    if let Some(first) = pieces.next()
        && let Some(other) = pieces.find(|other| *other != first)
    {
        let problem = format!(
            "splits steps into another number of pieces than the others, which have {first}; use the same"
        );
        return Err(bad("mixed.connections", other, &problem));
    }
    Ok(Mixed::new(methods, owner))
}

/// Refuses methods that would take turns with what there is only once in a run: steps, models and their constants.
fn check_together(configs: &[&CouplingConfig]) -> Result<()> {
    let parts: Vec<&dyn Method> = configs.iter().flat_map(|config| config.parts()).collect();
    let nodes: Vec<Nodes> = parts.iter().filter_map(|part| part.nodes()).collect();
    if nodes.iter().any(|one| *one != nodes[0] || (nodes.len() > 1 && *one == Nodes::Auto)) {
        let problem = "must be the same number for all methods: subsystems are probed for one only";
        return Err(bad("mixed.connections", "nodes", problem));
    }
    let models: Vec<ModelSettings<'_>> = parts.iter().filter_map(|part| part.models()).collect();
    let known = models.iter().filter(|own| own.model.identify().is_none());
    if differ(known.filter_map(|own| own.constant)) {
        let problem =
            "differs between methods, but the models of one run have one constant each; use the same";
        return Err(bad("mixed.connections", "constant", problem));
    }
    let learning = models.iter().filter(|own| own.model.identify().is_some()).map(|own| own.learning);
    let small_steps = learning.map(|learning| {
        let learning = learning.unwrap_or_default();
        (learning.kind == LearningKind::SmallStep).then_some((learning.duration, learning.parts))
    });
    if differ(small_steps) {
        let problem = "splits steps differently between methods, but a run has one step; use the same `kind`, `duration` and `parts`";
        return Err(bad("mixed.connections", "learning", problem));
    }
    if differ(models.iter().filter_map(|own| Some((own.model.identify()?, own.learned)))) {
        let problem = "differs between methods, or starts from other models, but a run learns one model of each subsystem; use the same `model`";
        return Err(bad("mixed.connections", "model", problem));
    }
    if differ(models.iter().filter(|own| own.model == ModelConfig::Given).map(|own| own.models)) {
        let problem = "differ between methods, but one run has one model of each subsystem; give the same";
        return Err(bad("mixed.connections", "models", problem));
    }
    Ok(())
}

fn differ<T: PartialEq>(mut all: impl Iterator<Item = T>) -> bool {
    all.next().is_some_and(|first| all.any(|other| other != first))
}
