//! `koppel papers`.

use std::time::Duration;

use koppel_papers::{
    Error as PapersError, Exhibit, Options, Outcome, Paper, Progress, Verdict, Wish, reproduce,
};

use crate::arguments::PapersArguments;
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{duration, print, quoted};
use crate::session::{self, PapersProgress};

impl From<PapersError> for Failure {
    fn from(error: PapersError) -> Self {
        match error {
            PapersError::Engine(error) => Failure::Run(error),
            PapersError::File(error) => Failure::Write(error),
            PapersError::Study(error) => error.into(),
            other => match other.to_string().split_once("\n  hint: ") {
                Some((message, hint)) => Failure::words(message, hint),
                None => Failure::Words { message: other.to_string(), hint: None },
            },
        }
    }
}

/// Makes the exhibits of papers.
pub(super) fn papers(arguments: &PapersArguments) -> Result<Exit> {
    let named: Vec<Paper> = arguments.papers.iter().filter_map(|name| Paper::of(name)).collect();
    let wanted = |paper: &Paper| named.is_empty() || named.contains(paper);
    let papers: Vec<Paper> = Paper::ALL.into_iter().filter(wanted).collect();
    let options =
        Options { is_quick: arguments.quick, threads: arguments.threads, out: arguments.out.clone() };
    session::listen();
    let mut bar = PapersProgress::new(arguments.quiet);
    let mut watch = |progress: &Progress| {
        bar.show(progress);
        if session::is_asked() { Wish::Stop } else { Wish::Continue }
    };
    let made = reproduce(&papers, &options, &mut watch);
    bar.end();
    let outcome = made?;
    if arguments.json {
        let path = options.out.join("summary.json");
        let text = std::fs::read_to_string(&path).map_err(Failure::Output)?;
        print(&text)?;
    } else if !arguments.quiet {
        print(&summary(&outcome, &options))?;
    }
    if outcome.is_stopped {
        note("note", "interrupted; what was finished is kept, and the same command makes the rest");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Ok)
}

fn summary(outcome: &Outcome, options: &Options) -> String {
    let mut text = String::new();
    for (paper, exhibits) in &outcome.papers {
        let count = |word: &str| exhibits.iter().filter(|e| e.verdict().word() == word).count();
        text += &format!(
            "{}\n  exhibits {}: {} agree, {} differ, {} not described in the text\n",
            paper.title(),
            exhibits.len(),
            count("agrees"),
            count("differs"),
            count("not described")
        );
        let differs = |e: &&Exhibit| matches!(e.verdict(), Verdict::Differs(_));
        for exhibit in exhibits.iter().filter(differs) {
            let compared = exhibit.comparisons.len();
            let different = exhibit.comparisons.iter().filter(|c| c.verdict != Verdict::Agrees).count();
            text +=
                &format!("  differs  {}: {different} of {compared} numbers and statements\n", exhibit.number);
        }
        let reduced: Vec<&str> =
            exhibits.iter().filter(|e| !e.reduced.is_empty()).map(|e| e.number.as_str()).collect();
        if !reduced.is_empty() {
            text += &format!("  reduced  {}\n", reduced.join(", "));
        }
    }
    let time = duration(Duration::from_secs_f64(outcome.seconds));
    text + &format!("wrote {}: index.html, summary.json, summary.md, in {time}\n", quoted(&options.out))
}
