//! Pieces against values, exact edges, and what is refused.

use super::*;
use proptest::prelude::*;

fn build(config: ExternalConfig) -> External {
    External::new(&config).unwrap_or_else(|error| panic!("{error}"))
}

fn sine(frequency: f64, phase: f64) -> ExternalConfig {
    ExternalConfig::Sine { amplitude: 3.0, frequency, phase, offset: 0.5, start: None, stop: None }
}

fn pulses(period: f64, width: f64, start: f64) -> ExternalConfig {
    ExternalConfig::Pulses { amplitude: 2.0, period, width, start, offset: 1.0, stop: None, modulation: None }
}

fn table(interpolation: Interpolation) -> ExternalConfig {
    ExternalConfig::Table {
        times: vec![0.0, 1.0, 1.5, 4.0],
        values: vec![2.0, -1.0, 3.0, 0.5],
        interpolation,
    }
}

fn all_kinds() -> Vec<ExternalConfig> {
    let modulation = Some(Modulation { frequency: 0.07, phase: 0.3 });
    vec![
        ExternalConfig::Constant { value: -4.0 },
        ExternalConfig::Step { time: 1.25, before: 1.0, after: -2.0 },
        ExternalConfig::Ramp { start: 0.5, stop: 3.0, from: -1.0, to: 5.0 },
        sine(0.3, 0.4),
        sine(17.0, -2.0),
        sine(0.0, 1.0),
        ExternalConfig::Sine {
            amplitude: 1.5,
            frequency: 2.0,
            phase: 0.1,
            offset: 1.0,
            start: Some(0.7),
            stop: Some(3.1),
        },
        pulses(0.3, 0.1, 0.2),
        pulses(0.1, 0.1, -1.0),
        ExternalConfig::Pulses {
            amplitude: 2.0,
            period: 0.7,
            width: 0.3,
            start: 0.1,
            offset: 0.0,
            stop: Some(3.0),
            modulation,
        },
        table(Interpolation::Linear),
        table(Interpolation::Previous),
        table(Interpolation::Cubic),
    ]
}

fn horner(coefficients: &[f64; COEFFICIENTS], tau: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * tau + c)
}

/// Largest difference of pieces and value over a window cut at the breaks, seen at points inside the pieces.
fn disagreement(external: &External, from: f64, to: f64) -> f64 {
    let mut worst: f64 = 0.0;
    let mut start = from;
    let mut coefficients = [f64::NAN; COEFFICIENTS];
    let mut breaks = 0;
    while start < to {
        let end = external.next_break(start).unwrap_or(to).min(start + external.longest_piece()).min(to);
        assert!(end > start, "no progress at {start}");
        breaks += usize::from(end < to);
        external.piece(start, end, &mut coefficients);
        assert!(coefficients[external.degree() + 1..].iter().all(|c| *c == 0.0));
        for i in 0..32 {
            let t = start + (end - start) * f64::from(i) / 32.0;
            worst = worst.max((horner(&coefficients, t - start) - external.value(t)).abs());
        }
        start = end;
    }
    assert!(breaks <= external.max_breaks(to - from), "{breaks} breaks in {}", to - from);
    worst
}

proptest! {
    #[test]
    fn pieces_agree_with_values(from in -2.0..6.0f64, length in 1e-6..3.0f64) {
        for config in all_kinds() {
            let worst = disagreement(&build(config.clone()), from, from + length);
            prop_assert!(worst < 1e-11, "{config:?}: {worst:e}");
        }
    }

    #[test]
    fn sine_keeps_its_accuracy_at_any_frequency_and_time(
        exponent in -6.0..9.0f64, phase in -20.0..20.0f64, from in -1e6..1e6f64, periods in 0.001..3.0f64
    ) {
        let frequency = 10f64.powf(exponent);
        let t = from / frequency.max(1.0);
        let worst = disagreement(&build(sine(frequency, phase)), t, t + periods / frequency);
        // a step of round-off in time is a step of 2π f ulp(t) in the argument
        let granularity = TAU * frequency * (t.abs() * f64::EPSILON);
        prop_assert!(worst < 3.0 * (1e-11 + 2.0 * granularity), "{worst:e} at {t}, {frequency} Hz");
    }
}

#[test]
fn sine_is_the_sine_of_the_library_at_small_arguments() {
    let external = build(sine(1.0, 0.25));
    for i in -200..200 {
        let t = f64::from(i) * 0.0137;
        let expected = 0.5 + 3.0 * (TAU * t + 0.25).sin();
        assert!((external.value(t) - expected).abs() < 2e-14, "t = {t}");
    }
    assert!(disagreement(&external, 0.0, 10.0) < 3.0 * 3e-12);
    let longest = external.longest_piece();
    assert!(TAU * longest <= 0.5);
}

