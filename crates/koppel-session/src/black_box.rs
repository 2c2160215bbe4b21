//! Subsystems that tell nothing of themselves: who may be excited, and who may be copied.

use std::collections::BTreeMap;

use koppel::coupling::CouplingConfig;
use koppel::identify::ProbeStore;
use koppel::run::{Reading, Run, RunConfig};
use koppel::system::System;
use koppel::workbench::Spared;

use koppel_fmi::Fmu;
use koppel_fmi::import::{Options, Solving, Without};
use koppel_fmi::probe::Capability;

use koppel_io::system_file::SubsystemSpec;

use crate::fmu::{Purpose, Wanted};
use crate::{Result, Session};

impl Session {
    /// Finds linear models of the subsystems of a run at its start that have none of their own, by exciting them; not of those with
    /// `probe = false`. What was found before is taken from the cache, if there is one.
    ///
    /// # Errors
    ///
    /// If the consistent start is not found again afterwards.
    pub fn excite_unknown(&self, run: &mut Run, progress: &(dyn Fn(&str) + Sync)) -> Result<()> {
        let store = self.cache.as_deref().map(|cache| cache as &dyn ProbeStore);
        let done = run.workbench().excite_unknown(&self.spared(), store, progress);
        done.map_err(|error| self.spec.blame(*error))
    }

    /// Another run like this one, at its start, to be walked and thrown away; nothing if a subsystem has `probe = false`, or it cannot
    /// be started.
    #[must_use]
    pub fn copy_to_walk(&self) -> Option<Run> {
        if self.spared().is_empty() { self.copy(&self.spec.run).ok() } else { None }
    }

    /// A copy of the system at its start for trials, with inputs held, or why there is none.
    ///
    /// # Errors
    ///
    /// In words: a subsystem is not to be tried, or cannot be started a second time.
    pub(crate) fn copy_at_start(&self) -> std::result::Result<Run, String> {
        if let Some((name, reason)) = self.refused().first() {
            return Err(format!("`{name}`: {reason}"));
        }
        let coupling = CouplingConfig::zoh();
        let held = RunConfig { coupling, iteration: None, adaptive: None, ..self.spec.run.clone() };
        self.copy(&held).map_err(|error| error.to_string())
    }

    /// Why no checkpoint can be written although all FMUs declare their states: what fails when it is tried in a process of its own.
    /// Asked when a run that was not made for it is to be saved.
    #[must_use]
    pub fn lack_of_checkpoint(&self) -> Option<String> {
        // Then inputs are logged where states fail.
        if self.journals.is_some() {
            return None;
        }
        let lacks = self.lacks(&[Capability::RollBack, Capability::Serialization]);
        lacks.into_iter().find_map(|(name, without)| {
            let reason = without.states.or(without.serialization)?;
            Some(format!("`{name}` {reason}"))
        })
    }

    /// FMUs that declare no way to save their state for another process, where their inputs are not logged instead: a run with them cannot be
    /// continued.
    #[must_use]
    pub fn not_to_be_saved(&self) -> Vec<&str> {
        let fmus = self.spec.subsystems().iter().filter_map(|one| Some((one, one.fmu.as_ref()?)));
        let lacking =
            fmus.filter(|(_, spec)| self.journals.is_none() && !crate::fmu::declares_saved_states(spec));
        lacking.map(|(one, _)| one.name.as_str()).collect()
    }

    /// What each FMU declares of these capabilities but fails at when it is tried in a process of its own, by subsystem. Of those
    /// that are not to be tried, what they declare is believed.
    #[must_use]
    pub fn lacks(&self, wanted: &[Capability]) -> Vec<(String, Without)> {
        let refused = self.refused();
        let tried = |one: &SubsystemSpec| {
            let spec = one.fmu.as_ref()?;
            let fmu = Fmu::open(&spec.path).ok()?;
            let is_exchange = spec.is_model_exchange(fmu.description());
            let solving = if is_exchange { Solving::Koppel(None) } else { Solving::Own };
            let (name, step) = (one.name.clone(), Some(self.spec.run.step));
            let options = Options { name, solving, step, ..Options::default() };
            let isolation = spec.isolating.or(self.spec.isolating).limits();
            let without = self.trials.without(&fmu, &options, wanted, &isolation, self.cache.as_deref());
            Some((one.name.clone(), without))
        };
        let is_tried = |one: &&SubsystemSpec| !refused.iter().any(|(name, _)| *name == one.name);
        self.spec.subsystems().iter().filter(is_tried).filter_map(tried).collect()
    }

    /// From now on FMUs built outside of runs do without what they are known to fail at, by subsystem.
    pub fn do_without(&mut self, lacks: BTreeMap<String, Without>) {
        self.lacks = lacks;
    }

    /// The system with each FMU in a process of its own and without what fails of these capabilities when it is tried: whatever is
    /// asked of it, a crash is an error.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, or an FMU cannot be instantiated.
    pub fn build_apart(&self, wanted: &[Capability]) -> Result<System> {
        let wanted = Wanted {
            capabilities: wanted.to_vec(),
            is_fresh: self.spec.run.reading == Reading::Fresh,
            spared: false,
            trials: &self.trials,
            cache: self.cache.as_deref(),
        };
        self.build_for(Purpose::Trial(&wanted))
    }

    /// Subsystems that are not to be tried at all, and why.
    pub(crate) fn refused(&self) -> Vec<Spared> {
        let mut refused = self.spared();
        if let Ok(system) = self.build_for(Purpose::Check) {
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

    /// Subsystems that are not to be excited, and why.
    pub(crate) fn spared(&self) -> Vec<Spared> {
        let spared = self.spec.subsystems().iter().filter(|one| one.probe == Some(false));
        spared.map(|one| (one.name.clone(), "it has probe = false".to_owned())).collect()
    }
}
