//! What the rest of koppel knows of a method: one [`MethodInfo`] in the method's own file, one line in [`LIST`].
//!
//! Help, the tables of the documentation, `check`, `auto`, `tune`, the view over frequency, schedules, warnings and messages ask the
//! list and no other place. What is the same for all settings of a method stands in [`MethodInfo`]; what depends on them is asked of the
//! settings themselves by [`Method`]. A program may add methods of its own to the list before it reads settings ([`add_method`]).

use super::content::Content;
use super::content_error::ContentError;
use super::harmonic::Harmonic;
use super::phase::LearningConfig;
use super::prestep::ConstantConfig;
use super::vfps::Nodes;
use super::{Coupling, CouplingConfig, Hold};
use crate::error::{Error, Result};
use crate::identify::{GivenModel, Learned, ModelConfig};
use crate::linalg::Complex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{PoisonError, RwLock};

/// Every method of koppel, the simplest first.
pub(super) const LIST: &[&MethodInfo] = &[
    &super::hold::ZOH,
    &super::hold::FOH,
    &super::hold::SOH,
    &super::relaxed::RELAXED,
    &super::anti_aliasing::ANTI_ALIASING,
    &super::nepce::NEPCE,
    &super::corrector::CORRECTOR,
    &super::prestep::PRESTEP,
    &super::hinf::HINF,
    &super::vfps::VFPS,
];

static ADDED: RwLock<Added> = RwLock::new(Added { methods: Vec::new(), names: None });

/// What a program has added.
struct Added {
    methods: Vec<&'static MethodInfo>,
    /// Every name, once something was added.
    names: Option<&'static [&'static str]>,
}

/// Names that are no methods but may stand in their place.
const RESERVED: [&str; 2] = ["mixed", "auto"];

/// Every name that may stand for a coupling when nothing was added.
static NAMES: [&str; CouplingConfig::METHODS.len()] = {
    let mut all = [""; CouplingConfig::METHODS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = CouplingConfig::METHODS[at].0;
        at += 1;
    }
    all
};

/// Every name that may stand for a coupling, as serde wants them.
pub(super) fn names() -> &'static [&'static str] {
    ADDED.read().unwrap_or_else(PoisonError::into_inner).names.unwrap_or(&NAMES)
}

/// Every method: those of koppel, then those that were added.
pub fn methods() -> Vec<&'static MethodInfo> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    LIST.iter().chain(&added.methods).copied().collect()
}

/// The method of this name.
pub fn method(name: &str) -> Option<&'static MethodInfo> {
    methods().into_iter().find(|info| info.name == name)
}

/// Adds a method to the list, for all runs of this process.
///
/// # Errors
///
/// If there is a method of that name already.
pub fn add_method(info: &'static MethodInfo) -> Result<()> {
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    let known = LIST.iter().chain(&added.methods).map(|known| known.name);
    if known.chain(RESERVED).any(|known| known == info.name) {
        return Err(Error::Duplicate { kind: "coupling method", name: info.name.into() }.into());
    }
    added.methods.push(info);
    let names: Vec<&str> =
        LIST.iter().chain(&added.methods).map(|known| known.name).chain(RESERVED).collect();
    // serde refers to names for as long as the process lives, and so long they are known.
    added.names = Some(names.leak());
    Ok(())
}

/// A method, whatever its settings.
#[derive(Clone, Copy, Debug)]
pub struct MethodInfo {
    /// The name in settings.
    pub name: &'static str,
    /// One line about it.
    pub line: &'static str,
    /// The page of the documentation that describes it, beside `docs/couplings.md`.
    pub page: Option<&'static str>,
    /// All its settings.
    pub settings: &'static [SettingInfo],
    /// The order of its error in the step, in words.
    pub order: &'static str,
    /// True if it predicts inputs from what has arrived alone, and asks nothing of the subsystems.
    pub only_extrapolates: bool,
    /// Whether its polynomials go through what has arrived, so that they interpolate where a source has moved already: the form of the
    /// inputs. These are the holds that `auto` tries under every schedule and that step iteration takes.
    pub interpolates: Option<&'static str>,
    /// Whether its step may change during a run: nothing if not, else under which condition, which may be empty.
    pub changes_step: Option<&'static str>,
    /// What it does before the run.
    pub preparation: Preparation,
    /// True if its work per step grows with the square of the number of connections.
    pub is_dense: bool,
    /// Where `auto` tries it: in growing order.
    pub rank: u32,
    /// The settings with which `auto` tries it; `check` compares the run with the first of them.
    pub candidates: fn() -> Vec<CouplingConfig>,
    /// Its usual settings.
    pub usual: fn() -> CouplingConfig,
    /// Reads its settings, without `method`.
    pub read: fn(Content) -> std::result::Result<CouplingConfig, ContentError>,
}

/// One setting of a method.
#[derive(Clone, Copy, Debug)]
pub struct SettingInfo {
    /// The name in the method's table.
    pub name: &'static str,
    /// One line about it.
    pub line: &'static str,
    /// Its usual value as it is written; empty if it is none.
    pub default: &'static str,
    /// Values that `tune` tries, if it does; at most one setting of a method has them.
    pub search: Option<Search>,
}

