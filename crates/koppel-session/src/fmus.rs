//! What the FMUs of a session share: where their messages go, what is known of them by trial, how their inputs are logged.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use koppel::diagnostic::Remark;
use koppel::run::Reading;
use koppel::system::System;
use koppel::workbench::NotProbed;

use koppel_fmi::Fmu;
use koppel_fmi::import::{Options, Solving, Without};
use koppel_fmi::probe::Capability;

use koppel_io::system_file::{FmuSpec, SubsystemSpec, SystemSpec};

use crate::fmu::{Purpose, Wanted};
use crate::probe_cache::ProbeCache;
use crate::replay::Journals;
use crate::trials::Trials;
use crate::{FmuLog, Result};

/// What the FMUs of a session share.
#[derive(Clone, Debug, Default)]
pub struct Fmus {
    /// Where their messages go.
    pub log: Option<FmuLog>,
    /// Where FMUs that cannot save their state log what they are given, so that a checkpoint can be continued all the same.
    pub journals: Option<Journals>,
    /// Where what is found by exciting FMUs is kept.
    pub cache: Option<Arc<ProbeCache>>,
    /// What is known of them by trial.
    pub(crate) trials: Arc<Trials>,
    /// True if runs are trials: FMUs are in processes of their own.
    pub(crate) is_trial: bool,
    /// What they are known to fail at, by subsystem: those built outside of runs do without.
    pub lacks: BTreeMap<String, Without>,
}

impl Fmus {
    /// The same for copies, which keep no logs.
    pub(crate) fn of_copies(&self) -> Fmus {
        Fmus { journals: None, log: None, ..self.clone() }
    }

    /// Files in which inputs are logged, as far as there are any.
    #[must_use]
    pub fn input_logs(&self, spec: &SystemSpec) -> Vec<PathBuf> {
        let Some(journals) = &self.journals else { return Vec::new() };
        let logged = spec.subsystems().iter().enumerate().filter(|(_, one)| one.fmu.is_some());
        let paths = logged.map(|(index, one)| journals.of(index, &one.name).path());
        paths.filter(|path| path.exists()).collect()
    }

    /// What was found of FMUs since this was asked last: functions that koppel does without, and trouble with what is kept of them.
    #[must_use]
    pub fn warnings(&self) -> Vec<Remark> {
        let of_cache = self.cache.iter().flat_map(|cache| cache.warnings());
        of_cache.chain(self.trials.warnings().into_iter().map(Remark::from)).collect()
    }

    /// Why no checkpoint can be written although all FMUs declare their states: what fails when it is tried in a process of its own.
    /// Asked when a run that was not made for it is to be saved.
    #[must_use]
    pub fn lack_of_checkpoint(&self, spec: &SystemSpec) -> Option<String> {
        // Then inputs are logged where states fail.
        if self.journals.as_ref().is_some_and(|journals| journals.is_asked) {
            return None;
        }
        let fmu = |name: &str| spec.subsystems().iter().find(|one| one.name == name)?.fmu.as_ref();
        let is_logged = |name: &str| {
            self.journals.is_some() && fmu(name).is_some_and(|fmu| !crate::fmu::declares_saved_states(fmu))
        };
        let lacks = self.lacks(spec, &[Capability::RollBack, Capability::Serialization]);
        lacks.into_iter().filter(|(name, _)| !is_logged(name)).find_map(|(name, without)| {
            let reason = without.states.or(without.serialization)?;
            Some(format!("`{name}` {reason}"))
        })
    }

    /// FMUs that declare no way to save their state for another process, where their inputs are not logged instead: a run with them cannot be
    /// continued.
    #[must_use]
    pub fn not_to_be_saved<'a>(&self, spec: &'a SystemSpec) -> Vec<&'a str> {
        let fmus = spec.subsystems().iter().filter_map(|one| Some((one, one.fmu.as_ref()?)));
        let is_logged = |fmu: &FmuSpec| self.journals.is_some() && !crate::fmu::has_messages(fmu);
        let lacking = fmus.filter(|(_, fmu)| !crate::fmu::declares_saved_states(fmu) && !is_logged(fmu));
        lacking.map(|(one, _)| one.name.as_str()).collect()
    }

    /// What each FMU declares of these capabilities but fails at when it is tried in a process of its own, by subsystem. Of those
    /// that are not to be tried, what they declare is believed.
    #[must_use]
    pub fn lacks(&self, spec: &SystemSpec, wanted: &[Capability]) -> Vec<(String, Without)> {
        let refused = self.refused(spec);
        let tried = |one: &SubsystemSpec| {
            let own = one.fmu.as_ref()?;
            let fmu = Fmu::open(&own.path).ok()?;
            let is_exchange = own.is_model_exchange(fmu.description());
            let solving = if is_exchange { Solving::Koppel(None) } else { Solving::Own };
            let (name, step) = (one.name.clone(), Some(spec.run.step));
            let options = Options { name, solving, step, ..Options::default() };
            let isolation = own.isolating.clone().or(spec.isolating.clone()).limits();
            let without = self.trials.without(&fmu, &options, wanted, &isolation, self.cache.as_deref());
            Some((one.name.clone(), without))
        };
        let is_tried = |one: &&SubsystemSpec| !refused.iter().any(|(name, _)| *name == one.name);
        spec.subsystems().iter().filter(is_tried).filter_map(tried).collect()
    }

    /// The system with each FMU in a process of its own and without what fails of these capabilities when it is tried: whatever is
    /// asked of it, a crash is an error.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, or an FMU cannot be instantiated.
    pub fn build_apart(&self, spec: &SystemSpec, wanted: &[Capability]) -> Result<System> {
        let wanted = Wanted {
            capabilities: wanted.to_vec(),
            is_fresh: spec.run.reading == Reading::Fresh,
            spared: false,
            trials: &self.trials,
            cache: self.cache.as_deref(),
        };
        self.build(spec, Purpose::Trial(&wanted))
    }

    /// Subsystems that are not to be tried at all, and why.
    pub(crate) fn refused(&self, spec: &SystemSpec) -> Vec<NotProbed> {
        let mut refused = spared(spec);
        if let Ok(system) = self.build(spec, Purpose::Check) {
            let reason = |id: usize| {
                Some((
                    system.graph.name(id).to_owned(),
                    system.subsystems[id].capabilities().not_to_probe.clone()?,
                ))
            };
            refused.extend((0..system.graph.len()).filter_map(reason));
        }
        refused
    }
}

/// Subsystems that are not to be excited, and why.
pub(crate) fn spared(spec: &SystemSpec) -> Vec<NotProbed> {
    let spared = spec.subsystems().iter().filter(|one| one.probe == Some(false));
    spared.map(|one| (one.name.clone(), "it has probe = false".to_owned())).collect()
}
