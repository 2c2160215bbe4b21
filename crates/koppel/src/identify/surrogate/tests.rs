use super::*;
use crate::linalg::expm;

/// A mass on a spring with its force as an output that follows the input at once, and a slow lag beside it.
fn known() -> StateSpace {
    StateSpace {
        a: Matrix::from_slice(3, 3, &[0.0, 1.0, 0.0, -25.0, -2.0, 0.0, 0.0, 0.0, -0.5]),
        b: Matrix::from_slice(3, 2, &[0.0, 0.0, 1.0, 0.0, 0.0, 3.0]),
        c: Matrix::from_slice(2, 3, &[10.0, 0.0, 1.0, 0.0, 2.0, 0.0]),
        d: Matrix::from_slice(2, 2, &[0.0, 0.0, -0.7, 0.0]),
    }
}

/// Outputs at the ends of steps with these inputs, by the exponential of [A B; 0 0].
fn run(of: &StateSpace, step: f64, inputs: &[f64]) -> Vec<f64> {
    let (n, m) = (of.states(), of.inputs());
    let mut whole = Matrix::zeros(n + m, n + m);
    whole.set_block(0, 0, &(&of.a * step));
    whole.set_block(0, n, &(&of.b * step));
    let whole = expm(&whole).unwrap();
    let mut x = vec![0.0; n];
    let mut seen = Vec::new();
    for u in inputs.chunks(m) {
        let now = [&x[..], u].concat();
        x = whole.mul_vec(&now)[..n].to_vec();
        let (from_states, direct) = (of.c.mul_vec(&x), of.d.mul_vec(u));
        seen.extend(from_states.iter().zip(direct).map(|(a, b)| a + b));
    }
    seen
}

fn seen(of: &StateSpace, step: f64) -> (Seen, Course) {
    let one = |input: usize| (0..128).map(|i| f64::from(u8::from(i % 2 == input))).collect::<Vec<_>>();
    let steps = (0..2).map(|input| run(of, step, &one(input))).collect();
    let inputs: Vec<f64> = (0..128_i32).map(|i| f64::from((i * i + 3 * i) % 7 - 3)).collect();
    let outputs = run(of, step, &inputs);
    (Seen { outputs: 2, inputs: 2, steps, free: Vec::new() }, Course { inputs, outputs })
}

/// C Aᵏ B and D are the same in all coordinates.
#[test]
fn the_model_is_the_one_that_was_seen() {
    let known = known();
    for step in [0.004, 0.05, 0.3] {
        let (seen, kept) = seen(&known, step);
        let found = seen.realize(step, &kept).unwrap();
        let model = &found.model;
        assert_eq!(model.states(), 3, "{step}");
        assert!((&model.d - &known.d).max_abs() < 1e-6, "{step}: {:?}", model.d);
        assert!(model.d.as_slice().iter().filter(|d| **d != 0.0).count() == 1, "{:?}", model.d);
        let (mut ours, mut theirs) = (model.b.clone(), known.b.clone());
        for k in 0..4 {
            let (a, b) = (&model.c * &ours, &known.c * &theirs);
            assert!((&a - &b).max_abs() < 1e-4 * b.max_abs(), "{step}, {k}: {a:?} {b:?}");
            (ours, theirs) = (&model.a * &ours, &known.a * &theirs);
        }
        let other: Vec<f64> = kept.inputs.clone();
        let outputs = run(&known, 0.37 * step, &other);
        assert!(found.miss_at(0.37 * step, &Course { inputs: other, outputs }, 2) < 1e-6);
    }
}

/// With inputs at rest it moves as x' = A x + f.
#[test]
fn the_run_at_rest_tells_the_rates() {
    let known = known();
    let (seen, kept) = seen(&known, 0.05);
    let found = seen.realize(0.05, &kept).unwrap();
    let pushed =
        StateSpace { b: Matrix::from_slice(3, 1, &[0.3, -2.0, 1.0]), d: Matrix::zeros(2, 1), ..known };
    let free = run(&pushed, 0.05, &[1.0; 64]);
    let rates = found.rates(0.05, &free).unwrap();
    // Outputs begin to move as C f.
    let (ours, theirs) = (found.model.c.mul_vec(&rates), pushed.c.mul_vec(&[0.3, -2.0, 1.0]));
    assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-5), "{ours:?} {theirs:?}");
    assert_eq!(found.rates(0.05, &[0.0; 128]), Some(vec![0.0; 3]));
    // Nothing it could do moves like this.
    let strange: Vec<f64> = (0..128).map(|i| f64::from(i % 5)).collect();
    assert_eq!(found.rates(0.05, &strange), None);
}

/// Outputs that come two steps late have a pole at zero, and no logarithm.
#[test]
fn what_lags_by_steps_has_no_model() {
    let known = known();
    let (mut seen, mut kept) = seen(&known, 0.05);
    for list in seen.steps.iter_mut().chain([&mut kept.outputs]) {
        list.rotate_right(4);
        list[..4].fill(0.0);
    }
    let error = seen.realize(0.05, &kept).map_or(1.0, |found| found.error);
    assert!(error > 0.01, "{error}");
}
