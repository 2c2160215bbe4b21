//! The tree of a system file together with the texts it came from: the file, and options that replace parts of it.

use std::path::{Path, PathBuf};

use super::mistake::{Mark, Mistake, Span};
use super::tree::{self, Node};
use crate::{Error, Result};

/// A tree and its texts. Places in the tree count through all texts, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) root: Node,
    /// Where files named by the system file are looked for.
    pub(super) folder: PathBuf,
    texts: Vec<Text>,
}

#[derive(Clone, Debug)]
struct Text {
    place: String,
    text: String,
    start: usize,
}

impl Document {
    pub(super) fn new(text: &str, path: &Path) -> Result<Self> {
        let texts = vec![Text { place: path.display().to_string(), text: text.to_owned(), start: 0 }];
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let empty = Node { span: 0..0, value: tree::Value::Table(Vec::new()) };
        let mut document = Document { root: empty, folder, texts };
        document.root = tree::parse(text).map_err(|mark| document.mistake(mark))?;
        Ok(document)
    }

    /// Adds the text of an option; places in it are moved by the number returned.
    pub(super) fn add(&mut self, place: &str, text: &str) -> usize {
        // One byte between texts: a place at the end of one is not the start of the next.
        let start = self.texts.last().map_or(0, |last| last.start + last.text.len() + 1);
        self.texts.push(Text { place: place.to_owned(), text: text.to_owned(), start });
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

    /// Makes a mark readable.
    pub(super) fn mistake(&self, mark: Mark) -> Box<Error> {
        let (text, span) = self.find(&mark.span);
        let message = as_written(mark.message, &text.text[span.clone()]);
        Box::new(Error::File(Box::new(Mistake {
            place: text.place.clone(),
            text: text.text.clone(),
            span,
            message,
            hint: mark.hint,
        })))
    }

    fn find(&self, span: &Span) -> (&Text, Span) {
        let at = self.texts.partition_point(|text| text.start <= span.start).saturating_sub(1);
        let text = &self.texts[at];
        let local = |position: usize| (position - text.start).min(text.text.len());
        (text, tree::on_characters(&text.text, local(span.start)..local(span.end.max(span.start))))
    }
}

/// The message with a number as the user wrote it, `1e-300` and not 300 zeros.
fn as_written(message: String, written: &str) -> String {
    match written.replace('_', "").parse::<f64>() {
        Ok(number) => message.replacen(&format!("`{number}`"), &format!("`{written}`"), 1).replacen(
            &format!(" is {number},"),
            &format!(" is {written},"),
            1,
        ),
        Err(_) => message,
    }
}
