//! State, time and step events, discrete inputs.

use super::*;
use koppel::record::Trajectory;
use koppel::run::{Flow, Run, RunConfig};
use koppel::signal::Segment;
use koppel::system::SystemBuilder;
use std::f64::consts::PI;

/// Height and number of bounces of a ball dropped from 1 m at 9.81 m/s², restitution 0.7, at rest below 0.1 m/s.
fn bouncing(t: f64) -> (f64, f64) {
    let g = 9.81_f64;
    let mut at = (2.0 / g).sqrt();
    if t < at {
        return (1.0 - 0.5 * g * t * t, 0.0);
    }
    let (mut speed, mut bounces) = (0.7 * g * at, 1.0);
    while speed >= 0.1 {
        let tau = t - at;
        if tau < 2.0 * speed / g {
            return (speed * tau - 0.5 * g * tau * tau, bounces);
        }
        at += 2.0 * speed / g;
        speed *= 0.7;
        bounces += 1.0;
    }
    (0.0, bounces)
}

#[test]
fn a_ball_bounces_when_it_should() {
    for version in VERSIONS {
        let fmu = BALL.fmu(version, ALL, &[]);
        for solver in [adaptive(1e-8), stiff(1e-8), SolverConfig::Rk4 { step: 0.013 }] {
            for h in [0.01, 0.1, 0.37] {
                let mut body = instance(&fmu, &[], solver);
                let mut worst: f64 = 0.0;
                start_and_drive(&mut body, (4.0 / h) as u64, h, nothing, |t, outputs| {
                    let (height, bounces) = bouncing(t);
                    worst = worst.max((outputs[0] - height).abs());
                    assert_eq!(outputs[3], bounces, "bounces at {t} s");
                });
                assert!(worst < 1e-9, "FMI {version}, {solver}, H = {h}: {worst}");
                assert_eq!(get(&mut body, "count"), 11.0, "√(2 g) 0.7^11 < 0.1: then it rests");
            }
        }
    }
}

#[test]
fn an_fmu_may_end_the_simulation() {
    for version in VERSIONS {
        let fmu = BALL.fmu(version, ALL, &[]);
        let mut body = instance(&fmu, &[("quit", 2.0)], adaptive(1e-8));
        body.initialize(0.0).unwrap();
        let error = drive(&mut body, 0..40, 0.1, nothing, |_, _| {}).unwrap_err();
        // √(2/g) + 1.4 √(2/g)
        let (text, time) = ("`body` asks to end the simulation at ", 2.4 * (2.0 / 9.81_f64).sqrt());
        let found: f64 = error.strip_prefix(text).unwrap().trim_end_matches(" s").parse().unwrap();
        assert!((found - time).abs() < 1e-9, "{error}");
    }
}

/// The triangle that x' = ±1 makes, and the number of switches by then.
fn triangle(t: f64, half: f64) -> (f64, f64) {
    let switches = (t / half + 1e-9).floor();
    let tau = t - switches * half;
    (if switches % 2.0 == 0.0 { tau } else { half - tau }, switches)
}

#[test]
fn time_events_are_hit_exactly() {
    for version in VERSIONS {
        let fmu = SQUARE.fmu(version, ALL, &[]);
        for solver in
            [adaptive(1e-6), stiff(1e-6), SolverConfig::Euler { step: 0.07 }, SolverConfig::Rk4 { step: 0.5 }]
        {
            for (h, half) in [(0.1, 0.3), (0.25, 0.3), (1.0, 0.3), (0.7, 0.1), (0.1, 0.1)] {
                let mut body = instance(&fmu, &[("p1", half)], solver);
                start_and_drive(&mut body, (6.0 / h) as u64, h, nothing, |t, outputs| {
                    let (x, switches) = triangle(t, half);
                    assert!(
                        (outputs[0] - x).abs() < 1e-12,
                        "{solver}, H = {h}, t = {t}: {} for {x}",
                        outputs[0]
                    );
                    assert_eq!(outputs[3], switches, "{solver}, H = {h}, t = {t}");
                });
            }
        }
    }
}

#[test]
fn samples_see_both_sides_of_an_event() {
    let fmu = SQUARE.fmu(3, ALL, &[]);
    let mut body = instance(&fmu, &[("p1", 0.3)], adaptive(1e-6));
    body.initialize(0.0).unwrap();
    let step = Step { index: 0, start: 0.0, size: 1.0 };
    let segment = Segment::new(&step, 2, 1, &[0.0, 0.0]);
    let mut samples = Samples::new(Request::SolverPoints, 5);
    body.step(&step, &segment, &mut [0.0; 5], &mut samples).unwrap();
    let mut mean = [0.0; 5];
    samples.mean(&mut mean).unwrap();
    // y: 0.3 - 0.3 + 0.3 - 0.1
    assert!((mean[2] - 0.2).abs() < 1e-12, "{mean:?}");
    assert!(samples.times().is_sorted() && samples.times().last() == Some(&1.0));

    let mut samples = Samples::new(Request::Nodes(5), 5);
    body.initialize(0.0).unwrap();
    body.step(&step, &segment, &mut [0.0; 5], &mut samples).unwrap();
    assert_eq!(samples.times().len(), 6);
    for (k, t) in samples.times().iter().enumerate() {
        assert!((samples.at(k)[0] - triangle(*t, 0.3).0).abs() < 1e-12);
    }
}

