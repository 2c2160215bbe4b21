//! Whether the subsystems were excited as far as the run will take them.
//!
//! The models themselves tell: the coupled prediction goes on from step to step, its own nodes taken for measured ones, under
//! the external signals of the run. Where it moves signals of a subsystem that is not linear much further, or much less far,
//! than they were excited, the subsystem is excited again with the ranges seen here.

use super::View;
use super::prediction::Prediction;
use crate::identify::Probed;
use crate::signal::Step;

/// A model with a larger error over one step ahead, relative to the ranges, depends on how far it was excited.
const NON_LINEAR: f64 = 1e-3;
/// Ranges that differ by less than this factor are the same.
const MUCH: f64 = 3.0;
/// Ranges are changed by no more than this factor at once.
const MOST: f64 = 30.0;

/// What a rehearsal shows.
pub(super) struct Rehearsal {
    /// Ranges of all outputs with which subsystems should be excited again; nothing if all is well.
    pub(super) ranges: Option<Vec<f64>>,
    /// Mean of what lines between nodes cut off, of the signal that loses most, relative to its range; nothing if the
    /// rehearsal did not come to its end.
    pub(super) cut: Option<f64>,
    /// Whether all subsystems are linear.
    pub(super) are_linear: bool,
}

impl Prediction {
    /// Follows the models alone.
    pub(super) fn rehearse(&mut self, view: &View<'_>, probed: &[Probed], steps: u64) -> Rehearsal {
        let outputs = view.graph.outputs();
        let (mut bends, mut is_complete) = (vec![0.0; outputs], true);
        let (mut low, mut high) = (vec![0.0_f64; outputs], vec![0.0_f64; outputs]);
        for index in 0..steps {
            let start = view.step.start + index as f64 * self.size;
            let ahead = View { step: Step { index: 0, start, size: self.size }, ..*view };
            if self.predict(&ahead).is_err() {
                is_complete = false;
                break;
            }
            for member in &mut self.members {
                member.add_bends(&mut bends);
                member.widen(&mut low, &mut high);
                member.shift();
            }
        }
        let used = self.ranges();
        let observed = |k: usize| used[k] * (high[k] - low[k]).clamp(1.0 / MOST, MOST);
        let ranges: Vec<f64> =
            (0..outputs).map(|k| if high[k] > low[k] { observed(k) } else { used[k] }).collect();
        let is_far = |k: usize| !(1.0 / MUCH..=MUCH).contains(&(ranges[k] / used[k]));
        let is_linear = |probed: &Probed| probed.fit.as_ref().is_none_or(|fit| fit.error < NON_LINEAR);
        let is_wrong = |(id, probed): (usize, &Probed)| {
            let is_linear = is_linear(probed);
            let member = &self.members[id];
            !is_linear && member.outputs.clone().chain(member.wires.iter().map(|w| w.source)).any(is_far)
        };
        let count = (steps * self.parts as u64).max(1) as f64;
        let cuts =
            (0..outputs).filter(|k| high[*k] > low[*k]).map(|k| bends[k] / (count * (high[k] - low[k])));
        let is_known = probed.iter().all(|probed| probed.fit.is_some() || probed.output_ranges.is_empty());
        let cut = (is_complete && is_known).then(|| cuts.fold(0.0, f64::max));
        let are_linear = probed.iter().all(is_linear);
        let is_any_wrong = probed.iter().enumerate().any(is_wrong);
        Rehearsal { ranges: is_any_wrong.then_some(ranges), cut, are_linear }
    }
}
