//! One state, one input, one output, with feed-through: two of them make the smallest algebraic loop.
//!
//!   x' = a x + b u,     y = c x + d u                                                    (1)
//!
//! The pair a = (-0.9, -1), b = (0.5, 10), c = (3, -31), d = (1, -0.9) has ρ(D L) = √0.9 = 0.949: zero-stable when read
//! stale with constant inputs, but unstable with FOH at any step. Limits: docs/problems.md.

use super::control::scalar;
use super::entry::{Equations, ModelEntry, Parameter, Port, State, first};

pub(super) const FEEDTHROUGH: ModelEntry = ModelEntry {
    name: "feedthrough",
    description: "x' = a x + b u, y = c x + d u: one state with feed-through",
    source: "the feed-through pair, docs/problems.md",
    parameters: &[
        Parameter::new("a", -0.9, "1/s", "state on itself"),
        Parameter::new("b", 0.5, "1/s", "input on the state"),
        Parameter::new("c", 3.0, "1", "state on the output"),
        Parameter::new("d", 1.0, "1", "input on the output"),
        Parameter::new("x0", 1.0, "1", "state at the start"),
    ],
    inputs: &[Port::new("u", "1", "input")],
    outputs: &[Port::new("y", "1", "output").fed_by(&[0])],
    states: &[State::new("x", "1", "state").starts_at("x0")],
    equations: Equations::Linear(|p| scalar(first(p))),
};
