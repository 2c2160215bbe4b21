//! A mistake in a text, and its place.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use koppel::diagnostic::{Diagnosis, Diagnostic, Excerpt, Place};
use koppel::error::closest;

/// Bytes of a text.
pub type Span = Range<usize>;

/// A mistake in a system file or in an option, ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, or the option.
    pub place: String,
    /// Its whole text, which mistakes share.
    pub text: Arc<str>,
    /// The offending bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do, and what is known.
    pub hints: Vec<String>,
    /// Names that are known where an unknown one stands.
    pub known: Vec<String>,
    /// True if the text is right, but the FMU it names ended its process.
    pub is_crash: bool,
}

impl Mistake {
    /// Line and column, counted from 1, in characters.
    #[must_use]
    pub fn line_column(&self) -> (usize, usize) {
        let before = &self.text[..self.span.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// The offending line, the width in characters of what precedes the offending text, and the width of that text.
    #[must_use]
    pub fn excerpt(&self) -> (&str, usize, usize) {
        let start = self.text[..self.span.start].rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let marked =
            &self.text[self.span.start..self.span.end.clamp(self.span.start, end.max(self.span.start))];
        let before = self.text[start..self.span.start].chars().count();
        (self.text[start..end].trim_end(), before, marked.trim_end().chars().count().max(1))
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}: {}", self.place, self.message)
    }
}

impl Diagnostic for Mistake {
    fn what(&self) -> String {
        self.message.clone()
    }

    fn place(&self) -> Place {
        let ((line, column), (text, before, width)) = (self.line_column(), self.excerpt());
        let excerpt = Some(Excerpt { line: text.to_owned(), before, width });
        Place { file: Some(self.place.clone()), line, column, excerpt, ..Place::default() }
    }

    fn hints(&self) -> Vec<String> {
        self.hints.clone()
    }

    fn known(&self) -> Vec<String> {
        self.known.clone()
    }
}

/// Most mistakes that are told at once.
const MOST: usize = 20;

/// The mistakes of a file, by their places; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes {
    first: Mistake,
    others: Vec<Mistake>,
    left_out: usize,
}

impl Mistakes {
    /// All of them, sorted by place; those beyond 20 are only counted.
    #[must_use]
    pub fn new(first: Mistake, others: Vec<Mistake>) -> Self {
        let mut all = others;
        all.insert(0, first);
        koppel::sort::sort_by(&mut all, |a, b| (&a.place, a.span.start).cmp(&(&b.place, b.span.start)));
        all.dedup();
        let left_out = all.len().saturating_sub(MOST);
        all.truncate(MOST);
        let first = all.remove(0);
        Mistakes { first, others: all, left_out }
    }

    /// The first one.
    #[must_use]
    pub fn first(&self) -> &Mistake {
        &self.first
    }

    /// All that are told.
    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// How many more there are.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl Diagnostic for Mistakes {
    fn inner(&self) -> Option<&dyn Diagnostic> {
        Some(&self.first)
    }

    fn others(&self) -> Vec<Diagnosis> {
        let mut all: Vec<Diagnosis> = self.others.iter().map(|mistake| Diagnosis::of(mistake)).collect();
        if self.left_out > 0 {
            all.push(Diagnosis::words(format!("{} more mistakes are not shown", self.left_out), None));
        }
        all
    }
}

impl From<Mistake> for Mistakes {
    fn from(only: Mistake) -> Self {
        Mistakes { first: only, others: Vec::new(), left_out: 0 }
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.others.iter().try_for_each(|other| write!(f, "\n{other}"))
    }
}

/// A mistake whose text is still to be looked up.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The place.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hints: Vec<String>,
    /// Names that are known where an unknown one stands.
    pub known: Vec<String>,
    /// Where the message holds the number that stands at the place: it is shown as it is written there.
    pub number: Option<Range<usize>>,
    /// True if an FMU ended its process.
    pub is_crash: bool,
}

