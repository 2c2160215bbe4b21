//! Texts, bytes and ticks on their way.
//!
//! After each stage, those members that have come to the communication point send; then the receivers get what was sent,
//! before they move next. All send before any receives, so the order of subsystems does not matter. Messages are no part
//! of algebraic loops: a message output that depends on a message input follows one communication point later.

use super::slot::Slot;
use crate::error::{Error, Result};
use crate::signal::History;
use crate::system::{Message, MessageWire, SubsystemId, SystemGraph};
use std::ops::Range;

/// The messages of all connected outputs.
pub(crate) struct Messages {
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
    pub(crate) fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// Writes all messages into `list`, reusing its buffers.
    pub(crate) fn save(&self, list: &mut Vec<Message>) {
        list.resize_with(self.boxes.len(), || Message::Tick(false));
        list.iter_mut().zip(&self.boxes).for_each(|(saved, mailbox)| saved.clone_from(&mailbox.message));
    }

    /// True if a saved list is one of this run.
    pub(crate) fn fit(&self, list: &[Message]) -> bool {
        list.len() == self.boxes.len()
            && list.iter().zip(&self.boxes).all(|(saved, mailbox)| saved.kind() == mailbox.message.kind())
    }

    /// Takes back what `save` wrote.
    pub(crate) fn restore(&mut self, list: &[Message]) {
        self.boxes.iter_mut().zip(list).for_each(|(mailbox, saved)| mailbox.message.clone_from(saved));
    }

    /// Writes the present message of an output into `message`: as it was last carried, or if nothing is connected, as its
    /// subsystem gives it now.
    pub(crate) fn present(
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

    /// What `members` send at `time` reaches its receivers.
    #[cold]
    pub(super) fn carry(
        &mut self,
        graph: &SystemGraph,
        slots: &mut [Slot],
        history: &History,
        members: Range<SubsystemId>,
        time: f64,
    ) -> Result<()> {
        let failed = |id: SubsystemId, source| {
            Box::new(Error::Subsystem { subsystem: graph.name(id).into(), time, source })
        };
        for mailbox in self.boxes.iter_mut().filter(|mailbox| members.contains(&mailbox.from)) {
            // A slow one that is ahead sends when the others have come to where it stands.
            if history.reached(mailbox.from) <= time {
                let sent = slots[mailbox.from].subsystem.send(mailbox.output, &mut mailbox.message);
                sent.map_err(|source| failed(mailbox.from, source))?;
                mailbox.is_new = true;
            }
        }
        for (wire, source) in graph.message_wires().iter().zip(&self.sources) {
            let mailbox = &self.boxes[*source];
            if mailbox.is_new {
                let received = slots[wire.to].subsystem.receive(wire.input, &mailbox.message);
                received.map_err(|source| failed(wire.to, source))?;
            }
        }
        self.boxes.iter_mut().for_each(|mailbox| mailbox.is_new = false);
        Ok(())
    }
}
