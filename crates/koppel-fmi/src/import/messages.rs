//! Strings, binaries and triggered clocks as messages.
//!
//! Outside event mode a received value is set at once. In event mode it waits for the next event, which the start of the
//! next step brings; what is governed by a clock waits until that clock ticks.

use super::binding::Binding;
use super::ports::{Slot, Slots, index_text, sizes};
use crate::description::{Causality, Description, IntervalVariability, Start, ValueType, Variable};
use crate::error::{Error, Result};
use crate::ffi::{CallError, Instance};
use koppel::system::{Message, MessageKind, MessagePort, Ports};

/// Adds a variable that is no number, if it comes in or goes out.
pub(super) fn add_ports(description: &Description, place: usize, ports: &mut Ports, slots: &mut Slots) {
    let variable = &description.variables[place];
    let Some(kind) = kind(variable) else { return };
    let (list, slot_list) = match variable.causality {
        Causality::Input => (&mut ports.message_inputs, &mut slots.message_inputs),
        Causality::Output => (&mut ports.message_outputs, &mut slots.message_outputs),
        _ => return,
    };
    let sizes = sizes(description, variable);
    for element in 0..description.elements(variable) as usize {
        list.push(MessagePort {
            name: format!("{}{}", variable.name, index_text(&sizes, element)),
            kind,
            description: variable.description.clone().unwrap_or_default(),
        });
        slot_list.push(Slot { variable: place, element });
    }
}

fn port_name(description: &Description, slot: Slot) -> String {
    let variable = &description.variables[slot.variable];
    format!("{}{}", variable.name, index_text(&sizes(description, variable), slot.element))
}

fn kind(variable: &Variable) -> Option<MessageKind> {
    match variable.value_type {
        ValueType::String => Some(MessageKind::Text),
        ValueType::Binary => Some(MessageKind::Bytes),
        ValueType::Clock => {
            let clock = variable.attributes.clock?;
            (clock.interval_variability == IntervalVariability::Triggered).then_some(MessageKind::Tick)
        }
        _ => None,
    }
}

/// What was received and what is to be sent.
#[derive(Debug, Default)]
pub(super) struct Mail {
    inputs: Vec<Slot>,
    pub(super) outputs: Vec<Slot>,
    pub(super) received: Vec<Received>,
    pub(super) sent: Vec<Sent>,
}

/// When a message that has arrived is given to the FMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    AtOnce,
    /// At once, unless it waits for a clock.
    Unclocked,
    /// In the next event.
    InEvents,
}

/// The value of a message input.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) value: Message,
    /// The FMU does not have it yet.
    pub(super) is_pending: bool,
    /// It is given only when its clock ticks.
    is_clocked: bool,
}

/// What is known of a message output.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// A clock ticked, or a value governed by a clock was taken when it ticked.
    pub(super) value: Option<Message>,
    /// It has been asked for since.
    pub(super) is_told: bool,
}

impl Mail {
    pub(super) fn new(description: &Description, slots: &Slots) -> Mail {
        let start = |slot: &Slot| Received {
            value: start(description, *slot),
            is_pending: false,
            is_clocked: !description.variables[slot.variable].clocks.is_empty(),
        };
        Mail {
            inputs: slots.message_inputs.clone(),
            outputs: slots.message_outputs.clone(),
            received: slots.message_inputs.iter().map(start).collect(),
            sent: slots.message_outputs.iter().map(|_| Sent::default()).collect(),
        }
    }

    /// Forgets ticks that have been told.
    pub(super) fn forget_told(&mut self) {
        for sent in &mut self.sent {
            if sent.is_told && matches!(sent.value, Some(Message::Tick(_))) {
                *sent = Sent::default();
            }
        }
    }

    /// What an output sends.
    pub(super) fn read(&mut self, of: &Binding, output: usize, message: &mut Message) -> Result<()> {
        let slot = self.outputs[output];
        self.sent[output].is_told = true;
        if let Some(value) = &self.sent[output].value {
            message.clone_from(value);
            return Ok(());
        }
        if of.description().variables[slot.variable].value_type == ValueType::Clock {
            *message = Message::Tick(false);
            return Ok(());
        }
        let read = get_message(&of.backend, of.description(), slot, message);
        of.called(read)
    }

