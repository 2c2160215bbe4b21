//! What is in the file, and what is refused.

use super::{VERSIONS, example, model, options, system};
use koppel_fmu::export::{self, Export, FmiVersion, Options, library};
use koppel_session::Session;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

fn names(path: &Path) -> Vec<String> {
    let archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    archive.file_names().map(|name| name.unwrap().into_owned()).collect()
}

fn content(path: &Path, name: &str) -> String {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut text = String::new();
    archive.by_name(name).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_same_export_has_the_same_bytes() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for version in VERSIONS {
        let write = |folder: &Path| {
            let mass = model(folder, "mass", &[("m", 2.0)], None, &options(version, false));
            let file = example("quarter-truck", &[]);
            let truck = system(folder, "truck", &file, &options(version, false));
            (std::fs::read(mass).unwrap(), std::fs::read(truck).unwrap())
        };
        let (first, second) = (write(folders[0].path()), write(folders[1].path()));
        assert!(first == second, "{version:?}");
    }
    let folder = folders[0].path();
    let token = |m: f64| {
        let path = model(folder, "mass", &[("m", m)], None, &options(FmiVersion::Fmi2, false));
        let text = content(&path, "modelDescription.xml");
        text.split("guid=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    assert_ne!(token(2.0), token(3.0), "another content has another token");
}

#[test]
fn a_file_has_all_its_parts() {
    let folder = tempfile::tempdir().unwrap();
    let two = model(folder.path(), "spring-mass", &[], None, &options(FmiVersion::Fmi2, false));
    for part in [
        "modelDescription.xml",
        "binaries/linux64/spring_mass.so",
        "documentation/index.html",
        "documentation/licenses/license.txt",
        "resources/koppel.toml",
    ] {
        assert!(names(&two).iter().any(|name| name == part), "{part} in {:?}", names(&two));
    }
    let three = model(folder.path(), "spring-mass", &[], None, &options(FmiVersion::Fmi3, false));
    assert!(names(&three).contains(&"binaries/x86_64-linux/spring_mass.so".to_owned()));
    let plain = model(folder.path(), "spring-mass", &[], None, &options(FmiVersion::Fmi3, true));
    for word in ["canGetAndSetFMUState", "DirectionalDerivatives", "intermediateUpdate", "IntermediateUpdate"]
    {
        assert!(content(&three, "modelDescription.xml").contains(word), "{word}");
        assert!(!content(&plain, "modelDescription.xml").contains(word), "{word}");
    }
}

#[test]
fn bad_wishes_get_one_clear_message() {
    let folder = tempfile::tempdir().unwrap();
    let none = BTreeMap::new();
    let refused = |result: koppel_fmu::Result<Export>| result.err().unwrap().to_string();
    assert!(refused(Export::model("mas", &none, None)).contains("did you mean `mass`?"));
    let unknown = BTreeMap::from([("mass".to_owned(), 1.0)]);
    assert!(refused(Export::model("mass", &unknown, None)).contains("unknown parameter `mass`"));
    let exact = Some(koppel::solver::SolverConfig::Exact {});
    assert!(refused(Export::model("van-der-pol", &none, exact)).contains("not linear"));

    let silent = r#"
[run]
stop = 1.0
step = 0.1
record = ["a.m"]
[subsystems.a]
model = "mass"
"#;
    let file = Session::parse(silent, Path::new("silent.toml")).unwrap();
    assert!(refused(Export::system(&file, "silent", false)).contains("none of them is recorded"));

    let export = Export::model("mass", &none, None).unwrap();
    let write = |options: &Options, name: &str| export.write(options, &folder.path().join(name)).unwrap_err();
    let good = options(FmiVersion::Fmi2, false);
    let error = write(&good, "mass.zip");
    assert!(error.to_string().contains("must end in `.fmu`") && error.hint().unwrap().contains("mass.fmu"));
    assert!(write(&good, "nowhere/mass.fmu").to_string().contains("cannot write"));
    std::fs::create_dir(folder.path().join("taken.fmu")).unwrap();
    assert!(write(&good, "taken.fmu").to_string().contains("it is a folder"));
    let error = library::find(Some(Path::new("no-such-library.so"))).unwrap_err();
    assert!(error.to_string().contains("no-such-library.so") && error.hint().unwrap().contains("--library"));
    assert!(export::version("4").unwrap_err().to_string().contains("no FMI 4"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing half done is left");
}
