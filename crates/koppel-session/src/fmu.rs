//! FMUs as subsystems: in this process, in one of their own, or for trials.

use std::sync::Arc;

use koppel::solver::SolverConfig;
use koppel::system::{Dependencies, Subsystem};
use koppel_fmi::import::{self, Deferred, Options, Solving, Without};
use koppel_fmi::probe::Capability;
use koppel_fmi::{Fmu, isolate};
use koppel_io::system_file::{FmuSpec, Isolating, Mark};

use crate::FmuLog;
use crate::probe_cache::ProbeCache;
use crate::replay::{Journal, Replayed};
use crate::trials::Trials;

type Result<T> = std::result::Result<T, Mark>;

/// What an FMU is built in.
pub(crate) struct Setting<'a> {
    pub(crate) name: &'a str,
    /// Whether it may be excited and tried.
    pub(crate) probe: Option<bool>,
    /// Its communication step.
    pub(crate) step: f64,
    /// Where its messages go.
    pub(crate) log: Option<&'a FmuLog>,
    pub(crate) isolating: Isolating,
    pub(crate) purpose: Purpose<'a>,
    /// What it is known to fail at.
    pub(crate) without: Option<&'a Without>,
    /// Where one that cannot save its state logs its inputs.
    pub(crate) journal: Option<Journal>,
}

/// What an FMU is instantiated for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'a> {
    /// To be wired and checked only: there is no instance.
    Check,
    /// Whatever comes: what it declares is believed.
    Any,
    /// A run, which does without what fails in trials.
    Run(&'a Wanted<'a>),
    /// Trials: in a process of its own.
    Trial(&'a Wanted<'a>),
    /// The same, made only when it is initialised.
    Copy(&'a Wanted<'a>),
}

/// What a run wants of its FMUs.
pub(crate) struct Wanted<'a> {
    /// Optional functions that must hold, but for `Reevaluation`, which is asked of FMUs that may feed inputs through.
    pub(crate) capabilities: Vec<Capability>,
    /// True if outputs are read with the inputs of their own instant.
    pub(crate) is_fresh: bool,
    /// True if no more is asked of FMUs than to take steps.
    pub(crate) spared: bool,
    pub(crate) trials: &'a Trials,
    pub(crate) cache: Option<&'a ProbeCache>,
}

/// An instance of an FMU with its start values, ready to be wired.
pub(crate) fn build(spec: &FmuSpec, setting: Setting<'_>) -> Result<Box<dyn Subsystem>> {
    let Setting { name, probe, step, log, isolating, purpose, without, journal } = setting;
    let failed = |error: Box<koppel_fmi::Error>| spec.blame(&error);
    let fmu = Fmu::open(&spec.path).map_err(failed)?;
    let solver = spec.solver(fmu.description())?;
    let mut options = Options {
        name: name.to_owned(),
        step: Some(step),
        log: log.map(|log| log.sink.clone()),
        debug_logging: log.is_some_and(|log| log.is_debug),
        without: without.cloned().unwrap_or_default(),
        start_values: spec.start_values.clone(),
        continuous: spec.continuous.clone(),
        probe,
        ..Options::default()
    };
    if let Some(substeps) = spec.substeps {
        options.substeps = substeps;
    }
    if spec.is_model_exchange(fmu.description()) {
        options.solving = Solving::Koppel(solver);
    }
    if let Purpose::Run(wanted) | Purpose::Trial(wanted) | Purpose::Copy(wanted) = purpose {
        let capabilities = wanted.capabilities_of(&fmu, &options);
        let Wanted { trials, cache, .. } = wanted;
        options.without = trials.without(&fmu, &options, &capabilities, &isolating.clone().limits(), *cache);
        options.spared = wanted.spared;
    }
    options.call_limit = isolating.clone().limits().step_timeout;
    let instance = match (purpose, isolating.clone().isolation()) {
        (Purpose::Check, _) => {
            Deferred::new(&fmu, &options, not_in_a_check).map(|one| Box::new(one) as Box<dyn Subsystem>)
        }
        (Purpose::Trial(_), _) => apart(&fmu, &options, &isolating.of_trials()),
        (Purpose::Copy(_), _) => {
            let (of, with, isolation) = (fmu.clone(), options.clone(), isolating.of_trials());
            let make = move || apart(&of, &with, &isolation);
            Deferred::new(&fmu, &options, make).map(|one| Box::new(one) as Box<dyn Subsystem>)
        }
        (Purpose::Any | Purpose::Run(_), Some(isolation)) => isolate::host(&fmu, &options, &isolation),
        (Purpose::Any | Purpose::Run(_), None) => import::instantiate_any(&fmu, &options),
    };
    let instance = instance.map_err(failed)?;
    // Messages are not logged: such an FMU is not replayed.
    let ports = instance.ports();
    let has_messages = !(ports.message_inputs.is_empty() && ports.message_outputs.is_empty());
    let can_replay = !fmu.saves_as_bytes(&options) && !has_messages;
    Ok(match journal.filter(|_| can_replay) {
        Some(journal) => Box::new(Replayed::new(instance, name, journal)),
        None => instance,
    })
}

/// True if the FMU declares that it can write its state as bytes.
pub(crate) fn declares_saved_states(spec: &FmuSpec) -> bool {
    let Ok(fmu) = Fmu::open(&spec.path) else { return false };
    let is_model_exchange = spec.is_model_exchange(fmu.description());
    let solving = if is_model_exchange { Solving::Koppel(None) } else { Solving::Own };
    fmu.saves_as_bytes(&Options { solving, ..Options::default() })
}

/// True if the FMU takes or sends messages, which are not logged.
pub(crate) fn has_messages(spec: &FmuSpec) -> bool {
    let Ok(fmu) = Fmu::open(&spec.path) else { return false };
    let ports = import::ports(fmu.description());
    !(ports.message_inputs.is_empty() && ports.message_outputs.is_empty())
}

/// An instance in a process of its own, where that can be had.
fn apart(
    fmu: &Arc<Fmu>,
    options: &Options,
    isolation: &isolate::Isolation,
) -> koppel_fmi::Result<Box<dyn Subsystem>> {
    use koppel_fmi::Error;
    match isolate::host(fmu, options, isolation) {
        Err(error) if matches!(*error, Error::NoWorker | Error::NoIsolation) => {
            import::instantiate_any(fmu, options)
        }
        hosted => hosted,
    }
}

fn not_in_a_check() -> koppel_fmi::Result<Box<dyn Subsystem>> {
    Err(koppel_fmi::Error::NotStarted { instance: "a system that is only checked".into() }.into())
}

impl Wanted<'_> {
    /// What must hold of one FMU. One that is not to be tried is believed.
    fn capabilities_of(&self, fmu: &Fmu, options: &Options) -> Vec<Capability> {
        let is_only_one =
            fmu.interface(options.solving).is_some_and(|i| i.can_be_instantiated_only_once_per_process);
        if options.probe == Some(false) || is_only_one && options.probe != Some(true) {
            return Vec::new();
        }
        let mut all = self.capabilities.clone();
        // A stiff solver takes the FMU's own Jacobian.
        if let Solving::Koppel(Some(SolverConfig::Stiff(_))) = options.solving {
            all.push(Capability::DirectionalDerivatives);
        }
        let feeds_through =
            || import::ports(fmu.description()).outputs.iter().any(|y| y.depends != Dependencies::None);
        // Model exchange is made of such readings.
        if self.is_fresh && options.solving == Solving::Own && feeds_through() {
            all.extend([Capability::Reevaluation, Capability::Freshness]);
        }
        all
    }
}
