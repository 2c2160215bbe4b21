//! Settings in the place of `coupling = "auto"` and `step = "auto"`.

use std::cell::RefCell;

use koppel::analysis::{FilterChoice, choose_filter, zero_stability};
use koppel::coupling::CouplingConfig;
use koppel::diagnostic::{Diagnostic, in_one_line};
use koppel::plan::{Basis, Choice, RefusedMethod, Task, choose, held_inputs};
use koppel::run::{RunConfig, ScheduleConfig};
use koppel::system::{FilterConfig, Reach, algebraic_loops};
use koppel_io::system_file::brief;
use serde::{Deserialize, Serialize};
use toml::Value as Plain;

use crate::build::is_open;
use crate::fmu::Purpose;
use crate::fmus::spared;
use crate::number::significant;
use crate::probe_cache::ProbeCache;
use crate::remark::warn;
use crate::{Error, RemarkSink, Result, Session};

/// A coupling that the run would refuse with this schedule.
type Excluded = (CouplingConfig, ScheduleConfig);

/// What was predicted of chosen settings, and how to remember it if the run has a larger error.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    pub(crate) error: f64,
    settings: Excluded,
    /// The system as it was before the choice.
    question: Vec<u8>,
    broken: Vec<Broken>,
}

/// Settings whose run had a larger error than predicted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Broken {
    settings: Excluded,
    predicted: f64,
    found: f64,
}

impl Promise {
    /// The next choice for the same system is another one.
    pub(crate) fn remember(&self, cache: &ProbeCache, found: f64) {
        let broken = Broken { settings: self.settings.clone(), predicted: self.error, found };
        let all: Vec<Broken> = self.broken.iter().cloned().chain([broken]).collect();
        // Settings of methods describe themselves.
        if let Ok(text) = serde_json::to_string(&all) {
            cache.keep_value(&self.question, &text);
        }
    }
}

impl Broken {
    fn words(&self) -> RefusedMethod {
        let (coupling, schedule) = &self.settings;
        let percent = |share: f64| significant(100.0 * share, 2);
        RefusedMethod {
            method: format!("{}, {}", coupling.words(), schedule.words()),
            reason: format!(
                "a run of this system had an error of {} % at least where {} % were predicted",
                percent(self.found),
                percent(self.predicted)
            ),
        }
    }
}

impl Session {
    /// True if koppel chose the coupling: it was judged then, and is not refused.
    #[must_use]
    pub(crate) fn has_chosen_coupling(&self) -> bool {
        self.has_chosen_coupling
    }

    /// What was chosen in place of `auto`.
    #[must_use]
    pub fn chosen(&self) -> Option<&Choice> {
        self.chosen.as_deref()
    }

    /// Puts settings in the place of `auto`, and tells them; nothing if nothing is open. `progress` is told what is under way.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, or no consistent start is found.
    pub fn choose_settings(&mut self, progress: &dyn Fn(&str)) -> Result<Option<&Choice>> {
        if !self.spec.is_open() {
            return Ok(None);
        }
        if self.spec.connections().next().is_none() && !self.spec.is_asked() {
            // There is nothing to couple.
            self.spec.run.coupling = self.spec.run.coupling.filled(&CouplingConfig::zoh());
            return Ok(None);
        }
        let question = format!("promise {}", self.spec.to_json()).into_bytes();
        let broken: Vec<Broken> = self
            .fmus
            .cache
            .as_ref()
            .and_then(|cache| cache.recall_value::<String>(&question))
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let choice = self.accepted_choice(&broken, progress)?;
        self.has_chosen_coupling = self.spec.run.coupling.open().is_some();
        self.promise = choice.error.map(|error| {
            let settings = (choice.chosen.coupling.clone(), choice.chosen.schedule.clone());
            Box::new(Promise { error, settings, question, broken })
        });
        self.spec.settle(choice.on(&self.spec.run));
        self.chosen = Some(Box::new(choice));
        Ok(self.chosen())
    }

