//! Probing: each subsystem is excited alone, from the start of the run, and a model of nodes is fitted to what it does.
//!
//! Every input moves as ξ_j = ±1 at random, smoothed over a step,
//!
//!   g_j = a g_{j-1} + √(1 - a²) ξ_j,     a = e^{-1/m},     u_j = u⁰ + α s_u (g_j + 0.3 ξ_j)            (1)
//!
//! linear between nodes. The amplitude α begins at 0.3 and is lowered until no output moves by more than 0.36 of its range
//! (root mean square, against the run with inputs at rest). What is linear shows it in the experiments that found the amplitude
//! and one more, all of eight steps: if models fitted to those predict the last to round-off, that is all. Else eight
//! experiments of sixteen steps are fitted.
//!
//! The subsystem is restored afterwards: by its saved state, or by re-initialising it. What was found in an earlier run of the
//! same subsystem at the same place is taken from there (`store`), without moving it at all.

mod excitation;
mod held;
mod past;
mod poles;
mod ranges;
mod store;
mod subject;

pub use held::LinearQuery;
pub use ranges::{KnownRanges, Origin, Range};
pub use store::{Answer, Memory, ProbeStore, Question, QuestionKind};
pub use subject::{Place, Subject};

use super::node_fit::{Experiment, NodeFit, fit};
use crate::error::Result;
use crate::signal::{Request, Samples, Segment, Step};
use crate::system::Subsystem;
use excitation::excite;
use serde::{Deserialize, Serialize};

/// Steps of one experiment.
const STEPS: usize = 16;
/// Experiments that are fitted.
const EXPERIMENTS: u64 = 8;
/// Steps of one experiment that looks for the amplitude.
const TRIAL_STEPS: usize = 8;
/// Experiments per amplitude.
const TRIALS: u64 = 2;
/// Models that miss less than this, relative to the ranges, of an experiment they were not fitted to, need no more of them.
const EXACT: f64 = 1e-6;
/// Amplitudes tried.
const AMPLITUDES: usize = 8;
/// Outputs may move by this much of their range.
const LARGEST_MOVE: f64 = 0.36;
/// Where a larger amplitude was too large, they should move by this much: behind friction nothing is seen of small ones.
const SMALLEST_MOVE: f64 = 0.08;
/// What is aimed at if they move more.
const WANTED_MOVE: f64 = 0.24;

/// What a coupling wants to know of every subsystem before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeNeeds {
    /// Equal parts of a step between which inputs are linear.
    pub nodes: usize,
}

/// What probing found of one subsystem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probed {
    /// Inputs the model has, by their place among the subsystem's inputs.
    pub inputs: Vec<usize>,
    /// Ranges of those inputs.
    pub input_ranges: Vec<f64>,
    /// Ranges of all outputs.
    pub output_ranges: Vec<f64>,
    /// The models; nothing if there are none.
    pub fit: Option<NodeFit>,
    /// Scaled outputs at the nodes before the start, oldest first, the start itself last.
    pub past: Vec<f64>,
    /// Steps between nodes that were taken.
    pub steps: u64,
    /// Amplitude of the excitation, relative to the ranges of the inputs.
    pub amplitude: f64,
    /// Why there is no model.
    pub reason: Option<String>,
}

impl Probed {
    /// Of a subsystem that could not be excited.
    pub fn without_model(
        inputs: Vec<usize>,
        input_ranges: Vec<f64>,
        output_ranges: Vec<f64>,
        reason: Option<String>,
    ) -> Self {
        Probed { inputs, input_ranges, output_ranges, reason, ..Probed::default() }
    }
}

/// One subsystem at the start of its run.
pub struct Probe<'a> {
    /// What is excited.
    pub subject: Subject<'a>,
    memory: Option<Memory<'a>>,
    samples: Samples,
    offsets: Vec<f64>,
    coefficients: Vec<f64>,
    /// Outputs at all nodes with inputs at rest.
    free: Vec<f64>,
}

impl<'a> Probe<'a> {
    /// Lets the subsystem run with its inputs at rest, if that is not known from an earlier run.
    pub fn new(subsystem: &'a mut dyn Subsystem, place: Place<'a>, memory: Option<Memory<'a>>) -> Self {
        let (outputs, nodes) = (place.outputs.len(), place.nodes);
        let mut probe = Probe {
            memory,
            samples: Samples::new(Request::Nodes(nodes as u32), outputs),
            offsets: (0..nodes).map(|p| place.size * p as f64 / nodes as f64).collect(),
            coefficients: Vec::new(),
            free: Vec::new(),
            subject: Subject::new(subsystem, place),
        };
        let found = probe.ask(QuestionKind::AtRest, |probe| {
            let at_rest = vec![0.0; (STEPS * nodes + 1) * probe.subject.place.inputs.len()];
            probe.experiment(&at_rest, STEPS).map(Answer::AtRest)
        });
        match found {
            Ok(Answer::AtRest(free)) => probe.free = free,
            Ok(_) => {}
            Err(error) => probe.subject.failure = Some(error),
        }
        probe
    }

