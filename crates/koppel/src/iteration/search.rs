//! The guesses for one loop.
//!
//! Whoever owns the loop evaluates it with the guess z and shows the result; the search tells whether that is good enough,
//! and if not what to try next. It has converged when for every unknown
//!
//!   |g_i(z) - z_i| ≤ tolerance · size_i
//!
//! where the size is the nominal value of the signal if it is declared, else its largest value so far.

use super::acceleration::{Acceleration, Next, build};
use super::config::IterationConfig;
use crate::linalg::Matrix;
use crate::system::{OutputId, SystemGraph};
use crate::tape::Tape;

/// What a result means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Converged,
    /// Evaluate the loop again, with the new guess.
    Again,
    /// Derivatives are wanted: [`Search::learn`] them, or take [`Search::differences`].
    Derivatives,
    /// More guesses than allowed, or no finite result.
    Failed,
}

/// A damped guess whose residual is this much larger is taken back by half.
const WORSE: f64 = 2.0;

pub(crate) struct Search {
    unknowns: Vec<OutputId>,
    nominal: Vec<Option<f64>>,
    /// Unknowns that go through a table. It knows whole numbers only, so nothing but what was given is guessed.
    tabled: Vec<usize>,
    /// Largest value of each unknown at any solution so far.
    largest: Vec<f64>,
    /// Largest guess at the present communication point.
    peak: Vec<f64>,
    acceleration: Box<dyn Acceleration>,
    tolerance: f64,
    most: u32,
    /// Size of differences relative to the signal.
    delta: f64,
    z: Vec<f64>,
    residual: Vec<f64>,
    weight: Vec<f64>,
    before: Vec<f64>,
    guesses: u32,
    evaluations: u32,
    size: f64,
    last_size: f64,
    worst: usize,
    /// The column of differences under way, with the undisturbed value and how far it was moved.
    column: Option<(usize, f64, f64)>,
    derivatives: Matrix,
    /// Solutions at the last two communication points, the older one first, and their times.
    past: Vec<f64>,
    times: [f64; 2],
}

impl Search {
    pub(crate) fn new(
        graph: &SystemGraph,
        unknowns: Vec<OutputId>,
        config: &IterationConfig,
        delta: f64,
    ) -> Self {
        let n = unknowns.len();
        let zeros = || vec![0.0; n];
        let nominal = |o: &OutputId| graph.output_variable(*o).nominal.map(f64::abs).filter(|v| *v > 0.0);
        Search {
            nominal: unknowns.iter().map(nominal).collect(),
            tabled: (0..n).filter(|i| goes_through_table(graph, unknowns[*i])).collect(),
            largest: zeros(),
            peak: zeros(),
            acceleration: build(config, n),
            tolerance: config.tolerance,
            most: config.max_iterations,
            delta,
            z: zeros(),
            residual: zeros(),
            weight: vec![1.0; n],
            before: zeros(),
            guesses: 0,
            evaluations: 0,
            size: 0.0,
            last_size: f64::INFINITY,
            worst: 0,
            column: None,
            derivatives: Matrix::zeros(n, n),
            past: vec![0.0; 2 * n],
            times: [f64::NAN; 2],
            unknowns,
        }
    }

    /// Begins at a communication point. The first guess extends the line through the last two solutions; where there are
    /// none, it is what the outputs are now.
    pub(crate) fn begin(&mut self, outputs: &[f64], time: f64) {
        let [before, last] = self.times;
        let factor = (time - last) / (last - before);
        let is_smooth = time > last && factor.is_finite() && factor < 4.0;
        let n = self.unknowns.len();
        for i in 0..n {
            let (older, newer) = (self.past[i], self.past[n + i]);
            self.z[i] = if is_smooth { newer + (newer - older) * factor } else { outputs[self.unknowns[i]] };
        }
        for &i in &self.tabled {
            self.z[i] = outputs[self.unknowns[i]];
        }
        self.peak.fill(0.0);
        self.column = None;
        (self.guesses, self.evaluations, self.last_size) = (0, 0, f64::INFINITY);
        self.acceleration.begin();
    }

    /// Writes the guess in place of the outputs.
    pub(crate) fn write(&self, outputs: &mut [f64]) {
        for (z, output) in self.z.iter().zip(&self.unknowns) {
            outputs[*output] = *z;
        }
    }

    /// Looks at the outputs to which the guess has led.
    pub(crate) fn judge(&mut self, outputs: &[f64]) -> Verdict {
        self.evaluations += 1;
        if let Some(column) = self.column {
            return self.take_column(column, outputs);
        }
        self.guesses += 1;
        self.measure(outputs);
        if !self.size.is_finite() {
            return self.take_back();
        }
        if self.size <= self.tolerance {
            self.polish();
            for (largest, z) in self.largest.iter_mut().zip(&self.z) {
                *largest = largest.max(z.abs());
            }
            return Verdict::Converged;
        }
        if self.acceleration.is_damped() && self.guesses > 1 && self.size > WORSE * self.last_size {
            return self.take_back();
        }
        self.last_size = self.size;
        self.next()
    }

