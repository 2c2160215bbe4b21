//! `koppel study`.

use koppel::diagnostic::Remark;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use koppel_study::design::Design;
use koppel_study::{
    Control, Error as StudyError, Header, Options, Prepared, Progress, Row, Scheduler, Shard, Study, Written,
    analyse, job_file, load, merge, run_after, write_results,
};
use serde_json::json;

use crate::arguments::{StudyArguments, StudyCommand};
use crate::execution::{self, StudyProgress};
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{Grid, duration, print, print_json, quoted, significant};
use crate::supervision;

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::File(error) => Failure::Input(error),
            other => Failure::of(&other),
        }
    }
}

/// Runs, joins, looks at studies.
pub(super) fn study(arguments: &StudyArguments) -> Result<Exit> {
    match &arguments.command {
        None => start(arguments),
        Some(StudyCommand::Merge { parts, out }) => join(parts, out),
        Some(StudyCommand::Analyse { folder }) => {
            let (header, rows, written) = analyse(folder)?;
            print(&summary(&header, &rows, folder, &written))?;
            Ok(Exit::Ok)
        }
        Some(StudyCommand::Jobs { file, shards, scheduler, cpus, out }) => {
            // A mistake is found here, not in a queue.
            let study = load(file)?;
            design(&study)?;
            let out = out.clone().unwrap_or_else(|| folder_of(file, Shard::WHOLE));
            let scheduler = if scheduler == "slurm" { Scheduler::Slurm } else { Scheduler::HyperQueue };
            print(&job_file(file, &out, *shards, (*cpus).max(1), scheduler))?;
            Ok(Exit::Ok)
        }
    }
}

fn design(study: &Study) -> Result<Design> {
    Ok(Design::new(&study.factors, &study.plan).ok_or(StudyError::Countless)?)
}

fn folder_of(file: &Path, shard: Shard) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match shard {
        Shard::WHOLE => PathBuf::from(stem),
        Shard { part, parts } => PathBuf::from(format!("{stem}-shard-{part}-of-{parts}")),
    }
}

fn start(arguments: &StudyArguments) -> Result<Exit> {
    let Some(file) = &arguments.file else {
        return Err(Failure::words("no study file was given", "koppel study FILE.toml"));
    };
    let study = Arc::new(load(file)?);
    let design = design(&study)?;
    let shard = arguments.shard.unwrap_or(Shard::WHOLE);
    let prepared = Prepared::new(study.clone(), design.clone())?;
    prepared.warnings.iter().for_each(|text| note("warning", text));
    if arguments.dry_run {
        print(&plan(&study, &design, shard))?;
        return Ok(Exit::Ok);
    }
    let folder = arguments.out.clone().unwrap_or_else(|| folder_of(file, shard));
    execution::listen();
    let options = Options { threads: arguments.threads, shard, is_large_accepted: arguments.accept_large };
    let mut bar = StudyProgress::new(arguments.quiet);
    let mut watch = |progress: &Progress| {
        bar.show(progress);
        if execution::is_asked() { Control::Stop } else { Control::Continue }
    };
    let casualties = supervision::casualties();
    let made = run_after(&prepared, &folder, options, &casualties, &supervision::observe, &mut watch);
    bar.end();
    prepared.later_warnings().iter().for_each(|text| note("warning", text));
    let (header, rows, progress) = made.map_err(|error| match error {
        // Rows are being written: the disk is at fault, not the study.
        StudyError::File(error) if matches!(*error, koppel_io::Error::Io { .. }) => Failure::Write(error),
        other => other.into(),
    })?;
    if progress.before + progress.finished < progress.runs {
        let left = progress.runs - progress.before - progress.finished;
        note("note", format!("{left} runs remain; the same command continues"));
        return Ok(Exit::Interrupted);
    }
    let written = write_results(&folder, &header, &rows).map_err(|error| match error {
        StudyError::File(error) => Failure::Write(error),
        other => other.into(),
    })?;
    if arguments.json {
        print_json(&document(&header, &progress, &folder, &written))?;
    } else if !arguments.quiet {
        let time = duration(std::time::Duration::from_secs_f64(progress.seconds));
        let before = match progress.before {
            0 => String::new(),
            before => format!(", {before} existed before"),
        };
        print(&format!(
            "{}  made     {} runs in {time}{before}\n",
            summary(&header, &rows, &folder, &written),
            progress.finished
        ))?;
    }
    Ok(Exit::Ok)
}

