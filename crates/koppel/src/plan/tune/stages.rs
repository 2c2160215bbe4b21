//! Orders and groups in which subsystems move.
//!
//! A subsystem that advances before another gives it the value of the end of the step, every other that of its start. So a schedule is
//! no more than the answer to one question for each connection: has its source moved already? Schedules with the same answers
//! give the same results. Each is given by the earliest stages that keep the answers, so that as many as possible move side by
//! side:
//!
//!   s_j ≥ s_i + 1   if i has moved before j,     s_i ≥ s_j   if not,     for each i that feeds j               (1)

use crate::run::{RunConfig, Schedule, ScheduleConfig};
use crate::system::SystemGraph;

/// Subsystems of which all schedules are listed, at most.
pub(super) const LISTED: usize = 6;

/// Who feeds whom.
#[derive(Clone, Debug)]
pub(super) struct Stages {
    names: Vec<String>,
    feeds: Vec<(usize, usize)>,
    /// The stages of `"sequence"`.
    sequence: Vec<u16>,
}

impl Stages {
    pub(super) fn new(graph: &SystemGraph) -> Self {
        let pair = |wire: &crate::system::Wire| (wire.from, graph.subsystem_of_input(wire.target));
        let mut feeds: Vec<(usize, usize)> = graph.wires().iter().map(pair).filter(|(i, j)| i != j).collect();
        feeds.sort_unstable();
        feeds.dedup();
        let names = (0..graph.len()).map(|id| graph.name(id).to_owned()).collect();
        let mut stages = Stages { names, feeds, sequence: Vec::new() };
        stages.sequence = stages.of(&ScheduleConfig::SEQUENCE, graph).unwrap_or_default();
        stages
    }

    /// How many subsystems.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// One after the other in an automatic order.
    pub(super) fn in_sequence(&self) -> Vec<u16> {
        self.sequence.clone()
    }

    /// The stages of a schedule; nothing if it does not fit the system.
    pub(super) fn of(&self, schedule: &ScheduleConfig, graph: &SystemGraph) -> Option<Vec<u16>> {
        let config = RunConfig { schedule: schedule.clone(), ..RunConfig::new(1.0, 1.0) };
        let found = Schedule::new(&config, graph).ok()?.stages;
        let mut stages = vec![0; self.len()];
        for (number, members) in found.iter().enumerate() {
            for id in members {
                stages[*id] = u16::try_from(number).ok()?;
            }
        }
        Some(self.earliest(&stages))
    }

    /// The least solution of (1).
    pub(super) fn earliest(&self, stages: &[u16]) -> Vec<u16> {
        let mut least = vec![0; stages.len()];
        loop {
            let before: Vec<u16> = least.clone();
            for &(i, j) in &self.feeds {
                if stages[i] < stages[j] {
                    least[j] = least[j].max(least[i] + 1);
                } else {
                    least[i] = least[i].max(least[j]);
                }
            }
            if least == before {
                return least;
            }
        }
    }

    /// All that differ, of few subsystems; all in one stage first.
    pub(super) fn all(&self) -> Option<Vec<Vec<u16>>> {
        let count = self.len();
        if count > LISTED {
            return None;
        }
        let mut all: Vec<Vec<u16>> = (0..count.pow(count as u32))
            .map(|number| {
                let digit = |place: usize| (number / count.pow(place as u32) % count) as u16;
                self.earliest(&(0..count).map(digit).collect::<Vec<u16>>())
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        Some(all)
    }

    /// The settings for these stages.
    pub(super) fn schedule(&self, stages: &[u16]) -> ScheduleConfig {
        let depth = stages.iter().copied().max().unwrap_or(0);
        let members = |stage: u16| -> Vec<String> {
            let all = self.names.iter().zip(stages);
            all.filter(|(_, own)| **own == stage).map(|(name, _)| name.clone()).collect()
        };
        let groups: Vec<Vec<String>> = (0..=depth).map(members).collect();
        match depth {
            0 => ScheduleConfig::PARALLEL,
            _ if groups.iter().any(|group| group.len() > 1) => ScheduleConfig::Groups(groups),
            _ if *stages == self.sequence => ScheduleConfig::SEQUENCE,
            _ => ScheduleConfig::Order(groups.concat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(count: usize, feeds: &[(usize, usize)]) -> Stages {
        let names = (0..count).map(|k| format!("s{k}")).collect();
        Stages { names, feeds: feeds.to_vec(), sequence: Vec::new() }
    }

    #[test]
    fn a_pair_has_three_schedules() {
        let pair = stages(2, &[(0, 1), (1, 0)]);
        assert_eq!(pair.all().unwrap(), [[0, 0], [0, 1], [1, 0]]);
        let order = |names: [&str; 2]| ScheduleConfig::Order(names.map(String::from).to_vec());
        assert_eq!(pair.schedule(&[0, 0]), ScheduleConfig::PARALLEL);
        assert_eq!(pair.schedule(&[1, 0]), order(["s1", "s0"]));
    }

    /// Every subsystem feeds every other: all weak orders differ, of which there are 13 and 75 of three and four.
    #[test]
    fn orders_of_subsystems_that_all_feed_each_other_all_differ() {
        for (count, number) in [(3, 13), (4, 75)] {
            let feeds: Vec<_> =
                (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).filter(|(i, j)| i != j).collect();
            assert_eq!(stages(count, &feeds).all().unwrap().len(), number);
        }
    }

    /// In a row a - b - c only the two pairs matter: a and c can go together.
    #[test]
    fn neighbours_alone_count() {
        let row = stages(3, &[(0, 1), (1, 0), (1, 2), (2, 1)]);
        assert_eq!(row.all().unwrap().len(), 9);
        assert_eq!(row.earliest(&[0, 2, 1]), [0, 1, 0]);
        let groups = ScheduleConfig::Groups(vec![vec!["s0".into(), "s2".into()], vec!["s1".into()]]);
        assert_eq!(row.schedule(&[0, 1, 0]), groups);
    }

    /// The source alone feeds: every other takes what there is.
    #[test]
    fn earliest_stages_keep_who_has_moved_before_whom() {
        let star = stages(5, &[(0, 1), (1, 2), (2, 0), (3, 1), (4, 3), (2, 4)]);
        for number in 0..3125_usize {
            let given: Vec<u16> = (0..5).map(|k| (number / 5_usize.pow(k) % 5) as u16).collect();
            let least = star.earliest(&given);
            for &(i, j) in &star.feeds {
                assert_eq!(given[i] < given[j], least[i] < least[j], "{given:?} {least:?}");
            }
            assert!(least.iter().zip(&given).all(|(least, given)| least <= given));
            assert_eq!(star.earliest(&least), least);
        }
    }
}
