//! The network: subsystems, the wiring between them, and all numbers that travel on it.
//!
//! It knows nothing of schedules, rows or the stop time: a scheme ([`crate::run`]) advances it from one communication point to the
//! next, and the workbench ([`crate::workbench`]) analyses its subsystems.
//!
//! | file          | what                                                                        |
//! | ------------- | --------------------------------------------------------------------------- |
//! | `mod.rs`      | [`Network`]: what exists, its present values                                 |
//! | `start.rs`    | from initial values to a consistent start                                   |
//! | `models.rs`   | models of the subsystems, where the coupling asks for them                   |
//! | `slot.rs`     | one subsystem with the buffers of its own step                               |
//! | `board.rs`    | outputs, arrivals with their past, inputs as predicted and as applied        |
//! | `messages.rs` | texts, bytes and ticks                                                       |
//! | `evaluation/` | outputs of one instant: order of evaluation, algebraic loops, initialization |
//! | `failure.rs`  | errors with names and times                                                 |
//! | `wide.rs`     | integers that a floating-point number cannot hold                            |

mod board;
mod evaluation;
mod failure;
mod messages;
mod models;
mod slot;
mod start;
mod wide;

pub(crate) use board::{Board, Deliveries, first_non_finite};
pub use evaluation::Reading;
use evaluation::{Evaluation, Instant};
pub use failure::Termination;
pub(crate) use failure::{
    failed, has_ended, is_request, non_finite, prediction_failed, request_or_failure, termination,
    with_inputs,
};
pub(crate) use messages::Messages;
pub(crate) use slot::Slot;
pub(crate) use start::Settings;
pub(crate) use wide::WideOutputs;

use crate::coupling::{Coupling, Needs, View};
use crate::error::{Error, Result};
use crate::iteration::{IterationConfig, LoopWork};
use crate::signal::Step;
use crate::system::{
    InputId, Message, OutputId, Subsystem, SubsystemId, SystemGraph, VariableId, VariableKind,
};
use crate::tape::Tape;
use std::ops::Range;

/// Coupled subsystems at one instant. They are numbered in the order in which they advance.
pub struct Network {
    pub(crate) graph: SystemGraph,
    pub(crate) slots: Vec<Slot>,
    pub(crate) board: Board,
    pub(crate) messages: Messages,
    pub(crate) coupling: Box<dyn Coupling>,
    pub(crate) needs: Needs,
    pub(crate) wide: WideOutputs,
    evaluation: Evaluation,
    /// True if a change may have made the models wrong.
    pub(crate) are_models_old: bool,
    /// Buffer for the inputs of any one subsystem.
    inputs: Vec<f64>,
    /// Buffer for the outputs of any one subsystem.
    rates: Vec<f64>,
}

/// How a network is evaluated and sampled.
pub(crate) struct NetworkConfig<'a> {
    pub(crate) reading: Reading,
    /// How algebraic loops are iterated at communication points.
    pub(crate) iteration: Option<&'a IterationConfig>,
    /// Per subsystem: it advances every n-th step.
    pub(crate) every: &'a [u32],
    /// The largest communication step.
    pub(crate) step: f64,
}

impl Network {
    /// Subsystems that are not initialised yet.
    pub(crate) fn new(
        graph: SystemGraph,
        subsystems: Vec<Box<dyn Subsystem>>,
        coupling: Box<dyn Coupling>,
        config: &NetworkConfig<'_>,
    ) -> Self {
        let needs = coupling.needs();
        let slot = |(id, subsystem)| Slot::new(id, subsystem, config.every[id], &graph, needs, config.step);
        let slots: Vec<Slot> = subsystems.into_iter().enumerate().map(slot).collect();
        let widest = slots.iter().map(|slot| slot.inputs.len()).max().unwrap_or(0);
        let most_outputs = slots.iter().map(|slot| slot.outputs.len()).max().unwrap_or(0);
        Network {
            board: Board::new(&graph, needs, config.reading),
            messages: Messages::new(&graph),
            evaluation: Evaluation::new(&graph, config.iteration),
            are_models_old: true,
            wide: WideOutputs::default(),
            inputs: vec![0.0; widest],
            rates: vec![0.0; most_outputs],
            graph,
            slots,
            coupling,
            needs,
        }
    }

