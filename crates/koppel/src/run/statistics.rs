//! What a run did: steps, where the time went, and how far inputs were from what they should have been.

use super::adaptive::StepSizes;
use super::iterate::LoopWork;
use super::simulation::{Simulation, view};
use super::slot::Slot;
use crate::coupling::Review;
use crate::signal::Request;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Largest coupling error of one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Defect {
    /// `a.x -> b.u`.
    pub connection: String,
    /// Unit of the input, if it has one.
    pub unit: Option<String>,
    /// Largest |L y - u| at the end of a step.
    pub largest: f64,
    /// When that was.
    pub time: f64,
    /// Range of the arriving values so far: the measure for `largest`.
    pub range: f64,
}

/// A subsystem's part of the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Name of the subsystem.
    pub subsystem: String,
    /// Its solver.
    pub solver: String,
    /// Seconds of all steps, estimated from the first and a sample of the others.
    pub seconds: f64,
    /// Mean seconds per step after the first, measured on a sample of the steps.
    pub seconds_per_step: f64,
    /// Steps it took, estimated from the macro steps.
    pub steps: u64,
    /// Calls of its stepping function in the run; of a native model its steps between nodes, estimated in the same way.
    pub step_calls: u64,
}

/// Numbers of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Macro steps done.
    pub steps: u64,
    /// Their lengths, if they adapt.
    pub sizes: Option<StepSizes>,
    /// Per subsystem.
    pub shares: Vec<Share>,
    /// Per connected input.
    pub defects: Vec<Defect>,
    /// Stages that run on several threads.
    pub parallel_stages: usize,
    /// What the run has shown of the models of its coupling, if it has any.
    pub review: Option<Review>,
    /// Per iterated loop.
    pub loops: Vec<LoopWork>,
    /// Steps that were cut in half because a loop did not converge.
    pub halvings: u64,
    /// How often a step was taken again because the coupling saw that its inputs had been wrong.
    #[serde(default)]
    pub repetitions: u64,
}

/// Inputs that are compared together.
const BLOCK: usize = 8;

/// Running extremes of a block of inputs.
#[derive(Clone, Debug)]
struct Block {
    largest: [f64; BLOCK],
    low: [f64; BLOCK],
    high: [f64; BLOCK],
    time: [f64; BLOCK],
}

impl Block {
    const NEW: Block = Block {
        largest: [0.0; BLOCK],
        low: [f64::INFINITY; BLOCK],
        high: [f64::NEG_INFINITY; BLOCK],
        time: [0.0; BLOCK],
    };

    /// True if one of these inputs has a new extreme. Without early exit, so that a full block is a few vector instructions.
    #[inline(always)]
    fn is_new(&self, values: &[f64], given: &[f64]) -> bool {
        let known = self.largest.iter().zip(&self.low).zip(&self.high);
        values.iter().zip(given).zip(known).fold(false, |any, ((value, given), ((largest, low), high))| {
            any | ((value - given).abs() > *largest) | (value < low) | (value > high)
        })
    }

    fn note(&mut self, i: usize, value: f64, given: f64, end: f64) {
        self.low[i] = self.low[i].min(value);
        self.high[i] = self.high[i].max(value);
        let error = (value - given).abs();
        if error > self.largest[i] {
            self.largest[i] = error;
            self.time[i] = end;
        }
    }
}

/// Running extremes of all inputs.
#[derive(Clone, Debug, Default)]
pub(super) struct Extremes {
    blocks: Vec<Block>,
}

impl Extremes {
    pub(super) fn new(inputs: usize) -> Self {
        Extremes { blocks: vec![Block::NEW; inputs.div_ceil(BLOCK)] }
    }

    /// Notes that all inputs should have been `arrivals` at `end`, and were `applied`.
    ///
    /// New extremes are rare: a block of inputs at a time is only compared, and looked at one by one when one of them has a
    /// new extreme.
    #[inline(always)]
    fn note_all(&mut self, arrivals: &[f64], applied: &[f64], end: f64) {
        let mut blocks = self.blocks.iter_mut();
        let (values, last_values) = arrivals.as_chunks::<BLOCK>();
        let (given, last_given) = applied[..arrivals.len()].as_chunks::<BLOCK>();
        for ((values, given), block) in values.iter().zip(given).zip(&mut blocks) {
            if block.is_new(values, given) {
                note_each(block, values, given, end);
            }
        }
        if let Some(block) = blocks.next()
            && block.is_new(last_values, last_given)
        {
            note_each(block, last_values, last_given, end);
        }
    }

    /// For the same input by input.
    #[inline(always)]
    pub(super) fn notes(&mut self) -> Notes<'_> {
        Notes { blocks: &mut self.blocks }
    }

    /// The same for some of the inputs.
    fn note_some(&mut self, inputs: Range<usize>, arrivals: &[f64], applied: &[f64], end: f64) {
        inputs.for_each(|i| self.blocks[i / BLOCK].note(i % BLOCK, arrivals[i], applied[i], end));
    }

    /// What is known of one input.
    pub(super) fn defect(&self, input: usize) -> Defect {
        let (block, i) = (&self.blocks[input / BLOCK], input % BLOCK);
        let range = (block.high[i] - block.low[i]).max(0.0);
        Defect { largest: block.largest[i], time: block.time[i], range, ..Defect::default() }
    }
}

/// [`Extremes`], open for notes.
pub(super) struct Notes<'a> {
    blocks: &'a mut [Block],
}

