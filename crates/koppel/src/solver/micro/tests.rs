//! Orders, tolerances, stiff problems and the contract of all micro solvers.

mod behaviour;

use super::super::rhs::Point;
use super::*;
use std::f64::consts::PI;

type Jacobian = fn(&[f64], &mut [f64]);

struct Problem<F> {
    dim: usize,
    f: F,
    /// The Jacobian at a state, where differences will not do.
    jacobian: Option<Jacobian>,
    evaluations: usize,
}

impl<F: FnMut(f64, &[f64], &mut [f64])> Problem<F> {
    fn new(dim: usize, f: F) -> Problem<F> {
        Problem { dim, f, jacobian: None, evaluations: 0 }
    }
}

impl<F: FnMut(f64, &[f64], &mut [f64])> Rhs for Problem<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn derivative(&mut self, t: f64, x: &[f64], dx: &mut [f64]) {
        self.evaluations += 1;
        (self.f)(t, x, dx);
    }

    fn jacobian(&mut self, at: &Point<'_>, jac: &mut [f64], scratch: &mut [f64]) {
        match self.jacobian {
            Some(exact) => exact(at.state, jac),
            None => Differences(self).jacobian(at, jac, scratch),
        }
    }
}

/// The default Jacobian of a problem that overrides it.
struct Differences<'a, F>(&'a mut Problem<F>);

impl<F: FnMut(f64, &[f64], &mut [f64])> Rhs for Differences<'_, F> {
    fn dim(&self) -> usize {
        self.0.dim
    }

    fn derivative(&mut self, t: f64, x: &[f64], dx: &mut [f64]) {
        self.0.derivative(t, x, dx);
    }
}

/// e^{sin t} twice, once driven by the state (nonlinear), once by time, with the oscillator that drives it.
fn swelling(t: f64, x: &[f64], dx: &mut [f64]) {
    dx.copy_from_slice(&[x[0] * x[2], x[1] * t.cos(), -x[3], x[2]]);
}

fn swelling_solution(t: f64) -> Vec<f64> {
    let (sine, cosine) = t.sin_cos();
    vec![sine.exp(), sine.exp(), cosine, sine]
}

/// Nonlinear and smooth, for the contract.
fn circling(t: f64, x: &[f64], dx: &mut [f64]) {
    dx[0] = x[1] * (1.0 + 0.2 * x[0] * x[2]);
    dx[1] = -x[0] * (1.0 + 0.2 * x[0] * x[2]);
    dx[2] = x[1] * x[1] - t.cos() * x[2];
}

/// Largest error over the whole run at the micro steps.
fn largest_error(
    config: SolverConfig,
    dim: usize,
    f: impl FnMut(f64, &[f64], &mut [f64]),
    end: f64,
    exact: impl Fn(f64) -> Vec<f64>,
) -> f64 {
    let mut solver = Solver::new(&config, dim).unwrap();
    let mut x = exact(0.0);
    let mut worst: f64 = 0.0;
    let mut observe = |t: f64, x: &[f64]| {
        let error = x.iter().zip(exact(t)).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        worst = worst.max(error);
    };
    solver.advance(&mut Problem::new(dim, f), 0.0, end, &mut x, &mut observe).unwrap();
    worst
}

fn fixed_tolerances(step: f64) -> Tolerances {
    Tolerances {
        rtol: 1e9,
        atol: 1e9,
        max_step: Some(step),
        initial_step: Some(step),
        ..Tolerances::default()
    }
}

fn assert_order(order: f64, config: impl Fn(f64) -> SolverConfig, steps: &[f64]) {
    let errors: Vec<f64> =
        steps.iter().map(|h| largest_error(config(*h), 4, swelling, 10.0, swelling_solution)).collect();
    for (h, e) in steps.windows(2).zip(errors.windows(2)) {
        let slope = (e[0] / e[1]).ln() / (h[0] / h[1]).ln();
        eprintln!("order {order}: h = {:.5}, error {:.3e}, slope {slope:.3}", h[1], e[1]);
        assert!((slope - order).abs() < 0.1, "slope {slope} between {h:?}, errors {errors:?}");
    }
}

fn halvings(first: f64, count: i32) -> Vec<f64> {
    (0..count).map(|k| first / 2f64.powi(k)).collect()
}

