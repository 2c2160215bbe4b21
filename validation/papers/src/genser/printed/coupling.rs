//! A run coupled by the pre-step method in discrete time: Genser 2020, 2.2.2 and 2.4.

use super::masses::{MICRO, Masses, STEP, STEPS, force, kick};
use super::models::{FED_BY, Jacobians, MOST, Past, Rls, jacobians};
use super::{Factors, Model, Reading};

/// L y.
fn wired(y: [f64; 3]) -> [f64; 3] {
    [y[2], y[0], y[1]]
}

/// A run under way.
struct Run<'a> {
    pub(super) reading: &'a Reading,
    pub(super) f: &'a Factors,
    pub(super) rls: Vec<Rls>,
    pub(super) past: Past,
    pub(super) models: Jacobians,
    /// Smallest and largest outputs so far.
    pub(super) range: [[f64; 2]; 3],
    pub(super) delta: [f64; 3],
    pub(super) delta_before: [f64; 3],
    pub(super) epsilon: [f64; 3],
    pub(super) wired_before: [f64; 3],
}

impl Run<'_> {
    /// Learns from the step that has ended; the quality (2.93) of the models.
    fn learn(&mut self, y: [f64; 3], kick: f64) -> f64 {
        let (reading, f) = (self.reading, self.f);
        let mut errors = [0.0; 3];
        for i in 0..3 {
            let mut phi = [0.0; MOST];
            let late = usize::from(reading.is_late);
            let outputs = (0..f.n).map(|j| self.past.y[j][i]);
            let inputs = FED_BY[i].iter().flat_map(|w| (0..f.m).map(move |j| (*w, j + late)));
            let kicks = (0..if reading.is_kick_known && i < 2 { f.m } else { 0 }).map(|j| (3, j));
            let given = inputs.chain(kicks).map(|(w, j)| self.past.u[j][w]);
            let all = outputs.chain(given).chain(reading.has_constant.then_some(1.0));
            phi.iter_mut().zip(all).for_each(|(place, value)| *place = value);
            errors[i] = y[i] - self.rls[i].predict(&phi);
            self.rls[i].learn(&phi, y[i], f.forgetting, reading.is_covariance_printed);
            if reading.is_quality_after {
                errors[i] = y[i] - self.rls[i].predict(&phi);
            }
        }
        let before = self.models;
        self.models = jacobians(reading, f, &self.rls, &self.past, kick);
        let judge = if reading.is_quality_after { self.models } else { before };
        for i in 0..3 {
            if !matches!(reading.model, Model::Recursion(_)) {
                let driven = FED_BY[i].iter().enumerate().map(|(w, g)| judge.j1[i][w] * self.past.u[0][*g]);
                errors[i] = y[i] - judge.jy[i] * self.past.y[0][i] - judge.c[i] - driven.sum::<f64>();
            }
            let [low, high] = &mut self.range[i];
            (*low, *high) = (low.min(y[i]), high.max(y[i]));
            errors[i] = errors[i].abs() / (*high - *low + 1e-12);
        }
        (0.5 * (errors[0] + errors[1])).hypot(errors[2])
    }

    /// What the ideal past adds to the measured one in terms older than those of the models, if they count.
    fn older(&self, i: usize, delta: [f64; 3], gap: [f64; 3]) -> f64 {
        let (f, p) = (self.f, &self.rls[i].p);
        if self.reading.model != Model::Recursion(true) || !f.has_step_one {
            return 0.0;
        }
        let outputs = if f.n == 2 { p[1] * delta[i] } else { 0.0 };
        let inputs = FED_BY[i].iter().enumerate().map(|(w, g)| p[f.n + w * f.m + 1] * gap[*g]);
        outputs + if f.m == 2 { inputs.sum::<f64>() } else { 0.0 }
    }

    /// Steps 1 to 3: inputs of the step ahead.
    fn couple(&mut self, y: [f64; 3], quality: f64, epsilon: [f64; 3]) -> [f64; 3] {
        let (f, models) = (self.f, self.models);
        let gap = |delta: [f64; 3], epsilon: [f64; 3]| -> [f64; 3] {
            let ideal = wired(delta);
            std::array::from_fn(|i| ideal[i] + epsilon[i])
        };
        if f.has_step_one {
            if self.reading.is_delta_reset {
                self.delta = [0.0; 3];
            }
            let before = gap(self.delta, self.epsilon);
            let rhs = std::array::from_fn(|i| {
                let driven = FED_BY[i].iter().enumerate().map(|(w, g)| models.j1[i][w] * epsilon[*g]);
                models.jy[i] * self.delta[i] + driven.sum::<f64>() + self.older(i, self.delta_before, before)
            });
            self.delta_before = self.delta;
            self.delta = models.close(rhs);
        }
        let now = gap(self.delta, epsilon);
        let aim = models.close(std::array::from_fn(|i| {
            models.jy[i] * (y[i] + self.delta[i]) + models.c[i] + self.older(i, self.delta_before, now)
        }));
        let ideal = wired(aim);
        if quality < f.modified_above { models.optimize(aim, y, ideal) } else { ideal }
    }

    /// Inputs of the step ahead from the communication point on.
    fn inputs(&mut self, step: usize, y: [f64; 3]) -> [f64; 3] {
        let time = step as f64 * STEP;
        let now = wired(y);
        let before = std::mem::replace(&mut self.wired_before, now);
        let held: [f64; 3] = if self.reading.is_foh && step > 0 {
            std::array::from_fn(|i| 2.0 * now[i] - before[i])
        } else {
            now
        };
        let epsilon = std::array::from_fn(|i| now[i] - self.past.u[0][i]);
        let mut given = held;
        let mut is_coupled = false;
        if step > 0 {
            let quality = self.learn(y, kick(step, MICRO - 1, self.reading.width));
            if time > self.f.learning - 1e-9 {
                let found = self.couple(y, quality, epsilon);
                is_coupled = quality < self.f.hold_above && found.iter().all(|u| u.is_finite());
                let share = 0.5 * ((-5.0 + 10.0 / self.f.switch * (time - self.f.learning)).tanh() + 1.0);
                let share = if time < self.f.learning + self.f.switch { share } else { 1.0 };
                if is_coupled {
                    given = std::array::from_fn(|i| share * found[i] + (1.0 - share) * held[i]);
                }
            }
        }
        if !is_coupled {
            (self.delta, self.delta_before) = ([0.0; 3], [0.0; 3]);
        }
        self.epsilon = epsilon;
        given
    }
}

