//! Exact derivatives against dual numbers.

use koppel::equations::{Between, Equations, MapConfig, Outside, Source};
use koppel::linalg::Matrix;
use koppel::system::{Ode, StateSpace};
use proptest::prelude::*;
use std::fmt;

use crate::references::compiled;

/// A value with its derivatives with respect to two states, an input and the time.
#[derive(Clone, Copy, Debug)]
struct Dual {
    value: f64,
    slopes: [f64; 4],
}

impl Dual {
    fn constant(value: f64) -> Dual {
        Dual { value, slopes: [0.0; 4] }
    }

    fn variable(value: f64, index: usize) -> Dual {
        let mut slopes = [0.0; 4];
        slopes[index] = 1.0;
        Dual { value, slopes }
    }

    /// f(self) with this value and slope.
    fn one(self, value: f64, slope: f64) -> Dual {
        Dual { value, slopes: self.slopes.map(|own| slope * own) }
    }

    fn two(self, other: Dual, value: f64, slopes: [f64; 2]) -> Dual {
        let each = std::array::from_fn(|k| slopes[0] * self.slopes[k] + slopes[1] * other.slopes[k]);
        Dual { value, slopes: each }
    }
}

#[derive(Clone, Debug)]
enum Formula {
    Number(f64),
    Variable(usize),
    Unary(&'static str, Box<Formula>),
    Binary(&'static str, Box<Formula>, Box<Formula>),
    If(Box<Formula>, Box<Formula>, Box<Formula>),
    Clamp(Box<Formula>, f64, f64),
}

const VARIABLES: [&str; 4] = ["x1", "x2", "u", "time"];
const UNARY: [&str; 14] =
    ["-", "abs", "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "tanh", "sign", "floor"];
const BINARY: [&str; 9] = ["+", "-", "*", "/", "^", "min", "max", "atan2", "mod"];

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Formula::Number(value) if *value < 0.0 => write!(f, "({value})"),
            Formula::Number(value) => write!(f, "{value}"),
            Formula::Variable(index) => f.write_str(VARIABLES[*index]),
            Formula::Unary("-", a) => write!(f, "(-{a})"),
            Formula::Unary(name, a) => write!(f, "{name}({a})"),
            Formula::Binary(name, a, b) if name.len() > 1 => write!(f, "{name}({a}, {b})"),
            Formula::Binary(name, a, b) => write!(f, "({a} {name} {b})"),
            Formula::If(a, b, c) => write!(f, "(if {a} > 0.3 then {b} else {c})"),
            Formula::Clamp(a, low, high) => write!(f, "clamp({a}, {low}, {high})"),
        }
    }
}

impl Formula {
    fn at(&self, point: &[f64; 4]) -> Dual {
        match self {
            Formula::Number(value) => Dual::constant(*value),
            Formula::Variable(index) => Dual::variable(point[*index], *index),
            Formula::Unary(name, a) => {
                let a = a.at(point);
                let x = a.value;
                let (value, slope) = match *name {
                    "-" => (-x, -1.0),
                    "abs" => (x.abs(), if x == 0.0 { 0.0 } else { x.signum() }),
                    "sqrt" => (x.sqrt(), 0.5 / x.sqrt()),
                    "exp" => (x.exp(), x.exp()),
                    "log" => (x.ln(), 1.0 / x),
                    "sin" => (x.sin(), x.cos()),
                    "cos" => (x.cos(), -x.sin()),
                    "tan" => (x.tan(), 1.0 / x.cos().powi(2)),
                    "asin" => (x.asin(), 1.0 / (1.0 - x * x).sqrt()),
                    "acos" => (x.acos(), -1.0 / (1.0 - x * x).sqrt()),
                    "atan" => (x.atan(), 1.0 / (1.0 + x * x)),
                    "tanh" => (x.tanh(), 1.0 / x.cosh().powi(2)),
                    "sign" => (if x == 0.0 { 0.0 } else { x.signum() }, 0.0),
                    _ => (x.floor(), 0.0),
                };
                a.one(value, slope)
            }
            Formula::Binary(name, a, b) => {
                let (a, b) = (a.at(point), b.at(point));
                let (x, y) = (a.value, b.value);
                match *name {
                    "+" => a.two(b, x + y, [1.0, 1.0]),
                    "-" => a.two(b, x - y, [1.0, -1.0]),
                    "*" => a.two(b, x * y, [y, x]),
                    "/" => a.two(b, x / y, [1.0 / y, -x / (y * y)]),
                    "^" => {
                        let growth = if b.slopes == [0.0; 4] { 0.0 } else { x.powf(y) * x.ln() };
                        a.two(b, x.powf(y), [y * x.powf(y - 1.0), growth])
                    }
                    "min" => a.two(b, x.min(y), if x < y { [1.0, 0.0] } else { [0.0, 1.0] }),
                    "max" => a.two(b, x.max(y), if x > y { [1.0, 0.0] } else { [0.0, 1.0] }),
                    "atan2" => a.two(b, x.atan2(y), [y / (x * x + y * y), -x / (x * x + y * y)]),
                    _ => a.two(b, x - (x / y).floor() * y, [1.0, -(x / y).floor()]),
                }
            }
            Formula::If(a, b, c) => {
                if a.at(point).value > 0.3 {
                    b.at(point)
                } else {
                    c.at(point)
                }
            }
            Formula::Clamp(a, low, high) => match a.at(point) {
                a if a.value < *low => Dual::constant(*low),
                a if a.value > *high => Dual::constant(*high),
                a => a,
            },
        }
    }
}

