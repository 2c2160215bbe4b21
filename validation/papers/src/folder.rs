//! What is written where.
//!
//! ```text
//! OUT/index.html, summary.json, summary.md      all exhibits of all papers
//! OUT/PAPER/index.html                          one paper with its pictures
//! OUT/PAPER/EXHIBIT-NAME.csv, .svg              data and pictures of one exhibit
//! OUT/PAPER/studies/                            studies, which go on where they were interrupted
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use koppel_io::Error as Io;
use koppel_io::report::{Report, Section, write_report};
use koppel_io::results::{write_cells, write_whole};
use serde_json::{Value, json};

use crate::context::{Context, Control, Progress};
use crate::{Error, Exhibit, Paper, Result, Verdict};

/// How papers are reproduced.
#[derive(Clone, Debug)]
pub struct Options {
    /// Smaller designs.
    pub is_quick: bool,
    /// Threads; all cores if 0.
    pub threads: usize,
    /// The folder for results.
    pub out: PathBuf,
}

/// What was made.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Exhibits by paper, in order; as far as they were finished.
    pub papers: Vec<(Paper, Vec<Exhibit>)>,
    /// True if it was ended on the way.
    pub is_stopped: bool,
    /// How long it took.
    pub seconds: f64,
}

/// Who wrote a folder.
const MADE_BY: &str = "koppel-papers";

