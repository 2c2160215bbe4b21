//! Consistent starts, rings, interlocked loops, and members that cannot roll back.

use crate::members::Static;
use koppel::analysis::{structure, zero_stability};
use koppel::run::{AccelerationKind, IterationConfig, IterationKind, Reading, Run, RunConfig};
use koppel::system::{Connection, Reach, System, SystemBuilder, algebraic_loops};

fn iterated(kind: IterationKind) -> RunConfig {
    let iteration = IterationConfig::new(kind, AccelerationKind::Broyden);
    RunConfig { iteration: Some(iteration), ..RunConfig::new(1.0, 0.1) }
}

/// a + b + c = 0, 2a - 3b + 2c = 9, a² + b² + c² = 5 over two subsystems: one gives b and c for an a, the other an a for b and c.
///
/// From the linear equations b = -9/5 and c = 9/5 - a; then 2a² - 18/5 a + 2·81/25 - 5 = 0.
fn nonlinear(a: f64) -> System {
    let linear = Static::new(&[("a", a)], &["b", "c"], |u, y| {
        y[0] = -9.0 / 5.0;
        y[1] = -u[0] - y[0];
    });
    // A step of Newton's method on a² + b² + c² = 5 from the a it is given: the same a only where the equation holds.
    let square = Static::new(&[("a", a), ("b", 0.0), ("c", 0.0)], &["a"], |u, y| {
        let slope = if u[0].abs() > 1e-3 { 2.0 * u[0] } else { 2e-3 };
        y[0] = u[0] - (u[0] * u[0] + u[1] * u[1] + u[2] * u[2] - 5.0) / slope;
    });
    SystemBuilder::new()
        .add("linear", linear)
        .add("square", square)
        .connect(Connection::new("square.a", "linear.a"))
        .connect(Connection::new("square.a", "square.a"))
        .connect(Connection::new("linear.b", "square.b"))
        .connect(Connection::new("linear.c", "square.c"))
        .build()
        .unwrap()
}

#[test]
fn both_solutions_of_a_nonlinear_loop_are_reached_from_their_starts() {
    let root = (1.8_f64.powi(2) - 4.0 * (2.0 * 3.24 - 5.0) / 2.0).sqrt();
    let solutions = [0.5 * (1.8 + root), 0.5 * (1.8 - root)];
    assert!((2.0 * solutions[0].powi(2) - 3.6 * solutions[0] + 1.48).abs() < 1e-12);
    for (start, expected) in [(2.0, solutions[0]), (0.2, solutions[1])] {
        for config in
            [RunConfig::new(1.0, 0.1), iterated(IterationKind::Outputs), iterated(IterationKind::Step)]
        {
            let mut run = Run::new(nonlinear(start), &config).unwrap();
            for _ in 0..5 {
                let at = |name: &str| run.graph().find_output(name).unwrap();
                let all: Vec<f64> = (0..2).flat_map(|id| run.outputs(id).to_vec()).collect();
                let (a, b, c) = (all[at("square.a")], all[at("linear.b")], all[at("linear.c")]);
                assert!((a - expected).abs() < 1e-7, "{a} {expected}");
                let residuals = [a + b + c, 2.0 * a - 3.0 * b + 2.0 * c - 9.0, a * a + b * b + c * c - 5.0];
                assert!(residuals.iter().all(|r| r.abs() < 1e-6), "{residuals:?}");
                run.advance().unwrap();
            }
        }
    }
}

/// y_i = g_i y_{i-1} + o_i around.
fn ring(gains: &[f64], offsets: &[f64]) -> System {
    let n = gains.len();
    let mut builder = SystemBuilder::new();
    for i in 0..n {
        builder = builder.add(&format!("m{i}"), Static::gain(gains[i], offsets[i]));
    }
    for i in 0..n {
        builder = builder.connect(Connection::new(&format!("m{i}.y"), &format!("m{}.u", (i + 1) % n)));
    }
    builder.build().unwrap()
}

/// Closed form: y_0 (1 - Π g) = Σ o along the ring.
fn ring_solution(gains: &[f64], offsets: &[f64]) -> Vec<f64> {
    let n = gains.len();
    let (mut product, mut sum) = (1.0, 0.0);
    for i in 0..n {
        // y_i in terms of y_{n-1}.
        sum = gains[i] * sum + offsets[i];
        product *= gains[i];
    }
    let last = sum / (1.0 - product);
    let mut y = vec![0.0; n];
    let mut before = last;
    for i in 0..n {
        y[i] = gains[i] * before + offsets[i];
        before = y[i];
    }
    y
}

