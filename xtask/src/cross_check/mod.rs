//! `cargo xtask proof cross-check PATH`: FMUs of other people's tools.
//!
//! PATH is a checkout or a bare git directory of `modelica/fmi-cross-check`. Every linux64 FMU of FMI 2.0 becomes a system
//! of its own with its inputs, and every command that touches FMUs is tried on it: `run` (in process and isolated), `check`,
//! `probe`, `run --coupling auto` and `fmu check`. Results are compared with the reference and with those of FMPy, which
//! runs the same FMU with the same inputs and steps. The table goes to `bench/cross-check.md`.
//!
//! `cargo xtask proof cross-check PATH win64` does the same with FMUs for Windows, which run under Wine (`windows.rs`).
//!
//! `KOPPEL_BINARY` names another binary than that of the release profile.

mod case;
mod collection;
mod page;
mod table;
mod trial;
mod windows;

use crate::command::{Result, cargo, must, root};
use case::Case;
use collection::{Collection, Entry};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use table::{Table, Worst};
use trial::{Trial, run as try_out};

/// Longest time of one command.
const LIMIT: Duration = Duration::from_secs(120);
/// FMUs that are tried at the same time.
const AT_ONCE: usize = 2;

/// What was seen of one FMU.
pub(crate) struct Seen {
    case: Case,
    plain: Trial,
    isolated: Trial,
    /// Isolated beside in process; nothing if both have the same bytes.
    apart: Option<Worst>,
    check: Trial,
    probe: Trial,
    auto: Trial,
    fmu_check: Trial,
    fmpy: Trial,
    to_reference: Option<Worst>,
    to_fmpy: Option<Worst>,
    fmpy_to_reference: Option<Worst>,
}

/// Tries all FMUs below `path` and writes the page; fails if koppel crashes, or fails where FMPy does not.
pub(crate) fn run(path: &str, platform: &str) -> Result<()> {
    let collection = Collection::open(Path::new(path))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = target.join("proof/cross-check");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    let tools = Tools { koppel: binary(&target)?, python: python()?, folder };
    let begin = Instant::now();
    if platform == windows::PLATFORM {
        let (seen, absent) = tools.try_all(&collection, platform, |case| tools.try_under_wine(case))?;
        return windows::write(&seen, &absent, collection.commit().as_deref());
    }
    let (seen, absent) = tools.try_all(&collection, platform, |case| tools.try_case(case))?;
    let bad = page::write(&seen, &absent, collection.commit().as_deref(), begin.elapsed())?;
    if bad == 0 { Ok(()) } else { Err(format!("cross-check: {bad} findings, see {}", page::FILE)) }
}

fn binary(target: &Path) -> Result<PathBuf> {
    if let Some(binary) = std::env::var_os("KOPPEL_BINARY") {
        return Ok(binary.into());
    }
    must(&mut cargo(&["build", "--release", "--package", "koppel-cli"]))?;
    Ok(target.join("release/koppel"))
}

/// The Python that has FMPy: that of the tests, made if it is not there.
fn python() -> Result<PathBuf> {
    let python = root().join("target/test-fmus/venv/bin/python");
    if !python.is_file() {
        crate::test::foreign_fmus()?;
    }
    Ok(python)
}

struct Tools {
    koppel: PathBuf,
    python: PathBuf,
    folder: PathBuf,
}

