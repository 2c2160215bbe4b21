//! What FMUs can really do of what they declare: tried on fresh instances in processes of their own, and remembered.
//!
//! Optional functions (states, serialization, directional derivatives, outputs that follow inputs between steps) crash, hang or do
//! nothing in FMUs of several tools. A run that needs one finds out first, where a crash does no harm. What fails is done without:
//! the FMU is driven as one that does not declare it. Answers are kept by the FMU's content, the platform and koppel's version.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use koppel_fmi::Fmu;
use koppel_fmi::ffi::Kind;
use koppel_fmi::import::{Options, Solving, Without};
use koppel_fmi::isolate::Isolation;
use koppel_fmi::probe::{Capability, Declared, Finding, Outcome, ProbeOptions, Scope, declared, probe_apart};

use crate::probe_cache::ProbeCache;

/// How long the plain steps of a trial may take, if nothing is said of how long a step may take; else so many times that. The limit of
/// the trial itself follows from how long they took.
const PATIENCE: Duration = Duration::from_secs(30);
const CALLS: u32 = 20;

/// Relative difference up to which repeated steps are the same: solvers with step control remember more than the state.
const SAME: f64 = 1e-4;

/// What came of a trial.
type Verdict = (Outcome, String);

/// What was tried so far.
#[derive(Debug, Default)]
pub(crate) struct Trials {
    known: Mutex<HashMap<String, Verdict>>,
    warnings: Mutex<Warnings>,
}

/// What there is to say of them.
#[derive(Debug, Default)]
struct Warnings {
    /// Everything so far: each is said once.
    known: BTreeSet<String>,
    /// What nobody has asked for yet.
    new: BTreeSet<String>,
}

impl Trials {
    /// What an instance made with these options had better do without, as far as `wanted` goes. Where nothing can be tried, what
    /// the FMU declares is believed.
    pub(crate) fn without(
        &self,
        fmu: &Arc<Fmu>,
        options: &Options,
        wanted: &[Capability],
        isolation: &Isolation,
        cache: Option<&ProbeCache>,
    ) -> Without {
        let is_declared =
            |one: &&Capability| declared(**one, fmu.description(), interface(options)) != Declared::No;
        let mut without = Without::default();
        let (mut old, mut is_reread) = (Vec::new(), false);
        for capability in wanted.iter().filter(is_declared) {
            if *capability == Capability::Freshness && !is_reread {
                continue;
            }
            let (outcome, text) = self.verdict(fmu, options, *capability, isolation, cache);
            is_reread |=
                *capability == Capability::Reevaluation && matches!(outcome, Outcome::Held | Outcome::Noted);
            // An output that is evaluated in steps only does no harm, but is reported.
            if matches!(capability, Capability::Reevaluation | Capability::Freshness)
                && outcome == Outcome::Noted
            {
                old.push(text.clone());
            }
            let is_lacking = outcome == Outcome::Failed
                || (*capability, outcome) == (Capability::IntermediateUpdate, Outcome::Noted);
            if !is_lacking {
                continue;
            }
            let (place, what) = match capability {
                Capability::RollBack => (&mut without.states, "canGetAndSetFMUState"),
                Capability::Serialization => (&mut without.serialization, "canSerializeFMUState"),
                Capability::DirectionalDerivatives => {
                    (&mut without.derivatives, "providesDirectionalDerivative")
                }
                Capability::InputDerivatives => (&mut without.input_derivatives, "canInterpolateInputs"),
                Capability::IntermediateUpdate => {
                    (&mut without.input_derivatives, "providesIntermediateUpdate")
                }
                Capability::Reevaluation => {
                    self.warn(format!(
                        "outputs of `{}` may be one communication step old: inputs cannot be set between two steps ({text})",
                        options.name
                    ));
                    without.reevaluation = Some(text);
                    continue;
                }
                _ => continue,
            };
            self.warn(format!(
                "`{}` declares {what}, but it failed when tried in a separate process ({text}); koppel does not use it",
                options.name
            ));
            *place = Some(format!("declares {what}, but failed when that was tried ({text})"));
        }
        if !old.is_empty() {
            let text = old.join("; ");
            self.warn(format!("outputs of `{}` may be one communication step old: {text}", options.name));
        }
        without
    }

    fn verdict(
        &self,
        fmu: &Arc<Fmu>,
        options: &Options,
        capability: Capability,
        isolation: &Isolation,
        cache: Option<&ProbeCache>,
    ) -> Verdict {
        let key = question(fmu, options, capability);
        if let Some(known) = key.as_ref().and_then(|key| self.lock().get(key).cloned()) {
            return known;
        }
        let kept = cache.zip(key.as_ref()).and_then(|(cache, key)| cache.recall_value(key.as_bytes()));
        let verdict = kept.unwrap_or_else(|| {
            let verdict = tried(fmu, options, capability, isolation);
            // What could not be tried now may be later.
            if let (Some(cache), Some(key), true) = (cache, &key, verdict.0 != Outcome::NotTried) {
                cache.keep_value(key.as_bytes(), &verdict);
            }
            verdict
        });
        if let Some(key) = key {
            self.lock().insert(key, verdict.clone());
        }
        verdict
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Verdict>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn warn(&self, text: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.known.insert(text.clone()) {
            warnings.new.insert(text);
        }
    }

    /// What was found since this was asked last, and was not said before.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut warnings.new).into_iter().collect()
    }
}

fn interface(options: &Options) -> Kind {
    match options.solving {
        Solving::Own => Kind::CoSimulation,
        Solving::Koppel(_) => Kind::ModelExchange,
    }
}

/// What an answer is kept by; nothing if the file is gone.
fn question(fmu: &Fmu, options: &Options, capability: Capability) -> Option<String> {
    let (os, arch, version) = (std::env::consts::OS, std::env::consts::ARCH, env!("CARGO_PKG_VERSION"));
    let interface = match interface(options) {
        Kind::CoSimulation => "co-simulation",
        Kind::ModelExchange => "model-exchange",
    };
    Some(format!("trial {} {interface} {capability} {os} {arch} {version}", fmu.fingerprint()?))
}

fn tried(fmu: &Arc<Fmu>, options: &Options, capability: Capability, isolation: &Isolation) -> Verdict {
    let solver = match &options.solving {
        Solving::Own => None,
        Solving::Koppel(solver) => *solver,
    };
    let options = ProbeOptions {
        instance: Options { log: None, ..options.clone() },
        interface: Some(interface(options)),
        solver,
        step: options.step,
        scope: Scope::Only(capability),
        same: Some(SAME),
    };
    let timeout = isolation.step_timeout.map_or(PATIENCE, |timeout| CALLS * timeout);
    let isolation = Isolation { step_timeout: Some(timeout), is_quiet: true, ..isolation.clone() };
    match probe_apart(fmu, &options, &isolation) {
        Ok(findings) => match findings.findings.into_iter().find(|one| one.capability == capability) {
            Some(Finding { outcome, text, .. }) => (outcome, text),
            None => (Outcome::NotTried, "nothing was found".into()),
        },
        // One that does not even take steps there is no reason to distrust it here: a licence, a missing worker.
        Err(error) => (Outcome::NotTried, error.to_string()),
    }
}