#[test]
fn sine_at_a_large_time_loses_nothing() {
    // 50 Hz at whole multiples of 1/4 period, one million seconds on: exact in binary
    let external = build(ExternalConfig::Sine {
        amplitude: 1.0,
        frequency: 50.0,
        phase: 0.0,
        offset: 0.0,
        start: None,
        stop: None,
    });
    assert!((external.value(1_048_576.25) - (TAU * 0.5f64).sin()).abs() < 1e-15);
    assert!((external.value(1_048_576.125) - (TAU * 0.25f64).sin()).abs() < 1e-15);
}

#[test]
fn pulse_edges_are_exact() {
    for (period, width, start) in
        [(0.1, 0.03, 0.0), (0.3, 0.1, 0.2), (1e-3, 7e-4, 5.0), (1.0 / 3.0, 1.0 / 7.0, -2.0)]
    {
        let external = build(pulses(period, width, start));
        let mut expected = vec![];
        for k in 0..2000 {
            let rise = start + f64::from(k) * period;
            expected.extend([(rise, 3.0, 1.0), (rise + width, 1.0, 3.0)]);
        }
        let mut time = f64::NEG_INFINITY;
        for (edge, after, before) in expected {
            time = external.next_break(time).unwrap();
            assert_eq!(time, edge);
            assert_eq!(external.value(edge), after, "at {edge}");
            assert_eq!(external.value(edge.next_down()), before, "before {edge}");
        }
    }
    let full = build(pulses(0.1, 0.1, 0.0));
    assert!((0..10_000).all(|i| full.value(f64::from(i) * 0.0137) == 3.0));
}

#[test]
fn modulated_pulses_have_the_height_of_their_start() {
    let modulation = Some(Modulation { frequency: 0.07, phase: 0.3 });
    let external = build(ExternalConfig::Pulses {
        amplitude: 2.0,
        period: 0.5,
        width: 0.2,
        start: 0.25,
        offset: 1.0,
        stop: Some(20.1),
        modulation,
    });
    for k in 0..39 {
        let start = 0.25 + 0.5 * f64::from(k);
        let expected = 1.0 + 2.0 * (TAU * 0.07 * start + 0.3).sin();
        for t in [start, start + 0.1, start + 0.1999] {
            assert!((external.value(t) - expected).abs() < 1e-14, "t = {t}");
        }
        assert_eq!(external.value(start + 0.3), 1.0);
    }
    assert_eq!(external.next_break(20.0), Some(20.1));
    assert_eq!(external.next_break(20.1), None);
    assert_eq!(external.value(20.3), 1.0);
}

#[test]
fn jumps_are_right_continuous_and_tables_hold_their_ends() {
    let step = build(ExternalConfig::Step { time: 1.0, before: 2.0, after: 5.0 });
    assert_eq!((step.value(1.0), step.value(1f64.next_down())), (5.0, 2.0));
    assert_eq!((step.next_break(1f64.next_down()), step.next_break(1.0)), (Some(1.0), None));
    let ramp = build(ExternalConfig::Ramp { start: 0.1, stop: 0.7, from: 0.0, to: 0.3 });
    assert_eq!((ramp.value(0.1), ramp.value(0.7), ramp.value(9.0)), (0.0, 0.3, 0.3));
    let linear = build(table(Interpolation::Linear));
    assert_eq!((linear.value(-9.0), linear.value(0.5), linear.value(1.0)), (2.0, 0.5, -1.0));
    assert_eq!((linear.value(4.0), linear.value(99.0)), (0.5, 0.5));
    let previous = build(table(Interpolation::Previous));
    assert_eq!((previous.value(-9.0), previous.value(0.99), previous.value(1.0)), (2.0, 2.0, -1.0));
    assert_eq!((previous.value(3.99), previous.value(4.0), previous.value(99.0)), (3.0, 0.5, 0.5));
    assert_eq!((linear.max_breaks(0.4), linear.max_breaks(0.5), linear.max_breaks(1.5)), (1, 2, 3));
    let sine = build(ExternalConfig::Sine {
        amplitude: 1.0,
        frequency: 1.0,
        phase: 1.0,
        offset: 7.0,
        start: Some(1.0),
        stop: Some(2.0),
    });
    assert_eq!((sine.value(1f64.next_down()), sine.value(2.0)), (7.0, 7.0));
    assert!(sine.value(1.0) > 7.8);
}

