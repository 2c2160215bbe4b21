//! A linear model of a subsystem from experiments with inputs that are held over steps.
//!
//! Every input steps alone, from where the subsystem stands; two more experiments with random inputs, one of them at steps of another
//! size, choose and judge the model; a last one takes inputs or outputs over their whole ranges. Steps begin at those of the run. They are shortened where poles turn too fast to be distinguished from slower
//! ones, or the model misses the experiment at the other step size; and made longer where nothing moves far enough in a step.

use super::excitation::excite;
use super::{Answer, Probe, QuestionKind};
use crate::error::{Error, Result};
use crate::identify::surrogate::{Course, NO_LOGARITHM, Realization, Seen, Surrogate};
use crate::linalg::Matrix;
use crate::signal::Step;
use crate::system::StateSpace;

/// Steps of one experiment.
const STEPS: usize = 64;
/// Of the ranges of inputs, how far they move at first.
const AMPLITUDE: f64 = 0.1;
/// Outputs may move by this much of their range, and what is aimed at if they move more.
const LARGEST_MOVE: f64 = 0.5;
const WANTED_MOVE: f64 = 0.25;
/// Amplitudes tried.
const AMPLITUDES: usize = 6;
/// Step sizes tried, and the factor between them.
const SIZES: usize = 6;
const FACTOR: f64 = 4.0;
/// The other step size, relative to the first: no fraction of it, so that what is one frequency at both is one.
const OTHER: f64 = 0.37;
/// Poles that turn further in a step, in rad, may be others that turn further still.
const FASTEST: f64 = 1.6;
/// Steps in which no pole moves further hardly show it; nor do those in which none moves at all, but none would.
const SLOWEST: f64 = 0.05;
const NOT_AT_ALL: f64 = 1e-6;
/// Models that miss less are good enough to stop.
const GOOD: f64 = 5e-3;

/// What is looked for.
pub struct LinearQuery<'a> {
    /// Ranges of the inputs that are excited.
    pub inputs: &'a [f64],
    /// Ranges of all outputs.
    pub outputs: &'a [f64],
    /// The outputs that the model has.
    pub watched: &'a [usize],
    /// Told what is under way.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

/// The way to another step size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SizeChange {
    Shorter,
    Longer,
}

struct Attempt {
    found: Realization,
    seen: Seen,
    step: f64,
    amplitude: f64,
    error: f64,
    /// How far outputs moved at most, relative to their ranges.
    largest: f64,
}

