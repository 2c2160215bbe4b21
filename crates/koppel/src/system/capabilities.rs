//! What a subsystem can do, as plain data.

use crate::solver::SolverConfig;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What the engine, reports and analyses must know of a subsystem besides its ports. The subsystem keeps it up to date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Its own solver in a few words, for the summary.
    pub solver: Cow<'static, str>,
    /// Settings of that solver, if it is one of koppel's own.
    pub solver_config: Option<SolverConfig>,
    /// It counts the calls of its own stepping function.
    pub counts_step_calls: bool,
    /// How many there were so far.
    pub step_calls: u64,
    /// It is exactly its linear model, everywhere and at any time.
    pub is_linear: bool,
    /// Where its linear model comes from, as of the last time it was asked for.
    pub model: ModelSource,
    /// Its linear model or its feed-through takes trials: whoever has no need of them does not ask.
    pub needs_trials: bool,
    /// It serves a run that makes no trials: nothing is asked of it but what the run itself needs.
    pub is_spared: bool,
    /// It may ask to end the run ([`crate::Error::Terminated`]): a black box, of which nothing is saved for that case alone.
    pub may_end_run: bool,
    /// Why it cannot roll back inside a run; nothing if it can. One that is restored by repeating its whole run cannot.
    pub cannot_roll_back: Option<String>,
    /// Why it should not be excited alone before a run: the end of a sentence that begins with its name.
    pub not_to_probe: Option<String>,
    /// The key under which findings about it are kept between runs; nothing if they are not worth or not safe to keep.
    #[serde(skip)]
    pub cache_key: Option<CacheKey>,
}

impl Capabilities {
    /// Of a subsystem that can roll back and be probed, and has a solver of this name.
    pub const fn new(solver: &'static str) -> Self {
        Capabilities {
            solver: Cow::Borrowed(solver),
            solver_config: None,
            counts_step_calls: false,
            step_calls: 0,
            is_linear: false,
            model: ModelSource::Equations,
            needs_trials: false,
            is_spared: false,
            may_end_run: false,
            cannot_roll_back: None,
            not_to_probe: None,
            cache_key: None,
        }
    }

    /// Calls of its own stepping function so far, if it counts them.
    pub fn counted_steps(&self) -> Option<u64> {
        self.counts_step_calls.then_some(self.step_calls)
    }

    /// Of one that is exactly its linear model besides.
    pub const fn linear(solver: &'static str) -> Self {
        let mut linear = Capabilities::new(solver);
        linear.is_linear = true;
        linear
    }
}

/// Where the linear model of a subsystem comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModelSource {
    /// Its equations; or nobody has asked yet.
    #[default]
    Equations,
    /// Something else, in a few words.
    Found(String),
    /// There is none: the end of a sentence that begins with the subsystem's name.
    Missing(String),
}

/// Words that change with everything a subsystem's behaviour depends on but its inputs and what is set later. They are
/// found when they are asked for: that may mean reading a large file.
#[derive(Clone)]
pub struct CacheKey(Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl CacheKey {
    /// A key that `find` gives, if it can.
    pub fn new(find: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        CacheKey(Arc::new(find))
    }

    /// The words.
    pub fn find(&self) -> Option<String> {
        (self.0)()
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheKey")
    }
}

impl PartialEq for CacheKey {
    fn eq(&self, other: &CacheKey) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
