//! The system and its start, from plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use koppel::run::Reading;
use koppel::system::{Connection, FilterConfig, Subsystem, System, SystemBuilder};
use koppel_fmi::probe::Capability;
use koppel_io::system_file::{FmuSpec, Marks, SubsystemSpec, SystemSpec};

use crate::fmu::{self, Purpose, Setting, Wanted};
use crate::{Fmus, Result};

/// A subsystem, or what is wrong with its table.
type Built = std::result::Result<Box<dyn Subsystem>, Marks>;

impl Fmus {
    /// Builds a system; may be called again and again.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together.
    pub(crate) fn build(&self, spec: &SystemSpec, purpose: Purpose<'_>) -> Result<System> {
        let (mut builder, mut marks, mut missing) = (SystemBuilder::new(), Marks::default(), Vec::new());
        // A check finds what is wrong with any part.
        let is_check = matches!(purpose, Purpose::Check);
        let mut apart = self.apart(spec, purpose);
        for (index, one) in spec.subsystems().iter().enumerate() {
            let built = apart.remove(&index).unwrap_or_else(|| self.subsystem(spec, index, one, purpose));
            match marks.note(built) {
                Some(model) => builder = builder.add_boxed(&one.name, model),
                None if is_check => missing.push(one.name.as_str()),
                None => break,
            }
        }
        if !is_check {
            spec.refuse(std::mem::take(&mut marks), Vec::new(), Vec::new())?;
        }
        // Nothing can be said of wires to what is missing.
        let is_known = |end: &str| {
            let is_of = |name: &&str| end.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            !missing.iter().any(is_of)
        };
        let is_whole = |wire: &&Connection| wire.from.iter().chain([&wire.to]).all(|end| is_known(end));
        for connection in spec.connections().filter(is_whole) {
            let mut connection = connection.clone();
            if is_open(&connection) {
                // Until it is chosen, any filter tells where loops are broken.
                connection.filter = Some(FilterConfig::pt2(1.0 / spec.run.step));
            }
            builder = builder.connect(connection);
        }
        for (to, signal, scaling) in spec.signals().filter(|(to, ..)| is_known(to)) {
            builder = builder.scaled_external(to, signal.clone(), scaling.clone());
        }
        let (system, wiring) = match builder.build_partly() {
            Ok((system, wiring)) => (Some(system), wiring),
            Err(error) => (None, error.each()),
        };
        let run = system.iter().filter(|_| is_check && missing.is_empty());
        let run = run.flat_map(|system| spec.run.mistakes(&system.graph)).collect();
        spec.refuse(marks, wiring, run)?;
        Ok(system.unwrap_or_else(|| unreachable!("what is not built has mistakes")))
    }

    /// Those that have processes of their own, which start side by side.
    fn apart(&self, spec: &SystemSpec, purpose: Purpose<'_>) -> BTreeMap<usize, Built> {
        let is_isolated =
            |fmu: &FmuSpec| fmu.isolating.clone().or(spec.isolating.clone()).isolation().is_some();
        let is_apart = |one: &SubsystemSpec| match (&one.fmu, purpose) {
            (None, _) | (_, Purpose::Check | Purpose::Copy(_)) => false,
            (_, Purpose::Trial(_)) => true,
            (Some(fmu), Purpose::Any | Purpose::Run(_)) => is_isolated(fmu),
        };
        let subsystems = spec.subsystems();
        let list: Vec<usize> = (0..subsystems.len()).filter(|at| is_apart(&subsystems[*at])).collect();
        let built = Mutex::new(BTreeMap::new());
        if list.len() > 1 {
            // What one instance of an FMU is found to fail at, the others know.
            let mut seen = BTreeSet::new();
            let path = |at: &usize| subsystems[*at].fmu.as_ref().map(|fmu| &fmu.path);
            let (first, others): (Vec<usize>, Vec<usize>) =
                list.into_iter().partition(|at| seen.insert(path(at)));
            for list in [first, others] {
                side_by_side(&list, &|index| {
                    let one = self.subsystem(spec, index, &subsystems[index], purpose);
                    built.lock().unwrap_or_else(PoisonError::into_inner).insert(index, one);
                });
            }
        }
        built.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn subsystem(&self, spec: &SystemSpec, index: usize, one: &SubsystemSpec, purpose: Purpose<'_>) -> Built {
        let run = &spec.run;
        match &one.fmu {
            None => one.model().map(|model| Box::new(model) as Box<dyn Subsystem>),
            Some(fmu) => {
                let setting = Setting {
                    name: &one.name,
                    probe: one.probe,
                    step: run.step * f64::from(run.every.get(&one.name).copied().unwrap_or(1)),
                    log: self.log.as_ref(),
                    isolating: fmu.isolating.clone().or(spec.isolating.clone()),
                    purpose,
                    without: self.lacks.get(&one.name),
                    journal: self.journals.as_ref().map(|journals| journals.of(index, &one.name)),
                };
                Ok(fmu::build(fmu, setting)?)
            }
        }
    }

    /// What its runs want of FMUs: only what the method needs, and nothing of what was not tried.
    pub(crate) fn wanted(&self, spec: &SystemSpec) -> Wanted<'_> {
        let run = &spec.run;
        let makes_trials = self.is_trial || run.makes_trials();
        let mut capabilities = Vec::new();
        let is_to_be_saved = self.journals.as_ref().is_some_and(|journals| journals.is_asked);
        if makes_trials || is_to_be_saved {
            capabilities.push(Capability::RollBack);
        }
        if is_to_be_saved {
            capabilities.push(Capability::Serialization);
        }
        if makes_trials {
            capabilities.push(Capability::DirectionalDerivatives);
        }
        // Slopes inside a step, of a coupling or of a signal.
        if run.coupling.gives_slopes(run.hold) || spec.signals().next().is_some() {
            capabilities.extend([Capability::InputDerivatives, Capability::IntermediateUpdate]);
        }
        Wanted {
            capabilities,
            is_fresh: run.reading == Reading::Fresh,
            spared: !makes_trials,
            trials: &self.trials,
            cache: self.cache.as_deref(),
        }
    }
}

/// Does something with each number on several threads: most of the time is spent waiting for other processes.
fn side_by_side(list: &[usize], work: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some(index) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(*index);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from) * 2;
    std::thread::scope(|scope| (0..threads.min(list.len())).for_each(|_| _ = scope.spawn(take)));
}

/// True if a filter is still to be chosen.
pub(crate) fn is_open(connection: &Connection) -> bool {
    matches!(connection.filter, Some(FilterConfig::Auto {}))
}
