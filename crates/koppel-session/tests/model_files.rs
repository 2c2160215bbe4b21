//! Models of subsystems from files, and back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use koppel::coupling::PrestepConfig;
use koppel::record::Trajectory;
use koppel::run::{Flow, Run};
use koppel_io::model_file::{has_models, write_models};
use koppel_io::system_file::{Setting, files_read};
use koppel_session::Session;
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/prestep")
}

fn run_to_end(file: &Session) -> (Run, Trajectory) {
    let mut run = file.build_run().unwrap();
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
    (run, table)
}

/// The text of an example, with another coupling and other settings of the run.
fn example(name: &str, coupling: &str) -> String {
    let text = std::fs::read_to_string(examples().join(name)).unwrap();
    let mut lines: Vec<String> = Vec::new();
    let mut is_coupling = false;
    for line in text.lines() {
        is_coupling = line == "[run.coupling]" || (is_coupling && !line.starts_with('['));
        if line.starts_with("coupling = ") || line == "[run.coupling]" {
            lines.push(format!("coupling = {coupling}"));
        } else if !is_coupling {
            lines.push(line.into());
        }
    }
    lines.join("\n")
}

const BY_HAND: &str = r"
# c_k = 2e5, d_k = 200
[left]
S_y = [[0.0, 1.0], [-1e5, -0.1]]
S_u = [[0.0, 0.0], [0.1, 0.1]]

[right]
A = [[0.0, 1.0], [-1.02e6, -20.2]]
B = [[0.0, 0.0], [2e4, 20.0]]
C = [[2e5, 200.0]]
D = [[-2e5, -200.0]]
";

/// Written by hand, both ways, the same matrices give the same run as the exact ones; saved and read again, too.
#[test]
fn matrices_by_hand_are_as_good_as_exact_ones() {
    let folder = tempfile::tempdir().unwrap();
    let exact = Session::load(&examples().join("dual-mass.toml"), &[]).unwrap();
    let (_, reference) = run_to_end(&exact);
    std::fs::write(folder.path().join("models.toml"), BY_HAND).unwrap();
    let text = example("dual-mass.toml", r#"{ method = "prestep", model = { file = "models.toml" } }"#);
    let path = folder.path().join("system.toml");
    let file = Session::parse(&text, &path).unwrap();
    assert_eq!(files_read(&file.spec), [folder.path().join("models.toml")]);
    let (run, table) = run_to_end(&file);
    let gap = |table: &Trajectory| {
        let pairs = table.rows.iter().flatten().zip(reference.rows.iter().flatten());
        pairs.map(|(a, b)| (a - b).abs() / (1.0 + b.abs())).fold(0.0, f64::max)
    };
    assert!(gap(&table) < 1e-6, "{}", gap(&table));
    // All settings written out, models included, need no file any more.
    std::fs::remove_file(folder.path().join("models.toml")).unwrap();
    let again = Session::parse(&file.spec.to_toml(), &path).unwrap();
    assert_eq!(run_to_end(&again).1, table);
    // What is saved is read again.
    assert!(has_models(&run));
    write_models(&folder.path().join("models.toml"), &run, "two masses").unwrap();
    assert!(gap(&run_to_end(&Session::parse(&text, &path).unwrap()).1) < 1e-6);
}

/// Parameters and covariance come back bit for bit, and a run that starts from them has no learning phase. Seen: helicopter,
/// saved at 8 s of a run at 0.1 s, stable at 0.3 s, where zero-order hold is lost from 0.146 s on.
#[test]
fn learned_models_start_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models.toml");
    let set =
        |name: &str, value: &str| Setting { name: name.into(), value: value.into(), origin: "--set".into() };
    let path = examples().join("helicopter.toml");
    let first = Session::load(&path, &[set("run.step", "0.1"), set("run.stop", "8.0")]).unwrap();
    let (run, _) = run_to_end(&first);
    write_models(&models, &run, "the helicopter").unwrap();
    let coupling = r#"{ method = "prestep", model = { file = "models.toml", forgetting = 0.996 } }"#;
    let text = example("helicopter.toml", coupling).replace("step = 0.16", "step = 0.3");
    let file = Session::parse(&text, &folder.path().join("system.toml")).unwrap();
    let config = file.spec.run.coupling.settings::<PrestepConfig>().unwrap();
    assert_eq!(config.learned, run.learned());
    let (run, table) = run_to_end(&file);
    let column = |name: &str| run.columns().iter().position(|column| column.name == name).unwrap();
    let phases: Vec<f64> = table.column(column("coupling.phase")).skip(1).collect();
    assert!(phases.iter().all(|phase| *phase >= 2.0), "{phases:?}");
    assert_eq!(phases[0], 2.0);
    let heave = table.column(column("helicopter.heave")).fold(0.0_f64, |most, y| most.max(y.abs()));
    assert!(heave < 5.0, "{heave}");
}