    /// Remembers the solution at `time`, to guess the next one.
    pub(crate) fn remember(&mut self, outputs: &[f64], time: f64) {
        let n = self.unknowns.len();
        if time > self.times[1] || self.times[1].is_nan() {
            self.past.copy_within(n.., 0);
            self.times = [self.times[1], time];
        }
        for (past, output) in self.past[n..].iter_mut().zip(&self.unknowns) {
            *past = outputs[*output];
        }
    }

    /// Forgets the past, after which the solution may jump.
    pub(crate) fn forget(&mut self) {
        self.times = [f64::NAN; 2];
    }

    /// Relative residual of the last guess.
    pub(crate) fn size(&self) -> f64 {
        self.size
    }

    /// Evaluations since the start.
    pub(crate) fn evaluations(&self) -> u32 {
        self.evaluations
    }

    /// The unknown with the largest relative residual.
    pub(crate) fn worst(&self) -> OutputId {
        self.unknowns[self.worst]
    }

    /// The solution is where the next guess would be, as long as that is within the tolerance; else the result.
    fn polish(&mut self) {
        self.before.copy_from_slice(&self.z);
        let next = self.acceleration.next(&self.weight, &mut self.z, &self.residual);
        let moves = self.z.iter().zip(&self.before).zip(&self.weight);
        let is_near = moves.into_iter().all(|((z, before), w)| ((z - before) * w).abs() <= self.tolerance);
        if next == Next::Differences || !is_near {
            for ((z, before), r) in self.z.iter_mut().zip(&self.before).zip(&self.residual) {
                *z = before + r;
            }
        }
    }

    fn measure(&mut self, outputs: &[f64]) {
        (self.size, self.worst) = (0.0, 0);
        for (i, output) in self.unknowns.iter().enumerate() {
            let (z, g) = (self.z[i], outputs[*output]);
            self.peak[i] = self.peak[i].max(z.abs());
            // A solution that is zero has no size of its own: beside the guesses it is round-off.
            let magnitude = self.largest[i].max(z.abs()).max(g.abs()).max(1e-6 * self.peak[i]);
            let size = self.nominal[i].unwrap_or(magnitude);
            self.weight[i] = if size > 0.0 { 1.0 / size } else { 1.0 };
            self.residual[i] = g - z;
            let relative = (self.residual[i] * self.weight[i]).abs();
            // A value that is not a number is larger than any other.
            if relative > self.size || relative.is_nan() {
                (self.size, self.worst) = (if relative.is_nan() { f64::INFINITY } else { relative }, i);
            }
        }
    }

    fn next(&mut self) -> Verdict {
        if self.guesses >= self.most {
            return Verdict::Failed;
        }
        self.before.copy_from_slice(&self.z);
        match self.acceleration.next(&self.weight, &mut self.z, &self.residual) {
            Next::Try => {
                self.tabled.iter().for_each(|i| self.z[*i] = self.before[*i] + self.residual[*i]);
                Verdict::Again
            }
            Next::Differences => Verdict::Derivatives,
        }
    }

    /// Goes on with ∂g/∂z at the guess.
    pub(crate) fn learn(&mut self, derivatives: &Matrix) -> Verdict {
        match self.acceleration.learn(derivatives) {
            Ok(()) => self.next(),
            // The loop has no unique solution here.
            Err(_) => Verdict::Failed,
        }
    }

    /// Goes on by moving one unknown after the other.
    pub(crate) fn differences(&mut self) -> Verdict {
        self.disturb(0)
    }

    /// Half of the last change is taken back.
    fn take_back(&mut self) -> Verdict {
        if self.guesses <= 1 || self.guesses >= self.most {
            return Verdict::Failed;
        }
        for (z, before) in self.z.iter_mut().zip(&self.before) {
            *z = 0.5 * (*z + before);
        }
        Verdict::Again
    }

    /// Moves one unknown to see what follows.
    fn disturb(&mut self, j: usize) -> Verdict {
        let kept = self.z[j];
        self.z[j] += self.delta / self.weight[j];
        self.column = Some((j, kept, self.z[j] - kept));
        Verdict::Again
    }

    fn take_column(&mut self, (j, kept, moved): (usize, f64, f64), outputs: &[f64]) -> Verdict {
        self.z[j] = kept;
        for (i, output) in self.unknowns.iter().enumerate() {
            let undisturbed = self.residual[i] + self.z[i];
            self.derivatives[(i, j)] = (outputs[*output] - undisturbed) / moved;
        }
        if j + 1 < self.z.len() {
            return self.disturb(j + 1);
        }
        self.column = None;
        let found = std::mem::take(&mut self.derivatives);
        let verdict = self.learn(&found);
        self.derivatives = found;
        verdict
    }

    pub(crate) fn state(&mut self, tape: &mut Tape<'_>) {
        for list in [&mut self.largest[..], &mut self.past, &mut self.times] {
            tape.numbers(list);
        }
        self.acceleration.state(tape);
    }
}

fn goes_through_table(graph: &SystemGraph, output: OutputId) -> bool {
    let from_here = graph.wires().iter().filter(|wire| wire.source == output);
    from_here.into_iter().any(|wire| graph.map(wire.target).is_some())
}