impl Mark {
    /// A mistake at a place.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Mark {
            span,
            message: message.into(),
            hints: Vec::new(),
            known: Vec::new(),
            number: None,
            is_crash: false,
        }
    }

    /// A mistake whose message holds the number that stands there, which is shown as it is written, `1e-300` and not 300 zeros.
    #[must_use]
    pub fn with_number(span: Span, before: &str, number: &str, after: &str) -> Self {
        let place = before.len()..before.len() + number.len();
        Mark { number: Some(place), ..Mark::new(span, format!("{before}{number}{after}")) }
    }

    /// The same with what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints = vec![hint.into()];
        self
    }

    /// The same with what to do, if that is known.
    #[must_use]
    pub fn hint_if(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// The same with more to say after the names that are known.
    #[must_use]
    pub fn and(mut self, more: &str) -> Self {
        self.hints = vec![self.hints.concat() + more];
        self
    }

    /// An error at a place of a text.
    #[must_use]
    pub fn of(span: Span, error: &dyn Diagnostic) -> Self {
        Mark { hints: error.hints(), known: error.known(), ..Mark::new(span, error.what()) }
    }

    /// An unknown name, with the one that was probably meant and all that are known.
    pub fn unknown(span: Span, kind: &str, name: &str, known: &[String]) -> Self {
        let mark = Mark::new(span, format!("unknown {kind} `{name}`")).hint(known_names(name, known));
        Mark { known: known.to_vec(), ..mark }
    }

    /// An unknown key of the table called `what`.
    pub fn unknown_key(span: Span, name: &str, what: &str, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        Mark {
            message: format!("unknown key `{name}` in {what}"),
            ..Mark::unknown(span, "key", name, &known)
        }
    }
}

/// The mistakes of parts that do not depend on each other.
#[derive(Clone, Debug, Default)]
pub struct Marks(Vec<Mark>);

impl Marks {
    /// Keeps the mistakes, if there are any.
    pub fn note<T>(&mut self, result: Result<T, impl Into<Marks>>) -> Option<T> {
        result.map_err(|marks| self.join(marks)).ok()
    }

    /// Keeps a mistake.
    pub fn add(&mut self, mark: Mark) {
        self.0.push(mark);
    }

    /// Keeps other mistakes, too.
    pub fn join(&mut self, others: impl Into<Marks>) {
        self.0.extend(others.into().0);
    }

    /// The same mistakes with what to do.
    #[must_use]
    pub fn hint(self, hint: &str) -> Self {
        self.0.into_iter().map(|mark| mark.hint(hint)).collect()
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value, if there are no mistakes.
    ///
    /// # Errors
    ///
    /// All mistakes.
    pub fn or<T>(self, value: T) -> Result<T, Marks> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl From<Mark> for Marks {
    fn from(mark: Mark) -> Self {
        Marks(vec![mark])
    }
}

impl FromIterator<Mark> for Marks {
    fn from_iter<I: IntoIterator<Item = Mark>>(marks: I) -> Self {
        Marks(marks.into_iter().collect())
    }
}

impl IntoIterator for Marks {
    type Item = Mark;
    type IntoIter = std::vec::IntoIter<Mark>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The known name most like `name`, and the list of all.
pub fn known_names(name: &str, known: &[String]) -> String {
    const SHOWN: usize = 30;
    if known.is_empty() {
        return "there are none".into();
    }
    let mut different: Vec<&String> = Vec::new();
    for one in known {
        if !different.contains(&one) {
            different.push(one);
        }
    }
    let list: Vec<String> = different.iter().take(SHOWN).map(|k| format!("`{k}`")).collect();
    let more = if different.len() > SHOWN { ", ..." } else { "" };
    let list = format!("known: {}{more}", list.join(", "));
    match closest(name, known) {
        Some(best) => format!("did you mean `{best}`? {list}"),
        None => list,
    }
}
