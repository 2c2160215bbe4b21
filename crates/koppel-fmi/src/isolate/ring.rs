//! Log messages on their way to the parent. They lie in shared memory from the moment they are said, so the last words of an
//! FMU outlive its crash.
//!
//! A ring with one writer and one reader: a message is its length in bytes, then its bytes as words.

use super::memory::Memory;
use crate::ffi::{LogMessage, Status};
use std::sync::atomic::Ordering;

/// Most bytes of one message that are kept.
const LONGEST: usize = 8192;

/// Worker: adds a message, or counts it as lost.
pub(super) fn say(memory: &Memory, message: &LogMessage) {
    let (control, ring) = (memory.control(), memory.ring());
    let mut message = message.clone();
    if message.text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| message.text.is_char_boundary(*end)).unwrap_or(0);
        message.text.truncate(end);
        message.text.push_str(" ...");
    }
    let Ok(bytes) = postcard::to_stdvec(&message) else { return };
    let words = 1 + bytes.len().div_ceil(8);
    let written = control.written.load(Ordering::Relaxed);
    let used = written.wrapping_sub(control.taken.load(Ordering::Acquire)) as usize;
    if used > ring.len() || words > ring.len() - used {
        control.lost.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let mut place = written as usize;
    let mut put = |word: u64| {
        ring[place % ring.len()].store(word, Ordering::Relaxed);
        place += 1;
    };
    put(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        put(u64::from_le_bytes(word));
    }
    control.written.store(written + words as u64, Ordering::Release);
}

/// Parent: true if there is something to hear.
#[inline]
pub(super) fn has_messages(memory: &Memory) -> bool {
    let control = memory.control();
    control.written.load(Ordering::Acquire) != control.taken.load(Ordering::Relaxed)
        || control.lost.load(Ordering::Relaxed) != 0
}

/// Parent: takes all messages.
#[cold]
pub(super) fn take(memory: &Memory, instance: &str, time: f64) -> Vec<LogMessage> {
    let (control, ring) = (memory.control(), memory.ring());
    let written = control.written.load(Ordering::Acquire);
    let mut place = control.taken.load(Ordering::Relaxed);
    let mut messages = Vec::new();
    // More than there is room for: the other side has damaged it.
    if written.wrapping_sub(place) > ring.len() as u64 {
        place = written;
    }
    while place < written {
        let word = |place: u64| ring[place as usize % ring.len()].load(Ordering::Relaxed);
        let length = word(place) as usize;
        let words = length.div_ceil(8) as u64;
        if words > written - place - 1 {
            break;
        }
        let mut bytes: Vec<u8> = (1..=words).flat_map(|k| word(place + k).to_le_bytes()).collect();
        bytes.truncate(length);
        messages.extend(postcard::from_bytes::<LogMessage>(&bytes).ok());
        place += 1 + words;
    }
    control.taken.store(written, Ordering::Release);
    let lost = control.lost.swap(0, Ordering::Relaxed);
    if lost > 0 {
        let text = format!("{lost} more messages were said in one call than there is room for");
        messages.push(LogMessage::of_koppel(instance, time, Status::Warning, text));
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_in_order_and_losses_are_told() {
        let memory = Memory::create().unwrap();
        let message = |text: String| LogMessage {
            instance: "a".into(),
            time: 1.5,
            status: Status::Error,
            category: "c".into(),
            text,
        };
        for round in 0..1000 {
            assert!(!has_messages(&memory));
            let said: Vec<LogMessage> =
                (0..3).map(|k| message(format!("{round} {}", "x".repeat(k * 7)))).collect();
            said.iter().for_each(|message| say(&memory, message));
            assert!(has_messages(&memory));
            assert_eq!(take(&memory, "a", 1.5), said);
        }
        (0..100).for_each(|_| say(&memory, &message("y".repeat(10_000))));
        let heard = take(&memory, "a", 1.5);
        assert!(heard.len() < 20 && heard[0].text.ends_with("..."), "{}", heard.len());
        assert!(heard.last().unwrap().text.contains("more messages"), "{heard:?}");
    }
}
