//! The nodes of a subsystem: measured, or predicted, and how those of a step become its past.

use super::Member;
use crate::coupling::View;
use crate::identify::Size;
use crate::signal::Samples;

impl Member {
    /// Takes the nodes of the step that has ended.
    pub(in crate::coupling::vfps) fn note(&mut self, view: &View<'_>, samples: &Samples) {
        let (n, m, past) = (self.size.outputs, self.size.inputs, self.size.past);
        let is_complete = samples.times().len() == self.nodes + 1;
        for j in 1..=self.nodes {
            let offset = view.step.size * j as f64 / self.nodes as f64;
            let (row, time) = (past - 1 + j, view.step.start + offset);
            for k in 0..n {
                let value = if is_complete {
                    samples.at(j)[k]
                } else {
                    // Without nodes inside, a line between the ends.
                    let share = j as f64 / self.nodes as f64;
                    let begin = self.y[(past - 1) * n + k] * self.output_ranges[k] + self.output_start[k];
                    begin + (view.outputs[self.outputs.start + k] - begin) * share
                };
                self.y[row * n + k] = (value - self.output_start[k]) / self.output_ranges[k];
            }
            for k in 0..m {
                let value = view.given(self.inputs[k], offset);
                self.u[row * m + k] = self.scaled_input(view, k, value, time);
                self.given[(j - 1) * m + k] = (value - self.input_start[k]) / self.input_ranges[k];
            }
        }
        self.has_moved = true;
    }

    /// Notes how far its outputs have been.
    pub(in crate::coupling::vfps) fn widen_extents(&mut self) {
        let n = self.size.outputs;
        for (i, y) in self.y[self.size.past * n..].iter().enumerate() {
            self.extents[i % n] = self.extents[i % n].max(y.abs());
        }
    }

    /// The nodes of the finished step become the past.
    pub(in crate::coupling::vfps) fn shift(&mut self) {
        let (n, m) = (self.size.outputs, self.size.inputs);
        self.y.copy_within(self.nodes * n.., 0);
        self.u.copy_within(self.nodes * m.., 0);
    }

    /// The same after a step that was only `share` of a whole one: the past is read between its nodes.
    pub(in crate::coupling::vfps) fn resample(&mut self, share: f64) {
        let Size { outputs: n, inputs: m, past } = self.size;
        for row in 0..past {
            // Counted in sub-steps from the start of the step; the oldest rows first, which overwrite none that are needed.
            let place = share * self.nodes as f64 - (past - 1 - row) as f64;
            let spacing = if place > 0.0 { share } else { 1.0 };
            let at = (past - 1) as f64 + place / spacing;
            let below = at.floor().clamp(0.0, (past + self.nodes - 2) as f64);
            let (a, weight) = (below as usize, (at - below).clamp(0.0, 1.0));
            for (signal, width) in [(&mut self.y, n), (&mut self.u, m)] {
                for k in 0..width {
                    let (low, high) = (signal[a * width + k], signal[(a + 1) * width + k]);
                    signal[row * width + k] = low + (high - low) * weight;
                }
            }
        }
    }

    /// After a jump of the outputs the past is moved along: increments stay what they were.
    pub(in crate::coupling::vfps) fn follow_jump(&mut self, view: &View<'_>) {
        let Size { outputs: n, inputs: m, past } = self.size;
        for k in 0..n {
            let output = self.outputs.start + k;
            let mut jump = (view.outputs[output] - self.output_start[k]) / self.output_ranges[k];
            jump -= self.y[(past - 1) * n + k];
            if view.graph.output_variable(output).depends != crate::system::Dependencies::None {
                // It was read with the inputs that have arrived, not with those that were given.
                for i in 0..m {
                    let away = view.read_with[self.inputs[i]] - view.applied[self.inputs[i]];
                    jump -= self.pool.fitted().direct(k, i) * away / self.input_ranges[i];
                }
            }
            (0..past).for_each(|row| self.y[row * n + k] += jump);
        }
    }

    /// Nodes of its outputs in the step that has ended, into rows of all outputs.
    pub(in crate::coupling::vfps) fn copy_outputs(&self, all: &mut [f64], width: usize) {
        let n = self.size.outputs;
        for j in 0..self.nodes {
            let row = &self.y[(self.size.past + j) * n..][..n];
            all[j * width + self.outputs.start..][..n].copy_from_slice(row);
        }
    }

    /// The newest outputs.
    pub(in crate::coupling::vfps) fn newest(&self) -> &[f64] {
        let n = self.size.outputs;
        &self.y[(self.size.past - 1) * n..][..n]
    }

    /// Widens the extremes of all outputs by its predicted nodes.
    pub(in crate::coupling::vfps) fn widen(&self, low: &mut [f64], high: &mut [f64]) {
        let n = self.size.outputs;
        for (i, y) in self.y[self.size.past * n..].iter().enumerate() {
            let output = self.outputs.start + i % n;
            low[output] = low[output].min(*y);
            high[output] = high[output].max(*y);
        }
    }

    /// Adds what lines between its predicted nodes cut off, for outputs that are connected.
    pub(in crate::coupling::vfps) fn add_bends(&self, sums: &mut [f64]) {
        let (n, past) = (self.size.outputs, self.size.past);
        for k in (0..n).filter(|k| self.is_wired[*k]) {
            let y = |row: usize| self.y[row * n + k];
            let rows = (past - 1).max(1)..past + self.nodes - 1;
            let bends = rows.map(|row| (y(row + 1) - 2.0 * y(row) + y(row - 1)).abs() / 12.0);
            sums[self.outputs.start + k] += bends.sum::<f64>();
        }
    }
}