#[test]
fn orders_are_those_of_the_books() {
    assert_order(1.0, |step| SolverConfig::Euler { step }, &halvings(1.0 / 1024.0, 5));
    assert_order(4.0, |step| SolverConfig::Rk4 { step }, &halvings(1.0 / 16.0, 5));
    // between these the error is neither far from its leading term nor near round-off
    let steps = [32.0, 40.0, 52.0, 66.0, 80.0].map(|count| 1.0 / count);
    assert_order(5.0, |step| SolverConfig::Adaptive(fixed_tolerances(step)), &steps);
    assert_order(4.0, |step| SolverConfig::Stiff(fixed_tolerances(step)), &halvings(1.0 / 8.0, 5));
}

fn oscillator(omega: f64) -> impl FnMut(f64, &[f64], &mut [f64]) {
    move |_, x, dx| {
        dx[0] = x[1];
        dx[1] = -omega * omega * x[0];
    }
}

fn tolerance(rtol: f64) -> Tolerances {
    Tolerances { rtol, atol: rtol, ..Tolerances::default() }
}

#[test]
fn oscillator_stays_within_ten_tolerances_of_the_closed_form() {
    for rtol in [1e-4, 1e-6, 1e-8, 1e-10] {
        for config in [SolverConfig::Adaptive(tolerance(rtol)), SolverConfig::Stiff(tolerance(rtol))] {
            let exact = |t: f64| vec![(2.0 * t).cos(), -2.0 * (2.0 * t).sin()];
            let error = largest_error(config, 2, oscillator(2.0), PI, exact);
            eprintln!("oscillator, {config:?}: {:.2} tolerances", error / rtol);
            assert!(error < 10.0 * rtol, "{error:e} with {config:?}");
        }
    }
}

/// Eccentric Kepler orbit: back at its start after 2π.
fn kepler(_: f64, x: &[f64], dx: &mut [f64]) {
    let cube = (x[0] * x[0] + x[1] * x[1]).powf(1.5);
    dx.copy_from_slice(&[x[2], x[3], -x[0] / cube, -x[1] / cube]);
}

#[test]
fn error_follows_the_tolerance_on_an_eccentric_orbit() {
    let start = [0.5, 0.0, 0.0, 3f64.sqrt()];
    let mut errors = vec![];
    for rtol in [1e-5, 1e-7, 1e-9, 1e-11] {
        let mut solver = Solver::new(&SolverConfig::Adaptive(tolerance(rtol)), 4).unwrap();
        let mut x = start;
        let mut problem = Problem::new(4, kepler);
        solver.advance(&mut problem, 0.0, 2.0 * PI, &mut x, &mut |_, _| {}).unwrap();
        let error = x.iter().zip(start).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        eprintln!("kepler {rtol:e}: {:.2} tolerances, {} evaluations", error / rtol, problem.evaluations);
        errors.push(error / rtol);
    }
    // A change Δv of the speed v at the start changes the time of return by 6π v Δv, hence the speed there by the
    // acceleration 4 times that: the orbit itself turns one tolerance into 24π√3 = 131 of them.
    let amplification = 24.0 * PI * 3f64.sqrt();
    assert!(errors.iter().all(|ratio| *ratio < 10.0 * amplification), "{errors:?}");
    let (least, most) = errors.iter().fold((f64::MAX, 0.0f64), |(a, b), e| (a.min(*e), b.max(*e)));
    assert!(most < 3.0 * least, "error is not proportional to the tolerance: {errors:?}");
}

#[test]
fn arenstorf_orbit_closes() {
    let mu = 0.012277471;
    let f = move |_: f64, x: &[f64], dx: &mut [f64]| {
        let d1 = ((x[0] + mu).powi(2) + x[1] * x[1]).powf(1.5);
        let d2 = ((x[0] - 1.0 + mu).powi(2) + x[1] * x[1]).powf(1.5);
        let (near, far) = ((1.0 - mu) / d1, mu / d2);
        dx[0] = x[2];
        dx[1] = x[3];
        dx[2] = x[0] + 2.0 * x[3] - near * (x[0] + mu) - far * (x[0] - 1.0 + mu);
        dx[3] = x[1] - 2.0 * x[2] - (near + far) * x[1];
    };
    let start = [0.994, 0.0, 0.0, -2.001_585_106_379_082_5];
    let mut x = start;
    let mut problem = Problem::new(4, f);
    let mut solver = Solver::new(&SolverConfig::Adaptive(tolerance(1e-11)), 4).unwrap();
    solver.advance(&mut problem, 0.0, 17.065_216_560_157_964, &mut x, &mut |_, _| {}).unwrap();
    let miss = (x[0] - start[0]).hypot(x[1] - start[1]);
    eprintln!("arenstorf: missed by {miss:.2e}, {} evaluations", problem.evaluations);
    assert!(miss < 1e-5, "missed by {miss}");
}

