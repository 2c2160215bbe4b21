//! Large models.

use koppel::equations::{Equations, Source};
use koppel::system::Ode;

use crate::references::compiled;
use crate::texts::chain;

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
