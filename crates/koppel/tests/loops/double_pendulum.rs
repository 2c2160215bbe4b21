//! The double pendulum of Kübler & Schiehlen 2000, 5: Euler's method, constant inputs, one micro step per macro step. The
//! reference is the whole pendulum solved by Euler's method, its loop solved by hand.

use crate::cases::case;
use koppel::analysis::{choose_filter, zero_stability};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::run::{AccelerationKind, IterationConfig, IterationKind, Reading, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{FilterConfig, System};

const STEP: f64 = 1e-4;

pub(crate) fn system(beta: f64, filter: Option<FilterConfig>, step: f64) -> System {
    let mut case = case("double-pendulum").unwrap();
    for part in &mut case.parts {
        part.solver = SolverConfig::Euler { step };
        if part.name == "upper" {
            part.parameters.insert("beta".into(), beta);
        }
    }
    if let Some(filter) = filter {
        for connection in case.connections.iter_mut().filter(|c| c.to.starts_with("upper")) {
            connection.filter = Some(filter.clone());
        }
    }
    case.system().unwrap()
}

fn config(stop: f64, step: f64) -> RunConfig {
    RunConfig { reading: Reading::Stale, ..RunConfig::new(stop, step) }
}

/// Angles and angular velocities of upper and lower pendulum.
type State = [f64; 4];

/// x' of the whole pendulum: the tangential acceleration a of the upper mass follows from one linear equation.
fn derivative([a1, w1, a2, w2]: State, beta: f64) -> (State, f64) {
    let (g, upper, damping) = (9.81, 1.0 / beta, 0.5 / beta);
    let (s, c) = ((a1 - a2).sin(), (a1 - a2).cos());
    let k = c * w1 * w1 + g * a2.cos() + w2 * w2;
    let a = (-s * k - upper * g * a1.sin() - damping * w1) / (upper + s * s);
    ([w1, a, w2, -(c * a - s * w1 * w1 + g * a2.sin())], a)
}

/// Angles after `stop`, and the acceleration to the right of the upper mass.
fn monolithic_euler(beta: f64, stop: f64, step: f64) -> (State, f64) {
    let mut x = [-1.0, 0.0, 0.3, 0.0];
    for _ in 0..(stop / step).round() as usize {
        let (dx, _) = derivative(x, beta);
        x = std::array::from_fn(|i| x[i] + step * dx[i]);
    }
    let (_, a) = derivative(x, beta);
    (x, x[0].cos() * a - x[0].sin() * x[1] * x[1])
}

fn angles(run: &mut Run) -> [f64; 2] {
    ["upper", "lower"].map(|name| {
        let id = run.graph().find(name).unwrap();
        let index = run.graph().ports(id).locals.iter().position(|v| v.name == "alpha").unwrap();
        let kind = koppel::system::VariableKind::Local;
        run.value(id, koppel::system::VariableId { kind, index }).unwrap()
    })
}

fn finish(run: &mut Run) -> koppel::Result<()> {
    while !run.is_done() {
        run.advance()?;
    }
    Ok(())
}

const BETAS: [f64; 8] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

#[test]
fn iteration_agrees_with_the_monolithic_run() {
    println!("beta   kind     tolerance  torn   reuse  evaluations per step   error of the angles");
    let kinds = [IterationKind::Outputs, IterationKind::Step];
    for beta in BETAS {
        let (reference, acceleration_reference) = monolithic_euler(beta, 1.0, STEP);
        for kind in kinds {
            let ways = [(true, true), (true, false), (false, true), (false, false)];
            for (tolerance, (torn, reuse)) in [1e-8, 1e-10].into_iter().flat_map(|t| ways.map(|way| (t, way)))
            {
                let iteration = IterationConfig::new(kind, AccelerationKind::Broyden);
                let iteration = IterationConfig { torn, reuse, tolerance, ..iteration };
                // A line from u_k to u_{k+1}: Euler's method sees its start, as the monolithic run does.
                let coupling = match kind {
                    IterationKind::Outputs => CouplingConfig::zoh(),
                    IterationKind::Step => CouplingConfig::foh(StartUp::Constant),
                };
                let config = RunConfig { iteration: Some(iteration), coupling, ..config(1.0, STEP) };
                let mut run = Run::new(system(beta, None, STEP), &config).unwrap();
                finish(&mut run).unwrap();
                let found = angles(&mut run);
                let error = (found[0] - reference[0]).abs().max((found[1] - reference[2]).abs());
                let work = run.loop_works().next().unwrap().clone();
                println!(
                    "{beta:5}  {:8} {tolerance:5.0e}  {torn:5}  {reuse:5}  {:8.3} (most {})   {error:.1e}",
                    work.kind,
                    work.mean(),
                    work.most
                );
                assert_eq!(work.unconverged, 0);
                // What is left of the loop acts on the pendulum, and the more the heavier the lower mass is.
                let most = if tolerance < 1e-9 { 1e-7 } else { 1e-5 };
                assert!(error < most, "{error:e}");
                let upper = run.graph().find("upper").unwrap();
                let a1 = run.outputs(upper)[0];
                let scale = acceleration_reference.abs().max(1.0);
                assert!(
                    (a1 - acceleration_reference).abs() < 10.0 * most * scale,
                    "{a1} {acceleration_reference}"
                );
            }
        }
    }
}

#[test]
fn all_accelerations_lead_to_the_same_run() {
    use AccelerationKind::{Aitken, Broyden, FixedPoint, IqnIls, Newton};
    let (reference, _) = monolithic_euler(0.5, 1.0, STEP);
    let (heavy, _) = monolithic_euler(32.0, 1.0, STEP);
    println!("beta   acceleration  evaluations per step");
    for (beta, reference) in [(0.5, reference), (32.0, heavy)] {
        for acceleration in [FixedPoint, Aitken, Broyden, IqnIls, Newton] {
            let iteration = IterationConfig::new(IterationKind::Outputs, acceleration);
            let iteration = IterationConfig { tolerance: 1e-10, max_iterations: 100, ..iteration };
            let config = RunConfig { iteration: Some(iteration), ..config(1.0, STEP) };
            let mut run = Run::new(system(beta, None, STEP), &config).unwrap();
            let done = finish(&mut run);
            let work = run.loop_works().next().unwrap().clone();
            println!("{beta:5}  {acceleration:?}  {:.3} (most {})", work.mean(), work.most);
            if acceleration == FixedPoint && beta > 1.0 {
                // It cannot converge, and says so.
                let error = done.unwrap_err().to_string();
                assert!(error.contains("was not solved") && error.contains("residual"), "{error}");
                continue;
            }
            done.unwrap();
            let found = angles(&mut run);
            let error = (found[0] - reference[0]).abs().max((found[1] - reference[2]).abs());
            assert!(error < 1e-7, "{acceleration:?} {error:e}");
        }
    }
}

#[test]
fn without_iteration_no_step_is_small_enough() {
    for step in [1e-3, 1e-4, 1e-5] {
        let config = config(0.05, step);
        let mut run = Run::new(system(2.0, None, step), &config).unwrap();
        let report = zero_stability(&mut run, &config);
        assert!(!report.zero_stable && (report.zero_stability_radius - 0.9636 * 2_f64.sqrt()).abs() < 1e-4);
        let largest = loop {
            if run.advance().is_err() || run.is_done() {
                break f64::INFINITY;
            }
            let a = run.outputs(0)[0].abs();
            if a > 1e6 {
                break a;
            }
        };
        // Accelerations of the pendulum itself stay below 100 m/s2.
        assert!(largest > 1e6, "{step}: {largest}");
        assert!(run.index() < 200, "{step}: after {} steps", run.index());
    }
}

#[test]
fn check_knows_the_radius_beforehand() {
    for beta in BETAS {
        let config = config(1.0, STEP);
        let mut run = Run::new(system(beta, None, STEP), &config).unwrap();
        let report = zero_stability(&mut run, &config);
        // |sin(α1 - α2)| √β
        let expected = 1.3_f64.sin() * beta.sqrt();
        assert!((report.zero_stability_radius - expected).abs() < 1e-6, "{beta}: {report:?}");
        assert_eq!(report.zero_stable, expected <= 1.0);
        assert_eq!(report.loops.len(), 1);
        // Read fresh or iterated, nothing is left of a disturbance.
        for config in [
            RunConfig { reading: Reading::Fresh, ..config.clone() },
            RunConfig {
                iteration: Some(IterationConfig::new(IterationKind::Outputs, AccelerationKind::Broyden)),
                ..config.clone()
            },
            RunConfig {
                iteration: Some(IterationConfig::new(IterationKind::Step, AccelerationKind::Broyden)),
                ..config.clone()
            },
        ] {
            let mut run = Run::new(system(beta, None, STEP), &config).unwrap();
            let report = zero_stability(&mut run, &config);
            assert!(report.zero_stable && report.zero_stability_radius < 1e-5, "{report:?}");
        }
    }
}

/// Largest error of the angles over one second.
fn filter_error(beta: f64, filter: &FilterConfig) -> f64 {
    let config = config(1.0, STEP);
    let mut run = Run::new(system(beta, Some(filter.clone()), STEP), &config).unwrap();
    let mut x = [-1.0, 0.0, 0.3, 0.0];
    let mut largest: f64 = 0.0;
    while !run.is_done() {
        run.advance().unwrap();
        let (dx, _) = derivative(x, beta);
        x = std::array::from_fn(|i| x[i] + STEP * dx[i]);
        let found = angles(&mut run);
        largest = largest.max((found[0] - x[0]).abs()).max((found[1] - x[2]).abs());
    }
    largest
}

#[test]
fn filters_are_stable_for_all_mass_ratios_and_change_the_dynamics() {
    println!("beta   omega/rad/s  limit/rad/s  Euler's limit  radius   largest error of an angle");
    let mut last = 0.0;
    for beta in BETAS {
        let config = config(1.0, STEP);
        let mut run = Run::new(system(beta, Some(FilterConfig::pt2(1.0)), STEP), &config).unwrap();
        let choice = choose_filter(&mut run, &config, "upper.F1").unwrap();
        let error = filter_error(beta, &FilterConfig::pt2(choice.omega));
        let b = beta * 1.3_f64.sin().powi(2);
        let cubic = cubic_limit(b) / STEP;
        println!(
            "{beta:5}  {:9.1}  {:9.1}  {cubic:9.1}  {:.6}  {error:.2e}",
            choice.omega, choice.limit, choice.radius
        );
        assert!(choice.radius < 1.0);
        assert!(error < 2.0 && error > last, "{beta}: {error}");
        last = error;
        // A filter that is solved exactly may be faster than one that is solved by Euler's method.
        let expected = exact_limit(b) / STEP;
        if b > 1.0 {
            assert!((choice.limit / expected - 1.0).abs() < 1e-3, "{} {expected}", choice.limit);
            assert!(choice.limit > cubic);
        }
    }
}

/// Largest w with the roots of δ³ + (1+√2w)δ² + (√2w+w²)δ + w²(1+b) within |1 + δ| < 1.
fn cubic_limit(b: f64) -> f64 {
    limit(|w| {
        let r = 2_f64.sqrt() * w;
        let rows = vec![
            vec![-(1.0 + r), -(r + w * w), -w * w * (1.0 + b)],
            vec![1.0, 0.0, 0.0],
            vec![0.0, 1.0, 0.0],
        ];
        let matrix = koppel::linalg::Matrix::from_rows(&rows).unwrap();
        let roots = koppel::linalg::eigenvalues(&matrix).unwrap();
        roots.iter().all(|z| (1.0 + z.re).hypot(z.im) < 1.0)
    })
}

/// The same for x⁺ = Φ x - b Γ c x⁻, the filter solved exactly: Φ and Γ of p'' + √2 w p' + w² p = w² u over one step, in closed form.
fn exact_limit(b: f64) -> f64 {
    limit(|w| {
        // Poles at w (-1 ± j)/√2.
        let a = w / 2_f64.sqrt();
        let (decay, sin, cos) = ((-a).exp(), a.sin(), a.cos());
        let phi = [[decay * (cos + sin), decay * sin / a], [-2.0 * a * decay * sin, decay * (cos - sin)]];
        let gamma = [1.0 - phi[0][0], -phi[1][0]];
        let rows = vec![
            vec![phi[0][0], phi[0][1], -b * gamma[0]],
            vec![phi[1][0], phi[1][1], -b * gamma[1]],
            vec![1.0, 0.0, 0.0],
        ];
        let matrix = koppel::linalg::Matrix::from_rows(&rows).unwrap();
        koppel::linalg::spectral_radius(&matrix).unwrap() < 1.0
    })
}

/// The largest stable w below 2.
fn limit(is_stable: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (1e-4, 2.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if is_stable(middle) { low = middle } else { high = middle }
    }
    low
}

#[test]
fn a_filter_that_is_too_fast_is_seen_beforehand() {
    // ω = 1900 at H = 0.1 ms: stable for β up to about 3.
    for beta in [1.0, 2.0, 8.0, 32.0] {
        let config = config(1.0, STEP);
        let build = || Run::new(system(beta, Some(FilterConfig::pt2(1900.0)), STEP), &config).unwrap();
        let report = zero_stability(&mut build(), &config);
        let mut run = build();
        let mut grows = false;
        while !grows && !run.is_done() {
            grows = run.advance().is_err() || run.outputs(0)[0].abs() > 1e4;
        }
        println!("beta {beta}: radius {}, grows {grows}", report.zero_stability_radius);
        assert_eq!(report.zero_stable, !grows, "{beta}: {report:?}");
    }
}
