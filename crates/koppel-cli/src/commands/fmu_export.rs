//! `koppel fmu export`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use koppel::solver::SolverConfig;
use koppel_fmu::Error;
use koppel_fmu::export::{self, Export, Feature, Options, library};
use koppel_io::system_file::{self, Setting};
use koppel_session::Session;

use super::auto::{self, Detail};
use crate::arguments::ExportArguments;
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{counted, print, refuse_existing, refuse_standard_output};

impl From<Box<Error>> for Failure {
    fn from(error: Box<Error>) -> Self {
        match *error {
            Error::File(error) => Failure::Input(error),
            error => Failure::of(&error),
        }
    }
}

/// Writes a model or a system as FMU.
pub(super) fn export(arguments: &ExportArguments) -> Result<Exit> {
    let path = Path::new(&arguments.subject);
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let is_file = is_toml || system_file::is_structure(path) || path.exists();
    let stem = || path.file_stem().unwrap_or(path.as_os_str()).to_owned();
    let default = || {
        let name = arguments.subsystem.as_ref().map_or_else(stem, Into::into);
        PathBuf::from(name).with_extension("fmu")
    };
    let out = arguments.out.clone().unwrap_or_else(default);
    refuse_standard_output(&out, "an FMU")?;
    let export = match &arguments.subsystem {
        Some(name) if is_file => subsystem(path, name, &out, arguments)?,
        Some(_) => {
            let hint = "name a system file: koppel fmu export FILE.toml --subsystem NAME";
            return Err(Failure::words("--subsystem is for a system", hint));
        }
        None if is_file => system(path, &out, arguments)?,
        None => model(&out, arguments)?,
    };
    let options = Options {
        version: export::version(&arguments.fmi)?,
        without: without(arguments),
        library: library::find(arguments.library.as_deref())?,
    };
    let kinds = export.kinds(&options)?;
    export.write(&options, &out)?;
    for text in export.notes() {
        note("note", text);
    }
    let [inputs, outputs, parameters] = export.counts();
    let kinds = match kinds {
        [true, true] => "co-simulation and model exchange",
        [true, false] => "co-simulation",
        [false, _] => "model exchange",
    };
    print(&format!(
        "{}: FMI {}.0, {kinds}; {}, {}, {}\n",
        out.display(),
        arguments.fmi,
        counted(inputs as u64, "input"),
        counted(outputs as u64, "output"),
        counted(parameters as u64, "parameter")
    ))?;
    Ok(Exit::Ok)
}

/// What is left out.
fn without(arguments: &ExportArguments) -> Vec<Feature> {
    let mut without: Vec<Feature> = arguments.without.iter().map(|omitted| (*omitted).into()).collect();
    if arguments.plain {
        without.extend(Feature::OPTIONAL);
    }
    without
}

fn settings(arguments: &ExportArguments) -> Vec<Setting> {
    let setting = |(name, value): &(String, String)| Setting {
        name: name.clone(),
        value: value.clone(),
        origin: "--set".into(),
    };
    arguments.set.iter().map(setting).collect()
}

fn subsystem(path: &Path, name: &str, out: &Path, arguments: &ExportArguments) -> Result<Export> {
    refuse_existing(out, arguments.force)?;
    let spec = if system_file::is_structure(path) {
        Session::load(path, &settings(arguments))?.spec
    } else {
        system_file::load_with(path, &settings(arguments))?
    };
    let solver = arguments.solver.as_deref().map(solver).transpose()?;
    Ok(Export::subsystem(&spec, name, solver)?)
}

fn system(path: &Path, out: &Path, arguments: &ExportArguments) -> Result<Export> {
    if arguments.solver.is_some() {
        return Err(Failure::words(
            "--solver is for models; each subsystem of a system has its own",
            "use --set SUBSYSTEM.solver=...",
        ));
    }
    let mut session = Session::load(path, &settings(arguments))?;
    check_not_read(&session, out)?;
    refuse_existing(out, arguments.force)?;
    if session.spec.is_open() {
        // What runs inside the FMU cannot be chosen again in every tool.
        auto::choose(&mut session, Detail::Warnings)?;
        note("note", format!("the FMU uses the settings that `auto` chose: {}", session.pin().join(", ")));
    }
    let name = path.file_stem().map_or("system".into(), |stem| stem.to_string_lossy());
    Ok(Export::system(&session, &name, arguments.accept_unstable)?)
}

fn model(out: &Path, arguments: &ExportArguments) -> Result<Export> {
    refuse_existing(out, arguments.force)?;
    let mut parameters = BTreeMap::new();
    for (name, value) in &arguments.set {
        let number = value.parse::<f64>().map_err(|_| {
            Failure::words(format!("--set {name}={value}: `{value}` is not a number"), "write --set m=2.5")
        })?;
        parameters.insert(name.clone(), number);
    }
    let solver = arguments.solver.as_deref().map(solver).transpose()?;
    Ok(Export::model(&arguments.subject, &parameters, solver)?)
}

/// A name, or an inline table.
fn solver(text: &str) -> Result<SolverConfig> {
    #[derive(serde::Deserialize)]
    struct Whole {
        solver: SolverConfig,
    }
    let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let table = if is_name { format!("{{ method = \"{text}\" }}") } else { text.to_owned() };
    let whole: std::result::Result<Whole, _> = toml::from_str(&format!("solver = {table}"));
    whole.map(|whole| whole.solver).map_err(|error| {
        Failure::words(
            format!("--solver {text}: {}", error.message()),
            "exact, adaptive, stiff, or { method = \"rk4\", step = 1e-4 }",
        )
    })
}

/// An FMU that is part of the system must not be replaced by it.
fn check_not_read(session: &Session, out: &Path) -> Result<()> {
    let Ok(out_path) = out.canonicalize() else { return Ok(()) };
    let is_same = |(_, used): &(String, PathBuf)| used.canonicalize().is_ok_and(|used| used == out_path);
    match session.spec.fmus().into_iter().find(is_same) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::words(
            format!("`{}` is part of the system, as subsystem `{name}`", out.display()),
            "name another file with --out",
        )),
    }
}
