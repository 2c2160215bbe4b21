//! Large models.

use koppel::equations::{Equations, Source};
use koppel::system::Ode;
use std::fmt::Write;

use crate::references::compiled;

/// A chain of masses, each with a state of its own and intermediate variables in no order.
pub(crate) fn chain(count: usize) -> String {
    let mut text = String::from("parameter c = 100, d = 1, m = 2\ninput F\noutput x1\n");
    for k in (1..=count).rev() {
        let (before, after) = (k.saturating_sub(1), k + 1);
        let left = if k == 1 { "F".to_owned() } else { format!("f{before}") };
        let right = if k == count {
            "c * x + d * v".replace('x', &format!("x{k}")).replace('v', &format!("v{k}"))
        } else {
            format!("f{k}")
        };
        writeln!(text, "der(v{k}) = ({left} - {right}) / m").unwrap();
        writeln!(text, "der(x{k}) = v{k}").unwrap();
        if k < count {
            writeln!(text, "f{k} = c * (x{k} - x{after}) + d * (v{k} - v{after})").unwrap();
        }
    }
    text
}

/// The work grows with the text: operations are those of the equations, each once.
#[test]
fn ten_thousand_equations_are_compiled() {
    let operations = |count: usize| compiled(&chain(count)).operations().0;
    let (small, large) = (operations(34), operations(3334));
    assert!(large.abs_diff(small * 98) <= 98 * 40, "{small} and {large}");
    assert!(large <= 3334 * 8, "{large}");
    let model = compiled(&chain(3334));
    assert_eq!(model.states(), 6668);
    let (x, mut dx) = (vec![0.0; 6668], vec![0.0; 6668]);
    model.derivative(0.0, &x, &[1.0], &mut dx);
    assert_eq!(dx.iter().filter(|one| **one != 0.0).count(), 1);
}

#[test]
fn common_parts_are_computed_once() {
    let shared = compiled("input u; output a, b; a = sin(u)^2 + cos(u * 2); b = sin(u)^2 - cos(2 * u)");
    // sin, its square, 2 u, cos, sum, difference.
    assert_eq!(shared.operations().1, 6);
    let folded = compiled("parameter p = 3; input u; output y; y = (2 * 3 + p) * u + 0 * sin(u)");
    assert_eq!(folded.operations().1, 1);
}

#[test]
fn nesting_has_a_limit_and_long_sums_have_none() {
    let deep = format!("output y\ny = {}1{}", "(".repeat(65), ")".repeat(65));
    let mistakes = Equations::new(&Source::new(deep)).unwrap_err();
    assert_eq!(mistakes[0].what, "nested deeper than 64 levels");
    let long = format!("input u\noutput y\ny = u{}", " + u * u".repeat(20_000));
    let mut y = [0.0];
    compiled(&long).output(0.0, &[], &[1.0], &mut y);
    assert_eq!(y[0], 20_001.0);
}

/// Run by hand: cargo test --release -p koppel --test equations -- --ignored --nocapture
#[test]
#[ignore = "a measurement"]
fn seconds_for_ten_thousand_equations() {
    let text = chain(3334);
    let begin = std::time::Instant::now();
    let model = compiled(&text);
    let compiled = begin.elapsed();
    assert_eq!(model.states(), 6668);
    #[expect(clippy::print_stdout, reason = "a measurement")]
    {
        println!("{} equations: {compiled:?}", 3 * 3334 - 1);
    }
}
