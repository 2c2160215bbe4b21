//! Contact, switches and samples.

use super::super::equations::{Sampled, model};
use super::wire;
use koppel::system::{System, SystemBuilder};

/// A mass on a spring falls against a sprung plate.
pub(super) fn stop(v: f64) -> System {
    let mass = model(
        2e-5,
        1,
        2,
        &[0.2 * v, 0.0],
        move |_, x, u, dx| {
            dx[0] = x[1];
            dx[1] = (-80.0 * x[0] - 0.5 * x[1] + u[0]) / 1.0;
        },
        move |_, x, _, y| y.copy_from_slice(x),
    );
    let plate = model(
        2e-5,
        2,
        1,
        &[-0.05, 0.0],
        move |_, x, u, dx| {
            let push = (x[0] - u[0]).max(0.0);
            dx[0] = x[1];
            dx[1] = (-5e3 * (x[0] + 0.05) - 20.0 * x[1] - 2e4 * v * push) / 0.5;
        },
        move |_, x, u, y| y[0] = 2e4 * v * (x[0] - u[0]).max(0.0),
    );
    SystemBuilder::new()
        .add("mass", mass)
        .add("plate", plate)
        .connect(wire("plate.y0", "mass.u0"))
        .connect(wire("mass.y0", "plate.u0"))
        .connect(wire("mass.y1", "plate.u1"))
        .build()
        .expect("wires fit")
}

/// A body that is heated by a relay with hysteresis; the relay is a fast bistable state.
pub(super) fn relay(v: f64) -> System {
    let body = model(
        0.05,
        1,
        1,
        &[18.0],
        move |_, x, u, dx| dx[0] = (u[0] - 2.0 * (x[0] - 10.0)) / (100.0 * v),
        move |_, x, _, y| y[0] = x[0],
    );
    let relay = model(
        0.05,
        1,
        1,
        &[1.0],
        move |_, x, u, dx| dx[0] = 4.0 * (x[0] - x[0].powi(3) + 0.8 / v * (20.0 - u[0])),
        move |_, x, _, y| y[0] = 25.0 * (1.0 + (6.0 * x[0]).tanh()),
    );
    SystemBuilder::new()
        .add("body", body)
        .add("relay", relay)
        .connect(wire("relay.y0", "body.u0"))
        .connect(wire("body.y0", "relay.u0"))
        .build()
        .expect("wires fit")
}

pub(super) fn sampled(v: f64) -> System {
    let plant = model(
        5e-4,
        1,
        1,
        &[0.0, 0.0],
        move |_, x, u, dx| {
            dx[0] = x[1];
            dx[1] = 40.0 * v * (u[0] - x[0]) - 6.0 * x[1];
        },
        move |_, x, _, y| y[0] = x[0],
    );
    SystemBuilder::new()
        .add("controller", Sampled::new(0.02 * v, (0.8, 2.0 / v)))
        .add("plant", plant)
        .connect(wire("plant.y0", "controller.u0"))
        .connect(wire("controller.y0", "plant.u0"))
        .build()
        .expect("wires fit")
}

/// Two inertias with play of 0.02 rad between them.
pub(super) fn backlash(v: f64) -> System {
    let driver = model(
        2e-4,
        1,
        2,
        &[0.0, 0.0],
        move |t, x, u, dx| {
            dx[0] = x[1];
            dx[1] = (2.0 * (4.0 * t).sin() - 0.1 * x[1] - u[0]) / 0.2;
        },
        move |_, x, _, y| y.copy_from_slice(x),
    );
    let driven = model(
        2e-4,
        2,
        1,
        &[0.0, 0.0],
        move |_, x, u, dx| {
            let gap: f64 = u[0] - x[0];
            let bent = gap.signum() * (gap.abs() - 0.02 / v).max(0.0);
            dx[0] = x[1];
            dx[1] = (300.0 * v * bent - 0.3 * x[1]) / 0.1;
        },
        move |_, x, u, y| {
            let gap: f64 = u[0] - x[0];
            y[0] = 300.0 * v * gap.signum() * (gap.abs() - 0.02 / v).max(0.0);
        },
    );
    SystemBuilder::new()
        .add("driver", driver)
        .add("driven", driven)
        .connect(wire("driven.y0", "driver.u0"))
        .connect(wire("driver.y0", "driven.u0"))
        .connect(wire("driver.y1", "driven.u1"))
        .build()
        .expect("wires fit")
}
