//! The words of the model-based couplings in a file: each is understood, changes what it should, and a wrong one is
//! refused with those that are known.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "common/cases/mod.rs"]
mod cases;

use crate::cases::{Case, case};
use koppel::coupling::CouplingConfig;
use koppel::linalg::Matrix;
use koppel::record::Trajectory;
use koppel::run::{Flow, Reading, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, SystemBuilder, Variable};

#[derive(serde::Deserialize)]
struct File {
    coupling: CouplingConfig,
}

fn coupling(text: &str) -> CouplingConfig {
    let file = toml::from_str::<File>(&format!("coupling = {{ {text} }}"));
    file.unwrap_or_else(|error| panic!("{text}: {error}")).coupling
}

fn refused(text: &str) -> String {
    match toml::from_str::<File>(&format!("coupling = {{ {text} }}")) {
        Err(error) => error.to_string(),
        Ok(file) => match run(&dual_mass(), file.coupling) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{text} was taken"),
        },
    }
}

fn dual_mass() -> Case {
    let mut case = case("dual-mass").unwrap();
    case.parts[1].parameters.extend([("ck".to_owned(), 2e5), ("dk".to_owned(), 200.0)]);
    case
}

fn run(case: &Case, coupling: CouplingConfig) -> koppel::Result<Trajectory> {
    let config = RunConfig { coupling, reading: Reading::Stale, ..RunConfig::new(0.05, 1e-3) };
    let mut run = Run::new(case.system()?, &config)?;
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue))?;
    Ok(table)
}

