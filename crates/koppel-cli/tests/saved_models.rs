//! Models of couplings: saved and loaded, recorded, judged in the summary.

mod common;

use common::{Folder, SYSTEM, examples};

fn learning() -> String {
    let coupling = r#"coupling = { method = "prestep", model = { identify = "rls" }, learning = { duration = 0.05, switch = 0.01 } }"#;
    SYSTEM.replace("coupling = \"zoh\"", coupling)
}

/// Saved by one run, the models start another without a learning phase; the summary and the columns tell.
#[test]
fn models_are_saved_and_start_another_run() {
    let folder = Folder::with(&learning());
    let said = folder.succeed(&["run", "system.toml", "--save-models", "models.toml", "--out", "a.csv"]);
    said.says(&[
        "steps: 50 learning, 10 switch",
        "model of",
        "all steps (full)",
        "wrote models.toml: the models",
    ]);
    let phase = folder.column("a.csv", "coupling.phase");
    assert_eq!((phase[1], phase[55], phase[200]), (0.0, 1.0, 2.0));
    let other = SYSTEM.replace(
        "coupling = \"zoh\"",
        r#"coupling = { method = "prestep", model = { file = "models.toml" } }"#,
    );
    folder.write("other.toml", &other);
    let arguments = ["run", "other.toml", "--out", "b.csv", "--record", "all", "--record", "coupling.*"];
    folder.succeed(&arguments).says(&["steps: ", " full", "learned left and right"]);
    let phase = folder.column("b.csv", "coupling.phase");
    // No learning and no switch; doubts while the first movements are measured against ranges that have hardly begun.
    assert!(phase[1] == 2.0 && phase[1..].iter().all(|phase| *phase >= 2.0), "{phase:?}");
    assert!(phase[101..].iter().all(|phase| *phase == 2.0), "{phase:?}");
    assert!(folder.column("b.csv", "coupling.quality[left]")[101..].iter().all(|figure| *figure < 0.21));
    // The first row has the parameters as they were saved.
    let saved = folder.read("models.toml");
    let first = folder.column("b.csv", "coupling.left.a1[x:x]")[0];
    assert!(saved.contains(&format!("parameters = [[{first}, ")), "{first}\n{saved}");
    // What the file lacks is told by name.
    folder.write("models.toml", saved.split("\n[right]\n").next().unwrap());
    let said = folder.succeed(&["run", "other.toml"]);
    said.errs_with(&["warning: no model of `right` in the file of learned models"]);
    assert!(!said.err.contains("`left`"), "{}", said.err);
    // Without the file there is no run.
    std::fs::remove_file(folder.path("models.toml")).unwrap();
    let said = folder.run(&["run", "other.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["other.toml:8:51", "models.toml"]);
}

/// What was read from a file of models is part of the checkpoint: the run goes on to the same numbers without the file.
#[test]
fn a_checkpoint_needs_no_file_of_models() {
    let folder = Folder::with(&learning());
    folder.succeed(&["run", "system.toml", "--save-models", "models.toml", "-q"]);
    let other = r#"coupling = { method = "prestep", model = { file = "models.toml" } }"#;
    folder.write("other.toml", &SYSTEM.replace("coupling = \"zoh\"", other));
    folder.succeed(&["run", "other.toml", "--stop", "0.25", "--out", "whole.csv", "-q"]);
    let checkpoint = ["--checkpoint", "half.checkpoint", "--checkpoint-every", "150"];
    folder.succeed(&[&["run", "other.toml", "--out", "half.csv", "-q"], &checkpoint[..]].concat());
    std::fs::remove_file(folder.path("models.toml")).unwrap();
    folder.succeed(&["resume", "half.checkpoint", "--stop", "0.25", "--out", "rest.csv", "-q"]);
    assert_eq!(folder.read("rest.csv"), folder.read("whole.csv"));
    assert_eq!(folder.column("rest.csv", "left.x").len(), 251);
}

#[test]
fn nothing_to_save_and_files_that_are_read() {
    let folder = Folder::with(SYSTEM);
    let said = folder.run(&["run", "system.toml", "--save-models", "models.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["the coupling `zoh` has no models"]);
    folder.write("system.toml", &learning());
    folder.succeed(&["run", "system.toml", "--save-models", "models.toml", "-q"]);
    folder.write(
        "system.toml",
        &SYSTEM.replace("\"zoh\"", "{ method = \"prestep\", model = { file = \"models.toml\" } }"),
    );
    let said = folder.run(&["run", "system.toml", "--save-models", "models.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["a file that the system reads and the models are the same file", "--save-models"]);
}

/// The helicopter with exact models and no constants: unstable with step 3, stable without, and the summary tells which is
/// which; with measured constants there is nothing to tell.
#[test]
fn the_summary_says_which_models_are_bad() {
    let path = examples().join("helicopter.toml");
    let run = |coupling: &str| {
        let path = path.to_str().unwrap();
        Folder::new().succeed(&["run", path, "--step", "0.2", "--stop", "60", "--coupling", coupling])
    };
    let full = run("{ method = \"prestep\", constant = \"none\" }");
    full.says(&[
        "`helicopter` is doubtful",
        "surrogate for 8 states",
        "no threshold is set: leave step 3 out",
    ]);
    let modified = run("{ method = \"prestep\", constant = \"none\", modified = true }");
    modified.says(&["`controller` is doubtful", "step 3 is left out (modified = true)"]);
    assert!(!modified.out.contains("no threshold is set"), "{}", modified.out);
    let measured = run("prestep");
    assert!(!measured.out.contains("doubtful"), "{}", measured.out);
    measured.says(&["model of", "all steps (full)"]);
}

/// A model that never predicted a step has no verdict; one of the corrector has, like any other.
#[test]
fn a_model_without_a_figure_is_no_bad_model() {
    let folder = Folder::with(&learning().replace("duration = 0.05", "duration = 100.0"));
    let models = |arguments: &[&str]| {
        let mut all = vec!["run", "system.toml", "--json"];
        all.extend_from_slice(arguments);
        folder.succeed(&all).json()["models"]["models"].clone()
    };
    let unknown = models(&[]);
    assert!(unknown[0]["verdict"].is_null() && unknown[0]["mean"].is_null(), "{unknown:#}");
    assert_eq!(unknown[0]["taken"], 0);
    folder.succeed(&["run", "system.toml"]).says(&["never used", "learned", "not measured", "unknown"]);
    let hasty = "{ method = \"prestep\", model = { identify = \"rls\" } }";
    folder
        .succeed(&["run", "system.toml", "--coupling", hasty])
        .errs_with(&["without initial values", "duration"]);
    let known = models(&["--coupling", "{ method = \"corrector\", model = { derivatives = \"auto\" } }"]);
    for model in known.as_array().unwrap() {
        assert_eq!(model["verdict"], "full", "{known:#}");
        // The first steps, of which ranges are small, may call for a few.
        assert!((1..=5).contains(&model["taken"].as_u64().unwrap()), "{known:#}");
    }
}

/// What a new user may write, and what is said about it.
#[test]
fn mistakes_in_models_are_shown_at_their_place() {
    let folder = Folder::with(&learning());
    for (model, words) in [
        ("\"rls\"", &["unknown value `rls` of `model`", "{ identify = \"rls\" }"][..]),
        ("{ derivatives = \"Auto\" }", &["did you mean `auto`"]),
        ("{ derivative = 5 }", &["did you mean `derivatives`"]),
        ("{ derivatives = \"auto\", above = \"high\" }", &["`above`: found the text \"high\"", "a number"]),
        ("{ identify = \"rls\", forgetting = \"high\" }", &["`forgetting`: found the text", "a number"]),
        ("5", &["`model`: found the number `5`, expected \"exact\", \"derivatives\" or a table"]),
        ("{ identify = \"rls\" }, error_equation = true", &["`error_equation` must be \"off\" or"]),
        ("\"given\"", &["no model of", "models.toml"]),
    ] {
        let coupling = format!("{{ method = \"prestep\", model = {model} }}");
        let said = folder.run(&["run", "system.toml", "--coupling", &coupling]);
        assert_eq!(said.code, Some(2), "{model}");
        said.errs_with(words);
    }
}

/// A system at rest teaches nothing; one that moves does, whatever is left unconnected.
#[test]
fn poor_excitation_is_told() {
    let folder = Folder::with(&learning());
    let said = folder.succeed(&["run", "system.toml"]);
    assert!(!said.out.contains("not excited enough"), "{}", said.out);
    folder.write("system.toml", &learning().replace("x0 = [0.1, 0]", "x0 = [0, 0]"));
    let said = folder.succeed(&["run", "system.toml"]);
    said.says(&["not excited enough: left.x (a signal it depends on never changed)", "right.x"]);
}