    /// What the coupling is shown.
    pub(crate) fn view(&self, step: Step) -> View<'_> {
        self.board.view(&self.graph, step)
    }

    /// Adapts buffers to what the coupling needs by now, for steps of this size.
    pub(crate) fn set_needs(&mut self, needs: Needs, size: f64) {
        self.needs = needs;
        self.board.set_needs(&self.graph, needs);
        self.slots.iter_mut().for_each(|slot| slot.set_needs(&self.graph, needs, size));
    }

    /// True if outputs are evaluated again at communication points.
    #[inline]
    pub(crate) fn is_evaluated(&self) -> bool {
        self.evaluation.is_due(self.board.reading)
    }

    /// Makes the outputs of all subsystems that have come to `time` belong to one instant.
    pub(crate) fn evaluate(&mut self, time: f64) -> Result<()> {
        let Network { graph, slots, board, inputs, evaluation, .. } = self;
        let reading = board.reading;
        evaluation.refresh(&mut Instant { graph, slots, board, inputs, time, late: None }, reading)
    }

    /// Refuses outputs that are not finite.
    #[inline]
    pub(crate) fn check_finite(&self, outputs: Range<OutputId>, time: f64) -> Result<()> {
        match self.board.non_finite(outputs) {
            Some(output) => Err(non_finite(&self.graph, &self.board.outputs, output, time)),
            None => Ok(()),
        }
    }

    /// Refuses values for which a table has no entry, and integers that lose digits.
    pub(crate) fn check_tables(&self, time: f64) -> Result<()> {
        self.board.check_maps(&self.graph, &(0..self.graph.inputs()), time)?;
        self.wide.check(&self.graph, &self.board.outputs, time)
    }

    /// What these subsystems send at `time` reaches its receivers.
    pub(crate) fn carry_messages(&mut self, members: Range<SubsystemId>, time: f64) -> Result<()> {
        let Network { graph, slots, messages, board, .. } = self;
        messages.carry(graph, slots, &board.history, members, time)
    }

    /// The present message of an output, by its full name: as it was last carried, or if nothing is connected, as its
    /// subsystem gives it now.
    pub(crate) fn message(&mut self, name: &str, time: f64) -> Result<Message> {
        let (id, output) = self.graph.find_message_output(name)?;
        let mut message = self.graph.ports(id).message_outputs[output].kind.empty();
        self.messages
            .present(&mut self.slots, (id, output), &mut message)
            .map_err(|source| Error::Subsystem { subsystem: self.graph.name(id).into(), time, source })?;
        Ok(message)
    }

    /// Outputs of one subsystem with the inputs it was given last, and free inputs and external signals as they are now.
    pub(crate) fn read_again(&mut self, id: SubsystemId, time: f64) -> Result<()> {
        let slot = &mut self.slots[id];
        let inputs = &mut self.inputs[..slot.inputs.len()];
        for (u, input) in inputs.iter_mut().zip(slot.inputs.clone()) {
            let given =
                if self.graph.is_free(input) { self.graph.offset(input) } else { self.board.applied[input] };
            self.board.note_read(input, given);
            *u = given + slot.external(&self.graph, input, time);
        }
        let outputs = &mut self.board.outputs[slot.outputs.clone()];
        slot.subsystem.read(Some(inputs), outputs).map_err(|source| Error::Subsystem {
            subsystem: self.graph.name(id).into(),
            time,
            source,
        })?;
        self.board.deliver_one(&self.graph, id, self.board.history.reached(id));
        Ok(())
    }

    /// Present value of any variable; of an input, what it was given at the end of its last step. Outputs and inputs of a
    /// slow subsystem that is ahead keep their last values until their time has come; its states are those it has reached.
    pub(crate) fn value(&mut self, id: SubsystemId, variable: VariableId, time: f64) -> Result<f64> {
        let VariableId { kind, index } = variable;
        let Network { graph, slots, board, .. } = self;
        let slot = &mut slots[id];
        let input = slot.inputs.start + index;
        let is_ahead = !slot.before.is_empty() && board.history.reached(id) > time;
        match kind {
            VariableKind::Output if is_ahead => Ok(slot.before[index]),
            VariableKind::Input if is_ahead => {
                Ok(slot.before[slot.outputs.len() + index] + slot.external(graph, input, time))
            }
            VariableKind::Output => Ok(board.outputs[slot.outputs.start + index]),
            VariableKind::Input => Ok(board.applied[input] + slot.external(graph, input, time)),
            VariableKind::Parameter | VariableKind::Local => slot.subsystem.get(variable),
        }
    }

    /// Shows `tape` everything the next step depends on but messages and the states of subsystems.
    pub(crate) fn state(&mut self, tape: &mut Tape<'_>) {
        self.graph.state(tape);
        let Board { applied, read_stale, predicted, outputs, history, models, .. } = &mut self.board;
        tape.values(applied);
        tape.values(read_stale);
        tape.values(&mut predicted.coefficients);
        tape.numbers(&mut predicted.sizes);
        tape.outputs(outputs);
        self.slots.iter_mut().for_each(|slot| tape.values(&mut slot.before));
        history.state(tape);
        if self.needs.models.is_some() {
            models.state(tape);
        }
        self.coupling.state(tape);
        self.evaluation.state(tape);
    }

    /// The work on each algebraic loop that is iterated.
    pub(crate) fn loop_works(&self) -> impl Iterator<Item = &LoopWork> {
        self.evaluation.works()
    }

    /// The same, to be changed.
    pub(crate) fn loop_works_mut(&mut self) -> impl Iterator<Item = &mut LoopWork> {
        self.evaluation.works_mut()
    }

    /// The wiring.
    pub fn graph(&self) -> &SystemGraph {
        &self.graph
    }

    /// How many subsystems it has.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// True if every subsystem is exactly its matrices.
    pub fn is_linear(&self) -> bool {
        self.slots.iter().all(|slot| slot.subsystem.capabilities().is_linear)
    }

    /// One subsystem.
    pub(crate) fn subsystem(&self, id: SubsystemId) -> &dyn Subsystem {
        &*self.slots[id].subsystem
    }

    /// The same, to be changed.
    pub(crate) fn subsystem_mut(&mut self, id: SubsystemId) -> &mut dyn Subsystem {
        &mut *self.slots[id].subsystem
    }

    /// Outputs of all subsystems.
    pub fn outputs(&self) -> &[f64] {
        &self.board.outputs
    }

    /// What is connected to each input, without external signals.
    pub fn arrivals(&self) -> &[f64] {
        self.board.history.arrivals()
    }

    /// What each input was given at the end of the last step, without external signals.
    pub fn applied(&self) -> &[f64] {
        &self.board.applied
    }

    /// What the outputs were last read with, without external signals.
    pub fn read_with(&self) -> &[f64] {
        self.board.read_with()
    }

    /// What the outputs of one subsystem were last read with, external signals included.
    pub(crate) fn read_inputs(&self, id: SubsystemId, time: f64) -> Vec<f64> {
        let slot = &self.slots[id];
        let given = self.board.read_with()[slot.inputs.clone()].iter().zip(slot.inputs.clone());
        given.map(|(u, input)| u + slot.external(&self.graph, input, time)).collect()
    }

    /// What a connected input was given `tau` after the start of the last step, without external signals.
    pub(crate) fn given(&self, input: InputId, tau: f64) -> f64 {
        self.board.predicted.value(input, tau)
    }

    /// The sum of the external signals on one input of a subsystem.
    pub(crate) fn external(&self, id: SubsystemId, input: InputId, time: f64) -> f64 {
        self.slots[id].external(&self.graph, input, time)
    }

    /// Pieces that inputs have within a step.
    pub(crate) fn pieces(&self) -> usize {
        self.board.predicted.pieces()
    }

    /// Whether outputs are read again once all have arrived.
    pub(crate) fn reads_fresh(&self) -> bool {
        self.board.reading == Reading::Fresh
    }

    /// u - L y of every connected input: what it was last given, less what is connected to it now.
    pub(crate) fn differences(&self) -> impl Iterator<Item = f64> + '_ {
        let connected = (0..self.graph.inputs()).filter(|input| !self.graph.is_free(*input));
        connected.map(|input| {
            let wires = &self.graph.wires()[self.graph.wires_into(input)];
            let arrives = wires.iter().map(|wire| wire.gain * self.board.outputs[wire.source]).sum::<f64>();
            self.board.applied[input] - self.graph.offset(input) - arrives
        })
    }
}