    /// The answer that was kept, or else the one `find` gives, which is kept unless something went wrong.
    fn ask(&mut self, asked: QuestionKind, find: impl FnOnce(&mut Self) -> Result<Answer>) -> Result<Answer> {
        let question = self.memory.as_ref().map(|memory| memory.question(&self.subject.place, asked));
        let store = self.memory.as_ref().map(|memory| memory.store);
        if let (Some(store), Some(question)) = (store, &question)
            && let Some(answer) = store.recall(question)
        {
            return Ok(answer);
        }
        let answer = find(self)?;
        if let (Some(store), Some(question), None) = (store, &question, &self.subject.failure) {
            store.keep(question, &answer);
        }
        Ok(answer)
    }

    /// Outputs at all nodes under inputs that deviate from rest by `moves`, a row per node; ends early where the subsystem
    /// does, or fails.
    fn experiment(&mut self, moves: &[f64], steps: usize) -> Result<Vec<f64>> {
        self.subject.stand_at_start()?;
        let (nodes, width) = (self.subject.place.nodes, self.subject.place.inputs.len());
        let mut seen = Vec::with_capacity((steps * nodes + 1) * self.subject.outputs.len());
        for k in 0..steps {
            let size = self.subject.place.size;
            let step = Step { index: k as u64, start: self.subject.place.start + k as f64 * size, size };
            self.lines(&moves[k * nodes * width..], size / nodes as f64);
            let inputs = self.subject.place.rest.len();
            let segment = Segment::from_parts(&step, inputs, 2, &self.offsets, &self.coefficients);
            self.subject.steps += nodes as u64;
            if let Err(error) =
                self.subject.subsystem.step(&step, &segment, &mut self.subject.outputs, &mut self.samples)
            {
                self.subject.failure = Some(error);
                return Ok(seen);
            }
            if self.samples.times().len() != nodes + 1 {
                break;
            }
            for node in usize::from(k > 0)..=nodes {
                let outputs = self.samples.at(node);
                if outputs.iter().any(|y| !y.is_finite()) {
                    return Ok(seen);
                }
                seen.extend_from_slice(outputs);
            }
        }
        Ok(seen)
    }

    /// The inputs of one step: lines between the nodes in the first rows of `moves`.
    fn lines(&mut self, moves: &[f64], size: f64) {
        let Place { rest, inputs, nodes, .. } = &self.subject.place;
        self.coefficients.clear();
        for node in 0..*nodes {
            let first = self.coefficients.len();
            rest.iter().for_each(|u| self.coefficients.extend([*u, 0.0]));
            for (k, input) in inputs.iter().enumerate() {
                let (a, b) = (moves[node * inputs.len() + k], moves[(node + 1) * inputs.len() + k]);
                self.coefficients[first + 2 * input] += a;
                self.coefficients[first + 2 * input + 1] = (b - a) / size;
            }
        }
    }

    /// Largest root mean square of how far an output moves from the run at rest, relative to its range; not finite if the
    /// subsystem did not come to the end.
    fn largest_move(&self, seen: &[f64], steps: usize, ranges: &[f64]) -> f64 {
        let n = ranges.len();
        let wanted = (steps * self.subject.place.nodes + 1) * n;
        if seen.len() < wanted || self.free.len() < wanted {
            return f64::INFINITY;
        }
        let rms = |k: usize| {
            let squares = (0..wanted / n).map(|j| (seen[j * n + k] - self.free[j * n + k]).powi(2));
            (squares.sum::<f64>() / (wanted / n) as f64).sqrt() / ranges[k]
        };
        (0..n).map(rms).fold(0.0, f64::max)
    }

