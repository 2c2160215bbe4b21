//! Non-linear models against textbook results.

use super::{Numbers, parameters, range, run};
use crate::cases::case;
use koppel::coupling::CouplingConfig;
use koppel::linalg::{Matrix, eigenvalues, solve, spectral_radius};
use koppel::models::build;
use koppel::run::{Reading, RunConfig};
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{Ode, OdeModel, SystemBuilder, monolith};

/// Jacobian of f by central differences.
fn jacobian(size: usize, at: &[f64], f: impl Fn(&[f64]) -> Vec<f64>) -> Matrix {
    let mut all = Matrix::zeros(size, at.len());
    for j in 0..at.len() {
        let delta = 1e-6;
        let moved = |sign: f64| {
            let mut point = at.to_vec();
            point[j] += sign * delta;
            f(&point)
        };
        for (i, (high, low)) in moved(1.0).iter().zip(moved(-1.0)).enumerate() {
            all[(i, j)] = (high - low) / (2.0 * delta);
        }
    }
    all
}

fn starts(ode: &dyn Ode) -> Vec<f64> {
    ode.ports().locals.iter().map(|local| local.start).collect()
}

/// Genser & Benedikt 2018, (62): 9.96 / 0.0002 = 49 800 at the start; unrounded it is 46 000.
#[test]
fn stiffness_of_the_pendulum_oscillator() {
    let case = case("pendulum-oscillator").unwrap();
    let closed = monolith(&case.system().unwrap().graph, case.equations().unwrap()).unwrap();
    let a = jacobian(4, &starts(closed.as_ref()), |x| {
        let mut dx = vec![0.0; 4];
        closed.derivative(0.0, x, &[0.0; 4], &mut dx);
        dx
    });
    let (slowest, fastest) = range(eigenvalues(&a).unwrap().iter().map(|l| l.re.abs()));
    assert!((fastest - 9.96).abs() < 0.005, "{fastest}");
    assert!((fastest / slowest / 4.6e4 - 1.0).abs() < 0.02, "stiffness {}", fastest / slowest);
}

/// Linear with n = 1, and the limits hold: Genser 2020, (3.6)-(3.7).
#[test]
fn progressive_spring_force() {
    let force = |list: &[(&str, f64)], stretch: f64, rate: f64| {
        let ode = build("progressive-spring-mass", &parameters(list)).unwrap();
        let mut y = [0.0];
        ode.output(0.0, &[stretch, rate], &[0.0, 0.0], &mut y);
        y[0]
    };
    // small: lower limits; large: upper limits; between: the power law
    assert_eq!(force(&[], 1e-3, 0.0), 2.5e4 * 1e-3);
    assert_eq!(force(&[], -1.0, 0.0), -2.5e5);
    assert_eq!(force(&[], 0.0, 100.0), 3e3 * 100.0);
    assert!((force(&[], 0.04, 0.0) - 5e5 * 0.2 * 0.04).abs() < 1e-9);
    assert!((force(&[], 0.0, -4.0) + 1e3 * 2.0 * 4.0).abs() < 1e-9);
    let linear = [("nc", 1.0), ("nd", 1.0), ("ck", 1e5)];
    assert!((force(&linear, 0.3, -0.7) - (1e5 * 0.3 - 1e3 * 0.7)).abs() < 1e-9);
}

const STATE: [f64; 4] = [-1.0, 0.0, 0.3, 0.0];

fn halves(beta: f64) -> [Box<dyn Ode>; 2] {
    let upper = build("upper-pendulum", &parameters(&[("beta", beta)])).unwrap();
    [upper, build("lower-pendulum", &parameters(&[])).unwrap()]
}

/// D of one half at its state.
fn feed_through(ode: &dyn Ode, x: &[f64]) -> Matrix {
    jacobian(2, &[0.0, 0.0], |u| {
        let mut y = vec![0.0; 2];
        ode.output(0.0, x, u, &mut y);
        y
    })
}

/// Kübler & Schiehlen 2000, (40): ρ = |sin(α1 - α2)| √β, 0.9636 √β at the start.
#[test]
fn loop_gain_of_the_double_pendulum() {
    for beta in [0.5, 1.0, 2.0, 32.0] {
        let [upper, lower] = halves(beta);
        let mut d = Matrix::zeros(4, 4);
        d.set_block(0, 2, &feed_through(upper.as_ref(), &STATE[..2]));
        d.set_block(2, 0, &feed_through(lower.as_ref(), &STATE[2..]));
        let radius = spectral_radius(&d).unwrap();
        let expected = (-1.3_f64).sin().abs() * beta.sqrt();
        assert!((radius - expected).abs() < 1e-6 * expected, "β = {beta}: {radius}, expected {expected}");
        assert!((expected / beta.sqrt() - 0.9636).abs() < 5e-5);
    }
}

