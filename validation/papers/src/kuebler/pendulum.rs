//! The double pendulum: uncut by hand, cut by the engine.

use crate::cases::{Case, case};
use koppel::analysis::choose_filter;
use koppel::linalg::{Matrix, eigenvalues};
use koppel::record::Record;
use koppel::run::{AccelerationKind, IterationConfig, IterationKind, Parallel, Reading, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{FilterConfig, VariableId, VariableKind};

use crate::Result;

/// How long runs are, in s. The paper does not say.
pub(super) const STOP: f64 = 2.0;

/// How the loop is treated.
#[derive(Clone, Debug)]
pub(super) enum Way {
    Plain,
    Iterated,
    /// PT2 with its poles at 45 degrees and this corner frequency, in rad/s, on the force.
    Filtered(f64),
}

/// Angles over time.
pub(super) struct Swing {
    pub(super) times: Vec<f64>,
    /// Upper and lower.
    pub(super) angles: Vec<[f64; 2]>,
    /// False once an acceleration went beyond 1e6 m/s², or numbers were none.
    pub(super) is_bounded: bool,
    /// Mean evaluations of the loop per step.
    pub(super) evaluations: f64,
}

fn cut(beta: f64, way: &Way, step: f64) -> Result<Case> {
    let mut case = case("double-pendulum")?;
    for part in &mut case.parts {
        part.solver = SolverConfig::Euler { step };
        if part.name == "upper" {
            part.parameters.insert("beta".into(), beta);
        }
    }
    if let Way::Filtered(omega) = way {
        for connection in case.connections.iter_mut().filter(|c| c.to.starts_with("upper")) {
            connection.filter = Some(FilterConfig::pt2(*omega));
        }
    }
    Ok(case)
}

/// Euler's method with one micro step per macro step, constant inputs, outputs read stale, as in 5.3.
fn settings(way: &Way, step: f64, stop: f64) -> RunConfig {
    let mut config =
        RunConfig { reading: Reading::Stale, threads: Parallel::Never, ..RunConfig::new(stop, step) };
    config.record = Record::Many(["upper.alpha", "lower.alpha", "upper.a1"].map(str::to_owned).to_vec());
    if matches!(way, Way::Iterated) {
        let iteration = IterationConfig::new(IterationKind::Outputs, AccelerationKind::Broyden);
        config.iteration = Some(IterationConfig { tolerance: 1e-8, ..iteration });
    }
    config
}

/// Where the angle of a pendulum is found.
fn place(run: &Run, name: &str) -> Result<(usize, VariableId)> {
    let id = run.graph().find(name)?;
    let index = run.graph().ports(id).locals.iter().position(|v| v.name == "alpha").unwrap_or(0);
    Ok((id, VariableId { kind: VariableKind::Local, index }))
}

/// A run of the engine until `stop`, or until it has left all bounds.
pub(super) fn swing(beta: f64, way: &Way, step: f64, stop: f64) -> Result<Swing> {
    let config = settings(way, step, stop);
    let mut run = Run::new(cut(beta, way, step)?.system()?, &config)?;
    let mut swing = Swing { times: Vec::new(), angles: Vec::new(), is_bounded: true, evaluations: 0.0 };
    let places = [place(&run, "upper")?, place(&run, "lower")?];
    let note = |run: &mut Run, swing: &mut Swing| -> Result<()> {
        let mut angles = [f64::NAN; 2];
        for (angle, (id, variable)) in angles.iter_mut().zip(places) {
            *angle = run.value(id, variable)?;
        }
        swing.times.push(run.time());
        swing.angles.push(angles);
        Ok(())
    };
    note(&mut run, &mut swing)?;
    while !run.is_done() {
        let is_far = |run: &Run| (0..2).any(|id| run.outputs(id).iter().any(|a| a.is_nan() || a.abs() > 1e6));
        if run.advance().is_err() || is_far(&run) {
            swing.is_bounded = false;
            break;
        }
        note(&mut run, &mut swing)?;
    }
    if let Some(work) = run.loop_works().next() {
        swing.evaluations = work.mean();
    }
    Ok(swing)
}

/// Largest corner frequency with which the frozen loop is stable at the start, by the engine's step matrix.
pub(super) fn frozen_limit(beta: f64, step: f64) -> Result<f64> {
    let way = Way::Filtered(1.0);
    let config = settings(&way, step, STOP);
    let mut run = Run::new(cut(beta, &way, step)?.system()?, &config)?;
    Ok(choose_filter(&mut run, &config, "upper.F1")?.limit)
}

/// Largest corner frequency with which the whole run stays bounded, to 1 %.
pub(super) fn fastest_filter(beta: f64, step: f64) -> Result<f64> {
    let is_stable =
        |omega: f64| Ok::<_, crate::Error>(swing(beta, &Way::Filtered(omega), step, STOP)?.is_bounded);
    let mut stable = 0.5 * frozen_limit(beta, step)?;
    while !is_stable(stable)? {
        stable *= 0.5;
    }
    let mut unstable = 2.0 * stable;
    // Without limit where no filter is needed: at 20 / H a filter acts within a step only.
    while is_stable(unstable)? {
        (stable, unstable) = (unstable, 2.0 * unstable);
        if stable * step > 20.0 {
            return Ok(stable);
        }
    }
    while unstable > 1.01 * stable {
        let middle = (stable * unstable).sqrt();
        if is_stable(middle)? { stable = middle } else { unstable = middle }
    }
    Ok(stable)
}

/// The largest stable ω, in rad/s, if the filter is solved by Euler's method with the macro step: all roots of
/// δ³ + (1+√2w)δ² + (√2w+w²)δ + w²(1+b) within |1 + δ| < 1, w = ω H.
pub(super) fn euler_limit(b: f64, step: f64) -> Result<f64> {
    let (mut low, mut high) = (1e-4, 2.0);
    for _ in 0..60 {
        let w: f64 = 0.5 * (low + high);
        let r = 2_f64.sqrt() * w;
        let matrix = Matrix::from_slice(
            3,
            3,
            &[-(1.0 + r), -(r + w * w), -w * w * (1.0 + b), 1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        );
        if eigenvalues(&matrix)?.iter().all(|z| (1.0 + z.re).hypot(z.im) < 1.0) { low = w } else { high = w }
    }
    Ok(low / step)
}

/// The largest stable ω, in rad/s, of a run by hand in which Euler's method solves the filter too, to 1 %.
pub(super) fn fastest_euler_filter(beta: f64, step: f64) -> f64 {
    let (mut stable, mut unstable) = (10.0, 1.0 / step);
    while unstable > 1.01 * stable {
        let middle = f64::sqrt(stable * unstable);
        if is_bounded_by_hand(beta, middle, step) { stable = middle } else { unstable = middle }
    }
    stable
}

/// Both pendulums and the filter by Euler's method: the upper one reads the filter's state, the lower one gives its force with the
/// acceleration held over the step.
fn is_bounded_by_hand(beta: f64, omega: f64, step: f64) -> bool {
    let (g, upper, damping) = (9.81, 1.0 / beta, 0.5 / beta);
    let [mut a1, mut w1, mut a2, mut w2] = START;
    let force = |a2: f64, w2: f64, [u1, u2]: [f64; 2]| {
        let size = u1 * a2.sin() - u2 * a2.cos() - w2 * w2 - g * a2.cos();
        [-a2.sin() * size, a2.cos() * size]
    };
    let turn = |a1: f64, w1: f64, [f1, f2]: [f64; 2]| {
        (f1 * a1.cos() + (f2 - upper * g) * a1.sin() - damping * w1) / upper
    };
    let mut seen = force(a2, w2, [0.0; 2]);
    // State of the filters: value and slope.
    let (mut p, mut q) = (seen, [0.0; 2]);
    for _ in 0..(STOP / step).round() as usize {
        let t = turn(a1, w1, p);
        let given = [a1.cos() * t - a1.sin() * w1 * w1, a1.sin() * t + a1.cos() * w1 * w1];
        let fall = -(given[0] * a2.cos() + given[1] * a2.sin() + g * a2.sin());
        (a1, w1) = (a1 + step * w1, w1 + step * t);
        (a2, w2) = (a2 + step * w2, w2 + step * fall);
        for k in 0..2 {
            let slope = omega * omega * (seen[k] - p[k]) - 2_f64.sqrt() * omega * q[k];
            (p[k], q[k]) = (p[k] + step * q[k], q[k] + step * slope);
        }
        seen = force(a2, w2, given);
        if seen.iter().chain(&given).any(|v| v.is_nan() || v.abs() > 1e6) {
            return false;
        }
    }
    true
}

/// Angles and angular velocities of upper and lower pendulum.
type State = [f64; 4];

/// x' of the uncut pendulum: the tangential acceleration of the upper mass follows from one linear equation.
fn derivative([a1, w1, a2, w2]: State, beta: f64) -> State {
    let (g, upper, damping) = (9.81, 1.0 / beta, 0.5 / beta);
    let (s, c) = ((a1 - a2).sin(), (a1 - a2).cos());
    let k = c * w1 * w1 + g * a2.cos() + w2 * w2;
    let a = (-s * k - upper * g * a1.sin() - damping * w1) / (upper + s * s);
    [w1, a, w2, -(c * a - s * w1 * w1 + g * a2.sin())]
}

const START: State = [-1.0, 0.0, 0.3, 0.0];

/// The uncut pendulum by Euler's method.
pub(super) fn uncut_euler(beta: f64, step: f64, count: usize) -> Vec<[f64; 2]> {
    let mut x = START;
    let mut angles = vec![[x[0], x[2]]];
    for _ in 1..count {
        let dx = derivative(x, beta);
        x = std::array::from_fn(|i| x[i] + step * dx[i]);
        angles.push([x[0], x[2]]);
    }
    angles
}

/// And by Runge and Kutta's of order four with steps of at most 0.1 ms: its error is below 1e-9.
pub(super) fn exact(beta: f64, times: &[f64]) -> Vec<[f64; 2]> {
    let mut x = START;
    let mut angles = vec![[x[0], x[2]]];
    for two in times.windows(2) {
        let parts = ((two[1] - two[0]) / 1e-4).ceil().max(1.0);
        let h = (two[1] - two[0]) / parts;
        for _ in 0..parts as usize {
            let add = |x: State, dx: State, h: f64| -> State { std::array::from_fn(|i| x[i] + h * dx[i]) };
            let one = derivative(x, beta);
            let two = derivative(add(x, one, 0.5 * h), beta);
            let three = derivative(add(x, two, 0.5 * h), beta);
            let four = derivative(add(x, three, h), beta);
            x = std::array::from_fn(|i| x[i] + h / 6.0 * (one[i] + 2.0 * (two[i] + three[i]) + four[i]));
        }
        angles.push([x[0], x[2]]);
    }
    angles
}

/// Mean over time and both angles of |α - α_ref| / max |α_ref|.
pub(super) fn mean_error(angles: &[[f64; 2]], exact: &[[f64; 2]]) -> f64 {
    if angles.len() < exact.len() {
        return f64::INFINITY;
    }
    let of = |k: usize| {
        let largest = exact.iter().map(|a| a[k].abs()).fold(0.0, f64::max);
        let sum: f64 = angles.iter().zip(exact).map(|(a, b)| (a[k] - b[k]).abs()).sum();
        sum / exact.len() as f64 / largest
    };
    0.5 * (of(0) + of(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half the step, a sixteenth of the difference: the reference is of order four, far below all errors compared with it.
    #[test]
    fn the_reference_is_exact_enough() {
        let at = |count: usize| {
            let times: Vec<f64> = (0..=count).map(|k| k as f64 / count as f64).collect();
            exact(32.0, &times)[count]
        };
        let (coarse, fine) = (at(10_000), at(20_000));
        assert!((coarse[0] - fine[0]).abs() < 1e-9 && (coarse[1] - fine[1]).abs() < 1e-9);
    }
}
