//! The library of blocks: what they do, against closed forms; and their table in the documentation.

use koppel::equations::Equations;
use koppel::models;
use koppel::signal::{Samples, Segment, Step};
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{Ode, OdeModel, Subsystem};
use std::fmt::Write;
use std::path::Path;

fn model(name: &str, parameters: &[(&str, f64)]) -> OdeModel {
    let tolerances = Tolerances { rtol: 1e-10, atol: 1e-12, ..Tolerances::default() };
    let mut model = models::subsystem(name, parameters, &SolverConfig::Adaptive(tolerances)).unwrap();
    model.initialize(0.0).unwrap();
    model
}

/// Outputs at the end of steps of `size`; every input is given by its value and its slope at the begin of a step.
fn walk(
    model: &mut OdeModel,
    size: f64,
    count: u64,
    input: impl Fn(f64, usize) -> (f64, f64),
) -> Vec<Vec<f64>> {
    let (m, p) = (model.ports().inputs.len(), model.ports().outputs.len());
    (0..count)
        .map(|index| {
            let step = Step { index, start: index as f64 * size, size };
            let given = (0..m).map(|k| input(step.start, k));
            let coefficients: Vec<f64> = given.flat_map(|(value, slope)| [value, slope]).collect();
            let mut y = vec![0.0; p];
            let segment = Segment::new(&step, m, 2, &coefficients);
            model.step(&step, &segment, &mut y, &mut Samples::default()).unwrap();
            y
        })
        .collect()
}

fn close(own: f64, exact: f64, tolerance: f64, what: &str) {
    assert!((own - exact).abs() <= tolerance, "{what}: {own} against {exact}");
}

/// T² y'' + 2 D T y' + y = k for a unit step.
#[test]
fn a_second_order_lag_follows_its_step_response() {
    let mut block = model("pt2", &[("k", 2.0), ("T", 0.5), ("D", 0.3)]);
    let (w, d) = (1.0 / 0.5, 0.3_f64);
    let wd = w * (1.0 - d * d).sqrt();
    for (index, y) in walk(&mut block, 0.1, 40, |_, _| (1.0, 0.0)).iter().enumerate() {
        let t = 0.1 * (index + 1) as f64;
        let exact = 2.0 * (1.0 - (-d * w * t).exp() * ((wd * t).cos() + d * w / wd * (wd * t).sin()));
        close(y[0], exact, 1e-8, "pt2");
    }
}

/// At its limit, the integral settles where (u - wanted) / Tt balances ki e; without anti-windup it would be 200.
#[test]
fn integrals_do_not_run_away_at_the_limit() {
    for name in ["pi", "pid"] {
        let mut block = model(name, &[("kp", 1.0), ("ki", 2.0), ("high", 3.0)]);
        let last = walk(&mut block, 0.5, 40, |_, _| (5.0, 0.0)).pop().unwrap();
        // wanted = kp e + i, and (3 - wanted) / 1 + 2 * 5 = 0.
        close(last[0], 3.0, 1e-12, name);
        close(last[1], 8.0, 1e-6, name);
        let free = walk(&mut model(name, &[("high", 1e9), ("low", -1e9)]), 0.5, 4, |_, _| (1.0, 0.0));
        close(free[3][1], 2.0, 1e-7, name);
    }
}

#[test]
fn a_delay_gives_what_was_before() {
    let mut block = model("delay", &[("T", 0.3), ("y0", -7.0)]);
    let input = |t: f64, _: usize| ((3.0 * t).cos(), -3.0 * (3.0 * t).sin());
    for (index, y) in walk(&mut block, 1e-3, 1500, input).iter().enumerate() {
        let t = 1e-3 * (index + 1) as f64;
        // The cubic sees samples 2 T / 32 newer.
        if t < 0.3 * 30.0 / 32.0 {
            close(y[0], -7.0, 1e-12, "before");
        } else if t > 0.32 {
            // 0.02 (ω T / 32)^4, and the lines between the values given.
            close(y[0], (3.0 * (t - 0.3)).cos(), 1e-5, "delay");
        }
    }
}

#[test]
fn limits_zones_and_relays() {
    let ramp = |t: f64, _: usize| (t - 1.0, 1.0);
    let at = |name: &str, parameters: &[(&str, f64)]| walk(&mut model(name, parameters), 0.25, 8, ramp);
    for (index, (limited, zone)) in at("saturation", &[("low", -0.3), ("high", 0.6)])
        .iter()
        .zip(at("dead-zone", &[("low", -0.3), ("high", 0.6)]))
        .enumerate()
    {
        let u = 0.25 * (index + 1) as f64 - 1.0;
        close(limited[0], u.clamp(-0.3, 0.6), 1e-14, "saturation");
        close(zone[0], u - u.clamp(-0.3, 0.6), 1e-14, "dead zone");
    }
    let falling = |t: f64, _: usize| if t < 2.0 { (t - 1.0, 1.0) } else { (3.0 - t, -1.0) };
    let relay = walk(&mut model("relay", &[("low", -0.6), ("high", 0.6)]), 0.25, 16, falling);
    for (index, y) in relay.iter().enumerate() {
        let t = 0.25 * (index + 1) as f64;
        // On from u = 0.6 at t = 1.6 to u = -0.6 at t = 3.6.
        close(y[0], f64::from((1.6..3.6).contains(&t)), 0.0, "relay");
    }
}

