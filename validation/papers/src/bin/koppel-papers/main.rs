//! `cargo xtask papers`: tables and figures of the papers, reproduced.

mod arguments;
mod progress;

use std::io::{ErrorKind, Write as _, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use koppel_papers::{Control, Error, Exhibit, Options, Outcome, Paper, Progress, Result, Verdict, reproduce};

use arguments::Arguments;
use progress::{Display, duration};

/// Exit codes as those of `koppel`.
const FAILED: u8 = 1;
const BAD_INPUT: u8 = 2;
const INTERRUPTED: u8 = 130;

/// True once the user wants the work to end.
static INTERRUPT: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match papers(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if matches!(error, Error::Occupied { .. }) { BAD_INPUT } else { FAILED })
        }
    }
}

/// Makes the exhibits of the papers that were asked for.
fn papers(arguments: &Arguments) -> Result<ExitCode> {
    let named: Vec<Paper> = arguments.papers.iter().filter_map(|name| Paper::of(name)).collect();
    let wanted = |paper: &Paper| named.is_empty() || named.contains(paper);
    let papers: Vec<Paper> = Paper::ALL.into_iter().filter(wanted).collect();
    let options =
        Options { is_quick: arguments.quick, threads: arguments.threads, out: arguments.out.clone() };
    listen();
    let mut display = Display::new(arguments.quiet);
    let mut watch = |progress: &Progress| {
        display.show(progress);
        if INTERRUPT.load(Ordering::Relaxed) { Control::Stop } else { Control::Continue }
    };
    let made = reproduce(&papers, &options, &mut watch);
    display.end();
    let outcome = made?;
    if arguments.json {
        let path = options.out.join("summary.json");
        print(&std::fs::read_to_string(&path).map_err(koppel_io::Error::io("read", &path))?)?;
    } else if !arguments.quiet {
        print(&summary(&outcome, &options))?;
    }
    if outcome.is_stopped {
        eprintln!("note: interrupted; finished exhibits are kept, and the same command makes the rest");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

/// The first Ctrl-C ends after the runs at hand, the second at once. Where signals cannot be caught, it kills as usual.
fn listen() {
    let _ = ctrlc::set_handler(|| {
        if INTERRUPT.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    });
}

/// Writes to standard output; a closed pipe is no error.
fn print(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::File(koppel_io::Error::io("write", Path::new("standard output"))(error)))
        }
        _ => Ok(()),
    }
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
    let (out, time) = (options.out.display(), duration(outcome.seconds));
    text + &format!("wrote {out}: index.html, summary.json, summary.md, in {time}\n")
}
