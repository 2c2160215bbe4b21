//! What the simple couplings hold.

use super::{integrator, run};
use koppel::coupling::{AntiAliasingConfig, CouplingConfig, RelaxedConfig};
use koppel::run::RunConfig;
use koppel::signal::external::ExternalConfig;
use koppel::system::{Connection, SystemBuilder};

#[test]
fn the_relaxed_hold_is_the_filter_it_says() {
    let system = SystemBuilder::new()
        .add("ramp", integrator(0.0))
        .add("sink", integrator(0.0))
        .connect(Connection::new("ramp.y", "sink.u").gain(2.0))
        .external("ramp.u", ExternalConfig::Constant { value: 1.0 })
        .build()
        .unwrap();
    let coupling = CouplingConfig::from(RelaxedConfig { alpha: 0.25 });
    let (table, _, run) = run(system, &RunConfig { coupling, ..RunConfig::new(1.0, 0.1) });
    let column = run.columns().iter().position(|c| c.name == "sink.u").unwrap();
    let mut w = 0.0;
    for (k, row) in table.rows.iter().enumerate().skip(1) {
        w = 0.25 * w + 0.75 * 2.0 * 0.1 * (k - 1) as f64;
        assert!((row[column] - w).abs() < 1e-13);
    }
}

#[test]
fn anti_aliasing_holds_the_mean_with_gain_and_offset() {
    let system = SystemBuilder::new()
        .add("ramp", integrator(0.0))
        .add("sink", integrator(0.0))
        .connect(Connection { offset: 5.0, ..Connection::new("ramp.y", "sink.u").gain(2.0) })
        .external("ramp.u", ExternalConfig::Constant { value: 1.0 })
        .build()
        .unwrap();
    let coupling = CouplingConfig::from(AntiAliasingConfig { order: 0 });
    let (table, _, run) = run(system, &RunConfig { coupling, ..RunConfig::new(1.0, 0.1) });
    let column = run.columns().iter().position(|c| c.name == "sink.u").unwrap();
    for (k, row) in table.rows.iter().enumerate().skip(2) {
        let mean = 0.1 * (k - 1) as f64 - 0.05;
        assert!((row[column] - (5.0 + 2.0 * mean)).abs() < 1e-12, "row {k}: {}", row[column]);
    }
}

#[test]
fn the_largest_coupling_error_is_told_with_its_time() {
    let system = SystemBuilder::new()
        .add("parabola", integrator(0.0))
        .add("sink", integrator(0.0))
        .connect(Connection::new("parabola.y", "sink.u").gain(3.0))
        .external("parabola.u", ExternalConfig::Ramp { start: 0.0, stop: 1.0, from: 0.0, to: 1.0 })
        .build()
        .unwrap();
    let (_, _, run) = run(system, &RunConfig::new(1.0, 0.1));
    let defect = &run.statistics().defects[0];
    // y = t²/2: zero-order hold is behind by 3 (1 - 0.81)/2 at the end, where it is worst.
    assert!((defect.largest - 0.285).abs() < 1e-12 && (defect.time - 1.0).abs() < 1e-12, "{defect:?}");
    assert!((defect.range - 1.5 * (1.0 - 0.01)).abs() < 1e-12, "{defect:?}");
    assert_eq!(defect.connection, "parabola.y -> sink.u");
}
