//! Problems on which no method was tuned: written down before any was run on them.

use super::equations::{Sampled, model};
use koppel::system::{Connection, System, SystemBuilder};

/// A system, how long it runs, and the smallest step it is tried at; larger ones double it.
pub(crate) struct Fresh {
    pub(crate) name: String,
    pub(crate) build: Box<dyn Fn() -> System>,
    pub(crate) stop: f64,
    pub(crate) smallest: f64,
    pub(crate) doublings: u32,
}

pub(crate) fn fresh(
    name: &str,
    stop: f64,
    smallest: f64,
    doublings: u32,
    build: impl Fn() -> System + 'static,
) -> Fresh {
    Fresh { name: name.into(), build: Box::new(build), stop, smallest, doublings }
}

pub(crate) fn wire(from: &str, to: &str) -> Connection {
    Connection::new(from, to)
}

/// All but the random networks, their stiffnesses, gains, inertias and starts multiplied or divided by `v`.
pub(crate) fn problems(v: f64) -> Vec<Fresh> {
    vec![
        fresh("drive line of three, torque for speed", 3.0, 1e-3, 8, move || drive_line(v)),
        fresh("chain of four masses", 4.0, 2e-3, 8, move || chain(v)),
        fresh("two rooms and a heater", 4000.0, 5.0, 7, move || rooms(v)),
        fresh("motor, controller and fan", 4.0, 2e-3, 8, move || fan(v)),
        fresh("ladder of six sections", 0.2, 1e-4, 8, move || ladder(v)),
        fresh("mass against a stiff stop", 2.0, 2e-4, 8, move || stop(v)),
        fresh("heater with a relay", 400.0, 0.25, 8, move || relay(v)),
        fresh("sampled controller and plant", 3.0, 5e-3, 6, move || sampled(v)),
        fresh("backlash between two inertias", 3.0, 1e-3, 8, move || backlash(v)),
        fresh("predator and prey", 30.0, 0.02, 7, move || predators(v)),
        fresh("coupled Duffing oscillators", 20.0, 0.01, 7, move || duffing(v)),
        fresh("pump, line and cylinder", 1.0, 2e-4, 8, move || hydraulic(v)),
    ]
}

/// Motor inertia, shaft with gear, load with friction.
fn drive_line(v: f64) -> System {
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
fn chain(v: f64) -> System {
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
fn rooms(v: f64) -> System {
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

/// Armature, speed controller, fan with a torque that grows with the square of speed.
fn fan(v: f64) -> System {
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

/// Each section: a coil from the voltage before it, a capacitor to ground.
fn ladder(v: f64) -> System {
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

/// A mass on a spring falls against a sprung plate.
fn stop(v: f64) -> System {
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
fn relay(v: f64) -> System {
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

fn sampled(v: f64) -> System {
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
fn backlash(v: f64) -> System {
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

fn predators(v: f64) -> System {
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

fn duffing(v: f64) -> System {
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
fn hydraulic(v: f64) -> System {
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