fn formulas() -> impl Strategy<Value = Formula> {
    let leaf = prop_oneof![
        (0..4_usize).prop_map(Formula::Variable),
        (-30..30_i32).prop_map(|tenths| Formula::Number(f64::from(tenths) / 10.0)),
    ];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let boxed = inner.prop_map(Box::new);
        prop_oneof![
            (0..UNARY.len(), boxed.clone()).prop_map(|(k, a)| Formula::Unary(UNARY[k], a)),
            (0..BINARY.len(), boxed.clone(), boxed.clone())
                .prop_map(|(k, a, b)| Formula::Binary(BINARY[k], a, b)),
            (boxed.clone(), boxed.clone(), boxed.clone()).prop_map(|(a, b, c)| Formula::If(a, b, c)),
            boxed.prop_map(|a| Formula::Clamp(a, -0.7, 1.1)),
        ]
    })
}

/// Value, derivatives with respect to x1, x2 and u, and the rate of the output while time alone goes on.
fn exact(model: &Equations, [x1, x2, u, time]: [f64; 4]) -> (f64, [f64; 4]) {
    let mut y = [0.0];
    model.output(time, &[x1, x2], &[u], &mut y);
    let slopes = model.slopes().unwrap();
    let (mut matrices, mut rates) = (StateSpace::default(), [0.0]);
    slopes.linearize(time, &[x1, x2], &[u], &mut matrices);
    slopes.rates(time, &[x1, x2], &[u], &[0.0, 0.0], &mut rates);
    let mut feed_through = Matrix::default();
    slopes.feed_through(time, &[x1, x2], &[u], &mut feed_through);
    assert_eq!(feed_through.as_slice()[0].to_bits(), matrices.d[(0, 0)].to_bits());
    (y[0], [matrices.c[(0, 0)], matrices.c[(0, 1)], matrices.d[(0, 0)], rates[0]])
}

fn model(formula: &str) -> Result<Equations, String> {
    let text =
        format!("input u\noutput y\nder(x1) = 0\nder(x2) = 0\ny = {formula}\nstate x1 = 0.4, x2 = -0.6");
    Equations::new(&Source::new(text)).map_err(|mistakes| mistakes[0].what.clone())
}

fn agree(own: f64, exact: f64) -> bool {
    (own - exact).abs() <= 1e-9 * exact.abs().max(1.0) || !exact.is_finite() || exact.abs() > 1e12
}

#[test]
fn derivatives_of_every_function() {
    let of = |name: &'static str, a: f64| {
        let inner = Formula::Binary("+", Box::new(Formula::Variable(0)), Box::new(Formula::Number(a)));
        let outer = Formula::Binary("*", Box::new(inner), Box::new(Formula::Variable(2)));
        Formula::Unary(name, Box::new(outer))
    };
    for name in UNARY {
        let formula = of(name, 0.1);
        check(&formula, [0.3, -0.2, 0.7, 1.3]);
    }
    for name in BINARY {
        let a =
            Box::new(Formula::Binary("+", Box::new(Formula::Variable(0)), Box::new(Formula::Variable(2))));
        let b =
            Box::new(Formula::Binary("*", Box::new(Formula::Variable(3)), Box::new(Formula::Variable(1))));
        check(&Formula::Binary(name, a.clone(), b.clone()), [0.3, -0.2, 0.7, 1.3]);
        check(&Formula::Binary(name, b, a), [0.3, 0.2, 0.7, 1.3]);
    }
    for exponent in [-3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 2.5, 7.0] {
        let power = Formula::Binary("^", Box::new(Formula::Variable(0)), Box::new(Formula::Number(exponent)));
        check(&power, [0.3, -0.2, 0.7, 1.3]);
    }
}

