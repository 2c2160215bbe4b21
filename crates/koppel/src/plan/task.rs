//! What is asked of a choice of settings.

use super::candidate::Candidate;
use crate::analysis::rounded_down;
use crate::coupling::{AutoConfig, CouplingConfig, MethodInfo, methods};
use crate::run::{RunConfig, ScheduleConfig};

/// What may be chosen about a run, and what it is to reach.
#[derive(Clone, Debug)]
pub struct Task {
    /// All settings; a coupling is chosen wherever they say `auto`. The step counts as said by `steps`.
    pub config: RunConfig,
    /// Which steps may be taken.
    pub steps: Steps,
    /// Schedules that may be taken, the preferred one first.
    pub schedules: Vec<ScheduleConfig>,
    /// The error it may have, and what it is to save.
    pub aim: AutoConfig,
    /// Subsystems of which no copy may be made, each with the reason.
    pub spared: Vec<(String, String)>,
    /// Couplings that were found not to be of use, each with its schedule: in another order of steps it may be.
    pub excluded: Vec<(CouplingConfig, ScheduleConfig)>,
    /// Calls of subsystems that choosing may take: [`Task::ASKED`] if it was asked for. A tenth of those of the run if that is more.
    pub effort: f64,
}

/// Which macro steps may be taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steps {
    /// That of the settings.
    Given,
    /// Any.
    Free,
    /// A whole part of the run, for subsystems that take steps of one size only.
    Dividing,
    /// A whole part of this time, so that there is a row at each of its multiples.
    Within(f64),
}

/// Fewest steps of a run.
pub(super) const FEWEST: f64 = 10.0;
/// Most steps of a run with a step of koppel's own choice.
const MOST: f64 = 100_000.0;

impl Task {
    /// Calls that choosing may take if it was asked for.
    pub const ASKED: f64 = 100_000.0;
    /// Calls that choosing may take if nothing was said of it.
    pub const UNASKED: f64 = 20_000.0;

    /// Every method that is tried, at the step of the settings, the simplest first. An iteration makes methods alike: then only holds
    /// are.
    pub(super) fn methods(&self) -> Vec<Candidate> {
        let config = &self.config;
        let candidate = |coupling: &CouplingConfig, schedule: &ScheduleConfig| Candidate {
            coupling: config.coupling.filled(coupling),
            schedule: schedule.clone(),
            ..Candidate::of(config)
        };
        if config.coupling.open().is_none() {
            return self.schedules.iter().map(|schedule| candidate(&config.coupling, schedule)).collect();
        }
        let mut all = methods();
        crate::sort::sort_by_key(&mut all, |info| info.rank);
        let is_hold = |info: &&MethodInfo| info.interpolates.is_some();
        let holds: Vec<_> =
            all.iter().copied().filter(is_hold).flat_map(|info| (info.candidates)()).collect();
        // These predict all inputs at once or need the step's mean: what moves first changes little.
        // What is to be spared is not to be excited.
        let is_allowed = |info: &&MethodInfo| {
            !is_hold(info) && config.iteration.is_none() && (self.spared.is_empty() || !info.excites())
        };
        let others: Vec<_> =
            all.iter().copied().filter(is_allowed).flat_map(|info| (info.candidates)()).collect();
        let both = self.schedules.iter().flat_map(|schedule| holds.iter().map(move |hold| (hold, schedule)));
        let others = others.iter().zip(self.schedules.first().into_iter().cycle());
        let all = both.chain(others).map(|(one, schedule)| candidate(one, schedule));
        let is_excluded = |one: &Candidate| {
            self.excluded
                .iter()
                .any(|(coupling, schedule)| (coupling, schedule) == (&one.coupling, &one.schedule))
        };
        all.filter(|one| !is_excluded(one)).collect()
    }

    /// The longest and the shortest step that is tried.
    pub(super) fn range(&self) -> (f64, f64) {
        let duration = self.config.stop - self.config.start;
        let longest = match self.steps {
            Steps::Given => self.config.step,
            Steps::Free | Steps::Dividing => duration / FEWEST,
            Steps::Within(grid) => grid.min(duration / FEWEST),
        };
        (longest, (duration / MOST).min(longest))
    }

    /// The next step that may be taken, at most so long.
    pub(super) fn allowed(&self, step: f64) -> f64 {
        match self.steps {
            Steps::Given => self.config.step,
            Steps::Free => rounded_down(step),
            Steps::Dividing => part_of(self.config.stop - self.config.start, step),
            Steps::Within(grid) => part_of(grid, step),
        }
    }

    /// Rows of the run at this step: one every so many steps.
    pub(super) fn record_every(&self, step: f64) -> u64 {
        match self.steps {
            Steps::Given | Steps::Free | Steps::Dividing => self.config.record_every,
            Steps::Within(grid) => self.config.record_every * (grid / step).round().max(1.0) as u64,
        }
    }
}

/// The longest whole part of a time that is at most so long.
fn part_of(whole: f64, step: f64) -> f64 {
    whole / (whole / step * (1.0 - 1e-12)).ceil().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(steps: Steps) -> Task {
        let coupling = CouplingConfig::Auto(AutoConfig::default());
        let config = RunConfig { coupling, ..RunConfig::new(1.0, 0.01) };
        let schedules = vec![ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE];
        Task {
            excluded: Vec::new(),
            config,
            steps,
            schedules,
            aim: AutoConfig::default(),
            spared: Vec::new(),
            effort: Task::ASKED,
        }
    }

    #[test]
    fn a_given_step_stays_and_rows_on_a_grid_come_out() {
        assert_eq!(task(Steps::Given).allowed(0.003), 0.01);
        let free = task(Steps::Free);
        assert!((free.allowed(0.003_456) - 0.0034).abs() < 1e-15);
        let dividing = task(Steps::Dividing);
        assert_eq!((dividing.allowed(0.3), dividing.allowed(0.1)), (0.25, 0.1));
        let within = task(Steps::Within(0.02));
        assert_eq!(within.allowed(0.5), 0.02);
        assert_eq!(within.allowed(0.0199), 0.01);
        assert_eq!((within.record_every(0.01), within.record_every(0.02)), (2, 1));
    }

    #[test]
    fn a_coupling_is_excluded_with_its_schedule_alone() {
        let excluded = vec![(CouplingConfig::zoh(), ScheduleConfig::PARALLEL)];
        let methods = Task { excluded, ..task(Steps::Free) }.methods();
        let holds: Vec<_> = methods.iter().filter(|one| one.coupling == CouplingConfig::zoh()).collect();
        assert!(holds.len() == 1 && holds[0].schedule == ScheduleConfig::SEQUENCE, "{methods:?}");
        assert_eq!(methods.len() + 1, task(Steps::Free).methods().len());
    }

    #[test]
    fn every_open_place_is_filled_and_no_other() {
        let methods = task(Steps::Free).methods();
        assert!(methods.iter().all(|one| one.coupling.open().is_none()), "{methods:?}");
        assert!(methods.len() > 8);
        let spared = Task { spared: vec![("device".into(), "it is one".into())], ..task(Steps::Free) };
        assert!(spared.methods().iter().all(|one| !one.coupling.excites()));
        let mut fixed = task(Steps::Free);
        fixed.config.coupling = CouplingConfig::zoh();
        assert!(fixed.methods().iter().all(|one| one.coupling == CouplingConfig::zoh()));
    }
}
