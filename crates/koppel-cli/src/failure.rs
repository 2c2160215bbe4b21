//! Why a command failed, shown so that the user can act.
//!
//! ```text
//! error: unknown key in [run]: `stpe`
//!   --> dual.toml:4:1
//!    |
//!  4 | stpe = 1e-3
//!    | ^^^^
//!   hint: did you mean `step`? known: `start`, `stop`, `step`
//! ```
//!
//! Drawn here and not by a crate: one place, one line, `hint:` as everywhere in koppel.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _, stderr};

use koppel::Error as Engine;
use koppel::solver::SolverError;
use koppel_io::Error as Io;
use koppel_io::system_file::Mistake;
use koppel_session::{Kind, Remark};

use crate::execution::nearby_names;
use crate::exit::Exit;
use crate::output::significant;

const RECOVER: &str = "`koppel recover FILE.part` keeps the rows written before";

/// Result of a command.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Files, options or settings.
    Input(Box<Io>),
    /// The engine, during the run.
    Run(Box<Engine>),
    /// A loop that was stable when the run began.
    Unstable(Box<Engine>),
    /// A file, during or after the run.
    Write(Box<Io>),
    /// Standard output.
    Output(std::io::Error),
    /// An isolated FMU that ended its process before or without a run.
    Crash { message: String, hint: Option<String> },
    /// Anything else, in words.
    Words { message: String, hint: Option<String> },
}

impl From<Box<Io>> for Failure {
    fn from(error: Box<Io>) -> Self {
        Failure::Input(error)
    }
}

impl From<Box<Engine>> for Failure {
    fn from(error: Box<Engine>) -> Self {
        Failure::Run(error)
    }
}

impl Failure {
    /// Bad input in words, with what to do about it.
    pub(crate) fn words(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::Words { message: message.into(), hint: Some(hint.into()) }
    }

