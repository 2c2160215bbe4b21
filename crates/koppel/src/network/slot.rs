//! One subsystem in its place in the loop, with the buffers of its own step.

use crate::coupling::{Needs, PredictedInputs};
use crate::error::{Error, Result};
use crate::signal::{Samples, Segment, SegmentBuffer, Step};
use crate::system::{InputId, OutputId, Subsystem, SubsystemId, SystemGraph};
use std::ops::Range;
use std::time::Instant;

/// A subsystem. Its number is its place: subsystems are numbered in the order in which they advance.
///
/// Laid out as written: what a step touches comes first, in one line of the cache.
#[repr(C, align(64))]
pub(crate) struct Slot {
    pub(crate) subsystem: Box<dyn Subsystem>,
    pub(crate) inputs: Range<InputId>,
    pub(crate) outputs: Range<OutputId>,
    /// Which of the graph's external signals act on it.
    externals: Range<u32>,
    /// Its first word, what is asked for, still lies in that line.
    pub(crate) samples: Samples,
    /// It advances every n-th step.
    pub(crate) every: u32,
    pub(crate) id: SubsystemId,
    /// Its inputs with external signals.
    buffer: SegmentBuffer,
    /// Outputs and inputs at the start of its last step, which may end ahead of the others: empty unless it is slow.
    pub(crate) before: Vec<f64>,
    pub(crate) failure: Option<Box<Error>>,
    /// The first step apart: it fills caches and computes matrices.
    first_nanoseconds: u64,
    nanoseconds: u64,
    timed_steps: u64,
    /// Calls of its stepping function in the first step, and in those that were timed after it.
    first_calls: u64,
    timed_calls: u64,
    /// Calls of its stepping function before the run.
    calls_before: u64,
}

impl Slot {
    /// With buffers that fit the coupling and the external signals.
    pub(crate) fn new(
        id: SubsystemId,
        subsystem: Box<dyn Subsystem>,
        every: u32,
        graph: &SystemGraph,
        needs: Needs,
        size: f64,
    ) -> Self {
        let (inputs, outputs) = (graph.inputs_of(id), graph.outputs_of(id));
        let before = |input: InputId| graph.externals().partition_point(|(i, _)| *i < input);
        let externals = before(inputs.start) as u32..before(inputs.end) as u32;
        let before = vec![0.0; if every > 1 { outputs.len() + inputs.len() } else { 0 }];
        let mut slot = Slot {
            subsystem,
            id,
            every,
            externals,
            buffer: SegmentBuffer::new(0, 0),
            samples: Samples::new(needs.request(), outputs.len()),
            inputs,
            outputs,
            before,
            failure: None,
            first_nanoseconds: 0,
            nanoseconds: 0,
            timed_steps: 0,
            first_calls: 0,
            timed_calls: 0,
            calls_before: 0,
        };
        slot.set_needs(graph, needs, size);
        slot
    }

    /// Makes room for what the coupling gives and asks for, at steps of this size.
    pub(crate) fn set_needs(&mut self, graph: &SystemGraph, needs: Needs, size: f64) {
        let signals = &graph.externals()[self.signals()];
        let breaks = signals.iter().map(|(_, signal)| signal.max_breaks(size * f64::from(self.every)));
        let cuts = breaks.sum::<usize>() + needs.pieces.saturating_sub(1);
        self.buffer = SegmentBuffer::new(self.inputs.len(), cuts);
        self.samples = Samples::new(needs.request(), self.outputs.len());
    }

    /// Advances under the predicted polynomials and reads the outputs as the step left them.
    #[inline(always)]
    pub(crate) fn advance(
        &mut self,
        graph: &SystemGraph,
        step: &Step,
        plan: &PredictedInputs,
        outputs: &mut [f64],
    ) -> Result<()> {
        if plan.pieces() != 1 || self.externals.start != self.externals.end {
            return self.advance_in_pieces(graph, step, plan, outputs);
        }
        let segment =
            Segment::new(step, self.inputs.end - self.inputs.start, plan.terms(), plan.of_all(&self.inputs));
        self.subsystem.step(step, &segment, outputs, &mut self.samples)
    }

