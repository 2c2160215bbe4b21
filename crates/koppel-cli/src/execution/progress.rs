//! The progress bar, on a terminal only.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use koppel::run::Run;

use super::margin::Margin;
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
    pub(super) fn new(run: &Run, quiet: bool) -> Option<Self> {
        if quiet || !stderr().is_terminal() {
            return None;
        }
        // Hidden until it has its style: a bar draws itself at every change.
        let bar = ProgressBar::with_draw_target(Some(run.steps()), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left") {
            bar.set_style(style);
        }
        bar.set_position(run.index());
        bar.reset_eta();
        Some(Progress { bar, begin: Instant::now(), shown: Instant::now(), start: run.time() })
    }

    pub(super) fn show(&mut self, run: &Run) {
        if self.shown.elapsed() < INTERVAL {
            return;
        }
        self.shown = Instant::now();
        let factor = (run.time() - self.start) / self.begin.elapsed().as_secs_f64();
        self.bar.set_message(format!(
            "t = {} s, {} x real time",
            significant(run.time(), 4),
            significant(factor, 3)
        ));
        self.bar.set_position(run.index());
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::term_like_with_hz(Box::new(Margin::stderr()), 10));
            self.bar.tick();
        }
    }

    /// Shows something else in between.
    pub(super) fn aside(&self, show: impl FnOnce()) {
        self.bar.suspend(show);
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// The line while runs at other steps confirm a result, on a terminal only.
pub(super) struct Confirming(Option<ProgressBar>);

impl Confirming {
    pub(super) fn new(quiet: bool) -> Self {
        let is_shown = !quiet && stderr().is_terminal();
        Confirming(is_shown.then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden());
            if let Ok(style) = ProgressStyle::with_template("confirming the result {bar:30} {percent:>3} %") {
                bar.set_style(style);
            }
            bar.set_draw_target(ProgressDrawTarget::term_like_with_hz(Box::new(Margin::stderr()), 10));
            bar
        }))
    }

    pub(super) fn show(&self, run: &Run) {
        if let Some(bar) = &self.0 {
            bar.set_length(run.steps());
            bar.set_position(run.index());
        }
    }
}

impl Drop for Confirming {
    fn drop(&mut self) {
        self.0.iter().for_each(ProgressBar::finish_and_clear);
    }
}