impl Notes<'_> {
    /// Notes that an input should have been `value` at `end`, and was `given`.
    #[inline(always)]
    pub(super) fn compare(&mut self, input: usize, value: f64, given: f64, end: f64) {
        let (block, i) = (&mut self.blocks[input / BLOCK], input % BLOCK);
        if (value - given).abs() > block.largest[i] || value < block.low[i] || value > block.high[i] {
            note_new(block, i, (value, given), end);
        }
    }
}

#[inline(never)]
fn note_new(block: &mut Block, i: usize, (value, given): (f64, f64), end: f64) {
    block.note(i, value, given, end);
}

#[inline(never)]
fn note_each(block: &mut Block, values: &[f64], given: &[f64], end: f64) {
    values.iter().zip(given).enumerate().for_each(|(i, (value, given))| block.note(i, *value, *given, end));
}

impl Simulation {
    /// How far each input was, at the end of its step, from what it should have been.
    #[inline(always)]
    pub(super) fn note_defects<const PLAIN: bool>(&mut self, end: f64) {
        let Simulation { extremes, board, slots, .. } = self;
        let (arrivals, applied) = (board.history.arrivals(), &board.applied);
        if !PLAIN && self.is_multi_rate {
            let here = slots.iter().enumerate().filter(|(id, _)| board.history.reached(*id) == end);
            here.for_each(|(_, slot)| extremes.note_some(slot.inputs.clone(), arrivals, applied, end));
        } else {
            extremes.note_all(arrivals, applied, end);
        }
    }

    /// Parts in which native models walk a step, external signals aside.
    fn nodes(&self) -> u64 {
        let sampled = if let Request::Nodes(nodes) = self.needs.samples { u64::from(nodes) } else { 1 };
        sampled.max(self.needs.pieces as u64).max(1)
    }

    /// The work on each iterated loop so far.
    pub fn loop_works(&self) -> impl Iterator<Item = &LoopWork> {
        self.consistency.works().chain(self.steps.works())
    }

    /// Numbers of the run so far.
    pub fn statistics(&self) -> Statistics {
        let share = |slot: &Slot| {
            let steps = self.steps_taken().div_ceil(u64::from(slot.every));
            let (seconds, seconds_per_step) = (slot.seconds(steps), slot.seconds_per_step());
            let (subsystem, solver) = (self.graph.name(slot.id).into(), slot.subsystem.solver());
            let step_calls = slot.step_calls().unwrap_or((steps + self.repetitions()) * self.nodes());
            Share { subsystem, solver, seconds, seconds_per_step, steps, step_calls }
        };
        let defect = |input: usize| {
            let unit = self.graph.input_variable(input).unit.clone();
            Defect { connection: self.graph.connection_name(input), unit, ..self.extremes.defect(input) }
        };
        Statistics {
            steps: self.steps_taken(),
            sizes: self.step_sizes(),
            shares: self.slots.iter().map(share).collect(),
            defects: (0..self.graph.inputs()).filter(|i| !self.graph.is_free(*i)).map(defect).collect(),
            parallel_stages: self.stages.iter().filter(|stage| stage.is_parallel).count(),
            review: self.coupling.review(&view(&self.graph, &self.board, self.clock.step(self.index, 1))),
            loops: self.loop_works().cloned().collect(),
            halvings: self.halvings,
            repetitions: self.repetitions(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::record::Table;
    use crate::run::{Flow, RunConfig, Simulation};
    use crate::signal::{Samples, Segment, Step};
    use crate::system::{Capabilities, Ports, Snapshot, Subsystem, SystemBuilder, VariableId};
    use std::time::{Duration, Instant};

    /// Takes a millisecond for each call of its stepping function: one in early steps, five in later ones.
    struct Slow {
        ports: Ports,
        capabilities: Capabilities,
    }

    impl Subsystem for Slow {
        fn ports(&self) -> &Ports {
            &self.ports
        }

        fn capabilities(&self) -> &Capabilities {
            &self.capabilities
        }

        fn initialize(&mut self, _start: f64) -> crate::Result<()> {
            Ok(())
        }

        fn read(&mut self, _inputs: Option<&[f64]>, _outputs: &mut [f64]) -> crate::Result<()> {
            Ok(())
        }

        fn step(
            &mut self,
            step: &Step,
            _input: &Segment<'_>,
            _outputs: &mut [f64],
            _samples: &mut Samples,
        ) -> crate::Result<()> {
            for _ in 0..if step.index < 20 { 1 } else { 5 } {
                self.capabilities.step_calls += 1;
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(1) {}
            }
            Ok(())
        }

        fn get(&mut self, _variable: VariableId) -> crate::Result<f64> {
            Ok(0.0)
        }

        fn set(&mut self, _variable: VariableId, _value: f64) -> crate::Result<()> {
            Ok(())
        }

        fn save(&mut self, _snapshot: &mut Snapshot) -> crate::Result<()> {
            Ok(())
        }

        fn restore(&mut self, _snapshot: &Snapshot) -> crate::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn sub_steps_of_steps_that_are_not_timed_count() {
        let capabilities = Capabilities { counts_step_calls: true, ..Capabilities::new("none") };
        let slow = Slow { ports: Ports::default(), capabilities };
        let system = SystemBuilder::new().add("slow", slow).build().unwrap();
        let mut simulation = Simulation::new(system, &RunConfig::new(6.0, 0.1)).unwrap();
        simulation.run(&mut Table::default(), &mut |_| Ok(Flow::Continue)).unwrap();
        let share = &simulation.statistics().shares[0];
        assert_eq!((share.steps, share.step_calls), (60, 220));
        assert!(share.seconds > 0.2, "{} s of at least 0.22 s", share.seconds);
    }
}