/// The error (3.9) of a run, at most 1.
pub(super) fn error(reading: &Reading, f: &Factors, exact: &[[f64; 3]]) -> f64 {
    let mut masses = Masses::START;
    let mut y = masses.outputs([0.0, 0.1, 0.0]);
    let mut u = wired(y);
    let count = |i: usize| {
        let kick = usize::from(reading.is_kick_known && i < 2);
        f.n + f.m * (FED_BY[i].len() + kick) + usize::from(reading.has_constant)
    };
    let mut run = Run {
        reading,
        f,
        rls: (0..3).map(|i| Rls::new(count(i), reading.covariance)).collect(),
        past: Past::default(),
        models: Jacobians::default(),
        range: y.map(|y| [y, y]),
        delta: [0.0; 3],
        delta_before: [0.0; 3],
        epsilon: [0.0; 3],
        wired_before: u,
    };
    let mut sums = [0.0; 3];
    for step in 0..STEPS {
        let next = run.inputs(step, y);
        for micro in 0..MICRO {
            let share = if reading.is_continuous { micro as f64 / MICRO as f64 } else { 1.0 };
            let at: [f64; 3] = std::array::from_fn(|i| u[i] + share * (next[i] - u[i]));
            let [_, _, x2, v2] = masses.0;
            let second = force(x2 - at[1], v2 - at[2]);
            masses.advance(at[0] + kick(step, micro, reading.width), second);
        }
        u = next;
        run.past.y = [y, run.past.y[0]];
        run.past.u.rotate_right(1);
        run.past.u[0] = [u[0], u[1], u[2], kick(step, MICRO - 1, reading.width)];
        y = masses.outputs(u);
        if y.iter().any(|y| y.is_nan() || y.abs() > 1e12) {
            return 1.0;
        }
        (0..3).for_each(|i| sums[i] += (y[i] - exact[step + 1][i]).abs());
    }
    let relative = |i: usize| {
        let of = |fold: fn(f64, f64) -> f64, from| exact.iter().map(|y| y[i]).fold(from, fold);
        sums[i] / STEPS as f64 / (of(f64::max, f64::MIN) - of(f64::min, f64::MAX))
    };
    (0.5 * (relative(0) + relative(1))).hypot(relative(2)).min(1.0)
}
