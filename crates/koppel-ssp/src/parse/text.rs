//! From bytes to an XML tree with positions, repairing what a tolerant reader may repair.

use crate::finding::{Place, Position, Report, Rule};
use koppel_fmi::xml::{self, Malformed, Refused, Text};
use roxmltree::Document;

/// Deeper nesting is refused before the tree is built.
const DEEPEST: usize = 400;
const MOST_REPAIRS: usize = 32;

/// The text of a file, possibly with namespace declarations put in, and the way back to the original's lines.
pub(crate) struct Source {
    text: String,
    /// Byte where declarations were put in, and how many bytes.
    inserted: Option<(usize, usize)>,
    /// Bytes of the original where lines start.
    lines: Vec<usize>,
}

impl Source {
    /// Reads UTF-8 and declares prefixes that are used without declaration (each is reported).
    pub(crate) fn new(bytes: &[u8], file: &str, report: &mut Report) -> Option<Source> {
        let place = Place::new(file, Position::default(), "");
        let Text { text, is_latin1 } = match Text::new(bytes) {
            Ok(text) => text,
            Err(refused) => {
                let (rule, message) = match refused {
                    Refused::Encoding(byte) => (Rule::Encoding, format!("byte {byte} is not UTF-8")),
                    Refused::TooLarge => {
                        (Rule::Xml, format!("the file has more than {} bytes", xml::MAX_XML_SIZE))
                    }
                    Refused::TooManyAttributes => {
                        let limit = xml::MAX_XML_ATTRIBUTES;
                        (Rule::Xml, format!("an element has more than {limit} attributes"))
                    }
                };
                report.fault(&place, rule, message);
                return None;
            }
        };
        if is_latin1 {
            report.lapse(&place, Rule::Encoding, "the file declares Latin-1; the standard asks for UTF-8");
        }
        let text = text.into_owned();
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut source = Source { text, inserted: None, lines };
        if nesting(&source.text) > DEEPEST {
            report.fault(&place, Rule::Xml, format!("elements are nested deeper than {DEEPEST}"));
            return None;
        }
        source.declare_prefixes(file, report).then_some(source)
    }

    /// The tree. `new` has seen that it parses.
    pub(crate) fn tree(&self) -> Option<Document<'_>> {
        xml::parse(&self.text).ok()
    }

    /// Line and column of a byte of the parsed text.
    pub(crate) fn position(&self, byte: usize) -> Position {
        let original = self.original(byte);
        let line = self.lines.partition_point(|start| *start <= original);
        let start = self.lines[line.saturating_sub(1)];
        let column = self.text.get(self.parsed(start)..byte).map_or(1, |before| before.chars().count() + 1);
        let extra = match self.inserted {
            Some((at, length)) if start <= at && original > at => length,
            _ => 0,
        };
        Position { line: line as u32, column: (column - extra.min(column - 1)) as u32 }
    }

    /// A slice of the parsed text.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> &str {
        self.text.get(range).unwrap_or("")
    }

    fn original(&self, byte: usize) -> usize {
        match self.inserted {
            Some((at, length)) if byte > at => byte.saturating_sub(length).max(at),
            _ => byte,
        }
    }

    fn parsed(&self, byte: usize) -> usize {
        match self.inserted {
            Some((at, length)) if byte > at => byte + length,
            _ => byte,
        }
    }

    fn declare_prefixes(&mut self, file: &str, report: &mut Report) -> bool {
        for _ in 0..MOST_REPAIRS {
            let Malformed { reason, line, column, undeclared } = match xml::parse(&self.text) {
                Ok(_) => return true,
                Err(malformed) => malformed,
            };
            let at = self.unshift(line, column);
            if let Some(prefix) = undeclared
                && let Some(end) = root_name_end(&self.text)
                && plain(&prefix)
            {
                let place = Place::new(file, at, prefix.clone());
                let message = format!(
                    "prefix `{prefix}` is not declared; add xmlns:{prefix}=\"...\" to the root element"
                );
                report.lapse(&place, Rule::Namespace, message);
                let declaration = format!(" xmlns:{prefix}=\"urn:undeclared:{prefix}\"");
                self.text.insert_str(end, &declaration);
                let length = self.inserted.map_or(0, |(_, length)| length) + declaration.len();
                self.inserted = Some((end, length));
                continue;
            }
            let words = reason.rsplit_once(" at ").map_or(reason.as_str(), |(words, _)| words);
            report.fault(&Place::new(file, at, ""), Rule::Xml, words);
            return false;
        }
        report.fault(
            &Place::new(file, Position::default(), ""),
            Rule::Namespace,
            "too many undeclared prefixes",
        );
        false
    }

    /// Line and column of the parsed text as those of the original.
    fn unshift(&self, row: u32, column: u32) -> Position {
        let Some((at, length)) = self.inserted else { return Position { line: row, column } };
        let line_of_insert = self.lines.partition_point(|start| *start <= at) as u32;
        let start = self.lines[(line_of_insert as usize).saturating_sub(1)];
        let insert_column = self.text.get(start..at).map_or(0, |t| t.chars().count()) as u32 + 1;
        if row != line_of_insert || column <= insert_column {
            return Position { line: row, column };
        }
        Position { line: row, column: column.saturating_sub(length as u32).max(insert_column) }
    }
}

fn plain(prefix: &str) -> bool {
    !prefix.is_empty()
        && prefix != "xml"
        && prefix != "xmlns"
        && prefix.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Byte after the name of the root element.
fn root_name_end(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let open = from + text.get(from..)?.find('<')?;
        let rest = &text[open..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            from = open + 4 + comment.find("-->")? + 3;
        } else if rest.starts_with("<?") {
            from = open + rest.find("?>")? + 2;
        } else if rest.starts_with("<!") {
            return None;
        } else {
            return rest[1..].find(|c: char| c.is_whitespace() || c == '>' || c == '/').map(|n| open + 1 + n);
        }
    }
}

/// How deep tags are nested, without recursion; comments and character data may count too much, never too little.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match (*byte, bytes.get(at + 1)) {
            (b'<', Some(b'/')) => depth = depth.saturating_sub(1),
            (b'<', Some(next)) if next.is_ascii_alphabetic() || *next == b'_' || *next >= 0x80 => depth += 1,
            (b'/', Some(b'>')) => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Severity, Tolerance};

    #[test]
    fn an_undeclared_prefix_is_forgiven_and_positions_stay() {
        let text = "<?xml version=\"1.0\"?>\n<!-- <x> --><root a=\"ä\"><osp:thing/><b/></root>";
        let mut report = Report::new(Tolerance::Tolerant);
        let source = Source::new(text.as_bytes(), "f", &mut report).unwrap();
        assert_eq!(report.findings.len(), 1);
        assert_eq!(report.findings[0].severity, Severity::Forgiven);
        assert_eq!((report.findings[0].line, report.findings[0].column), (2, 26));
        let tree = source.tree().unwrap();
        let b = tree.descendants().find(|n| n.tag_name().name() == "b").unwrap();
        let at = source.position(b.range().start);
        assert_eq!((at.line, at.column), (2, 37));
        let root = source.position(tree.root_element().range().start);
        assert_eq!((root.line, root.column), (2, 13));
    }

    #[test]
    fn depth_is_bounded() {
        let text = "<a>".repeat(500) + &"</a>".repeat(500);
        let mut report = Report::new(Tolerance::Tolerant);
        assert!(Source::new(text.as_bytes(), "f", &mut report).is_none());
        assert!(report.has_errors());
    }
}