#[test]
fn a_ring_of_five_static_gains() {
    let (gains, offsets) = ([2.0, -1.5, 0.7, 3.0, -0.4], [1.0, 0.0, -2.0, 0.5, 0.25]);
    let expected = ring_solution(&gains, &offsets);
    let loops = algebraic_loops(&ring(&gains, &offsets).graph, Reach::ToFilters);
    assert_eq!(loops.len(), 1);
    assert_eq!((loops[0].torn.len(), loops[0].reads.len(), loops[0].is_smallest), (1, 5, true));
    let path = loops[0].path(&ring(&gains, &offsets).graph);
    assert_eq!(path.matches(" => ").count(), 5, "{path}");
    for config in [iterated(IterationKind::Outputs), iterated(IterationKind::Step), RunConfig::new(1.0, 0.1)]
    {
        let mut run = Run::new(ring(&gains, &offsets), &config).unwrap();
        while !run.is_done() {
            run.advance().unwrap();
        }
        for (i, expected) in expected.iter().enumerate() {
            let id = run.graph().find(&format!("m{i}")).unwrap();
            let found = run.outputs(id)[0];
            assert!((found - expected).abs() < 1e-7 * expected.abs().max(1.0), "{i}: {found} {expected}");
        }
    }
    // Read stale and in parallel, the ring multiplies by the fifth root of its gain.
    let stale = RunConfig { reading: Reading::Stale, ..RunConfig::new(1.0, 0.1) };
    let mut run = Run::new(ring(&gains, &offsets), &stale).unwrap();
    let document = zero_stability(&mut run, &stale);
    let product: f64 = gains.iter().product::<f64>().abs();
    assert!((document.zero_stability_radius - product.powf(0.2)).abs() < 1e-6, "{document:?}");
}

/// Two cycles of gain 0.6 each that share one member.
fn interlocked() -> System {
    let shared = Static::new(&[("u", 0.0), ("v", 0.0)], &["y"], |u, y| y[0] = u[0] + u[1] + 1.0);
    SystemBuilder::new()
        .add("shared", shared)
        .add("left", Static::gain(0.6, 0.0))
        .add("right", Static::gain(0.6, 0.0))
        .connect(Connection::new("shared.y", "left.u"))
        .connect(Connection::new("shared.y", "right.u"))
        .connect(Connection::new("left.y", "shared.u"))
        .connect(Connection::new("right.y", "shared.v"))
        .build()
        .unwrap()
}

#[test]
fn interlocked_loops_are_judged_together() {
    let stale = RunConfig { reading: Reading::Stale, ..RunConfig::new(1.0, 0.1) };
    let mut run = Run::new(interlocked(), &stale).unwrap();
    let document = zero_stability(&mut run, &stale);
    // √1.2: each cycle alone would be stable.
    assert!(
        (document.zero_stability_radius - 1.2_f64.sqrt()).abs() < 1e-6 && !document.zero_stable,
        "{document:?}"
    );
    let report = structure(&mut run).unwrap();
    assert_eq!((report.loops.len(), report.loops[0].torn.as_slice()), (1, &["shared.y".to_owned()][..]));
    for config in [iterated(IterationKind::Outputs), iterated(IterationKind::Step), RunConfig::new(1.0, 0.1)]
    {
        let mut run = Run::new(interlocked(), &config).unwrap();
        run.advance().unwrap();
        let id = run.graph().find("shared").unwrap();
        // y = 1 + 1.2 y
        assert!((run.outputs(id)[0] + 5.0).abs() < 1e-6, "{}", run.outputs(id)[0]);
    }
}

#[test]
fn without_roll_back_outputs_are_iterated_and_steps_refused() {
    let build = || {
        SystemBuilder::new()
            .add("box", Static::gain(2.0, 1.0).without_roll_back())
            .add("other", Static::gain(-3.0, 0.0))
            .connect(Connection::new("box.y", "other.u"))
            .connect(Connection::new("other.y", "box.u"))
            .build()
            .unwrap()
    };
    let mut run = Run::new(build(), &iterated(IterationKind::Outputs)).unwrap();
    run.advance().unwrap();
    let id = run.graph().find("box").unwrap();
    assert!((run.outputs(id)[0] - 1.0 / 7.0).abs() < 1e-8);
    let report = structure(&mut run).unwrap();
    assert_eq!(report.loops[0].without_roll_back, ["box"]);
    let error = Run::new(build(), &iterated(IterationKind::Step)).err().unwrap();
    assert!(error.to_string().contains("`box` cannot roll back, but step iteration needs it"), "{error}");
    assert!(error.hint().unwrap().contains("outputs"));
}

#[test]
fn a_loop_without_solution_names_the_culprit() {
    let build = || ring(&[2.0, 0.5], &[1.0, 1.0]);
    let error = Run::new(build(), &RunConfig::new(1.0, 0.1)).err().unwrap().to_string();
    assert!(error.contains("m0.y") && error.contains("m1"), "{error}");
}
