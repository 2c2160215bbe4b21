//! What a check finds: file, line and column, element, rule.

use std::collections::BTreeMap;
use std::fmt;

/// Where something stands in its file. Two places are always equal: where a thing stands is no part of what it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Line, from 1; 0 if there is none.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl PartialEq for Position {
    fn eq(&self, _: &Position) -> bool {
        true
    }
}

/// A file and a place in it. Two are always equal, as places are.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The file as messages call it, a key of [`Documents`].
    pub file: String,
    /// Where in it.
    pub at: Position,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

/// The texts that were read, by the names that messages call them.
pub type Documents = BTreeMap<String, String>;

/// Whether mistakes that do not change what is meant may pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tolerance {
    /// Every mistake is an error.
    #[default]
    Strict,
    /// What can be forgiven is forgiven and listed.
    Tolerant,
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Allowed by the standard, but worth knowing.
    Warning,
    /// Against the standard, let pass because the reader is tolerant.
    Forgiven,
    /// Against the standard.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Forgiven => "forgiven",
            Severity::Error => "error",
        })
    }
}

macro_rules! rules {
    ($($name:ident = $words:literal,)*) => {
        /// The rules that are checked. `Display` gives the rule in words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each rule is said in words by its Display")]
        #[non_exhaustive]
        pub enum Rule { $($name,)* }

        impl fmt::Display for Rule {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Rule::$name => $words,)* })
            }
        }
    };
}

rules! {
    File = "the file can be read",
    Archive = "an archive holds plain files with unique names inside it",
    Encoding = "the file is UTF-8",
    Xml = "the file is well-formed XML",
    Namespace = "every namespace prefix is declared",
    Root = "the root element is the one of the file format",
    Version = "the version is 1.0 or 2.0",
    NewInTwo = "a file of version 1.0 uses only what version 1.0 knows",
    UnknownElement = "only elements of the standard stand outside annotations",
    UnknownAttribute = "only attributes of the standard are used",
    MissingElement = "required elements are present",
    MissingAttribute = "required attributes are present",
    ElementOrder = "elements stand in the order of the schema",
    ElementCount = "elements stand as often as the schema says",
    Text = "text stands in annotations only",
    AttributeValue = "an attribute's value fits its type",
    UniqueName = "names are unique where they are looked up",
    KnownName = "what is referred to by name exists",
    Kind = "a connection joins one source and one target of the same sort",
    Type = "the types at both ends of a connection agree",
    Transformation = "a transformation fits the type it is applied to",
    Unit = "units are defined and those of a connection convert into each other",
    OneSource = "a target gets its value from one source",
    Loop = "a value does not depend on itself through system connectors and dictionaries alone",
    Source = "a source is a relative address below its file",
    MissingFile = "a file that is referred to exists",
    OneContent = "content is either inline or a source, not both and not neither",
    Nesting = "systems are nested finitely",
    Interface = "a component's connectors and parameters exist in what it stands for",
    Fmu = "a component's FMU can be read and offers what is asked of it",
    Runnable = "a component that shall run has a source",
    Applied = "a parameter meets a variable",
    MediaType = "the type of a source is one of the standard",
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// File, as a path inside the package or as given.
    pub file: String,
    /// Line, from 1; 0 if the finding is about the whole file.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The element, such as `Connection a.y -> b.u`.
    pub element: String,
    /// The rule.
    pub rule: Rule,
    /// What is wrong here, in words.
    pub message: String,
    /// How much it weighs.
    pub severity: Severity,
    /// True if a tolerant reader lets it pass.
    pub is_forgivable: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.text())
    }
}

impl Finding {
    /// Place, element, message and rule, without the severity.
    #[must_use]
    pub fn text(&self) -> String {
        let place = if self.line > 0 { format!(":{}:{}", self.line, self.column) } else { String::new() };
        let element = if self.element.is_empty() { String::new() } else { format!(": {}", self.element) };
        format!("{}{place}{element}: {}\n  rule: {}", self.file, self.message, self.rule)
    }
}

/// Where a finding belongs.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) file: &'a str,
    pub(crate) at: Position,
    pub(crate) element: String,
}

impl Place<'_> {
    pub(crate) fn origin(&self) -> Origin {
        Origin { file: self.file.to_owned(), at: self.at }
    }
}

impl<'a> Place<'a> {
    pub(crate) fn new(file: &'a str, at: Position, element: impl Into<String>) -> Self {
        Place { file, at, element: element.into() }
    }
}

/// Collects findings.
#[derive(Debug)]
pub(crate) struct Report {
    tolerance: Tolerance,
    pub(crate) findings: Vec<Finding>,
    pub(crate) documents: Documents,
}

/// More findings than this help nobody.
const MOST_FINDINGS: usize = 10_000;

impl Report {
    pub(crate) fn new(tolerance: Tolerance) -> Self {
        Report { tolerance, findings: Vec::new(), documents: Documents::new() }
    }

    pub(crate) fn tolerance(&self) -> Tolerance {
        self.tolerance
    }

    /// A mistake that leaves open what is meant: always an error.
    pub(crate) fn fault(&mut self, place: &Place, rule: Rule, message: impl Into<String>) {
        self.add(place, rule, message.into(), (Severity::Error, false));
    }

    /// A mistake that a tolerant reader lets pass.
    pub(crate) fn lapse(&mut self, place: &Place, rule: Rule, message: impl Into<String>) {
        let severity = match self.tolerance {
            Tolerance::Strict => Severity::Error,
            Tolerance::Tolerant => Severity::Forgiven,
        };
        self.add(place, rule, message.into(), (severity, true));
    }

    /// No mistake, but worth knowing.
    pub(crate) fn note(&mut self, place: &Place, rule: Rule, message: impl Into<String>) {
        self.add(place, rule, message.into(), (Severity::Warning, true));
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Error)
    }

    fn add(&mut self, place: &Place, rule: Rule, message: String, weight: (Severity, bool)) {
        let (severity, is_forgivable) = weight;
        // the same document can be reached twice, and a full list must still tell errors
        if self.findings.len() >= MOST_FINDINGS && (severity < Severity::Error || self.has_errors()) {
            return;
        }
        let finding = Finding {
            file: place.file.to_owned(),
            line: place.at.line,
            column: place.at.column,
            element: place.element.clone(),
            rule,
            message,
            severity,
            is_forgivable,
        };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// `; did you mean ...` or the list of what there is.
pub(crate) fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<String> = known.into_iter().filter(|k| !k.is_empty()).map(str::to_owned).collect();
    if known.is_empty() {
        return "; there are none".into();
    }
    if let Some(close) = koppel::error::closest(name, &known) {
        return format!("; did you mean `{close}`?");
    }
    let shown: Vec<_> = known.iter().take(20).map(|k| format!("`{k}`")).collect();
    format!("; known: {}{}", shown.join(", "), if known.len() > 20 { ", ..." } else { "" })
}
