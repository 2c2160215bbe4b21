//! Exported FMUs: as files, imported again by koppel, and run by FMPy.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod files;
mod fmpy;
mod models;
mod reimport;

use koppel::solver::SolverConfig;
use koppel_fmu::export::{Export, Feature, FmiVersion, Options, library};
use koppel_io::system_file::Setting;
use koppel_session::Session;
use std::path::{Path, PathBuf};

const VERSIONS: [FmiVersion; 2] = [FmiVersion::Fmi2, FmiVersion::Fmi3];

fn number(version: FmiVersion) -> u32 {
    if version == FmiVersion::Fmi2 { 2 } else { 3 }
}

fn options(version: FmiVersion, is_plain: bool) -> Options {
    let without = if is_plain { Feature::OPTIONAL.to_vec() } else { vec![] };
    Options { version, without, library: library::find(None).unwrap_or_else(|error| panic!("{error}")) }
}

/// Writes a model and returns the file.
fn model(
    folder: &Path,
    name: &str,
    parameters: &[(&str, f64)],
    solver: Option<SolverConfig>,
    options: &Options,
) -> PathBuf {
    let parameters = parameters.iter().map(|(name, value)| ((*name).into(), *value)).collect();
    let export = Export::model(name, &parameters, solver).unwrap_or_else(|error| panic!("{name}: {error}"));
    let plain = if !options.without.is_empty() { "-plain" } else { "" };
    let path = folder.join(format!("{name}-{}{plain}.fmu", number(options.version)));
    export.write(options, &path).unwrap_or_else(|error| panic!("{name}: {error}"));
    path
}

/// Writes a system and returns the file.
fn system(folder: &Path, name: &str, file: &Session, options: &Options) -> PathBuf {
    let export = Export::system(file, name, false).unwrap_or_else(|error| panic!("{name}: {error}"));
    let plain = if !options.without.is_empty() { "-plain" } else { "" };
    let path = folder.join(format!("system-{name}-{}{plain}.fmu", number(options.version)));
    export.write(options, &path).unwrap_or_else(|error| panic!("{name}: {error}"));
    path
}

fn example(name: &str, settings: &[(&str, &str)]) -> Session {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}.toml"));
    let setting = |(name, value): &(&str, &str)| Setting {
        name: (*name).into(),
        value: (*value).into(),
        origin: "test".into(),
    };
    let settings: Vec<Setting> = settings.iter().map(setting).collect();
    Session::load(&path, &settings).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every row of a run, one value per recorded column, with the names of the columns.
fn run(file: &Session) -> (Vec<String>, Vec<f64>, Vec<Vec<f64>>) {
    struct Rows(Vec<f64>, Vec<Vec<f64>>);
    impl koppel::record::Recorder for Rows {
        fn row(&mut self, time: f64, values: &[f64]) -> koppel::Result<()> {
            self.0.push(time);
            self.1.push(values.to_vec());
            Ok(())
        }
    }
    let mut run = file.build_run().unwrap();
    let names = run.columns().iter().map(|column| column.name.clone()).collect();
    let mut rows = Rows(Vec::new(), Vec::new());
    run.run(&mut rows, &mut |_| Ok(koppel::run::Flow::Continue)).unwrap();
    (names, rows.0, rows.1)
}