#[test]
fn cubics_meet_the_points_smoothly_and_without_overshoot() {
    let times: Vec<f64> = (0..8).map(|i| f64::from(i) + 0.3 * f64::from(i % 3)).collect();
    let values = vec![0.0, 0.1, 2.0, 2.1, 5.0, 4.0, 4.0, 7.0];
    let config =
        |values| ExternalConfig::Table { times: times.clone(), values, interpolation: Interpolation::Cubic };
    let external = build(config(values.clone()));
    let mut slope_before = None;
    for i in 0..7 {
        let mut c = [0.0; COEFFICIENTS];
        external.piece(times[i], times[i + 1], &mut c);
        let size = times[i + 1] - times[i];
        assert!((horner(&c, size) - values[i + 1]).abs() < 1e-13 && c[0] == values[i]);
        assert!(slope_before.is_none_or(|before: f64| (before - c[1]).abs() < 1e-12));
        slope_before = Some(c[1] + size * (2.0 * c[2] + 3.0 * size * c[3]));
        let (low, high) = (values[i].min(values[i + 1]) - 1e-13, values[i].max(values[i + 1]) + 1e-13);
        let inside = |k: i32| (low..=high).contains(&horner(&c, size * f64::from(k) / 50.0));
        assert!((0..=50).all(inside), "interval {i} leaves [{low}, {high}]");
    }
    let straight = build(config(times.iter().map(|t| 3.0 - 2.0 * t).collect()));
    assert!((0..70).map(|k| 0.1 * f64::from(k)).all(|t| (straight.value(t) - 3.0 + 2.0 * t).abs() < 1e-13));
    // a parabola on even points: inner slopes are harmonic means of the chords, the end slope is exact
    let times = vec![1.0, 2.0, 3.0, 4.0];
    let values = times.iter().map(|t| t * t).collect();
    let parabola = build(ExternalConfig::Table { times, values, interpolation: Interpolation::Cubic });
    let mut c = [0.0; COEFFICIENTS];
    parabola.piece(2.0, 3.0, &mut c);
    assert!((c[1] - 3.75).abs() < 1e-14);
    parabola.piece(1.0, 2.0, &mut c);
    assert!((c[1] - 2.0).abs() < 1e-14);
}

#[test]
fn piece_survives_a_break_within_round_off_of_its_ends() {
    let external = build(table(Interpolation::Cubic));
    let left = external.next_break(-1e9).unwrap();
    let right = external.next_break(left).unwrap();
    let mut coefficients = [0.0; COEFFICIENTS];
    external.piece(left.next_down(), right.next_up(), &mut coefficients);
    let t = 0.5 * (left + right);
    assert!((horner(&coefficients, t - left) - external.value(t)).abs() < 1e-11);
}

#[test]
fn senseless_numbers_are_refused() {
    let refused = [
        ExternalConfig::Constant { value: f64::NAN },
        ExternalConfig::Step { time: f64::INFINITY, before: 0.0, after: 1.0 },
        ExternalConfig::Ramp { start: 1.0, stop: 1.0, from: 0.0, to: 1.0 },
        sine(-1.0, 0.0),
        sine(1e40, 0.0),
        ExternalConfig::Sine {
            amplitude: 1.0,
            frequency: 1.0,
            phase: 0.0,
            offset: 0.0,
            start: Some(2.0),
            stop: Some(1.0),
        },
        pulses(1.0, 1.1, 0.0),
        pulses(0.0, 0.0, 0.0),
        ExternalConfig::Table { times: vec![], values: vec![], interpolation: Interpolation::Linear },
        ExternalConfig::Table {
            times: vec![0.0, 1.0],
            values: vec![1.0],
            interpolation: Interpolation::Linear,
        },
        ExternalConfig::Table {
            times: vec![0.0, -1.0],
            values: vec![1.0, 2.0],
            interpolation: Interpolation::Linear,
        },
    ];
    for config in refused {
        assert!(External::new(&config).is_err(), "{config:?}");
    }
    let error = pulses(1.0, 1.1, 0.0).validate().unwrap_err();
    assert_eq!(error.to_string(), "pulses: width 1.1 s is longer than the period 1 s");
}

#[test]
fn two_points_at_one_time_are_a_jump() {
    let table = |interpolation| {
        let times = vec![0.0, 1.0, 1.0, 1.0, 2.0, 3.0];
        build(ExternalConfig::Table { times, values: vec![0.0, 1.0, 9.0, 5.0, 4.0, 4.0], interpolation })
    };
    for interpolation in [Interpolation::Linear, Interpolation::Previous, Interpolation::Cubic] {
        let signal = table(interpolation);
        let before = if interpolation == Interpolation::Previous { 0.0 } else { 1.0 };
        assert!((signal.value(1.0 - 1e-12) - before).abs() < 1e-9, "{interpolation:?}");
        assert_eq!(signal.value(1.0), 5.0);
        assert_eq!(signal.next_break(0.5), Some(1.0));
        assert_eq!(signal.next_break(1.0), Some(2.0));
        assert_eq!(signal.next_event(0.5), Some(1.0));
        let mut piece = [0.0; COEFFICIENTS];
        signal.piece(0.0, 1.0, &mut piece);
        let end: f64 = piece.iter().sum();
        assert!((end - before).abs() < 1e-12, "{interpolation:?}: {end}");
    }
    assert_eq!(table(Interpolation::Linear).next_event(1.0), None);
    assert_eq!(table(Interpolation::Linear).value(0.5), 0.5);
}
