//! Rows, changes, checkpoints and refusals of runs whose step adapts.

use crate::cases::case;
use koppel::coupling::{CouplingConfig, HinfConfig, StartUp, VfpsConfig};
use koppel::record::{Record, Trajectory};
use koppel::run::{
    AccelerationKind, AdaptiveConfig, Change, Flow, IterationConfig, IterationKind, Run, RunConfig, RunState,
    Watched,
};

fn config(stop: f64) -> RunConfig {
    RunConfig {
        coupling: CouplingConfig::foh(StartUp::Constant),
        adaptive: Some(AdaptiveConfig::new(0.1, 0.01)),
        record: Record::Many(vec!["*.x".into(), "step".into()]),
        ..RunConfig::new(stop, 1e-3)
    }
}

fn start(config: &RunConfig) -> Run {
    Run::new(case("two-mass").unwrap().system().unwrap(), config).unwrap()
}

fn table(config: &RunConfig) -> Trajectory {
    let mut table = Trajectory::default();
    start(config).run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
    table
}

/// The last column is the step: it is the distance of two rows, and all lie on the grid.
#[test]
fn every_step_is_a_row_with_its_length() {
    let table = table(&config(9.0005));
    assert!(table.rows[0].last().unwrap().is_nan() && *table.times.last().unwrap() == 9.0005);
    let is_part = |time: &f64| *time == 9.0005 || *time == (time / 1e-3).round() * 1e-3;
    assert!(table.times.iter().all(is_part));
    for k in 1..table.times.len() - 1 {
        let step = table.rows[k].last().unwrap();
        assert!((table.times[k] - table.times[k - 1] - step).abs() < 1e-12, "row {k}");
        assert!(*step > 0.9e-3 && *step < 0.1 + 1e-9);
    }
    assert!(table.times.len() < 300);
}

/// Rows come at the times that were asked for, whatever the steps are; they are exact there, not interpolated.
#[test]
fn rows_at_equal_distances() {
    let config = RunConfig { record_every: 70, ..config(9.0) };
    let rows = table(&config);
    let wanted: Vec<f64> = (0..=128).map(|k| f64::from(70 * k) * 1e-3).chain([9.0]).collect();
    assert_eq!(rows.times, wanted);
    let all = table(&RunConfig { adaptive: None, record: Record::One("*.x".into()), ..config.clone() });
    for (a, b) in rows.rows.iter().zip(&all.rows) {
        assert!((a[0] - b[0]).abs() < 1e-4, "{a:?} instead of {b:?}");
    }
}

/// Steps end where something is set, on the grid or not, and are small from there on.
#[test]
fn changes_are_met() {
    let set = |time, value| Change { time, set: [("second.x".to_owned(), value)].into() };
    for time in [4.0, 4.0004] {
        let config = RunConfig { at: vec![set(time, 0.3)], ..config(9.0) };
        let mut run = start(&config);
        while run.time() < 4.0 - 1e-9 {
            run.advance().unwrap();
        }
        assert_eq!(run.time(), 4.0);
        for _ in 0..3 {
            run.advance().unwrap();
        }
        assert!(run.time() < 4.0035, "{}", run.time());
    }
}

/// What is saved and restored goes on bit for bit, with the same steps.
#[test]
fn checkpoints() {
    let config = config(9.0);
    let mut run = start(&config);
    (0..60).for_each(|_| run.advance().unwrap());
    let mut state = RunState::default();
    run.save(&mut state).unwrap();
    let mut end = || {
        while !run.is_done() {
            run.advance().unwrap();
        }
        (run.outputs(0).to_vec(), run.steps_taken(), run.step_sizes())
    };
    let first = end();
    let mut other = start(&config);
    other.restore(&state).unwrap();
    assert_eq!(other.steps_taken(), 60);
    while !other.is_done() {
        other.advance().unwrap();
    }
    assert_eq!((other.outputs(0).to_vec(), other.steps_taken(), other.step_sizes()), first);
}

/// Driven from outside, no step goes beyond what was asked for, on the grid or not.
#[test]
fn driven_from_outside() {
    let mut run = start(&config(1e6));
    for k in 1..200 {
        let time = 0.0377 * f64::from(k);
        run.advance_to(time).unwrap();
        assert!((run.time() - time).abs() < 1e-11);
    }
    let fine = RunConfig { adaptive: None, ..config(10.0) };
    let mut exact = start(&RunConfig { record: Record::One("*.x".into()), ..fine });
    exact.advance_to(0.0377 * 199.0).unwrap();
    let (y, wanted) = (run.outputs(0)[0], exact.outputs(0)[0]);
    assert!((y - wanted).abs() < 1e-3 && run.steps_taken() < 2000, "{y} instead of {wanted}");
}

fn refused(config: &RunConfig) -> String {
    let system = case("two-mass").unwrap().system().unwrap();
    Run::new(system, config).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_says_why() {
    let config = RunConfig { record: Record::One("all".into()), ..config(9.0) };
    let with = |change: fn(&mut AdaptiveConfig)| {
        let mut adaptive = AdaptiveConfig::new(0.1, 0.01);
        change(&mut adaptive);
        refused(&RunConfig { adaptive: Some(adaptive), ..config.clone() })
    };
    assert!(with(|a| a.max = 1e-4).contains("run.adaptive.max: `0.0001` must be a number not below `step`"));
    assert!(with(|a| a.tolerance = 0.0).contains("run.adaptive.tolerance"));
    assert!(with(|a| a.growth = 1.1).contains("more than 1 + `dead_band`"));
    let coupled = |coupling| refused(&RunConfig { coupling, ..config.clone() });
    let hinf = coupled(CouplingConfig::from(HinfConfig::default()));
    assert!(hinf.contains("`hinf` cannot change its step: its compensators are designed for one"), "{hinf}");
    let vfps = coupled(CouplingConfig::from(VfpsConfig::default()));
    assert!(vfps.contains("`vfps` cannot change its step: its subsystems are probed for one"), "{vfps}");
    let slow = refused(&RunConfig { every: [("first".into(), 2)].into(), ..config.clone() });
    assert!(slow.contains("run.every: `first` has a slower rate"), "{slow}");
    let step = IterationConfig::new(IterationKind::Step, AccelerationKind::Aitken);
    let iterated = refused(&RunConfig { iteration: Some(step), ..config.clone() });
    assert!(iterated.contains("leaves no defect"), "{iterated}");
    let power = AdaptiveConfig { on: Watched::Power, ..AdaptiveConfig::new(0.1, 0.01) };
    let config = RunConfig { adaptive: Some(power), ..RunConfig::new(1.0, 1e-3) };
    let lonely = Run::new(case("control-loop").unwrap().system().unwrap(), &config);
    let text = lonely.map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("no two subsystems exchange an effort and a flow"), "{text}");
}
