//! Analysis of variance against statsmodels, and Sobol points against SciPy, on the same data.
//!
//! The Python environment is made by `crates/koppel-fmi/tests/make_fmus.py`; without it the test is skipped and says so, but under `cargo xtask test` it fails.

#[path = "../../koppel-fmi/tests/common/prepared.rs"]
mod prepared;

use koppel_study::analysis::{Anova, anova};
use koppel_study::design::sobol_point;
use prepared::python;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

struct Example {
    levels: Vec<usize>,
    at: Vec<Vec<usize>>,
    y: Vec<f64>,
}

/// A full factorial plan with effects of very different sizes, an offset and some scatter; every `hole`-th run is missing.
fn example(levels: &[usize], hole: usize) -> Example {
    let runs: usize = levels.iter().product();
    let mut at = vec![Vec::new(); levels.len()];
    let mut y = Vec::new();
    for run in 0..runs {
        let mut rest = run;
        let mut value = 1000.0;
        for (j, count) in levels.iter().enumerate() {
            let level = rest % count;
            rest /= count;
            at[j].push(level);
            value += ((level + 1) as f64).powi(j as i32 + 1) + 0.3 * (level * at[0][run]) as f64;
        }
        value += (12.9898 * run as f64).sin() * 0.7;
        y.push(if hole > 0 && run % hole == hole - 1 { f64::NAN } else { value });
    }
    Example { levels: levels.to_vec(), at, y }
}

fn ours(example: &Example) -> Anova {
    let at: Vec<&[usize]> = example.at.iter().map(Vec::as_slice).collect();
    anova(&example.levels, &at, &example.y).expect("there is something to analyse")
}

fn for_python(example: &Example) -> Value {
    let kept: Vec<usize> = (0..example.y.len()).filter(|run| example.y[*run].is_finite()).collect();
    let chosen = |column: &Vec<usize>| kept.iter().map(|run| column[*run]).collect::<Vec<_>>();
    json!({
        "factors": example.at.iter().map(chosen).collect::<Vec<_>>(),
        "y": kept.iter().map(|run| example.y[*run]).collect::<Vec<_>>(),
    })
}

fn assert_close(found: f64, exact: &Value, what: &str) {
    assert_within(found, exact, 1e-9, what);
}

fn assert_within(found: f64, exact: &Value, tolerance: f64, what: &str) {
    let exact = exact.as_f64().unwrap_or(f64::NAN);
    let is_close = (found - exact).abs() <= tolerance * exact.abs() || (found.is_nan() && exact.is_nan());
    assert!(
        is_close || (found.abs() < 1e-300 && exact.abs() < 1e-300),
        "{what}: {found:e}, statsmodels has {exact:e}"
    );
}

#[test]
fn analysis_of_variance_agrees_with_statsmodels() {
    let Some(python) = python(&["statsmodels"]) else { return };
    let examples = [
        example(&[3, 4, 2], 0),
        example(&[3, 3, 7, 2, 2], 0),
        example(&[3, 4, 5], 7),
        example(&[2, 3, 4, 2], 11),
    ];
    let (dimensions, points) = (21, 256);
    let asked = json!({
        "data": examples.iter().map(for_python).collect::<Vec<_>>(),
        "dimensions": dimensions,
        "points": points,
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check_anova.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python starts");
    child.stdin.take().expect("it listens").write_all(asked.to_string().as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "statsmodels failed");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it answers in JSON");

    for (k, example) in examples.iter().enumerate() {
        let found = ours(example);
        assert_eq!(found.is_balanced, k < 2);
        let theirs = answer["anova"][k].as_array().expect("a table");
        assert_eq!(theirs.len(), found.terms.len() + 1);
        for (term, row) in found.terms.iter().zip(theirs) {
            let what = format!("example {k}, term {:?}", term.factors);
            assert_close(term.sum, &row[0], &format!("{what}, sum of squares"));
            assert_close(term.freedom as f64, &row[1], &format!("{what}, degrees of freedom"));
            assert_close(term.f, &row[2], &format!("{what}, F"));
            // |d ln p / d ln F| is at most d₂ / 2: what F differs, p differs so many times more.
            let f = row[2].as_f64().unwrap_or(f64::NAN);
            let slack = 1.0 + 0.5e9 * found.residual.1 as f64 * ((term.f - f) / f).abs();
            assert_within(term.p, &row[3], 1e-9 * slack, &format!("{what}, p"));
        }
        let rest = &theirs[theirs.len() - 1];
        assert_close(found.residual.0, &rest[0], "residual");
        assert_close(found.residual.1 as f64, &rest[1], "degrees of freedom of the residual");
    }
    for index in 0..points {
        for dimension in 0..dimensions {
            let point = sobol_point(index, dimension);
            assert_eq!(
                Some(point),
                answer["sobol"][index as usize][dimension].as_f64(),
                "{index} {dimension}"
            );
        }
    }
}
