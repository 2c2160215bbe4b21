//! Saved states, and parameters that change.

use super::*;
use koppel::system::Horizon;
use koppel_fmi::import::{Solving, instantiate_any};
use koppel_fmi::isolate::{self, Isolation, Worker};

#[test]
fn parameters_may_change_while_it_runs() {
    for version in VERSIONS {
        let fmu = OSCILLATOR.fmu(version, ALL, &[]);
        let mut body = instance(&fmu, &[("p2", 4.0), ("x1", 0.5)], adaptive(1e-10));
        start_and_drive(&mut body, 10, 0.1, nothing, |t, outputs| {
            assert!((outputs[0] - 0.5 * (2.0 * t).cos()).abs() < 1e-8);
        });
        let (x, v) = (get(&mut body, "x1"), get(&mut body, "x2"));
        body.set(id(&body, "p2"), 9.0).unwrap();
        assert!((get(&mut body, "der(x2)") + 9.0 * x).abs() < 1e-12);
        drive(&mut body, 10..20, 0.1, nothing, |t, outputs| {
            let (sine, cosine) = (3.0 * (t - 1.0)).sin_cos();
            assert!((outputs[0] - (x * cosine + v / 3.0 * sine)).abs() < 1e-8);
        })
        .unwrap();
        let refused = body.set(id(&body, "quit"), 1.0).unwrap_err().to_string();
        assert!(
            refused.contains("`quit` cannot be set: it cannot change during the simulation"),
            "{refused}"
        );
        drive(&mut body, 20..21, 0.1, nothing, |_, _| {}).unwrap();
    }
}

/// Save, go on, restore, go on: the same bits; also in a new instance where the state survives.
fn rolls_back(fmu: &TestFmu, solver: SolverConfig, u: impl Fn(f64) -> Vec<f64> + Copy) {
    let mut body = instance(fmu, &[], solver);
    body.initialize(0.0).unwrap();
    let room = || Snapshot::new(Horizon::Anywhere);
    let (mut at_start, mut later) = (room(), room());
    body.save(&mut at_start).unwrap();
    let run = |body: &mut ModelExchange, steps: std::ops::Range<u64>| {
        let mut seen = Vec::new();
        // The number of evaluations is no part of the solution.
        drive(body, steps, 0.13, u, |_, outputs| seen.extend(outputs[..3].iter().map(|y| y.to_bits())))
            .unwrap();
        seen
    };
    let first = run(&mut body, 0..6);
    body.save(&mut later).unwrap();
    let second = run(&mut body, 6..12);
    for _ in 0..2 {
        body.restore(&later).unwrap();
        assert_eq!(run(&mut body, 6..12), second, "{solver}");
        body.restore(&at_start).unwrap();
        assert_eq!(run(&mut body, 0..6), first, "{solver}");
        assert_eq!(run(&mut body, 6..12), second, "{solver}");
    }
    let mut other = instance(fmu, &[], solver);
    other.initialize(0.0).unwrap();
    other.restore(&later).unwrap();
    assert_eq!(run(&mut other, 6..12), second, "{solver}");
}

#[test]
fn what_is_saved_is_restored_bit_for_bit() {
    let without = Declared { state: false, smooth: true, ..ALL };
    for version in VERSIONS {
        let (ball, square) = (BALL.fmu(version, ALL, &[]), SQUARE.fmu(version, ALL, &[]));
        let (oscillator, stateless) =
            (OSCILLATOR.fmu(version, ALL, &[]), OSCILLATOR.fmu(version, without, &[]));
        for solver in [adaptive(1e-6), stiff(1e-6), SolverConfig::Rk4 { step: 0.02 }] {
            rolls_back(&oscillator, solver, parabola);
            rolls_back(&ball, solver, nothing);
            rolls_back(&square, solver, nothing);
            rolls_back(&stateless, solver, parabola);
        }
        let fmu = BALL.fmu(version, Declared { state: false, ..ALL }, &[]);
        let mut body = instance(&fmu, &[], adaptive(1e-6));
        body.initialize(0.0).unwrap();
        let error = body.save(&mut Snapshot::default()).unwrap_err();
        assert!(error.to_string().contains("it has events or discrete variables"), "{error}");
        let (small, large) = (OSCILLATOR.fmu(version, ALL, &[]), TRACKER.fmu(version, ALL, &[]));
        let mut snapshot = Snapshot::default();
        let mut body = instance(&small, &[], adaptive(1e-6));
        body.initialize(0.0).unwrap();
        body.save(&mut snapshot).unwrap();
        let mut other = instance(&large, &[], adaptive(1e-6));
        other.initialize(0.0).unwrap();
        assert!(other.restore(&snapshot).unwrap_err().to_string().contains("it is not one of this FMU"));
    }
}

#[test]
fn an_fmu_without_event_saves_nothing_it_does_not_know() {
    // A time event is known only once the FMU runs.
    let fmu = SQUARE.fmu(2, Declared { state: false, smooth: true, ..ALL }, &[]);
    let mut body = instance(&fmu, &[], adaptive(1e-6));
    start_and_drive(&mut body, 1, 0.1, nothing, |_, _| {});
    assert!(body.save(&mut Snapshot::default()).is_err());
}

#[test]
fn in_a_process_of_its_own_it_computes_the_same() {
    let program = env!("CARGO_BIN_EXE_koppel-fmi-worker").into();
    let worker = Some(Worker { program, arguments: Vec::new() });
    let isolation = Isolation { worker, ..Isolation::default() };
    let bits = |body: &mut dyn Subsystem| {
        let mut seen = Vec::new();
        start_and_drive(body, 15, 0.1, parabola, |_, y| seen.extend(y.iter().map(|y| y.to_bits())));
        seen
    };
    for fmu in [OSCILLATOR.fmu(2, ALL, &[]), BALL.fmu(3, ALL, &[])] {
        let fmu = Fmu::open(&fmu.path()).unwrap();
        let tight = Tolerances { rtol: 0.1 + 0.2e-7, max_step: Some(0.03), ..Tolerances::default() };
        for solver in [
            None,
            Some(SolverConfig::Euler { step: 0.013 }),
            Some(SolverConfig::Rk4 { step: 0.02 }),
            Some(SolverConfig::Adaptive(tight)),
            Some(stiff(1e-6)),
        ] {
            let options = Options { solving: Solving::Koppel(solver), ..Options::default() };
            let mut apart = isolate::host(&fmu, &options, &isolation).unwrap();
            let mut here = instantiate_any(&fmu, &options).unwrap();
            assert_eq!(bits(apart.as_mut()), bits(here.as_mut()), "{solver:?}");
        }
    }
}
