//! Linear models of subsystems that tell nothing of themselves, by exciting them where the run begins.

use super::Workbench;
use super::excitation::{Excitation, Excited, Work};
use crate::error::{Error, Result};
use crate::identify::{ProbeNeeds, ProbeStore, Surrogate};
use crate::network::{Network, Settings};
use crate::signal::Clock;
use crate::system::SubsystemId;
use serde::Serialize;

/// What is known of the subsystems of a run beside what they give themselves.
pub(crate) struct Findings {
    found: Vec<Finding>,
    clock: Clock,
    /// What was set in each subsystem before the start.
    settings: Settings,
    on_threads: bool,
}

/// What is known of one subsystem.
#[derive(Clone, Debug, Default)]
enum Finding {
    /// It was not asked for: it has a model of its own.
    #[default]
    Own,
    /// The model, and how it was found.
    Model(Box<Surrogate>, Identified),
    /// Why there is none: the end of a sentence on why it was not excited, or what came of it.
    Nothing(String),
}

/// How the model of a black box was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Identified {
    /// States of the model.
    pub order: usize,
    /// By how much it misses experiments that were kept back, relative to how far outputs move there.
    pub error: f64,
    /// The steps it was excited at, in s.
    pub step: f64,
    /// How far its inputs were moved, relative to their ranges.
    pub amplitude: f64,
    /// Time it took.
    pub seconds: f64,
    /// Calls of its stepping function; 0 if all was known.
    pub step_calls: u64,
    /// All was known from an earlier run.
    pub from_cache: bool,
}

/// A subsystem that is not to be excited, and why.
pub type NotProbed = (String, String);

impl Workbench<'_> {
    /// Excites the subsystems that have no linear model of their own, and keeps what they then are to first order: from now on
    /// [`Workbench::linear_part`] gives it. All subsystems stand as before afterwards; `spared` are left alone. What was found in
    /// an earlier run is taken from `store`. Must be asked before the first step.
    ///
    /// # Errors
    ///
    /// If the consistent start cannot be found again. A subsystem without a model is no error: its reason is kept.
    pub fn excite_unknown(
        &mut self,
        spared: &[NotProbed],
        store: Option<&dyn ProbeStore>,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<()> {
        let Findings { clock, settings, on_threads, .. } = &*self.findings;
        if self.time > clock.time(0) {
            return Err(Error::Unsupported {
                what: "exciting subsystems".into(),
                reason: "the run is under way".into(),
            }
            .into());
        }
        let network = &mut *self.network;
        // Systems with messages or tables have no forecast.
        let has_forecast = network.graph.maps().is_empty() && network.graph.message_wires().is_empty();
        let unknown: Vec<bool> = (0..network.len()).map(|id| is_unknown(network, id, self.time)).collect();
        if !has_forecast || !unknown.contains(&true) {
            return Ok(());
        }
        let discrete: Vec<Option<String>> =
            (0..network.len()).map(|id| discrete_input(network, id)).collect();
        let watched: Vec<Vec<usize>> = (0..network.len()).map(|id| unfiltered(network, id)).collect();
        let mut names: Vec<String> = network.coupling.report().spared();
        names.extend(spared.iter().map(|(name, _)| name.clone()));
        let labels: Vec<String> = (0..network.len()).map(|id| network.graph.name(id).to_owned()).collect();
        let how = Excitation {
            clock: *clock,
            needs: ProbeNeeds { nodes: 1 },
            settings,
            spared: &names,
            store,
            on_threads: *on_threads,
            are_copies: false,
        };
        let found = how.each(network, None, |candidate| {
            let id = candidate.id;
            if !unknown[id] {
                return candidate.leave().map(|()| None);
            }
            if let Some(input) = &discrete[id] {
                let reason = format!("its input `{input}` is discrete, and connected");
                return candidate.leave().map(|()| Some(Err(reason)));
            }
            let report = |what: &str| progress(&format!("`{}` is {what}", labels[id]));
            candidate.linear(&watched[id], &report).map(Some)
        })?;
        network.start_again(clock.time(0), settings.clone())?;
        let finding = |(id, Excited { found, work, .. }): (usize, Excited<_>)| match found {
            Ok(None) => Finding::Own,
            Ok(Some(Ok(surrogate))) => Finding::new(surrogate, work),
            Ok(Some(Err(reason))) => {
                let own =
                    spared.iter().find(|(name, _)| *name == labels[id]).map(|(_, reason)| reason.clone());
                Finding::Nothing(own.unwrap_or(reason))
            }
            Err(error) => Finding::Nothing(format!("it could not be restored: {error}")),
        };
        self.findings.found = found.into_iter().enumerate().map(finding).collect();
        Ok(())
    }
}

impl Findings {
    /// Nothing yet, of a run that begins like this.
    pub(crate) fn new(clock: Clock, settings: Settings, on_threads: bool) -> Self {
        Findings { found: Vec::new(), clock, settings, on_threads }
    }

    /// How the model of a subsystem was found, if by exciting it.
    pub(super) fn identified(&self, id: SubsystemId) -> Option<&Identified> {
        match self.found.get(id)? {
            Finding::Model(_, identified) => Some(identified),
            _ => None,
        }
    }

    /// The model that was found by exciting a subsystem.
    pub(super) fn surrogate(&self, id: SubsystemId) -> Option<&Surrogate> {
        match self.found.get(id)? {
            Finding::Model(surrogate, _) => Some(surrogate),
            _ => None,
        }
    }

    /// Why exciting a subsystem gave no model, if it was tried.
    pub(super) fn lack(&self, id: SubsystemId) -> Option<&str> {
        match self.found.get(id)? {
            Finding::Nothing(reason) => Some(reason),
            _ => None,
        }
    }
}

/// True if it has no linear model. One that fails to tell is asked again later, and its failure told then.
fn is_unknown(network: &mut Network, id: SubsystemId, time: f64) -> bool {
    let inputs = network.read_inputs(id, time);
    let subsystem = network.subsystem_mut(id);
    subsystem.linear().is_none() && subsystem.linearize(&inputs).is_ok_and(|found| found.is_none())
}

/// A connected input of a subsystem that is given values at events alone, if there is one: no small step shows what it does.
fn discrete_input(network: &Network, id: SubsystemId) -> Option<String> {
    let is_one =
        |input: &usize| network.graph.input_variable(*input).is_held && !network.graph.is_free(*input);
    let input = network.graph.inputs_of(id).find(is_one)?;
    Some(network.graph.input_variable(input).name.clone())
}

/// Outputs of a subsystem that are no filters.
fn unfiltered(network: &Network, id: SubsystemId) -> Vec<usize> {
    let outputs = network.graph.ports(id).outputs.iter().enumerate();
    outputs.filter(|(_, variable)| variable.filtered.is_none()).map(|(k, _)| k).collect()
}

impl Finding {
    fn new(surrogate: Surrogate, work: Work) -> Self {
        let identified = Identified {
            order: surrogate.matrices.states(),
            error: surrogate.error,
            step: surrogate.step,
            amplitude: surrogate.amplitude,
            seconds: work.seconds,
            step_calls: work.step_calls,
            from_cache: work.from_cache,
        };
        Finding::Model(Box::new(surrogate), identified)
    }
}
