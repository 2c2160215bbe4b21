//! Not linear, but smooth.

use super::super::equations::model;
use super::wire;
use koppel::system::{System, SystemBuilder};

/// Armature, speed controller, fan with a torque that grows with the square of speed.
pub(super) fn fan(v: f64) -> System {
    let armature = model(
        2e-4,
        2,
        1,
        &[0.0],
        move |_, x, u, dx| dx[0] = (u[0] - 1.0 * x[0] - 0.5 * u[1]) / (0.05 / v),
        move |_, x, _, y| y[0] = 0.5 * x[0],
    );
    let controller = model(
        2e-4,
        1,
        1,
        &[0.0],
        move |t, _, u, dx| dx[0] = 6.0 * (if t < 2.0 { 20.0 } else { 35.0 } - u[0]),
        move |t, x, u, y| y[0] = x[0] + 1.5 * (if t < 2.0 { 20.0 } else { 35.0 } - u[0]),
    );
    let fan = model(
        2e-4,
        1,
        1,
        &[1.0],
        move |_, x, u, dx| dx[0] = (u[0] - 0.004 * v * x[0] * x[0].abs()) / 0.08,
        move |_, x, _, y| y[0] = x[0],
    );
    SystemBuilder::new()
        .add("armature", armature)
        .add("controller", controller)
        .add("fan", fan)
        .connect(wire("controller.y0", "armature.u0"))
        .connect(wire("fan.y0", "armature.u1"))
        .connect(wire("fan.y0", "controller.u0"))
        .connect(wire("armature.y0", "fan.u0"))
        .build()
        .expect("wires fit")
}

pub(super) fn predators(v: f64) -> System {
    let prey = model(
        2e-3,
        1,
        1,
        &[1.5],
        move |_, x, u, dx| dx[0] = x[0] * (1.0 - 0.7 * v * u[0]),
        move |_, x, _, y| y[0] = x[0],
    );
    let hunter = model(
        2e-3,
        1,
        1,
        &[1.0],
        move |_, x, u, dx| dx[0] = x[0] * (0.5 * v * u[0] - 0.8),
        move |_, x, _, y| y[0] = x[0],
    );
    SystemBuilder::new()
        .add("prey", prey)
        .add("hunter", hunter)
        .connect(wire("hunter.y0", "prey.u0"))
        .connect(wire("prey.y0", "hunter.u0"))
        .build()
        .expect("wires fit")
}

pub(super) fn duffing(v: f64) -> System {
    let oscillator = |start: f64| {
        model(
            2e-3,
            1,
            1,
            &[start, 0.0],
            move |t, x, u, dx| {
                dx[0] = x[1];
                dx[1] = x[0] - x[0].powi(3) - 0.2 * x[1] + 0.5 * v * (u[0] - x[0]) + 0.25 / v * t.cos();
            },
            move |_, x, _, y| y[0] = x[0],
        )
    };
    SystemBuilder::new()
        .add("first", oscillator(1.0))
        .add("second", oscillator(-0.6))
        .connect(wire("second.y0", "first.u0"))
        .connect(wire("first.y0", "second.u0"))
        .build()
        .expect("wires fit")
}

/// Pressures in bar, volumes in litres: an orifice between pump and cylinder.
pub(super) fn hydraulic(v: f64) -> System {
    let pump = model(
        2e-5,
        1,
        1,
        &[10.0],
        move |t, x, u, dx| dx[0] = 300.0 * v * ((if t > 0.5 { 1.5 } else { 1.0 }) - u[0] - 0.002 * x[0]),
        move |_, x, _, y| y[0] = x[0],
    );
    let orifice = model(
        2e-5,
        2,
        1,
        &[0.0],
        move |_, x, u, dx| {
            let drop: f64 = u[0] - u[1];
            dx[0] = (0.35 * drop.signum() * (drop.abs() + 0.01).sqrt() - x[0]) / 2e-3;
        },
        move |_, x, _, y| y[0] = x[0],
    );
    let cylinder = model(
        2e-5,
        1,
        1,
        &[8.0, 0.0, 0.0],
        move |_, x, u, dx| {
            dx[0] = 400.0 * (u[0] - x[2]);
            dx[1] = x[2];
            dx[2] = (x[0] - 6.0 * x[1] - 2.0 * x[2] - 4.0) / (0.05 * v);
        },
        move |_, x, _, y| y[0] = x[0],
    );
    SystemBuilder::new()
        .add("pump", pump)
        .add("orifice", orifice)
        .add("cylinder", cylinder)
        .connect(wire("orifice.y0", "pump.u0"))
        .connect(wire("pump.y0", "orifice.u0"))
        .connect(wire("cylinder.y0", "orifice.u1"))
        .connect(wire("orifice.y0", "cylinder.u0"))
        .build()
        .expect("wires fit")
}
