//! Keeping pace with the clock.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::interrupt;

/// Longest sleep without a look at Ctrl-C.
const NAP: Duration = Duration::from_millis(50);

/// Simulated time against the clock.
#[derive(Debug)]
pub(super) struct Pace {
    begin: Instant,
    start: f64,
    speed: f64,
    overruns: Overruns,
    waited: Duration,
}

/// Steps that came too late.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Overruns {
    /// Simulated seconds per second asked for.
    pub(crate) speed: f64,
    /// How many steps were late.
    pub(crate) late_steps: u64,
    /// By how many seconds at most.
    pub(crate) latest: f64,
}

impl Pace {
    pub(super) fn new(start: f64, speed: f64) -> Self {
        let overruns = Overruns { speed, ..Overruns::default() };
        Pace { begin: Instant::now(), start, speed, overruns, waited: Duration::ZERO }
    }

    /// Waits until the clock shows the simulated time; notes when it is too late for that.
    pub(super) fn wait(&mut self, time: f64) {
        let due =
            Duration::try_from_secs_f64(((time - self.start) / self.speed).max(0.0)).unwrap_or(Duration::MAX);
        let late = self.begin.elapsed().saturating_sub(due).as_secs_f64();
        if late > 0.0 {
            self.overruns.late_steps += 1;
            self.overruns.latest = self.overruns.latest.max(late);
        }
        let arrived = Instant::now();
        while !interrupt::is_asked() {
            let rest = due.saturating_sub(self.begin.elapsed());
            if rest.is_zero() {
                break;
            }
            std::thread::sleep(rest.min(NAP));
        }
        self.waited += arrived.elapsed();
    }

    pub(super) fn waited(&self) -> Duration {
        self.waited
    }

    pub(super) fn overruns(&self) -> Overruns {
        self.overruns.clone()
    }
}
