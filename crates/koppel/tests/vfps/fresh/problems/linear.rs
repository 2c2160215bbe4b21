//! Close to linear, with signals and changes from outside.

use super::super::equations::model;
use super::wire;
use koppel::system::{System, SystemBuilder};

/// Motor inertia, shaft with gear, load with friction.
pub(super) fn drive_line(v: f64) -> System {
    let motor = model(
        2e-4,
        1,
        1,
        &[0.0],
        move |t, x, u, dx| dx[0] = (10.0 * (t * 3.0).sin() - u[0] - 0.05 * x[0]) / 0.1,
        move |_, x, _, y| y[0] = x[0],
    );
    let shaft = model(
        2e-4,
        2,
        1,
        &[0.0],
        move |_, _, u, dx| dx[0] = u[0] - u[1],
        move |_, x, u, y| y[0] = 400.0 * v * x[0] + 0.8 * (u[0] - u[1]),
    );
    let load = model(
        2e-4,
        1,
        1,
        &[0.0],
        move |_, x, u, dx| dx[0] = (u[0] - 0.6 * x[0]) / (0.5 * v),
        move |_, x, _, y| y[0] = x[0],
    );
    SystemBuilder::new()
        .add("motor", motor)
        .add("shaft", shaft)
        .add("load", load)
        .connect(wire("shaft.y0", "motor.u0"))
        .connect(wire("motor.y0", "shaft.u0"))
        .connect(wire("load.y0", "shaft.u1"))
        .connect(wire("shaft.y0", "load.u0"))
        .build()
        .expect("wires fit")
}

/// Every mass carries the spring to its left and returns its force; the last is pushed.
pub(super) fn chain(v: f64) -> System {
    let inner = || {
        model(
            2e-4,
            3,
            3,
            &[0.0, 0.0],
            move |_, x, u, dx| {
                dx[0] = x[1];
                dx[1] = (900.0 * v * (u[0] - x[0]) + 4.0 * (u[1] - x[1]) - u[2]) / 2.0;
            },
            move |_, x, u, y| {
                y[0] = x[0];
                y[1] = x[1];
                y[2] = 900.0 * v * (u[0] - x[0]) + 4.0 * (u[1] - x[1]);
            },
        )
    };
    let first = model(
        2e-4,
        1,
        2,
        &[0.1, 0.0],
        move |_, x, u, dx| {
            dx[0] = x[1];
            dx[1] = (-200.0 * x[0] - 2.0 / v * x[1] - u[0]) / 3.0;
        },
        move |_, x, _, y| y.copy_from_slice(x),
    );
    let last = model(
        2e-4,
        2,
        1,
        &[0.0, 0.0],
        move |t, x, u, dx| {
            dx[0] = x[1];
            let push = if t > 1.0 && t < 1.2 { 60.0 } else { 0.0 };
            dx[1] = (900.0 * v * (u[0] - x[0]) + 4.0 * (u[1] - x[1]) + push) / 1.0;
        },
        move |_, x, u, y| y[0] = 900.0 * v * (u[0] - x[0]) + 4.0 * (u[1] - x[1]),
    );
    let mut builder = SystemBuilder::new()
        .add("first", first)
        .add("second", inner())
        .add("third", inner())
        .add("last", last)
        .connect(wire("second.y2", "first.u0"))
        .connect(wire("first.y0", "second.u0"))
        .connect(wire("first.y1", "second.u1"))
        .connect(wire("third.y2", "second.u2"));
    builder = builder
        .connect(wire("second.y0", "third.u0"))
        .connect(wire("second.y1", "third.u1"))
        .connect(wire("last.y0", "third.u2"))
        .connect(wire("third.y0", "last.u0"))
        .connect(wire("third.y1", "last.u1"));
    builder.build().expect("wires fit")
}

/// Temperatures in K; the second room has a window that opens.
pub(super) fn rooms(v: f64) -> System {
    let room = |window: bool| {
        let derivative = move |t: f64, x: &[f64], u: &[f64], dx: &mut [f64]| {
            let loss = if window && t > 1500.0 { 25.0 } else { 10.0 };
            let capacity = if window { 20_000.0 } else { 12_000.0 / v };
            dx[0] = (30.0 * v * (u[0] - x[0]) + u[1] - loss * (x[0] - 273.0)) / capacity;
        };
        model(1.0, 2, 1, &[288.0], derivative, move |_, x, _, y| y[0] = x[0])
    };
    let heater = model(
        1.0,
        1,
        1,
        &[0.0],
        move |_, _, u, dx| dx[0] = 0.08 * (294.0 - u[0]),
        move |_, x, u, y| y[0] = x[0] + 40.0 * v * (294.0 - u[0]),
    );
    SystemBuilder::new()
        .add("living", room(false))
        .add("sleeping", room(true))
        .add("heater", heater)
        .connect(wire("sleeping.y0", "living.u0"))
        .connect(wire("heater.y0", "living.u1"))
        .connect(wire("living.y0", "sleeping.u0"))
        .connect(wire("living.y0", "heater.u0"))
        .build()
        .expect("wires fit")
}

/// Each section: a coil from the voltage before it, a capacitor to ground.
pub(super) fn ladder(v: f64) -> System {
    let mut builder = SystemBuilder::new();
    for k in 0..6 {
        let derivative = move |t: f64, x: &[f64], u: &[f64], dx: &mut [f64]| {
            let (source, loss, leak) =
                if k == 0 { (10.0 * (200.0 * v * t).sin(), 1.0, 0.0) } else { (u[0], 0.5, x[1] / 500.0) };
            dx[0] = (source - loss * x[0] - x[1]) / (5e-3 * v);
            dx[1] = (x[0] - u[1] - leak) / 2e-4;
        };
        let section = model(2e-5, 2, 2, &[0.0, 0.0], derivative, move |_, x, _, y| y.copy_from_slice(x));
        builder = builder.add(&format!("section{k}"), section);
    }
    for k in 0..6 {
        if k > 0 {
            builder = builder.connect(wire(&format!("section{}.y1", k - 1), &format!("section{k}.u0")));
        }
        if k < 5 {
            builder = builder.connect(wire(&format!("section{}.y0", k + 1), &format!("section{k}.u1")));
        }
    }
    builder.build().expect("wires fit")
}
