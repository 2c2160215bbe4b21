//! Rows of a run: at communication points, and if asked for, at events between them.
//!
//! At an event of one subsystem, the others have no values of that time: their columns are interpolated between what is known of
//! them before and after, those that jump keep the value before. The columns of the subsystem itself are what it had before and
//! after the event.

use super::scheme::Scheme;
use crate::error::{Error, Result};
use crate::iteration::column_value;
use crate::network::Network;
use crate::record::{Column, Columns, Condition, MessageColumn, Recorder, Source};
use crate::signal::Step;
use crate::system::{Event, Message, MessageKind, Ports, SubsystemId, SystemGraph, VariableId, VariableKind};

/// What is recorded of a run, and the newest row.
pub(super) struct Recording {
    pub(super) columns: Columns,
    /// One row every n-th tick.
    every: u64,
    condition: Option<Condition>,
    /// True if points between rows are looked at, too: where a subsystem ends the run in the step that follows, they are
    /// the last it has.
    pub(super) keeps_all: bool,
    /// Time of the newest row, if it was not written.
    pub(super) unwritten: Option<f64>,
    numbers: Vec<f64>,
    messages: Vec<Message>,
    tick: Message,
    events: Option<Events>,
}

/// A run at the time of a row.
pub(super) struct Now<'a> {
    pub(super) network: &'a mut Network,
    pub(super) scheme: &'a dyn Scheme,
    pub(super) time: f64,
    /// The coming step.
    pub(super) step: Step,
    /// Length of the last step, in s.
    pub(super) last_size: f64,
    /// Times closer than this are equal.
    pub(super) margin: f64,
}

/// What rows at events need.
struct Events {
    /// The row before the newest; without time before the first.
    time: Option<f64>,
    numbers: Vec<f64>,
    messages: Vec<Message>,
    /// A row at an event.
    between: Vec<f64>,
    /// Columns that keep their values between rows.
    is_held: Vec<bool>,
    /// Who notes a column, and its place there.
    own: Vec<Option<(SubsystemId, usize)>>,
    /// Events of each subsystem since the last row.
    noted: Vec<Vec<Event>>,
}

impl Events {
    /// Subsystems note from now on what rows at events need.
    fn new(columns: &Columns, numbers: &[f64], messages: &[Message], network: &mut Network) -> Self {
        let Network { graph, slots, .. } = network;
        let mut variables = vec![Vec::new(); slots.len()];
        let own = columns.list().iter().map(|column| match column.source {
            Source::Variable { subsystem, variable } if is_own(graph.ports(subsystem), variable) => {
                variables[subsystem].push(variable);
                Some((subsystem, variables[subsystem].len() - 1))
            }
            _ => None,
        });
        let own = own.collect();
        for (slot, variables) in
            slots.iter_mut().zip(variables).filter(|(_, variables)| !variables.is_empty())
        {
            if let Some(log) = slot.subsystem.events() {
                log.watch(variables);
            }
        }
        Events {
            time: None,
            numbers: numbers.to_vec(),
            messages: messages.to_vec(),
            between: numbers.to_vec(),
            is_held: columns.list().iter().map(|column| is_held(graph, column.source)).collect(),
            own,
            noted: vec![Vec::new(); slots.len()],
        }
    }

    /// The row before becomes the present one.
    fn remember(&mut self, time: f64, numbers: &[f64], messages: &[Message]) {
        self.time = Some(time);
        self.numbers.copy_from_slice(numbers);
        self.messages.clone_from_slice(messages);
    }

    /// Rows at the events since the last one, up to the present one at `time`.
    fn rows(&mut self, time: f64, numbers: &[f64], recorder: &mut dyn Recorder) -> Result<()> {
        let mut times: Vec<f64> = self.noted.iter().flatten().map(|event| event.time).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        for at in times {
            self.fill(at, Side::Before, (time, numbers));
            let before = self.between.clone();
            self.fill(at, Side::After, (time, numbers));
            // At the time of the last row, that one was before.
            if before != self.between && self.time.is_some_and(|last| at > last) {
                recorder.row_with(at, &before, &self.messages)?;
            }
            // At the time of the present row, that one follows.
            if at < time {
                recorder.row_with(at, &self.between, &self.messages)?;
            }
        }
        Ok(())
    }

