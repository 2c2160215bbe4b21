//! Feeds mutated inputs, and notes panics and how long each took.

use super::mutate::{Random, mutate};
use super::targets::Target;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// An input that takes longer counts as a hang.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// What came of one target's inputs.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) inputs: u64,
    pub(crate) accepted: u64,
    /// Time of the slowest input, and its number.
    pub(crate) longest: (Duration, u64),
    /// Numbers of inputs at which the reader panicked, with its words.
    pub(crate) panics: Vec<(u64, String)>,
}

/// The input with this number; its check sum of a zip, if it is one, is left as the edits left it.
pub(crate) fn input(number: usize, target: &Target, index: u64) -> Vec<u8> {
    let mut random = Random::new(number, index);
    let seed = &target.seeds[random.below(target.seeds.len())];
    let other = &target.seeds[random.below(target.seeds.len())];
    mutate(seed, other, &mut random)
}

/// Feeds `count` inputs to one target, in several threads. A hang ends the process with a message.
pub(crate) fn feed(number: usize, target: &Target, count: u64, threads: u64) -> Outcome {
    let next = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let total = Mutex::new(Outcome::default());
    let busy: Vec<Mutex<Option<(u64, Instant)>>> = (0..threads).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        let workers: Vec<_> = busy
            .iter()
            .map(|busy| scope.spawn(|| work(number, target, count, &next, busy, &total)))
            .collect();
        let watch = scope.spawn(|| watch(target.name, &busy, &done));
        let ended = workers.into_iter().map(|worker| worker.join()).all(|joined| joined.is_ok());
        done.store(true, Ordering::Relaxed);
        assert!(ended && watch.join().is_ok(), "a thread of the driver itself failed");
    });
    total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

type Busy = Mutex<Option<(u64, Instant)>>;

fn work(number: usize, target: &Target, count: u64, next: &AtomicU64, busy: &Busy, total: &Mutex<Outcome>) {
    let set = |state| *busy.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = state;
    let mut outcome = Outcome::default();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= count {
            break;
        }
        let bytes = input(number, target, index);
        let begin = Instant::now();
        set(Some((index, begin)));
        let read = catch_unwind(AssertUnwindSafe(|| (target.read)(&bytes)));
        set(None);
        outcome.longest = outcome.longest.max((begin.elapsed(), index));
        outcome.inputs += 1;
        match read {
            Ok(is_accepted) => outcome.accepted += u64::from(is_accepted),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let words = text.or_else(|| Some((*panic.downcast_ref::<&str>()?).to_owned()));
                outcome.panics.push((index, words.unwrap_or_default()));
            }
        }
    }
    let mut total = total.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    total.inputs += outcome.inputs;
    total.accepted += outcome.accepted;
    total.longest = total.longest.max(outcome.longest);
    total.panics.extend(outcome.panics);
}

fn watch(name: &str, busy: &[Busy], done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        for state in busy {
            let state = *state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Some((index, begin)) = state
                && begin.elapsed() > LIMIT
            {
                eprintln!("{name}: input {index} takes longer than {} s", LIMIT.as_secs());
                std::process::exit(3);
            }
        }
    }
}
