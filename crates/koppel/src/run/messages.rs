//! Texts, bytes and ticks on their way.
//!
//! After each stage, those members that have come to the communication point send; then the receivers get what was sent,
//! before they move next. All send before any receives, so the order of subsystems does not matter. Messages are no part
//! of algebraic loops: a message output that depends on a message input follows one communication point later.

use super::simulation::Simulation;
use super::slot::Slot;
use crate::error::{Error, Result};
use crate::system::{Message, MessageWire, SubsystemId, SystemGraph};
use std::ops::Range;

/// The messages of all connected outputs.
pub(super) struct Messages {
    boxes: Vec<Mailbox>,
    /// Place of the mailbox each of the graph's wires starts from.
    sources: Vec<usize>,
}

struct Mailbox {
    from: SubsystemId,
    output: usize,
    message: Message,
    /// Sent since the last delivery.
    is_new: bool,
}

impl Messages {
    pub(super) fn new(graph: &SystemGraph) -> Self {
        let mut boxes: Vec<Mailbox> = Vec::new();
        let mut source = |wire: &MessageWire| {
            let is_same = |last: &Mailbox| (last.from, last.output) == (wire.from, wire.output);
            // Wires are sorted by source.
            if !boxes.last().is_some_and(is_same) {
                let message = graph.ports(wire.from).message_outputs[wire.output].kind.empty();
                boxes.push(Mailbox { from: wire.from, output: wire.output, message, is_new: false });
            }
            boxes.len() - 1
        };
        let sources = graph.message_wires().iter().map(&mut source).collect();
        Messages { boxes, sources }
    }

    /// True if there is nothing to carry.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// Writes all messages into `list`, reusing its buffers.
    pub(super) fn save(&self, list: &mut Vec<Message>) {
        list.resize_with(self.boxes.len(), || Message::Tick(false));
        list.iter_mut().zip(&self.boxes).for_each(|(saved, mailbox)| saved.clone_from(&mailbox.message));
    }

    /// True if a saved list is one of this run.
    pub(super) fn fit(&self, list: &[Message]) -> bool {
        list.len() == self.boxes.len()
            && list.iter().zip(&self.boxes).all(|(saved, mailbox)| saved.kind() == mailbox.message.kind())
    }

    /// Takes back what `save` wrote.
    pub(super) fn restore(&mut self, list: &[Message]) {
        self.boxes.iter_mut().zip(list).for_each(|(mailbox, saved)| mailbox.message.clone_from(saved));
    }
}

impl Messages {
    /// Writes the present message of an output into `message`: as it was last carried, or if nothing is connected, as its
    /// subsystem gives it now.
    pub(super) fn present(
        &self,
        slots: &mut [Slot],
        (from, output): (SubsystemId, usize),
        message: &mut Message,
    ) -> Result<()> {
        match self.boxes.iter().find(|mailbox| (mailbox.from, mailbox.output) == (from, output)) {
            Some(mailbox) => message.clone_from(&mailbox.message),
            None => slots[from].subsystem.send(output, message)?,
        }
        Ok(())
    }
}

impl Simulation {
    /// What these subsystems have to say at `time` reaches its receivers.
    #[cold]
    pub(super) fn carry_messages(&mut self, members: Range<SubsystemId>, time: f64) -> Result<()> {
        let Simulation { graph, slots, messages, board, .. } = self;
        let failed = |id: SubsystemId, source| {
            Box::new(Error::Subsystem { subsystem: graph.name(id).into(), time, source })
        };
        for mailbox in messages.boxes.iter_mut().filter(|mailbox| members.contains(&mailbox.from)) {
            // A slow one that is ahead sends when the others have come to where it stands.
            if board.history.reached(mailbox.from) <= time {
                let sent = slots[mailbox.from].subsystem.send(mailbox.output, &mut mailbox.message);
                sent.map_err(|source| failed(mailbox.from, source))?;
                mailbox.is_new = true;
            }
        }
        for (wire, source) in graph.message_wires().iter().zip(&messages.sources) {
            let mailbox = &messages.boxes[*source];
            if mailbox.is_new {
                let received = slots[wire.to].subsystem.receive(wire.input, &mailbox.message);
                received.map_err(|source| failed(wire.to, source))?;
            }
        }
        messages.boxes.iter_mut().for_each(|mailbox| mailbox.is_new = false);
        Ok(())
    }

    /// The present message of an output, by its full name: as it was last carried, or if nothing is connected, as its
    /// subsystem gives it now.
    pub fn message(&mut self, name: &str) -> Result<Message> {
        let (id, output) = self.graph.find_message_output(name)?;
        let mut message = self.graph.ports(id).message_outputs[output].kind.empty();
        let time = self.time();
        self.messages
            .present(&mut self.slots, (id, output), &mut message)
            .map_err(|source| Error::Subsystem { subsystem: self.graph.name(id).into(), time, source })?;
        Ok(message)
    }
}