    /// The amplitude at which outputs stay near where they are, and the experiments that showed it.
    fn amplitude(&mut self, inputs: &[f64], outputs: &[f64]) -> Result<(f64, Vec<Experiment>)> {
        let (mut amplitude, mut shown) = (0.3, Vec::new());
        // The largest that is small enough, and the smallest that is not.
        let (mut low, mut high): (f64, f64) = (0.0, f64::INFINITY);
        for _ in 0..AMPLITUDES {
            let mut largest: f64 = 0.0;
            let mut trials = Vec::new();
            for trial in 0..TRIALS {
                let (experiment, moved) =
                    self.excited(1000 + trial, TRIAL_STEPS, (inputs, amplitude), outputs)?;
                largest = largest.max(moved);
                trials.push(experiment);
            }
            if largest <= LARGEST_MOVE {
                if amplitude > low {
                    (low, shown) = (amplitude, trials);
                }
            } else {
                high = high.min(amplitude);
            }
            if low > 0.0 && (largest > SMALLEST_MOVE && low == amplitude || high == f64::INFINITY) {
                break;
            }
            amplitude = if low > 0.0 {
                (low * high).sqrt()
            } else if largest.is_finite() {
                amplitude * (WANTED_MOVE / largest).max(0.05)
            } else {
                amplitude * 0.1
            };
        }
        Ok(if low > 0.0 { (low, shown) } else { (amplitude, Vec::new()) })
    }

    /// One experiment, scaled, with inputs of these ranges and this amplitude; and the largest move of an output.
    fn excited(
        &mut self,
        number: u64,
        steps: usize,
        (inputs, amplitude): (&[f64], f64),
        outputs: &[f64],
    ) -> Result<(Experiment, f64)> {
        let moves = excite(number, inputs, amplitude, self.subject.place.nodes, steps);
        let seen = self.experiment(&moves, steps)?;
        let largest = self.largest_move(&seen, steps, outputs);
        let inputs = moves.iter().enumerate().map(|(i, u)| u / inputs[i % inputs.len()]).collect();
        Ok((Experiment { outputs: self.scaled_outputs(&seen, outputs), inputs }, largest))
    }

    /// Its models, with these ranges of inputs and outputs.
    pub fn run(&mut self, inputs: &[f64], outputs: &[f64]) -> Result<Probed> {
        if inputs.is_empty() {
            let reason = Some("it has no input that could be excited".into());
            return Ok(Probed::without_model(Vec::new(), Vec::new(), outputs.to_vec(), reason));
        }
        let asked = QuestionKind::Models(inputs.to_vec(), outputs.to_vec());
        let answer = self.ask(asked, |probe| Ok(Answer::Models(Box::new(probe.excite(inputs, outputs)?))))?;
        Ok(if let Answer::Models(probed) = answer { *probed } else { Probed::default() })
    }

    /// Excites the subsystem and fits its models.
    fn excite(&mut self, inputs: &[f64], outputs: &[f64]) -> Result<Probed> {
        let (amplitude, mut data) = self.amplitude(inputs, outputs)?;
        let strength = (inputs, amplitude);
        let mut found = None;
        if !data.is_empty() {
            let (more, largest) = self.excited(1000 + TRIALS, TRIAL_STEPS, strength, outputs)?;
            data.push(more);
            let quick = || fit(outputs.len(), inputs.len(), &data, self.subject.place.nodes);
            found = largest.is_finite().then(quick).flatten().filter(|fit| fit.error <= EXACT);
        }
        if found.is_none() {
            data.clear();
            for number in 0..EXPERIMENTS {
                let (experiment, largest) = self.excited(number, STEPS, strength, outputs)?;
                data.extend(largest.is_finite().then_some(experiment));
            }
            found = fit(outputs.len(), inputs.len(), &data, self.subject.place.nodes);
        }
        let fit = found;
        let free = self.scaled_outputs(&self.free, outputs);
        let past = fit
            .as_ref()
            .map(|fit| past::before_start(fit, &free, self.subject.place.nodes))
            .unwrap_or_default();
        let reason = fit.is_none().then(|| self.why(data.len()));
        Ok(Probed {
            inputs: self.subject.place.inputs.clone(),
            input_ranges: inputs.to_vec(),
            output_ranges: outputs.to_vec(),
            fit,
            past,
            steps: self.subject.steps,
            amplitude,
            reason,
        })
    }

    fn why(&self, experiments: usize) -> String {
        let last = self.subject.failure.as_ref().map(|failure| format!(" (the last failure: {failure})"));
        format!(
            "{experiments} of {EXPERIMENTS} experiments finished, too few to fit a model{}",
            last.unwrap_or_default()
        )
    }

    /// Deviations from the start relative to the ranges.
    fn scaled_outputs(&self, seen: &[f64], ranges: &[f64]) -> Vec<f64> {
        let n = ranges.len();
        seen.iter()
            .enumerate()
            .map(|(i, y)| (y - self.subject.place.outputs[i % n]) / ranges[i % n])
            .collect()
    }
}