impl Probe<'_> {
    /// Its linear model.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] with the reason if there is none.
    pub fn linear(&mut self, look: &LinearQuery<'_>) -> Result<Surrogate> {
        let asked = QuestionKind::Linear(look.inputs.to_vec(), look.outputs.to_vec(), look.watched.to_vec());
        let answer = self.ask(asked, |probe| Ok(Answer::Linear(Box::new(probe.find_linear(look)?))))?;
        match answer {
            Answer::Linear(found) => Ok(*found),
            _ => Err(none("its cached answer does not fit")),
        }
    }

    fn find_linear(&mut self, look: &LinearQuery<'_>) -> Result<Surrogate> {
        if look.inputs.is_empty() || look.watched.is_empty() {
            return self.without_inputs(look);
        }
        let may_vary = !self.subject.subsystem.ports().one_step_size;
        let mut step = self.subject.place.size;
        let (mut best, mut last): (Option<Attempt>, Option<SizeChange>) = (None, None);
        for _ in 0..SIZES {
            let attempt = self.attempt(look, step, may_vary)?;
            let turn = attempt.as_ref().map_or(Some(SizeChange::Shorter), Attempt::turn);
            if let Some(attempt) = attempt
                && best.as_ref().is_none_or(|best| attempt.is_better(best, turn.is_none()))
            {
                best = Some(attempt);
            }
            // To and fro leads nowhere.
            if turn.is_none() || !may_vary || last.is_some_and(|last| turn != Some(last)) {
                break;
            }
            last = turn;
            step *= if turn == Some(SizeChange::Longer) { FACTOR } else { 1.0 / FACTOR };
        }
        let Some(best) = best else {
            let failure = self.subject.failure.as_ref().map(ToString::to_string);
            return Err(none(failure.as_deref().unwrap_or(NO_LOGARITHM)));
        };
        let wide = self.wide(look, &best)?;
        self.surrogate(look, &Attempt { error: best.error.max(wide), ..best })
    }

    /// By how much a model misses what happens over the whole ranges, in steps of the run; 0 if that cannot be seen.
    fn wide(&mut self, look: &LinearQuery<'_>, best: &Attempt) -> Result<f64> {
        let amplitude = best.amplitude * (1.0 / best.largest).clamp(1.0, 1.0 / AMPLITUDE);
        let size = self.subject.place.size;
        let course = self.other((3, look), size, amplitude)?;
        Ok(course.map_or(0.0, |course| best.found.miss_at(size, &course, look.watched.len())))
    }

    /// Steps alone, then random inputs; nothing if no model fits.
    fn attempt(&mut self, look: &LinearQuery<'_>, step: f64, may_vary: bool) -> Result<Option<Attempt>> {
        let (m, n) = (look.inputs.len(), look.watched.len());
        let Some(free) = self.held(look, step, &vec![0.0; STEPS * m])? else { return Ok(None) };
        let mut amplitude = AMPLITUDE;
        for _ in 0..AMPLITUDES {
            let mut steps = Vec::with_capacity(m);
            for input in 0..m {
                let moves: Vec<f64> = (0..STEPS * m)
                    .map(|i| if i % m == input { amplitude * look.inputs[input] } else { 0.0 })
                    .collect();
                steps.push(self.held(look, step, &moves)?);
            }
            let random = random(1, look, amplitude);
            let kept = self.held(look, step, &random)?;
            let all: Option<Vec<Vec<f64>>> = steps.into_iter().chain([kept]).collect();
            let moves = all.map(|all| all.iter().map(|seen| minus(seen, &free)).collect::<Vec<_>>());
            let largest = |moves: &Vec<Vec<f64>>| moves.iter().flatten().fold(0.0_f64, |m, y| m.max(y.abs()));
            let largest = moves.as_ref().map_or(f64::INFINITY, largest);
            if largest > LARGEST_MOVE {
                amplitude *= (WANTED_MOVE / largest).max(0.05);
                continue;
            }
            let Some(mut moves) = moves else { continue };
            let kept = Course { outputs: moves.pop().unwrap_or_default(), inputs: scaled(&random, look) };
            let unit = moves.into_iter().map(|s| s.iter().map(|y| y / amplitude).collect()).collect();
            let begin = self.start_of(look);
            let from_start = free.iter().enumerate().map(|(i, y)| y - begin[i % n]).collect();
            let seen = Seen { outputs: n, inputs: m, steps: unit, free: from_start };
            let Some(found) = seen.realize(step, &kept) else { return Ok(None) };
            let other = if may_vary { self.other((2, look), OTHER * step, amplitude)? } else { None };
            let elsewhere = other.map(|course| found.miss_at(OTHER * step, &course, n));
            let error = found.error.max(elsewhere.unwrap_or(0.0));
            return Ok(Some(Attempt { found, seen, step, amplitude, error, largest }));
        }
        Ok(None)
    }

    /// The experiment at another step size.
    fn other(
        &mut self,
        (number, look): (u64, &LinearQuery<'_>),
        step: f64,
        amplitude: f64,
    ) -> Result<Option<Course>> {
        let random = random(number, look, amplitude);
        let free = self.held(look, step, &vec![0.0; random.len()])?;
        let seen = self.held(look, step, &random)?;
        Ok(free
            .zip(seen)
            .map(|(free, seen)| Course { inputs: scaled(&random, look), outputs: minus(&seen, &free) }))
    }

    /// Scaled outputs that are watched, at the ends of all steps, with inputs that deviate from rest by `moves`, a row per step;
    /// nothing if it does not come to the end.
    fn held(&mut self, look: &LinearQuery<'_>, size: f64, moves: &[f64]) -> Result<Option<Vec<f64>>> {
        (look.progress)(&format!("probed in steps of {size:.3e} s"));
        self.subject.stand_at_start()?;
        let width = look.inputs.len();
        let count = moves.len().checked_div(width).unwrap_or(STEPS);
        let mut seen = Vec::with_capacity(count * look.watched.len());
        let mut inputs = self.subject.place.rest.to_vec();
        for k in 0..count {
            let step = Step { index: k as u64, start: self.subject.place.start + k as f64 * size, size };
            for (i, input) in self.subject.place.inputs.iter().enumerate() {
                inputs[*input] = self.subject.place.rest[*input] + moves[k * width + i];
            }
            self.subject.steps += 1;
            if let Err(error) = self.subject.subsystem.step_held(&step, &inputs, &mut self.subject.outputs) {
                self.subject.failure = Some(error);
                return Ok(None);
            }
            if self.subject.outputs.iter().any(|y| !y.is_finite()) {
                return Ok(None);
            }
            seen.extend(look.watched.iter().map(|k| self.subject.outputs[*k] / look.outputs[*k]));
        }
        Ok(Some(seen))
    }

    /// Scaled outputs at the start.
    fn start_of(&self, look: &LinearQuery<'_>) -> Vec<f64> {
        look.watched.iter().map(|k| self.subject.place.outputs[*k] / look.outputs[*k]).collect()
    }

    /// In the units of the ports.
    fn surrogate(&mut self, look: &LinearQuery<'_>, best: &Attempt) -> Result<Surrogate> {
        let StateSpace { a, b, c, d } = &best.found.model;
        let place = |input: usize| self.subject.place.inputs.iter().position(|other| *other == input);
        let all = self.subject.place.rest.len();
        let unit = |of: &Matrix, row: usize, input: usize| {
            place(input).map_or(0.0, |column| of[(row, column)] / look.inputs[column])
        };
        let range = |row: usize| look.outputs[look.watched[row]];
        let matrices = StateSpace {
            b: Matrix::from_fn(a.rows(), all, |i, j| unit(b, i, j)),
            c: Matrix::from_fn(c.rows(), a.rows(), |i, j| c[(i, j)] * range(i)),
            d: Matrix::from_fn(d.rows(), all, |i, j| unit(d, i, j) * range(i)),
            a: a.clone(),
        };
        Ok(Surrogate {
            reads_stale: self.reads_stale(look, d, best.amplitude)?,
            matrices,
            rates: best.found.rates(best.step, &best.seen.free),
            error: best.error,
            step: best.step,
            amplitude: best.amplitude,
        })
    }

    /// True if outputs that follow inputs at once where a step ends do not when they are read with others then.
    fn reads_stale(&mut self, look: &LinearQuery<'_>, d: &Matrix, amplitude: f64) -> Result<bool> {
        if d.max_abs() == 0.0 {
            return Ok(false);
        }
        self.subject.stand_at_start()?;
        let mut inputs = self.subject.place.rest.to_vec();
        let step = Step { index: 0, start: self.subject.place.start, size: self.subject.place.size };
        self.subject.steps += 1;
        self.subject.subsystem.step_held(&step, &inputs, &mut self.subject.outputs)?;
        let before = self.subject.outputs.clone();
        for (column, input) in self.subject.place.inputs.iter().enumerate() {
            inputs[*input] = self.subject.place.rest[*input] + amplitude * look.inputs[column];
            self.subject.subsystem.read(Some(&inputs), &mut self.subject.outputs)?;
            inputs[*input] = self.subject.place.rest[*input];
            let moved = look
                .watched
                .iter()
                .enumerate()
                .any(|(row, k)| d[(row, column)] != 0.0 && self.subject.outputs[*k] != before[*k]);
            if moved {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Of one that has no input to excite, or no output: no output follows an input.
    fn without_inputs(&mut self, look: &LinearQuery<'_>) -> Result<Surrogate> {
        let step = self.subject.place.size;
        let free = self.held(look, step, &[])?;
        let begin = self.start_of(look);
        let n = look.watched.len().max(1);
        let is_still =
            free.is_some_and(|free| free.iter().enumerate().all(|(i, y)| (y - begin[i % n]).abs() <= 1e-9));
        let (outputs, all) = (look.watched.len(), self.subject.place.rest.len());
        Ok(Surrogate {
            matrices: StateSpace::gain(Matrix::zeros(outputs, all)),
            rates: is_still.then(Vec::new),
            error: 0.0,
            step,
            amplitude: 0.0,
            reads_stale: false,
        })
    }
}

impl Attempt {
    /// Whether steps of another size would show more.
    fn turn(&self) -> Option<SizeChange> {
        let (fastest, turned) = self.found.pace();
        if self.error > GOOD || turned > FASTEST {
            Some(SizeChange::Shorter)
        } else if fastest > NOT_AT_ALL && fastest < SLOWEST {
            Some(SizeChange::Longer)
        } else {
            None
        }
    }

    /// A good one at good steps is better than any; else the error tells.
    fn is_better(&self, other: &Attempt, is_good: bool) -> bool {
        is_good || self.error < other.error
    }
}

/// Random inputs, a row per step.
fn random(number: u64, look: &LinearQuery<'_>, amplitude: f64) -> Vec<f64> {
    // The first row belongs to the start, where nothing has moved yet.
    excite(3000 + number, look.inputs, 0.5 * amplitude, 4, STEPS / 4).split_off(look.inputs.len())
}

fn scaled(moves: &[f64], look: &LinearQuery<'_>) -> Vec<f64> {
    let m = look.inputs.len();
    moves.iter().enumerate().map(|(i, u)| u / look.inputs[i % m]).collect()
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn none(reason: &str) -> Box<Error> {
    Error::Unsupported { what: "a linear model".into(), reason: reason.into() }.into()
}
