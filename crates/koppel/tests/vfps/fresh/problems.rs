//! Problems on which no method was tuned: written down before any was run on them.

// Named, because experiments take this file from elsewhere.
#[path = "problems/events.rs"]
mod events;
#[path = "problems/linear.rs"]
mod linear;
#[path = "problems/smooth.rs"]
mod smooth;

use events::{backlash, relay, sampled, stop};
use koppel::system::{Connection, System};
use linear::{chain, drive_line, ladder, rooms};
use smooth::{duffing, fan, hydraulic, predators};

/// A system, how long it runs, and the smallest step it is tried at; larger ones double it.
pub(crate) struct Fresh {
    pub(crate) name: String,
    pub(crate) build: Box<dyn Fn() -> System + Send + Sync>,
    pub(crate) stop: f64,
    pub(crate) smallest: f64,
    pub(crate) doublings: u32,
}

pub(crate) fn fresh(
    name: &str,
    stop: f64,
    smallest: f64,
    doublings: u32,
    build: impl Fn() -> System + Send + Sync + 'static,
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
