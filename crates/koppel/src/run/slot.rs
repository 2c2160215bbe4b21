//! One subsystem in its place in the loop, with the buffers of its own step.

use crate::coupling::{Coupling, Inputs, Needs, View};
use crate::error::{Error, Result};
use crate::signal::{Samples, Segment, Step};
use crate::system::{InputId, Subsystem, SubsystemId, SystemGraph, VariableId, VariableKind};
use std::ops::Range;
use std::time::Instant;

pub(super) struct Slot {
    pub(super) subsystem: Box<dyn Subsystem>,
    pub(super) segment: Segment,
    pub(super) outputs: Vec<f64>,
    pub(super) id: SubsystemId,
    pub(super) first_input: InputId,
    /// Which of the run's list of connected inputs are its own.
    pub(super) wired: Range<usize>,
    /// Which of the graph's external signals act on it.
    pub(super) externals: Range<usize>,
    /// Inputs nothing is connected to.
    pub(super) free: Vec<InputId>,
    /// The communication point it has reached.
    pub(super) reached: f64,
    /// It moves every n-th step.
    pub(super) every: u32,
    /// What the coupling gave at the end of the step, where that is not the end of the segment.
    pub(super) given: Vec<f64>,
    pub(super) samples: Samples,
    pub(super) failure: Option<Box<Error>>,
    pub(super) nanoseconds: u64,
    pub(super) timed_steps: u64,
}

impl Slot {
    /// `wired` is the run's list of connected inputs, to which this subsystem's are added.
    pub(super) fn new(
        id: SubsystemId,
        subsystem: Box<dyn Subsystem>,
        graph: &SystemGraph,
        wired: &mut Vec<InputId>,
    ) -> Self {
        let inputs = graph.inputs_of(id);
        let first_wired = wired.len();
        wired.extend(inputs.clone().filter(|i| !graph.is_free(*i)));
        let before = |input: InputId| graph.externals().partition_point(|(i, _)| *i < input);
        Slot {
            id,
            subsystem,
            every: 1,
            reached: 0.0,
            segment: Segment::new(inputs.len(), 0),
            samples: Samples::default(),
            outputs: vec![0.0; graph.outputs_of(id).len()],
            given: Vec::new(),
            first_input: inputs.start,
            wired: first_wired..wired.len(),
            externals: before(inputs.start)..before(inputs.end),
            free: inputs.filter(|i| graph.is_free(*i)).collect(),
            failure: None,
            nanoseconds: 0,
            timed_steps: 0,
        }
    }

    /// Makes its buffers fit the coupling and the external signals.
    pub(super) fn reserve(&mut self, graph: &SystemGraph, needs: Needs, size: f64) {
        let span = size * f64::from(self.every);
        let signals = &graph.externals()[self.externals.clone()];
        let cuts = signals.iter().map(|(_, signal)| signal.max_breaks(span)).sum();
        self.segment = Segment::new(self.segment.inputs(), cuts);
        self.samples = Samples::new(needs.samples, self.outputs.len());
        if !signals.is_empty() {
            self.given = vec![0.0; self.segment.inputs()];
        }
    }

    /// Predicts the inputs, moves, and reads the outputs as the step left them.
    #[inline]
    pub(super) fn advance(
        &mut self,
        coupling: &dyn Coupling,
        terms: usize,
        wired: &[InputId],
        view: &View<'_>,
    ) -> Result<()> {
        self.segment.begin(&view.step, terms);
        for &id in &self.free {
            let out = self.segment.of_mut(id - self.first_input);
            out.fill(0.0);
            out[0] = view.graph.offset(id);
        }
        let inputs = Inputs { first: self.first_input, ids: &wired[self.wired.clone()] };
        coupling.input(view, inputs, &mut self.segment)?;
        if !self.externals.is_empty() {
            self.segment.end_values(&mut self.given);
            for (input, signal) in &view.graph.externals()[self.externals.clone()] {
                self.segment.add(input - self.first_input, signal);
            }
        }
        self.subsystem.step(&view.step, &self.segment, &mut self.samples)?;
        self.subsystem.read(None, &mut self.outputs)
    }

    /// [`Slot::advance`] with its time measured.
    pub(super) fn advance_timed(
        &mut self,
        coupling: &dyn Coupling,
        terms: usize,
        wired: &[InputId],
        view: &View<'_>,
    ) -> Result<()> {
        let begin = Instant::now();
        let result = self.advance(coupling, terms, wired, view);
        self.nanoseconds += begin.elapsed().as_nanos() as u64;
        self.timed_steps += 1;
        result
    }

    /// True if it moves in the macro step.
    #[inline]
    pub(super) fn is_due(&self, step: &Step) -> bool {
        self.every == 1 || step.index.is_multiple_of(u64::from(self.every))
    }

    /// Writes what the coupling gave at the end of the step, external signals left out.
    #[inline]
    pub(super) fn given(&self, out: &mut [f64]) {
        if self.externals.is_empty() {
            self.segment.end_values(out);
        } else {
            out.copy_from_slice(&self.given);
        }
    }

    /// Mean seconds per step, of those that were timed.
    pub(super) fn seconds_per_step(&self) -> f64 {
        self.nanoseconds as f64 * 1e-9 / self.timed_steps.max(1) as f64
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
        // Exponent bits all set: infinite or not a number. Integers, because this runs for every output of every step.
        const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
        let is_bad = |y: &f64| y.to_bits() & EXPONENT == EXPONENT;
        if self.outputs.iter().any(is_bad) { self.outputs.iter().position(is_bad) } else { None }
    }
}
