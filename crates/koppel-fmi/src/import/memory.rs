//! Messages and clocks in a snapshot, behind the FMU's own state.

use super::base::Base;
use super::messages::{Mail, Sent};
use koppel::system::{Message, Snapshot};

impl Mail {
    /// How many numbers `save` writes.
    fn state_size(&self) -> usize {
        self.received.len() + 2 * self.sent.len()
    }

    fn save(&self, reals: &mut Vec<f64>, bytes: &mut Vec<u8>) {
        let flag = |flag: bool| f64::from(u8::from(flag));
        for received in &self.received {
            reals.push(flag(received.is_pending));
            write(&received.value, bytes);
        }
        for sent in &self.sent {
            reals.extend([flag(sent.is_told), flag(sent.value.is_some())]);
            sent.value.iter().for_each(|value| write(value, bytes));
        }
    }

    fn restore(&mut self, reals: &[f64], bytes: &[u8]) -> Option<()> {
        let (pending, flags_of_inputs) = reals.split_at(self.received.len());
        let mut rest = bytes;
        for (received, is_pending) in self.received.iter_mut().zip(pending) {
            received.is_pending = *is_pending == 1.0;
            received.value = read(&mut rest)?;
        }
        for (sent, flags) in self.sent.iter_mut().zip(flags_of_inputs.chunks(2)) {
            let value = if flags[1] == 1.0 { Some(read(&mut rest)?) } else { None };
            *sent = Sent { is_told: flags[0] == 1.0, value };
        }
        rest.is_empty().then_some(())
    }
}

/// Kind, length, content.
fn write(message: &Message, bytes: &mut Vec<u8>) {
    let (kind, content) = match message {
        Message::Text(text) => (0, text.as_bytes()),
        Message::Bytes(content) => (1, content.as_slice()),
        Message::Tick(tick) => (2, if *tick { &[1][..] } else { &[0][..] }),
    };
    bytes.push(kind);
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(content);
}

fn read(bytes: &mut &[u8]) -> Option<Message> {
    let (kind, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (content, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *bytes = rest;
    Some(match kind {
        0 => Message::Text(String::from_utf8(content.into()).ok()?),
        1 => Message::Bytes(content.into()),
        _ => Message::Tick(content == [1]),
    })
}

impl Base {
    /// How many numbers of a snapshot are about messages and clocks.
    pub(super) fn memory_size(&self) -> usize {
        self.clockwork.state_size() + self.mail.state_size()
    }

    /// Cuts a used snapshot to the FMU's own state, which then can be reused.
    pub(super) fn cut_memory(&self, snapshot: &mut Snapshot) {
        let own = snapshot.bytes.last_chunk::<8>().map_or(0, |size| u64::from_le_bytes(*size));
        snapshot.bytes.truncate(usize::try_from(own).unwrap_or(0));
    }

    /// Appends messages and clocks, and to the bytes the size of the FMU's own state: what is wrapped around an FMU may add
    /// numbers or drop them, but keeps its bytes.
    pub(super) fn save_memory(&self, snapshot: &mut Snapshot) {
        let own = snapshot.bytes.len();
        self.clockwork.save(&mut snapshot.reals);
        self.mail.save(&mut snapshot.reals, &mut snapshot.bytes);
        snapshot.bytes.extend_from_slice(&(own as u64).to_le_bytes());
    }

    /// Takes back what `save_memory` appended, and returns the FMU's own state.
    pub(super) fn restore_memory<'a>(&mut self, reals: &[f64], bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (bytes, own) = bytes.split_last_chunk::<8>()?;
        let (clocks, mail) = reals.split_at_checked(self.clockwork.state_size())?;
        let (own, tail) = bytes.split_at_checked(usize::try_from(u64::from_le_bytes(*own)).ok()?)?;
        self.mail.restore(mail, tail)?;
        self.clockwork.restore(clocks);
        Some(own)
    }
}