/// Accelerations of a double pendulum with hinge damping from Lagrange's equations, masses 1/β and 1, lengths 1:
///
///   [(m1+m2) l², m2 l² cos Δ; m2 l² cos Δ, m2 l²] (α1'', α2'')ᵀ
///     = (-m2 l² sin Δ α2'² - (m1+m2) g l sin α1 - d α1', m2 l² sin Δ α1'² - m2 g l sin α2)ᵀ,     Δ = α1 - α2
fn lagrange(beta: f64, [a1, w1, a2, w2]: [f64; 4]) -> [f64; 2] {
    let (m1, m2, d, g) = (1.0 / beta, 1.0, 0.5 / beta, 9.81);
    let (sin, cos) = (a1 - a2).sin_cos();
    let mass = Matrix::from_slice(2, 2, &[m1 + m2, m2 * cos, m2 * cos, m2]);
    let force =
        [-m2 * sin * w2 * w2 - (m1 + m2) * g * a1.sin() - d * w1, m2 * sin * w1 * w1 - m2 * g * a2.sin()];
    let found = solve(&mass, &Matrix::from_slice(2, 1, &force)).unwrap();
    [found[(0, 0)], found[(1, 0)]]
}

/// The two halves with their loop solved, u = D y + y0 on both sides, are Lagrange's double pendulum.
#[test]
fn double_pendulum_halves_make_a_whole() {
    let mut numbers = Numbers(3);
    for beta in [0.25, 1.0, 2.0, 8.0] {
        let [upper, lower] = halves(beta);
        for _ in 0..20 {
            let x: [f64; 4] = numbers.vector(4, 3.0).try_into().unwrap();
            let free = |ode: &dyn Ode, x: &[f64]| {
                let mut y = vec![0.0; 2];
                ode.output(0.0, x, &[0.0, 0.0], &mut y);
                y
            };
            let (d1, d2) = (feed_through(upper.as_ref(), &x[..2]), feed_through(lower.as_ref(), &x[2..]));
            let (a0, f0) = (free(upper.as_ref(), &x[..2]), free(lower.as_ref(), &x[2..]));
            // a = D1 (D2 a + f0) + a0
            let open = &Matrix::identity(2) - &(&d1 * &d2);
            let right: Vec<f64> = d1.mul_vec(&f0).iter().zip(&a0).map(|(p, q)| p + q).collect();
            let a = solve(&open, &Matrix::from_slice(2, 1, &right)).unwrap().col(0);
            let f: Vec<f64> = d2.mul_vec(&a).iter().zip(&f0).map(|(p, q)| p + q).collect();
            let (mut dx1, mut dx2) = ([0.0; 2], [0.0; 2]);
            upper.derivative(0.0, &x[..2], &f, &mut dx1);
            lower.derivative(0.0, &x[2..], &a, &mut dx2);
            let expected = lagrange(beta, x);
            for (found, expected) in [(dx1[1], expected[0]), (dx2[1], expected[1])] {
                assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "β = {beta}, x = {x:?}");
            }
        }
    }
}

/// The co-simulation with solved loop against Lagrange's equations, integrated here by RK4 with 0.1 ms.
#[test]
fn double_pendulum_cosimulation_converges() {
    let case = case("double-pendulum").unwrap();
    let error = |step: f64| {
        let config =
            RunConfig { step, record: koppel::record::Record::One("*.alpha".into()), ..case.run.clone() };
        let (names, table) = run(case.system().unwrap(), &config).unwrap();
        assert_eq!(names, ["upper.alpha", "lower.alpha"]);
        let mut x = STATE;
        let mut worst = 0.0_f64;
        for (k, row) in table.rows.iter().enumerate() {
            worst = worst.max((row[0] - x[0]).abs()).max((row[1] - x[2]).abs());
            if k + 1 < table.rows.len() {
                let parts = (step / 1e-4).round().max(1.0) as usize;
                (0..parts).for_each(|_| x = rk4(x, step / parts as f64));
            }
        }
        worst
    };
    let (coarse, fine) = (error(1e-3), error(1e-4));
    assert!(coarse < 6e-5 && fine < 0.02 * coarse, "{coarse:e} rad at 1 ms, {fine:e} rad at 0.1 ms");
}