    /// The same where inputs have several pieces or external signals act on them.
    #[inline(never)]
    fn advance_in_pieces(
        &mut self,
        graph: &SystemGraph,
        step: &Step,
        plan: &PredictedInputs,
        outputs: &mut [f64],
    ) -> Result<()> {
        self.buffer.begin(step, plan.terms(), plan.pieces(), plan.of_all(&self.inputs));
        let may_cut = !self.subsystem.ports().one_step_size;
        for (input, signal) in &graph.externals()[self.signals()] {
            match may_cut {
                true => self.buffer.add(input - self.inputs.start, signal),
                false => self.buffer.add_uncut(input - self.inputs.start, signal),
            }
        }
        self.subsystem.step(step, &self.buffer.view(), outputs, &mut self.samples)
    }

    /// [`Slot::advance`] with its time measured and its failure kept.
    pub(crate) fn advance_timed(
        &mut self,
        graph: &SystemGraph,
        step: &Step,
        plan: &PredictedInputs,
        outputs: &mut [f64],
    ) {
        let calls_before = self.subsystem.capabilities().counted_steps().unwrap_or(0);
        let begin = Instant::now();
        self.failure = self.advance(graph, step, plan, outputs).err();
        let nanoseconds = begin.elapsed().as_nanos() as u64;
        let calls = self.subsystem.capabilities().counted_steps().unwrap_or(0).saturating_sub(calls_before);
        if self.first_nanoseconds == 0 {
            self.first_nanoseconds = nanoseconds.max(1);
            self.first_calls = calls;
        } else {
            self.nanoseconds += nanoseconds;
            self.timed_steps += 1;
            self.timed_calls += calls;
        }
    }

    /// Keeps its outputs and inputs before it advances, if it is slow.
    pub(crate) fn remember(&mut self, outputs: &[f64], applied: &[f64]) {
        if self.every > 1 {
            let (outputs_before, inputs_before) = self.before.split_at_mut(self.outputs.len());
            outputs_before.copy_from_slice(&outputs[self.outputs.clone()]);
            inputs_before.copy_from_slice(&applied[self.inputs.clone()]);
        }
    }

    /// True if it advances in the macro step.
    #[inline]
    pub(crate) fn is_due(&self, step: &Step) -> bool {
        self.every == 1 || step.index.is_multiple_of(u64::from(self.every))
    }

    /// Seconds of so many steps, estimated from the first and a sample of the others. Steps in several parts, and those that
    /// are repeated, count by the calls of its stepping function where these are counted.
    pub(crate) fn seconds(&self, steps: u64) -> f64 {
        let first = self.first_nanoseconds as f64 * 1e-9;
        match self.step_calls() {
            Some(calls) if self.timed_calls > 0 => {
                let per_call = self.nanoseconds as f64 * 1e-9 / self.timed_calls as f64;
                first + per_call * calls.saturating_sub(self.first_calls) as f64
            }
            _ => first + self.seconds_per_step() * steps.saturating_sub(1) as f64,
        }
    }

    /// From now on calls of its stepping function belong to the run.
    pub(crate) fn begin_run(&mut self) {
        self.calls_before = self.subsystem.capabilities().counted_steps().unwrap_or(0);
    }

    /// Calls of its stepping function in the run, if it counts them.
    pub(crate) fn step_calls(&self) -> Option<u64> {
        Some(self.subsystem.capabilities().counted_steps()?.saturating_sub(self.calls_before))
    }

    /// Mean seconds per step after the first, of those that were timed.
    pub(crate) fn seconds_per_step(&self) -> f64 {
        self.nanoseconds as f64 * 1e-9 / self.timed_steps.max(1) as f64
    }

    fn signals(&self) -> Range<usize> {
        self.externals.start as usize..self.externals.end as usize
    }

    /// The sum of the external signals on one input at `time`.
    pub(crate) fn external(&self, graph: &SystemGraph, input: InputId, time: f64) -> f64 {
        let signals = graph.externals()[self.signals()].iter();
        signals.filter(|(i, _)| *i == input).map(|(_, signal)| signal.value(time)).sum()
    }
}
