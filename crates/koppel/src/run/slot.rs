//! One subsystem in its place in the loop, with the buffers of its own step.

use crate::coupling::{Coupling, Inputs, Needs, View};
use crate::error::{Error, Result};
use crate::signal::{Clock, Samples, Segment, Step};
use crate::system::{InputId, Subsystem, SubsystemId, SystemGraph, VariableId, VariableKind};
use std::time::Instant;

pub(super) struct Slot {
    pub(super) id: SubsystemId,
    pub(super) subsystem: Box<dyn Subsystem>,
    /// It moves every n-th step.
    pub(super) every: u32,
    /// The communication point it has reached.
    pub(super) reached: f64,
    pub(super) segment: Segment,
    pub(super) samples: Samples,
    pub(super) outputs: Vec<f64>,
    /// What the coupling gave at the end of the step, without external signals.
    pub(super) applied: Vec<f64>,
    pub(super) first_input: InputId,
    pub(super) wired: Vec<InputId>,
    pub(super) free: Vec<InputId>,
    /// Places in the graph's list of external signals.
    pub(super) externals: Vec<usize>,
    pub(super) failure: Option<Box<Error>>,
    /// The first step apart: it fills caches and computes matrices.
    pub(super) first_nanoseconds: u64,
    pub(super) nanoseconds: u64,
    pub(super) timed_steps: u64,
}

impl Slot {
    pub(super) fn new(
        id: SubsystemId,
        subsystem: Box<dyn Subsystem>,
        every: u32,
        graph: &SystemGraph,
    ) -> Self {
        let inputs = graph.inputs_of(id);
        let (free, wired) = inputs.clone().partition(|i| graph.is_free(*i));
        let externals: Vec<usize> =
            (0..graph.externals().len()).filter(|e| inputs.contains(&graph.externals()[*e].0)).collect();
        Slot {
            id,
            subsystem,
            every,
            reached: 0.0,
            segment: Segment::new(inputs.len(), 0),
            samples: Samples::default(),
            outputs: vec![0.0; graph.outputs_of(id).len()],
            applied: vec![0.0; inputs.len()],
            first_input: inputs.start,
            wired,
            free,
            externals,
            failure: None,
            first_nanoseconds: 0,
            nanoseconds: 0,
            timed_steps: 0,
        }
    }

    /// Makes its buffers fit the coupling and the external signals.
    pub(super) fn reserve(&mut self, graph: &SystemGraph, needs: Needs, size: f64) {
        let span = size * f64::from(self.every);
        let cuts = self.externals.iter().map(|e| graph.externals()[*e].1.max_breaks(span)).sum();
        self.segment = Segment::new(self.applied.len(), cuts);
        self.samples = Samples::new(needs.samples, self.outputs.len());
    }

    /// Predicts the inputs, moves, and reads the outputs as the step left them.
    #[inline]
    pub(super) fn advance(&mut self, coupling: &dyn Coupling, terms: usize, view: &View<'_>) -> Result<()> {
        let step = view.step;
        self.segment.begin(&step, terms);
        for &id in &self.free {
            self.segment.of_mut(id - self.first_input)[0] = view.graph.offset(id);
        }
        let inputs = Inputs { first: self.first_input, ids: &self.wired };
        coupling.input(view, inputs, &mut self.segment)?;
        self.segment.end_values(&mut self.applied);
        for &e in &self.externals {
            let (input, signal) = &view.graph.externals()[e];
            self.segment.add(input - self.first_input, signal);
        }
        self.subsystem.step(&step, &self.segment, &mut self.samples)?;
        self.subsystem.read(None, &mut self.outputs)
    }

    /// [`Slot::advance`] with its time measured and its failure kept, for stages that run side by side.
    pub(super) fn advance_timed(&mut self, coupling: &dyn Coupling, terms: usize, view: &View<'_>) {
        let begin = Instant::now();
        self.failure = self.advance(coupling, terms, view).err();
        let nanoseconds = begin.elapsed().as_nanos() as u64;
        if self.first_nanoseconds == 0 {
            self.first_nanoseconds = nanoseconds.max(1);
        } else {
            self.nanoseconds += nanoseconds;
            self.timed_steps += 1;
        }
    }

    /// The step it takes now: `step` itself, or several at once.
    #[inline]
    pub(super) fn own_step(&self, step: Step, clock: &Clock) -> Step {
        if self.every == 1 { step } else { clock.step(step.index, u64::from(self.every)) }
    }

    /// True if it moves in macro step `index`.
    #[inline]
    pub(super) fn is_due(&self, index: u64) -> bool {
        self.every == 1 || index.is_multiple_of(u64::from(self.every))
    }

    /// Present value of any variable; of an input, what it was given at the end of the last step.
    pub(super) fn value(&mut self, variable: VariableId) -> Result<f64> {
        match variable.kind {
            VariableKind::Output => Ok(self.outputs[variable.index]),
            VariableKind::Input => Ok(self.segment.end_value(variable.index)),
            VariableKind::Parameter | VariableKind::Local => self.subsystem.get(variable),
        }
    }

    /// The first output that is not a number.
    #[inline]
    pub(super) fn non_finite(&self) -> Option<usize> {
        // One multiplication per output: 0 · y is 0 for every number and NaN for the rest.
        let sum: f64 = self.outputs.iter().map(|y| y * 0.0).sum();
        if sum == 0.0 { None } else { self.outputs.iter().position(|y| !y.is_finite()) }
    }
}