/// Van der Pol with μ = 1000 in scaled time; reference: Test Set for IVP Solvers (Bari), problem VDPOL, t = 2.
/// An explicit method would need millions of steps.
#[test]
fn van_der_pol_meets_the_test_set() {
    let f = |_: f64, x: &[f64], dx: &mut [f64]| {
        dx[0] = x[1];
        dx[1] = ((1.0 - x[0] * x[0]) * x[1] - x[0]) / 1e-6;
    };
    for rtol in [1e-5, 1e-7, 1e-9] {
        let mut x = [2.0, 0.0];
        let mut problem = Problem::new(2, f);
        let mut solver = Solver::new(&SolverConfig::Stiff(tolerance(rtol)), 2).unwrap();
        let mut steps = 0;
        solver.advance(&mut problem, 0.0, 2.0, &mut x, &mut |_, _| steps += 1).unwrap();
        let error =
            (x[0] / 1.706_167_732_170_483 - 1.0).abs().max((x[1] / -0.892_809_701_024_797_5 - 1.0).abs());
        eprintln!("van der pol {rtol:e}: {error:.2e}, {steps} steps, {} evaluations", problem.evaluations);
        assert!(error < 10.0 * rtol && steps < 20_000, "{error:e} in {steps} steps at {rtol:e}");
    }
}

/// Robertson; reference: Test Set for IVP Solvers (Bari), problem ROBER, t = 1e11; Hairer & Wanner II, IV.1, t = 40.
#[test]
fn robertson_meets_the_test_set() {
    let f = |_: f64, x: &[f64], dx: &mut [f64]| {
        let (slow, fast, middle) = (0.04 * x[0], 3e7 * x[1] * x[1], 1e4 * x[1] * x[2]);
        dx.copy_from_slice(&[-slow + middle, slow - middle - fast, fast]);
    };
    let references = [
        (40.0, [0.715_827_068_8, 0.918_553_476_5e-5, 0.284_163_745_7]),
        (1e11, [0.208_334_014_970_125_5e-7, 0.833_336_077_033_471_3e-13, 0.999_999_979_166_505]),
    ];
    for (end, reference) in references {
        let tolerances = Tolerances { rtol: 1e-7, atol: 1e-16, ..Tolerances::default() };
        let mut x = [1.0, 0.0, 0.0];
        let mut steps = 0;
        let mut solver = Solver::new(&SolverConfig::Stiff(tolerances), 3).unwrap();
        let mut problem = Problem::new(3, f);
        problem.jacobian = (end > 100.0).then_some(robertson_jacobian);
        solver.advance(&mut problem, 0.0, end, &mut x, &mut |_, _| steps += 1).unwrap();
        let error = x.iter().zip(reference).map(|(x, y)| (x / y - 1.0).abs()).fold(0.0, f64::max);
        eprintln!("robertson {end:e}: {error:.2e} in {steps} steps");
        assert!(error < 1e-5 && steps < 2000, "{error:e} in {steps} steps at {end:e}");
    }
}

/// Prothero & Robinson: λ (x - φ(t)) + φ'(t) with the solution φ; explicit methods need h < 3.3/|λ|.
#[test]
fn prothero_robinson_is_stable_at_long_steps() {
    let lambda = -1e6;
    let f = move |t: f64, x: &[f64], dx: &mut [f64]| dx[0] = lambda * (x[0] - t.sin()) + t.cos();
    let mut before = f64::INFINITY;
    for h in halvings(0.1, 4) {
        let error = largest_error(SolverConfig::Stiff(fixed_tolerances(h)), 1, f, 10.0, |t| vec![t.sin()]);
        eprintln!("prothero-robinson h = {h}: {error:.2e}");
        assert!(error < 1e-5 * h && error < before, "{error:e} at {h}");
        before = error;
    }
}

fn robertson_jacobian(x: &[f64], jac: &mut [f64]) {
    let (fast, middle, last) = (6e7 * x[1], 1e4 * x[1], 1e4 * x[2]);
    jac.copy_from_slice(&[-0.04, last, middle, 0.04, -fast - last, -middle, 0.0, fast, 0.0]);
}