#[test]
fn step_events_change_states() {
    for version in VERSIONS {
        let fmu = WRAP.fmu(version, ALL, &[]);
        for solver in [adaptive(1e-8), SolverConfig::Rk4 { step: 0.01 }] {
            let mut body = instance(&fmu, &[("p1", 3.0)], solver);
            start_and_drive(&mut body, 100, 0.25, nothing, |t, outputs| {
                let error = (outputs[0] - 3.0 * t).sin().abs();
                assert!(error < 1e-9, "{solver}, t = {t}: {error}");
                assert!(
                    outputs[0] < 2.0 * PI + 0.75 && outputs[0] >= 0.0,
                    "{solver}, t = {t}: {}",
                    outputs[0]
                );
            });
            assert!((10.0..=12.0).contains(&get(&mut body, "count")));
        }
    }
}

#[test]
fn an_input_that_crosses_a_limit_inside_a_step_is_an_event_there() {
    for version in VERSIONS {
        let fmu = GATE.fmu(version, ALL, &[]);
        for solver in [adaptive(1e-6), SolverConfig::Euler { step: 0.3 }] {
            let mut body = instance(&fmu, &[], solver);
            // t²/10 reaches 0.5 at √5
            let curve = |t: f64| vec![0.1 * t * t, 0.2 * t, 0.1];
            start_and_drive(&mut body, 4, 1.0, curve, |t, outputs| {
                let at = if t > 5_f64.sqrt() { 5_f64.sqrt() } else { 0.0 };
                assert!((outputs[2] - at).abs() < 1e-11, "t = {t}: {}", outputs[2]);
            });
            // a jump at a communication point is an event too
            drive(&mut body, 4..6, 1.0, |_| vec![0.2], |_, outputs| assert_eq!(outputs[2], 4.0)).unwrap();
            assert_eq!(get(&mut body, "count"), 2.0);
        }
    }
}

#[test]
fn discrete_inputs_act_from_a_communication_point_on() {
    for version in VERSIONS {
        let fmu = OSCILLATOR.fmu(version, ALL, &[]);
        let mut body = instance(&fmu, &[], adaptive(1e-10));
        body.initialize(0.0).unwrap();
        let (mut outputs, mut samples) = ([0.0; 5], Samples::new(Request::Nothing, 5));
        for index in 0..20 {
            let step = Step { index, start: 0.25 * index as f64, size: 0.25 };
            let on = if index >= 8 { 1.0 } else { 0.0 };
            // trials of the inputs leave no trace
            for trial in [1.0 - on, on] {
                body.read(Some(&[7.0, trial]), &mut outputs).unwrap();
                assert!((outputs[2] - outputs[0] - 3.5).abs() < 1e-14);
            }
            body.step(&step, &Segment::new(&step, 2, 1, &[1.0, on]), &mut outputs, &mut samples).unwrap();
            // at rest under u = 1, then an oscillation about 2
            let exact = if on == 1.0 { 2.0 - (step.end() - 2.0).cos() } else { 1.0 };
            assert!((outputs[0] - exact).abs() < 1e-8, "t = {}: {}", step.end(), outputs[0] - exact);
        }
        let error = body.read(Some(&[0.0, 0.5]), &mut outputs).unwrap_err().to_string();
        assert!(error.contains("`on` is a Boolean, 0.5 is not one"), "{error}");
    }
}

/// Times of the first bounces.
fn bounces() -> impl Iterator<Item = f64> {
    let first = (2.0 / 9.81_f64).sqrt();
    (0..).map(move |k| first * (1.0 + 2.0 * (1..=k).map(|j| 0.7_f64.powi(j)).sum::<f64>()))
}

#[test]
fn bounces_become_rows_where_asked() {
    for version in VERSIONS {
        let fmu = BALL.fmu(version, ALL, &[]);
        let run = |record_events: bool| -> Trajectory {
            let ball = instance(&fmu, &[], adaptive(1e-10));
            let system = SystemBuilder::new().add("ball", ball).build().unwrap();
            let config = RunConfig { record_events, ..RunConfig::new(2.0, 0.25) };
            let mut table = Trajectory::default();
            let mut run = Run::new(system, &config).unwrap();
            run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
            table
        };
        let (plain, table) = (run(false), run(true));
        let at_points = |time: &f64| plain.times.contains(time);
        let mut events = table.times.iter().zip(&table.rows).filter(|(time, _)| !at_points(time));
        for bounce in bounces().take_while(|time| *time < 2.0) {
            let mut next = || {
                let (time, row) = events.next().unwrap();
                assert!((time - bounce).abs() < 1e-8 && row[0].abs() < 1e-8, "{time} for {bounce}: {row:?}");
                (row[1], row[3])
            };
            let ((speed, count), (speed_after, count_after)) = (next(), next());
            assert!(speed < 0.0 && (speed_after + 0.7 * speed).abs() < 1e-12, "{speed} {speed_after}");
            assert_eq!(count_after, count + 1.0);
        }
        assert_eq!(events.next(), None);
        // The others are as they were.
        let others = table.times.iter().zip(&table.rows).filter(|(time, _)| at_points(time));
        assert!(others.eq(plain.times.iter().zip(&plain.rows)));
    }
}