    /// A message for an input: `given` tells when it is given to the FMU.
    pub(super) fn take(&mut self, of: &Binding, input: usize, message: &Message, given: Given) -> Result<()> {
        let slot = self.inputs[input];
        let variable = &of.description().variables[slot.variable];
        let expected = variable.value_type.name();
        let received = &mut self.received[input];
        if let (Message::Tick(known), Message::Tick(new)) = (&mut received.value, message) {
            *known |= new;
            received.is_pending |= new;
            return Ok(());
        }
        if received.value.kind() != message.kind() {
            let (instance, name) = (of.name.clone(), port_name(of.description(), slot));
            let value = message.kind().name().to_owned();
            return Err(Error::WrongType { instance, name, expected, value }.into());
        }
        let is_new = received.value != *message;
        received.value.clone_from(message);
        received.is_pending |= received.is_clocked || is_new;
        match given {
            Given::InEvents => Ok(()),
            Given::Unclocked => self.write(of, |variable| variable.clocks.is_empty()),
            Given::AtOnce => self.write(of, |_| true),
        }
    }

    /// Gives pending texts and bytes to the FMU, those of the chosen variables.
    pub(super) fn write(&mut self, of: &Binding, is_chosen: impl Fn(&Variable) -> bool) -> Result<()> {
        for input in 0..self.received.len() {
            let slot = self.inputs[input];
            let variable = &of.description().variables[slot.variable];
            let received = &self.received[input];
            if !received.is_pending || variable.value_type == ValueType::Clock || !is_chosen(variable) {
                continue;
            }
            // All elements of the variable go together, and lie side by side.
            let first = input - slot.element;
            let count = of.description().elements(variable) as usize;
            let elements = &self.received[first..first + count];
            let written = set_messages(&of.backend, variable, elements.iter().map(|r| &r.value));
            of.called(written)?;
            self.received[first..first + count].iter_mut().for_each(|r| r.is_pending = false);
        }
        Ok(())
    }

    /// What was received, and the variables it belongs to.
    pub(super) fn arrived(&mut self) -> impl Iterator<Item = (&mut Received, &Slot)> {
        self.received.iter_mut().zip(&self.inputs)
    }

    /// True if something waits for an event.
    pub(super) fn has_pending(&self) -> bool {
        self.received.iter().any(|received| received.is_pending && !received.is_clocked)
    }
}

/// Start value of one element.
fn start(description: &Description, slot: Slot) -> Message {
    let variable = &description.variables[slot.variable];
    let pick = |length: usize| if length == 1 { 0 } else { slot.element };
    match (variable.value_type, &variable.start) {
        (ValueType::Binary, Some(Start::Binaries(list))) => {
            Message::Bytes(list.get(pick(list.len())).cloned().unwrap_or_default())
        }
        (ValueType::Binary, _) => Message::Bytes(Vec::new()),
        (ValueType::Clock, _) => Message::Tick(false),
        (_, Some(Start::Strings(list))) => {
            Message::Text(list.get(pick(list.len())).cloned().unwrap_or_default())
        }
        _ => Message::Text(String::new()),
    }
}

/// One element of a string or binary.
pub(super) fn get_message(
    fmu: &Instance,
    description: &Description,
    slot: Slot,
    message: &mut Message,
) -> Result<(), CallError> {
    let variable = &description.variables[slot.variable];
    let (reference, count) = (variable.value_reference, description.elements(variable) as usize);
    if variable.value_type == ValueType::Binary {
        return fmu.get_binaries(reference, count, |element, bytes| {
            if element == slot.element {
                message.set_bytes(bytes);
            }
        });
    }
    fmu.get_strings(reference, count, |element, text| {
        if element == slot.element {
            message.set_text(text);
        }
    })
}

/// All elements of a string or binary.
pub(super) fn set_messages<'a>(
    fmu: &Instance,
    variable: &Variable,
    values: impl Iterator<Item = &'a Message>,
) -> Result<(), CallError> {
    let reference = variable.value_reference;
    let text = |message: &'a Message| if let Message::Text(text) = message { text.as_str() } else { "" };
    let bytes =
        |message: &'a Message| if let Message::Bytes(bytes) = message { bytes.as_slice() } else { &[] };
    match variable.value_type {
        ValueType::Binary => fmu.set_binaries(reference, values.map(bytes)),
        _ => fmu.set_strings(reference, values.map(text)),
    }
}