#[test]
fn slow_and_loose_followers() {
    let jump = |_: f64, _: usize| (1.0, 0.0);
    let slow = walk(&mut model("rate-limiter", &[("rising", 0.5), ("T", 1e-3)]), 0.5, 5, jump);
    close(slow[2][0], 0.75, 1e-6, "limited rate");
    close(slow[4][0], 1.0, 1e-6, "arrived");
    let ramp = |t: f64, _: usize| if t < 1.0 { (t, 1.0) } else { (2.0 - t, -1.0) };
    let loose = walk(&mut model("backlash", &[("play", 0.4), ("T", 1e-4)]), 0.1, 20, ramp);
    close(loose[9][0], 0.8, 2e-4, "driven up");
    close(loose[12][0], 0.8, 2e-4, "inside the play");
    close(loose[19][0], 0.2, 2e-4, "driven down");
}

/// Mean and deviation of a long sequence, no two seeds alike, the same seed the same.
#[test]
fn noise_has_its_moments() {
    let sequence = |seed: f64| {
        let parameters = [("mean", 2.0), ("deviation", 3.0), ("T", 0.5), ("seed", seed)];
        walk(&mut model("noise", &parameters), 0.5, 4000, |_, _| (0.0, 0.0)).concat()
    };
    let one = sequence(1.0);
    let mean = one.iter().sum::<f64>() / 4000.0;
    let variance = one.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 3999.0;
    let fourth = one.iter().map(|y| (y - mean).powi(4)).sum::<f64>() / 4000.0 / variance.powi(2);
    // Four standard errors: 3/√4000, √(2/4000), √(24/4000).
    close(mean, 2.0, 0.19, "mean");
    close(variance / 9.0, 1.0, 0.09, "variance");
    close(fourth, 3.0, 0.31, "fourth moment");
    let two = sequence(2.0);
    let product = one.iter().zip(&two).map(|(a, b)| (a - 2.0) * (b - 2.0)).sum::<f64>() / 4000.0 / 9.0;
    close(product, 0.0, 0.07, "correlation of two seeds");
    assert_eq!(one, sequence(1.0));
}

#[test]
fn signals_repeat() {
    for (shape, at) in
        [(1.0, [1.0, 0.0, -1.0]), (2.0, [1.0, -1.0, -1.0]), (3.0, [1.0, 0.0, -1.0]), (4.0, [0.5, -1.0, -0.5])]
    {
        let parameters = [("shape", shape), ("amplitude", 2.0), ("offset", 1.0), ("frequency", 0.5)];
        let found = walk(&mut model("signal-generator", &parameters), 0.5, 11, |_, _| (0.0, 0.0));
        for (index, exact) in at.iter().enumerate() {
            close(found[index][0], 1.0 + 2.0 * exact, 1e-12, "signal");
            close(found[index + 4][0], found[index][0], 1e-12, "next period");
        }
    }
}

/// Speed and current at rest, and the level at rest; the heat in the body.
#[test]
fn machines_come_to_rest_where_they_must() {
    let motor = walk(&mut model("dc-motor", &[]), 0.5, 20, |_, k| ([12.0, 0.01][k], 0.0)).pop().unwrap();
    let (r, k, d, load) = (1.0, 0.05, 1e-5, 0.01);
    let w = (12.0 * k / r - load) / (d + k * k / r);
    close(motor[0], w, 1e-6 * w, "speed");
    close(motor[1], (12.0 - k * w) / r, 1e-6, "current");
    let tank = walk(&mut model("tank", &[("A", 0.01)]), 10.0, 100, |_, _| (0.004, 0.0)).pop().unwrap();
    close(tank[0], 16.0 / (2.0 * 9.81), 1e-6, "level");
    let body = walk(&mut model("thermal-capacity", &[]), 100.0, 20, |_, k| ([50.0, 300.0][k], 0.0));
    let exact = |t: f64| 310.0 - (310.0 - 293.15) * (-t * 5.0 / 1000.0).exp();
    body.iter()
        .enumerate()
        .for_each(|(k, y)| close(y[0], exact(100.0 * (k + 1) as f64), 1e-6, "temperature"));
}

/// The rows of docs/equations.md are those of the library; KOPPEL_UPDATE_SNAPSHOTS=1 writes them.
#[test]
fn the_documentation_lists_every_block() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/equations.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- begin blocks -->\n", "<!-- end blocks -->");
    let mut rows = String::from("\n| block | what it is | inputs | outputs |\n| --- | --- | --- | --- |\n");
    for block in models::blocks() {
        let model: Equations = block.build(&Default::default()).unwrap();
        let names = |list: &[koppel::system::Variable]| -> String {
            list.iter().map(|one| format!("`{}`", one.name)).collect::<Vec<_>>().join(", ")
        };
        let ports = model.ports();
        writeln!(
            rows,
            "| `{}` | {} | {} | {} |",
            block.name,
            block.description(),
            names(&ports.inputs),
            names(&ports.outputs)
        )
        .unwrap();
    }
    rows.push('\n');
    let start = text.find(begin).unwrap() + begin.len();
    let stop = text.find(end).unwrap();
    if std::env::var_os("KOPPEL_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, format!("{}{rows}{}", &text[..start], &text[stop..])).unwrap();
    } else {
        assert_eq!(&text[start..stop], rows, "KOPPEL_UPDATE_SNAPSHOTS=1 writes the table");
    }
}