    /// Puts settings in the place of `auto`, and tells what to be careful about.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, or no consistent start is found.
    pub fn choose(&mut self, progress: &dyn Fn(&str), sink: RemarkSink<'_>) -> Result<Option<&Choice>> {
        let is_asked = self.spec.is_asked();
        let choice = self.choose_settings(progress)?;
        // Where nobody asked and nothing is known, the run is as it always was; the summary says why.
        let is_told = |choice: &&Choice| is_asked || choice.basis != Basis::Nothing;
        for text in choice.iter().filter(|choice| is_told(choice)).flat_map(|choice| &choice.warnings) {
            warn(sink, text);
        }
        Ok(choice)
    }

    /// A choice that the run does not refuse; the next one where the first would be.
    fn accepted_choice(&self, broken: &[Broken], progress: &dyn Fn(&str)) -> Result<Choice> {
        let is_open = self.spec.run.coupling.open().is_some();
        // What FMUs can do is found out first, so that it is not taken for the time a copy needs.
        let trial = self.trial().fmus;
        let _ = self.fmus.build(&self.spec, Purpose::Copy(&trial.wanted(&self.spec)));
        let mut excluded: Vec<Excluded> = broken.iter().map(|one| one.settings.clone()).collect();
        loop {
            let mut choice = match self.spec.is_asked() {
                true => self.choice(&excluded, progress)?,
                false => self.unasked_choice(&excluded, progress),
            };
            choice.refused.extend(broken.iter().map(Broken::words));
            // A coupling that was given is judged as any other.
            if !is_open {
                return Ok(choice);
            }
            let config = choice.on(&self.spec.run);
            let Err(reason) = self.accepts(&config, choice.basis) else { return Ok(choice) };
            // The last resort is taken all the same.
            let refused = (choice.chosen.coupling.clone(), choice.chosen.schedule.clone());
            if choice.basis == Basis::Nothing || excluded.contains(&refused) {
                choice.warnings.push(reason);
                return Ok(choice);
            }
            excluded.push(refused);
        }
    }

    /// Refuses settings with which no run begins, or a loop is not zero-stable; what cannot be judged is not refused.
    fn accepts(&self, config: &RunConfig, basis: Basis) -> std::result::Result<(), String> {
        let first = |error: &dyn Diagnostic| in_one_line(&error.what(), 1);
        // What was run on copies can be run.
        if matches!(basis, Basis::Forecast | Basis::LinearModels) {
            self.copy(config).map_err(|error| first(&*error))?;
        }
        let Ok(system) = self.fmus.build(&self.spec, Purpose::Check) else { return Ok(()) };
        if algebraic_loops(&system.graph, Reach::ThroughFilters).is_empty() {
            return Ok(());
        }
        let Ok(mut copy) = self.copy_at_start() else { return Ok(()) };
        zero_stability(&mut copy, config).refuse_unstable(config).map_err(|error| first(&*error))
    }

    fn choice(&self, excluded: &[Excluded], progress: &dyn Fn(&str)) -> Result<Choice> {
        let failed = RefCell::new(None);
        let mut start = |config: &RunConfig| self.copy(config).map_err(|error| engine(error, &failed));
        choose(&self.task(excluded), &mut start, progress).map_err(|error| match failed.take() {
            Some(error) => error,
            None => self.spec.blame(*error),
        })
    }

    /// Whatever fails in a choice that nobody asked for, the run will tell it, with the logs of its FMUs.
    fn unasked_choice(&self, excluded: &[Excluded], progress: &dyn Fn(&str)) -> Choice {
        let task = self.task(excluded);
        let refused = self
            .fmus
            .refused(&self.spec)
            .into_iter()
            .next()
            .map(|(name, reason)| format!("`{name}`: {reason}"));
        match refused {
            Some(reason) => held_inputs(&task, reason),
            None => self
                .choice(excluded, progress)
                .unwrap_or_else(|_| held_inputs(&task, "it cannot be tried".into())),
        }
    }

