//! All exchanged numbers: outputs, arrivals with their history, inputs as predicted and as applied.

use super::Reading;
use crate::coupling::{Needs, Polynomials, PredictedInputs, View};
use crate::error::{Error, Result};
use crate::identify::Models;
use crate::signal::{Delivery, History, Step};
use crate::system::{InputId, OutputId, SubsystemId, SystemGraph, Wire};
use std::ops::Range;

/// All exchanged numbers of a network, each list over all subsystems in the order in which they advance.
pub(crate) struct Board {
    pub(crate) history: History,
    /// Newest outputs.
    pub(crate) outputs: Vec<f64>,
    /// Polynomials of the inputs over the present step.
    pub(crate) predicted: PredictedInputs,
    /// What each input was given at the end of its last step, without external signals.
    pub(crate) applied: Vec<f64>,
    pub(crate) reading: Reading,
    /// What outputs were last read with where they are read stale: `applied` but for free inputs that were set since, and
    /// loops that are iterated. Empty where no coupling asks.
    pub(crate) read_stale: Vec<f64>,
    /// What the coupling knows of the subsystems.
    pub(crate) models: Models,
    /// In which stage each subsystem advances.
    pub(crate) stages: Vec<usize>,
    /// Subsystems whose outputs jumped at the start of the step.
    pub(crate) has_jumped: Vec<bool>,
}

/// What the outputs of a stage become: one entry per wire that starts there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deliveries {
    wires: Vec<Delivery>,
    /// Inputs at which several wires end: their values are summed again.
    shared: Vec<InputId>,
    /// Wires that pass a table: output, wire, input.
    mapped: Vec<(OutputId, usize, InputId)>,
    /// True if no input is shared and none has a table.
    are_single: bool,
}

impl Deliveries {
    pub(crate) fn new(graph: &SystemGraph, members: Range<SubsystemId>) -> Self {
        let mut deliveries = Deliveries::default();
        for (number, wire) in graph.wires().iter().enumerate().filter(|(_, w)| members.contains(&w.from)) {
            if graph.map(wire.target).is_some() {
                deliveries.mapped.push((wire.source, number, wire.target));
            }
            let (source, number, target) = (wire.source as u32, number as u32, wire.target as u32);
            let (gain, offset) = (wire.gain, graph.offset(wire.target));
            deliveries.wires.push(Delivery { source, wire: number, target, gain, offset });
            if graph.wires_into(wire.target).len() > 1 && deliveries.shared.last() != Some(&wire.target) {
                deliveries.shared.push(wire.target);
            }
        }
        deliveries.are_single = deliveries.shared.is_empty() && deliveries.mapped.is_empty();
        deliveries
    }

    /// One per wire.
    #[inline]
    pub(crate) fn wires(&self) -> &[Delivery] {
        &self.wires
    }

    /// True if no input is shared and none has a table.
    pub(crate) fn are_single(&self) -> bool {
        self.are_single
    }
}

/// Lists up to this length are not worth vector instructions.
const FEW: usize = 8;

impl Board {
    pub(crate) fn new(graph: &SystemGraph, needs: Needs, reading: Reading) -> Self {
        let mut history = History::new(graph.inputs(), graph.wires().len(), graph.len(), needs.depth);
        for input in 0..graph.inputs() {
            // Until something arrives, a connected input has its start value: the first guess of algebraic loops.
            let is_free = graph.is_free(input);
            history.set_arrival(
                input,
                if is_free { graph.offset(input) } else { graph.input_variable(input).start },
            );
        }
        let mut models = Models::new(graph);
        if needs.models.is_some() || needs.probe.is_some() {
            models.allocate(graph);
        }
        Board {
            history,
            outputs: vec![0.0; graph.outputs()],
            predicted: PredictedInputs::new(graph.inputs(), needs.terms, needs.pieces),
            applied: vec![0.0; graph.inputs()],
            reading,
            read_stale: if reading == Reading::Stale && (needs.models.is_some() || needs.probe.is_some()) {
                vec![0.0; graph.inputs()]
            } else {
                Vec::new()
            },
            models,
            stages: Vec::new(),
            has_jumped: vec![false; graph.len()],
        }
    }

