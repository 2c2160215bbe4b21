//! Whether the subsystems were excited as far as the run will take them.
//!
//! The models themselves tell: the coupled prediction goes on from step to step, its own nodes taken for measured ones, under
//! the external signals of the run. Where it moves signals of a subsystem that is not linear much further, or much less far,
//! than they were excited, the subsystem is excited anew with the ranges seen here.

use super::{Vfps, View};
use crate::identify::Probed;
use crate::signal::Step;

/// A model with a larger error over one step ahead, relative to the ranges, depends on how far it was excited.
const NON_LINEAR: f64 = 1e-3;
/// Ranges that differ by less than this factor are the same.
const MUCH: f64 = 3.0;
/// Ranges are changed by no more than this factor at once.
const MOST: f64 = 30.0;

impl Vfps {
    /// Ranges of all outputs with which subsystems should be excited again; nothing if all is well.
    pub(super) fn rehearse(&mut self, view: &View<'_>, probed: &[Probed], steps: u64) -> Option<Vec<f64>> {
        let outputs = view.graph.outputs();
        let (mut low, mut high) = (vec![0.0_f64; outputs], vec![0.0_f64; outputs]);
        for index in 0..steps {
            let start = view.step.start + index as f64 * self.size;
            let ahead = View { step: Step { index: 0, start, size: self.size }, ..*view };
            if self.predict(&ahead).is_err() {
                break;
            }
            for member in &mut self.members {
                member.widen(&mut low, &mut high);
                member.shift();
            }
        }
        let used: Vec<f64> = self.members.iter().flat_map(|m| m.output_ranges()).copied().collect();
        let seen = |k: usize| used[k] * (high[k] - low[k]).clamp(1.0 / MOST, MOST);
        let ranges: Vec<f64> =
            (0..outputs).map(|k| if high[k] > low[k] { seen(k) } else { used[k] }).collect();
        let is_far = |k: usize| !(1.0 / MUCH..=MUCH).contains(&(ranges[k] / used[k]));
        let is_wrong = |(id, probed): (usize, &Probed)| {
            let is_linear = probed.fit.as_ref().is_none_or(|fit| fit.error < NON_LINEAR);
            let member = &self.members[id];
            !is_linear && member.outputs.clone().chain(member.wires.iter().map(|w| w.source)).any(is_far)
        };
        probed.iter().enumerate().any(is_wrong).then_some(ranges)
    }
}
