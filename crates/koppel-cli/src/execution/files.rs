//! The files of a run, checked before it begins: no two are one, and all can be written.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use koppel_io::{Error as Io, results, system_file};

use super::{Origin, Plan};
use crate::arguments::SessionArguments;
use crate::failure::{Failure, Result};
use crate::output::is_standard_output;

/// A file, what it is for, and the option that names it.
struct Use {
    what: &'static str,
    path: PathBuf,
    option: Option<&'static str>,
}

/// Fails if a file would overwrite another one, or cannot be written. Leaves nothing behind.
pub(crate) fn check(plan: &Plan, inputs: &[PathBuf], options: &SessionArguments) -> Result<()> {
    if let Some(out) = &plan.out {
        results::check_name(out)?;
    }
    check_distinct(&read(plan, inputs), &written(plan))?;
    for path in plan.out.iter().chain(&plan.report).chain(&plan.models) {
        check_writable(path)?;
    }
    if options.checkpoint.is_some() || options.checkpoint_every.is_some() {
        if plan.checkpoint.exists() && !plan.checkpoint.is_file() && !plan.checkpoint.is_dir() {
            let message = format!("cannot write `{}`: it is not a file", plan.checkpoint.display());
            return Err(Failure::words(message, "a checkpoint needs a file of its own"));
        }
        check_writable(&plan.checkpoint)?;
    }
    Ok(())
}

/// The same for the drawings of `koppel check`.
pub(crate) fn check_drawings(
    system: &Path,
    inputs: &[PathBuf],
    graph: &Option<PathBuf>,
    plot: &Option<PathBuf>,
    map: &Option<PathBuf>,
) -> Result<()> {
    let one = |what, option, path: &PathBuf| Use { what, path: path.clone(), option: Some(option) };
    let graph = graph.iter().map(|path| one("the graph", "--graph", path));
    let plot = plot.iter().map(|path| one("the plot", "--plot", path));
    let map = map.iter().map(|path| one("the map", "--map", path));
    let written: Vec<Use> = graph.chain(plot).chain(map).collect();
    check_distinct(&read_by(system, inputs), &written)?;
    written.iter().try_for_each(|file| check_writable(&file.path))
}

/// The system file and what it reads.
fn read_by(system: &Path, inputs: &[PathBuf]) -> Vec<Use> {
    let one = |what, path: &Path| Use { what, path: path.to_path_buf(), option: None };
    let mut all = vec![one("the system file", system)];
    let mut inputs = inputs.to_vec();
    if system_file::is_structure(system) {
        inputs.push(system.with_extension("koppel.toml"));
        let resources = system.with_file_name("resources");
        inputs.extend(std::fs::read_dir(resources).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
    all.extend(inputs.iter().map(|path| one("a file that the system reads", path)));
    all
}

fn read(plan: &Plan, inputs: &[PathBuf]) -> Vec<Use> {
    let mut all = read_by(&plan.system, inputs);
    if let Origin::Checkpoint { path, .. } = &plan.origin
        && !same(path, &plan.checkpoint)
    {
        all.push(Use { what: "the checkpoint to continue from", path: path.clone(), option: None });
    }
    all
}

fn written(plan: &Plan) -> Vec<Use> {
    let out = plan.out.iter().flat_map(|out| results::files_of(out));
    let mut all: Vec<Use> = out.map(|(what, path)| Use { what, path, option: Some("--out") }).collect();
    let report = plan.report.iter();
    all.extend(report.map(|path| Use { what: "the report", path: path.clone(), option: Some("--report") }));
    let models = plan.models.iter();
    all.extend(models.map(|path| Use {
        what: "the models",
        path: path.clone(),
        option: Some("--save-models"),
    }));
    let checkpoint = plan.checkpoint.clone();
    all.push(Use { what: "the checkpoint", path: checkpoint, option: Some("--checkpoint") });
    all
}

fn check_distinct(read: &[Use], written: &[Use]) -> Result<()> {
    for (index, new) in written.iter().enumerate() {
        let others = read.iter().chain(&written[..index]);
        if let Some(old) = others.into_iter().find(|old| same(&old.path, &new.path)) {
            let message =
                format!("{} and {} are the same file: `{}`", old.what, new.what, new.path.display());
            let option = new.option.or(old.option).unwrap_or_default();
            return Err(Failure::words(message, format!("choose another name with {option}")));
        }
    }
    Ok(())
}

fn same(one: &Path, other: &Path) -> bool {
    whole(one) == whole(other)
}

/// The path without links and dots; of a file that is not there yet, that of its folder.
fn whole(path: &Path) -> PathBuf {
    let there = fs::canonicalize(path).ok();
    there.or_else(|| Some(fs::canonicalize(folder(path)).ok()?.join(path.file_name()?))).unwrap_or_else(
        || {
            // A folder that does not exist is found out later.
            std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
        },
    )
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that exists must be open to writing, its folder to new files: all files are written beside, then renamed.
fn check_writable(path: &Path) -> Result<()> {
    if is_standard_output(path) {
        return Ok(());
    }
    let refused = |error| Failure::Input(Io::io("write", path)(error));
    if path.is_dir() {
        return Err(refused(std::io::ErrorKind::IsADirectory.into()));
    }
    if path.exists() {
        OpenOptions::new().append(true).open(path).map_err(refused)?;
    }
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    let mut probe = path.as_os_str().to_owned();
    probe.push(".tmp");
    let probe = PathBuf::from(probe);
    let is_new = !probe.exists();
    OpenOptions::new().append(true).create(true).open(&probe).map_err(refused)?;
    if is_new {
        fs::remove_file(&probe).map_err(refused)?;
    }
    Ok(())
}

impl Plan {
    /// With whole paths.
    pub(crate) fn anchored(self) -> Self {
        let whole = |path: PathBuf| anchored(&path);
        Plan {
            system: whole(self.system),
            out: self.out.map(whole),
            report: self.report.map(whole),
            models: self.models.map(whole),
            checkpoint: whole(self.checkpoint),
            origin: self.origin,
        }
    }
}

/// The current folder when this was asked for the first time.
fn here() -> &'static Path {
    static HERE: OnceLock<PathBuf> = OnceLock::new();
    HERE.get_or_init(|| std::env::current_dir().unwrap_or_default())
}

/// The whole path, as an FMU may change the current folder while it runs.
pub(crate) fn anchored(path: &Path) -> PathBuf {
    here().join(path)
}

/// The text with names of files, which stand in back quotes, as seen from the folder koppel was started in.
pub(crate) fn nearby_names(text: &str) -> String {
    text.replace(&format!("`{}", here().join("").display()), "`")
}

/// The path as seen from the folder koppel was started in, if it lies below.
pub(crate) fn nearby(path: &Path) -> PathBuf {
    match path.strip_prefix(here()) {
        Ok(below) if !below.as_os_str().is_empty() => below.to_path_buf(),
        _ => path.to_path_buf(),
    }
}
