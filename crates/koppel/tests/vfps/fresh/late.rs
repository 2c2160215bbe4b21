//! Problems that were written after everything else was settled, to be run once: none was in view when anything was chosen.

use super::equations::model;
use super::problems::{Fresh, fresh, wire};
use koppel::system::{System, SystemBuilder};

/// All of them.
pub(crate) fn problems() -> Vec<Fresh> {
    vec![
        fresh("spring that stiffens a hundredfold", 4.0, 1e-3, 8, stiffening),
        fresh("clutch that closes", 3.0, 1e-3, 8, clutch),
        fresh("two balls in a trough", 3.0, 5e-4, 8, balls),
        fresh("three tanks with an overflow", 300.0, 0.1, 8, tanks),
        fresh("rectifier, capacitor and load", 0.1, 2e-5, 8, rectifier),
        fresh("heat exchanger of four cells", 200.0, 0.1, 8, exchanger),
    ]
}

/// The spring between two masses becomes stiff where it is stretched by more than 5 cm, and for good after two seconds.
fn stiffening() -> System {
    let free = model(
        2e-5,
        1,
        2,
        &[0.15, 0.0],
        |_, x, u, dx| {
            dx[0] = x[1];
            dx[1] = (u[0] - 30.0 * x[0] - 0.4 * x[1]) / 2.0;
        },
        |_, x, _, y| y.copy_from_slice(x),
    );
    let sprung = model(
        2e-5,
        2,
        1,
        &[0.0, 0.0],
        |t, x, u, dx| {
            dx[0] = x[1];
            dx[1] = (pull(t, u[0] - x[0]) + 2.0 * (u[1] - x[1]) - 60.0 * x[0]) / 1.5;
        },
        |t, x, u, y| y[0] = -pull(t, u[0] - x[0]) - 2.0 * (u[1] - x[1]),
    );
    fn pull(t: f64, stretch: f64) -> f64 {
        let stiffness = if t < 2.0 { 50.0 } else { 5000.0 };
        stiffness * stretch + 5000.0 * stretch.signum() * (stretch.abs() - 0.05).max(0.0)
    }
    SystemBuilder::new()
        .add("free", free)
        .add("sprung", sprung)
        .connect(wire("sprung.y0", "free.u0"))
        .connect(wire("free.y0", "sprung.u0"))
        .connect(wire("free.y1", "sprung.u1"))
        .build()
        .expect("wires fit")
}

/// Dry friction between an engine and a load, pressed harder and harder.
fn clutch() -> System {
    let engine = model(
        2e-4,
        1,
        1,
        &[100.0],
        |_, x, u, dx| dx[0] = (60.0 - 0.3 * x[0] - u[0]) / 0.2,
        |_, x, _, y| y[0] = x[0],
    );
    let plates = model(
        2e-4,
        2,
        1,
        &[0.0],
        |t, x, _, dx| dx[0] = ((if t > 0.5 { 80.0 } else { 0.0 }) - x[0]) / 0.1,
        |_, x, u, y| y[0] = x[0] * (2.0 * (u[0] - u[1])).tanh(),
    );
    let load = model(
        2e-4,
        1,
        1,
        &[0.0],
        |_, x, u, dx| dx[0] = (u[0] - 10.0 - 0.1 * x[0]) / 0.5,
        |_, x, _, y| y[0] = x[0],
    );
    SystemBuilder::new()
        .add("engine", engine)
        .add("plates", plates)
        .add("load", load)
        .connect(wire("plates.y0", "engine.u0"))
        .connect(wire("engine.y0", "plates.u0"))
        .connect(wire("load.y0", "plates.u1"))
        .connect(wire("plates.y0", "load.u0"))
        .build()
        .expect("wires fit")
}

/// Each is held by the trough; they push each other when closer than their diameter.
fn balls() -> System {
    let ball = |start: f64, side: f64| {
        model(
            2e-5,
            1,
            2,
            &[start, 0.0],
            move |_, x, u, dx| {
                let overlap = (0.1 - side * (u[0] - x[0])).max(0.0);
                dx[0] = x[1];
                dx[1] = -40.0 * x[0] - 0.2 * x[1] - side * 8000.0 * overlap;
            },
            |_, x, _, y| y.copy_from_slice(x),
        )
    };
    SystemBuilder::new()
        .add("left", ball(-0.4, 1.0))
        .add("right", ball(0.25, -1.0))
        .connect(wire("right.y0", "left.u0"))
        .connect(wire("left.y0", "right.u0"))
        .build()
        .expect("wires fit")
}

