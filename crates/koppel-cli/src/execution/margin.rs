//! A terminal with a margin on the right.
//!
//! The progress bar fills its line up to the end. What the terminal echoes at Ctrl-C (`^C`) would begin a new line there,
//! and the bar above it could not be cleared any more.

use std::io::Result;

use console::Term;
use indicatif::TermLike;

/// Room for `^C`, and for a second one.
const MARGIN: u16 = 4;

/// Standard error, narrower than it is.
#[derive(Debug)]
pub(super) struct Margin(Term);

impl Margin {
    pub(super) fn stderr() -> Self {
        Margin(Term::buffered_stderr())
    }
}

impl TermLike for Margin {
    fn width(&self) -> u16 {
        TermLike::width(&self.0).saturating_sub(MARGIN).max(1)
    }

    fn height(&self) -> u16 {
        TermLike::height(&self.0)
    }

    fn move_cursor_up(&self, n: usize) -> Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, text: &str) -> Result<()> {
        self.0.write_line(text)
    }

    fn write_str(&self, text: &str) -> Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> Result<()> {
        self.0.flush()
    }
}
