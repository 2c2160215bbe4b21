//! Progress: a bar on a terminal, else a line now and then.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use koppel_papers::Progress;

/// Shows how far the work is.
#[derive(Debug)]
pub(crate) struct Display {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    last_line: Instant,
}

/// Time between two lines where there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);
/// Parts of the bar.
const PARTS: u64 = 1000;

impl Display {
    pub(crate) fn new(is_quiet: bool) -> Self {
        Display { bar: None, is_quiet, last_line: Instant::now() }
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        if self.is_quiet {
            return;
        }
        let left = progress.left.map_or(String::new(), |seconds| format!(", {} left", duration(seconds)));
        if !stderr().is_terminal() {
            if self.last_line.elapsed() >= INTERVAL {
                self.last_line = Instant::now();
                eprintln!("papers: {:.0} %, {}{left}", 100.0 * progress.done, progress.stage);
            }
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(PARTS);
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}") {
                bar.set_style(style);
            }
            bar
        });
        bar.set_message(format!("{}{left}", progress.stage));
        bar.set_position((progress.done * PARTS as f64) as u64);
    }

    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Seconds, or minutes from two minutes on.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds >= 120.0 { format!("{:.1} min", seconds / 60.0) } else { format!("{seconds:.1} s") }
}