fn join(parts: &[PathBuf], out: &Path) -> Result<Exit> {
    let merged = merge(parts, out)?;
    let written = write_results(out, &merged.header, &merged.rows)?;
    print(&summary(&merged.header, &merged.rows, out, &written))?;
    if merged.duplicates > 0 {
        note(
            "note",
            format!(
                "{} runs are in several parts, with the same results; each counts once",
                merged.duplicates
            ),
        );
    }
    if merged.damaged > 0 {
        note("warning", format!("{} damaged lines were skipped", merged.damaged));
    }
    if merged.missing == 0 {
        return Ok(Exit::Ok);
    }
    const SHOWN: usize = 10;
    let range = |(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    let shown: Vec<String> = merged.gaps.iter().take(SHOWN).map(range).collect();
    let more = if merged.gaps.len() > SHOWN { ", ..." } else { "" };
    let message =
        format!("{} of {} runs are missing: {}{more}", merged.missing, merged.header.runs, shown.join(", "));
    note("warning", Remark::new(message, format!("`koppel study FILE --out {}` makes them", quoted(out))));
    Ok(Exit::RunFailed)
}

fn plan(study: &Study, design: &Design, shard: Shard) -> String {
    let mut factors = Grid::new(&["factor", "values", "first", "last"]);
    let first = design.cells(0);
    let last = design.cells(design.runs() - 1);
    for ((factor, first), last) in study.factors.iter().zip(&first).zip(&last) {
        let count = factor.source.levels().map_or("drawn".into(), |levels| levels.len().to_string());
        factors.row([factor.name.clone(), count, first.value.label.clone(), last.value.label.clone()]);
    }
    let measures: Vec<&str> = study.measures.iter().map(|measure| measure.name.as_str()).collect();
    let part = match shard {
        Shard::WHOLE => String::new(),
        Shard { part, parts } => format!(", part {part} of {parts}"),
    };
    format!(
        "{}\n  {} runs{part}\n  measures {}\n\n{}",
        study.title,
        design.runs(),
        measures.join(", "),
        factors.whole()
    )
}

fn summary(header: &Header, rows: &[Row], folder: &Path, written: &Written) -> String {
    let failed = rows.iter().filter(|row| row.failure.is_some()).count();
    let mut text =
        format!("{}\n  runs     {} of {}, {failed} failed\n", header.title, rows.len(), header.runs);
    for (name, run, value) in &written.best {
        text += &format!("  best     {name} = {} in run {run}\n", significant(*value, 6));
    }
    if let Some(row) = rows.iter().find(|row| row.failure.is_some()) {
        text += &format!("  failure  run {}: {}\n", row.run, row.failure.as_deref().unwrap_or_default());
    }
    text + &format!("  wrote    {}: runs.csv, runs.parquet, analysis, index.html\n", quoted(folder))
}

fn document(header: &Header, progress: &Progress, folder: &Path, written: &Written) -> serde_json::Value {
    let best =
        written.best.iter().map(|(name, run, value)| json!({ "measure": name, "run": run, "value": value }));
    json!({
        "status": "finished",
        "title": header.title,
        "runs": header.runs,
        "runs_of_this_part": progress.runs,
        "made": progress.finished,
        "made_before": progress.before,
        "failed": progress.failed,
        "seconds": progress.seconds,
        "folder": folder,
        "best": best.collect::<Vec<_>>(),
    })
}