/// Values of a setting that are tried: levels from 0 on, see [`Method::at_level`].
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The values, in words.
    pub values: &'static str,
    /// How many there are.
    pub count: usize,
    /// For a first look: the first level, and the distance to the next.
    pub coarse: (usize, usize),
}

/// What a method does before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// Next to nothing.
    None,
    /// It designs something, which costs time.
    Design,
    /// It excites every subsystem alone; a run has no room for several such methods.
    Excitation,
}

impl MethodInfo {
    /// A method that is tried with its usual settings and of which nothing else is known.
    pub const fn new<M: Method + Default + DeserializeOwned>(name: &'static str, line: &'static str) -> Self {
        MethodInfo {
            name,
            line,
            page: None,
            settings: &[],
            order: "",
            only_extrapolates: false,
            interpolates: None,
            changes_step: None,
            preparation: Preparation::None,
            is_dense: false,
            rank: 100,
            candidates: || vec![M::default().into()],
            usual: || M::default().into(),
            read: |content| M::deserialize(content).map(CouplingConfig::from),
        }
    }

    /// What `tune` tries of it.
    pub fn search(&self) -> Option<Search> {
        self.settings.iter().find_map(|setting| setting.search)
    }

    /// True if it excites subsystems before the run.
    pub fn excites(&self) -> bool {
        self.preparation == Preparation::Excitation
    }
}

impl SettingInfo {
    /// A setting that is not searched.
    pub const fn new(name: &'static str, line: &'static str, default: &'static str) -> Self {
        SettingInfo { name, line, default, search: None }
    }
}

/// The settings of one method.
pub trait Method: Settings {
    /// What is the same whatever the settings are.
    fn info(&self) -> &'static MethodInfo;

    /// The method; `hold` shapes the inputs of those that give one value per step.
    ///
    /// # Errors
    ///
    /// If the settings make no sense.
    fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>>;

    /// True if it gives one value per step, whose shape `hold` tells.
    fn takes_hold(&self) -> bool {
        false
    }

    /// True if inputs may move inside a step.
    fn gives_slopes(&self, hold: Hold) -> bool {
        !self.takes_hold() || hold != Hold::Constant
    }

    /// 1 + φ: what becomes of a harmonic signal; nothing if the method is no filter.
    ///
    /// # Errors
    ///
    /// If a filter cannot be designed.
    fn transfer(&self, _signal: &Harmonic) -> Result<Option<Complex>> {
        Ok(None)
    }

    /// The settings without what makes a step non-linear but does not belong to it: how the run begins, and limits far from rest.
    /// Nothing if they are so already.
    ///
    /// # Errors
    ///
    /// Why the step is not linear, whatever the settings: a forecast has no matrix for it.
    fn linear(&self) -> std::result::Result<Option<CouplingConfig>, String> {
        Ok(None)
    }

    /// The same for subsystems that are not linear, if those need others.
    fn for_nonlinear(&self) -> Option<CouplingConfig> {
        None
    }

    /// The settings at a level of what `tune` tries, see [`MethodInfo::search`].
    fn at_level(&self, _level: usize) -> Option<CouplingConfig> {
        None
    }

    /// In a few words, with what distinguishes its candidates.
    fn words(&self) -> String {
        self.info().name.into()
    }

    /// Models it works with.
    fn models(&self) -> Option<ModelSettings<'_>> {
        None
    }

    /// Parts of a step for which subsystems are excited.
    fn nodes(&self) -> Option<Nodes> {
        None
    }

    /// The same without exciting this subsystem; nothing if it would not do so anyway.
    fn sparing(&self, _subsystem: &str) -> Option<CouplingConfig> {
        None
    }
}

/// What settings say about models of subsystems, of which a run has one each.
#[derive(Clone, Copy, Debug)]
pub struct ModelSettings<'a> {
    /// Where they come from.
    pub model: ModelConfig,
    /// Where their constants come from, if the method has a choice.
    pub constant: Option<ConstantConfig>,
    /// Phases of learned models.
    pub learning: Option<LearningConfig>,
    /// Learned models to start from, by subsystem.
    pub learned: &'a BTreeMap<String, Learned>,
    /// Models that came with the settings, by subsystem.
    pub models: &'a BTreeMap<String, GivenModel>,
}

/// What all plain data can do: derived for every type that can be compared and written.
pub trait Settings: Any + Debug + Send + Sync + erased_serde::Serialize {
    /// True if these are settings of the same method with the same values.
    fn is_equal(&self, other: &dyn Any) -> bool;
}

impl<T: Any + Debug + Send + Sync + Serialize + PartialEq> Settings for T {
    fn is_equal(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>().is_some_and(|other| self == other)
    }
}

/// To two decimals, as it is written.
pub(super) fn rounded(part: f64) -> f64 {
    (100.0 * part).round() / 100.0
}

/// Levels of a gain up to 1, the whole of it first.
pub(super) fn gain_at(level: usize) -> f64 {
    rounded((GAINS.count - level.min(GAINS.count - 1)) as f64 / GAINS.count as f64)
}

/// Gains that are tried.
pub(super) const GAINS: Search = Search { values: "1, 0.95, ... 0.05", count: 20, coarse: (0, 10) };
