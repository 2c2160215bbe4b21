//! Progress of a study: a bar on a terminal, else a line now and then.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use koppel_study::Progress;

use super::margin::Margin;
use crate::failure::note;
use crate::output::duration;

/// Tells how far a study is.
#[derive(Debug)]
pub(crate) struct StudyProgress {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    last_shown: Instant,
}

/// Time between two lines where there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

impl StudyProgress {
    pub(crate) fn new(is_quiet: bool) -> Self {
        StudyProgress { bar: None, is_quiet, last_shown: Instant::now() }
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        if self.is_quiet {
            return;
        }
        let done = progress.before + progress.finished;
        let left = progress.left().map(|seconds| duration(Duration::from_secs_f64(seconds)));
        let left = left.map_or(String::new(), |left| format!(", {left} left"));
        let text = format!("{done} of {} runs, {} failed{left}", progress.runs, progress.failed);
        if !stderr().is_terminal() {
            if self.last_shown.elapsed() >= INTERVAL {
                self.last_shown = Instant::now();
                note("study", &text);
            }
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(progress.runs), ProgressDrawTarget::hidden());
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}") {
                bar.set_style(style);
            }
            bar.set_draw_target(ProgressDrawTarget::term_like_with_hz(Box::new(Margin::stderr()), 10));
            bar
        });
        bar.set_message(text);
        bar.set_position(done);
    }

    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