/// Largest difference of the second output, relative to its size.
fn difference(one: &Trajectory, other: &Trajectory) -> f64 {
    let size = one.column(1).fold(0.0, |most: f64, y| most.max(y.abs()));
    one.column(1).zip(other.column(1)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / size
}

#[test]
fn each_word_changes_the_result() {
    let case = dual_mass();
    let see = |text: &str| run(&case, coupling(text)).unwrap_or_else(|error| panic!("{text}: {error}"));
    let learned = r#"method = "prestep", model = { identify = "rls", N = 1, M = 1, forgetting = 0.996 }, learning = { kind = "small-step", parts = 20, duration = 0.02, switch = 0.005, modified_above = 10, hold_above = 20 }"#;
    let families: [(&str, &[&str]); 6] = [
        (
            r#"method = "prestep""#,
            &[
                r#"error_equation = "carried""#,
                r#"error_equation = "reset""#,
                r#"input = "constant""#,
                r#"modified = true"#,
                r#"constant = "none""#,
                r#"learning = { kind = "hold", signal_based = "zoh", duration = 0.01, switch = 0.005 }"#,
                r#"learning = { hold_above = 0.0 }"#,
            ],
        ),
        (
            r#"method = "prestep", error_equation = "carried""#,
            &[r#"error_steps = 3"#, r#"intermediate = false"#],
        ),
        (
            learned,
            &[
                r#"error_equation = "carried""#,
                r#"error_equation = "reset""#,
                r#"error_equation = "carried", intermediate = false"#,
            ],
        ),
        (r#"method = "nepce""#, &["gain = 0.5", "anti_aliasing = true", r#"against = "applied""#]),
        (
            r#"method = "corrector", error_equation = "carried""#,
            &["gain = 0.5", "error_steps = 3", "intermediate = false"],
        ),
        (r#"method = "corrector""#, &[r#"error_equation = "reset""#, r#"against = "applied""#]),
    ];
    for (family, words) in families {
        let mut seen = vec![("nothing", see(family))];
        for word in words {
            let table = see(&format!("{family}, {word}"));
            for (other, before) in &seen {
                let apart = difference(before, &table);
                assert!(apart > 1e-9, "{family}: {word} is like {other}: {apart}");
            }
            seen.push((word, table));
        }
    }
}

/// The defaults, said in full, and the other ways to say the same.
#[test]
fn words_that_change_nothing_here() {
    let case = dual_mass();
    let see = |text: &str| run(&case, coupling(text)).unwrap();
    let plain = see(r#"method = "prestep""#);
    for text in [
        r#"model = "exact", error_equation = "off", input = "linear""#,
        // A linear model has the same derivatives everywhere.
        r#"model = "derivatives""#,
        r#"model = { derivatives = 5 }"#,
        r#"model = { derivatives = "auto" }"#,
        r#"model = { derivatives = "auto", above = 0.1 }"#,
    ] {
        let apart = difference(&plain, &see(&format!(r#"method = "prestep", {text}"#)));
        assert!(apart < 1e-9, "{text}: {apart}");
    }
    let prestep = |more: &str| see(&format!(r#"method = "prestep", {more}"#));
    let (modified, above) = (prestep("modified = true"), prestep("learning = { modified_above = 0.0 }"));
    assert_eq!(difference(&modified, &above), 0.0, "a threshold that every model passes leaves step 3 out");
    let learned = r#"method = "prestep", model = { identify = "rls" }"#;
    let hold = see(&format!(r#"{learned}, learning = {{ duration = 1.0 }}"#));
    let said = r#"learning = { kind = "hold", signal_based = "zoh", duration = 1.0, switch = 0.005, modified_above = 0.21, hold_above = 3.54 }"#;
    assert_eq!(difference(&hold, &see(&format!("{learned}, {said}"))), 0.0);
    let foh = see(&format!(r#"{learned}, learning = {{ signal_based = "foh", duration = 1.0 }}"#));
    assert!(difference(&hold, &foh) > 1e-3);
}

/// One input for two outputs: what it aims at depends on how they are weighed.
#[test]
fn nominal_values_weigh_where_outputs_compete() {
    let matrix = Matrix::from_slice;
    let part = |a: Matrix, b: Matrix, c: Matrix, nominal: &[f64]| {
        let (inputs, outputs) = (b.cols(), c.rows());
        let names = |letter: &str, count: usize| -> Vec<Variable> {
            (1..=count).map(|i| Variable::new(format!("{letter}{i}"))).collect()
        };
        let mut y = names("y", outputs);
        y.iter_mut().zip(nominal).for_each(|(y, nominal)| y.nominal = Some(*nominal));
        let states = a.rows();
        let matrices = StateSpace::new("s", a, b, c, Matrix::zeros(outputs, inputs)).unwrap();
        let ode = LinearOde::new(matrices, names("u", inputs), y, &vec![1.0; states]).unwrap();
        OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
    };
    let see = |more: &str, weights: &str, nominal: &[f64]| {
        let a = matrix(2, 2, &[-1.0, 0.3, 0.2, -5.0]);
        let first = part(a, matrix(2, 1, &[1.0, 3.0]), Matrix::identity(2), nominal);
        let second = part(matrix(1, 1, &[-2.0]), matrix(1, 2, &[-4.0, 1.0]), matrix(1, 1, &[1.0]), &[]);
        let system = SystemBuilder::new()
            .add("first", first)
            .add("second", second)
            .connect(Connection::new("second.y1", "first.u1"))
            .connect(Connection::new("first.y1", "second.u1"))
            .connect(Connection::new("first.y2", "second.u2"))
            .build()
            .unwrap();
        let text = format!(r#"method = "prestep", {more}, weights = "{weights}""#);
        let config = RunConfig { coupling: coupling(&text), ..RunConfig::new(2.0, 0.1) };
        let mut run = Run::new(system, &config).unwrap();
        let mut table = Trajectory::default();
        run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
        table
    };
    // On learned models, and without step 1, step 3 has nothing to do.
    let learned = r#"model = { identify = "rls" }, learning = { duration = 0.5, hold_above = 100 }"#;
    let carried = format!(r#"{learned}, error_equation = "carried""#);
    for more in [r#"model = "exact""#, learned, &carried] {
        let plain = see(more, "si", &[1.0, 1e-3]);
        assert_eq!(difference(&plain, &see(more, "nominal", &[1.0, 1.0])), 0.0, "{more}");
        let apart = difference(&plain, &see(more, "nominal", &[1.0, 1e-3]));
        assert!(if more == learned { apart < 1e-12 } else { apart > 1e-6 }, "{more}: {apart}");
    }
}

#[test]
fn wrong_words_are_refused_with_the_known_ones() {
    for (text, known) in [
        (r#"method = "prestepp""#, &["zoh", "nepce", "corrector", "prestep"][..]),
        (r#"method = "prestep", model = "exakt""#, &["exact", "derivatives"]),
        (r#"method = "prestep", model = { identify = "rlss" }"#, &["rls"]),
        (r#"method = "prestep", model = { derivatives = "often" }"#, &["auto"]),
        (r#"method = "prestep", error_equation = "on""#, &["off", "carried", "reset"]),
        (r#"method = "prestep", input = "cubic""#, &["linear", "constant"]),
        (r#"method = "prestep", constant = "some""#, &["measured", "none"]),
        (r#"method = "prestep", weights = "all""#, &["si", "nominal"]),
        (r#"method = "prestep", eror_equation = "off""#, &["error_equation", "input", "learning"]),
        (r#"method = "prestep", learning = { kind = "small" }"#, &["hold", "small-step"]),
        (r#"method = "prestep", learning = { signal_based = "soh" }"#, &["zoh", "foh"]),
        (r#"method = "prestep", learning = { durration = 1 }"#, &["duration", "switch", "hold_above"]),
        (r#"method = "nepce", against = "given""#, &["extrapolated", "applied"]),
        (r#"method = "nepce", anti_alias = true"#, &["gain", "anti_aliasing"]),
        (r#"method = "corrector", error_equation = "on""#, &["off", "carried", "reset"]),
    ] {
        let message = refused(text);
        for word in known {
            assert!(message.contains(&format!("`{word}`")), "{text}: {message}");
        }
    }
}

#[test]
fn settings_that_do_not_go_together_are_refused_with_a_reason() {
    for (text, reason) in [
        (r#"method = "prestep", error_steps = 0"#, "at least 1"),
        (r#"method = "prestep", model = { derivatives = 5, above = 0.1 }"#, "goes with derivatives"),
        (r#"method = "prestep", model = { identify = "rls", above = 0.1 }"#, "goes with derivatives"),
        (r#"method = "prestep", model = { derivatives = -1 }"#, "a number of steps or \"auto\""),
        (r#"method = "prestep", model = { derivatives = "auto", above = 0.0 }"#, "must be positive"),
        (r#"method = "corrector", model = { derivatives = "auto", above = nan }"#, "must be positive"),
        (r#"method = "prestep", learning = { kind = "small-step" }"#, "learned"),
        (r#"method = "prestep", model = { identify = "rls" }, constant = "none""#, "of their own"),
        (r#"method = "prestep", model = { identify = "rls", forgetting = 1.5 }"#, "(0, 1]"),
        (r#"method = "prestep", model = { identify = "rls" }, learning = { duration = -1 }"#, "0 or more"),
        (r#"method = "prestep", learning = { duration = -1 }"#, "0 or more"),
        (r#"method = "prestep", learning = { hold_above = nan }"#, "0 or more"),
        (
            r#"method = "prestep", model = { identify = "rls" }, learning = { parts = 4000000000 }"#,
            "between 1",
        ),
        (r#"method = "prestep", model = { identify = "rls", N = 9223372036854775807 }"#, "at most"),
        (r#"method = "nepce", gain = 1.5"#, "[0, 1]"),
        (r#"method = "corrector", error_equation = "off""#, "nepce"),
        (r#"method = "corrector", gain = -0.1"#, "[0, 1]"),
    ] {
        let message = refused(text);
        assert!(message.contains(reason), "{text}: {message}");
    }
}
