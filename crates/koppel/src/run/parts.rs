//! Parts of a macro step: a timed change inside it cuts it, and so do the small first steps of some methods.

use super::changes::Assignment;
use crate::coupling::Needs;

/// A `reduced` start cuts the first macro step into parts that double: H/1024, H/1024, H/512, ...
const CASCADE: u32 = 10;

/// Ends of the parts of the macro step under way, and how many are done. Empty usually.
#[derive(Default)]
pub(super) struct Parts {
    ends: Vec<f64>,
    done: usize,
}

/// A macro step, or what is left of it.
pub(super) struct Span {
    pub(super) start: f64,
    pub(super) end: f64,
    /// Ticks done before it.
    pub(super) index: u64,
    /// True if a part of it is done.
    pub(super) is_inside: bool,
    /// When the run began.
    pub(super) run_start: f64,
}

impl Parts {
    /// True if no part is left.
    pub(super) fn are_done(&self) -> bool {
        self.done == self.ends.len()
    }

    /// The end of the next part, if one is left.
    pub(super) fn next(&mut self) -> Option<f64> {
        let end = self.ends.get(self.done).copied()?;
        self.done += 1;
        Some(end)
    }

    /// The step is whole.
    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.done = 0;
    }

    /// The start of the part that was done last, if it has ended at `time`.
    pub(super) fn start_of_last(&self, time: f64) -> Option<f64> {
        match &self.ends[..self.done] {
            [.., from, to] if *to == time => Some(*from),
            _ => None,
        }
    }

    /// Cuts a step where the method and the changes that are still to come say so; false if it stays whole.
    #[inline]
    pub(super) fn cut(&mut self, span: &Span, needs: &Needs, changes: &[Assignment]) -> bool {
        self.clear();
        let starts_small = span.index == 0 && needs.reduced_start;
        if changes.is_empty() && !starts_small && needs.small_steps.is_none() {
            return false;
        }
        self.find_ends(span, needs, changes);
        !self.ends.is_empty()
    }

    fn find_ends(&mut self, span: &Span, needs: &Needs, changes: &[Assignment]) {
        let Span { start, end, .. } = *span;
        let size = end - start;
        if span.index == 0 && !span.is_inside && needs.reduced_start {
            self.ends
                .extend((0..CASCADE).rev().map(|halvings| start + size * 0.5_f64.powi(halvings as i32 + 1)));
        }
        let margin = 1e-9 * size;
        if let Some((duration, parts)) = needs.small_steps
            && start < span.run_start + duration - margin
        {
            self.ends.extend((1..parts).map(|k| start + size * f64::from(k) / f64::from(parts)));
        }
        let inside = |change: &&Assignment| change.time > start + margin && change.time < end - margin;
        let due = changes.iter().take_while(|change| change.time < end);
        self.ends.extend(due.filter(inside).map(|change| change.time));
        if !self.ends.is_empty() {
            self.ends.sort_by(f64::total_cmp);
            self.ends.dedup_by(|later, earlier| *later - *earlier <= margin);
            self.ends.push(end);
        }
    }
}