    /// Makes room for other polynomials; inputs are what they were.
    pub(crate) fn set_needs(&mut self, graph: &SystemGraph, needs: Needs) {
        self.predicted = PredictedInputs::new(graph.inputs(), needs.terms, needs.pieces);
        if needs.models.is_some() || needs.probe.is_some() {
            self.models.allocate(graph);
        }
        for input in 0..graph.inputs() {
            self.predicted.hold(input, self.applied[input]);
        }
    }

    /// What the coupling sees between steps.
    pub(crate) fn view<'a>(&'a self, graph: &'a SystemGraph, step: Step) -> View<'a> {
        View {
            step,
            graph,
            history: &self.history,
            applied: &self.applied,
            outputs: &self.outputs,
            read_with: self.read_with(),
            is_fresh: self.reading == Reading::Fresh,
            predicted: &self.predicted,
            models: &self.models,
            stages: &self.stages,
            has_jumped: &self.has_jumped,
        }
    }

    /// What the coupling sees, and where it writes. It sees no polynomials while it writes them.
    #[inline(always)]
    pub(crate) fn view_and_writer<'a>(
        &'a mut self,
        graph: &'a SystemGraph,
        step: Step,
    ) -> (View<'a>, Polynomials<'a>) {
        let Board { history, outputs, predicted, applied, reading, read_stale, models, stages, has_jumped } =
            self;
        let is_fresh = *reading == Reading::Fresh;
        let (history, applied) = (&*history, &**applied);
        let read_stale = if read_stale.is_empty() { applied } else { read_stale };
        let read_with = if is_fresh { history.arrivals() } else { read_stale };
        (
            View {
                step,
                graph,
                history,
                applied,
                outputs,
                read_with,
                is_fresh,
                predicted: const { &PredictedInputs::NOTHING },
                models,
                stages,
                has_jumped,
            },
            predicted.writer(),
        )
    }

    /// These inputs keep what has arrived over the whole step.
    #[inline(always)]
    pub(crate) fn hold(&mut self, inputs: &[InputId]) {
        let mut out = self.predicted.writer();
        let arrivals = self.history.arrivals();
        if out.width > 1 {
            inputs.iter().for_each(|input| out.hold(*input, arrivals[*input]));
        } else if let [first, .., last] = inputs
            && inputs.len() > FEW
            && last - first + 1 == inputs.len()
        {
            // Usually all inputs are connected and lie side by side.
            out.coefficients[*first..=*last].copy_from_slice(&arrivals[*first..=*last]);
        } else {
            inputs.iter().for_each(|input| out.coefficients[*input] = arrivals[*input]);
        }
    }

    /// Outputs of a whole stage arrive at `time`.
    #[inline(always)]
    pub(crate) fn deliver(
        &mut self,
        graph: &SystemGraph,
        members: Range<SubsystemId>,
        to: &Deliveries,
        time: f64,
    ) {
        self.history.open(members, time);
        self.history.push_all(&to.wires, &self.outputs);
        if !to.are_single {
            self.deliver_joined(graph, to);
        }
    }

    /// What several wires or a table make of the outputs.
    #[inline(never)]
    fn deliver_joined(&mut self, graph: &SystemGraph, to: &Deliveries) {
        for &input in &to.shared {
            self.add_up(graph, input);
        }
        for &(source, wire, input) in &to.mapped {
            let value = carried(graph, graph.wires()[wire], self.outputs[source]);
            self.history.replace(wire, value);
            self.history.set_arrival(input, value);
        }
    }

    /// Outputs of one subsystem arrive at `time`, or replace those that have arrived at that time already.
    pub(crate) fn deliver_one(&mut self, graph: &SystemGraph, id: SubsystemId, time: f64) {
        let is_new = self.history.reached(id) != time;
        if is_new {
            self.history.open(id..id + 1, time);
        }
        let wires = graph.wires_from(id);
        for (place, &number) in wires.iter().enumerate() {
            let wire = graph.wires()[number];
            let value = carried(graph, wire, self.outputs[wire.source]);
            if is_new {
                self.history.push(number, value);
            } else {
                self.history.replace(number, value);
            }
            // Wires to the same input lie side by side.
            if wires.get(place + 1).is_none_or(|next| graph.wires()[*next].target != wire.target) {
                self.add_up(graph, wire.target);
            }
        }
    }

    /// What each output was last read with, without external signals.
    pub(crate) fn read_with(&self) -> &[f64] {
        match self.reading {
            Reading::Fresh => self.history.arrivals(),
            Reading::Stale if self.read_stale.is_empty() => &self.applied,
            Reading::Stale => &self.read_stale,
        }
    }

    fn add_up(&mut self, graph: &SystemGraph, input: InputId) {
        let sum: f64 = graph.wires_into(input).map(|wire| self.history.newest(wire)).sum();
        self.history.set_arrival(input, sum + graph.offset(input));
    }

    /// Refuses a value for which a table before one of these inputs has no entry.
    #[inline]
    pub(crate) fn check_maps(&self, graph: &SystemGraph, inputs: &Range<InputId>, time: f64) -> Result<()> {
        if graph.maps().is_empty() { Ok(()) } else { self.check_mapped(graph, inputs, time) }
    }

    fn check_mapped(&self, graph: &SystemGraph, inputs: &Range<InputId>, time: f64) -> Result<()> {
        let maps = graph.maps().iter().filter(|(input, _)| inputs.contains(input));
        match maps.into_iter().find(|(input, _)| self.history.arrivals()[*input].is_nan()) {
            None => Ok(()),
            Some((input, _)) => {
                let source = graph.wires()[graph.wires_into(*input).start].source;
                let (connection, value) = (graph.connection_name(*input), self.outputs[source]);
                Err(Error::Unmapped { connection, value, time }.into())
            }
        }
    }

    /// Those of these inputs whose table does not know what has arrived keep what they were given last.
    pub(crate) fn hold_unmapped(&mut self, graph: &SystemGraph, inputs: &Range<InputId>) {
        for (input, _) in graph.maps().iter().filter(|(input, _)| inputs.contains(input)) {
            if self.history.arrivals()[*input].is_nan() {
                self.predicted.hold(*input, self.applied[*input]);
            }
        }
    }

    /// Notes what these inputs were given at the end of a step of this size.
    #[inline(always)]
    pub(crate) fn note_applied(&mut self, inputs: Range<InputId>, size: f64) {
        self.predicted.end_values(inputs.clone(), size, &mut self.applied[inputs.clone()]);
        if !self.read_stale.is_empty() {
            self.read_stale[inputs.clone()].copy_from_slice(&self.applied[inputs]);
        }
    }

    /// Notes that stale outputs were read with this value of an input.
    pub(crate) fn note_read(&mut self, input: InputId, value: f64) {
        if !self.read_stale.is_empty() {
            self.read_stale[input] = value;
        }
    }

    /// The first of these outputs that is not a number.
    #[inline(always)]
    pub(crate) fn non_finite(&self, outputs: Range<OutputId>) -> Option<OutputId> {
        first_non_finite(&self.outputs[outputs.clone()]).map(|at| outputs.start + at)
    }
}

/// The place of the first that is not a number.
#[inline(always)]
pub(crate) fn first_non_finite(values: &[f64]) -> Option<usize> {
    if values.len() <= FEW {
        // With an early exit, which keeps them apart: a vector load of what was just stored number by number would have to
        // wait for all of it.
        return values.iter().position(is_non_finite);
    }
    // No early exit, so that the loop is a few vector instructions.
    let any = values.iter().fold(false, |any, y| any | is_non_finite(y));
    if any { place_of_non_finite(values) } else { None }
}

#[cold]
fn place_of_non_finite(values: &[f64]) -> Option<usize> {
    values.iter().position(is_non_finite)
}

/// Exponent bits all set: infinite or not a number.
#[inline(always)]
fn is_non_finite(y: &f64) -> bool {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    y.to_bits() & EXPONENT == EXPONENT
}

/// What an output becomes on a wire.
#[inline]
fn carried(graph: &SystemGraph, wire: Wire, output: f64) -> f64 {
    if graph.maps().is_empty() {
        return wire.gain * output;
    }
    graph.map(wire.target).map_or(wire.gain * output, |map| map.value(output))
}