impl Tools {
    /// All FMUs in order, and those that the collection lacks.
    fn try_all<T: Send>(
        &self,
        collection: &Collection,
        platform: &str,
        try_case: impl Fn(Case) -> Result<T> + Sync,
    ) -> Result<(Vec<T>, Vec<Entry>)> {
        let wanted = std::env::var("KOPPEL_CROSS_CHECK").unwrap_or_default();
        let entries = collection.entries(platform)?;
        let entries: Vec<Entry> =
            entries.into_iter().filter(|entry| entry.slug().contains(&wanted)).collect();
        let next = Mutex::new(entries.iter().enumerate());
        let results = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some((k, entry)) = next.lock().ok().and_then(|mut next| next.next()) {
                        let seen = self.case_of(collection, entry);
                        let seen = seen.and_then(|case| case.map(&try_case).transpose());
                        eprintln!("cross-check: {} of {}: {}", k + 1, entries.len(), entry.slug());
                        if let Ok(mut list) = results.lock() {
                            list.push((k, seen));
                        }
                    }
                });
            }
        });
        let mut results = results.into_inner().map_err(|error| error.to_string())?;
        results.sort_by_key(|(k, _)| *k);
        let (mut all, mut absent) = (Vec::new(), Vec::new());
        for (k, seen) in results {
            match seen.map_err(|error| format!("{}: {error}", entries[k].slug()))? {
                Some(seen) => all.push(seen),
                None => absent.push(entries[k].clone()),
            }
        }
        Ok((all, absent))
    }

    /// Nothing if the FMU is absent.
    fn case_of(&self, collection: &Collection, entry: &Entry) -> Result<Option<Case>> {
        let folder = self.folder.join(entry.slug());
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        if !collection.copy(entry, &folder)? {
            return Ok(None);
        }
        let mut describe = self.fmpy("describe");
        describe.arg(folder.join(format!("{}.fmu", entry.name)));
        let description = try_out(describe, &folder, "describe", LIMIT)?;
        Case::new(entry.clone(), folder, &description.output).map(Some)
    }

    fn try_case(&self, case: Case) -> Result<Seen> {
        case.write_system()?;
        let folder = &case.folder;
        let koppel = |name: &str, arguments: &[&str]| {
            let mut command = Command::new(&self.koppel);
            command.args(arguments).env("KOPPEL_CACHE", folder.join("cache"));
            try_out(command, folder, name, LIMIT)
        };
        let plain = koppel("run", &["run", "system.toml", "--out", "run.csv"])?;
        let isolated = koppel("isolated", &["run", "system.toml", "--isolate", "--out", "isolated.csv"])?;
        let auto = koppel("auto", &["run", "system.toml", "--coupling", "auto", "--out", "auto.csv"])?;
        let check = koppel("check", &["check", "system.toml"])?;
        let probe = koppel("probe", &["probe", "system.toml"])?;
        let step = format!("{:?}", case.step);
        let fmu = case.fmu().to_string_lossy().into_owned();
        let fmu_check = koppel("fmu-check", &["fmu", "check", &fmu, "--step", &step, "--json"])?;
        let fmpy = self.run_fmpy(&case)?;
        let is_held = |name: &str| !case.variables.get(name).is_some_and(case::Variable::is_continuous);
        let apart = |ours: Option<&Table>, reference: Option<&Table>| ours?.worst(reference?, is_held);
        let result = |trial: &Trial, name: &str| case.result(&folder.join(name)).filter(|_| trial.is_ok());
        let (ours, isolated_table) = (result(&plain, "run.csv"), result(&isolated, "isolated.csv"));
        let theirs = result(&fmpy, "fmpy.csv");
        let bytes = |name: &str| std::fs::read(folder.join(name)).ok();
        let is_same = bytes("run.csv") == bytes("isolated.csv");
        Ok(Seen {
            to_reference: apart(ours.as_ref(), case.reference.as_ref()),
            to_fmpy: apart(ours.as_ref(), theirs.as_ref()),
            fmpy_to_reference: apart(theirs.as_ref(), case.reference.as_ref()),
            apart: apart(isolated_table.as_ref(), ours.as_ref()).filter(|_| !is_same),
            case,
            plain,
            isolated,
            check,
            probe,
            auto,
            fmu_check,
            fmpy,
        })
    }

    fn run_fmpy(&self, case: &Case) -> Result<Trial> {
        let mut command = self.fmpy("run");
        command.arg(case.fmu()).arg(&case.entry.kind);
        command.args([case.start, case.stop, case.step, case.tolerance].map(|number| format!("{number:?}")));
        command.arg(case.input_file().unwrap_or_else(|| "-".into())).arg(case.start_values("{", ": ", "}"));
        command.arg("fmpy.csv").args(&case.outputs);
        try_out(command, &case.folder, "fmpy", LIMIT)
    }

    fn fmpy(&self, task: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(root().join("xtask/src/cross_check/fmpy_run.py")).arg(task);
        command
    }
}