    /// The row at an event, before or after it.
    fn fill(&mut self, at: f64, side: Side, (time, numbers): (f64, &[f64])) {
        for (column, between) in self.between.iter_mut().enumerate() {
            let row_before = (self.time.unwrap_or(time), self.numbers[column]);
            let row_after = (time, numbers[column]);
            let (left, right) = match self.own[column] {
                None => (row_before, row_after),
                Some((id, place)) => {
                    let events = &self.noted[id];
                    let first = events.partition_point(|event| event.time < at);
                    let after = events.partition_point(|event| event.time <= at);
                    if first < after {
                        *between = match side {
                            Side::Before => events[first].before[place],
                            Side::After => events[after - 1].after[place],
                        };
                        continue;
                    }
                    let last = events[..first].last().map(|event| (event.time, event.after[place]));
                    let next = events.get(after).map(|event| (event.time, event.before[place]));
                    (last.unwrap_or(row_before), next.unwrap_or(row_after))
                }
            };
            let share =
                if right.0 > left.0 { ((at - left.0) / (right.0 - left.0)).clamp(0.0, 1.0) } else { 1.0 };
            *between = if self.is_held[column] { left.1 } else { left.1 + share * (right.1 - left.1) };
        }
    }
}

/// Which of the two rows at an event.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Recording {
    pub(super) fn new(
        columns: Columns,
        every: u64,
        condition: Option<Condition>,
        has_events: bool,
        network: &mut Network,
    ) -> Self {
        let messages: Vec<Message> = columns.messages().iter().map(|column| column.kind.empty()).collect();
        let numbers = vec![0.0; columns.len()];
        let events = has_events.then(|| Events::new(&columns, &numbers, &messages, network));
        let tick = MessageKind::Tick.empty();
        Recording {
            columns,
            every,
            condition,
            keeps_all: false,
            unwritten: None,
            numbers,
            messages,
            tick,
            events,
        }
    }

    /// Whether events become rows.
    pub(super) fn has_events(&self) -> bool {
        self.events.is_some()
    }

    /// True if all columns are on the board: no subsystem is asked for them.
    pub(super) fn is_on_board(&self) -> bool {
        let is_on_board = |column: &Column| match column.source {
            Source::Variable { variable, .. } => {
                matches!(variable.kind, VariableKind::Input | VariableKind::Output)
            }
            _ => false,
        };
        self.columns.messages().is_empty() && self.columns.list().iter().all(is_on_board)
    }

    /// True if points are passed that become no rows.
    pub(super) fn skips_points(&self) -> bool {
        self.every > 1 || self.columns.is_empty()
    }

    /// True if a point of the grid becomes a row.
    pub(super) fn is_row(&self, index: u64) -> bool {
        index.is_multiple_of(self.every)
    }

    /// Ticks to the next row, for steps of several ticks; beyond counting if every point is one.
    pub(super) fn ticks_to_row(&self, index: u64) -> u64 {
        if self.every == 1 { u64::MAX } else { self.every - index % self.every }
    }

    /// Macro steps that can be taken without a look at the values.
    pub(super) fn batch_steps(&self, index: u64) -> u64 {
        if self.condition.is_some() || self.keeps_all { 1 } else { self.every - index % self.every }
    }

    /// Whether the stop condition holds.
    pub(super) fn is_condition_met(&mut self, network: &mut Network, time: f64) -> Result<bool> {
        let Some(condition) = &mut self.condition else { return Ok(false) };
        condition.holds(time, |id, variable| network.value(id, variable, time))
    }

    /// Gives the present row to `recorder`, after those at events since the last one.
    pub(super) fn record(&mut self, now: &mut Now<'_>, recorder: &mut dyn Recorder) -> Result<()> {
        self.fill(now)?;
        self.write(now.network, now.time, now.margin, recorder)
    }

    /// Keeps the present row, which is not written unless it is the last.
    pub(super) fn keep(&mut self, now: &mut Now<'_>) -> Result<()> {
        self.fill(now)?;
        self.unwritten = Some(now.time);
        Ok(())
    }

    /// Gives the row that was filled at `time` to `recorder`, after those at events since the last one.
    pub(super) fn write(
        &mut self,
        network: &mut Network,
        time: f64,
        margin: f64,
        recorder: &mut dyn Recorder,
    ) -> Result<()> {
        self.unwritten = None;
        let Recording { numbers, messages, events, .. } = self;
        if let Some(events) = events {
            for (slot, noted) in network.slots.iter_mut().zip(&mut events.noted) {
                noted.clear();
                noted.extend(
                    slot.subsystem.events().into_iter().flat_map(|log| log.take_until(time + margin)),
                );
                // Times of subsystems are sums of steps, which differ from those of rows in their last bits.
                let last = events.time.unwrap_or(time);
                noted.iter_mut().for_each(|event| event.time = event.time.clamp(last, time));
            }
            // The first row shows the start as it is.
            if events.time.is_some() {
                events.rows(time, numbers, recorder)?;
            }
            events.remember(time, numbers, messages);
        }
        if messages.is_empty() {
            recorder.row(time, numbers)
        } else {
            recorder.row_with(time, numbers, messages)
        }
    }

    /// The row that a continued run has recorded last, between which and the next events lie.
    pub(super) fn recall(&mut self, now: &mut Now<'_>) -> Result<()> {
        if self.has_events() {
            self.fill(now)?;
        }
        if let Recording { numbers, messages, events: Some(events), .. } = self {
            events.remember(now.time, numbers, messages);
        }
        Ok(())
    }

    fn fill(&mut self, now: &mut Now<'_>) -> Result<()> {
        let Recording { columns, numbers, messages: texts, tick, .. } = self;
        let Now { network, scheme, time, step, last_size, .. } = now;
        columns.fill(numbers, |source| match source {
            Source::Variable { subsystem, variable } => network.value(subsystem, variable, *time),
            Source::Coupling(channel) => Ok(network.coupling.report().channel(&network.view(*step), channel)),
            Source::Step => Ok(*last_size),
            Source::Loop(index) => {
                let of_steps = (0..).map_while(|number| scheme.loop_work(number));
                Ok(column_value(network.loop_works().chain(of_steps), index))
            }
            Source::Tick { subsystem, output } => {
                present(network, (subsystem, output), *time, tick)?;
                Ok(f64::from(u8::from(*tick == Message::Tick(true))))
            }
        })?;
        let texts = columns.messages().iter().zip(texts);
        texts.into_iter().try_for_each(|(MessageColumn { from, output, .. }, text)| {
            present(network, (*from, *output), *time, text)
        })
    }
}

