//! Keeping pace with the clock.

use std::thread::ThreadId;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::interrupt;
use crate::output::duration;

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
    steps: u64,
    /// Late steps that were told, when, and how long until the next time.
    told: u64,
    last: Instant,
    quiet: Duration,
    /// The thread that was made punctual.
    punctual: Option<ThreadId>,
}

/// How soon late steps are told of for the first time.
const FIRST: Duration = Duration::from_secs(1);

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
        let begin = Instant::now();
        let waited = Duration::ZERO;
        Pace {
            begin,
            start,
            speed,
            overruns,
            waited,
            steps: 0,
            told: 0,
            last: begin,
            quiet: FIRST,
            punctual: None,
        }
    }

    /// Waits until the clock shows the simulated time; notes when it is too late for that.
    pub(super) fn wait(&mut self, time: f64) {
        let due =
            Duration::try_from_secs_f64(((time - self.start) / self.speed).max(0.0)).unwrap_or(Duration::MAX);
        self.steps += 1;
        let late = self.begin.elapsed().saturating_sub(due).as_secs_f64();
        if late > 0.0 {
            self.overruns.late_steps += 1;
            self.overruns.latest = self.overruns.latest.max(late);
        }
        let arrived = Instant::now();
        let thread = std::thread::current().id();
        if self.punctual.replace(thread) != Some(thread) {
            koppel_fmi::be_punctual();
        }
        while !interrupt::is_asked() {
            let rest = due.saturating_sub(self.begin.elapsed());
            if rest.is_zero() {
                break;
            }
            std::thread::sleep(rest.min(NAP));
        }
        self.waited += arrived.elapsed();
    }

    /// What is to be said of steps that came late since this was asked: soon at first, then ever more rarely.
    pub(super) fn news(&mut self) -> Option<String> {
        let Overruns { late_steps, latest, .. } = self.overruns;
        if late_steps == self.told || self.last.elapsed() < self.quiet {
            return None;
        }
        (self.told, self.last, self.quiet) = (late_steps, Instant::now(), self.quiet * 2);
        let (steps, latest) = (self.steps, duration(Duration::from_secs_f64(latest)));
        Some(format!("behind real time: {late_steps} of {steps} steps were late so far, by at most {latest}"))
    }

    pub(super) fn waited(&self) -> Duration {
        self.waited
    }

    pub(super) fn overruns(&self) -> Overruns {
        self.overruns.clone()
    }
}
