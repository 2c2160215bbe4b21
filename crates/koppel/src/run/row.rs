//! Rows of a run: at communication points, and if asked for, at events between them.
//!
//! At an event of one subsystem, the others have no values of that time: their columns are interpolated between what is known of
//! them before and after, those that jump keep the value before. The columns of the subsystem itself are what it had before and
//! after the event.

use super::drive::value;
use super::iterate::column_value;
use super::simulation::{Simulation, view};
use crate::error::{Error, Result};
use crate::record::{Columns, MessageColumn, Recorder, Source};
use crate::system::{Event, Message, MessageKind, Ports, SubsystemId, SystemGraph, VariableId, VariableKind};

/// The newest row.
pub(super) struct Row {
    numbers: Vec<f64>,
    messages: Vec<Message>,
    tick: Message,
    events: Option<Events>,
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

impl Row {
    pub(super) fn new(columns: &Columns, has_events: bool) -> Self {
        let messages: Vec<Message> = columns.messages().iter().map(|column| column.kind.empty()).collect();
        let numbers = vec![0.0; columns.len()];
        let events = has_events.then(|| Events {
            time: None,
            numbers: numbers.clone(),
            messages: messages.clone(),
            between: numbers.clone(),
            is_held: Vec::new(),
            own: Vec::new(),
            noted: Vec::new(),
        });
        Row { numbers, messages, tick: MessageKind::Tick.empty(), events }
    }

    /// Whether events become rows.
    pub(super) fn has_events(&self) -> bool {
        self.events.is_some()
    }
}

impl Events {
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

impl Simulation {
    /// Subsystems note what rows at events need, if those are asked for.
    pub(super) fn watch_events(&mut self) {
        let Simulation { row: Row { events: Some(events), .. }, columns, slots, graph, .. } = self else {
            return;
        };
        events.is_held = columns.list().iter().map(|column| is_held(graph, column.source)).collect();
        events.noted = vec![Vec::new(); slots.len()];
        let mut variables = vec![Vec::new(); slots.len()];
        let own = columns.list().iter().map(|column| match column.source {
            Source::Variable { subsystem, variable } if is_own(graph.ports(subsystem), variable) => {
                variables[subsystem].push(variable);
                Some((subsystem, variables[subsystem].len() - 1))
            }
            _ => None,
        });
        events.own = own.collect();
        for (slot, variables) in
            slots.iter_mut().zip(variables).filter(|(_, variables)| !variables.is_empty())
        {
            if let Some(log) = slot.subsystem.events() {
                log.watch(variables);
            }
        }
    }

    /// Gives the present row to `recorder`, after those at events since the last one.
    pub fn record(&mut self, recorder: &mut dyn Recorder) -> Result<()> {
        self.fill_row()?;
        self.write_row(self.time(), recorder)
    }

    /// Keeps the present row, which is not written unless it is the last.
    pub(super) fn keep_row(&mut self) -> Result<()> {
        self.fill_row()?;
        self.unwritten = Some(self.time());
        Ok(())
    }

    /// Gives the row that was filled at `time` to `recorder`, after those at events since the last one.
    pub(super) fn write_row(&mut self, time: f64, recorder: &mut dyn Recorder) -> Result<()> {
        self.unwritten = None;
        let margin = self.margin();
        let Simulation { row: Row { numbers, messages, events, .. }, slots, .. } = self;
        if let Some(events) = events {
            for (slot, noted) in slots.iter_mut().zip(&mut events.noted) {
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
    pub(super) fn recall_row(&mut self) -> Result<()> {
        if !self.row.has_events() {
            return Ok(());
        }
        self.fill_row()?;
        let time = self.time();
        let Simulation { row: Row { numbers, messages, events: Some(events), .. }, .. } = self else {
            return Ok(());
        };
        events.remember(time, numbers, messages);
        Ok(())
    }

    fn fill_row(&mut self) -> Result<()> {
        let time = self.time();
        let Simulation {
            columns,
            slots,
            row: Row { numbers, messages: texts, tick, .. },
            messages,
            graph,
            board,
            coupling,
            clock,
            consistency,
            steps,
            control,
            ..
        } = self;
        let seen = view(graph, board, clock.step(self.index, 1));
        let failed =
            |id: SubsystemId, source| Error::Subsystem { subsystem: graph.name(id).into(), time, source };
        columns.fill(numbers, |source| match source {
            Source::Variable { subsystem, variable } => {
                value(&mut slots[subsystem], variable, graph, board, time)
            }
            Source::Coupling(channel) => Ok(coupling.report().channel(&seen, channel)),
            Source::Step => Ok(control.as_ref().map_or(clock.size(), |control| control.last_size())),
            Source::Loop(index) => Ok(column_value(consistency.works().chain(steps.works()), index)),
            Source::Tick { subsystem, output } => {
                let present = messages.present(slots, (subsystem, output), tick);
                present.map_err(|source| failed(subsystem, source))?;
                Ok(f64::from(u8::from(*tick == Message::Tick(true))))
            }
        })?;
        for (MessageColumn { from, output, .. }, text) in columns.messages().iter().zip(texts) {
            let present = messages.present(slots, (*from, *output), text);
            present.map_err(|source| failed(*from, source))?;
        }
        Ok(())
    }
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