    fn task(&self, excluded: &[Excluded]) -> Task {
        let schedules = match self.spec.has_schedule() {
            true => vec![self.spec.run.schedule.clone()],
            false => vec![ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE],
        };
        Task {
            config: self.spec.run.clone(),
            steps: self.spec.steps,
            schedules,
            aim: self.spec.run.coupling.open().unwrap_or_default(),
            spared: spared(&self.spec),
            excluded: excluded.to_vec(),
            effort: if self.spec.is_asked() { Task::ASKED } else { Task::UNASKED },
        }
    }

    /// Puts numbers in the place of `filter = "auto"`, and tells them.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, no consistent start is found, or a connection is in no loop.
    pub fn choose_filters(&mut self) -> Result<Vec<FilterChoice>> {
        let open = self.spec.connections().filter(|c| is_open(c)).map(|c| c.to.clone());
        let open: Vec<String> = open.collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let mut trial = self.trial().at_start()?;
        // What is stable at the largest step is so at smaller ones.
        let run = self.spec.run.with_one_step(self.spec.run.largest_step());
        let choose = |to: &String| choose_filter(&mut trial, &run, to);
        let chosen = open.iter().map(choose).collect::<koppel::Result<Vec<_>>>();
        let chosen = chosen.map_err(|error| self.spec.blame(*error))?;
        for choice in &chosen {
            self.spec.put_filter(&choice.to, FilterConfig::pt2(choice.omega));
        }
        Ok(chosen)
    }

    /// The lines of a system file that fix what was chosen.
    #[must_use]
    pub fn pin(&self) -> Vec<String> {
        let Some(choice) = &self.chosen else { return Vec::new() };
        let run = &self.spec.run;
        let mut lines = vec![format!("step = {:?}", run.step)];
        if let Ok(schedule) = Plain::try_from(&run.schedule) {
            lines.push(format!("schedule = {schedule}"));
        }
        if choice.record_every > 1 {
            lines.push(format!("record_every = {}", choice.record_every));
        }
        lines.push(format!("coupling = {}", brief(&run.coupling)));
        lines
    }
}

/// Keeps the error as it was, for the one who asked; the engine gets its words.
pub(crate) fn engine(error: Box<Error>, kept: &RefCell<Option<Box<Error>>>) -> Box<koppel::Error> {
    let words = error.to_string();
    kept.replace(Some(error));
    Box::new(koppel::Error::Foreign { source: words.into(), hint: None })
}

#[cfg(test)]
mod tests {
    use crate::Session;
    use crate::probe_cache::ProbeCache;
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn a_broken_promise_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/two-mass.toml");
        let chosen = || {
            let mut session = Session::load(&path, &[]).unwrap();
            session.set("run.coupling", "\"auto\"", "test").unwrap();
            session.set("run.step", "\"auto\"", "test").unwrap();
            session.fmus.cache = Some(Arc::new(ProbeCache::new(folder.path())));
            session.choose_settings(&|_| {}).unwrap();
            let settings = session.chosen().unwrap().chosen.clone();
            (session, (settings.coupling, settings.schedule))
        };
        let (session, first) = chosen();
        assert_eq!(chosen().1, first);
        let promise = session.promise.as_ref().unwrap();
        promise.remember(session.fmus.cache.as_ref().unwrap(), 0.3);
        let (session, second) = chosen();
        assert_ne!(first, second);
        let refused = &session.chosen().unwrap().refused;
        assert!(refused.iter().any(|one| one.reason.contains("an error of 30 % at least")), "{refused:?}");
        // So is the next one, beside the first.
        session.promise.as_ref().unwrap().remember(session.fmus.cache.as_ref().unwrap(), 0.4);
        let third = chosen().1;
        assert!(third != first && third != second);
    }
}