/// Every mistake is shown at its place, in the file that holds it.
#[test]
fn mistakes_are_shown_in_the_file_of_models() {
    let learned = "identify = \"rls\"\nstep = 1e-3\nN = 1\nM = 1\n";
    let cases: &[(&str, &[&str])] = &[
        ("", &["models.toml:1:1: there is no model in this file"]),
        ("[left\n", &["models.toml:1:", "not valid TOML"]),
        ("[lft]\nS_y = []\n", &["models.toml:1:2: unknown subsystem `lft`", "did you mean `left`"]),
        ("[left]\nS = [[1.0]]\n", &["models.toml:1:2: the model of `left` is of no known kind"]),
        (
            "[left]\nS_y = [[1.0, 2.0], [3.0]]\nS_u = []\n",
            &["models.toml:2:20: row 2 of matrix S_y has 1 entries"],
        ),
        ("[left]\nS_y = [[1.0, inf]]\nS_u = []\n", &["models.toml:2:14: this number is not finite"]),
        (
            "[left]\nS_y = [[1.0]]\nS_u = [[1.0]]\n",
            &["models.toml:2:7: ", "`left`: matrix S_y is 1x1, expected 2x2"],
        ),
        (
            "[left]\nS_y = [[1.0]]\nS_w = [[1.0]]\n",
            &["models.toml:3:1: unknown key `S_w`", "did you mean `S_y`"],
        ),
        ("[left]\nS_y = [[1.0]]\n", &["the model of `left` needs `S_u`"]),
        ("[left]\nidentify = \"rsl\"\n", &["models.toml:2:12: unknown method `rsl`", "did you mean `rls`"]),
        (
            &format!("[left]\n{learned}parameters = [[0.5, 1.0, 0.0]]\ncovariance = [[[1.0]]]\n"),
            &["models.toml:1:2: ", "learned model of `left`", "the subsystem has 2 inputs and 2 outputs"],
        ),
        (
            &format!("[left]\n{learned}parameters = []\ncovariance = []\n[right]\nS_y = [[1.0]]\n"),
            &["models.toml:8:2: `left` and `right` have models of different kinds"],
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    let text = example("dual-mass.toml", r#"{ method = "prestep", model = { file = "models.toml" } }"#);
    let path = folder.path().join("system.toml");
    let message = |text: &str| {
        let result = Session::parse(text, &path).and_then(|file| file.build_run().map(|_| ()));
        koppel::diagnostic::render(&*result.unwrap_err())
    };
    assert!(message(&text).contains("cannot read"), "{}", message(&text));
    for (models, fragments) in cases {
        std::fs::write(folder.path().join("models.toml"), models).unwrap();
        let said = message(&text);
        for fragment in *fragments {
            assert!(said.contains(fragment), "wanted {fragment:?} of\n{models}\ngot {said}");
        }
    }
    std::fs::write(folder.path().join("models.toml"), BY_HAND).unwrap();
    let other = text.replace("file = \"models.toml\"", "file = \"models.toml\", fogetting = 0.9");
    assert!(message(&other).contains("did you mean `forgetting`"), "{}", message(&other));
    let other = text.replace("file = \"models.toml\"", "file = \"models.toml\", forgetting = 0.9");
    assert!(message(&other).contains("goes with models that were learned by \"rls\""), "{}", message(&other));
    std::fs::write(folder.path().join("models.toml"), BY_HAND.split("[right]").next().unwrap()).unwrap();
    assert!(message(&text).contains("no model of `right` is given"), "{}", message(&text));
}
