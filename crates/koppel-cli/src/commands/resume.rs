//! `koppel resume`.

use std::path::{Path, PathBuf};

use koppel_io::Error as Io;
use koppel_io::system_file::{self, files_read};
use koppel_session::replay::Journals;
use koppel_session::{RunOptions, Session};

use crate::arguments::ResumeArguments;
use crate::execution::{
    self, Cache, Checkpoint, Execution, Log, Origin, Plan, anchored, nearby, warn_of_changes,
};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::significant;

/// Continues a run from its checkpoint.
pub(super) fn resume(arguments: &ResumeArguments) -> Result<Exit> {
    let path = &arguments.checkpoint_file;
    let checkpoint = Checkpoint::read(path)?;
    let is_mended = warn_of_changes(&checkpoint.sources);
    if let Some((subsystem, time)) = checkpoint.ended.as_ref().filter(|_| !is_mended) {
        return Err(Failure::words(
            format!(
                "nothing to continue: `{subsystem}` asked to end this run at t = {} s",
                significant(*time, 12)
            ),
            "its results are complete; to change an FMU, a parameter or an input, start the run again",
        ));
    }
    let place = format!("settings in {}", path.display());
    let mut session =
        Session::new(system_file::parse_from(&place, &checkpoint.settings, &nearby(&checkpoint.system))?)?;
    if let Some(stop) = &arguments.stop {
        session.set("run.stop", stop, "--stop")?;
    }
    let whole = anchored(path);
    let next = arguments.session.checkpoint.as_deref().map_or_else(|| whole.clone(), anchored);
    session.fmus.journals = Some(Journals::beside(&next).continuing(&whole));
    let log = Log::new(arguments.session.log);
    session.fmus.log = Some(log.sink());
    let options = &arguments.session;
    Cache::new(&options.cache).serve(&mut session);
    let start = RunOptions {
        is_certified: !options.no_certificate,
        accepts_unstable: options.accept_unstable,
        confirm: options.confirm(),
        from: Some(&checkpoint.state),
        ..RunOptions::default()
    };
    let prepared = session.start(start, &options.remark_printer()).inspect_err(|_| log.end())?;
    let run = &prepared.run;
    // A run that was killed between its last step and the end of its result file is still to be finished.
    let is_unfinished = checkpoint.out.as_deref().is_some_and(|out| part(out).exists());
    if run.is_done() && !is_unfinished {
        return Err(Failure::words(
            format!("nothing to continue: `{}` lies at or after the stop time", path.display()),
            "choose a later one with --stop",
        ));
    }
    let plan = Plan {
        system: checkpoint.system,
        out: arguments.out.clone().or(checkpoint.out.clone()),
        report: arguments.session.report.clone(),
        models: arguments.session.save_models.clone(),
        checkpoint: next,
        origin: Origin::Checkpoint {
            path: whole,
            time: run.time(),
            rows: checkpoint.out.is_some().then_some(checkpoint.rows),
            created: checkpoint.created,
            sources: checkpoint.sources,
        },
    }
    .anchored();
    execution::check(&plan, &files_read(&session.spec), options).inspect_err(|_| log.end())?;
    if let (Some(old), Some(new)) = (&checkpoint.out, &plan.out) {
        copy_rows(old, new).inspect_err(|_| log.end())?;
    }
    Execution::new(session, prepared, plan, options, log)?.run()
}

/// Copies what the interrupted run has written, finished or not, to continue the copy.
fn copy_rows(old: &Path, new: &Path) -> Result<()> {
    if old == new {
        return Ok(());
    }
    let (from, to) =
        if part(old).exists() { (part(old), part(new)) } else { (old.to_path_buf(), new.to_path_buf()) };
    if old.extension() != new.extension() {
        return Err(Failure::words(
            format!("`{}` cannot continue `{}`", new.display(), old.display()),
            "choose an output file of the same kind",
        ));
    }
    std::fs::copy(&from, &to).map(|_| ()).map_err(|error| Failure::Input(Io::io("copy", &from)(error)))
}

/// Where rows go until a result file is finished.
fn part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}
