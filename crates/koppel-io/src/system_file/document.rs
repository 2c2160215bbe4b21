//! The tree of a system file together with the texts it came from: the file, and options that replace parts of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mistake::{Mark, Marks, Mistake, Mistakes, Span};
use super::tree::{self, Node};
use crate::{Error, Result};

/// A tree and its texts. Places in the tree count through all texts, one after the other.
#[derive(Clone, Debug)]
pub struct Document {
    /// The tree.
    pub root: Node,
    /// Where files named by the system file are looked for.
    pub(super) folder: PathBuf,
    /// Remarks on reading a system structure.
    pub(super) notices: Vec<(&'static str, String)>,
    /// What was chosen where the file leaves it open.
    pub(super) choices: Vec<(&'static str, String)>,
    /// Files of models that were read.
    pub(super) files: Vec<PathBuf>,
    texts: Vec<Text>,
}

#[derive(Clone, Debug)]
struct Text {
    place: String,
    text: Arc<str>,
    start: usize,
}

impl Document {
    /// Reads a text; messages call it `place`, and files it names are looked for beside `path`.
    ///
    /// # Errors
    ///
    /// If it is not TOML.
    pub fn new(text: &str, path: &Path, place: &str) -> Result<Self> {
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let mut document = Document::empty(place, text, folder);
        document.root = tree::parse(text).map_err(|mark| document.mistake(mark))?;
        Ok(document)
    }

    /// A text without a tree.
    pub(super) fn empty(place: &str, text: &str, folder: PathBuf) -> Self {
        let texts = vec![Text { place: place.to_owned(), text: text.into(), start: 0 }];
        let root = Node { span: 0..0, value: tree::Value::Table(Vec::new()) };
        Document { root, folder, notices: Vec::new(), choices: Vec::new(), files: Vec::new(), texts }
    }

    /// Line and column of a text, to the end of the tag or the line.
    pub(super) fn span(&self, place: &str, line: u32, column: u32) -> Span {
        let Some(text) = self.texts.iter().find(|text| text.place == place) else { return 0..0 };
        let local = tag_span(&text.text, line, column);
        text.start + local.start..text.start + local.end
    }

    /// Adds the text of an option; places in it are moved by the number returned.
    pub(super) fn add(&mut self, place: &str, text: &str) -> usize {
        // One byte between texts: a place at the end of one is not the start of the next.
        let start = self.texts.last().map_or(0, |last| last.start + last.text.len() + 1);
        self.texts.push(Text { place: place.to_owned(), text: text.into(), start });
        start
    }

    /// The file itself.
    pub(super) fn text(&self) -> &str {
        &self.texts[0].text
    }

    /// What is written at a place.
    pub(super) fn written(&self, span: &Span) -> &str {
        let (text, span) = self.find(span);
        &text.text[span]
    }

    /// Makes marks readable, all in one error.
    pub fn mistake(&self, marks: impl Into<Marks>) -> Box<Error> {
        let mut all = marks.into().into_iter().map(|mark| self.readable(mark));
        match all.next() {
            Some(first) => Box::new(Error::File(Box::new(Mistakes::new(first, all.collect())))),
            None => unreachable!("whoever reports mistakes has one"),
        }
    }

    fn readable(&self, mark: Mark) -> Mistake {
        let (text, span) = self.find(&mark.span);
        let written = &text.text[span.clone()];
        let mut message = mark.message;
        if let Some(number) = mark.number.filter(|number| is_same(&message[number.clone()], written)) {
            message.replace_range(number, written);
        }
        let (place, text) = (text.place.clone(), text.text.clone());
        Mistake { place, text, span, message, hints: mark.hints, known: mark.known, is_crash: mark.is_crash }
    }

    fn find(&self, span: &Span) -> (&Text, Span) {
        let at = self.texts.partition_point(|text| text.start <= span.start).saturating_sub(1);
        let text = &self.texts[at];
        let local = |position: usize| (position - text.start).min(text.text.len());
        (text, tree::on_characters(&text.text, local(span.start)..local(span.end.max(span.start))))
    }
}

/// True for two ways to write one number.
fn is_same(number: &str, written: &str) -> bool {
    let read = |text: &str| text.replace('_', "").parse::<f64>().ok();
    read(number).is_some() && read(number) == read(written)
}

/// From a line and column to the end of the tag or the line.
pub(super) fn tag_span(text: &str, line: u32, column: u32) -> Span {
    let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let begin = starts.nth((line as usize).saturating_sub(1)).unwrap_or(text.len());
    let rest = &text[begin..];
    let skipped = rest.char_indices().nth((column as usize).saturating_sub(1)).map_or(0, |(at, _)| at);
    let shown = &rest[skipped..];
    let end =
        shown.find(['>', '\n']).map_or(shown.len(), |at| at + usize::from(shown[at..].starts_with('>')));
    begin + skipped..begin + skipped + end
}
