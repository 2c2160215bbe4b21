//! What limits the step on the mass with LuGre friction: how good VFPS would be if its prediction were made with the equations
//! themselves, and with the equations linearised at the start of every step.
//!
//! `cargo run --release --package koppel-experiments --bin friction_limits`
//!
//! Both predict the whole system over a step from its true state; inputs are lines through ten nodes of that, as VFPS gives
//! them. Errors as in `steps`.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::f64::consts::TAU;

/// Mass, bristles (stiffness, damping), viscous and Coulomb friction; lag, stiffness and damping of the driver.
const MASS: f64 = 3.78;
const BRISTLES: [f64; 2] = [5e5, 316.0];
const VISCOUS: f64 = 0.4;
const COULOMB: f64 = 320.0;
const DRIVER: [f64; 3] = [0.05, 2e4, 50.0];
const NODES: usize = 10;
const MICRO: f64 = 2e-5;
const STOP: f64 = 3.0;

/// x, v, z of the mass and s of the driver.
type State = [f64; 4];

fn command(t: f64) -> f64 {
    0.05 * (TAU * t).sin()
}

/// z' and the friction.
fn friction([_, v, z, _]: State) -> (f64, f64) {
    let slip = v - BRISTLES[0] * v.abs() * z / COULOMB;
    (slip, BRISTLES[0] * z + BRISTLES[1] * slip + VISCOUS * v)
}

/// Force of the driver when it is told this motion.
fn force(s: f64, t: f64, x: f64, v: f64) -> f64 {
    let [lag, k, d] = DRIVER;
    k * (s - x) + d * ((command(t) - s) / lag - v)
}

/// The mass under a force, and the driver.
fn slopes(y: State, t: f64, force: f64) -> State {
    let (slip, friction) = friction(y);
    [y[1], (force - friction) / MASS, slip, (command(t) - y[3]) / DRIVER[0]]
}

/// Runge-Kutta 4 over `size` in micro steps.
fn advance(mut y: State, start: f64, size: f64, slopes: &dyn Fn(State, f64) -> State) -> State {
    let count = (size / MICRO).ceil();
    let h = size / count;
    let moved = |y: State, k: State, h: f64| std::array::from_fn(|i| y[i] + h * k[i]);
    for step in 0..count as usize {
        let t = start + step as f64 * h;
        let a = slopes(y, t);
        let b = slopes(moved(y, a, 0.5 * h), t + 0.5 * h);
        let c = slopes(moved(y, b, 0.5 * h), t + 0.5 * h);
        let d = slopes(moved(y, c, h), t + h);
        y = std::array::from_fn(|i| y[i] + h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]));
    }
    y
}

fn whole(y: State, t: f64) -> State {
    slopes(y, t, force(y[3], t, y[0], y[1]))
}

/// The whole system, linearised at a state.
fn linearised(at: State, t: f64) -> impl Fn(State, f64) -> State {
    const DELTAS: State = [1e-7, 1e-6, 1e-9, 1e-7];
    let base = whole(at, t);
    let columns: [State; 4] = std::array::from_fn(|k| {
        let shifted = |sign: f64| {
            let mut y = at;
            y[k] += sign * DELTAS[k];
            whole(y, t)
        };
        let (up, down) = (shifted(1.0), shifted(-1.0));
        std::array::from_fn(|i| (up[i] - down[i]) / (2.0 * DELTAS[k]))
    });
    move |y, now| {
        let moved = command(now) - command(t);
        let mut out: State =
            std::array::from_fn(|i| base[i] + (0..4).map(|k| columns[k][i] * (y[k] - at[k])).sum::<f64>());
        out[1] += DRIVER[2] / DRIVER[0] * moved / MASS;
        out[3] += moved / DRIVER[0];
        out
    }
}

/// F and s of the driver; x, v and friction of the mass.
fn outputs(y: State, force: f64) -> [f64; 5] {
    [force, y[3], y[0], y[1], friction(y).1]
}

fn error(size: f64, is_linear: bool) -> f64 {
    let steps = (STOP / size).round() as usize;
    let tau = size / NODES as f64;
    let (mut exact, mut y, mut given) = ([0.0; 4], [0.0; 4], [0.0; 3]);
    let (mut low, mut high, mut sums) = ([0.0_f64; 5], [0.0_f64; 5], [0.0; 5]);
    for step in 0..steps {
        let start = step as f64 * size;
        let equations: Box<dyn Fn(State, f64) -> State> =
            if is_linear { Box::new(linearised(y, start)) } else { Box::new(whole) };
        let mut ahead = y;
        for node in 0..NODES {
            let (t, before) = (start + node as f64 * tau, given);
            ahead = advance(ahead, t, tau, &equations);
            given = [force(ahead[3], t + tau, ahead[0], ahead[1]), ahead[0], ahead[1]];
            let rise = given[0] - before[0];
            y = advance(y, t, tau, &|y, now| slopes(y, now, before[0] + rise * (now - t) / tau));
        }
        let end = start + size;
        exact = advance(exact, start, size, &whole);
        let seen = outputs(y, force(y[3], end, given[1], given[2]));
        let wanted = outputs(exact, force(exact[3], end, exact[0], exact[1]));
        for k in 0..5 {
            sums[k] += (seen[k] - wanted[k]).abs();
            (low[k], high[k]) = (low[k].min(wanted[k]), high[k].max(wanted[k]));
        }
    }
    let of = |k: usize| sums[k] / steps as f64 / (high[k] - low[k]);
    (0.5 * (of(0) + of(1))).hypot((of(2) + of(3) + of(4)) / 3.0)
}

fn main() {
    println!("| step in ms | equations | linearised at every step |\n| --- | --- | --- |");
    for step in [20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0] {
        let show = |error: f64| if error.is_finite() { format!("{error:.4}") } else { "no end".into() };
        println!("| {step} | {} | {} |", show(error(step * 1e-3, false)), show(error(step * 1e-3, true)));
    }
}