/// Levels in m; the flow out of a tank goes with the root of its level, the second spills into the third above 1 m.
fn tanks() -> System {
    let tank = |inflow: f64, area: f64, spills: bool| {
        model(
            0.01,
            1,
            1,
            &[0.5],
            move |t, x, u, dx| {
                let spill = if spills { 0.5 * (x[0] - 1.0).max(0.0) } else { 0.0 };
                let inflow = inflow * if t > 100.0 { 1.6 } else { 1.0 };
                dx[0] = (inflow + u[0] - 0.05 * x[0].max(0.0).sqrt() - spill) / area;
            },
            move |_, x, _, y| {
                let spill = if spills { 0.5 * (x[0] - 1.0).max(0.0) } else { 0.0 };
                y[0] = 0.05 * x[0].max(0.0).sqrt() + spill;
            },
        )
    };
    SystemBuilder::new()
        .add("upper", tank(0.03, 0.4, false))
        .add("middle", tank(0.01, 0.3, true))
        .add("lower", tank(0.0, 0.6, false))
        .connect(wire("upper.y0", "middle.u0"))
        .connect(wire("middle.y0", "lower.u0"))
        .connect(wire("lower.y0", "upper.u0").gain(0.3))
        .build()
        .expect("wires fit")
}

/// A diode feeds a capacitor, from which a motor with a coil draws.
fn rectifier() -> System {
    let diode = model(
        2e-6,
        1,
        1,
        &[0.0],
        |t, x, u, dx| {
            let drop = 24.0 * (314.0 * t).sin() - u[0];
            let current = 2.0 * (drop + (drop * drop + 0.04).sqrt());
            dx[0] = (current - x[0]) / 1e-4;
        },
        |_, x, _, y| y[0] = x[0],
    );
    let capacitor = model(
        2e-6,
        2,
        1,
        &[0.0],
        |_, x, u, dx| dx[0] = (u[0] - u[1] - x[0] / 200.0) / 4e-3,
        |_, x, _, y| y[0] = x[0],
    );
    let motor = model(
        2e-6,
        1,
        1,
        &[0.0, 0.0],
        |_, x, u, dx| {
            dx[0] = (u[0] - 1.5 * x[0] - 0.1 * x[1]) / 3e-3;
            dx[1] = (0.1 * x[0] - 1e-3 * x[1]) / 1e-4;
        },
        |_, x, _, y| y[0] = x[0],
    );
    SystemBuilder::new()
        .add("diode", diode)
        .add("capacitor", capacitor)
        .add("motor", motor)
        .connect(wire("capacitor.y0", "diode.u0"))
        .connect(wire("diode.y0", "capacitor.u0"))
        .connect(wire("motor.y0", "capacitor.u1"))
        .connect(wire("capacitor.y0", "motor.u0"))
        .build()
        .expect("wires fit")
}

/// Hot and cold water past each other: every cell takes the hot side from one neighbour and the cold side from the other.
fn exchanger() -> System {
    let mut builder = SystemBuilder::new();
    for k in 0..4 {
        let derivative = move |t: f64, x: &[f64], u: &[f64], dx: &mut [f64]| {
            let hot = if k == 0 { 80.0 + 5.0 * (0.1 * t).sin() } else { u[0] };
            let cold = if k == 3 { 15.0 } else { u[1] };
            let exchanged = 0.4 * (x[0] - x[1]);
            dx[0] = 0.5 * (hot - x[0]) - exchanged;
            dx[1] = 0.3 * (cold - x[1]) + exchanged;
        };
        let cell = model(0.01, 2, 2, &[40.0, 20.0], derivative, |_, x, _, y| y.copy_from_slice(x));
        builder = builder.add(&format!("cell{k}"), cell);
    }
    for k in 0..3 {
        builder = builder
            .connect(wire(&format!("cell{k}.y0"), &format!("cell{}.u0", k + 1)))
            .connect(wire(&format!("cell{}.y1", k + 1), &format!("cell{k}.u1")));
    }
    builder.build().expect("wires fit")
}
