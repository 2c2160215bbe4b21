//! The progress bar, on a terminal only.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use koppel::run::Simulation;

use crate::output::significant;

/// A bar with simulated time, real-time factor and the time left.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    begin: Instant,
    shown: Instant,
    start: f64,
}

/// Time between two looks of the bar.
const INTERVAL: Duration = Duration::from_millis(100);

impl Progress {
    /// `None` when nobody would see it.
    pub(super) fn new(simulation: &Simulation, quiet: bool) -> Option<Self> {
        if quiet || !stderr().is_terminal() {
            return None;
        }
        let bar =
            ProgressBar::with_draw_target(Some(simulation.steps()), ProgressDrawTarget::stderr_with_hz(10));
        bar.set_position(simulation.index());
        bar.reset_eta();
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left") {
            bar.set_style(style);
        }
        Some(Progress { bar, begin: Instant::now(), shown: Instant::now(), start: simulation.time() })
    }

    pub(super) fn show(&mut self, simulation: &Simulation) {
        if self.shown.elapsed() < INTERVAL {
            return;
        }
        self.shown = Instant::now();
        let factor = (simulation.time() - self.start) / self.begin.elapsed().as_secs_f64();
        self.bar.set_message(format!(
            "t = {} s, {} x real time",
            significant(simulation.time(), 4),
            significant(factor, 3)
        ));
        self.bar.set_position(simulation.index());
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