fn check(formula: &Formula, point: [f64; 4]) {
    let (value, slopes) = exact(&model(&formula.to_string()).unwrap(), point);
    let dual = formula.at(&point);
    assert!(agree(value, dual.value), "{formula}: {value} against {}", dual.value);
    for (own, exact) in slopes.iter().zip(dual.slopes) {
        assert!(agree(*own, exact), "{formula}: {slopes:?} against {:?}", dual.slopes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn derivatives_of_random_formulas(formula in formulas(), point in prop::array::uniform4(-2.0..2.0_f64)) {
        let dual = formula.at(&point);
        prop_assume!(dual.value.is_finite() && dual.slopes.iter().all(|slope| slope.is_finite()));
        prop_assume!(dual.value.abs() < 1e6 && dual.slopes.iter().all(|slope| slope.abs() < 1e6));
        // One that is never finite is refused.
        let Ok(model) = model(&formula.to_string()) else { return Ok(()) };
        let (value, slopes) = exact(&model, point);
        prop_assert!(agree(value, dual.value), "{formula}: {value} against {}", dual.value);
        for (own, exact) in slopes.iter().zip(dual.slopes) {
            prop_assert!((own - exact).abs() <= 1e-6 * exact.abs().max(1.0), "{formula}: {slopes:?} against {:?}", dual.slopes);
        }
    }
}

/// The side that is not taken may have any slope: the square root of 0 has an infinite one.
#[test]
fn slopes_of_the_other_side_do_no_harm() {
    let stiffness = model("max(min(3 * abs(x1)^0.5, 2), 0.5) * u").unwrap();
    assert_eq!(exact(&stiffness, [0.0, 0.0, 1.5, 0.0]), (0.75, [0.0, 0.0, 0.5, 0.0]));
    let chosen = model("if x1 > 0 then sqrt(x1) else u").unwrap();
    assert_eq!(exact(&chosen, [0.0, 0.0, 1.5, 0.0]), (1.5, [0.0, 0.0, 1.0, 0.0]));
}

#[test]
fn maps_have_slopes() {
    let map = |name: &str, y: Option<Vec<f64>>, values: Vec<f64>| MapConfig {
        name: name.into(),
        x: vec![0.0, 1.0, 2.0],
        y,
        values,
        between: Between::Monotone,
        outside: Outside::Extrapolate,
    };
    let source = Source {
        maps: vec![
            map("f", None, vec![0.0, 1.0, 4.0]),
            map("g", Some(vec![0.0, 2.0]), vec![0.0, 2.0, 1.0, 5.0, 3.0, 9.0]),
        ],
        ..Source::new("input u\noutput y\ny = f(x1 * u) + g(x1, u)\nder(x1) = 0\nder(x2) = 0")
    };
    let model = Equations::new(&source).unwrap();
    let h = 1e-6;
    for (x, u) in [(0.4, 1.2), (1.7, 0.3), (2.6, 2.5), (-0.4, 1.0)] {
        let at = |x: f64, u: f64| exact(&model, [x, 0.0, u, 0.0]).0;
        let (_, [slope, _, gain, _]) = exact(&model, [x, 0.0, u, 0.0]);
        assert!((slope - (at(x + h, u) - at(x - h, u)) / (2.0 * h)).abs() < 1e-6, "({x}, {u})");
        assert!((gain - (at(x, u + h) - at(x, u - h)) / (2.0 * h)).abs() < 1e-6, "({x}, {u})");
    }
}

/// The Jacobian for the solver is that of the equations; derivatives see what is sampled as a lag.
#[test]
fn sampled_variables_are_lags_to_derivatives_alone() {
    let model = compiled(
        "input u
         parameter T = 0.01
         der(x) = n - x^3
         state x = 2
         when every(T) then n = 3 * u - x + n end",
    );
    let (x, u) = ([2.0, 5.0], [1.0]);
    let slopes = model.slopes().unwrap();
    let mut jacobian = [0.0; 4];
    slopes.jacobian(0.0, &x, &u, &mut jacobian);
    assert_eq!(jacobian, [-12.0, 1.0, 0.0, 0.0]);
    let mut matrices = StateSpace::default();
    slopes.linearize(0.0, &x, &u, &mut matrices);
    assert_eq!(matrices.a.as_slice()[..2], [-12.0, 1.0]);
    let lag: Vec<f64> = matrices.a.as_slice()[2..].iter().chain(matrices.b.as_slice()).copied().collect();
    for (own, exact) in lag.iter().zip([-100.0, 0.0, 0.0, 300.0]) {
        assert!((own - exact).abs() < 1e-9, "{lag:?}");
    }
    let mut dx = [0.0; 2];
    model.smooth_derivative(0.0, &x, &u, &mut dx);
    assert_eq!(dx[0], -3.0);
    assert!((dx[1] - 100.0).abs() < 1e-9);
}
