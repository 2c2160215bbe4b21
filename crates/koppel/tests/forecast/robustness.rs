//! Parameters that are varied.

use super::by_hand::{Master, radius};
use super::limits::{pushed, rows, sprung};
use super::linear;
use crate::cases::case;
use koppel::analysis::robustness;
use koppel::run::{Reading, Run, RunConfig};

/// ρ of the two-mass oscillator at 3 s, parallel and stale, with parameters of one's own.
fn by_hand(m: f64, ck: f64, dk: f64, step: f64) -> f64 {
    let slaves = vec![sprung(m, [1.0, 1.0], [ck, dk]), pushed(10.0, 1.0, 2.0)];
    let l = rows(&[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    radius(&Master { slaves, l, order: 0, groups: vec![vec![0, 1]], is_fresh: false }.step_matrix(step))
}

/// The value, going up from `value`, at which ρ passes 1.
fn end(value: f64, radius: impl Fn(f64) -> f64) -> Option<f64> {
    let mut high = (1..4000).map(|k| value * 1.002_f64.powi(k)).find(|v| radius(*v) > 1.0)?;
    let mut low = high / 1.002;
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        if radius(middle) > 1.0 { high = middle } else { low = middle }
    }
    Some(low)
}

#[test]
fn parameters_have_the_ranges_found_by_hand() {
    let case = case("two-mass").unwrap();
    let step = 1.0;
    let config = RunConfig { step, reading: Reading::Stale, ..case.run.clone() };
    assert!(by_hand(10.0, 1.0, 2.0, step) < 1.0);
    let mut run = Run::new(case.system().unwrap(), &config).unwrap();
    let system = linear(&case);
    let found = robustness(&mut run, &system, &config, 0.2).unwrap();
    let of = |name: &str| found.parameters.iter().find(|range| range.parameter == name).unwrap();
    let ends = [
        ("first.ck", end(1.0, |ck| by_hand(10.0, ck, 2.0, step))),
        ("first.dk", end(2.0, |dk| by_hand(10.0, 1.0, dk, step))),
    ];
    let mut compared = 0;
    for (name, wanted) in ends {
        let range = of(name);
        let limit = wanted.filter(|wanted| *wanted < 10.0 * range.value);
        match (limit, range.stable_between[1]) {
            (Some(wanted), Some(found)) => {
                assert!((found / wanted - 1.0).abs() < 0.015, "{name}: {found}, {wanted}");
                let nearest = range.stability_radius.unwrap();
                assert!(nearest <= (found / range.value - 1.0).abs() + 1e-9, "{range:?}");
                compared += 1;
            }
            (None, None) => {}
            other => panic!("{name}: {other:?}"),
        }
        let higher = match name {
            "first.ck" => by_hand(10.0, 1.2, 2.0, step),
            _ => by_hand(10.0, 1.0, 2.4, step),
        };
        assert!((range.spectral_radii[1].unwrap() - higher).abs() < 1e-9, "{name}: {range:?}, {higher}");
    }
    assert!(compared >= 1, "{found:#?}");
    // Start values change nothing, and all of the others are told.
    let names: Vec<&str> = found.parameters.iter().map(|range| range.parameter.as_str()).collect();
    assert!(!names.contains(&"first.x0") && names.contains(&"second.m"), "{names:?}");
    assert_eq!(found.survives, found.parameters.iter().all(|range| range.survives));
    // Nothing of the run has changed.
    for (id, name) in ["first", "second"].iter().enumerate() {
        assert_eq!(run.graph().name(id), *name);
        let m = run.graph().ports(id).parameters.iter().position(|p| p.name == "m").unwrap();
        assert_eq!(run.workbench().parameter(id, m).unwrap(), 10.0);
    }
}