/// Makes the exhibits of these papers and writes them.
///
/// # Errors
///
/// If the folder is somebody else's or cannot be written, or the engine fails. Exhibits that were finished before are
/// on the disk.
pub fn reproduce(
    papers: &[Paper],
    options: &Options,
    watch: &mut (dyn FnMut(&Progress) -> Control + Send),
) -> Result<Outcome> {
    claim(&options.out)?;
    let begin = Instant::now();
    let quick = usize::from(options.is_quick);
    let whole: f64 = papers.iter().flat_map(|p| p.stages()).map(|stage| stage.seconds[quick]).sum();
    let watch = Mutex::new(watch);
    let tell = |progress: &Progress| watch.lock().map_or(Control::Stop, |mut watch| watch(progress));
    let mut outcome = Outcome::default();
    write_overview(options, &outcome, "running")?;
    let mut before = 0.0;
    for paper in papers {
        let folder = options.out.join(paper.name());
        fs::create_dir_all(&folder).map_err(Io::io("create", &folder))?;
        outcome.papers.push((*paper, Vec::new()));
        for stage in paper.stages() {
            let own = stage.seconds[quick] / whole;
            let context = Context {
                is_quick: options.is_quick,
                threads: options.threads,
                folder: folder.clone(),
                watch: &tell,
                begin,
                stage: (format!("{}: {}", paper.name(), stage.name), before, own),
            };
            let made = context.tell(0.0).and_then(|()| (stage.make)(&context));
            before += own;
            match made {
                Ok(exhibits) => {
                    for exhibit in &exhibits {
                        write_exhibit(&folder, exhibit)?;
                    }
                    if let Some((_, all)) = outcome.papers.last_mut() {
                        all.extend(exhibits);
                    }
                }
                Err(Error::Stopped) => {
                    outcome.is_stopped = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        if let Some((_, exhibits)) = outcome.papers.last() {
            write_page(&folder, *paper, exhibits)?;
        }
        if outcome.is_stopped {
            break;
        }
    }
    outcome.seconds = begin.elapsed().as_secs_f64();
    write_overview(options, &outcome, if outcome.is_stopped { "interrupted" } else { "finished" })?;
    Ok(outcome)
}

/// The folder is new, empty, or one of ours.
fn claim(out: &Path) -> Result<()> {
    fs::create_dir_all(out).map_err(Io::io("create", out))?;
    let is_empty = fs::read_dir(out).map_err(Io::io("read", out))?.next().is_none();
    let summary = fs::read_to_string(out.join("summary.json")).unwrap_or_default();
    let known: Option<Value> = serde_json::from_str(&summary).ok();
    let is_ours = known.is_some_and(|value| value["made_by"] == MADE_BY);
    if is_empty || is_ours { Ok(()) } else { Err(Error::Occupied { folder: out.into() }) }
}

fn write_exhibit(folder: &Path, exhibit: &Exhibit) -> Result<()> {
    let slug = exhibit.slug();
    for (name, columns) in &exhibit.data {
        write_cells(&folder.join(format!("{slug}-{name}.csv")), columns)?;
    }
    for drawing in &exhibit.drawings {
        write_whole(&folder.join(format!("{slug}-{}.svg", drawing.name)), &drawing.svg)?;
    }
    Ok(())
}

fn counted(exhibits: &[Exhibit]) -> [usize; 3] {
    let count = |word| exhibits.iter().filter(|e| e.verdict().word() == word).count();
    [count("agrees"), count("differs"), count("not described")]
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn overview_rows(exhibits: &[Exhibit]) -> Vec<Vec<String>> {
    let row = |e: &Exhibit| vec![e.number.clone(), e.title.clone(), e.verdict().words(), e.reduced.clone()];
    exhibits.iter().map(row).collect()
}

fn write_page(folder: &Path, paper: Paper, exhibits: &[Exhibit]) -> Result<()> {
    let mut sections = vec![Section::Table {
        title: "Exhibits".into(),
        header: head(&["exhibit", "what", "verdict", "reduced"]),
        rows: overview_rows(exhibits),
        note: None,
    }];
    for exhibit in exhibits {
        let title = format!("{}: {}", exhibit.number, exhibit.title);
        let mut note = exhibit.how.clone();
        if !exhibit.reduced.is_empty() {
            let _ = write!(note, " Reduced by --quick: {}.", exhibit.reduced);
        }
        if exhibit.comparisons.is_empty() {
            sections.push(Section::Text { title: title.clone(), text: note });
        } else {
            let row = |c: &crate::Comparison| {
                vec![c.what.clone(), c.ours.clone(), c.paper.clone(), c.within.clone(), c.verdict.words()]
            };
            sections.push(Section::Table {
                title: title.clone(),
                header: head(&["what", "ours", "paper", "within", "verdict"]),
                rows: exhibit.comparisons.iter().map(row).collect(),
                note: Some(note),
            });
        }
        if !exhibit.drawings.is_empty() {
            sections.push(Section::Pictures {
                title: format!("{}, drawn", exhibit.number),
                pictures: exhibit.drawings.iter().map(|drawing| drawing.svg.clone()).collect(),
                note: None,
            });
        }
    }
    let report = Report {
        title: paper.title().into(),
        generated_by: format!("koppel {} papers", env!("CARGO_PKG_VERSION")),
        summary: facts(exhibits),
        sections,
    };
    Ok(write_report(&folder.join("index.html"), &report)?)
}

fn facts(exhibits: &[Exhibit]) -> Vec<(String, String)> {
    let [agree, differ, rest] = counted(exhibits);
    let fact = |name: &str, count: usize| (name.to_owned(), count.to_string());
    vec![
        fact("exhibits", exhibits.len()),
        fact("agree", agree),
        fact("differ", differ),
        fact("not described", rest),
    ]
}

fn write_overview(options: &Options, outcome: &Outcome, status: &str) -> Result<()> {
    let all: Vec<Exhibit> = outcome.papers.iter().flat_map(|(_, exhibits)| exhibits.clone()).collect();
    let links = outcome
        .papers
        .iter()
        .map(|(paper, _)| (paper.title().to_owned(), format!("{}/index.html", paper.name())));
    let mut sections = vec![Section::Links { title: "Papers".into(), links: links.collect() }];
    for (paper, exhibits) in &outcome.papers {
        sections.push(Section::Table {
            title: paper.title().into(),
            header: head(&["exhibit", "what", "verdict", "reduced"]),
            rows: overview_rows(exhibits),
            note: None,
        });
    }
    let report = Report {
        title: "Reproducing the published results".into(),
        generated_by: format!("koppel {} papers", env!("CARGO_PKG_VERSION")),
        summary: facts(&all),
        sections,
    };
    write_report(&options.out.join("index.html"), &report)?;
    write_whole(&options.out.join("summary.md"), &markdown(outcome))?;
    let document = document(options, outcome, status);
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    Ok(write_whole(&options.out.join("summary.json"), &(text + "\n"))?)
}

/// Every comparison as Markdown tables.
fn markdown(outcome: &Outcome) -> String {
    let mut text = String::new();
    let cell = |text: &str| text.replace('|', "\\|");
    for (paper, exhibits) in &outcome.papers {
        let [agree, differ, rest] = counted(exhibits);
        let _ = write!(
            text,
            "## {}\n\n{} exhibits: {agree} agree, {differ} differ, {rest} not described in the text.\n\n\
             | exhibit | what | ours | paper | within | verdict |\n| --- | --- | --- | --- | --- | --- |\n",
            paper.title(),
            exhibits.len()
        );
        for exhibit in exhibits {
            let number = cell(&exhibit.number);
            if exhibit.comparisons.is_empty() {
                let _ = writeln!(
                    text,
                    "| {number} | {} | {} | | | {} |",
                    cell(&exhibit.title),
                    cell(&exhibit.how),
                    Verdict::NotDescribed.words()
                );
            }
            for c in &exhibit.comparisons {
                let cells = [&c.what, &c.ours, &c.paper, &c.within].map(|text| cell(text)).join(" | ");
                let _ = writeln!(text, "| {number} | {cells} | {} |", cell(&c.verdict.words()));
            }
        }
        text.push('\n');
    }
    text
}

fn document(options: &Options, outcome: &Outcome, status: &str) -> Value {
    let comparison = |c: &crate::Comparison| json!({ "what": c.what, "ours": c.ours, "paper": c.paper, "within": c.within, "verdict": c.verdict.words() });
    let exhibit = |e: &Exhibit| {
        let slug = e.slug();
        let files = e.data.iter().map(|(name, _)| format!("{slug}-{name}.csv"));
        let pictures = e.drawings.iter().map(|d| format!("{slug}-{}.svg", d.name));
        json!({
            "number": e.number,
            "title": e.title,
            "how": e.how,
            "reduced": e.reduced,
            "verdict": e.verdict().word(),
            "comparisons": e.comparisons.iter().map(comparison).collect::<Vec<_>>(),
            "files": files.chain(pictures).collect::<Vec<_>>(),
        })
    };
    let papers = outcome.papers.iter().map(|(paper, exhibits)| {
        let [agree, differ, rest] = counted(exhibits);
        json!({
            "paper": paper.name(),
            "title": paper.title(),
            "agree": agree,
            "differ": differ,
            "not_described": rest,
            "exhibits": exhibits.iter().map(exhibit).collect::<Vec<_>>(),
        })
    });
    json!({
        "made_by": MADE_BY,
        "koppel": env!("CARGO_PKG_VERSION"),
        "status": status,
        "quick": options.is_quick,
        "seconds": outcome.seconds,
        "papers": papers.collect::<Vec<_>>(),
    })
}