/// Writes the present message of an output.
fn present(
    network: &mut Network,
    (id, output): (SubsystemId, usize),
    time: f64,
    message: &mut Message,
) -> Result<()> {
    let Network { messages, slots, graph, .. } = network;
    messages
        .present(slots, (id, output), message)
        .map_err(|source| Error::Subsystem { subsystem: graph.name(id).into(), time, source }.into())
}

/// Whether a subsystem itself has the variable: inputs come from others, filters are around it.
fn is_own(ports: &Ports, variable: VariableId) -> bool {
    match variable.kind {
        VariableKind::Input => false,
        VariableKind::Output => ports.outputs[variable.index].filtered.is_none(),
        VariableKind::Parameter | VariableKind::Local => true,
    }
}

/// Whether a column keeps its value between two rows.
fn is_held(graph: &SystemGraph, source: Source) -> bool {
    match source {
        Source::Variable { subsystem, variable } => {
            let ports = graph.ports(subsystem);
            match variable.kind {
                VariableKind::Input => ports.inputs[variable.index].is_held,
                VariableKind::Output => ports.outputs[variable.index].is_held,
                VariableKind::Parameter => true,
                VariableKind::Local => ports.locals[variable.index].is_held,
            }
        }
        Source::Coupling(_) | Source::Loop(_) | Source::Step | Source::Tick { .. } => true,
    }
}