/// Without solving the loop (stale) β = 2 is lost and β = 0.5 is not; with the loop solved both are fine.
/// Kübler & Schiehlen 2000, Figure 9.
#[test]
fn mass_ratio_decides_without_a_solved_loop() {
    let largest_force = |beta: f64, reading: Reading| {
        let mut case = case("double-pendulum").unwrap();
        case.parts[0].parameters = parameters(&[("beta", beta)]);
        let coupling = CouplingConfig::zoh();
        let config = RunConfig { coupling, reading, stop: 1.0, step: 1e-3, ..case.run.clone() };
        let Ok((names, table)) = run(case.system().unwrap(), &config) else { return f64::INFINITY };
        let force = names.iter().position(|name| name == "lower.F2").unwrap();
        let (low, high) = range(table.column(force));
        high.abs().max(low.abs())
    };
    for beta in [0.5, 2.0] {
        assert!(largest_force(beta, Reading::Fresh) < 50.0, "β = {beta}, solved");
    }
    assert!(largest_force(0.5, Reading::Stale) < 50.0);
    assert!(largest_force(2.0, Reading::Stale) > 1e6);
}

fn rk4(x: [f64; 4], h: f64) -> [f64; 4] {
    let f = |x: [f64; 4]| {
        let [b1, b2] = lagrange(1.0, x);
        [x[1], b1, x[3], b2]
    };
    let add = |k: [f64; 4], s: f64| std::array::from_fn(|i| x[i] + s * k[i]);
    let k1 = f(x);
    let k2 = f(add(k1, h / 2.0));
    let k3 = f(add(k2, h / 2.0));
    let k4 = f(add(k3, h));
    std::array::from_fn(|i| x[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
}

/// In steady sliding F = Fc sign v + σ2 v, and the bristles are bent by g/σ0: Chen et al. 2021, (18).
#[test]
fn lugre_steady_sliding() {
    let ode = build("lugre-mass", &parameters(&[])).unwrap();
    for v in [-2.0_f64, -0.05, 0.01, 1.0] {
        let z = 320.0 / 5e5 * v.signum();
        let (mut dx, mut y) = ([0.0; 3], [0.0; 3]);
        let friction = 320.0 * v.signum() + 0.4 * v;
        ode.derivative(0.0, &[0.0, v, z], &[friction], &mut dx);
        ode.output(0.0, &[0.0, v, z], &[friction], &mut y);
        assert!(dx[2].abs() < 1e-12 && dx[1].abs() < 1e-9, "v = {v}: z' = {}, v' = {}", dx[2], dx[1]);
        assert!((y[2] - friction).abs() < 1e-9, "v = {v}: friction {}", y[2]);
    }
}

/// The mass sticks below the break-away force: it creeps by the bristles only, and slides above it.
#[test]
fn lugre_sticks_and_slides() {
    let distance = |force: f64| {
        let ode = build("lugre-mass", &parameters(&[])).unwrap();
        let constant = koppel::signal::external::ExternalConfig::Constant { value: force };
        let model = OdeModel::new(ode, &SolverConfig::default()).unwrap();
        let system = SystemBuilder::new().add("mass", model).external("mass.F", constant).build().unwrap();
        let (_, table) = run(system, &RunConfig::new(1.0, 0.01)).unwrap();
        table.rows[table.rows.len() - 1][0]
    };
    assert!(distance(100.0) < 1e-3, "stuck at 100 N: {}", distance(100.0));
    // well above break-away: 0.5 (F - Fc)/m t² less what the viscous friction takes
    let free = 0.5 * (640.0 - 320.0) / 3.78;
    assert!((distance(640.0) / free - 0.96).abs() < 0.03, "{} of {free} m", distance(640.0));
}

/// Period of the limit cycle for μ = 1: 6.6633 s.
#[test]
fn van_der_pol_period() {
    let ode = build("van-der-pol", &parameters(&[])).unwrap();
    let solver = SolverConfig::Adaptive(Tolerances { rtol: 1e-11, atol: 1e-13, ..Tolerances::default() });
    let system = SystemBuilder::new().add("o", OdeModel::new(ode, &solver).unwrap()).build().unwrap();
    let config =
        RunConfig { record: koppel::record::Record::One("o.x".into()), ..RunConfig::new(60.0, 1e-3) };
    let (_, table) = run(system, &config).unwrap();
    let x: Vec<f64> = table.column(0).collect();
    let crossing = |k: usize| table.times[k] + 1e-3 * x[k] / (x[k] - x[k + 1]);
    let crossings: Vec<f64> =
        (0..x.len() - 1).filter(|&k| x[k] < 0.0 && x[k + 1] >= 0.0).map(crossing).collect();
    let [.., before, last] = crossings[..] else { panic!("{crossings:?}") };
    assert!((last - before - 6.6633).abs() < 5e-5, "{}", last - before);
}
