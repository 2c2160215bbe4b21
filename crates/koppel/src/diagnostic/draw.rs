//! How messages are drawn.
//!
//! ```text
//! error: unknown key `stpe` in [run]
//!  --> dual.toml:4:1
//!    |
//!  4 | stpe = 1e-3
//!    | ^^^^
//!   hint: did you mean `step`? known: `start`, `stop`, `step`
//! ```
//!
//! Drawn here and not by a crate: one place, one line, `hint:` as everywhere in koppel.

use std::fmt;

use super::{Diagnosis, Diagnostic, Excerpt, Place};

/// Whether a text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Nothing but text.
    Plain,
    /// With colours of a terminal.
    Coloured,
}

impl Ink {
    /// The text in a style of ANSI.
    #[must_use]
    pub fn paint(self, text: &str, style: &str) -> String {
        match self {
            Ink::Plain => text.to_owned(),
            Ink::Coloured => format!("\x1b[{style}m{text}\x1b[0m"),
        }
    }
}

/// What to do, on a line below a message.
#[must_use]
pub fn hint_line(hint: &str) -> String {
    format!("\n  {HINT} {hint}")
}

const HINT: &str = "hint:";

impl Diagnosis {
    /// As it is shown on a terminal: message, excerpt and hints, each line ended.
    #[must_use]
    pub fn draw(&self, ink: Ink) -> String {
        let mut text = format!("{} {}\n", ink.paint("error:", "1;31"), visible(&self.what));
        text += &snippet(&self.place, ink);
        for hint in &self.hints {
            text += &format!("  {} {}\n", ink.paint(HINT, "1;36"), visible(hint));
        }
        text
    }
}

/// File and line, the message, and hints on lines of their own: for exceptions and logs.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Place { file: Some(file), line: line @ 1.., column: column @ 1.., .. } = &self.place {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        f.write_str(&self.what)?;
        self.hints.iter().try_for_each(|hint| f.write_str(&hint_line(hint)))
    }
}

/// Message, place and hints of all mistakes, line by line.
#[must_use]
pub fn render(error: &dyn Diagnostic) -> String {
    let all: Vec<String> = Diagnosis::all(error).iter().map(ToString::to_string).collect();
    all.join("\n")
}

/// A text as one line: its first ones, as many as these. What FMUs log stands on further lines of a message.
#[must_use]
pub fn in_one_line(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.lines().take(most).map(str::trim).collect();
    lines.join("; ")
}

/// The offending line, with the offending text underlined.
fn snippet(place: &Place, ink: Ink) -> String {
    let (Some(file), Some(excerpt)) = (&place.file, &place.excerpt) else { return String::new() };
    let (line, column) = (place.line, place.column);
    let (shown, before, width) = cut(excerpt);
    let number = line.to_string();
    let margin = " ".repeat(number.len() + 1);
    let indent: String = shown.chars().take(before).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let (arrow, marks) = (ink.paint("-->", "1;34"), ink.paint(&"^".repeat(width), "1;31"));
    format!(" {arrow} {file}:{line}:{column}\n {margin}|\n {number} | {shown}\n {margin}| {indent}{marks}\n")
}

/// Most characters of a line that are shown.
const WIDTH: usize = 120;

/// A line with control characters made visible, and of a long one the part around the place; with the widths as shown.
fn cut(Excerpt { line, before, width }: &Excerpt) -> (String, usize, usize) {
    let characters: Vec<char> = line.chars().collect();
    let is_long = characters.len() > WIDTH;
    let first = if is_long { before.saturating_sub(WIDTH / 3).min(characters.len() - WIDTH) } else { 0 };
    let last = if is_long { first + WIDTH } else { characters.len() };
    let part = |from: usize, to: usize| -> String {
        let (from, to) = (from.clamp(first, last), to.clamp(first, last));
        visible(&characters[from..to.max(from)].iter().collect::<String>())
    };
    let left = if first > 0 { "…" } else { "" };
    let right = if last < characters.len() { "…" } else { "" };
    let count = |text: &str| text.chars().count();
    let indent = count(left) + count(&part(first, *before));
    let marked = count(&part(*before, before + width)).max(1);
    (format!("{left}{}{right}", part(first, last)), indent, marked)
}

/// Control characters as `\u{1b}`; a tab and a line break stay.
#[must_use]
pub fn visible(text: &str) -> String {
    let is_bad = |c: char| c.is_control() && c != '\t' && c != '\n';
    text.chars().map(|c| if is_bad(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Remark, Seconds};

    #[test]
    fn times_are_rounded() {
        assert_eq!(Seconds(0.051_000_000_000_000_004).to_string(), "0.051");
        assert_eq!(Seconds(1234.5).to_string(), "1234.5");
        assert_eq!(Seconds(1e-9).to_string(), "1e-9");
        assert_eq!(Seconds(f64::NAN).to_string(), "NaN");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}\u{7}X{}", "a".repeat(300), "b".repeat(300));
        let (shown, before, width) = cut(&Excerpt { line, before: 301, width: 1 });
        assert_eq!(shown.chars().nth(before), Some('X'));
        assert!(shown.starts_with('…') && shown.ends_with('…') && width == 1, "{shown}");
    }

    #[test]
    fn the_whole_drawing() {
        let excerpt = Excerpt { line: "stpe = 1".into(), before: 0, width: 4 };
        let place = Place {
            file: Some("a.toml".into()),
            line: 4,
            column: 1,
            excerpt: Some(excerpt),
            ..Place::default()
        };
        let hints = vec!["did you mean `step`?".into(), "or not".into()];
        let diagnosis = Diagnosis { what: "unknown key `stpe`".into(), hints, place, ..Diagnosis::default() };
        let drawn = "error: unknown key `stpe`\n --> a.toml:4:1\n   |\n 4 | stpe = 1\n   | ^^^^\n  hint: did you mean `step`?\n  hint: or not\n";
        assert_eq!(diagnosis.draw(Ink::Plain), drawn);
        let line = "a.toml:4:1: unknown key `stpe`\n  hint: did you mean `step`?\n  hint: or not";
        assert_eq!(diagnosis.to_string(), line);
        assert_eq!(Remark::new("a", "b").to_string(), "a\n  hint: b");
    }
}