    /// Why a run ended that had begun.
    pub(crate) fn on_the_way(error: Box<Engine>) -> Self {
        if matches!(*error, Engine::NotZeroStable { .. }) {
            Failure::Unstable(error)
        } else {
            Failure::Run(error)
        }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> Exit {
        match self {
            Failure::Input(error) => match error.as_ref() {
                Io::Engine(error) => engine_code(error),
                Io::File(mistake) if mistake.is_crash => Exit::RunFailed,
                _ => Exit::BadInput,
            },
            Failure::Words { .. } => Exit::BadInput,
            Failure::Write(_) | Failure::Output(_) | Failure::Crash { .. } | Failure::Unstable(_) => {
                Exit::RunFailed
            }
            Failure::Run(error) => engine_code(error),
        }
    }

    /// Message and hint.
    pub(crate) fn text(&self) -> (String, Option<String>) {
        let (text, hint) = match self {
            Failure::Input(error) => match error.as_ref() {
                Io::File(mistake) => return (rounded_times(&mistake.message), mistake.hint.clone()),
                Io::Engine(error) => (error.to_string(), error.hint()),
                Io::Io { action: "read", source, .. } if source.kind() == std::io::ErrorKind::NotFound => (
                    error.to_string(),
                    Some("check the name; `koppel new` writes a system file to start from".into()),
                ),
                error => (error.to_string(), None),
            },
            Failure::Run(error) => match error.as_ref() {
                Engine::Recorder { source } => (source.to_string(), Some(RECOVER.to_owned())),
                error => (error.to_string(), error.hint()),
            },
            Failure::Unstable(error) => (error.to_string(), error.hint()),
            Failure::Write(error) => (error.to_string(), None),
            Failure::Output(error) => (format!("cannot write to standard output: {error}"), None),
            Failure::Words { message, hint } | Failure::Crash { message, hint } => {
                (message.clone(), hint.clone())
            }
        };
        let text = nearby_names(&rounded_times(&text));
        match text.split_once("\n  hint: ") {
            Some((message, inner)) => (message.to_owned(), Some(inner.to_owned())),
            None => (text, hint),
        }
    }

    /// True if an isolated FMU ended its process.
    pub(crate) fn is_crash(&self) -> bool {
        let Failure::Run(error) = self else { return false };
        let source = match error.as_ref() {
            Engine::Subsystem { source, .. } => source,
            error => error,
        };
        let Engine::Foreign { source, .. } = source else { return false };
        matches!(source.downcast_ref(), Some(koppel_fmi::Error::Ended(_)))
    }

    /// The place in a file, if the mistake has one.
    pub(crate) fn mistake(&self) -> Option<&Mistake> {
        match self {
            Failure::Input(error) => match error.as_ref() {
                Io::File(mistake) => Some(mistake),
                _ => None,
            },
            _ => None,
        }
    }

    /// Shows it on standard error.
    pub(crate) fn show(&self) {
        // Nobody is left to be told if standard error is closed.
        let _ = stderr().write_all(self.render(is_coloured()).as_bytes());
    }

    fn render(&self, coloured: bool) -> String {
        let (message, hint) = self.text();
        let mut text = format!("{} {}\n", paint("error:", "1;31", coloured), visible(&message));
        if let Some(mistake) = self.mistake() {
            text.push_str(&snippet(mistake, coloured));
        }
        for hint in hint.iter().flat_map(|hint| hint.split("\n  hint: ")) {
            let _ = writeln!(text, "  {} {}", paint("hint:", "1;36", coloured), visible(hint));
        }
        text
    }
}

/// The offending line, with the offending text underlined.
fn snippet(mistake: &Mistake, coloured: bool) -> String {
    let (line, column) = mistake.line_column();
    let (shown, before, width) = cut(mistake.excerpt());
    let number = line.to_string();
    let margin = " ".repeat(number.len() + 1);
    let indent: String = shown.chars().take(before).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let marks = paint(&"^".repeat(width), "1;31", coloured);
    format!(
        " {arrow} {place}:{line}:{column}\n {margin}|\n {number} | {shown}\n {margin}| {indent}{marks}\n",
        arrow = paint("-->", "1;34", coloured),
        place = mistake.place,
    )
}

/// Most characters of a line that are shown.
const WIDTH: usize = 120;

/// A line with control characters made visible, and of a long one the part around the place; with the widths as shown.
fn cut((line, before, width): (&str, usize, usize)) -> (String, usize, usize) {
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
    let indent = count(left) + count(&part(first, before));
    let marked = count(&part(before, before + width)).max(1);
    (format!("{left}{}{right}", part(first, last)), indent, marked)
}

/// Control characters as `\u{1b}`; a tab and a line break stay.
pub(crate) fn visible(text: &str) -> String {
    let is_bad = |c: char| c.is_control() && c != '\t' && c != '\n';
    text.chars().map(|c| if is_bad(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// The text with times such as `t = 0.051000000000000004 s` rounded to 12 digits.
fn rounded_times(text: &str) -> String {
    let mut parts = text.split("t = ");
    let mut rounded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !"0123456789.e-+".contains(c)).unwrap_or(part.len());
        let (number, rest) = part.split_at(end);
        match number.parse::<f64>() {
            Ok(time) => rounded.push_str(&format!("t = {}{rest}", significant(time, 12))),
            Err(_) => rounded.push_str(&format!("t = {part}")),
        }
    }
    rounded
}

/// A number that is not finite counts as bad input: the model or the step is at fault, not the machine.
fn engine_code(error: &Engine) -> Exit {
    match error {
        Engine::Solver(SolverError::NonFinite { .. }) => Exit::BadInput,
        Engine::Subsystem { source, .. } => engine_code(source),
        Engine::LoopNotSolved { .. } | Engine::Solver(_) | Engine::Recorder { .. } => Exit::RunFailed,
        Engine::Linalg { .. } | Engine::Foreign { .. } => Exit::RunFailed,
        _ => Exit::BadInput,
    }
}

/// Shows a remark on a run.
pub(crate) fn tell(remark: &Remark) {
    let kind = match remark.kind {
        Kind::Note => "note",
        Kind::Warning => "warning",
    };
    note(kind, &remark.text);
}

/// A remark on standard error that the user can act on.
pub(crate) fn note(kind: &str, text: &str) {
    let text = nearby_names(text);
    let _ = writeln!(stderr(), "{} {text}", paint(&format!("{kind}:"), "1;36", is_coloured()));
}

fn is_coloured() -> bool {
    stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn paint(text: &str, style: &str, coloured: bool) -> String {
    if coloured { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_and_nothing_else() {
        let text = "became 1e300 at t = 0.051000000000000004 s: t = unknown";
        assert_eq!(rounded_times(text), "became 1e300 at t = 0.051 s: t = unknown");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}\u{7}X{}", "a".repeat(300), "b".repeat(300));
        let (shown, before, width) = cut((&line, 301, 1));
        assert_eq!(shown.chars().nth(before), Some('X'));
        assert!(shown.starts_with('…') && shown.ends_with('…') && width == 1, "{shown}");
    }
}
